// SPDX-License-Identifier: Apache-2.0
// What of a stream is new: each event once and in order, over as many connections as it takes.
//
// Events are numbered 1, 2, 3…; those of a chat have the name of their message before the number. A
// number that is not above the last one was had. When it was had with something else in it, the
// server has begun anew, and going on would be silence; the same when nothing is known of it any more
// and the stream is a session, for its server skips what was had. A number above the next one shows that
// some are missing: a turn is kept whole, so they are asked for again; of a session the oldest are
// let go, so that is told.

import { StreamError } from "./errors.js";

const REMEMBERED = 1024; // events that are known again
const LOOKED_AT = 2048; // UTF-16 units of one, at its beginning and at its end

/** A number by which a text is known again: FNV-1a over its UTF-16 units, twice, for 52 bits. */
function fingerprint(text) {
  const known = text.length <= 2 * LOOKED_AT ? text : text.slice(0, LOOKED_AT) + text.length + text.slice(-LOOKED_AT);
  let low = 0x811c9dc5;
  let high = 0x6b43a9b5;
  for (let i = 0; i < known.length; i++) {
    const unit = known.charCodeAt(i);
    low = Math.imul(low ^ unit, 0x01000193);
    high = Math.imul(high ^ unit, 0x01000193);
  }
  return (high >>> 12) * 2 ** 32 + (low >>> 0);
}

/** "7", or "msg_…:7" with names; null: neither. */
function readId(id, hasNames) {
  const match = (hasNames ? /^(.+):([0-9]{1,15})$/ : /^()([0-9]{1,15})$/).exec(id);
  return match && { name: match[1], number: Number(match[2]) };
}

export class Resume {
  #had = new Map(); // number → fingerprint, the oldest first
  #hasNames;
  #mayJump;
  #skipsWhatWasHad;
  #name = "";
  #number = 0;

  /** What to go on behind, as it is sent to the server; null: from the beginning. */
  lastId = null;

  /** mayJump: numbers may be missing, which is told and not asked for again. */
  constructor({ lastId = null, hasNames = false, mayJump = false }) {
    this.#hasNames = hasNames;
    this.#mayJump = mayJump;
    this.#skipsWhatWasHad = mayJump && !hasNames;
    if (lastId !== null) this.goOnBehind(lastId);
  }

  goOnBehind(lastId) {
    const id = readId(String(lastId), this.#hasNames);
    if (!id) throw new TypeError(`lastEventId cannot be ${JSON.stringify(lastId)}`);
    this.#name = id.name;
    this.#number = id.number;
    this.lastId = String(lastId);
  }

  /** Whether the event is new, and which numbers are missing before it, if some are: {isNew, gap}. */
  take({ id: text, type, data }) {
    const id = readId(text, this.#hasNames);
    if (!id || id.number === 0)
      throw new StreamError(`an event has the id ${JSON.stringify(text)}`, { code: "bad_event" });
    if (id.name !== this.#name) this.#begin(id.name);
    const mark = fingerprint(`${type}\n${data}`);
    if (id.number <= this.#number) {
      this.#expectSame(id.number, mark);
      return { isNew: false, gap: null };
    }
    const gap = id.number > this.#number + 1 ? { first: this.#number + 1, last: id.number - 1 } : null;
    if (gap && !this.#mayJump) {
      throw new StreamError(`events ${gap.first} to ${gap.last} are missing`, { code: "stream_incomplete" });
    }
    this.#remember(id.number, mark);
    this.lastId = text;
    return { isNew: true, gap };
  }

  /** A message that was not seen before: its numbers begin with 1. */
  #begin(name) {
    this.#name = name;
    this.#number = 0;
    this.#had.clear();
  }

  #expectSame(number, mark) {
    const isRepeat = this.#had.has(number) ? this.#had.get(number) === mark : !this.#skipsWhatWasHad;
    if (isRepeat) return;
    throw new StreamError("the server has begun to number its events anew", { code: "conflict" });
  }

  #remember(number, mark) {
    this.#number = number;
    this.#had.set(number, mark);
    if (this.#had.size > REMEMBERED) this.#had.delete(this.#had.keys().next().value);
  }
}
