// SPDX-License-Identifier: Apache-2.0
// Waiting: never longer than was said, and not a moment longer than the caller wants.

import { AbortError, TimeoutError } from "./errors.js";

const MIN_ASKED_MS = 100; // the least and the most that a server may ask for
const MAX_ASKED_MS = 60000;
const MAX_TIMER_MS = 2 ** 31 - 1; // beyond that timers fire at once

export function throwIfAborted(signal) {
  if (signal?.aborted) throw new AbortError(undefined, { cause: signal.reason });
}

/** The promise; or TimeoutError after `ms` (0: never), AbortError when the signal says so. */
export function within(promise, { ms = 0, signal, what = "nothing came" }) {
  if (!ms && !signal) return promise;
  return new Promise((resolve, reject) => {
    let timer = null;
    const onAbort = () => end(reject, new AbortError(undefined, { cause: signal.reason }));
    const end = (settle, value) => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
      settle(value);
    };
    const onLate = () => end(reject, new TimeoutError(`${what} for ${ms / 1000} s`));
    promise.then(
      (value) => end(resolve, value),
      (error) => end(reject, error),
    );
    if (signal?.aborted) return onAbort();
    if (ms) timer = setTimeout(onLate, Math.min(ms, MAX_TIMER_MS));
    signal?.addEventListener("abort", onAbort);
  });
}

export function sleep(ms, signal) {
  let timer;
  const asleep = new Promise((resolve) => (timer = setTimeout(resolve, ms)));
  return within(asleep, { signal }).finally(() => clearTimeout(timer));
}

/** The same; but a browser that has its network back need not wait any longer. */
export function pause(ms, signal) {
  if (!globalThis.addEventListener || !globalThis.navigator || !("onLine" in globalThis.navigator))
    return sleep(ms, signal);
  const link = linked(signal);
  const onOnline = () => link.abort();
  globalThis.addEventListener("online", onOnline);
  return sleep(ms, link.signal)
    .catch((error) => {
      if (signal?.aborted) throw error;
    })
    .finally(() => {
      globalThis.removeEventListener("online", onOnline);
      link.free();
    });
}

/** Pauses that grow, with a die thrown for how much of each is waited; what a server asks for holds. */
export function pauseMs(nFailed, { firstMs = 1000, factor = 1.5, mostMs = 30000, askedMs = null } = {}) {
  if (askedMs !== null) return Math.min(Math.max(askedMs, MIN_ASKED_MS), MAX_ASKED_MS);
  return Math.random() * Math.min(mostMs, firstMs * factor ** (nFailed - 1));
}

/** A signal that follows another and can be aborted alone; free() lets go of the other. */
export function linked(signal) {
  const control = new AbortController();
  const onAbort = () => control.abort(signal.reason);
  if (signal?.aborted) onAbort();
  else signal?.addEventListener("abort", onAbort);
  return {
    signal: control.signal,
    abort: (reason) => control.abort(reason),
    free: () => signal?.removeEventListener("abort", onAbort),
  };
}
