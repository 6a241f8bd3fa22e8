// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { readReply } from "../../../web/talk/chat_reader.js";
import { clockText } from "../../../web/talk/countdown.js";
import {
  alignRedacted,
  argsLine,
  arrangeSessions,
  countFindings,
  decisionWords,
  failureWords,
  kindWords,
  outcomeWords,
  plainly,
  prettyValue,
  resultLine,
} from "../../../web/talk/words.js";

test("what cannot be seen is written out, and letters of all languages stay", () => {
  assert.equal(plainly("a\u202egpj.exe"), "a\\u202egpj.exe");
  assert.equal(plainly("\u2066x\u2069\u200b\u061c\ufeff"), "\\u2066x\\u2069\\u200b\\u061c\\ufeff");
  for (const text of ["שלום", "می‌خواهم", "👩‍⚕️ naïve\n\tß"]) assert.equal(plainly(text), text);
});

test("values are shown as JSON, and long ones by their beginning", () => {
  assert.equal(prettyValue({ a: 1 }), '{\n  "a": 1\n}');
  assert.equal(prettyValue('{"a":1}'), '{\n  "a": 1\n}');
  assert.equal(prettyValue("plain"), "plain");
  assert.equal(prettyValue(null), "null");
  assert.match(prettyValue("x".repeat(30000)), /… 10000 more characters$/);
});

test("one line says what a tool was called with and what came of it", () => {
  assert.equal(argsLine({ text: "I like tea" }), "I like tea");
  assert.equal(argsLine({ op: "mean", window: { from: 1 } }), 'op: mean, window: {"from":1}');
  assert.equal(argsLine({}), "");
  assert.equal(argsLine(null), "");
  assert.equal(argsLine("x"), "x");
  assert.equal(resultLine('{"summary":"Mean sleep: 435 min"}'), "Mean sleep: 435 min");
  assert.equal(resultLine({ summary: "s" }), "s");
  assert.equal(resultLine("Done.\nAll of it"), "Done. All of it");
  assert.equal(resultLine('{"value":3}'), "");
  assert.equal(resultLine(null), "");
});

test("who decided is said in words, whatever a window calls itself", () => {
  const by = (decidedBy, decision = "deny") => decisionWords({ decision, decidedBy }, "me");
  assert.equal(by("me", "allow"), "Allowed by you");
  assert.equal(by("timeout"), "Denied – nobody answered in time");
  assert.equal(by("tab-7"), "Denied – in another window");
  assert.equal(by("constructor"), "Denied – in another window");
  assert.equal(outcomeWords("timeout-default"), "Nobody answered in time: the default counted");
  assert.equal(outcomeWords("toString"), "toString");
  assert.equal(failureWords("aborted", "x"), "Stopped");
  assert.equal(failureWords("valueOf", "its own words"), "its own words");
});

test("findings are counted by their kind", () => {
  const findings = [
    { category: "email", source: "format" },
    { category: "iban", source: "checksum" },
    { category: "email", source: "format" },
    { category: "email", source: "context" },
  ];
  assert.deepEqual(countFindings(findings), [
    { category: "email", n: 3, sources: ["format", "context"] },
    { category: "iban", n: 1, sources: ["checksum"] },
  ]);
  assert.equal(kindWords("email", 3), "3 e-mail addresses");
  assert.equal(kindWords("my_label", 1), "1 my label");
});

test("what was written and what is sent are laid side by side", () => {
  const same = (pieces) => pieces.map((piece) => piece.same ?? `<${piece.original}|${piece.token}>`).join("");
  assert.equal(same(alignRedacted("Mail ann@example.org now", "Mail [email_1] now")), "Mail <ann@example.org|[email_1]> now");
  assert.equal(same(alignRedacted("ann@example.org", "[email_1]")), "<ann@example.org|[email_1]>");
  assert.equal(same(alignRedacted("a@b.org, c@d.org", "[email_1], [email_2]")), "<a@b.org|[email_1]>, <c@d.org|[email_2]>");
  assert.equal(same(alignRedacted("nothing", "nothing")), "nothing");
  assert.equal(alignRedacted("Mail ann@example.org now", "Other [email_1] now"), null);
  assert.equal(alignRedacted("Mail ann@example.org now and then", "Mail [email_1] now…"), null);
  assert.equal(alignRedacted("ab", "[email_1]ab"), null);
});

test("time that is left", () => {
  assert.deepEqual([0, -5, 1, 9000, 9001, 59999, 60000, 581000, 3723000].map(clockText), [
    "0:00",
    "0:00",
    "0:01",
    "0:09",
    "0:10",
    "1:00",
    "1:00",
    "9:41",
    "1:02:03",
  ]);
});

test("pinned sessions come first, each once", () => {
  const rows = arrangeSessions([{ id: "c" }, { id: "b", pinned: true }, { id: "a" }, { id: "c" }, { id: "a0", pinned: true }]);
  assert.deepEqual(
    rows.map(({ id }) => id),
    ["b", "a0", "c", "a"],
  );
});

/** Streams that give these events, then fail or end; what was asked for and what was said of it. */
function play(...streams) {
  const asked = [];
  const seen = { events: [], states: [] };
  const next = (how) => (handlers) => {
    asked.push(how);
    const { head, events = [], error } = streams[asked.length - 1];
    return (async function* () {
      if (head !== false) handlers.onOpen({ messageId: "msg_1", conversationId: "conv_1" });
      yield* events.map((n) => ({ id: `msg_1:${n}`, type: "token", data: {} }));
      if (error) throw error;
    })();
  };
  const control = new AbortController();
  const on = { open: () => {}, state: (state) => seen.states.push(state), event: ({ id }) => seen.events.push(id) };
  const reading = readReply({
    begin: next("begin"),
    resume: (lastId, handlers) => next(lastId)(handlers),
    on,
    signal: control.signal,
    pauseMs: 0,
  });
  return { reading, asked, seen, control };
}

const lost = Object.assign(new Error("lost"), { name: "ConnectionError" });

test("a reply is read to its end, however often the network fails", async () => {
  const { reading, asked, seen } = play({ events: [1, 2], error: lost }, { head: false, error: lost }, { events: [3] });
  await reading;
  assert.deepEqual(asked, ["begin", "msg_1:2", "msg_1:2"]);
  assert.deepEqual(seen.events, ["msg_1:1", "msg_1:2", "msg_1:3"]);
  assert.deepEqual(seen.states, ["connected", "offline", "offline", "connected"]);
});

test("a reply that came without its end is read on", async () => {
  const cut = Object.assign(new Error("no end"), { name: "StreamError", code: "stream_incomplete" });
  const { reading, asked } = play({ events: [1], error: cut }, { events: [2] });
  await reading;
  assert.deepEqual(asked, ["begin", "msg_1:1"]);
});

test("a reply whose beginning was heard and no more is gone on with from its first event", async () => {
  const { reading, asked } = play({ error: lost }, { events: [1] });
  await reading;
  assert.deepEqual(asked, ["begin", "msg_1:0"]);
});

test("a server that is busy or unwell in mid-reply is asked again", async () => {
  const unwell = [408, 429, 500, 503].map((status) => ({ events: [1], error: Object.assign(new Error("later"), { status }) }));
  const { reading, asked } = play(...unwell, { events: [2] });
  await reading;
  assert.deepEqual(asked, ["begin", ...unwell.map(() => "msg_1:1")]);
});

test("what the server refuses is told, and not tried again", async () => {
  const refused = Object.assign(new Error("busy"), { status: 409 });
  const redirected = Object.assign(new Error("elsewhere"), { status: 0 });
  const odd = Object.assign(new Error("no stream"), { name: "StreamError", code: "unsupported_media_type" });
  for (const streams of [
    [{ head: false, error: refused }],
    [{ events: [1], error: refused }],
    [{ events: [1], error: redirected }],
    [{ events: [1], error: odd }],
    [{ events: [1], error: new TypeError("a mistake of our own") }],
    [{ head: false, error: lost }],
  ]) {
    const { reading, asked } = play(...streams);
    await assert.rejects(reading, streams[0].error);
    assert.equal(asked.length, 1);
  }
});
