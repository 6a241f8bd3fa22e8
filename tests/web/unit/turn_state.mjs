// SPDX-License-Identifier: Apache-2.0
// A turn out of its events: web/turn/state.js.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  emptyState,
  gateVerdict,
  GATES,
  isOver,
  phaseOf,
  reduce,
  verdictOf,
  waterfall,
  withTrace,
  withTurn,
} from "../../../web/turn/state.js";

const reduceAll = (state, events) => events.reduce(reduce, state);

const AT = "2026-11-16T14:42:5";
const RESULT = {
  answer: "It is **7**.",
  numbers: [{ start: 8, end: 9, text: "7", claim: "ds-001.avg" }],
  fact_sheet: [{ claim: "ds-001.avg", value: 7 }],
};

const LOG = [
  ["turn.started", { turn_id: "turn_1", at: `${AT}0.000Z` }],
  ["agent.started", { agent: "data_science", at: `${AT}1.000Z`, question: "how much?" }],
  ["agent.started", { agent: "domain_expert", at: `${AT}1.100Z`, question: "is it much?" }],
  ["agent.thought", { agent: "data_science", delta: "Looking " }],
  ["agent.thought", { agent: "domain_expert", delta: "Limits" }],
  ["agent.thought", { agent: "data_science", delta: " at it " }],
  [
    "agent.completed",
    {
      agent: "data_science",
      at: `${AT}2.000Z`,
      duration_ms: 1000,
      cost_usd: 0.01,
      output_summary: "It is 7.",
    },
  ],
  [
    "agent.completed",
    { agent: "domain_expert", at: `${AT}2.100Z`, duration_ms: 1000, cost_usd: 0, output_summary: "Fine." },
  ],
  ["cost_warning", { turn_id: "turn_1", cost_usd: 0.51, threshold_usd: 0.5, at: `${AT}2.200Z` }],
  ...GATES.map((gate) => [
    "validator.gate",
    { finding_id: "ds-001", claim: "the mean", gate, verdict: "passed", detail: { n: 27, why: "enough" } },
  ]),
  [
    "validator.critic",
    {
      finding_id: "ds-001",
      verdict: "accept",
      reasoning: "Sound.",
      concerns: [{ kind: "small_n", severity: "low", note: "Few." }],
    },
  ],
  ["agent.started", { agent: "synthesis", at: `${AT}3.000Z`, question: "how much?" }],
  ["agent.thought", { agent: "data_science", channel: "synthesis", delta: "It is " }],
  ["agent.thought", { agent: "data_science", channel: "synthesis", delta: "**7**." }],
  [
    "agent.completed",
    { agent: "synthesis", at: `${AT}4.000Z`, duration_ms: 1000, cost_usd: 0.02, output_summary: "It is 7." },
  ],
  ["turn.completed", { turn_id: "turn_1", result: RESULT }],
].map(([type, data], i) => ({ id: i + 1, type, data }));

const agentOf = (state, name) => state.agents.find((agent) => agent.name === name);

test("a whole turn becomes agents, findings, a draft and a result", () => {
  const state = reduceAll(emptyState, LOG);
  assert.equal(state.status, "completed");
  assert.equal(state.lastId, LOG.length);
  assert.equal(state.missed, 0);
  assert.deepEqual(
    state.agents.map(({ name, text, isWorking, runs }) => [name, text, isWorking, runs]),
    [
      ["data_science", "Looking  at it ", false, 1],
      ["domain_expert", "Limits", false, 1],
      ["synthesis", "It is **7**.", false, 1],
    ],
  );
  assert.equal(agentOf(state, "data_science").question, "how much?");
  assert.equal(agentOf(state, "data_science").costUsd, 0.01);
  assert.equal(state.draft, "It is **7**.");
  assert.deepEqual(state.costWarning, { costUsd: 0.51, thresholdUsd: 0.5 });
  assert.deepEqual(state.result, RESULT);
  const [finding] = state.findings;
  assert.equal(finding.claim, "the mean");
  assert.deepEqual(finding.gates.bootstrap, { verdict: "passed", why: "enough", detail: { n: 27 } });
  assert.equal(finding.critic.concerns[0].kind, "small_n");
  assert.equal(verdictOf(finding), "validated");
});

test("phases follow each other", () => {
  let state = emptyState;
  const seen = [phaseOf(state)];
  for (const event of LOG) {
    state = reduce(state, event);
    if (seen.at(-1) !== phaseOf(state)) seen.push(phaseOf(state));
  }
  assert.deepEqual(seen, [
    "queued",
    "reading",
    "working",
    "thinking",
    "checking",
    "writing",
    "remembering",
    "done",
  ]);
});

test("events that come twice, late or from a replay change nothing", () => {
  const whole = reduceAll(emptyState, LOG);
  assert.deepEqual(
    reduceAll(
      emptyState,
      LOG.flatMap((event) => [event, event]),
    ),
    whole,
  );
  assert.deepEqual(reduceAll(whole, LOG), whole);
  for (let cut = 0; cut <= LOG.length; cut++) {
    const before = reduceAll(emptyState, LOG.slice(0, cut));
    assert.deepEqual(
      reduceAll(before, LOG.slice(Math.max(0, cut - 5))),
      whole,
      `replayed from before ${cut}`,
    );
  }
  const late = [LOG[0], LOG[1], LOG[3], LOG[2]];
  const state = reduceAll(emptyState, late);
  assert.equal(state.lastId, 4);
  assert.equal(state.missed, 1, "what was skipped is counted, and does not come in behind");
});

test("the reducer changes no state that it was given", () => {
  const frozen = (value) => {
    if (value && typeof value === "object" && !Object.isFrozen(value))
      Object.values(Object.freeze(value)).forEach(frozen);
    return value;
  };
  assert.doesNotThrow(() => LOG.reduce((state, event) => frozen(reduce(state, frozen(event))), emptyState));
});

test("what is not known is skipped, and what is broken does no harm", () => {
  const before = reduceAll(emptyState, LOG.slice(0, 6));
  const odd = [
    { type: "turn.paused", data: { at: `${AT}2.000Z` } },
    { type: "toString", data: {} },
    { type: "agent.thought", data: null },
    { type: "agent.thought", data: { agent: 7, delta: 8 } },
    { type: "agent.thought", data: "text" },
    { type: "agent.started", data: {} },
    { type: "agent.completed", data: { agent: "nobody", at: "never" } },
    { type: "validator.gate", data: { finding_id: "ds-001", gate: "eighth", verdict: "passed" } },
    { type: "validator.gate", data: { gate: "bootstrap", verdict: "passed" } },
    {
      type: "validator.gate",
      data: { finding_id: "__proto__", gate: "bootstrap", verdict: "passed", detail: 5 },
    },
    { type: "validator.critic", data: { finding_id: "ds-009", concerns: [null, 3, { kind: {} }] } },
    { type: "cost_warning", data: {} },
  ].map((event, i) => ({ id: 7 + i, ...event }));
  const state = reduceAll(before, odd);
  assert.equal(state.lastId, 6 + odd.length);
  assert.equal(agentOf(state, "data_science").text, "Looking  at it ");
  assert.equal(state.status, "running");
  assert.equal(reduce(state, { id: "x", type: "turn.failed", data: {} }), state);
  assert.equal(reduce(state, {}), state);
  assert.equal({}.verdict, undefined);
});

test("an agent that starts anew says everything again", () => {
  const again = {
    type: "agent.started",
    data: { agent: "data_science", at: `${AT}5.000Z`, question: "how much?" },
  };
  const crashed = reduceAll(emptyState, LOG.slice(0, 6));
  let state = reduce(crashed, { id: 7, ...again });
  state = reduce(state, { id: 8, type: "agent.thought", data: { agent: "data_science", delta: "Anew" } });
  assert.equal(agentOf(state, "data_science").text, "Anew");
  assert.equal(agentOf(state, "data_science").runs, 2);
  assert.deepEqual(agentOf(state, "data_science").earlier, [], "a run that was cut is no result");
  assert.equal(agentOf(state, "domain_expert").text, "Limits");
  const followUp = reduce(reduceAll(emptyState, LOG.slice(0, 7)), { id: 8, ...again });
  assert.deepEqual(agentOf(followUp, "data_science").earlier, [
    { question: "how much?", summary: "It is 7." },
  ]);
  const writing = reduceAll(emptyState, LOG.slice(0, -2));
  const rewritten = reduce(writing, {
    id: LOG.length,
    type: "agent.started",
    data: { agent: "synthesis", at: null },
  });
  assert.equal(rewritten.draft, "");
});

test("a failed turn keeps what came before, and nobody works any more", () => {
  const error = { code: "upstream_unavailable", message: "the model is out" };
  const state = reduce(reduceAll(emptyState, LOG.slice(0, 6)), {
    id: 7,
    type: "turn.failed",
    data: { error },
  });
  assert.equal(state.status, "failed");
  assert.deepEqual(state.error, error);
  assert.ok(state.agents.every((agent) => !agent.isWorking && agent.wasCut));
  assert.equal(phaseOf(state), "failed");
  assert.equal(
    reduce(state, { id: 8, type: "turn.completed", data: { result: RESULT } }),
    state,
    "the end is the end",
  );
});

test("gates that were not reached are told from those that may come", () => {
  const failed = {
    id: 1,
    type: "validator.gate",
    data: { finding_id: "f", claim: "c", gate: "sample_size", verdict: "failed", detail: { n: 3 } },
  };
  const [stopped] = reduce(emptyState, failed).findings;
  assert.equal(gateVerdict(stopped, "sample_size", false), "failed");
  assert.equal(gateVerdict(stopped, "bootstrap", false), "not_reached");
  assert.equal(verdictOf(stopped), "rejected");
  const [open] = reduce(emptyState, { ...failed, data: { ...failed.data, verdict: "passed" } }).findings;
  assert.equal(gateVerdict(open, "bootstrap", false), "waiting");
  assert.equal(gateVerdict(open, "bootstrap", true), "not_reached");
  assert.equal(verdictOf(open), null);
});

test("verdicts follow from gates and critic", () => {
  const finding = (gates, critic) => ({
    gates: Object.fromEntries(Object.entries(gates).map(([name, verdict]) => [name, { verdict }])),
    critic: critic && { verdict: critic },
  });
  const cases = [
    [{ bootstrap: "failed" }, "accept", "conditional"],
    [{ effect_vs_noise: "failed" }, "accept", "rejected"],
    [{ bootstrap: "skipped" }, "accept", "validated"],
    [{ bootstrap: "passed" }, "downgrade", "conditional"],
    [{ bootstrap: "passed" }, "reject", "rejected"],
    [{ bootstrap: "failed" }, null, null],
  ];
  for (const [gates, critic, expected] of cases) assert.equal(verdictOf(finding(gates, critic)), expected);
});

test("everything that grows has an end", () => {
  const many = Array.from({ length: 400 }, (_, i) => [
    { type: "agent.started", data: { agent: `agent_${i}` } },
    {
      type: "validator.gate",
      data: { finding_id: `f-${i}`, gate: "bootstrap", verdict: "passed", detail: {} },
    },
  ]).flat();
  const state = reduceAll(
    emptyState,
    many.map((event, i) => ({ id: i + 1, ...event })),
  );
  assert.equal(state.agents.length, 16);
  assert.equal(state.findings.length, 200);
  const delta = "x".repeat(1 << 18);
  const thoughts = Array.from({ length: 10 }, (_, i) => ({
    id: i + 1,
    type: "agent.thought",
    data: { agent: "a", delta: i + delta },
  }));
  const [agent] = reduceAll(emptyState, thoughts).agents;
  assert.equal(agent.text.length, 1 << 20);
  assert.equal(agent.text.length + agent.cutChars, 10 * (delta.length + 1));
});

const step = (name, from, to, more = {}) => ({
  name,
  started_at: `${AT}${from}Z`,
  ended_at: to && `${AT}${to}Z`,
  attempts: 1,
  cost_usd: 0,
  ...more,
});
const TRACE = {
  steps: [
    step("classify_vagueness", "0.000", "0.200"),
    step("route", "0.200", "0.400"),
    step("rephrase_per_agent", "0.400", "0.900"),
    step("run_main_agent", "0.950", "2.050"),
  ],
  findings: [
    {
      id: "ds-001",
      kind: "level",
      metric: "steps",
      metric_y: null,
      lag: 0,
      window: "w",
      verdict: "conditional",
      assessment: "so",
      claim: "the mean",
    },
  ],
  gates: [{ finding_id: "ds-001", gate: "bootstrap", verdict: "failed", why: "no", detail: { lo: 1 } }],
  critic: [{ finding_id: "ds-001", verdict: "accept", reasoning: "r", concerns: [] }],
  agents: [{ agent: "data_science", step: "run_main_agent", question: "q", summary: "s", findings: 1 }],
};

test("a turn whose events are gone is read from itself and its trace", () => {
  const turn = {
    status: "completed",
    created_at: `${AT}0.000Z`,
    completed_at: `${AT}5.000Z`,
    result: RESULT,
    error: null,
  };
  const state = withTrace(withTurn(emptyState, turn), TRACE);
  assert.ok(isOver(state));
  assert.equal(state.draft, RESULT.answer);
  assert.deepEqual(state.findings[0].gates.bootstrap, { verdict: "failed", why: "no", detail: { lo: 1 } });
  assert.equal(verdictOf(state.findings[0]), "conditional");
  assert.equal(state.findings[0].metric, "steps");
  assert.deepEqual(
    [state.agents[0].name, state.agents[0].text, state.agents[0].isSummary],
    ["data_science", "s", true],
  );
});

test("a trace adds to what events told, and takes nothing", () => {
  const live = reduceAll(emptyState, LOG);
  const state = withTrace(live, TRACE);
  assert.equal(agentOf(state, "data_science").text, "Looking  at it ");
  assert.equal(state.findings[0].gates.bootstrap.verdict, "passed");
  assert.equal(verdictOf(state.findings[0]), "conditional", "the server's word counts");
  const late = withTurn(live, { status: "running" });
  assert.equal(late.status, "completed", "a state that is late takes nothing back");
  const again = withTurn(live, { status: "completed", result: structuredClone(RESULT) });
  assert.equal(again.result, live.result, "the same once more is no news");
});

test("the waterfall has all nine steps, and the running one grows", () => {
  const now = Date.parse(`${AT}3.500Z`);
  const state = withTrace(reduceAll(emptyState, LOG.slice(0, 8)), TRACE);
  const rows = (at) => waterfall(state, at).rows;
  assert.deepEqual(
    rows(now).map(({ status }) => status),
    ["done", "done", "done", "skipped", "done", "running", "waiting", "waiting", "waiting"],
  );
  assert.equal(rows(now)[5].from, Date.parse(`${AT}2.050Z`));
  assert.equal(rows(now)[5].to, now);
  assert.equal(rows(now + 1000)[5].to, now + 1000);
  assert.deepEqual(
    rows(now)[4].agents.map((agent) => agent.name),
    ["data_science", "domain_expert"],
  );
});

test("the waterfall of a finished turn says what was not needed, and of a queued one nothing runs", () => {
  const over = withTrace(reduceAll(emptyState, LOG), {
    steps: [...TRACE.steps, step("synthesis", "3.000", "4.000"), step("memory_extraction", "4.000", "4.100")],
  });
  const { rows, from, to } = waterfall(over, Date.now());
  assert.deepEqual(
    rows.map(({ status }) => status),
    ["done", "done", "done", "skipped", "done", "skipped", "skipped", "done", "done"],
  );
  assert.deepEqual([from, to], [Date.parse(`${AT}0.000Z`), Date.parse(`${AT}4.100Z`)]);
  const failed = withTrace(
    reduce(reduceAll(emptyState, LOG.slice(0, 8)), { id: 9, type: "turn.failed", data: {} }),
    TRACE,
  );
  assert.deepEqual(
    waterfall(failed, Date.now()).rows.map(({ status }) => status),
    ["done", "done", "done", "skipped", "done", ...Array(4).fill("not_reached")],
  );
  const queued = waterfall(emptyState, 1000);
  assert.ok(queued.rows.every(({ status }) => status === "waiting"));
  assert.ok(queued.to > queued.from);
});

test("without a trace the running step is guessed from the events", () => {
  const at = Date.parse(`${AT}9.000Z`);
  const runningAfter = (n) =>
    waterfall(reduceAll(emptyState, LOG.slice(0, n)), at).rows.find(({ status }) => status === "running")
      ?.step;
  assert.equal(runningAfter(1), "classify_vagueness");
  assert.equal(runningAfter(12), "validation_gates");
  assert.equal(runningAfter(19), "synthesis");
});
