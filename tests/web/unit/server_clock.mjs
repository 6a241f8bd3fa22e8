// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { noteServerDate, serverNow } from "../../../web/lib/server_clock.js";

const NOW = Date.parse("2026-11-16T14:44:03.700Z");

test("clocks that are close are taken as the same", () => {
  noteServerDate("Mon, 16 Nov 2026 14:44:03 GMT", NOW);
  assert.equal(serverNow(NOW), NOW);
  noteServerDate("Mon, 16 Nov 2026 14:44:02 GMT", NOW);
  assert.equal(serverNow(NOW), NOW);
});

test("a clock that is wrong is corrected by the server's", () => {
  noteServerDate("Mon, 16 Nov 2026 14:54:03 GMT", NOW);
  assert.equal(new Date(serverNow(NOW)).toISOString(), "2026-11-16T14:54:03.500Z");
  noteServerDate("Mon, 16 Nov 2026 13:44:03 GMT", NOW);
  assert.equal(new Date(serverNow(NOW)).toISOString(), "2026-11-16T13:44:03.500Z");
});

test("an answer without a date changes nothing", () => {
  const before = serverNow(NOW);
  noteServerDate(null, NOW);
  noteServerDate("yesterday", NOW);
  assert.equal(serverNow(NOW), before);
});
