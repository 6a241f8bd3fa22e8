// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { CHAT_EVENTS } from "../../../sdk/js/src/chat.js";
import { contentText, emptyChat, handledEvents, parseId, reduceChat } from "../../../web/talk/chat_state.js";

const M = "msg_01M7JD1B4BNYJSJEFGZTFJCBKA";
const snapshot = (messages, more) => ({
  type: "snapshot",
  data: { id: "conv_1", title: "T", messages, closed: false, remembered: null, ...more },
});

function play(state, ...events) {
  let n = state.lastN;
  return events.reduce((each, [event, data]) => reduceChat(each, { type: "event", id: `${M}:${++n}`, event, data }), state);
}

const asked = reduceChat(emptyChat, { type: "ask", text: "Mail ann@example.org" });
const open = reduceChat(asked, { type: "open", messageId: M, conversationId: "conv_1" });
const preview = [
  "dlp_preview",
  {
    decisionId: "dlp_1",
    findings: [{ label: "email", category: "email", source: "format" }],
    redactedText: "Mail [email_1]",
    provider: { displayName: "Shield" },
  },
];
const done = ["done", { messageId: M, usage: { input: 3, output: 4 }, model: "m" }];

test("every type of event has a handler, and no other has", () => {
  assert.deepEqual([...handledEvents].sort(), [...CHAT_EVENTS].sort());
});

test("ids and contents", () => {
  assert.deepEqual(parseId(`${M}:42`), { messageId: M, n: 42 });
  assert.equal(contentText("a"), "a");
  assert.equal(contentText([{ type: "text", text: "a" }, { type: "text", text: "b" }, {}]), "ab");
  assert.equal(contentText(null), "");
});

test("a reply is its tokens, and tools between them", () => {
  let state = play(
    open,
    ["token", { text: "Let " }],
    ["token", { text: "me." }],
    ["tool_call", { id: "tc_1", name: "query_data", args: { a: 1 } }],
    ["progress", { label: "Half", percent: 50 }],
  );
  assert.deepEqual(
    state.reply.parts.map((part) => part.kind),
    ["text", "tool"],
  );
  assert.deepEqual(state.reply.parts[1].progress, { message: "Half", percent: 50 });
  state = play(state, ["tool_result", { id: "tc_1", result: [1] }], ["token", { text: "It is 1." }], done);
  assert.equal(state.reply, null);
  const [said, reply] = state.items;
  assert.equal(said.text, "Mail ann@example.org");
  assert.deepEqual([reply.end, reply.usage, reply.model, reply.messageId], ["done", { input: 3, output: 4 }, "m", M]);
  assert.deepEqual([reply.parts[1].ok, reply.parts[1].result, reply.parts[2].text], [true, [1], "It is 1."]);
});

test("a tool that failed says why, and the reply goes on", () => {
  const state = play(
    open,
    ["tool_call", { id: "tc_1", name: "x", args: {} }],
    ["tool_error", { id: "tc_1", error: "no" }],
    ["token", { text: "Sorry." }],
  );
  assert.deepEqual([state.reply.parts[0].ok, state.reply.parts[0].result, state.reply.parts[1].text], [false, "no", "Sorry."]);
});

test("events that come again change nothing, before the end and behind it", () => {
  const state = play(open, ["token", { text: "a" }], ["token", { text: "b" }]);
  assert.equal(reduceChat(state, { type: "event", id: `${M}:2`, event: "token", data: { text: "b" } }), state);
  const over = play(state, done);
  assert.equal(reduceChat(over, { type: "event", id: `${M}:1`, event: "token", data: { text: "a" } }), over);
});

test("an event of no known type is counted and passed over", () => {
  for (const event of ["surprise", "constructor", "__proto__"]) {
    const state = play(open, [event, {}], ["token", { text: "a" }]);
    assert.equal(state.nUnknown, 1);
    assert.equal(state.reply.parts[0].text, "a");
  }
});

test("the shield's question has the words it is about, and a deadline when that is known", () => {
  let state = play(open, preview);
  assert.deepEqual(
    [state.ask.decisionId, state.ask.original, state.ask.redactedText, state.ask.provider, state.ask.deadlineAt],
    ["dlp_1", "Mail ann@example.org", "Mail [email_1]", "Shield", null],
  );
  state = reduceChat(state, { type: "deadline", decisionId: "dlp_1", deadlineAt: "x" });
  assert.equal(state.ask.deadlineAt, "x");
  assert.equal(reduceChat(state, { type: "deadline", decisionId: "dlp_other", deadlineAt: "y" }), state);
  state = play(state, ["dlp_resolved", { appliedChoice: "redact", redactedCount: 1, categories: ["email"] }]);
  assert.equal(state.ask, null);
  assert.deepEqual(state.reply.privacy, { choice: "redact", count: 1, categories: ["email"] });
});

test("what was blocked ends there, and the message says so", () => {
  for (const reason of ["policy_block", "user_blocked", "timeout"]) {
    const state = play(open, preview, ["dlp_blocked", { reason, findings: preview[1].findings }]);
    assert.deepEqual([state.reply, state.ask], [null, null]);
    assert.deepEqual([state.items[0].isBlocked, state.items[1].end, state.items[1].privacy.reason], [true, "blocked", reason]);
  }
});

test("citations are there once, and values of placeholders are put together", () => {
  const citation = ["citation", { sourceId: "doc_1", title: "T", snippet: "s" }];
  const state = play(
    open,
    citation,
    citation,
    ["citation", { sourceId: "doc_1", title: "T", snippet: "other" }],
    ["privacy_token_map", { tokenMap: { "[email_1]": "a" }, source: "dlp" }],
    ["privacy_token_map", { tokenMap: { "[email_2]": "b" }, source: "dlp" }],
  );
  assert.equal(state.reply.citations.length, 2);
  assert.deepEqual(state.reply.tokenMap, { "[email_1]": "a", "[email_2]": "b" });
});

test("an error is the end, with what was said until then", () => {
  const state = play(open, ["token", { text: "Half" }], ["error", { code: "upstream_unavailable", message: "gone" }]);
  assert.deepEqual(
    [state.items[1].end, state.items[1].error.code, state.items[1].parts[0].text],
    ["error", "upstream_unavailable", "Half"],
  );
});

test("a page that was reloaded goes on with the reply from its first event", () => {
  let state = reduceChat(emptyChat, snapshot([{ role: "user", content: "Q" }]));
  state = play(state, ["token", { text: "A" }], preview);
  assert.equal(state.ask.original, "Q");
  assert.equal(state.reply.messageId, M);
  state = play(state, ["dlp_resolved", { appliedChoice: "allow", redactedCount: 0, categories: ["email"] }], done);
  assert.deepEqual(
    state.items.map((item) => item.kind),
    ["said", "reply"],
  );
});

test("a reply that is kept already is not told twice", () => {
  const kept = reduceChat(
    emptyChat,
    snapshot([
      { role: "user", content: "Q" },
      {
        role: "assistant",
        content: "A",
        messageId: M,
        toolCalls: [{ id: "t", name: "n", args: {}, error: "no" }],
        citations: [{ sourceId: "d" }],
        incomplete: true,
      },
    ]),
  );
  assert.deepEqual([kept.items[1].end, kept.items[1].parts[0].ok, kept.items[1].citations.length], ["incomplete", false, 1]);
  assert.equal(play(kept, ["token", { text: "A" }], done), kept);
});

test("a conversation that is read again keeps what was watched", () => {
  let state = play(open, ["dlp_resolved", { appliedChoice: "redact", redactedCount: 1, categories: [] }], ["token", { text: "A" }], done);
  state = reduceChat(
    state,
    snapshot(
      [
        { role: "user", content: "Mail ann@example.org" },
        { role: "assistant", content: "A", messageId: M },
      ],
      { closed: true, remembered: "redact" },
    ),
  );
  assert.deepEqual([state.items.length, state.items[1].privacy.choice, state.isClosed, state.remembered], [2, "redact", true, "redact"]);
});

test("a reply that cannot be had any more ends with why", () => {
  const state = reduceChat(open, { type: "failed", error: { code: "conflict", message: "busy" } });
  assert.deepEqual([state.reply, state.items[1].end, state.items[1].error.code], [null, "error", "conflict"]);
  assert.equal(reduceChat(emptyChat, { type: "failed", error: {} }), emptyChat);
});

test("a reply that was cut gives way to the whole one, and stays where there is none", () => {
  const cut = reduceChat(play(open, ["token", { text: "Ha" }]), { type: "failed", error: { code: "gone", message: "gone" } });
  const said = { role: "user", content: "Mail ann@example.org" };
  const read = (messages, more) => reduceChat(cut, snapshot(messages, more)).items;
  const whole = read([said, { role: "assistant", content: "Half and more", messageId: M }])[1];
  assert.deepEqual([whole.end, whole.parts], ["done", [{ kind: "text", text: "Half and more" }]]);
  assert.deepEqual(read([said], { running: true })[1], cut.items[1]);
  // What the server itself has ended with an error is known better by whoever watched.
  const ended = play(open, ["error", { code: "cancelled", message: "stopped" }]);
  const kept = { role: "assistant", content: "", messageId: M, incomplete: true };
  assert.equal(reduceChat(ended, snapshot([said, kept])).items[1], ended.items[1]);
});

test("messages that were asked for before something was said do not take it back", () => {
  const before = reduceChat(emptyChat, snapshot([{ role: "user", content: "First" }]));
  const state = reduceChat(before, { type: "ask", text: "Second" });
  const late = { ...snapshot([{ role: "user", content: "First" }]), nSaid: before.nSaid };
  assert.equal(reduceChat(state, late), state);
  const known = { ...snapshot([{ role: "user", content: "Third" }]), nSaid: state.nSaid };
  assert.equal(reduceChat(state, known).items[0].text, "Third");
});

test("what was refused is unsaid, and nothing else", () => {
  const first = reduceChat(emptyChat, { type: "ask", text: "First" });
  const { key } = first.items[0];
  const second = reduceChat(first, { type: "ask", text: "Second" });
  const { items, reply } = reduceChat(second, { type: "unsaid", key });
  assert.deepEqual([items.map(({ text }) => text), reply], [["Second"], null]);
});
