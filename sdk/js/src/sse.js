// SPDX-License-Identifier: Apache-2.0
// Server-Sent Events out of bytes, wherever these are cut: WHATWG HTML, 9.2.6.

import { StreamError } from "./errors.js";

const MAX_EVENT_CHARS = 16 * 1024 * 1024;
const MAX_ID_CHARS = 64 * 1024;
const MAX_RETRY_MS = 2 ** 31 - 1;

/**
 * feed() it chunks; `onEvent({type, data, id})` is called for each event and `onComment(text)` for
 * each comment line. What is pending when nothing more comes is no event.
 */
export class SseDecoder {
  #utf8 = new TextDecoder("utf-8"); // drops one leading byte order mark, replaces bad bytes
  #rest = ""; // of a line that has no end yet
  #hasCr = false; // the last chunk ended in one; a line feed now belongs to it
  #data = null; // lines of the event so far
  #chars = 0;
  #type = "";
  #nextId; // takes effect with the empty line
  #onEvent;
  #onComment;
  #maxChars;

  /** The id of the last event, also of blocks without data: where to go on. */
  lastId;

  /** Milliseconds that the server asked for; null: it did not. */
  retry = null;

  constructor({ onEvent, onComment, lastId = "", maxEventChars = MAX_EVENT_CHARS }) {
    this.#onEvent = onEvent;
    this.#onComment = onComment;
    this.#maxChars = maxEventChars;
    this.lastId = this.#nextId = lastId;
  }

  feed(bytes) {
    let text = this.#utf8.decode(bytes, { stream: true });
    if (text === "") return;
    if (this.#hasCr && text[0] === "\n") text = text.slice(1);
    this.#hasCr = text.endsWith("\r");
    const lines = text.split(/\r\n|\n|\r/);
    const rest = lines.pop();
    for (const line of lines) {
      this.#line(this.#rest + line);
      this.#rest = "";
    }
    this.#rest += rest;
    this.#limit(this.#rest.length);
  }

  #limit(more) {
    if (this.#chars + more > this.#maxChars) throw new StreamError("an event is too long", { code: "event_too_long" });
  }

  #line(line) {
    if (line === "") return this.#dispatch();
    if (line[0] === ":") return this.#onComment?.(line.slice(1));
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    if (field === "data") this.#addData(value);
    else if (field === "event") this.#type = value;
    else if (field === "id") this.#setId(value);
    else if (field === "retry" && /^[0-9]+$/.test(value)) this.retry = Math.min(Number(value), MAX_RETRY_MS);
  }

  #addData(value) {
    this.#limit(value.length + 1);
    this.#chars += value.length + 1;
    (this.#data ??= []).push(value);
  }

  #setId(value) {
    if (value.length > MAX_ID_CHARS) throw new StreamError("an id is too long", { code: "event_too_long" });
    if (!value.includes("\0")) this.#nextId = value;
  }

  #dispatch() {
    const data = this.#data;
    const type = this.#type || "message";
    this.lastId = this.#nextId;
    this.#data = null;
    this.#chars = 0;
    this.#type = "";
    if (data) this.#onEvent({ type, data: data.join("\n"), id: this.lastId });
  }
}
