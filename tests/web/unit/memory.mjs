// SPDX-License-Identifier: Apache-2.0
// Entries of memory as a form has them: web/memory/entry.js.

import assert from "node:assert/strict";
import { test } from "node:test";

import { changesOf, dataOf, fits, formOf, problemsOf, TEXT_BYTES } from "../../../web/memory/entry.js";

const entry = { id: "mem_1", category: "goal", text: "sleep eight hours", data: { hours: 8 } };

test("a form of an entry that was not touched changes nothing", () => {
  assert.deepEqual(changesOf(entry, formOf(entry)), {});
  assert.deepEqual(formOf(null), { category: "goal", text: "", data: "" });
});

test("only what was changed is sent", () => {
  const form = formOf(entry);
  assert.deepEqual(changesOf(entry, { ...form, text: "sleep nine" }), { text: "sleep nine" });
  assert.deepEqual(changesOf(entry, { ...form, category: "insight" }), { category: "insight" });
  assert.deepEqual(changesOf(entry, { ...form, data: " " }), { data: null });
  assert.deepEqual(changesOf(entry, { ...form, data: '{"hours":9}' }), { data: { hours: 9 } });
});

test("what cannot be saved says why, by field", () => {
  const form = formOf(entry);
  assert.deepEqual(problemsOf(form), {});
  assert.ok(problemsOf({ ...form, text: " \n" }).text);
  assert.deepEqual(problemsOf({ ...form, text: "x".repeat(TEXT_BYTES) }), {});
  assert.equal(problemsOf({ ...form, text: "é".repeat(TEXT_BYTES / 2 + 1) }).text, "This is 2 bytes too long.");
  assert.match(problemsOf({ ...form, data: "{" }).data, /^This is no JSON/);
  assert.ok(problemsOf({ ...form, data: JSON.stringify("x".repeat(17000)) }).data);
});

test("data may be null, and any other JSON", () => {
  assert.equal(dataOf({ data: "" }), null);
  assert.equal(dataOf({ data: "null" }), null);
  assert.deepEqual(dataOf({ data: "[1]" }), [1]);
});

test("a search looks at words and at what an entry is about", () => {
  assert.ok(fits(entry, ""));
  assert.ok(fits(entry, "EIGHT"));
  assert.ok(fits(entry, 'hours":8'));
  assert.ok(!fits(entry, "steps"));
  assert.ok(fits({ text: "x", data: null }, "x"));
});
