// SPDX-License-Identifier: Apache-2.0
// The queue of files: web/data/importer.js, with a stand-in for the SDK.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Importer, MAX_FILES, MAX_KEPT } from "../../../web/data/importer.js";

const file = (name, size = 100) => ({ name, size });
const summary = { new: 3, duplicates: 0 };

function problem(code, message = code, more = {}) {
  return Object.assign(new Error(message), { code, ...more });
}

const lost = () => problem("io_error", "the connection was lost", { name: "ConnectionError" });
const unknown = () => problem("invalid_token", "nobody", { name: "AuthenticationError", status: 401 });

/** A server on which every import succeeds at once and everybody is somebody, unless `over` says otherwise. */
function serverOf(over = {}) {
  const calls = [];
  const data = {
    async import(item, options) {
      calls.push(item.name);
      return { id: `imp_${item.name}`, status: "running", ...(await over.import?.(item, options)) };
    },
    async *streamImport(id) {
      yield* over.events?.(id) ?? [{ type: "import.completed", data: summary }];
    },
    async retrieveImport(id) {
      return over.retrieve(id);
    },
  };
  return { calls, weir: { data, auth: { whoami: async () => over.whoami?.() } } };
}

function importerOn(server) {
  const importer = new Importer({ sleep: () => new Promise(setImmediate) });
  importer.use({ weir: server.weir, owner: "me", connection: null });
  const states = [];
  importer.subscribe(
    (item) => item && states.at(-1) !== `${item.name} ${item.state}` && states.push(`${item.name} ${item.state}`),
  );
  const ended = () =>
    new Promise((resolve) => {
      const check = () => !importer.isBusy && resolve();
      importer.subscribe(check);
      check();
    });
  return { importer, states, ended };
}

test("files go one after the other, in the order they came", async () => {
  const server = serverOf();
  const { importer, states, ended } = importerOn(server);
  assert.equal(importer.add([file("a"), file("b")]), 2);
  importer.add([file("c")]);
  assert.deepEqual(
    importer.items.map((item) => item.name),
    ["c", "a", "b"],
  );
  await ended();
  assert.deepEqual(states, [
    "a sending",
    "a reading",
    "a done",
    "b sending",
    "b reading",
    "b done",
    "c sending",
    "c reading",
    "c done",
  ]);
});

test("progress of sending and of reading is told", async () => {
  const seen = [];
  const server = serverOf({
    import: async (_, { onProgress }) => void onProgress({ bytes: 40, totalBytes: 100 }),
    events: () => [
      { type: "import.file", data: { file: "a", kind: "plain" } },
      { type: "import.progress", data: { bytes: 50, total_bytes: 100, records: 7 } },
      { type: "import.completed", data: summary },
    ],
  });
  const { importer, ended } = importerOn(server);
  importer.subscribe((item) => item && seen.push([item.state, item.sent, item.progress?.records ?? null]));
  importer.add([file("a")]);
  await ended();
  assert.ok(seen.some(([state, sent]) => state === "sending" && sent === 40));
  assert.ok(seen.some(([state, , records]) => state === "reading" && records === 7));
  assert.deepEqual(importer.items[0].summary, summary);
});

test("one that fails does not keep the next", async () => {
  const server = serverOf({
    import: async (item) => {
      if (item.name === "bad") throw problem("invalid_file_type", "no file that weir can read");
    },
  });
  const { importer, ended } = importerOn(server);
  importer.add([file("bad"), file("good")]);
  await ended();
  const byName = Object.fromEntries(importer.items.map((item) => [item.name, item]));
  assert.equal(byName.bad.state, "failed");
  assert.equal(byName.bad.error.code, "invalid_file_type");
  assert.equal(byName.good.state, "done");
});

test("a file that turns out wrong says so in the server's words", async () => {
  const { importer, ended } = importerOn(
    serverOf({ events: () => [{ type: "import.failed", data: { error: "a.zip is cut off" } }] }),
  );
  importer.add([file("a.zip")]);
  await ended();
  assert.equal(importer.items[0].state, "failed");
  assert.equal(importer.items[0].error.message, "a.zip is cut off");
});

test("a file that waits is cancelled without being sent", async () => {
  let release;
  const held = new Promise((resolve) => (release = resolve));
  const server = serverOf({ import: async (item) => void (item.name === "a" && (await held)) });
  const { importer, ended } = importerOn(server);
  importer.add([file("a"), file("b")]);
  importer.cancel(importer.items.find((item) => item.name === "b"));
  assert.ok(importer.isHolding);
  release();
  await ended();
  assert.ok(!importer.isHolding);
  assert.deepEqual(server.calls, ["a"]);
});

test("a file that is being sent is cancelled by its signal, and the next goes on", async () => {
  const server = serverOf({
    import: (item, { signal }) =>
      item.name === "a"
        ? new Promise((_, reject) => signal.addEventListener("abort", () => reject(problem("aborted"))))
        : {},
  });
  const { importer, ended } = importerOn(server);
  importer.add([file("a"), file("b")]);
  importer.cancel(importer.items.find((item) => item.name === "a"));
  await ended();
  assert.deepEqual(Object.fromEntries(importer.items.map((item) => [item.name, item.state])), {
    a: "cancelled",
    b: "done",
  });
});

test("while another import of the person runs, it waits and tries again", async () => {
  let refusals = 3;
  const server = serverOf({
    import: async () => {
      if (refusals-- > 0) throw problem("concurrency_limit_exceeded");
    },
  });
  const { importer, ended } = importerOn(server);
  importer.add([file("a")]);
  await ended();
  assert.equal(server.calls.length, 4);
  assert.equal(importer.items[0].state, "done");
});

test("a stream that ends too soon is asked about", async () => {
  const server = serverOf({
    events: () => [],
    retrieve: () => ({ status: "failed", error: { code: "bad_file", message: "cut off" } }),
  });
  const { importer, ended } = importerOn(server);
  importer.add([file("a")]);
  await ended();
  assert.equal(importer.items[0].error.message, "cut off");
});

test("one that ran before the page was loaded is followed, once", async () => {
  const { importer, ended } = importerOn(serverOf());
  const record = { id: "imp_1", file: "export.zip", bytes: 9 };
  importer.adopt(record);
  importer.adopt(record);
  await ended();
  assert.deepEqual(
    importer.items.map((item) => [item.name, item.state]),
    [["export.zip", "done"]],
  );
});

test("what failed can be tried again, and what ended be put away", async () => {
  let fails = true;
  const server = serverOf({
    import: async () => {
      if (fails) throw problem("io_error");
    },
  });
  const { importer, ended } = importerOn(server);
  importer.add([file("a")]);
  await ended();
  fails = false;
  importer.retry(importer.items[0], { dates: "dmy" });
  await ended();
  assert.deepEqual(
    importer.items.map((item) => item.state),
    ["done"],
  );
  importer.remove(importer.items[0]);
  assert.deepEqual(importer.items, []);
});

test("there are ceilings on what waits and on what is kept", async () => {
  const { importer, ended } = importerOn(serverOf());
  assert.equal(importer.add(Array.from({ length: MAX_FILES + 5 }, (_, i) => file(`f${i}`))), MAX_FILES);
  await ended();
  importer.add([file("last")]);
  await ended();
  assert.ok(importer.items.length <= MAX_KEPT + 1);
});

/** Throws these, one by one, and then nothing more. */
const failing = (...errors) => () => {
  if (errors.length > 0) throw errors.shift();
};

test("what the network cuts is sent again when the server is heard, and the others wait for that", async () => {
  const unheard = failing(lost(), lost());
  let nAsked = 0;
  const server = serverOf({ import: failing(lost(), lost()), whoami: () => (nAsked++, unheard()) });
  const { importer, states, ended } = importerOn(server);
  importer.add([file("a"), file("b")]);
  await ended();
  assert.deepEqual([server.calls, nAsked], [["a", "a", "a", "b"], 4]);
  assert.deepEqual(states, ["a sending", "a reading", "a done", "b sending", "b reading", "b done"]);
});

test("a file that is never taken although the server is heard fails, and keeps nobody", async () => {
  const server = serverOf({ import: (item) => item.name === "a" && failing(lost())() });
  const { importer, ended } = importerOn(server);
  importer.add([file("a"), file("b")]);
  await ended();
  assert.deepEqual(server.calls, ["a", "a", "a", "b"]);
  assert.deepEqual(
    importer.items.map((item) => [item.state, item.error?.code]),
    [
      ["failed", "io_error"],
      ["done", undefined],
    ],
  );
});

test("an import that runs is followed over any failure that passes", async () => {
  const cut = failing(lost(), problem("http_503", "not now", { status: 503 }), unknown());
  const server = serverOf({ events: () => (cut(), [{ type: "import.completed", data: summary }]) });
  const { importer, states, ended } = importerOn(server);
  importer.add([file("a")]);
  await ended();
  assert.deepEqual(states, ["a sending", "a reading", "a done"]);
});

test("an import whose events are gone says itself how it ended, when it can be asked", async () => {
  const gone = problem("not_found", "gone", { status: 404 });
  const unheard = failing(lost());
  const server = serverOf({ events: () => failing(gone)(), retrieve: () => (unheard(), { status: "completed", summary }) });
  const { importer, ended } = importerOn(server);
  importer.add([file("a")]);
  await ended();
  assert.deepEqual([importer.items[0].state, importer.items[0].summary], ["done", summary]);
});

test("what somebody queued waits while nobody is signed in", async () => {
  let isKnown = false;
  let nRefused = 0;
  const refuse = () => {
    if (isKnown) return;
    nRefused++;
    throw unknown();
  };
  const server = serverOf({ import: refuse, whoami: () => (isKnown || use(null), refuse()) });
  const { importer, ended } = importerOn(server);
  const use = (owner) => importer.use({ weir: server.weir, owner, connection: null });
  importer.add([file("a"), file("b")]);
  for (let i = 0; i < 10; i++) await new Promise(setImmediate);
  assert.deepEqual([server.calls, nRefused, importer.isHolding], [["a"], 2, true]);
  isKnown = true;
  use("me");
  await ended();
  assert.deepEqual(server.calls, ["a", "a", "b"]);
});

test("another person sees nothing of it, and hears of nothing", async () => {
  const server = serverOf({
    import: (item, { signal }) =>
      item.name === "b" && new Promise((_, reject) => signal.addEventListener("abort", () => reject(problem("aborted")))),
  });
  const { importer, states } = importerOn(server);
  importer.add([file("a"), file("b"), file("c")]);
  while (states.at(-1) !== "b sending") await new Promise(setImmediate);
  importer.use({ weir: server.weir, owner: null, connection: null });
  assert.ok(importer.isHolding);
  importer.use({ weir: server.weir, owner: "you", connection: null });
  await new Promise(setImmediate);
  assert.deepEqual([importer.items, states.at(-1), server.calls], [[], "b sending", ["a", "b"]]);
});
