// SPDX-License-Identifier: Apache-2.0
// A stream that goes on: whatever the network does, each event comes once and in order.
//
//   connect ──▶ events ──▶ the last event: the end
//      ▲           │ lost, or ended without it
//      └── pause ◀─┘ from behind the last event that was handed out

import { byEventSource, byFetch } from "./connect.js";
import { ConnectionError, isTransient, StreamError, TimeoutError, WeirError } from "./errors.js";
import { Resume } from "./resume.js";
import { linked, pause, pauseMs, throwIfAborted } from "./wait.js";

export const MAX_RETRIES = 5; // in a row, without a new event
export const RETRY_DELAY_MS = 1000;
// A server opens a stream at once. Fetch in Node never learns of a connection that was closed before the
// request was on its way, as proxies without a server behind them do.
const HEAD_MS = 15000;

function parse({ id, data }) {
  try {
    return JSON.parse(data);
  } catch (error) {
    throw new StreamError(`event ${id} is no JSON`, { code: "bad_event", cause: error });
  }
}

/** When it is over: what went wrong last, by its own name. */
function givenUp(error, nFailed) {
  if (!(error instanceof ConnectionError) || nFailed === 1) return error;
  return new ConnectionError(`given up after ${nFailed} attempts: ${error.message}`, {
    code: error.code,
    cause: error,
  });
}

/** Whether the next request is one that an EventSource can make. */
function isPlain(how, resume) {
  return how.request(resume.lastId).method === "GET";
}

/** The events of one connection that are new, as {id, type, data, gap}. */
async function* fresh(client, resume, how, state) {
  const way = client.EventSourceCtor && isPlain(how, resume) ? byEventSource : byFetch;
  for await (const events of way(client, how, resume.lastId, state)) {
    for (const event of events) {
      const { isNew, gap } = how.isOutside?.(event) ? { isNew: true, gap: null } : resume.take(event);
      if (isNew) yield { id: event.id, type: event.type, data: how.isRaw ? event.data : parse(event), gap };
    }
  }
}

/**
 * Yields {id, type, data, gap} of a stream, over as many connections as it takes. `how`:
 *
 *   request(lastId)   {method, path, query, headers, body} that goes on behind it
 *   types             of events that have names
 *   isLast(event)     behind it nothing comes
 *   isOutside(event)  it is not one of the numbered ones
 *   isRaw             data is not parsed here
 *   mayBeSilent       idleMs without a byte are no failure, but ask again
 *   lastId, hasNames, mayJump       see Resume
 *   maxRetries, retryDelayMs, mostDelayMs, headMs, idleMs, maxEventChars, signal
 *   onOpen(response)  connected; null where nothing is known of the answer
 *   onReconnect(lastId, error, {attempt, delayMs})   lost, and tried again after that pause
 */
export async function* follow(client, how) {
  const { maxRetries = MAX_RETRIES, retryDelayMs = RETRY_DELAY_MS, mostDelayMs, signal, isLast, onReconnect } = how;
  // An EventSource hands out only what it was told to listen for.
  const resume = new Resume({ ...how, mayJump: how.mayJump || Boolean(client.EventSourceCtor) });
  const full = {
    headMs: Math.min(client.timeout || HEAD_MS, HEAD_MS),
    idleMs: 0,
    types: [],
    ...how,
    onOpen: (response) => how.onOpen?.(response, resume),
    canLeave: () => isPlain(how, resume),
  };
  for (let nFailed = 0; ;) {
    const state = { isOpen: false, hasEnded: false, goesOn: false, retry: null };
    let problem = null;
    throwIfAborted(signal);
    try {
      for await (const event of fresh(client, resume, full, state)) {
        nFailed = 0;
        yield event;
        if (isLast(event)) return;
        throwIfAborted(signal); // others of the same piece wait behind it
      }
      if (state.hasEnded) return;
      if (state.goesOn) continue;
      problem = new StreamError("the stream ended before its last event", { code: "stream_incomplete" });
    } catch (error) {
      problem = error;
    }
    throwIfAborted(signal);
    // Nothing was to be heard, and maybe there was nothing to say: that is found out without a word.
    if (how.mayBeSilent && state.isOpen && problem instanceof TimeoutError) continue;
    // What a callback of the caller's throws is the caller's.
    if (!(problem instanceof WeirError) || !isTransient(problem)) throw problem;
    if (++nFailed > maxRetries) throw givenUp(problem, nFailed);
    const askedMs = problem.retryAfterMs ?? state.retry;
    const delayMs = pauseMs(nFailed, { firstMs: retryDelayMs, mostMs: mostDelayMs, askedMs });
    onReconnect?.(resume.lastId, problem, { attempt: nFailed, delayMs });
    await pause(delayMs, signal);
  }
}

/**
 * What a stream hands out: for await goes through it once. close(), or leaving the loop, lets go of
 * the connection at once, also while the next event is waited for.
 */
export class EventIterator {
  #begin;
  #signal;
  #link = null;
  #events = null;
  #isClosed = false;

  /** begin(signal) gives the events, which end when that signal says so. */
  constructor(begin, signal) {
    this.#begin = begin;
    this.#signal = signal;
  }

  async next() {
    if (this.#isClosed) return { done: true, value: undefined };
    // Only now: a stream that nobody reads holds on to nothing.
    this.#link ??= linked(this.#signal);
    this.#events ??= this.#begin(this.#link.signal);
    try {
      const result = await this.#events.next();
      if (result.done) this.#free();
      return result;
    } catch (error) {
      const wasClosed = this.#isClosed;
      this.#free();
      if (wasClosed) return { done: true, value: undefined };
      throw error;
    }
  }

  async return(value) {
    this.close();
    await this.#events?.return().catch(() => {});
    return { done: true, value };
  }

  close() {
    if (this.#isClosed) return;
    this.#free();
    this.#link?.abort();
  }

  #free() {
    this.#isClosed = true;
    this.#link?.free();
  }

  [Symbol.asyncIterator]() {
    return this;
  }
}
