// SPDX-License-Identifier: Apache-2.0
// Sessions: the calls of a conversation with tools, and its stream.

import { named, newIdempotencyKey } from "./client.js";
import { EventStream } from "./event_stream.js";
import { pageOf, Pages, pagesOf } from "./pages.js";

export class Sessions {
  #client;

  /** clientId names this window to others that look at the same session. */
  constructor(client, { clientId } = {}) {
    this.#client = client;
    this.clientId = clientId ?? `sdk-${newIdempotencyKey()}`;
  }

  /**
   * Any method, by its name: {"json": input} there, {"json": output} back. All are named requests, so
   * what is sent again after its answer was lost is done once.
   */
  async call(method, input = {}, options = {}) {
    const answer = await this.#client.request("POST", `/rpc/${method}`, {
      ...named(options),
      json: { json: input },
    });
    return answer?.json;
  }

  /** The newest first; `q` is looked for in titles and messages. */
  list({ q, limit, cursor, ...options } = {}) {
    return new Pages(async (cursor) => {
      const page = await this.call("sessions/list", { q, limit, cursor: cursor ?? undefined }, options);
      return pageOf(page, "sessions", "nextCursor");
    }, cursor);
  }

  /** {session, messages, queue, seq, leftOut?}; stream(id, {sinceSeq: seq}) goes on behind that. */
  get(id, options) {
    return this.call("sessions/get", { id }, options);
  }

  create({ title } = {}, options) {
    return this.call("sessions/create", { title }, options);
  }

  /** Another one with the same messages. */
  fork(id, options) {
    return this.call("sessions/fork", { id }, options);
  }

  /** title: null for none. */
  update(id, { title }, options) {
    return this.call("sessions/update", { id, title }, options);
  }

  pin(id, isPinned = true, options) {
    return this.call(isPinned ? "sessions/pin" : "sessions/unpin", { id }, options);
  }

  delete(id, options) {
    return this.call("sessions/delete", { id }, options);
  }

  /** A message; without `sessionId` it begins a session. Resolves to {sessionId, turnId}. */
  send({ sessionId, text, ...more }, options) {
    return this.call("chat/send", { ...more, sessionId, clientId: this.clientId, text }, options);
  }

  abort(sessionId, options) {
    return this.call("chat/abort", { sessionId }, options);
  }

  /** Tells the turn that runs something; {ok: false} when none does. */
  steer(sessionId, text, options) {
    return this.call("chat/steer", { sessionId, text }, options);
  }

  /** What tools there are, in groups. */
  tools(options) {
    return this.call("tools/catalog", {}, options);
  }

  /** scope: "once", "exact-args" or "any-args". ConflictError: somebody was quicker. */
  approve(approvalId, scope = "once", options) {
    return this.call("tools/approve", { approvalId, clientId: this.clientId, scope }, options);
  }

  deny(approvalId, reason, options) {
    return this.call("tools/deny", { approvalId, clientId: this.clientId, reason }, options);
  }

  /** What waits to be allowed, and until when. */
  pendingApprovals({ sessionId } = {}, options) {
    return this.call("tools/listPending", { sessionId }, options);
  }

  pendingQuestions({ sessionId } = {}, options) {
    return this.call("clarify/listPending", { sessionId }, options);
  }

  answer(requestId, answer, options) {
    return this.call("clarify/respond", { requestId, answer, source: "user" }, options);
  }

  /** There will be no answer. */
  dismiss(requestId, options) {
    return this.call("clarify/respond", { requestId, answer: "", source: "cancel" }, options);
  }

  jobs(options) {
    return this.call("cron/list", {}, options);
  }

  /** {schedule, text, sessionId, timezone, name} */
  schedule(job, options) {
    return this.call("cron/create", job, options);
  }

  unschedule(id, options) {
    return this.call("cron/delete", { id }, options);
  }

  skills(options) {
    return this.call("skills/list", {}, options);
  }

  acceptSkill(id, name, options) {
    return this.call("skills/accept", { id, name }, options);
  }

  rejectSkill(id, options) {
    return this.call("skills/reject", { id }, options);
  }

  /** Who allowed and denied what, the newest first. */
  audit({ limit, cursor, ...options } = {}) {
    return pagesOf(this.#client, "/v1/sessions/audit", { limit, cursor }, options);
  }

  /** EventStream() on this client's connection. */
  stream(sessionId, handlers) {
    return EventStream({ ...handlers, sessionId, client: this.#client });
  }
}
