// SPDX-License-Identifier: Apache-2.0
// Turns: one question and its answer, in durable steps.

import { named } from "./client.js";
import { TurnFailedError, WeirError } from "./errors.js";
import { pagesOf } from "./pages.js";
import { EventIterator, follow } from "./stream.js";

export const TURN_EVENTS = Object.freeze([
  "turn.started",
  "agent.started",
  "agent.thought",
  "agent.completed",
  "validator.gate",
  "validator.critic",
  "cost_warning",
  "turn.completed",
  "turn.failed",
]);

const SILENCE_MS = 120000;
const at = (id, rest = "") => `/v1/turns/${encodeURIComponent(id)}${rest}`;
const isLast = ({ type }) => type === "turn.completed" || type === "turn.failed";
const hasEnded = ({ status }) => status === "completed" || status === "failed";

/** A text, or what the server wants. */
export function questionOf(question) {
  return typeof question === "string" ? { messages: [{ role: "user", content: question }] } : question;
}

/** Numbered events whose members can be had directly: event.delta is event.data.delta. */
async function* plain(events) {
  for await (const { id, type, data } of events) {
    const members = typeof data === "object" ? data : null;
    yield { ...members, id: Number(id), type, data };
  }
}

/**
 * The events of something that the server keeps whole, by number. It sends nothing while there is nothing
 * to tell; so after a while it is asked again whether it is still there.
 */
export function numberedStream(client, path, types, isLast, { lastEventId = null, signal, ...options }) {
  const silence = options.idleMs === undefined ? { idleMs: SILENCE_MS, mayBeSilent: true } : {};
  const request = (lastId) => ({
    method: "GET",
    path,
    headers: lastId === null ? {} : { "last-event-id": lastId },
  });
  return new EventIterator((own) => {
    return plain(follow(client, { ...options, ...silence, request, types, isLast, lastId: lastEventId, signal: own }));
  }, signal);
}

export class Turns {
  #client;

  constructor(client) {
    this.#client = client;
  }

  /**
   * A question, or {messages, context, …}. Resolves to the turn, which has just begun; with
   * `stream: false` to the turn when it has ended, whether well or not.
   */
  async create(question, options = {}) {
    const json = questionOf(question);
    if (json.stream !== false) return this.#client.request("POST", "/v1/turns", { ...named(options), json });
    const turn = await this.#client.request("POST", "/v1/turns", { timeout: 0, ...named(options), json });
    // The same question sent again, after its answer was lost, is told how the turn stands now.
    return hasEnded(turn) ? turn : this.wait(turn.id, options);
  }

  retrieve(id, options) {
    return this.#client.request("GET", at(id), options);
  }

  /** The newest first: await it for a page, or for await (… of turns.list().iter()) for all. */
  list({ limit, status, cursor, ...options } = {}) {
    return pagesOf(this.#client, "/v1/turns", { limit, status, cursor }, options);
  }

  cancel(id, options) {
    return this.#client.request("POST", at(id, "/cancel"), named(options));
  }

  /** How it came about; `brief`: without what went in and out of its steps. */
  trace(id, { brief, ...options } = {}) {
    return this.#client.request("GET", at(id, "/trace"), { ...options, query: { brief } });
  }

  /**
   * The events of a turn, each once and in order, as {id, type, data} and the members of data: from
   * the first one on, or from behind `lastEventId`. Connections that are lost are made again; it
   * ends behind the turn's last event.
   */
  stream(id, options = {}) {
    return numberedStream(this.#client, at(id, "/events"), TURN_EVENTS, isLast, options);
  }

  /** The turn when it has ended. */
  async wait(id, { signal, ...options } = {}) {
    const { timeout, maxRetries } = options;
    const turn = await this.retrieve(id, { signal, timeout, maxRetries });
    if (hasEnded(turn)) return turn;
    for await (const event of this.stream(id, { signal, ...streamOptions(options) })) await options.onEvent?.(event);
    return this.retrieve(id, { signal, timeout, maxRetries });
  }

  /**
   * Asks, and waits for the answer: the result, or TurnFailedError. `onEvent` sees what happens. Whatever is
   * thrown once the turn has begun says which one it is, `turnId`: it goes on, and can be waited for or cancelled.
   */
  async ask(question, { onEvent, signal, ...options } = {}) {
    const turn = await this.create({ ...questionOf(question), stream: true }, { signal, ...options });
    try {
      return await this.#resultOf(turn.id, { onEvent, signal, ...streamOptions(options) });
    } catch (error) {
      if (error instanceof WeirError) error.turnId = turn.id;
      throw error;
    }
  }

  async #resultOf(id, { onEvent, ...options }) {
    for await (const event of this.stream(id, options)) {
      await onEvent?.(event);
      if (event.type === "turn.completed") return event.data?.result;
      if (event.type === "turn.failed") throw new TurnFailedError(event.data?.error);
    }
    const ended = await this.retrieve(id, { signal: options.signal });
    if (ended.error) throw new TurnFailedError(ended.error);
    return ended.result;
  }
}

function streamOptions({ onReconnect, onOpen, retryDelayMs, maxRetries }) {
  return { onReconnect, onOpen, retryDelayMs, maxRetries };
}
