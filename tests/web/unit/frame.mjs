// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { frameQueue, perFrame } from "../../../web/lib/frame.js";

/** Frames that come when the test says so. */
function manualClock() {
  let waiting = [];
  return {
    request(fn) {
      waiting.push(fn);
      return fn;
    },
    cancel(fn) {
      waiting = waiting.filter((each) => each !== fn);
    },
    frame() {
      const now = waiting;
      waiting = [];
      for (const fn of now) fn();
    },
    get waiting() {
      return waiting.length;
    },
  };
}

test("many calls are one per frame, with the last arguments", () => {
  const clock = manualClock();
  const seen = [];
  const draw = perFrame((value) => seen.push(value), clock);
  for (let i = 0; i < 100; i++) draw(i);
  clock.frame();
  clock.frame();
  assert.deepEqual(seen, [99]);
  draw("a");
  draw.flush();
  draw.flush();
  draw("b");
  draw.cancel();
  clock.frame();
  assert.deepEqual(seen, [99, "a"]);
});

test("a call from within asks for the next frame", () => {
  const clock = manualClock();
  let n = 0;
  const draw = perFrame(() => ++n < 3 && draw(), clock);
  draw();
  for (let i = 0; i < 5; i++) clock.frame();
  assert.equal(n, 3);
});

test("a queue hands over in order, so many per frame", () => {
  const clock = manualClock();
  const seen = [];
  const queue = frameQueue((items) => seen.push(items), { maxPerFrame: 3, clock });
  for (let i = 0; i < 7; i++) queue.push(i);
  while (clock.waiting) clock.frame();
  assert.deepEqual(seen, [[0, 1, 2], [3, 4, 5], [6]]);
});

test("a queue that is too long is handed over at once, and drops nothing", () => {
  const clock = manualClock();
  const seen = [];
  const queue = frameQueue((items) => seen.push(...items), { maxPerFrame: 2, maxWaiting: 10, clock });
  for (let i = 0; i < 25; i++) queue.push(i);
  assert.equal(queue.waiting, 3);
  queue.flush();
  assert.deepEqual(seen, [...Array(25).keys()]);
  queue.push("x");
  queue.cancel();
  clock.frame();
  assert.equal(seen.length, 25);
});
