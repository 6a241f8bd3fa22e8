// SPDX-License-Identifier: Apache-2.0
// What a chart shows: web/lib/chart_model.js.

import assert from "node:assert/strict";
import { test } from "node:test";

import { modelOf, valueRange } from "../../../web/lib/chart_model.js";
import { keyTarget, nearestIndex } from "../../../web/lib/probe.js";
import { countOf, dayNumber } from "../../../web/lib/series.js";

const rows = [
  { day: "2025-03-01", value: 10 },
  { day: "2025-03-02", value: 20 },
  { day: "2025-03-05", value: 999, quality: "implausible" },
  { day: "2025-03-06", value: 30 },
];

test("a chart shows its rows' own days, unless it is told others", () => {
  const own = modelOf({ rows });
  assert.deepEqual(
    [own.first, own.last, own.points.length, countOf(own.missing)],
    [dayNumber("2025-03-01"), dayNumber("2025-03-06"), 4, 2],
  );
  const told = modelOf({ rows, from: "2025-03-02", to: "2025-03-08" });
  assert.deepEqual([told.points.length, countOf(told.missing)], [3, 4]);
});

test("days that are none, or stand the wrong way round, do no harm", () => {
  const model = modelOf({ rows, from: "soon", to: "2025-02-30" });
  assert.equal(model.points.length, 4);
  const turned = modelOf({ rows, from: "2025-03-05", to: "2025-03-01" });
  assert.equal(turned.first, turned.last);
  assert.equal(modelOf({ rows, window: { from: "2025-03-05", to: "2025-03-01" } }).band, null);
  assert.equal(modelOf({}).summary, null);
});

test("what does not count widens no axis, what was computed does", () => {
  assert.deepEqual(valueRange(modelOf({ rows })), [10, 30]);
  assert.deepEqual(valueRange(modelOf({ rows, mean: 40, interval: [5, 45], trend: { from: 1, to: 2 } })), [1, 45]);
  assert.deepEqual(valueRange({ points: [] }), [0, 1]);
});

test("the mean of times around midnight stands among them", () => {
  const times = [1430, 10, 1420].map((value, i) => ({ day: `2025-03-0${i + 1}`, value }));
  const model = modelOf({ rows: times, unit: "clock", mean: 1433, interval: [1425, 4], trend: { from: 1430, to: 2 } });
  const [low, high] = valueRange(model);
  assert.ok(high - low < 60, `${low} to ${high}`);
  assert.ok(model.interval[0] < model.mean && model.mean < model.interval[1]);
});

test("what is measured now and then has no missing days", () => {
  assert.deepEqual(modelOf({ rows, isSparse: true }).missing, []);
});

test("keys lead from day to day, and from result to result of what is sparse", () => {
  const start = dayNumber("2025-03-01");
  const daily = modelOf({ rows });
  const keys = (model, ...pressed) => pressed.reduce((at, key) => keyTarget(key, at, model), start) - start;
  assert.equal(keys(daily, "ArrowRight", "ArrowRight"), 2);
  assert.equal(keys(daily, "ArrowLeft"), 0);
  assert.equal(keys(daily, "PageUp"), 5);
  const sparse = modelOf({ rows, isSparse: true });
  assert.equal(keys(sparse, "ArrowRight", "ArrowRight"), 4);
  assert.equal(keys(sparse, "End", "ArrowLeft"), 4);
  assert.equal(keyTarget("x", start, daily), null);
});

test("a pointer reads its day, or a close one that has a value", () => {
  const start = dayNumber("2025-03-01");
  const layout = (width) => ({ left: 0, right: width, x: (day) => ((day - start + 0.5) / 6) * width });
  const at = (model, width, pixels) => nearestIndex(model, layout(width), pixels) - start;
  assert.equal(at(modelOf({ rows }), 600, 250), 2);
  assert.equal(at(modelOf({ rows }), 24, 9), 1);
  assert.equal(at(modelOf({ rows }), 600, -50), 0);
  assert.equal(at(modelOf({ rows, isSparse: true }), 600, 260), 1);
});
