// SPDX-License-Identifier: Apache-2.0
// What a session looks like, as a function of what was read and what happened: no clock, no page.
//
//   state = reduceSession(state, { type: "snapshot", data })     sessions/get; again at any time
//   state = reduceSession(state, { type: "event", event, seq })  one of the stream's
//   state = reduceSession(state, { type: "gap", first, last })   events that are kept no more
//   state = reduceSession(state, { type: "sent", turnId, text }) a message of this window
//   state = reduceSession(state, { type: "told", text })         said to the turn that runs
//   state = reduceSession(state, { type: "pending", approvals, questions })  what is open, with deadlines
//   state = reduceSession(state, { type: "session", session })   its head alone
//
// items:  {kind: "said", id, text (null: not known yet), at, isBlocked}
//         {kind: "turn", ulid, parts, provider, model, usage, context, end}
//         {kind: "note", note: "cron" | "skill", …}
// turn:   the one that runs, as an item; null: none does
// parts:  {kind: "text" | "thinking", text}, {kind: "said", id, text}, {kind: "tool", id, name, args,
//         state: "running" | "waiting" | "ended", ok, durationMs, result, progress, decision},
//         {kind: "question", id, question, outcome}
// asks:   what waits for an answer: {kind: "approval" | "question", id, deadlineAt, …}
// needsMessages: a message is there whose text only sessions/get has

export const MAX_ITEMS = 5000; // the oldest go
const MAX_SETTLED = 100;

const noUsage = Object.freeze({ input: 0, output: 0, costUsd: 0 });

export const emptySession = Object.freeze({
  session: null,
  items: [],
  leftOut: 0,
  turn: null,
  queue: [],
  notes: [], // that wait for the end of the turn
  told: [], // texts for the turn that runs, which it has not taken up yet
  asks: [],
  settled: [], // ids of questions that were answered, so that a late list does not bring them back
  usage: noUsage,
  lastSeq: 0,
  gap: null,
  mesh: null,
  upgrade: null,
  nUnknown: 0,
  needsMessages: false,
});

/** What msg_…_0, tc_…_1, ap_…_1 and trn_… have in common: their turn. */
export function turnOf(id) {
  return /^[a-z]+_([0-9A-Z]{26})/.exec(id ?? "")?.[1] ?? null;
}

const isFirstOfTurn = (messageId) => /_0$/.test(messageId);
const addUsage = (a, b) => ({ input: a.input + b.input, output: a.output + b.output, costUsd: a.costUsd + b.costUsd });

function newTurn(ulid, more = {}) {
  return {
    kind: "turn",
    key: `turn ${ulid}`,
    ulid,
    messageId: null,
    provider: null,
    model: null,
    parts: [],
    usage: noUsage,
    context: null,
    end: null,
    ...more,
  };
}

/** The turn that runs; one whose beginning was missed has no name until something tells it. */
const running = (state, seq) => state.turn ?? newTurn(null, { key: `turn at ${seq}` });

const withParts = (state, turn, parts) => ({ ...state, turn: { ...turn, parts } });

// ---- messages ----

function saidOf({ id, content, timestamp, blocked }) {
  return { kind: "said", key: id, id, text: content, at: timestamp ?? null, isBlocked: blocked === true };
}

function toolOf({ id, name, args, ok, durationMs, result }) {
  return {
    kind: "tool",
    id,
    name,
    args,
    state: "ended",
    ok: ok !== false,
    durationMs: durationMs ?? null,
    result: result ?? null,
    progress: null,
    decision: null,
  };
}

function turnOfMessage(message) {
  const parts = (message.tools ?? []).map(toolOf);
  if (message.content) parts.push({ kind: "text", text: message.content });
  const end = message.incomplete ? { kind: "incomplete" } : { kind: "done" };
  const { provider = null, model = null, timestamp: at = null } = message;
  return newTurn(turnOf(message.id), { messageId: message.id, provider, model, parts, end, at });
}

/** Texts that are not known yet, from messages that say them. */
function fillParts(turn, texts) {
  if (!turn?.parts.some((part) => part.kind === "said" && part.text === null)) return turn;
  return {
    ...turn,
    parts: turn.parts.map((part) => (part.kind === "said" && part.text === null ? { ...part, text: texts.get(part.id) ?? null } : part)),
  };
}

const saidInside = (turns) => new Set(turns.flatMap((turn) => turn.parts.filter((part) => part.kind === "said").map((part) => part.id)));

/** Items out of messages. Turns that were watched know more than their message: they stay. */
function itemsOf(messages, watched, current) {
  const inside = saidInside([...watched.values(), ...(current ? [current] : [])]);
  const items = [];
  for (const message of messages) {
    const ulid = turnOf(message.id);
    if (message.role === "user") {
      if (!inside.has(message.id)) items.push(saidOf(message));
    } else if (current === null || ulid !== current.ulid) items.push(watched.get(ulid) ?? turnOfMessage(message));
  }
  return items;
}

const ulidOf = (item) => item.ulid ?? turnOf(item.id) ?? "";

/** What the messages do not have: notes, turns that failed without a word, and what came since. */
function keepOthers(items, before) {
  const keys = new Set(items.map((item) => item.key));
  const oldest = items.length > 0 ? ulidOf(items[0]) : "";
  const out = [...items];
  const insert = (item, at) => out.splice(at < 0 ? out.length : at + 1, 0, item);
  for (const item of before) {
    const ulid = ulidOf(item);
    if (keys.has(item.key)) continue;
    if (item.kind === "note")
      insert(
        item,
        out.findIndex((each) => each.key === item.after),
      );
    else if (ulid !== "" && ulid >= oldest)
      insert(
        item,
        out.findLastIndex((each) => ulidOf(each) !== "" && ulidOf(each) <= ulid),
      );
  }
  return out;
}

function onSnapshot(state, { data }) {
  const { session, messages, queue = [], seq = 0, leftOut = 0 } = data;
  const texts = new Map(messages.map(({ id, content }) => [id, content]));
  const turn = fillParts(state.turn, texts);
  const watched = new Map(
    state.items.filter((item) => item.kind === "turn" && item.ulid).map((item) => [item.ulid, fillParts(item, texts)]),
  );
  const items = keepOthers(itemsOf(messages, watched, turn), state.items);
  const waiting = queue.map(({ turnId, text }) => ({ turnId, text }));
  const said = new Set(messages.map(({ id }) => turnOf(id)));
  const own = state.queue.filter(({ turnId }) => !waiting.some((each) => each.turnId === turnId) && !said.has(turnOf(turnId)));
  const isFirst = state.session === null;
  return {
    ...state,
    session,
    items: items.slice(-MAX_ITEMS),
    leftOut: leftOut + Math.max(0, items.length - MAX_ITEMS),
    turn,
    queue: [...waiting, ...own],
    usage: isFirst ? usageOf(session) : state.usage,
    lastSeq: isFirst ? seq : state.lastSeq,
    // What was asked for before a message was there does not have it.
    needsMessages: [...items, ...(turn?.parts ?? [])].some((each) => each.kind === "said" && each.text === null),
  };
}

const usageOf = ({ usage }) => ({
  input: usage?.inputTokens ?? 0,
  output: usage?.outputTokens ?? 0,
  costUsd: usage?.estimatedCostUsd ?? 0,
});

function append(state, item) {
  const items = [...state.items, item];
  if (items.length <= MAX_ITEMS) return { ...state, items };
  return { ...state, items: items.slice(1), leftOut: state.leftOut + 1 };
}

/** Behind the turn that runs, for it is about that one. */
function addNote(state, note) {
  if (state.turn) return { ...state, notes: [...state.notes, note] };
  const last = state.items.findLast((item) => item.kind !== "note");
  return append(state, { kind: "note", after: last?.key ?? null, ...note });
}

function releaseNotes(state) {
  return state.notes.reduce(addNote, { ...state, notes: [] });
}

function onSaid(state, messageId) {
  const ulid = turnOf(messageId);
  const waiting = isFirstOfTurn(messageId) ? state.queue.find(({ turnId }) => turnOf(turnId) === ulid) : null;
  const rest = waiting ? { ...state, queue: state.queue.filter((each) => each !== waiting) } : state;
  if (state.items.some((item) => item.id === messageId) || state.turn?.parts.some((part) => part.id === messageId)) return rest;
  const isInside = state.turn !== null && state.turn.ulid === ulid;
  const text = waiting?.text ?? null;
  const next = { ...rest, needsMessages: state.needsMessages || text === null };
  // Several that were told may be one message.
  if (isInside) return withParts({ ...next, told: [] }, state.turn, [...state.turn.parts, { kind: "said", id: messageId, text }]);
  return append(next, { kind: "said", key: messageId, id: messageId, text, at: null, isBlocked: false });
}

// ---- a turn ----

/** Joined to the last part when that is of the same kind. */
function addText(state, seq, kind, text) {
  const turn = running(state, seq);
  const last = turn.parts.at(-1);
  const parts = last?.kind === kind ? [...turn.parts.slice(0, -1), { kind, text: last.text + text }] : [...turn.parts, { kind, text }];
  return withParts(state, turn, parts);
}

function changeTool(state, isIt, change) {
  if (!state.turn) return state;
  const at = state.turn.parts.findLastIndex((part) => part.kind === "tool" && isIt(part));
  if (at < 0) return state;
  return withParts(state, state.turn, state.turn.parts.with(at, { ...state.turn.parts[at], ...change }));
}

const textOf = (turn) =>
  turn.parts
    .filter((part) => part.kind === "text")
    .map((part) => part.text)
    .join("");

/** The whole answer is known: what was missed of it is made up for. */
function complete(turn, text) {
  if (text === null || textOf(turn) === text) return turn;
  const others = turn.parts.filter((part) => part.kind !== "text");
  return { ...turn, parts: text === "" ? others : [...others, { kind: "text", text }] };
}

/** Whether the messages that were read have it already. */
function isTold(state, turn) {
  if (turn.ulid) return state.items.some((item) => item.kind === "turn" && item.ulid === turn.ulid);
  const last = state.items.findLast((item) => item.kind === "turn");
  return turn.parts.length === 0 || (last !== undefined && textOf(last) === textOf(turn));
}

/** In front of later turns: messages that were read meanwhile may be further on than the events. */
function place(state, turn) {
  const at = turn.ulid ? state.items.findIndex((item) => ulidOf(item) > turn.ulid) : -1;
  return at < 0 ? append(state, turn) : { ...state, items: state.items.toSpliced(at, 0, turn) };
}

function endTurn(state, seq, end, text = null) {
  const turn = complete(running(state, seq), text);
  const over = { ...state, turn: null, asks: [], told: [] };
  if (isTold(state, turn))
    return releaseNotes({
      ...over,
      usage: addUsage(state.usage, { input: -turn.usage.input, output: -turn.usage.output, costUsd: -turn.usage.costUsd }),
    });
  return releaseNotes(place(over, { ...turn, end }));
}

/** A turn that another one follows although it never ended: its end was among what is lost. */
const giveUp = (state, seq) =>
  state.turn && (state.turn.parts.length > 0 || state.turn.ulid) ? endTurn(state, seq, { kind: "incomplete" }) : { ...state, turn: null };

// ---- questions ----

function addAsk(state, ask) {
  if (state.settled.includes(ask.id)) return state;
  const known = state.asks.find((each) => each.id === ask.id);
  if (!known) return { ...state, asks: [...state.asks, ask] };
  if (known.deadlineAt === ask.deadlineAt || ask.deadlineAt === null) return state;
  return { ...state, asks: state.asks.map((each) => (each === known ? { ...each, deadlineAt: ask.deadlineAt } : each)) };
}

function settle(state, id) {
  return { ...state, asks: state.asks.filter((ask) => ask.id !== id), settled: [...state.settled, id].slice(-MAX_SETTLED) };
}

function approvalOf({ approvalId, toolCallId, toolName, args, reason, deadlineAt = null }) {
  return { kind: "approval", id: approvalId, toolCallId, toolName, args, reason: reason ?? null, deadlineAt };
}

function questionOf({ requestId, question, options, default: fallback, defaultDeadlineAt }) {
  return {
    kind: "question",
    id: requestId,
    question,
    options: options ?? [],
    fallback: fallback ?? null,
    deadlineAt: defaultDeadlineAt ?? null,
  };
}

function onPending(state, { approvals = [], questions = [] }) {
  return [...approvals.map(approvalOf), ...questions.map(questionOf)].reduce(addAsk, state);
}

// ---- events ----

const handlers = {
  run_start(state, { provider, model, traceId }, seq) {
    const ulid = turnOf(traceId);
    const before = state.turn && state.turn.ulid !== ulid ? giveUp(state, seq) : state;
    const session = state.session && { ...state.session, provider, model };
    return { ...before, session, turn: { ...(before.turn ?? newTurn(ulid, ulid ? {} : { key: `turn at ${seq}` })), provider, model } };
  },
  text_delta: (state, { text }, seq) => addText(state, seq, "text", text),
  thinking_delta: (state, { thinking }, seq) => addText(state, seq, "thinking", thinking),
  tool_start(state, { toolCallId, toolName, args }, seq) {
    const turn = running(state, seq);
    if (turn.parts.some((part) => part.id === toolCallId)) return state;
    const part = {
      kind: "tool",
      id: toolCallId,
      name: toolName,
      args,
      state: "running",
      ok: null,
      durationMs: null,
      result: null,
      progress: null,
      decision: null,
    };
    return withParts(state, turn.ulid ? turn : { ...turn, ulid: turnOf(toolCallId) }, [...turn.parts, part]);
  },
  tool_progress(state, { toolName, message, percent, audience }) {
    if (audience === "internal") return state;
    return changeTool(state, (part) => part.name === toolName && part.state !== "ended", {
      progress: { message, percent: percent ?? null },
    });
  },
  tool_end(state, { toolCallId, toolName, ok, durationMs, result }, seq) {
    const begun = state.turn?.parts.some((part) => part.id === toolCallId)
      ? state
      : handlers.tool_start(state, { toolCallId, toolName, args: null }, seq);
    return changeTool(begun, (part) => part.id === toolCallId, {
      state: "ended",
      ok,
      durationMs,
      result: result ?? null,
      progress: null,
    });
  },
  usage(state, { inputTokens, outputTokens, estimatedCostUsd }, seq) {
    const used = { input: inputTokens, output: outputTokens, costUsd: estimatedCostUsd };
    const turn = running(state, seq);
    return { ...state, usage: addUsage(state.usage, used), turn: { ...turn, usage: addUsage(turn.usage, used) } };
  },
  context_meta: (state, { data }, seq) => ({ ...state, turn: { ...running(state, seq), context: data } }),
  done: (state, { text }, seq) => endTurn(state, seq, { kind: "done" }, text),
  error: (state, { error, code }, seq) => endTurn(state, seq, { kind: "error", error, code }),
  message_persisted(state, { messageId, role }, seq) {
    if (role === "user") return onSaid(state, messageId);
    return { ...state, turn: { ...running(state, seq), ulid: turnOf(messageId), messageId } };
  },
  "tool.approval_required"(state, { request }) {
    const waiting = changeTool(state, (part) => part.id === request.toolCallId, { state: "waiting" });
    return addAsk(waiting, approvalOf(request));
  },
  "approval.resolved"(state, { approvalId, decision, decidedBy }) {
    const ask = state.asks.find((each) => each.id === approvalId);
    const told = changeTool(state, (part) => part.id === ask?.toolCallId && part.state === "waiting", {
      state: "running",
      decision: { decision, decidedBy },
    });
    return settle(told, approvalId);
  },
  "clarify.request"(state, event, seq) {
    const ask = questionOf(event);
    const turn = running(state, seq);
    const isKnown = turn.parts.some((part) => part.id === ask.id);
    const part = { kind: "question", id: ask.id, question: ask.question, outcome: null };
    return addAsk(isKnown ? state : withParts(state, turn, [...turn.parts, part]), ask);
  },
  "clarify.resolved"(state, { requestId, source }) {
    const settled = settle(state, requestId);
    if (!settled.turn) return settled;
    const parts = settled.turn.parts.map((part) =>
      part.kind === "question" && part.id === requestId ? { ...part, outcome: source } : part,
    );
    return withParts(settled, settled.turn, parts);
  },
  "cron.fired": (state, { jobId, ranAt }, seq) => addNote(state, { key: `note ${seq}`, note: "cron", jobId, at: ranAt }),
  "mesh.changed": (state, { agents }) => ({ ...state, mesh: agents }),
  "evolve.skill_pending": (state, { skillId, proposedAt }, seq) =>
    addNote(state, { key: `note ${seq}`, note: "skill", skillId, at: proposedAt }),
  "protocol.upgrade_required": (state, { serverVersion, clientVersionExpected }) => ({
    ...state,
    upgrade: { serverVersion, clientVersionExpected },
  }),
};

function onEvent(state, { event, seq }) {
  // It comes with the reader's own position, which was seen.
  if (event.type === "protocol.upgrade_required") return handlers[event.type](state, event);
  if (seq <= state.lastSeq) return state;
  if (!Object.hasOwn(handlers, event.type)) return { ...state, lastSeq: seq, nUnknown: state.nUnknown + 1 };
  return { ...handlers[event.type](state, event, seq), lastSeq: seq };
}

// ---- all of it ----

function onSent(state, { turnId, text }) {
  const ulid = turnOf(turnId);
  const fill = (item) => (item.kind === "said" && item.text === null && turnOf(item.id) === ulid ? { ...item, text } : item);
  const hasBegun = state.items.some((item) => item.kind === "said" && turnOf(item.id) === ulid);
  if (hasBegun) return { ...state, items: state.items.map(fill) };
  return state.queue.some((each) => each.turnId === turnId) ? state : { ...state, queue: [...state.queue, { turnId, text }] };
}

const actions = {
  snapshot: onSnapshot,
  event: onEvent,
  // What is missing may be texts and ends of turns.
  gap: (state, { first, last }) => ({ ...state, gap: { first, last }, needsMessages: true }),
  sent: onSent,
  told: (state, { text }) => (state.turn ? { ...state, told: [...state.told, text] } : state),
  pending: onPending,
  session: (state, { session }) => ({ ...state, session }),
};

export function reduceSession(state, action) {
  return actions[action.type](state, action);
}

export const handledEvents = Object.freeze(Object.keys(handlers));
