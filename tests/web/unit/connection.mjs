// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { createConnection, isPassing, PATIENCE_MS, patienceAfter, watchedFetch, whenHeard } from "../../../web/lib/connection.js";

test("the worst of all states is shown, and each change once", () => {
  const connection = createConnection();
  const seen = [];
  const stop = connection.subscribe((state) => seen.push(state));
  connection.report("turn", "connected");
  connection.report("turn", "reconnecting");
  connection.report("requests", "offline");
  connection.report("requests", "connected");
  connection.forget("turn");
  connection.forget("nobody");
  stop();
  connection.report("turn", "offline");
  assert.deepEqual(seen, ["connected", "reconnecting", "offline", "reconnecting", "connected"]);
  assert.throws(() => connection.report("turn", "fine"), TypeError);
});

test("requests tell how the server is heard, and who is not signed in", async () => {
  const connection = createConnection();
  const refused = [];
  let answer = async () => ({ status: 200, url: "" });
  const fetch = watchedFetch(
    (...args) => answer(...args),
    connection,
    (path) => refused.push(path),
  );
  await fetch("http://weir.example/v1/turns");
  assert.equal(connection.state, "connected");
  answer = async () => ({ status: 401, url: "" });
  await fetch("http://weir.example/v1/turns?limit=1");
  assert.deepEqual(refused, ["/v1/turns"]);
  answer = async () => {
    throw new TypeError("Failed to fetch");
  };
  await assert.rejects(fetch("http://weir.example/v1/turns"));
  assert.equal(connection.state, "offline");
});

test("a request that the page itself has given up says nothing about the server", async () => {
  const connection = createConnection();
  const control = new AbortController();
  control.abort();
  const fetch = watchedFetch(
    () => Promise.reject(new DOMException("", "AbortError")),
    connection,
    () => {},
  );
  await assert.rejects(fetch("http://weir.example/", { signal: control.signal }));
  assert.equal(connection.state, "connected");
});

test("patience grows with each beat that is missed, and keeps to what beats take", () => {
  let patience = PATIENCE_MS;
  const grown = [1, 2, 3, 4].map(() => (patience = patienceAfter(patience, null)));
  assert.deepEqual(grown, [10000, 20000, 40000, 40000]);
  assert.equal(patienceAfter(20000, 7000), 21000);
  assert.equal(patienceAfter(20000, 20), PATIENCE_MS);
  const connection = createConnection();
  connection.report("requests", "offline");
  assert.equal(connection.heardAt, 0);
  const before = performance.now();
  connection.report("turn", "connected");
  assert.ok(connection.heardAt >= before);
});

test("what the network has kept is asked for once more when the server is heard again", () => {
  const connection = createConnection();
  let nAsked = 0;
  const failed = (error) => whenHeard(connection, error, () => nAsked++);
  failed({ name: "ServerError", status: 500 });
  failed(new TypeError("mine"));
  assert.equal(connection.state, "connected");
  failed({ name: "ConnectionError" });
  assert.deepEqual([connection.state, nAsked], ["offline", 0]);
  for (const state of ["connected", "offline", "connected"]) connection.report("requests", state);
  assert.equal(nAsked, 1);
});

test("what may go better later is told from what will not", async () => {
  const { ConnectionError, TimeoutError, StreamError, AbortError, ApiError } = await import("../../../sdk/js/src/errors.js");
  const passing = [new ConnectionError("x"), new TimeoutError("x"), new StreamError("x", { code: "stream_incomplete" })];
  const final = [new AbortError(), new StreamError("x", { code: "conflict" }), new TypeError("x")];
  const answers = (...statuses) => statuses.map((status) => new ApiError("x", { status }));
  for (const error of [...passing, ...answers(408, 429, 500, 503)]) assert.ok(isPassing(error), error);
  for (const error of [...final, ...answers(0, 400, 401, 404, 409, 410)]) assert.ok(!isPassing(error), error);
});
