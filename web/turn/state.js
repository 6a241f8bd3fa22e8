// SPDX-License-Identifier: Apache-2.0
// A turn as its events tell it. reduce(state, event) is pure: the same events give the same state,
// whether they come live, are replayed after a reload, or come twice.
//
//   turn.started ──▶ agent.* ──▶ validator.* ──▶ agent.* of synthesis ──▶ turn.completed | turn.failed
//
// An event is {id, type, data}. Types and members that are not known are skipped, so that a page
// from yesterday reads a server from tomorrow. What an agent thought is dropped when it starts anew,
// for a step that is run again after a crash says everything again.

export const GATES = Object.freeze([
  "sample_size",
  "construct_validity",
  "effect_vs_noise",
  "bootstrap",
  "subgroup_consistency",
  "method_triangulation",
  "discriminative_power",
]);
const HARD_GATES = Object.freeze(["sample_size", "construct_validity"]);
export const SYNTHESIS = "synthesis";

export const STEPS = Object.freeze([
  "classify_vagueness",
  "route",
  "rephrase_per_agent",
  "run_supporting_agents",
  "run_main_agent",
  "reflection",
  "validation_gates",
  "synthesis",
  "memory_extraction",
]);

const MAX_AGENTS = 16;
const MAX_FINDINGS = 200;
const MAX_TEXT_CHARS = 1 << 20; // of what one agent thought; beyond, its beginning goes
const MAX_EARLIER = 8; // runs of one agent that are over

export const emptyState = Object.freeze({
  status: "queued",
  lastId: 0,
  missed: 0,
  startedAt: null,
  endedAt: null,
  lastAt: null,
  agents: Object.freeze([]),
  findings: Object.freeze([]),
  draft: "",
  costWarning: null,
  result: null,
  error: null,
});

export const isOver = (state) => state.status === "completed" || state.status === "failed";

const text = (value) => (typeof value === "string" ? value : "");
const finite = (value) => (Number.isFinite(value) ? value : null);

function timeOf(value) {
  const ms = typeof value === "string" ? Date.parse(value) : NaN;
  return Number.isNaN(ms) ? null : ms;
}

// ---- agents

function newAgent(name) {
  return {
    name,
    isWorking: true,
    question: "",
    text: "",
    cutChars: 0,
    startedAt: null,
    endedAt: null,
    durationMs: null,
    costUsd: null,
    summary: "",
    runs: 1,
    earlier: [],
  };
}

/** The agents with the one of that name changed; who is not there yet is added. */
function withAgent(state, name, change) {
  const found = state.agents.findIndex((agent) => agent.name === name);
  if (found < 0 && (name === "" || state.agents.length >= MAX_AGENTS)) return state;
  const agents = [...state.agents];
  if (found < 0) agents.push(change(newAgent(name), true));
  else agents[found] = change(agents[found], false);
  return { ...state, agents };
}

function agentStarted(state, data) {
  const name = text(data.agent);
  const startedAt = timeOf(data.at);
  const next = withAgent(state, name, (agent, isNew) => {
    const earlier = agent.isWorking
      ? agent.earlier
      : [...agent.earlier, { question: agent.question, summary: agent.summary }].slice(-MAX_EARLIER);
    return {
      ...newAgent(name),
      question: text(data.question),
      startedAt,
      runs: isNew ? 1 : agent.runs + 1,
      earlier,
    };
  });
  return name === SYNTHESIS ? { ...next, draft: "" } : next;
}

/** A text with its tail added; of one that is too long the beginning goes. */
function grown(agent, delta) {
  const whole = agent.text + delta;
  const cut = Math.max(0, whole.length - MAX_TEXT_CHARS);
  return { ...agent, text: cut ? whole.slice(cut) : whole, cutChars: agent.cutChars + cut };
}

function agentThought(state, data) {
  const delta = text(data.delta);
  // The answer's tokens carry the main agent's name; the channel tells whose they are.
  const isAnswer = data.channel === SYNTHESIS || data.agent === SYNTHESIS;
  const next = withAgent(state, isAnswer ? SYNTHESIS : text(data.agent), (agent) => grown(agent, delta));
  return isAnswer ? { ...next, draft: (state.draft + delta).slice(-MAX_TEXT_CHARS) } : next;
}

function agentCompleted(state, data) {
  const durationMs = finite(data.duration_ms);
  const endedAt = timeOf(data.at);
  return withAgent(state, text(data.agent), (agent) => ({
    ...agent,
    isWorking: false,
    endedAt,
    durationMs,
    costUsd: finite(data.cost_usd),
    summary: text(data.output_summary),
    startedAt: agent.startedAt ?? (endedAt === null || durationMs === null ? endedAt : endedAt - durationMs),
  }));
}

// ---- findings

function withFinding(state, data, change) {
  const id = text(data.finding_id);
  const found = state.findings.findIndex((finding) => finding.id === id);
  if (id === "" || (found < 0 && state.findings.length >= MAX_FINDINGS)) return state;
  const findings = [...state.findings];
  const finding = change(found < 0 ? { id, claim: "", gates: {}, critic: null } : findings[found]);
  if (found < 0) findings.push(finding);
  else findings[found] = finding;
  return { ...state, findings };
}

function gate(state, data) {
  const { why, ...detail } = data.detail ?? {};
  if (!GATES.includes(data.gate)) return state;
  return withFinding(state, data, (finding) => ({
    ...finding,
    claim: text(data.claim) || finding.claim,
    gates: {
      ...finding.gates,
      [data.gate]: { verdict: text(data.verdict), why: text(data.why ?? why), detail },
    },
  }));
}

function concernsOf(list) {
  if (!Array.isArray(list)) return [];
  return list
    .filter(Boolean)
    .map(({ kind, severity, note }) => ({ kind: text(kind), severity: text(severity), note: text(note) }));
}

function critic(state, data) {
  return withFinding(state, data, (finding) => ({
    ...finding,
    critic: {
      verdict: text(data.verdict),
      reasoning: text(data.reasoning),
      concerns: concernsOf(data.concerns),
    },
  }));
}

/** "not_reached": a hard gate failed before it; "waiting": it may still come. */
export function gateVerdict(finding, name, isEnded) {
  const own = finding.gates[name]?.verdict;
  if (own) return own;
  const isStopped = HARD_GATES.some((hard) => finding.gates[hard]?.verdict === "failed");
  return isStopped || finding.critic || isEnded ? "not_reached" : "waiting";
}

/** What gates and critic come to; null while it is open. docs/gates.md has the rule. */
export function verdictOf(finding) {
  if (finding.verdict) return finding.verdict;
  const has = (verdict, names) => names.some((name) => finding.gates[name]?.verdict === verdict);
  if (has("failed", [...HARD_GATES, "effect_vs_noise"])) return "rejected";
  if (!finding.critic) return null;
  if (finding.critic.verdict === "reject") return "rejected";
  return has("failed", GATES) || finding.critic.verdict === "downgrade" ? "conditional" : "validated";
}

// ---- the whole

function ended(state, status, more) {
  const agents = state.agents.map((agent) =>
    agent.isWorking ? { ...agent, isWorking: false, wasCut: status === "failed" } : agent,
  );
  return { ...state, ...more, status, agents };
}

const reducers = {
  "turn.started": (state, data) => ({
    ...state,
    status: "running",
    startedAt: state.startedAt ?? timeOf(data.at),
  }),
  "agent.started": agentStarted,
  "agent.thought": agentThought,
  "agent.completed": agentCompleted,
  "validator.gate": gate,
  "validator.critic": critic,
  cost_warning: (state, data) => ({
    ...state,
    costWarning: { costUsd: finite(data.cost_usd), thresholdUsd: finite(data.threshold_usd) },
  }),
  "turn.completed": (state, data) =>
    ended(state, "completed", {
      result: data.result ?? null,
      draft: text(data.result?.answer) || state.draft,
    }),
  "turn.failed": (state, data) =>
    ended(state, "failed", { error: data.error ?? { code: "internal_error", message: "" } }),
};

/** One event more. What was seen already changes nothing. */
export function reduce(state, event) {
  const id = Number(event?.id);
  if (!Number.isSafeInteger(id) || id <= state.lastId || isOver(state)) return state;
  const data = event.data !== null && typeof event.data === "object" ? event.data : {};
  const seen = {
    ...state,
    lastId: id,
    missed: state.missed + id - state.lastId - 1,
    lastAt: timeOf(data.at) ?? state.lastAt,
  };
  if (seen.status === "queued") seen.status = "running";
  return Object.hasOwn(reducers, event.type) ? reducers[event.type](seen, data) : seen;
}

/** What the Turn itself says; for one whose events are not kept any more it is all there is. */
export function withTurn(state, turn) {
  const next = { ...state, createdAt: timeOf(turn.created_at), endedAt: timeOf(turn.completed_at) };
  // The last event has said the same, byte for byte: what is drawn from it stays.
  if (isOver(state)) return next;
  if (turn.status === "completed")
    return ended(next, "completed", { result: turn.result, draft: text(turn.result?.answer) });
  if (turn.status === "failed") return ended(next, "failed", { error: turn.error });
  return { ...next, status: turn.status };
}

/** What a trace adds: verdicts and metrics of findings, and whatever no event has told. */
export function withTrace(state, trace) {
  let next = {
    ...state,
    steps: trace.steps ?? [],
    lastAt: latest(state.lastAt, ...(trace.steps ?? []).map((step) => timeOf(step.ended_at))),
  };
  const hasEvents = state.lastId > 0;
  if (!hasEvents) {
    for (const entry of trace.gates ?? []) next = gate(next, entry);
    for (const entry of trace.critic ?? []) next = critic(next, entry);
    for (const entry of trace.agents ?? [])
      next = withAgent(next, text(entry.agent), (agent) => agentOfTrace(agent, entry));
    next.startedAt = timeOf(trace.steps?.[0]?.started_at) ?? state.startedAt;
  }
  const told = new Map((trace.findings ?? []).map((finding) => [finding.id, finding]));
  next.findings = sameOr(
    next.findings,
    next.findings.map((finding) => withTold(finding, told.get(finding.id))),
  );
  return next;
}

/** What is as it was stays the same object, so that nothing is drawn again. */
const sameOr = (old, list) => (list.every((item, i) => item === old[i]) ? old : list);

function withTold(finding, told) {
  if (!told) return finding;
  const { kind, metric, metric_y: metricY, verdict, assessment } = told;
  const more = { kind, metric, metricY, verdict, assessment, claim: finding.claim || text(told.claim) };
  return Object.keys(more).every((key) => finding[key] === more[key]) ? finding : { ...finding, ...more };
}

const latest = (...times) =>
  times.reduce((last, at) => (at !== null && (last === null || at > last) ? at : last), null);

function agentOfTrace(agent, entry) {
  return {
    ...agent,
    isWorking: false,
    question: text(entry.question),
    summary: text(entry.summary),
    text: agent.text || text(entry.summary),
    isSummary: true,
  };
}

/** What happens now, in words; for the title of the answer and for those who listen. */
export function phaseOf(state) {
  if (state.status === "completed") return "done";
  if (state.status === "failed") return "failed";
  if (state.status === "queued") return "queued";
  const working = state.agents.filter((agent) => agent.isWorking).map((agent) => agent.name);
  if (working.includes(SYNTHESIS)) return "writing";
  if (working.length > 0) return "working";
  if (state.agents.some((agent) => agent.name === SYNTHESIS)) return "remembering";
  if (state.findings.length > 0) return "checking";
  return state.agents.length > 0 ? "thinking" : "reading";
}

// ---- the nine steps as rows with a begin and an end: out of the trace and, for what that does not have yet, the events

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
