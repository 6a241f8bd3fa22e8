// SPDX-License-Identifier: Apache-2.0
// From a number to its entry and its chart: web/turn/numbers.js, and ideas: web/turn/suggestions.js.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  basisText,
  chartOf,
  factGroups,
  factValueText,
  placesOf,
  windowOf,
  windowText,
} from "../../../web/turn/numbers.js";
import { suggestions } from "../../../web/turn/suggestions.js";
import { numberName } from "../../../web/turn/words.js";

const bytesBefore = (text, part) => new TextEncoder().encode(text.slice(0, text.indexOf(part))).length;
const numberAt = (text, part, claim = "ds-001.avg") => {
  const start = bytesBefore(text, part);
  return { start, end: start + new TextEncoder().encode(part).length, text: part, claim };
};

test("places in bytes become places in the text, whatever stands before them", () => {
  const text = "Schlaf: 7 h – über 😀😀 41 min, ½ of 5 kg";
  const parts = ["7 h", "41 min", "½", "5 kg"];
  const places = placesOf(
    text,
    parts.map((part) => numberAt(text, part)),
  );
  assert.deepEqual(
    places.map(({ start, end }) => text.slice(start, end)),
    parts,
  );
});

test("places that do not fit are left out", () => {
  const text = "It is 57.8 bpm, ü 6.";
  const good = numberAt(text, "57.8 bpm");
  const bad = [
    { ...good, text: "58 bpm" },
    { ...good, start: good.start + 1 },
    { ...good, start: 400, end: 402 },
    { ...good, end: good.start },
    { start: null, end: 3, text: "x" },
    { start: bytesBefore(text, "ü") + 1, end: bytesBefore(text, "ü") + 2, text: "ü" },
    {},
  ];
  assert.deepEqual(placesOf(text, bad), []);
  assert.equal(placesOf(text, [good, good]).length, 1, "twice the same is one");
  assert.deepEqual(placesOf(text, undefined), []);
});

const entry = (name, value, more = {}) => ({
  claim: `ds-001.${name}`,
  value,
  unit: "bpm",
  source: "data_science",
  n: 27,
  window: "2025-03-02 .. 2025-03-31",
  metric: "resting_heart_rate",
  ...more,
});

test("windows are days, or said as they are", () => {
  assert.deepEqual(windowOf(entry("avg", 1)), { from: "2025-03-02", to: "2025-03-31" });
  assert.equal(windowText(entry("avg", 1)), "2 Mar to 31 Mar 2025");
  assert.equal(
    windowText(entry("avg", 1, { window: "2024-12-03 .. 2025-03-31" })),
    "3 Dec 2024 to 31 Mar 2025",
  );
  assert.equal(windowText(entry("max", 1, { window: "2025-03-04 .. 2025-03-04" })), "4 Mar 2025");
  assert.equal(windowText(entry("upper", 1, { window: "AHA heart rate" })), "AHA heart rate");
  assert.equal(windowOf(entry("avg", 1, { window: "2025-03-31 .. 2025-03-02" })), null);
  assert.equal(windowOf(entry("avg", 1, { window: null })), null);
});

test("values are said with their units", () => {
  assert.equal(factValueText(entry("avg", 57.8296)), "57.8 bpm");
  assert.equal(factValueText(entry("date", "2025-03-04", { unit: "date" })), "2025-03-04");
  assert.equal(factValueText({ value: -0.571, unit: "r" }), "−0.571");
  assert.equal(factValueText({ value: 429.2, unit: "min" }), "7 h 9 min");
  assert.equal(factValueText({ value: 1400.5, unit: "clock" }), "23:21");
  assert.deepEqual(
    ["ds-001.avg", "ds-001.row.2025-03-04", "ds-001.row.Tuesday", "ds-001.never_heard_of", "inv.tests"].map(
      numberName,
    ),
    ["mean", "2025-03-04", "Tuesday", "Never heard of", "tests tried"],
  );
});

test("entries are grouped by their findings", () => {
  const groups = factGroups(
    [entry("avg", 1), { claim: "fact.x.upper", value: 2 }, entry("sd", 3)],
    [{ id: "ds-001", claim: "the mean" }],
  );
  assert.deepEqual(
    groups.map(({ id, finding, facts }) => [id, finding?.claim ?? null, facts.length]),
    [
      ["ds-001", "the mean", 2],
      ["fact", null, 1],
    ],
  );
});

test("the chart of a mean has its window, its line and its interval, and some days around", () => {
  const sheet = [entry("avg", 57.8), entry("sd", 2), entry("ci_low", 55.7), entry("ci_high", 60)];
  assert.deepEqual(chartOf(sheet[0], sheet, null), {
    metric: "resting_heart_rate",
    metricY: null,
    window: { from: "2025-03-02", to: "2025-03-31" },
    from: "2025-02-22",
    to: "2025-04-08",
    mean: 57.8,
    meanName: "ds-001.avg",
    other: null,
    interval: [55.7, 60],
    trend: null,
  });
  assert.equal(chartOf(sheet[1], sheet, null).mean, 57.8, "what is no level is shown beside one");
});

test("the interval of a difference is not drawn among the days", () => {
  const b = { window: "2024-10-03 .. 2024-12-31" };
  const sheet = [
    entry("a", 10, { window: "2025-01-01 .. 2025-03-31" }),
    entry("b", 9, b),
    entry("diff", 1),
    entry("ci_low", 0.5),
    entry("ci_high", 1.5),
  ];
  const chart = chartOf(sheet[1], sheet, null);
  assert.equal(chart.interval, null);
  assert.equal(chart.mean, 9);
  assert.deepEqual(chart.window, { from: "2024-10-03", to: "2024-12-31" });
  assert.ok(chart.from < "2024-10-03" && chart.to > "2025-03-31", "both windows are seen");
  assert.equal(chartOf(sheet[2], sheet, null).meanName, "ds-001.a");
  assert.equal(chart.other.value, 10, "the other window is seen beside it");
  assert.deepEqual(chartOf(sheet[2], sheet, null).other.window, { from: "2024-10-03", to: "2024-12-31" });
});

test("trends, pairs, and what has no series", () => {
  const trend = [entry("slope", -0.1), entry("from", 60), entry("to", 57)];
  assert.deepEqual(chartOf(trend[0], trend, null).trend, { from: 60, to: 57 });
  const pair = [entry("r", 0.4, { unit: null })];
  assert.equal(chartOf(pair[0], pair, { metricY: "sleep_minutes" }).metricY, "sleep_minutes");
  assert.equal(chartOf(pair[0], pair, { metricY: "sleep_minutes" }).mean, null);
  assert.equal(
    chartOf({ claim: "inv.tests", value: 498, window: "2025-03-02 .. 2025-03-31" }, [], null),
    null,
  );
  assert.equal(chartOf({ claim: "fact.x.upper", value: 60, metric: "x", window: "AHA" }, [], null), null);
});

test("what an answer rests on is said in words", () => {
  const validator = (findings_total, findings_rejected = 0) => ({ findings_total, findings_rejected });
  const result = {
    agents_used: ["data_science"],
    validator: validator(1),
    fact_sheet: [entry("avg", 1)],
    numbers: [{}],
  };
  assert.match(basisText(result), /^Every number has passed/);
  assert.match(basisText({ ...result, agents_used: [] }), /without a look/);
  assert.match(basisText({ ...result, validator: validator(0) }), /Nothing was computed/);
  assert.match(basisText({ ...result, validator: validator(2, 2) }), /held up/);
  assert.equal(basisText({ ...result, numbers: undefined }), "");
});

test("ideas are questions that the data can answer", () => {
  const metric = (name, n = 100) => ({ metric: name, title: name.replaceAll("_", " "), n });
  assert.deepEqual(suggestions([]), []);
  const some = suggestions([metric("steps"), metric("sleep_minutes", 5)]);
  assert.equal(some[0], "Is there anything interesting in my data?");
  assert.ok(some.includes("On which weekday do I take the most steps?"));
  assert.ok(!some.some((text) => /sleep/.test(text)), "too few nights");
  assert.ok(
    suggestions([metric("grip_strength")]).includes(
      "How did my grip strength change over the last 3 months?",
    ),
  );
  assert.ok(
    suggestions(
      ["steps", "weight", "bedtime", "sleep_minutes", "hrv_rmssd", "resting_heart_rate"].map((name) =>
        metric(name),
      ),
    ).length <= 6,
  );
});
