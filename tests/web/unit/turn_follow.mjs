// SPDX-License-Identifier: Apache-2.0
// Watching a turn: web/turn/follow.js, with a server that answers when the test says so.

import assert from "node:assert/strict";
import { test } from "node:test";

import { followTurn } from "../../../web/turn/follow.js";

const TURN = {
  id: "turn_1",
  status: "running",
  created_at: "2026-11-16T14:42:50.000Z",
  completed_at: null,
  messages: [{ role: "user", content: "q" }],
  result: null,
  error: null,
};
const RESULT = { answer: "It is 7.", numbers: [], fact_sheet: [], agents_used: [], validator: {} };
const DONE = { ...TURN, status: "completed", completed_at: new Date().toISOString(), result: RESULT };
const thought = (id, delta) => ({ id, type: "agent.thought", data: { agent: "a", delta } });
const LOST = "the connection is lost";
const END = { id: 4, type: "turn.completed", data: { result: RESULT } };

/** A promise that is settled from outside. */
function later() {
  const own = {};
  own.promise = new Promise((resolve, reject) => Object.assign(own, { resolve, reject }));
  return own;
}

/** Events that the test pushes, and a turn and a trace when it wants. */
function fakeWeir() {
  const waiting = [];
  let wake = later();
  const weir = {
    asked: [],
    streams: [],
    turn: TURN,
    trace: later(),
    wasTraced: later(),
    push(...events) {
      waiting.push(...events);
      wake.resolve();
    },
    turns: {
      retrieve: async () => weir.turn,
      trace: (id, options) => {
        weir.asked.push(options.brief);
        weir.wasTraced.resolve();
        return weir.trace.promise;
      },
      async *stream(id, options) {
        weir.streams.push(options.lastEventId);
        options.onOpen();
        for (;;) {
          if (waiting.length === 0) await wake.promise;
          wake = later();
          while (waiting.length > 0) {
            const event = waiting.shift();
            if (event instanceof Error) throw event;
            if (event === LOST) {
              options.onReconnect();
              continue;
            }
            yield event;
            if (event.type === "turn.completed") return;
          }
        }
      },
    },
  };
  return weir;
}

/** Watches, and lets the test wait until the state is as it says. */
function watch(weir) {
  const seen = { state: null, states: [], connection: [], lost: later() };
  const waits = [];
  seen.control = followTurn(weir, "turn_1", {
    onState(state, turn) {
      Object.assign(seen, { state, turn });
      seen.states.push(state);
      for (const [test, resolve] of waits) if (test(state)) resolve();
    },
    onConnection: (state) => seen.connection.push(state),
    onLost: seen.lost.resolve,
  });
  seen.until = (test) =>
    seen.state && test(seen.state)
      ? Promise.resolve()
      : new Promise((resolve) => waits.push([test, resolve]));
  return seen;
}

test("events that come while a trace is loaded are not lost", async () => {
  const weir = fakeWeir();
  const seen = watch(weir);
  weir.push(thought(1, "one "));
  await seen.until((state) => state.lastId === 1);
  await weir.wasTraced.promise;
  weir.push(thought(2, "two "), thought(3, "three"));
  await seen.until((state) => state.lastId === 3);
  weir.trace.resolve({ steps: [{ name: "route" }], findings: [] });
  await seen.until((state) => state.steps);
  assert.equal(seen.state.agents[0].text, "one two three");
  assert.equal(seen.state.lastId, 3);
  weir.turn = DONE;
  weir.push(END);
  await seen.until((state) => state.status === "completed" && state.endedAt);
  assert.equal(seen.state.agents[0].text, "one two three");
  assert.deepEqual(weir.asked.every(Boolean), true, "brief ones");
  seen.control.stop();
});

test("a turn whose events are gone is told by itself and its trace", async () => {
  const weir = fakeWeir();
  weir.turn = DONE;
  weir.trace.resolve({
    steps: [],
    agents: [{ agent: "data_science", question: "q", summary: "s" }],
    gates: [],
    critic: [],
    findings: [],
  });
  const seen = watch(weir);
  weir.push(Object.assign(new Error("gone"), { code: "turn_events_expired", status: 404 }));
  await seen.until((state) => state.agents.length === 1);
  assert.equal(seen.state.status, "completed");
  assert.deepEqual(seen.state.result, RESULT);
  seen.control.stop();
});

test("events that are gone when they are asked for again are an answer of a server that is there", async () => {
  const weir = fakeWeir();
  const seen = watch(weir);
  weir.push(thought(1, "one"));
  await seen.until((state) => state.lastId === 1);
  weir.turn = DONE;
  weir.trace.resolve({ steps: [], findings: [] });
  weir.push(LOST, Object.assign(new Error("gone"), { code: "turn_events_expired", status: 404 }));
  await seen.until((state) => state.status === "completed");
  assert.deepEqual(seen.connection.slice(-2), ["reconnecting", "connected"]);
  seen.control.stop();
});

test("events that are long gone are not asked for", async () => {
  const weir = fakeWeir();
  weir.turn = { ...DONE, completed_at: "2020-01-01T00:00:00.000Z" };
  weir.trace.resolve({ steps: [{ name: "route" }], findings: [] });
  const seen = watch(weir);
  await seen.until((state) => state.steps);
  assert.equal(seen.state.status, "completed");
  assert.deepEqual(weir.streams, []);
  seen.control.stop();
});

test("who is lost can go on behind what was seen", async () => {
  const weir = fakeWeir();
  const seen = watch(weir);
  weir.push(thought(1, "one "));
  await seen.until((state) => state.lastId === 1);
  weir.push(new Error("too often"));
  const error = await seen.lost.promise;
  assert.equal(error.message, "too often");
  seen.control.resume();
  weir.push(thought(2, "two"));
  await seen.until((state) => state.lastId === 2);
  assert.deepEqual(weir.streams, [undefined, 1]);
  assert.equal(seen.state.agents[0].text, "one two");
  seen.control.stop();
});

test("who has left hears nothing any more", async () => {
  const weir = fakeWeir();
  const seen = watch(weir);
  weir.push(thought(1, "one"));
  await seen.until((state) => state.lastId === 1);
  seen.control.stop();
  const n = seen.states.length;
  weir.push(thought(2, "two"), END);
  weir.trace.resolve({ steps: [], findings: [] });
  await new Promise(setImmediate);
  assert.equal(seen.states.length, n);
});
