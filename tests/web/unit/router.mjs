// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { address, match } from "../../../web/lib/router.js";

const routes = [
  ["ask", "ask"],
  ["turns", "history"],
  ["turns/:id/trace", "trace"],
  ["turns/:id/*rest", "turn"],
];

test("an address leads to its view", () => {
  assert.equal(match(routes, "#/ask").name, "ask");
  assert.deepEqual(match(routes, "#/turns?status=failed").params, { query: { status: "failed" } });
  assert.deepEqual(match(routes, "#/turns/t%2F1").params, { id: "t/1", rest: [], query: {} });
  assert.equal(match(routes, "#/turns/1/trace").name, "trace");
  assert.deepEqual(match(routes, "#/turns/1/facts/ds-001.avg").params.rest, ["facts", "ds-001.avg"]);
});

test("what is no address leads nowhere", () => {
  for (const hash of ["#/nix", "#/ask/more", "#/%E0%A4%A", "", "#/"]) assert.equal(match(routes, hash), null);
});

test("the key stays while the same thing is looked at", () => {
  const key = (hash) => match(routes, hash).key;
  assert.equal(key("#/turns/1/facts/a"), key("#/turns/1?x=1"));
  assert.notEqual(key("#/turns/1"), key("#/turns/2"));
});

test("an address is made as it is read", () => {
  assert.equal(address(["turns", "a/b"], { status: "failed", cursor: null, q: "" }), "#/turns/a%2Fb?status=failed");
  assert.deepEqual(match(routes, address(["turns", "ä ?#/"])).params.id, "ä ?#/");
});
