// SPDX-License-Identifier: Apache-2.0
// What a chat looks like, as a function of what was read and what happened: no clock, no page.
//
//   state = reduceChat(state, { type: "snapshot", data, nSaid })   GET /v1/conversations/ID, and nSaid when that was asked
//   state = reduceChat(state, { type: "ask", text })             the user says something
//   state = reduceChat(state, { type: "open", messageId, conversationId })   the reply has begun
//   state = reduceChat(state, { type: "event", id, event, data })  id is "msg_…:N"
//   state = reduceChat(state, { type: "deadline", decisionId, deadlineAt })
//   state = reduceChat(state, { type: "failed", error })         the reply cannot be had any more
//   … { type: "unsaid", key }   what was said was refused; { type: "remembered", choice }; { type: "closed" }
//
// items: {kind: "said", key, text, at, isBlocked}
//        {kind: "reply", key, messageId, parts, citations, privacy, tokenMap, usage, model, end, isCut}
// reply: the one that is under way, as an item; null: none is
// parts: {kind: "text", text}, {kind: "tool", id, name, args, state, ok, result, progress}
// ask:   the shield's question, {decisionId, findings, redactedText, provider, deadlineAt, original}

export const MAX_ITEMS = 2000;
const MAX_CITATIONS = 200;

export const emptyChat = Object.freeze({
  id: null,
  title: "",
  items: [],
  reply: null,
  lastN: 0,
  ask: null,
  isClosed: false,
  remembered: null,
  nSaid: 0,
  nUnknown: 0,
});

function newReply(messageId) {
  return {
    kind: "reply",
    key: messageId ?? "reply",
    messageId,
    parts: [],
    citations: [],
    privacy: null,
    tokenMap: null,
    usage: null,
    model: null,
    end: null,
    error: null,
  };
}

/** "msg_01J…:42" */
export function parseId(id) {
  const [messageId, n] = String(id).split(":");
  return { messageId, n: Number(n) };
}

/** A content is a text, or a list of blocks. */
export function contentText(content) {
  if (typeof content === "string") return content;
  return Array.isArray(content) ? content.map((block) => block.text ?? "").join("") : "";
}

// ---- what is kept ----

function toolOf({ id, name, args, result, error }) {
  const isError = error !== undefined && error !== null;
  return { kind: "tool", id, name, args, state: "ended", ok: !isError, result: isError ? error : (result ?? null), progress: null };
}

function itemOf(message, i) {
  const key = message.messageId ?? `kept ${i}`;
  if (message.role === "user")
    return {
      kind: "said",
      key: `kept ${i}`,
      text: contentText(message.content),
      at: message.at ?? null,
      isBlocked: message.blocked === true,
    };
  const parts = (message.toolCalls ?? []).map(toolOf);
  const text = contentText(message.content);
  if (text) parts.push({ kind: "text", text });
  return {
    ...newReply(message.messageId ?? null),
    key,
    parts,
    citations: message.citations ?? [],
    usage: message.usage ?? null,
    model: message.model ?? null,
    end: message.incomplete ? "incomplete" : "done",
    at: message.at ?? null,
  };
}

/**
 * Replies that were watched to their end know more than what is kept of them. What was asked for before something
 * was said does not have it.
 */
function onSnapshot(state, { data, nSaid = state.nSaid }) {
  if (nSaid !== state.nSaid) return state;
  const watched = new Map(state.items.filter((item) => item.messageId && !item.isCut).map((item) => [item.messageId, item]));
  const isRunning = (message) => state.reply !== null && message.messageId === state.reply.messageId;
  const items = data.messages
    .filter((message) => !isRunning(message))
    .map((message, i) => watched.get(message.messageId) ?? itemOf(message, i));
  const last = state.items.at(-1);
  if (last?.isCut && data.running) items.push(last);
  return {
    ...state,
    id: data.id,
    title: data.title ?? "",
    items: items.slice(-MAX_ITEMS),
    isClosed: data.closed === true,
    remembered: data.remembered ?? null,
  };
}

// ---- a reply ----

function append(state, item) {
  return { ...state, items: [...state.items, item].slice(-MAX_ITEMS) };
}

function onAsk(state, { text }) {
  const nSaid = state.nSaid + 1;
  const said = { kind: "said", key: `said ${nSaid}`, text, at: null, isBlocked: false };
  return { ...append(state, said), nSaid, reply: newReply(null), lastN: 0, ask: null };
}

function onOpen(state, { messageId, conversationId }) {
  const next = conversationId ? { ...state, id: conversationId } : state;
  if (!messageId || state.reply?.messageId === messageId) return next;
  const reply = state.reply && state.reply.messageId === null ? { ...state.reply, messageId, key: messageId } : newReply(messageId);
  return { ...next, reply, lastN: 0 };
}

const withParts = (state, parts) => ({ ...state, reply: { ...state.reply, parts } });

function addText(state, text) {
  const { parts } = state.reply;
  const last = parts.at(-1);
  if (last?.kind === "text") return withParts(state, [...parts.slice(0, -1), { kind: "text", text: last.text + text }]);
  return withParts(state, [...parts, { kind: "text", text }]);
}

function changeTool(state, isIt, change) {
  const { parts } = state.reply;
  const at = parts.findLastIndex((part) => part.kind === "tool" && isIt(part));
  return at < 0 ? state : withParts(state, parts.with(at, { ...parts[at], ...change }));
}

const lastSaid = (state) => state.items.findLast((item) => item.kind === "said");

/** The last event: what was under way is an item from now on. */
function end(state, change) {
  const over = { ...state, reply: null, ask: null };
  const reply = { ...state.reply, ...change };
  const at = over.items.findIndex((item) => item.kind === "reply" && item.messageId === reply.messageId);
  return at < 0 ? append(over, reply) : { ...over, items: over.items.with(at, reply) };
}

function blockLastSaid(state) {
  const said = lastSaid(state);
  return { ...state, items: state.items.map((item) => (item === said ? { ...item, isBlocked: true } : item)) };
}

const handlers = {
  token: (state, { text }) => addText(state, text),
  tool_call(state, { id, name, args }) {
    if (state.reply.parts.some((part) => part.kind === "tool" && part.id === id)) return state;
    return withParts(state, [
      ...state.reply.parts,
      { kind: "tool", id, name, args, state: "running", ok: null, result: null, progress: null },
    ]);
  },
  // Which tool it is of is not said: the one that runs.
  progress: (state, { label, percent }) =>
    changeTool(state, (part) => part.state === "running", { progress: { message: label, percent: percent ?? null } }),
  tool_result: (state, { id, result }) => changeTool(state, (part) => part.id === id, { state: "ended", ok: true, result, progress: null }),
  tool_error: (state, { id, error }) =>
    changeTool(state, (part) => part.id === id, { state: "ended", ok: false, result: error, progress: null }),
  dlp_preview(state, { decisionId, findings, redactedText, provider }) {
    const ask = {
      decisionId,
      findings,
      redactedText,
      provider: provider?.displayName ?? "",
      deadlineAt: null,
      original: lastSaid(state)?.text ?? null,
    };
    return { ...state, ask };
  },
  dlp_resolved(state, { appliedChoice, redactedCount, categories }) {
    return { ...state, ask: null, reply: { ...state.reply, privacy: { choice: appliedChoice, count: redactedCount, categories } } };
  },
  dlp_blocked: (state, { reason, findings }) =>
    end(blockLastSaid(state), { end: "blocked", privacy: { choice: "block", reason, findings } }),
  privacy_token_map: (state, { tokenMap }) => ({
    ...state,
    reply: { ...state.reply, tokenMap: { ...state.reply.tokenMap, ...tokenMap } },
  }),
  citation(state, citation) {
    const { citations } = state.reply;
    if (
      citations.length >= MAX_CITATIONS ||
      citations.some((each) => each.sourceId === citation.sourceId && each.snippet === citation.snippet)
    )
      return state;
    return { ...state, reply: { ...state.reply, citations: [...citations, citation] } };
  },
  done: (state, { usage, model }) => end(state, { end: "done", usage: usage ?? null, model: model ?? null }),
  error: (state, { code, message }) => end(state, { end: "error", error: { code, message } }),
};

function onEvent(state, { id, event, data }) {
  const { messageId, n } = parseId(id);
  const isOver = state.reply === null && state.items.some((item) => item.kind === "reply" && item.messageId === messageId);
  if (isOver) return state;
  const open = state.reply?.messageId === messageId ? state : onOpen(state, { messageId });
  if (n <= open.lastN) return state;
  if (!Object.hasOwn(handlers, event)) return { ...open, lastN: n, nUnknown: open.nUnknown + 1 };
  return { ...handlers[event](open, data), lastN: n };
}

// ---- all of it ----

const actions = {
  snapshot: onSnapshot,
  ask: onAsk,
  open: onOpen,
  event: onEvent,
  deadline(state, { decisionId, deadlineAt }) {
    return state.ask?.decisionId === decisionId ? { ...state, ask: { ...state.ask, deadlineAt } } : state;
  },
  /** It was refused before it began: nothing was said. */
  unsaid: (state, { key }) => ({ ...state, items: state.items.filter((item) => item.key !== key), reply: null, ask: null }),
  closed: (state) => ({ ...state, isClosed: true }),
  remembered: (state, { choice }) => ({ ...state, remembered: choice }),
  failed(state, { error }) {
    const { code = "lost", message } = error;
    return state.reply ? end(state, { end: "error", error: { code, message }, isCut: true }) : state;
  },
};

export function reduceChat(state, action) {
  return actions[action.type](state, action);
}

export const handledEvents = Object.freeze(Object.keys(handlers));
