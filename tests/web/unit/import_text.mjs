// SPDX-License-Identifier: Apache-2.0
// What became of a file, in words: web/data/import_text.js.

import assert from "node:assert/strict";
import { test } from "node:test";

import { itemOf, outcomeText, refusalTexts, shareOf, stateText, waysToRetry } from "../../../web/data/import_text.js";

test("an import says what is new, what was there, or that there is nothing", () => {
  const cases = [
    [
      { new: 3662, duplicates: 26, days: 360, first_day: "2024-10-01", last_day: "2025-09-30" },
      "3,662 new values on 360 days, 2024-10-01 to 2025-09-30; 26 were there already.",
    ],
    [
      { new: 1, duplicates: 1, days: 1, first_day: "2025-01-01", last_day: "2025-01-01" },
      "1 new value on 1 day, 2025-01-01; 1 was there already.",
    ],
    [
      { new: 0, duplicates: 3688, days: 360, first_day: "2024-10-01", last_day: "2025-09-30" },
      "Nothing new: all 3,688 values were there already.",
    ],
    [{ new: 0, duplicates: 1 }, "Nothing new: its value was there already."],
    [{ new: 0, duplicates: 0, first_day: null }, "No values in this file."],
    [{ new: 7, duplicates: 0, first_day: null }, "7 new values."],
  ];
  for (const [summary, text] of cases) assert.equal(outcomeText(summary), text);
});

test("every state of an item has words", () => {
  const item = (state, more) => ({ state, size: 2000, sent: 500, progress: null, ...more });
  assert.match(stateText(item("waiting")), /before it/);
  assert.equal(stateText(item("sending")), "Sending, 25 % of 2 KB");
  assert.equal(stateText(item("reading")), "Reading");
  assert.equal(
    stateText(item("reading", { progress: { kind: "apple", records: 1200 } })),
    "Reading as apple, 1,200 records",
  );
  assert.equal(stateText(item("failed", { error: { message: "x.csv, line 3: no date" } })), "x.csv, line 3: no date");
  assert.equal(stateText(item("failed")), "It failed.");
  assert.match(stateText(item("cancelled")), /^Cancelled/);
});

test("how far it is is a share, where it is known", () => {
  assert.equal(shareOf({ state: "sending", size: 0, sent: 0 }), null);
  assert.equal(shareOf({ state: "sending", size: 10, sent: 20 }), 1);
  assert.equal(shareOf({ state: "reading", progress: { bytes: 1, total_bytes: 4 } }), 0.25);
  assert.equal(shareOf({ state: "reading", progress: { kind: "plain" } }), null);
  assert.equal(shareOf({ state: "done" }), null);
});

test("what was refused is told with its place", () => {
  const refusals = [
    { file: "a.csv", line: 12, reason: "no date" },
    { file: "in/b.csv", line: 1200, reason: "too few fields" },
    { file: "a.csv", line: 0, reason: "no JSON" },
  ];
  assert.deepEqual(refusalTexts({ refusals, refused: 5 }, "a.csv"), [
    "line 12: no date",
    "in/b.csv, line 1,200: too few fields",
    "no JSON",
    "and 2 more",
  ]);
  assert.deepEqual(refusalTexts({}, "a.csv"), []);
});

test("a record of the server is shown like an item of the queue", () => {
  const record = {
    id: "imp_1",
    file: "a.csv",
    bytes: 5,
    status: "completed",
    summary: { new: 0, duplicates: 2 },
    error: null,
    created_at: "2026-01-02T03:04:05Z",
  };
  assert.equal(stateText(itemOf(record)), "Nothing new: all 2 values were there already.");
  assert.equal(itemOf({ ...record, status: "failed", summary: null, error: { message: "cut off" } }).state, "failed");
});

test("dates that may be read in two ways are asked about", () => {
  const error = {
    message:
      "a.csv: line 2: 01/02/2025 may be day first or month first; write dates as 2025-03-31, or import with --dates dmy or --dates mdy",
  };
  const item = { state: "failed", file: {}, error };
  assert.deepEqual(
    waysToRetry(item).map(([, options]) => options),
    [{ dates: "dmy" }, { dates: "mdy" }],
  );
  assert.equal(stateText(item), "a.csv: line 2: 01/02/2025 may be day first or month first; write dates as 2025-03-31");
  assert.deepEqual(waysToRetry({ state: "cancelled", file: {} }), [["Try again", {}]]);
  assert.deepEqual(waysToRetry({ state: "failed", file: null, error }), []);
});
