// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { ago, bytes, count, dateTime, day, duration, number, percent, shorten } from "../../../web/lib/format.js";

test("a number has as many digits as its size deserves", () => {
  const cases = [
    [0, "0"],
    [12345.6, "12,346"],
    [123.4, "123"],
    [12.34, "12.3"],
    [1.234, "1.23"],
    [0.01234, "0.0123"],
    [-3.5, "−3.5"],
    [1e-9, "0"],
  ];
  for (const [value, text] of cases) assert.equal(number(value), text);
  assert.equal(number(2, 0), "2");
  assert.equal(number(Infinity), "∞");
  for (const none of [null, undefined, NaN]) assert.equal(number(none), "–");
});

test("counts, shares and sizes", () => {
  assert.equal(count(1, "turn"), "1 turn");
  assert.equal(count(1200, "turn"), "1,200 turns");
  assert.equal(count(2, "entry", "entries"), "2 entries");
  assert.equal(percent(0.123), "12 %");
  assert.equal(percent(null), "–");
  assert.deepEqual([0, 999, 1000, 1234, 12345, 999999, 3.4e6].map(bytes), [
    "0 B",
    "999 B",
    "1 KB",
    "1.2 KB",
    "12 KB",
    "1 MB",
    "3.4 MB",
  ]);
});

test("durations go from milliseconds to days, and never say 60 s", () => {
  const cases = [
    [0.42, "0.4 ms"],
    [230, "230 ms"],
    [999.6, "1 s"],
    [1400, "1.4 s"],
    [59940, "59.9 s"],
    [59960, "1 min"],
    [125000, "2 min 5 s"],
    [12000000, "3 h 20 min"],
    [3600000, "1 h"],
    [352800000, "4 d 2 h"],
    [-1400, "−1.4 s"],
  ];
  for (const [ms, text] of cases) assert.equal(duration(ms), text);
});

test("times are told from the day they are of", () => {
  const now = new Date(2026, 10, 16, 14, 0, 0);
  const before = (ms) => new Date(now.getTime() - ms);
  assert.equal(ago(before(3000), now), "just now");
  assert.equal(ago(before(50000), now), "1 min ago");
  assert.equal(ago(before(3 * 3600000), now), "3 h ago");
  assert.equal(ago(new Date(2026, 10, 15, 9, 5), now), "yesterday 09:05");
  assert.equal(ago(new Date(2026, 10, 12, 9, 15), now), "2026-11-12 09:15");
  assert.equal(ago(before(-120000), now), "2026-11-16 14:02");
  assert.equal(day("nonsense"), "–");
  assert.equal(dateTime(null), "–");
});

test("a long text is cut between characters, not within one", () => {
  assert.equal(shorten("a  b\n c"), "a b c");
  assert.equal(shorten("😀😀😀😀", 3), "😀😀…");
  assert.equal(shorten(null), "");
});
