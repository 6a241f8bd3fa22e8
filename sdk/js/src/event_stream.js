// SPDX-License-Identifier: Apache-2.0
// The stream of a session: it has no end, so it is followed until somebody closes it.

import { Client } from "./client.js";
import { AbortError, StreamError } from "./errors.js";
import { follow } from "./stream.js";

const RETRY_MS = 3000;
const SILENCE_MS = 60000; // the server sends a comment line every 15 s
const PROTOCOL = 1; // the version that is spoken here

/** Sent to clients that are too old, with the number that they are at. */
const isUpgrade = ({ data }) => data.startsWith('{"type":"protocol.upgrade_required"');

/** What a callback of the caller's throws is told as any other mistake in a callback is. */
function guarded(callback) {
  return (...args) => {
    try {
      callback?.(...args);
    } catch (error) {
      if (globalThis.reportError) globalThis.reportError(error);
      else
        setTimeout(() => {
          throw error;
        });
    }
  };
}

function readEvent(text) {
  const event = JSON.parse(text);
  if (typeof event?.type !== "string") throw new StreamError("an event has no type", { code: "bad_event" });
  return event;
}

class Subscription {
  #lastSeq;
  #isClosed = false;
  #control = new AbortController();
  #signal;
  #on;
  #close = () => this.close();

  constructor({ sinceSeq = 0, signal, onEvent, onError, onGap, onState, ...how }, client) {
    if (typeof onEvent !== "function") throw new TypeError("onEvent has to be a function");
    this.#lastSeq = sinceSeq;
    this.#signal = signal;
    this.#on = { event: onEvent, error: guarded(onError), gap: guarded(onGap), state: guarded(onState) };
    if (signal?.aborted) return void (this.#isClosed = true);
    signal?.addEventListener("abort", this.#close);
    this.#run(client, how);
  }

  /** The number of the last event that was handed to onEvent. */
  get lastSeq() {
    return this.#lastSeq;
  }

  /** True after close(), and when nothing will come any more. */
  get closed() {
    return this.#isClosed;
  }

  close() {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#signal?.removeEventListener("abort", this.#close);
    this.#control.abort();
    this.#on.state("closed");
  }

  async #run(client, how) {
    // Not before the caller has what this returns.
    await null;
    try {
      if (!this.#isClosed) this.#on.state("connecting");
      for await (const event of this.#events(client, how)) {
        if (event.gap) this.#on.gap(event.gap);
        await this.#handOut(event);
        if (this.#isClosed || isUpgrade(event)) break;
      }
    } catch (error) {
      if (!(error instanceof AbortError)) this.#on.error(error, { isFinal: true, delayMs: null });
    }
    this.close();
  }

  #events(
    client,
    { sessionId, retryMs = RETRY_MS, idleMs = SILENCE_MS, maxRetries = Infinity, headMs, maxEventChars },
  ) {
    const path = `/sse/sessions/${encodeURIComponent(sessionId)}`;
    return follow(client, {
      request: (lastId) => ({ method: "GET", path, query: { lastEventId: lastId ?? 0, protocol: PROTOCOL } }),
      lastId: this.#lastSeq,
      isLast: () => false,
      isOutside: isUpgrade,
      isRaw: true,
      mayJump: true,
      maxRetries,
      retryDelayMs: retryMs,
      mostDelayMs: retryMs,
      idleMs,
      ...(headMs && { headMs }),
      maxEventChars,
      signal: this.#control.signal,
      onOpen: () => this.#on.state("connected"),
      onReconnect: (_, error, { delayMs }) => {
        this.#on.state("reconnecting");
        this.#on.error(error, { isFinal: false, delayMs });
      },
    });
  }

  /** Waits for what onEvent returns: whoever is slow slows the stream down. */
  async #handOut({ id, data }) {
    const seq = Number(id);
    try {
      await this.#on.event(readEvent(data), seq);
    } catch (error) {
      this.#on.error(error, { isFinal: false, delayMs: null });
    }
    // Also when it has failed: an event that cannot be digested must not come for ever.
    this.#lastSeq = Math.max(this.#lastSeq, seq);
  }
}

/**
 * Opens the stream of a session and hands its events to `onEvent(event, seq)`, each once and in order.
 * Connections that are lost are made again, from behind the last event that arrived, until close() or
 * the signal; what was wrong goes to `onError(error, {isFinal, delayMs})`. An answer that cannot become
 * better, as 404, ends it.
 *
 * `onGap({first, last})`: these events are kept no more; `onState(state)`: "connecting", "connected",
 * "reconnecting", "closed".
 */
export function EventStream({ client, ...options }) {
  if (!options.sessionId) throw new TypeError("sessionId is missing");
  return new Subscription(options, client ?? new Client(options));
}
