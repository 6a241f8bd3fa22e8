// SPDX-License-Identifier: Apache-2.0
// Values by day, without a document: web/lib/series.js.

import assert from "node:assert/strict";
import { test } from "node:test";

import * as series from "../../../web/lib/series.js";

const day = series.dayNumber;
const rowsOf = (first, values) =>
  values.flatMap((value, i) => (value === null ? [] : [{ day: series.dayName(day(first) + i), value }]));
const pointsOf = (first, values) => series.pointsOf(rowsOf(first, values), "");

test("a day is a number and its name again", () => {
  assert.equal(day("1970-01-01"), 0);
  assert.equal(day("2024-03-01") - day("2024-02-28"), 2);
  assert.equal(series.dayName(day("2025-12-31")), "2025-12-31");
  for (const text of ["2025-02-30", "2025-13-01", "yesterday", "", "2025-1-1"])
    assert.ok(Number.isNaN(day(text)), text);
});

test("a week begins on Monday and a month on its first day", () => {
  const monday = day("2025-03-03");
  for (let i = 0; i < 7; i++) assert.equal(series.periodOf(monday + i, "week"), series.periodOf(monday, "week"));
  assert.equal(series.periodOf(monday + 7, "week"), series.periodOf(monday, "week") + 1);
  assert.equal(series.dayName(series.periodStart(series.periodOf(monday + 3, "week"), "week")), "2025-03-03");
  for (const name of ["1969-12-31", "2000-02-29", "2025-12-01"]) {
    const month = series.periodOf(day(name), "month");
    assert.equal(series.dayName(series.periodStart(month, "month")), `${name.slice(0, 8)}01`);
  }
});

test("rows that are none are left out, and the others come in order", () => {
  const rows = [
    { day: "2025-03-02", value: 2 },
    { day: "2025-03-01", value: 1 },
    { day: "2025-02-30", value: 9 },
    { day: "2025-03-03", value: null },
    { day: "2025-03-04", value: Infinity },
  ];
  assert.deepEqual(
    series.pointsOf(rows, "").map((point) => point.value),
    [1, 2],
  );
});

test("times around midnight are neighbours, and stay the times they are", () => {
  const times = [1430, 10, 1420, 20];
  const points = series.pointsOf(
    times.map((value, i) => ({ day: `2025-03-0${i + 1}`, value })),
    "clock",
  );
  const values = points.map((point) => point.value);
  assert.ok(Math.max(...values) - Math.min(...values) < 60, String(values));
  assert.deepEqual(
    values.map((value) => (value + 1440) % 1440),
    times,
  );
  assert.equal(series.clockNear(1430, series.clockCentre(values)), values[0]);
  assert.deepEqual(
    [420, 450].map((value) => series.clockNear(value, series.clockCentre([420, 450]))),
    [420, 450],
  );
});

test("a missing day interrupts the line", () => {
  const segments = series.segmentsOf(pointsOf("2025-03-01", [1, 2, null, 4, null, null, 7, 8]));
  assert.deepEqual(
    segments.map((segment) => segment.map((point) => point.value)),
    [[1, 2], [4], [7, 8]],
  );
});

test("a value that does not count interrupts the line, and is not missing", () => {
  const points = pointsOf("2025-03-01", [1, 2, 3]);
  points[1].quality = "implausible";
  assert.deepEqual(
    series.segmentsOf(points).map((segment) => segment.length),
    [1, 1],
  );
  assert.deepEqual(series.missingRuns(points, day("2025-03-01"), day("2025-03-03")), []);
  assert.equal(series.summaryOf(points).mean, 2);
  assert.equal(series.summaryOf(points).n, 2);
});

test("what is missing is told with its ends, also before and behind all values", () => {
  const start = day("2025-03-01");
  const points = pointsOf("2025-03-03", [1, null, null, 4]);
  const runs = series.missingRuns(points, start, start + 7);
  assert.deepEqual(runs, [
    { from: start, to: start + 1 },
    { from: start + 3, to: start + 4 },
    { from: start + 6, to: start + 7 },
  ]);
  assert.equal(series.countOf(runs), 6);
  assert.equal(series.countOf(series.missingRuns([], start, start + 9)), 10);
});

test("means of weeks say of how many days they are", () => {
  const weeks = series.aggregate(pointsOf("2025-03-03", [1, 2, 3, null, null, null, null, 10]), "week");
  assert.deepEqual(
    weeks.map(({ value, n }) => [value, n]),
    [
      [2, 3],
      [10, 1],
    ],
  );
  assert.equal(weeks[1].index, weeks[0].index + 1);
  assert.equal(weeks[0].at, day("2025-03-06"));
});

test("months without a value are missing months", () => {
  const points = [...pointsOf("2025-01-15", [5]), ...pointsOf("2025-04-02", [6, 8])];
  const months = series.aggregate(points, "month");
  assert.deepEqual(
    months.map((point) => point.value),
    [5, 7],
  );
  assert.equal(series.countOf(series.missingRuns(months, months[0].index, months.at(-1).index)), 2);
});

test("a point is found by its day, and a range by both of its ends", () => {
  const points = pointsOf("2025-03-01", [1, null, 3, 4]);
  const start = day("2025-03-01");
  assert.equal(series.pointAt(points, start + 2).value, 3);
  assert.equal(series.pointAt(points, start + 1), null);
  assert.equal(series.pointAt([], 0), null);
  assert.deepEqual(
    series.pointsBetween(points, start + 1, start + 2).map((point) => point.value),
    [3],
  );
});

test("fewer points keep each column's first, smallest, largest and last", () => {
  const points = pointsOf(
    "2015-01-01",
    Array.from({ length: 3650 }, (_, i) => Math.sin(i / 9) * 50 + (i % 7)),
  );
  const columnOf = (point) => Math.floor((point.index - points[0].index) / 10);
  const kept = series.thin(points, columnOf);
  assert.ok(kept.length <= 4 * 365);
  for (let column = 0; column < 365; column++) {
    const of = (list) => list.filter((point) => columnOf(point) === column).map((point) => point.value);
    const [before, after] = [of(points), of(kept)];
    assert.equal(Math.min(...before), Math.min(...after));
    assert.equal(Math.max(...before), Math.max(...after));
    assert.equal(before[0], after[0]);
    assert.equal(before.at(-1), after.at(-1));
  }
  assert.deepEqual(series.thin([], columnOf), []);
});

test("nothing has no mean", () => {
  assert.equal(series.summaryOf([]), null);
});
