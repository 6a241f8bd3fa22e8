// SPDX-License-Identifier: Apache-2.0
// Chats: replies that stream, with the shield's questions about what is private.
//
// A reply is begun by POST and is the server's from then on. When the connection is lost before the
// head of the answer has come, the same POST, with the same key, is the same reply; behind that, it
// is gone on with by GET, which begins nothing.

import { named, newIdempotencyKey } from "./client.js";
import { NotFoundError } from "./errors.js";
import { pagesOf } from "./pages.js";
import { EventIterator, follow } from "./stream.js";
import { questionOf } from "./turns.js";
import { linked } from "./wait.js";

export const CHAT_EVENTS = Object.freeze([
  "token",
  "tool_call",
  "progress",
  "tool_result",
  "tool_error",
  "dlp_preview",
  "dlp_resolved",
  "dlp_blocked",
  "privacy_token_map",
  "citation",
  "done",
  "error",
]);

const IDLE_MS = 60000; // the server sends a comment line every 15 s
const last = new Set(["done", "error", "dlp_blocked"]);
const PATH = "/ai/chat";
const DIRECT_PATH = "/ai/chat/direct/stream";

const goingOn = (lastId, query) => ({ method: "GET", path: PATH, query, headers: { "last-event-id": lastId } });

export class Chat {
  #client;

  constructor(client) {
    this.#client = client;
  }

  /**
   * Says something and gives the reply's events, as {id, type, data}, each once and in order. `message`
   * is a text or {messages, conversationId, piiAction, …}; `direct`: without tools. `onOpen` hears
   * {messageId, conversationId}. `onPreview(preview, {signal})` may answer the shield's question with
   * "redact", "allow", "block" or {choice, rememberForConversation}; others call decide().
   */
  stream(message, { direct = false, idempotencyKey = newIdempotencyKey(), signal, ...options } = {}) {
    const begin = {
      method: "POST",
      path: direct ? DIRECT_PATH : PATH,
      headers: { "content-type": "application/json", "idempotency-key": idempotencyKey },
      body: JSON.stringify({ ...questionOf(message), stream: true }),
    };
    const request = (lastId) => (lastId === null ? begin : goingOn(lastId));
    return new EventIterator((own) => this.#follow(request, options, own), signal);
  }

  /** The newest reply of a conversation, or of the one that was had last, from its first event on. */
  attach(conversationId, { lastEventId = null, signal, ...options } = {}) {
    const attach = { method: "GET", path: PATH, query: { conversationId }, headers: {} };
    const request = (lastId) => (lastId === null ? attach : goingOn(lastId, { conversationId }));
    return new EventIterator((own) => this.#follow(request, { ...options, lastId: lastEventId }, own), signal);
  }

  async *#follow(request, { onOpen, onPreview, ...options }, signal) {
    const link = linked(signal);
    const previews = onPreview ? new Previews(this, onPreview, link) : null;
    const events = follow(this.#client, {
      idleMs: IDLE_MS,
      ...options,
      request,
      types: CHAT_EVENTS,
      hasNames: true,
      isLast: ({ type }) => last.has(type),
      signal: link.signal,
      onOpen(response, resume) {
        const messageId = response?.headers.get("weir-message-id") ?? null;
        if (messageId && resume.lastId === null) resume.goOnBehind(`${messageId}:0`);
        onOpen?.({ messageId, conversationId: response?.headers.get("weir-conversation-id") ?? null });
      },
    });
    try {
      for await (const { id, type, data } of events) {
        previews?.see(type, data);
        yield { id, type, data };
      }
    } catch (error) {
      throw previews?.error ?? error;
    } finally {
      previews?.end();
      link.free();
    }
  }

  /** The whole reply at once: {messageId, conversationId, text, …}. */
  send(message, { direct = false, ...options } = {}) {
    const json = { ...questionOf(message), stream: false };
    return this.#client.request("POST", direct ? DIRECT_PATH : PATH, { timeout: 0, ...named(options), json });
  }

  /** redact, allow or block, to the question of a dlp_preview. */
  decide(decisionId, choice, { rememberForConversation = false, ...options } = {}) {
    const json = { decisionId, choice, rememberForConversation };
    return this.#client.request("POST", "/api/chat/dlp-decision", { ...options, json });
  }

  /** A question that is open: {decisionId, conversationId, messageId, deadlineAt}. */
  question(decisionId, options) {
    return this.#client.request("GET", `/api/chat/dlp-decision/${encodeURIComponent(decisionId)}`, options);
  }

  conversations({ limit, cursor, ...options } = {}) {
    const names = { items: "conversations", next: "next" };
    return pagesOf(this.#client, "/v1/conversations", { limit, cursor }, options, names);
  }

  conversation(id, options) {
    return this.#client.request("GET", `/v1/conversations/${encodeURIComponent(id)}`, options);
  }

  /** Ends the reply that is under way: its stream ends with an error, code "cancelled". */
  cancel(id, options) {
    return this.#client.request("POST", `/v1/conversations/${encodeURIComponent(id)}/cancel`, {
      isSafe: true,
      ...options,
    });
  }

  deleteConversation(id, options) {
    return this.#client.request("DELETE", `/v1/conversations/${encodeURIComponent(id)}`, options);
  }

  /** From then on nobody can tell what the conversation's placeholders stand for. */
  forgetPlaceholders(id, options) {
    return this.#client.request("DELETE", `/v1/conversations/${encodeURIComponent(id)}/shield-map`, options);
  }
}

/** Asks onPreview while the stream goes on; its question may be settled elsewhere meanwhile. */
class Previews {
  #chat;
  #onPreview;
  #stream;
  #question = null;

  /** Why the stream was ended, if it was from here. */
  error = null;

  constructor(chat, onPreview, stream) {
    this.#chat = chat;
    this.#onPreview = onPreview;
    this.#stream = stream;
  }

  see(type, data) {
    if (type === "dlp_resolved" || type === "dlp_blocked") this.end();
    if (type !== "dlp_preview") return;
    this.end();
    // Whoever leaves the stream has not decided that anything may leave.
    const { signal } = (this.#question = linked(this.#stream.signal));
    this.#ask(data, signal).catch((error) => {
      // Whoever was told that it is settled may well give up: nobody waits for their answer.
      if (signal.aborted) return;
      this.error = error;
      this.#stream.abort();
    });
  }

  async #ask(preview, signal) {
    const answer = await this.#onPreview(preview, { signal });
    if (!answer || signal.aborted) return;
    const { choice, rememberForConversation } = typeof answer === "string" ? { choice: answer } : answer;
    try {
      await this.#chat.decide(preview.decisionId, choice, { rememberForConversation, signal });
    } catch (error) {
      // Somebody else was quicker, or the time is over: the stream says which.
      if (!(error instanceof NotFoundError) && !signal.aborted) throw error;
    }
  }

  end() {
    this.#question?.abort();
    this.#question?.free();
    this.#question = null;
  }
}
