// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { summarise, TurnList } from "../../../web/lib/turn_list.js";

const turn = (n, status = "completed") => ({
  id: `turn_${String(n).padStart(4, "0")}`,
  status,
  created_at: "2026-11-16T00:00:00Z",
  messages: [{ role: "user", content: `q${n}` }],
  result: null,
  error: null,
});
const page = (from, to, next = null) => ({
  items: Array.from({ length: from - to + 1 }, (_, i) => turn(from - i)),
  next,
});
const ids = (list) => list.items.map(({ id }) => Number(id.slice(5)));

test("a row shows the last question and the answer on one line", () => {
  const row = summarise({
    ...turn(1),
    messages: [
      { role: "user", content: "first" },
      { role: "assistant", content: "a" },
      { role: "user", content: [{ type: "text", text: "how\n is it?" }] },
    ],
    result: {
      answer: "## Well\n\n- **61** bpm, see [that](#x)",
      validator: { findings_total: 3, findings_validated: 1, findings_conditional: 1, findings_rejected: 1 },
      duration_ms: 12,
    },
  });
  assert.equal(row.question, "how is it?");
  assert.equal(row.answer, "Well 61 bpm, see that");
  assert.deepEqual([row.passed, row.findings, row.durationMs], [2, 3, 12]);
  assert.equal(summarise({ id: "x", status: "failed", error: { message: "no" } }).answer, "no");
});

test("pages are put together, each turn once", () => {
  const list = new TurnList();
  assert.equal(list.append(page(9, 7, "c")), 3);
  assert.equal(list.cursor, "c");
  assert.equal(list.append(page(7, 5)), 2);
  assert.equal(list.cursor, null);
  assert.deepEqual(ids(list), [9, 8, 7, 6, 5]);
});

test("what is new comes on top, what has changed is named by its new place", () => {
  const list = new TurnList();
  list.append({ items: [turn(3, "running"), turn(2), turn(1)], next: null });
  const { nNew, changed } = list.merge([turn(5), turn(4), turn(3), turn(2)]);
  assert.deepEqual([nNew, changed], [2, [2]]);
  assert.deepEqual(ids(list), [5, 4, 3, 2, 1]);
  assert.equal(list.running().length, 0);
});

test("one that belongs to a later page is not taken for a new one", () => {
  const list = new TurnList();
  list.append({ items: [turn(9), turn(8)], next: "c" });
  assert.equal(list.merge([turn(9), turn(8), turn(3)]).nNew, 0);
  list.append({ items: [turn(3)], next: null });
  assert.deepEqual(ids(list), [9, 8, 3]);
});

test("turns are replaced and removed by their ids", () => {
  const list = new TurnList();
  list.append({ items: [turn(3, "running"), turn(2, "running")], next: null });
  assert.equal(list.replace(turn(2)), 1);
  assert.equal(list.replace(turn(2)), -1);
  assert.equal(list.replace(turn(7)), -1);
  assert.equal(list.remove(turn(3).id), true);
  assert.equal(list.remove(turn(3).id), false);
  assert.deepEqual(ids(list), [2]);
  assert.equal(list.replace(turn(2, "failed")), 0);
});

test("an empty page is the last one", () => {
  const list = new TurnList();
  list.append({ items: [], next: "c" });
  assert.equal(list.cursor, null);
});
