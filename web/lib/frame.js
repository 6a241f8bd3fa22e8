// SPDX-License-Identifier: Apache-2.0
// Work that waits for the next frame, so that a hundred events cost one layout.

const HIDDEN_MS = 1000; // a tab that nobody sees gets no frames, and must not pile up work

const real = {
  request: (fn) => {
    if (globalThis.document?.hidden) return { timer: setTimeout(fn, HIDDEN_MS) };
    const pending = { frame: 0, timer: 0 };
    const run = () => {
      cancelAnimationFrame(pending.frame);
      clearTimeout(pending.timer);
      fn();
    };
    pending.frame = requestAnimationFrame(run);
    // The tab may be hidden between now and the frame.
    pending.timer = setTimeout(run, HIDDEN_MS);
    return pending;
  },
  cancel: ({ frame, timer }) => {
    if (frame) cancelAnimationFrame(frame);
    clearTimeout(timer);
  },
};

/**
 * A function that may be called as often as one likes: `fn` runs once per frame, with the arguments
 * of the last call. `.flush()` runs it now if it waits, `.cancel()` forgets it.
 */
export function perFrame(fn, clock = real) {
  let pending = null;
  let args = [];
  const run = () => {
    pending = null;
    fn(...args);
  };
  const schedule = (...given) => {
    args = given;
    pending ??= clock.request(run);
  };
  schedule.cancel = () => {
    if (pending) clock.cancel(pending);
    pending = null;
  };
  schedule.flush = () => {
    if (!pending) return;
    schedule.cancel();
    fn(...args);
  };
  return schedule;
}

const MAX_PER_FRAME = 500;
const MAX_WAITING = 20000;

/**
 * A queue in front of `fn(items)`: items that are pushed are handed over in order, once per frame,
 * at most `maxPerFrame` of them. Beyond `maxWaiting` everything is handed over at once: a late frame
 * is better than memory without end, and nothing is ever dropped. `.push(item)`, `.flush()`, `.cancel()`.
 */
export function frameQueue(fn, { maxPerFrame = MAX_PER_FRAME, maxWaiting = MAX_WAITING, clock = real } = {}) {
  let waiting = [];
  const next = perFrame(() => {
    const items = waiting.length > maxPerFrame ? waiting.splice(0, maxPerFrame) : waiting;
    if (items === waiting) waiting = [];
    if (waiting.length > 0) next();
    fn(items);
  }, clock);
  const flush = () => {
    next.cancel();
    const items = waiting;
    waiting = [];
    if (items.length > 0) fn(items);
  };
  return {
    push(item) {
      waiting.push(item);
      if (waiting.length > maxWaiting) flush();
      else next();
    },
    flush,
    cancel() {
      next.cancel();
      waiting = [];
    },
    get waiting() {
      return waiting.length;
    },
  };
}
