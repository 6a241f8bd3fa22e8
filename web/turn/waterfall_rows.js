// SPDX-License-Identifier: Apache-2.0
// The nine steps as rows with a begin and an end, out of the trace and, for what the trace does not
// have yet, out of the events. Pure.

import { isOver, STEPS, SYNTHESIS } from "./state.js";

const timeOf = (value) => (typeof value === "string" ? Date.parse(value) : NaN);

function agentsOf(state, step, done) {
  const isSynthesis = step === SYNTHESIS;
  return state.agents.filter(
    (agent) =>
      (agent.name === SYNTHESIS) === isSynthesis &&
      Number.isFinite(agent.startedAt) &&
      isWithin(agent, done.get(step)),
  );
}

const isWithin = (agent, row) => Boolean(row) && agent.startedAt >= row.from && agent.startedAt <= row.to;

/** Which step runs, as far as one can tell: the one behind the last that is over. */
function runningStep(state, done) {
  if (isOver(state) || state.status === "queued") return null;
  const last = STEPS.findLastIndex((step) => done.has(step));
  const next = STEPS[last + 1] ?? null;
  const hinted = state.agents.some((agent) => agent.name === SYNTHESIS && agent.isWorking)
    ? SYNTHESIS
    : state.findings.length > 0
      ? "validation_gates"
      : null;
  return hinted && STEPS.indexOf(hinted) > last ? hinted : next;
}

/**
 * [{step, status: "done" | "running" | "failed" | "waiting" | "skipped" | "not_reached", from, to, attempts, costUsd, agents}],
 * and the time that they span: {rows, from, to}. `now` is the server's.
 */
export function waterfall(state, now) {
  const done = new Map();
  for (const {
    name,
    started_at: started,
    ended_at: end,
    attempts,
    cost_usd: costUsd,
    error,
  } of state.steps ?? []) {
    const from = timeOf(started);
    if (STEPS.includes(name) && Number.isFinite(from))
      done.set(name, {
        from,
        to: Math.max(from, timeOf(end) || from),
        attempts,
        costUsd,
        hasFailed: Boolean(error) && !end,
      });
  }
  const begin = Math.min(...[...done.values()].map((row) => row.from), state.startedAt ?? Infinity);
  const from = Number.isFinite(begin) ? begin : now;
  const running = runningStep(state, done);
  const lastEnd = Math.max(from, ...[...done.values()].map((row) => row.to));
  const end = isOver(state) ? Math.max(lastEnd, state.endedAt ?? lastEnd) : Math.max(lastEnd, now);
  const rows = STEPS.map((step) => {
    const row = done.get(step);
    if (row)
      return { step, status: row.hasFailed ? "failed" : "done", ...row, agents: agentsOf(state, step, done) };
    if (step === running)
      return { step, status: "running", from: lastEnd, to: end, attempts: 1, costUsd: null, agents: [] };
    const isPassed =
      STEPS.indexOf(step) < STEPS.findLastIndex((other) => done.has(other) || other === running);
    const rest = state.status === "failed" ? "not_reached" : isOver(state) ? "skipped" : "waiting";
    return {
      step,
      status: isPassed ? "skipped" : rest,
      from: null,
      to: null,
      attempts: 0,
      costUsd: null,
      agents: [],
    };
  });
  return { rows, from, to: Math.max(end, from + 1) };
}
