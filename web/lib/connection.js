// SPDX-License-Identifier: Apache-2.0
// How well the server is heard: each stream and the requests report, the worst one is shown.

import { noteServerDate } from "./server_clock.js";

export const PATIENCE_MS = 5000;
const LAST_PATIENCE_MS = 40000;

const rank = { connected: 0, reconnecting: 1, offline: 2 };

/**
 * report(key, "connected" | "reconnecting" | "offline"), forget(key), state, and
 * subscribe(listener) which calls at once and then whenever the worst state changes; it gives back
 * the function that ends it.
 */
export function createConnection() {
  const states = new Map();
  let heardAt = 0;
  const listeners = new Set();
  let shown = "connected";

  function update() {
    let worst = "connected";
    for (const state of states.values()) if (rank[state] > rank[worst]) worst = state;
    if (worst === shown) return;
    shown = worst;
    for (const listener of listeners) listener(shown);
  }

  return {
    get state() {
      return shown;
    },
    /** When anybody last heard the server, by performance.now(). */
    get heardAt() {
      return heardAt;
    },
    report(key, state) {
      if (!Object.hasOwn(rank, state)) throw new TypeError(`no state of a connection: ${state}`);
      if (state === "connected") heardAt = performance.now();
      states.set(key, state);
      update();
    },
    forget(key) {
      if (states.delete(key)) update();
    },
    subscribe(listener) {
      listeners.add(listener);
      listener(shown);
      return () => listeners.delete(listener);
    },
  };
}

/** Whether an error is the network's, or that of a server that is busy or unwell: it may go better later. */
export function isPassing({ status, name, code }) {
  if (status !== undefined) return status === 408 || status === 429 || status >= 500;
  return name === "ConnectionError" || name === "TimeoutError" || code === "stream_incomplete";
}

/** How long the next beat may take; `tookMs`: the last one, null if it was missed. A network that is slow is none that is away. */
export function patienceAfter(patienceMs, tookMs) {
  return Math.min(LAST_PATIENCE_MS, tookMs === null ? patienceMs * 2 : Math.max(PATIENCE_MS, tookMs * 3));
}

/** When it was the network that failed, act() as soon as the server is heard again: once. */
export function whenHeard(connection, error, act) {
  if (error.status !== undefined || !isPassing(error)) return;
  connection.report("requests", "offline");
  const stop = connection.subscribe((state) => {
    if (state !== "connected") return;
    stop();
    act();
  });
}

/**
 * fetch, watched: what the network does is reported as "requests", and an answer of 401 goes to
 * `onUnauthorized(path)`. Given to the SDK, so that no view has to think of either.
 */
export function watchedFetch(fetch, connection, onUnauthorized) {
  return async (input, init) => {
    try {
      const response = await fetch(input, init);
      connection.report("requests", "connected");
      noteServerDate(response.headers?.get("date"));
      if (response.status === 401) onUnauthorized(new URL(response.url || input, "http://localhost").pathname);
      return response;
    } catch (error) {
      if (!init?.signal?.aborted) connection.report("requests", "offline");
      throw error;
    }
  };
}
