// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { Heights } from "../../../web/lib/heights.js";
import { visibleRange } from "../../../web/lib/list.js";

/** The same numbers on every run. */
function dice(seed) {
  return () => (seed = (seed * 48271) % 2147483647) / 2147483647;
}

test("offsets and rows agree with a plain list, whatever is set and resized", () => {
  const random = dice(7);
  const heights = new Heights(50, 20);
  let plain = Array(50).fill(20);
  for (let i = 0; i < 2000; i++) {
    if (random() < 0.05) {
      const count = Math.floor(random() * 120);
      plain = Array.from({ length: count }, (_, index) => plain[index] ?? 20);
      heights.resize(count);
    } else if (plain.length > 0) {
      const index = Math.floor(random() * plain.length);
      plain[index] = 1 + Math.floor(random() * 60);
      heights.set(index, plain[index]);
    }
    const total = plain.reduce((sum, height) => sum + height, 0);
    assert.equal(heights.total, total);
    if (plain.length === 0) continue;
    const y = random() * total;
    let index = 0;
    for (let sum = plain[0]; sum <= y; sum += plain[++index]);
    assert.equal(heights.indexAt(y), index);
  }
});

test("a hundred thousand rows are no work", () => {
  const heights = new Heights(100000, 40);
  for (let i = 0; i < 100000; i += 7) heights.set(i, 60);
  assert.equal(heights.total, 100000 * 40 + Math.ceil(100000 / 7) * 20);
  assert.equal(heights.indexAt(heights.offset(54321)), 54321);
  assert.equal(heights.indexAt(-5), 0);
  assert.equal(heights.indexAt(1e12), 99999);
  heights.reset(50);
  assert.equal(heights.total, 5000000);
});

test("what is seen is drawn, with some rows around it and none beyond the ends", () => {
  const heights = new Heights(100, 10);
  assert.deepEqual(visibleRange(heights, 0, 100, 2), { first: 0, end: 13 });
  assert.deepEqual(visibleRange(heights, 500, 100, 2), { first: 48, end: 63 });
  assert.deepEqual(visibleRange(heights, 900, 100, 2), { first: 88, end: 100 });
  assert.deepEqual(visibleRange(new Heights(0, 10), 0, 100), { first: 0, end: 0 });
});
