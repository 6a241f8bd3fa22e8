// SPDX-License-Identifier: Apache-2.0
// A trace as a tree of spans: web/trace/spans.js.

import assert from "node:assert/strict";
import { test } from "node:test";

import { barOf, dollars, matches, spansOf, visible } from "../../../web/trace/spans.js";

const time = (ms) => new Date(Date.UTC(2026, 0, 2) + ms).toISOString();
const step = (name, number, start, end, more = {}) => ({
  name,
  number,
  started_at: time(start),
  ended_at: end === null ? null : time(end),
  attempts: 1,
  cost_usd: 0,
  input: { messages: ["secret of others"] },
  output: { says: name },
  error: null,
  model_calls: [],
  ...more,
});
const call = {
  purpose: "route",
  role: "fast",
  started_at: time(10),
  duration_ms: 30,
  provider: "p",
  model: "small-1",
  status: "ok",
  why: null,
  stop: "end",
  usage: { input_tokens: 5, output_tokens: 2 },
  cost_usd: 0.001,
  attempts: 1,
  content: [{ text: "an answer" }],
  request: { system: "told by others" },
};

const trace = {
  turn_id: "turn_1",
  status: "completed",
  created_at: time(0),
  completed_at: time(100),
  cost_usd: 0.001,
  steps: [
    step("route", 2, 5, 45, { model_calls: [call] }),
    step("run_main_agent", 5, 45, 60),
    step("validation_gates", 7, 60, 90),
    step("synthesis", 8, 90, 99),
  ],
  agents: [{ agent: "data_science", step: "run_main_agent", question: "q?", summary: "mean of steps", findings: 1 }],
  findings: [
    {
      id: "ds-001",
      kind: "level",
      claim: "steps are many",
      metric: "steps",
      metric_y: null,
      window: null,
      verdict: "conditional",
      assessment: null,
    },
  ],
  gates: [
    { finding_id: "ds-001", gate: "sample_size", verdict: "passed", why: "enough days", detail: { n: 532 } },
    { finding_id: "ds-002", gate: "bootstrap", verdict: "failed", detail: {} },
  ],
  critic: [
    {
      finding_id: "ds-001",
      verdict: "accept",
      reasoning: "fine",
      concerns: [{ kind: "confounder", severity: "low", note: "weather" }],
    },
  ],
  flagged: [{ attempt: 1, text: "12345", offence: "not on the sheet" }],
  removed: ["a sentence"],
};

const names = (spans) => spans.map((span) => `${"  ".repeat(span.depth)}${span.name}`);

test("a trace is a tree, in the order it is read", () => {
  assert.deepEqual(names(spansOf(trace)), [
    "turn",
    "  route",
    "    small-1",
    "  run main agent",
    "    data science",
    "  validation gates",
    "    ds-001",
    "      sample size",
    "      critic",
    "  synthesis",
    "    flagged",
    "    removed",
  ]);
});

test("spans begin and end as they were measured, since the turn's begin", () => {
  const spans = spansOf(trace);
  const of = (name) => spans.find((span) => span.name === name);
  assert.deepEqual([of("turn").start, of("turn").end], [0, 100]);
  assert.deepEqual([of("small-1").start, of("small-1").end, of("small-1").costUsd], [10, 40, 0.001]);
  assert.equal(of("sample size").start, null);
  assert.deepEqual(barOf(of("route"), 100), { left: 0.05, width: 0.4 });
  assert.equal(barOf(of("sample size"), 100), null);
  assert.equal(barOf(of("route"), 0), null);
});

test("ids are one of a kind and stay the same when more comes", () => {
  const spans = spansOf(trace);
  assert.equal(new Set(spans.map((span) => span.id)).size, spans.length);
  const earlier = spansOf({ ...trace, completed_at: null, status: "running", steps: trace.steps.slice(0, 2) });
  assert.deepEqual(
    earlier.map((span) => span.id),
    spans.slice(0, 5).map((span) => span.id),
  );
});

test("what runs, what was cut and what failed say so", () => {
  const steps = [
    step("route", 2, 5, null),
    step("synthesis", 8, 6, 9, { error: { code: "upstream_unavailable", message: "gone" } }),
  ];
  const running = spansOf({ ...trace, steps, status: "running", completed_at: null });
  assert.equal(running[1].status, "running");
  assert.equal(running.find((span) => span.name === "synthesis").status, "failed");
  assert.equal(spansOf({ ...trace, steps, status: "failed" })[1].status, "cut");
  assert.equal(barOf(running[1], 10).width, 0.5);
});

test("a brief trace, and one of a turn that waits, are trees too", () => {
  const brief = trace.steps.map(({ input, output, model_calls, ...rest }) => rest);
  assert.equal(spansOf({ ...trace, steps: brief }).length, 11);
  const queued = {
    ...trace,
    status: "queued",
    completed_at: null,
    steps: [],
    agents: [],
    findings: [],
    gates: [],
    critic: [],
    flagged: [],
    removed: [],
  };
  assert.deepEqual(
    spansOf(queued).map((span) => [span.name, span.end]),
    [["turn", null]],
  );
});

test("a search finds what a span did, with all it is part of, and not what it was given", () => {
  const spans = spansOf(trace);
  assert.deepEqual(
    [...matches(spans, "WEATHER")].map((span) => span.name).sort(),
    ["critic", "ds-001", "turn", "validation gates"].sort(),
  );
  assert.equal(matches(spans, "secret of others").size, 0);
  assert.equal(matches(spans, "told by others").size, 0);
  assert.equal(matches(spans, ""), null);
  assert.deepEqual(names(visible(spans, new Set(["turn"]), matches(spans, "an answer"))), [
    "turn",
    "  route",
    "    small-1",
  ]);
});

test("what is closed hides all below it", () => {
  const spans = spansOf(trace);
  const closed = new Set([spans.find((span) => span.name === "validation gates").id]);
  const shown = names(visible(spans, closed, null));
  assert.ok(
    shown.includes("  validation gates") && !shown.some((name) => name.includes("ds-001") || name.includes("critic")),
  );
});

test("small sums keep their digits", () => {
  assert.deepEqual([0, 0.0011, 0.0234, 1.254, null].map(dollars), ["$0", "$0.0011", "$0.023", "$1.25", ""]);
});
