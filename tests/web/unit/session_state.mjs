// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { emptySession, handledEvents, MAX_ITEMS, reduceSession, turnOf } from "../../../web/talk/session_state.js";

// docs/sessions.md
const EVENTS = [
  "run_start",
  "text_delta",
  "thinking_delta",
  "tool_start",
  "tool_progress",
  "tool_end",
  "usage",
  "context_meta",
  "done",
  "error",
  "message_persisted",
  "tool.approval_required",
  "approval.resolved",
  "clarify.request",
  "clarify.resolved",
  "cron.fired",
  "mesh.changed",
  "evolve.skill_pending",
  "protocol.upgrade_required",
];

const A = "01M7JD1B4BNYJSJEFGZTFJCBKA";
const B = "01M7JD1B4BNYJSJEFGZTFJCBKB";
const C = "01M7JD1B4BNYJSJEFGZTFJCBKC";
const head = { id: "ses_1", title: "T", usage: { inputTokens: 10, outputTokens: 5, estimatedCostUsd: 0.5 }, state: "idle", queued: 0 };
const user = (ulid, content, n = 0) => ({ id: `msg_${ulid}_${n}`, role: "user", content, timestamp: "2026-11-16T14:44:03Z" });
const answer = (ulid, content, more) => ({
  id: `msg_${ulid}_99`,
  role: "assistant",
  content,
  timestamp: "2026-11-16T14:44:04Z",
  provider: "p",
  model: "m",
  ...more,
});
const snapshot = (messages, more) => ({ type: "snapshot", data: { session: head, messages, queue: [], seq: 0, ...more } });

/** Events with numbers behind the state's last one. */
function play(state, ...events) {
  let seq = state.lastSeq;
  return events.reduce((each, event) => reduceSession(each, { type: "event", event, seq: ++seq }), state);
}

const persisted = (ulid, role, n = role === "user" ? 0 : 99) => ({ type: "message_persisted", messageId: `msg_${ulid}_${n}`, role });
const start = (ulid) => ({ type: "run_start", provider: "p", model: "m", source: "global", traceId: `trn_${ulid}` });
const text = (value) => ({ type: "text_delta", text: value });
const done = (value) => ({ type: "done", text: value, turnCount: 1 });
const toolStart = (ulid, name = "query_data", n = 1) => ({
  type: "tool_start",
  toolCallId: `tc_${ulid}_${n}`,
  toolName: name,
  args: { a: 1 },
});
const toolEnd = (ulid, name = "query_data", n = 1) => ({
  type: "tool_end",
  toolCallId: `tc_${ulid}_${n}`,
  toolName: name,
  ok: true,
  durationMs: 3,
  result: "4",
});
const approval = (ulid, n = 1) => ({
  type: "tool.approval_required",
  request: {
    approvalId: `ap_${ulid}_${n}`,
    sessionId: "ses_1",
    toolCallId: `tc_${ulid}_${n}`,
    toolName: "remember",
    args: { text: "tea" },
    reason: null,
  },
});
const clarify = (ulid) => ({
  type: "clarify.request",
  requestId: `clr_${ulid}_1`,
  question: "Which?",
  options: ["a", "b"],
  default: "a",
  defaultDeadlineAt: "2026-11-16T14:50:00Z",
});

const loaded = reduceSession(emptySession, snapshot([]));
const begun = play(loaded, persisted(A, "user"), start(A));
const kinds = (state) => state.items.map((item) => item.kind).join(" ");
const partKinds = (turn) => turn.parts.map((part) => part.kind).join(" ");

test("every type of event has a handler, and no other has", () => {
  assert.deepEqual([...handledEvents].sort(), [...EVENTS].sort());
});

test("names of a turn's parts have its ULID", () => {
  for (const id of [`trn_${A}`, `msg_${A}_0`, `tc_${A}_12`, `ap_${A}_1`, `clr_${A}_1`]) assert.equal(turnOf(id), A);
  for (const id of [null, undefined, "", "x", "trn_short"]) assert.equal(turnOf(id), null);
});

test("a turn is what was said, what came in between, and its end", () => {
  const state = play(
    begun,
    { type: "context_meta", data: { memories: 2, labs: 1 } },
    { type: "thinking_delta", thinking: "Hm" },
    { type: "thinking_delta", thinking: "m." },
    text("Let me "),
    text("see."),
    toolStart(A),
    toolEnd(A),
    text("It is "),
    text("4."),
    { type: "usage", inputTokens: 7, outputTokens: 3, estimatedCostUsd: 0.25 },
  );
  assert.equal(partKinds(state.turn), "thinking text tool text");
  assert.equal(state.turn.parts[0].text, "Hmm.");
  assert.deepEqual(state.turn.context, { memories: 2, labs: 1 });
  assert.deepEqual(state.usage, { input: 17, output: 8, costUsd: 0.75 });
  const over = play(state, persisted(A, "assistant"), done("Let me see.It is 4."));
  assert.equal(over.turn, null);
  assert.equal(kinds(over), "said turn");
  assert.equal(partKinds(over.items[1]), "thinking text tool text");
  assert.deepEqual(over.items[1].end, { kind: "done" });
  assert.equal(over.items[1].messageId, `msg_${A}_99`);
});

test("events that come again change nothing", () => {
  const state = play(begun, text("one "), text("two"));
  const again = reduceSession(state, { type: "event", event: text("two"), seq: state.lastSeq });
  assert.equal(again, state);
  assert.equal(reduceSession(state, { type: "event", event: text("x"), seq: 1 }), state);
});

test("an event of no known type is counted and passed over", () => {
  for (const type of ["surprise", "constructor", "__proto__", "toString"]) {
    const state = play(begun, { type });
    assert.equal(state.nUnknown, 1);
    assert.equal(state.lastSeq, begun.lastSeq + 1);
    assert.deepEqual(state.turn, begun.turn);
  }
});

test("a tool runs, tells how far it is, and ends", () => {
  const progress = { type: "tool_progress", toolName: "query_data", message: "Half", percent: 50, audience: "user" };
  let state = play(begun, toolStart(A), progress);
  assert.deepEqual(state.turn.parts[0].progress, { message: "Half", percent: 50 });
  assert.equal(play(begun, toolStart(A), { ...progress, audience: "internal" }).turn.parts[0].progress, null);
  state = play(state, toolEnd(A));
  assert.deepEqual(
    [state.turn.parts[0].state, state.turn.parts[0].ok, state.turn.parts[0].result, state.turn.parts[0].progress],
    ["ended", true, "4", null],
  );
  assert.equal(play(state, progress).turn.parts[0].progress, null);
  const late = play(begun, toolEnd(A));
  assert.deepEqual([late.turn.parts[0].name, late.turn.parts[0].state], ["query_data", "ended"]);
});

test("two calls of one tool are told apart", () => {
  const state = play(
    begun,
    toolStart(A),
    toolStart(A, "query_data", 2),
    { type: "tool_progress", toolName: "query_data", message: "second", audience: "dashboard" },
    toolEnd(A),
  );
  assert.deepEqual(
    state.turn.parts.map((part) => part.state),
    ["ended", "running"],
  );
  assert.deepEqual(state.turn.parts[1].progress, { message: "second", percent: null });
});

test("an approval waits, has a deadline, and is settled once", () => {
  let state = play(begun, toolStart(A, "remember"), approval(A));
  assert.equal(state.turn.parts[0].state, "waiting");
  assert.deepEqual(
    state.asks.map(({ kind, id, deadlineAt }) => [kind, id, deadlineAt]),
    [["approval", `ap_${A}_1`, null]],
  );
  const pending = { type: "pending", approvals: [{ ...approval(A).request, deadlineAt: "2026-11-16T15:00:00Z" }], questions: [] };
  state = reduceSession(state, pending);
  assert.equal(state.asks.length, 1);
  assert.equal(state.asks[0].deadlineAt, "2026-11-16T15:00:00Z");
  state = play(state, { type: "approval.resolved", approvalId: `ap_${A}_1`, decision: "allow", decidedBy: "tab-2" });
  assert.deepEqual(state.asks, []);
  assert.deepEqual([state.turn.parts[0].state, state.turn.parts[0].decision], ["running", { decision: "allow", decidedBy: "tab-2" }]);
  assert.deepEqual(reduceSession(state, pending).asks, [], "a list that is late does not bring it back");
});

test("what is open is known without its event", () => {
  const state = reduceSession(loaded, {
    type: "pending",
    approvals: [{ ...approval(A).request, deadlineAt: "x" }],
    questions: [{ requestId: `clr_${A}_1`, question: "Why?", defaultDeadlineAt: "y" }],
  });
  assert.deepEqual(
    state.asks.map(({ kind, deadlineAt }) => [kind, deadlineAt]),
    [
      ["approval", "x"],
      ["question", "y"],
    ],
  );
});

test("a question has options, a default and a deadline, and its outcome stays", () => {
  let state = play(begun, clarify(A));
  assert.deepEqual(state.asks[0], {
    kind: "question",
    id: `clr_${A}_1`,
    question: "Which?",
    options: ["a", "b"],
    fallback: "a",
    deadlineAt: "2026-11-16T14:50:00Z",
  });
  for (const source of ["user", "timeout-default", "timeout-no-default", "cancel"]) {
    const settled = play(state, { type: "clarify.resolved", requestId: `clr_${A}_1`, source });
    assert.deepEqual(settled.asks, []);
    assert.equal(settled.turn.parts[0].outcome, source);
  }
  state = play(begun, { ...clarify(A), options: undefined, default: undefined, defaultDeadlineAt: null });
  assert.deepEqual([state.asks[0].options, state.asks[0].fallback, state.asks[0].deadlineAt], [[], null, null]);
});

test("the end of a turn closes all it has asked", () => {
  const state = play(begun, toolStart(A, "remember"), approval(A), { type: "error", error: "aborted", code: "aborted" });
  assert.deepEqual(state.asks, []);
  assert.deepEqual(state.items[1].end, { kind: "error", error: "aborted", code: "aborted" });
});

test("what this window said is known by its text, others' is asked for", () => {
  let state = reduceSession(loaded, { type: "sent", turnId: `trn_${A}`, text: "Hello" });
  assert.deepEqual(state.queue, [{ turnId: `trn_${A}`, text: "Hello" }]);
  state = play(state, persisted(A, "user"));
  assert.deepEqual([state.queue, state.items[0].text, state.needsMessages], [[], "Hello", false]);
  // The answer of the call may come behind the event.
  state = play(state, start(A), persisted(A, "assistant"), done(""), persisted(B, "user"));
  assert.equal(state.needsMessages, true);
  state = reduceSession(state, { type: "sent", turnId: `trn_${B}`, text: "Later" });
  assert.deepEqual([state.items.at(-1).text, state.queue], ["Later", []]);
});

test("messages that were asked for too early are asked for again", () => {
  let state = play(loaded, persisted(A, "user"), start(A), persisted(A, "user", 1));
  state = reduceSession(state, snapshot([]));
  assert.equal(state.needsMessages, true);
  state = reduceSession(state, snapshot([user(A, "a")]));
  assert.equal(state.needsMessages, true);
  state = reduceSession(state, snapshot([user(A, "a"), user(A, "b", 1)]));
  assert.equal(state.needsMessages, false);
});

test("what is said in the middle of a turn stands there", () => {
  let state = play(begun, text("One. "), persisted(A, "user", 1), text("Two."));
  assert.equal(partKinds(state.turn), "text said text");
  assert.equal(state.needsMessages, true);
  state = reduceSession(state, snapshot([user(A, "first"), user(A, "also this", 1)]));
  assert.equal(state.turn.parts[1].text, "also this");
  assert.equal(kinds(state), "said");
  assert.equal(state.items[0].text, "first");
  state = play(state, persisted(A, "assistant"), done("One. Two."));
  assert.equal(partKinds(state.items[1]), "text said text");
  assert.equal(kinds(reduceSession(state, snapshot([user(A, "first"), user(A, "also this", 1), answer(A, "One. Two.")]))), "said turn");
});

test("what a turn is told waits until it is taken up, or the turn is over", () => {
  const told = reduceSession(reduceSession(begun, { type: "told", text: "a" }), { type: "told", text: "b" });
  assert.deepEqual(told.told, ["a", "b"]);
  assert.deepEqual(play(told, persisted(A, "user", 1)).told, []);
  assert.deepEqual(play(told, { type: "error", error: "x", code: "aborted" }).told, []);
  assert.equal(reduceSession(loaded, { type: "told", text: "late" }), loaded);
});

test("messages become items, with their tools", () => {
  const tools = [{ id: `tc_${A}_1`, name: "query_data", args: {}, ok: false, durationMs: 2 }];
  const state = reduceSession(
    emptySession,
    snapshot([{ ...user(A, "hi"), blocked: true }, answer(A, "", { tools, incomplete: true })], { seq: 40, leftOut: 7 }),
  );
  assert.equal(state.lastSeq, 40);
  assert.equal(state.leftOut, 7);
  assert.equal(state.items[0].isBlocked, true);
  assert.deepEqual([state.items[1].end.kind, partKinds(state.items[1]), state.items[1].parts[0].ok], ["incomplete", "tool", false]);
});

test("a turn that ended while its messages were read is there once", () => {
  const read = reduceSession(emptySession, snapshot([user(A, "q"), answer(A, "One two")], { seq: 5 }));
  for (const events of [
    [text("two"), persisted(A, "assistant"), done("One two")],
    [persisted(A, "assistant"), done("One two")],
    [done("One two")],
    [{ type: "error", error: "x", code: "aborted" }],
  ]) {
    const state = play(read, { type: "usage", inputTokens: 1, outputTokens: 1, estimatedCostUsd: 1 }, ...events);
    assert.equal(kinds(state), "said turn");
    assert.equal(state.turn, null);
    assert.equal(state.usage.input, 10, "counted once");
  }
});

test("what was missed of an answer is made up for at its end", () => {
  const state = play(loaded, text("wo"), toolEnd(A), text(" three"), persisted(A, "assistant"), done("One two three"));
  assert.deepEqual(state.items[0].parts.at(-1), { kind: "text", text: "One two three" });
  assert.equal(partKinds(state.items[0]), "tool text");
});

test("a turn whose end is lost does not swallow the next", () => {
  const state = play(begun, text("One"), start(B), text("Two"));
  assert.deepEqual(state.items.at(-1).end, { kind: "incomplete" });
  assert.equal(state.turn.parts[0].text, "Two");
});

test("messages that are read again keep what was watched", () => {
  let state = play(
    begun,
    { type: "thinking_delta", thinking: "Hm." },
    text("A."),
    persisted(A, "assistant"),
    done("A."),
    { type: "cron.fired", jobId: "cron_1", ranAt: "2026-11-16T07:00:00Z", outputPath: null },
    persisted(B, "user"),
    start(B),
    { type: "error", error: "no", code: "internal_error" },
    persisted(C, "user"),
    start(C),
    text("Now"),
  );
  state = reduceSession(state, snapshot([user(A, "a"), answer(A, "A."), user(B, "b"), user(C, "c")], { seq: 99 }));
  assert.equal(kinds(state), "said turn note said turn said");
  assert.equal(partKinds(state.items[1]), "thinking text");
  assert.deepEqual(
    state.items.filter((item) => item.kind === "said").map((item) => item.text),
    ["a", "b", "c"],
  );
  assert.equal(state.turn.parts[0].text, "Now");
  assert.equal(state.needsMessages, false);
  assert.notEqual(state.lastSeq, 99, "the stream goes on where it was");
});

test("messages that were read before the end of a turn do not take it away", () => {
  const state = play(begun, text("A."), persisted(A, "assistant"), done("A."));
  assert.equal(kinds(reduceSession(state, snapshot([user(A, "a")]))), "said turn");
});

test("what waits is shown in its order", () => {
  let state = reduceSession(emptySession, snapshot([user(A, "a")], { queue: [{ turnId: `trn_${B}`, text: "b", createdAt: "x" }] }));
  state = reduceSession(state, { type: "sent", turnId: `trn_${C}`, text: "c" });
  assert.deepEqual(
    state.queue.map((each) => each.text),
    ["b", "c"],
  );
  state = reduceSession(
    state,
    snapshot([user(A, "a"), answer(A, "A"), user(B, "b")], { queue: [{ turnId: `trn_${C}`, text: "c", createdAt: "x" }] }),
  );
  assert.deepEqual(
    state.queue.map((each) => each.text),
    ["c"],
  );
  assert.deepEqual(
    play(state, persisted(B, "user"), start(B)).queue.map((each) => each.text),
    ["c"],
  );
});

test("a gap is told, and messages are read again", () => {
  const state = reduceSession(begun, { type: "gap", first: 3, last: 90 });
  assert.deepEqual([state.gap, state.needsMessages], [{ first: 3, last: 90 }, true]);
});

test("what is nobody's turn", () => {
  const agents = [{ agentId: "n", capabilities: [], activeSessions: 0 }];
  const state = play(
    loaded,
    { type: "mesh.changed", agents },
    { type: "evolve.skill_pending", skillId: "skl_1", personalityId: null, proposedAt: "2026-11-16T07:00:00Z" },
  );
  assert.deepEqual(state.mesh, agents);
  assert.deepEqual([state.items[0].note, state.items[0].skillId], ["skill", "skl_1"]);
  const old = reduceSession(state, {
    type: "event",
    seq: 0,
    event: { type: "protocol.upgrade_required", serverVersion: "2", clientVersionExpected: "2" },
  });
  assert.deepEqual(old.upgrade, { serverVersion: "2", clientVersionExpected: "2" });
  assert.equal(old.lastSeq, state.lastSeq);
});

test("a note about a turn stands behind it", () => {
  const fired = { type: "cron.fired", jobId: "c", ranAt: "x", outputPath: null };
  let state = play(begun, text("A."), fired);
  assert.equal(kinds(state), "said");
  state = play(state, persisted(A, "assistant"), done("A."));
  assert.equal(kinds(state), "said turn note");
  assert.equal(kinds(reduceSession(state, snapshot([user(A, "a"), answer(A, "A."), user(B, "b")]))), "said turn note said");
  assert.equal(kinds(play(begun, fired, { type: "error", error: "x", code: "aborted" })), "said turn note");
});

test("however long it goes on, so many items are kept", () => {
  const messages = Array.from({ length: MAX_ITEMS + 10 }, (_, i) => user(`01M7JD1B4BNYJSJEFGZT${String(i).padStart(6, "0")}`, "x"));
  let state = reduceSession(emptySession, snapshot(messages, { leftOut: 1 }));
  assert.deepEqual([state.items.length, state.leftOut], [MAX_ITEMS, 11]);
  state = play(state, { type: "cron.fired", jobId: "c", ranAt: "x", outputPath: null });
  assert.deepEqual([state.items.length, state.leftOut], [MAX_ITEMS, 12]);
});

test("a thousand deltas are one text, and the state before is not touched", () => {
  const before = JSON.stringify(begun);
  const state = play(begun, ...Array.from({ length: 1000 }, () => text("ab")));
  assert.equal(state.turn.parts.length, 1);
  assert.equal(state.turn.parts[0].text, "ab".repeat(1000));
  assert.equal(JSON.stringify(begun), before);
});

test("messages that were read before the events of a turn's end came stay behind that turn", () => {
  let state = reduceSession(emptySession, snapshot([user(A, "a")], { queue: [{ turnId: `trn_${B}`, text: "b", createdAt: "x" }] }));
  state = play(state, start(A), text("One."), persisted(A, "user", 1));
  const messages = [user(A, "a"), user(A, "and this", 1), answer(A, "One. Two."), user(B, "b")];
  state = reduceSession(state, snapshot(messages));
  state = play(state, text(" Two."), persisted(A, "assistant"), done("One. Two."), persisted(B, "user"));
  assert.equal(kinds(state), "said turn said");
  state = play(state, start(B), text("B."), persisted(B, "assistant"), done("B."));
  assert.equal(kinds(state), "said turn said turn");
  assert.deepEqual([state.items[1].ulid, state.items[2].text, state.items[3].ulid], [A, "b", B]);
});
