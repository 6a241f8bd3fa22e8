// SPDX-License-Identifier: Apache-2.0
// Axes and units of charts: web/lib/scale.js, web/lib/units.js.

import assert from "node:assert/strict";
import { test } from "node:test";

import { barPath, dayTicks, dotPath, linear, linePath, valueTicks } from "../../../web/lib/scale.js";
import { dayNumber } from "../../../web/lib/series.js";
import { clockText, tickText, valueText } from "../../../web/lib/units.js";

test("a scale maps both ends, and a range of nothing to the middle", () => {
  const scale = linear(10, 20, 100, 0);
  assert.deepEqual([scale(10), scale(15), scale(20)], [100, 50, 0]);
  assert.equal(linear(5, 5, 0, 10)(5), 5);
});

test("ticks are round, and what is shown lies between the first and the last", () => {
  const cases = [
    [53.2, 64.9, 5, "bpm", [52.5, 55, 57.5, 60, 62.5, 65]],
    [100, 14321, 4, "steps", [0, 5000, 10000, 15000]],
    [-3, 3, 3, "", [-4, -2, 0, 2, 4]],
    [7, 7, 2, "", [6.5, 7, 7.5]],
    [0, 0, 2, "", [-1, 0, 1]],
    [0.001, 0.0032, 3, "", [0, 0.002, 0.004]],
  ];
  for (const [low, high, count, unit, expected] of cases)
    assert.deepEqual(valueTicks(low, high, count, unit).ticks, expected, `${low} to ${high}`);
});

test("ticks are few for whatever range", () => {
  let seed = 7;
  const random = () => (seed = (seed * 48271) % 2147483647) / 2147483647;
  for (let i = 0; i < 2000; i++) {
    const low = (random() - 0.5) * 10 ** Math.floor(random() * 12 - 5);
    const high = low + random() * 10 ** Math.floor(random() * 12 - 5);
    const { ticks, step } = valueTicks(low, high, 5, ["", "min", "clock", "bpm"][i % 4]);
    assert.ok(ticks.length >= 2 && ticks.length <= 12, `${low} to ${high}: ${ticks}`);
    assert.ok(ticks[0] <= low + 1e-6 * step && ticks.at(-1) >= high - 1e-6 * step, `${low} to ${high}: ${ticks}`);
  }
});

test("minutes of a night are told in hours, and times of day as such", () => {
  const sleep = valueTicks(330, 520, 4, "min");
  assert.ok(sleep.isHours);
  assert.deepEqual(
    sleep.ticks.map((value) => tickText(value, "min", sleep)),
    ["5 h", "6 h", "7 h", "8 h", "9 h"],
  );
  const bedtime = valueTicks(1380, 1475, 3, "clock");
  assert.deepEqual(
    bedtime.ticks.map((value) => tickText(value, "clock", bedtime)),
    ["23:00", "00:00", "01:00"],
  );
  assert.equal(valueTicks(5, 40, 4, "min").isHours, false);
});

test("values carry their units as people write them", () => {
  const cases = [
    [452, "min", "7 h 32 min"],
    [480, "min", "8 h"],
    [-61, "min", "−1 h 1 min"],
    [12.5, "min", "12.5 min"],
    [58.61, "bpm", "58.6 bpm"],
    [10234.4, "steps", "10,234 steps"],
    [36.62, "degC", "36.6 °C"],
    [1421, "clock", "23:41"],
    [1450, "clock", "00:10"],
    [-20, "clock", "23:40"],
    [3, "", "3"],
    [NaN, "bpm", "no value"],
  ];
  for (const [value, unit, expected] of cases) assert.equal(valueText(value, unit), expected);
  assert.equal(clockText(1439.7), "00:00");
});

test("days are told as days, weeks, months and years, never more than fit", () => {
  const labels = (from, to, count) =>
    dayTicks(dayNumber(from), dayNumber(to), count).map((tick) => [tick.label, tick.year]);
  assert.deepEqual(labels("2025-03-01", "2025-03-03", 8), [
    ["1 Mar", "2025"],
    ["2 Mar", null],
    ["3 Mar", null],
  ]);
  assert.deepEqual(labels("2025-03-01", "2025-03-31", 8), [
    ["3 Mar", "2025"],
    ["10 Mar", null],
    ["17 Mar", null],
    ["24 Mar", null],
    ["31 Mar", null],
  ]);
  assert.deepEqual(labels("2024-10-20", "2025-03-10", 8), [
    ["Nov", "2024"],
    ["Dec", null],
    ["Jan", "2025"],
    ["Feb", null],
    ["Mar", null],
  ]);
  assert.deepEqual(
    labels("2015-06-01", "2025-06-01", 6).map(([label]) => label),
    ["2016", "2018", "2020", "2022", "2024"],
  );
  for (let days = 1; days < 20000; days = Math.ceil(days * 1.3)) {
    const from = dayNumber("1995-05-17");
    assert.ok(dayTicks(from, from + days, 6).length <= 8, `${days} days`);
  }
});

test("a line is broken between segments, and a lone point is a dot", () => {
  const points = (...pairs) => pairs.map(([at, value]) => ({ at, value }));
  const same = (value) => value;
  assert.equal(
    linePath([points([0, 1], [1, 2]), points([4, 4]), points([6, 1.25], [7, 3])], same, same),
    "M0 1L1 2M6 1.3L7 3",
  );
  assert.equal(dotPath(points([4, 4]), same, same), "M4 4h0");
  assert.equal(barPath([{ from: 1, to: 1.2 }], same, 9, 4), "M1 9h1v4h-1z");
});
