// SPDX-License-Identifier: Apache-2.0
// What the lists of the data page are made from.

import assert from "node:assert/strict";
import { test } from "node:test";

import { groupResults, nameOf } from "../../../web/data/labs_table.js";
import { SeenLoader, sourcesOf } from "../../../web/data/metrics_table.js";
import { choiceOf, sourceCounts } from "../../../web/views/metric.js";

test("results are grouped by test, the newest first", () => {
  const result = (analyte, label, date, title = null) => ({ analyte, label, date, title });
  const groups = groupResults([
    result("ldl", "LDL", "2025-01-01", "LDL cholesterol"),
    result(null, "ldl", "2025-03-01"),
    result("ldl", "LDL-C", "2025-02-01", "LDL cholesterol"),
    result("hba1c", "A1c", "2024-01-01", "HbA1c"),
  ]);
  assert.deepEqual(
    groups.map((group) => [nameOf(group[0]), group.map(({ date }) => date)]),
    [
      ["HbA1c", ["2024-01-01"]],
      ["Ldl", ["2025-03-01"]],
      ["LDL cholesterol", ["2025-02-01", "2025-01-01"]],
    ],
  );
  assert.equal(nameOf(result(null, null, "2025-01-01")), "Unnamed test");
});

test("a source has all that it brought, and the whole time of it", () => {
  const metrics = [
    { title: "steps", first: "2025-02-01", last: "2025-03-01", sources: ["ring", "watch"] },
    { title: "sleep", first: "2025-01-01", last: "2025-02-01", sources: ["watch"] },
  ];
  assert.deepEqual(sourcesOf(metrics), [
    { name: "watch", titles: ["steps", "sleep"], first: "2025-01-01", last: "2025-03-01" },
    { name: "ring", titles: ["steps"], first: "2025-02-01", last: "2025-03-01" },
  ]);
});

test("days are counted by source", () => {
  const rows = [
    { source: "ring", day: "2025-01-01" },
    { source: "watch", day: "2025-01-02" },
    { source: "watch", day: "2025-01-05" },
  ];
  assert.deepEqual(sourceCounts(rows), [
    { source: "watch", n: 2, first: "2025-01-02", last: "2025-01-05" },
    { source: "ring", n: 1, first: "2025-01-01", last: "2025-01-01" },
  ]);
});

test("the address says what is shown, and nonsense in it is the default", () => {
  const rows = [{ day: "2025-01-01" }, { day: "2025-12-31" }];
  const cases = [
    [{}, { range: "183", per: "day", from: "2025-07-02", to: "2025-12-31" }],
    [
      { range: "all", per: "week" },
      { range: "all", per: "week", from: "2025-01-01", to: "2025-12-31" },
    ],
    [{ range: "30" }, { range: "30", per: "day", from: "2025-12-02", to: "2025-12-31" }],
    [
      { from: "2025-02-01", to: "2025-02-28" },
      { range: "own", per: "day", from: "2025-02-01", to: "2025-02-28" },
    ],
    [
      { from: "2025-02-30", to: "2025-03-01", per: "year", range: "7" },
      { range: "183", per: "day", from: "2025-07-02", to: "2025-12-31" },
    ],
    [
      { from: "2025-03-01", to: "2025-02-01" },
      { range: "183", per: "day", from: "2025-07-02", to: "2025-12-31" },
    ],
  ];
  for (const [query, expected] of cases) assert.deepEqual(choiceOf(query, rows), expected);
  assert.equal(choiceOf({ range: "365" }, [{ day: "2025-12-30" }, { day: "2025-12-31" }]).from, "2025-12-30");
});

test("what is seen is loaded once, a few at a time, and nothing when it is closed", async () => {
  let see;
  class Observer {
    constructor(callback) {
      see = (...targets) => callback(targets.map((target) => ({ isIntersecting: true, target })));
    }
    observe() {}
    unobserve() {}
    disconnect() {}
  }
  const started = [];
  const ends = [];
  const loader = new SeenLoader((element) => (started.push(element), new Promise((resolve) => ends.push(resolve))), {
    Observer,
  });
  see(1, 2, 3, 4, 5);
  assert.deepEqual(started, [1, 2, 3]);
  ends[0]();
  await new Promise(setImmediate);
  assert.deepEqual(started, [1, 2, 3, 4]);
  loader.close();
  ends[1]();
  await new Promise(setImmediate);
  assert.deepEqual(started, [1, 2, 3, 4]);
});
