// SPDX-License-Identifier: Apache-2.0
// Watches a turn: its events from the first one on, over as many connections as it takes, and the
// times of its steps now and then. One stream, one request for times at once.

import { serverNow } from "../lib/server_clock.js";
import { emptyState, isOver, reduce, withTrace, withTurn } from "./state.js";

const RETRY_DELAY_MS = 500;
const MAX_RETRIES = 40; // ten minutes or so; then somebody has to press a button
const EVENTS_KEPT_MS = 3600000; // behind the end of a turn
const TRACE_FIRST_MS = 700;
const TRACE_LAST_MS = 8000;
const TRACE_SHARE = 0.1; // of the time that the turn takes: a long one is asked for its times less often

/** Whether it ended so long ago that asking for its events would be an error. */
function isLongOver(turn) {
  return isOver(turn) && serverNow() - Date.parse(turn.completed_at) > EVENTS_KEPT_MS;
}

class TurnWatch {
  #control = new AbortController();
  #timer = 0;
  #isTracing = false;
  #state = emptyState;
  #turn = null;

  constructor(weir, id, on) {
    Object.assign(this, { weir, id, on });
  }

  get signal() {
    return this.#control.signal;
  }

  resume = () => {
    this.on.onConnection("connected");
    this.#run().catch((error) => {
      clearTimeout(this.#timer);
      if (!this.signal.aborted) this.on.onLost(error);
    });
  };

  stop = () => {
    clearTimeout(this.#timer);
    this.#control.abort();
  };

  #set(next) {
    if (next === this.#state || this.signal.aborted) return;
    this.#state = next;
    this.on.onState(next, this.#turn);
  }

  async #retrieve() {
    this.#turn = await this.weir.turns.retrieve(this.id, { signal: this.signal });
    return this.#turn;
  }

  async #run() {
    const turn = await this.#retrieve();
    // How it stands is told by the events, one after the other.
    this.#set(withTurn(this.#state, { ...turn, status: this.#state.status }));
    if (!isOver(turn)) this.#traceLater();
    if (!isLongOver(turn)) await this.#readEvents();
    clearTimeout(this.#timer);
    // The end is the Turn's own, also where its events are gone.
    this.#set(withTurn(this.#state, await this.#retrieve()));
    await this.#loadTrace();
  }

  async #readEvents() {
    const events = this.weir.turns.stream(this.id, {
      signal: this.signal,
      lastEventId: this.#state.lastId || undefined,
      retryDelayMs: RETRY_DELAY_MS,
      maxRetries: MAX_RETRIES,
      onOpen: () => this.on.onConnection("connected"),
      onReconnect: () => this.on.onConnection("reconnecting"),
    });
    try {
      for await (const event of events) this.#set(reduce(this.#state, event));
    } catch (error) {
      if (error.code !== "turn_events_expired") throw error;
      this.on.onConnection("connected"); // it was an answer
    }
  }

  async #loadTrace() {
    if (this.#isTracing || this.signal.aborted) return;
    this.#isTracing = true;
    try {
      const trace = await this.weir.turns.trace(this.id, { brief: true, signal: this.signal });
      this.#set(withTrace(this.#state, trace)); // the state of now: events have come meanwhile
    } catch {
      // Times are an extra: what the stream says stands without them.
    } finally {
      this.#isTracing = false;
    }
  }

  #traceLater() {
    const { startedAt } = this.#state;
    const tookMs = startedAt === null ? 0 : serverNow() - startedAt;
    const delay = Math.min(TRACE_LAST_MS, Math.max(TRACE_FIRST_MS, tookMs * TRACE_SHARE));
    clearTimeout(this.#timer);
    this.#timer = setTimeout(async () => {
      await this.#loadTrace();
      if (!isOver(this.#state) && !this.signal.aborted) this.#traceLater();
    }, delay);
  }
}

/**
 * onState(state, turn) hears of each change, at once; onConnection of "connected" and "reconnecting";
 * onLost(error) when it was tried too often or cannot be seen any more. Gives back {stop, resume}.
 */
export function followTurn(weir, id, on) {
  const watch = new TurnWatch(weir, id, on);
  watch.resume();
  return watch;
}
