// SPDX-License-Identifier: Apache-2.0
// One connection of a stream: lists of events {type, data, id} as they come. Two ways to have one.
//
// `how` is {request(lastId), types, headMs, idleMs, maxEventChars, signal, onOpen(response), canLeave()};
// the last says whether what is left can be had by another connection and another way. A way sets in
// `state`: isOpen, events may come; hasEnded, the server says that there is no more; retry, the pause it asks for; goesOn, what is
// left is to be asked for at once.

import { connectionError, readPage } from "./client.js";
import { ConnectionError, errorOf, StreamError } from "./errors.js";
import { SseDecoder } from "./sse.js";
import { linked, within } from "./wait.js";

const EVENT_STREAM = "text/event-stream";
const MAX_WAITING = 1024; // events of an EventSource that nobody has taken yet

/**
 * Whether it opened: false is 204, the end. An answer that is no event stream is thrown.
 */
async function isOpened(response, signal) {
  if (response.status === 204) return false;
  if (response.status !== 200) throw errorOf(response, await readPage(response, signal));
  const type = response.headers.get("content-type") ?? "";
  if (/^text\/event-stream\s*(;|$)/i.test(type)) return true;
  // Browsers take a head for whole that was cut.
  if (EVENT_STREAM.startsWith(type.toLowerCase()))
    throw new StreamError("the head of the answer was cut", { code: "stream_incomplete" });
  throw new StreamError(`no event stream but ${type || "something"}`, { code: "unsupported_media_type" });
}

/** By fetch. Events are pulled: whoever is slow slows the connection down, and nothing piles up. */
export async function* byFetch(client, how, lastId, state) {
  const { method, path, ...request } = how.request(lastId);
  const link = linked(how.signal);
  let reader = null;
  try {
    const more = { accept: "text/event-stream", timeout: how.headMs, signal: link.signal };
    const response = await client.open(method, path, { ...request, ...more });
    state.hasEnded = !(await isOpened(response, link.signal));
    if (state.hasEnded) return;
    state.isOpen = true;
    how.onOpen?.(response);
    // Where somebody gives an EventSource, fetch is good for the beginning only.
    state.goesOn = Boolean(client.EventSourceCtor) && how.canLeave();
    if (state.goesOn) return;
    reader = readerOf(response);
    yield* eventsOf(reader, { ...how, signal: link.signal }, lastId, state);
  } finally {
    link.free();
    link.abort();
    reader?.cancel().catch(() => {});
  }
}

function readerOf({ body }) {
  if (body?.getReader) return body.getReader();
  throw new StreamError("fetch does not stream here: give an EventSourceCtor", { code: "not_implemented" });
}

async function* eventsOf(reader, { signal, idleMs, maxEventChars }, lastId, state) {
  let events = [];
  const decoder = new SseDecoder({
    onEvent: (event) => events.push(event),
    lastId: lastId === null ? "" : String(lastId),
    maxEventChars,
  });
  for (;;) {
    const { done, value } = await read(reader, idleMs, signal);
    if (done) return;
    try {
      decoder.feed(value);
    } finally {
      // What came before an event that is too long is whole.
      state.retry = decoder.retry;
      if (events.length > 0) yield events;
      events = [];
    }
  }
}

async function read(reader, ms, signal) {
  try {
    return await within(reader.read(), { ms, signal });
  } catch (error) {
    throw connectionError(error, "the connection was lost");
  }
}

/**
 * An EventSource tells neither what the answer was nor that it was the last; so one more request
 * asks that. Throws what it says; true: there is no more to come.
 */
async function askWhy(client, how, lastId) {
  const { path, query, headers } = how.request(lastId);
  const link = linked(how.signal);
  try {
    const response = await client.open("GET", path, {
      query,
      headers,
      accept: "text/event-stream",
      timeout: how.headMs,
      signal: link.signal,
    });
    return !(await isOpened(response, link.signal));
  } finally {
    link.free();
    link.abort();
  }
}

/** Ids in the address, for want of fields; and the key, where a browser's own can send it nowhere else. */
function addressFor(client, { path, query = {}, headers = {} }) {
  const id = headers["last-event-id"];
  const isBrowsers = client.EventSourceCtor === globalThis.EventSource;
  return client.url(path, {
    ...query,
    ...(id === undefined ? {} : { last_event_id: id }),
    ...(isBrowsers && client.apiKey ? { api_key: client.apiKey } : {}),
  });
}

/** Others than the browsers' own take fields, or a fetch that adds them. */
function optionsFor(client) {
  const fetch = (url, init) => client.fetch(url, { ...init, headers: { ...init?.headers, ...client.authorization } });
  return { headers: client.authorization, fetch, withCredentials: client.credentials === "include" };
}

/** What an EventSource says, one after the other, for whoever waits for it. */
class Mailbox {
  #wake = () => {};
  events = [];
  error = null;
  isOpen = false;
  isFull = false;

  constructor(source, types, onOpen) {
    const onEvent = (e) => {
      this.events.push({ type: e.type, data: e.data, id: e.lastEventId ?? "" });
      this.isFull = this.events.length >= MAX_WAITING;
      // Taken up again behind what was handed out, when that has been dealt with.
      if (this.isFull) source.close();
      this.#wake();
    };
    const onError = (e) => {
      // An event that the server calls "error" has data; one of the connection has none.
      if (typeof e?.data === "string") return onEvent(e);
      this.error = e ?? {};
      source.close();
      this.#wake();
    };
    const onOpened = () => {
      this.isOpen = true;
      onOpen?.(null);
      this.#wake();
    };
    this.handlers = [["open", onOpened], ["error", onError], ...["message", ...types].map((type) => [type, onEvent])];
    for (const [type, handler] of this.handlers) source.addEventListener(type, handler);
  }

  /** Until there is something. */
  async changed(ms, signal) {
    if (this.events.length > 0 || this.error || this.isFull) return;
    await within(new Promise((resolve) => (this.#wake = resolve)), { ms, signal });
  }

  take() {
    const events = this.events;
    this.events = [];
    return events;
  }
}

/**
 * By an EventSource that somebody gives us, for places where fetch does not stream. It cannot be
 * slowed down; so when nobody takes its events it is closed, and gone on with when they are taken.
 */
export async function* byEventSource(client, how, lastId, state) {
  const address = addressFor(client, how.request(lastId));
  const types = how.types.filter((type) => type !== "error");
  const source = new client.EventSourceCtor(address, optionsFor(client));
  const box = new Mailbox(source, types, how.onOpen);
  let seenId = lastId;
  try {
    for (;;) {
      // Signs of life that are no events are not told of; so no silence is too long.
      await box.changed(box.isOpen ? 0 : how.headMs, how.signal);
      const events = box.take();
      if (events.length > 0) {
        seenId = events.at(-1).id || seenId;
        yield events;
      } else if (box.isFull || box.error) break;
    }
    state.goesOn = box.isFull;
    if (state.goesOn) return;
    // An end of the connection is one; a refusal has not opened it.
    if (!box.isOpen) state.hasEnded = await askWhy(client, how, seenId);
    if (!state.hasEnded) throw new ConnectionError(box.error.message || "the connection was lost");
  } finally {
    for (const [type, handler] of box.handlers) source.removeEventListener?.(type, handler);
    source.close();
  }
}
