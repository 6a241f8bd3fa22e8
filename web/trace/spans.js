// SPDX-License-Identifier: Apache-2.0
// A trace as a tree of spans: the turn, its steps, what each of them did. No document here.
//
// A span is {id, parent, depth, kind, name, note, status, start, end, costUsd, facts, parts, hasChildren}:
// start and end in milliseconds since the turn's begin, null where nobody measured them; `facts` are
// pairs of short texts, `parts` named values to be looked at, such as input and output.

const MAX_SEARCHED = 1 << 20; // characters of a span that a search looks at
const MAX_NOTE = 200;

const at = (text) => (text ? Date.parse(text) : NaN);
const known = (value) => (Number.isFinite(value) ? value : null);
const plain = (name) => name.replaceAll("_", " ");

const VERDICTS = {
  passed: "good",
  validated: "good",
  accept: "good",
  conditional: "warn",
  revise: "warn",
  rejected: "bad",
  failed: "bad",
  reject: "bad",
};
export const verdictKind = (verdict) => VERDICTS[verdict] ?? "";

class Tree {
  constructor(trace) {
    this.spans = [];
    this.begin = at(trace.created_at);
  }

  add(parent, span) {
    const full = {
      note: "",
      status: null,
      start: null,
      end: null,
      costUsd: null,
      facts: [],
      parts: {},
      hasChildren: false,
      ...span,
    };
    full.id = `${parent ? `${parent.id}/` : ""}${span.key ?? span.name}`;
    full.parent = parent;
    full.depth = parent ? parent.depth + 1 : 0;
    if (parent) parent.hasChildren = true;
    this.spans.push(full);
    return full;
  }

  since(text) {
    return known(at(text) - this.begin);
  }
}

function stepStatus(step, isRunning) {
  if (step.error) return "failed";
  return step.ended_at ? null : isRunning ? "running" : "cut";
}

function addStep(tree, root, step, trace) {
  return tree.add(root, {
    key: step.name,
    kind: "step",
    name: plain(step.name),
    note: step.error?.message ?? "",
    status: stepStatus(step, !trace.completed_at),
    start: tree.since(step.started_at),
    end: tree.since(step.ended_at),
    costUsd: step.cost_usd,
    facts: [
      ["step", `${step.number} of 9`],
      ["attempts", String(step.attempts)],
      ...(step.error ? [["error", `${step.error.code}: ${step.error.message}`]] : []),
    ],
    parts: { ...(step.error && { error: step.error }), output: step.output, input: step.input },
  });
}

function addCall(tree, parent, call, i) {
  const start = tree.since(call.started_at);
  const { input_tokens: read = 0, output_tokens: written = 0, cache_read_tokens: cached = 0 } = call.usage ?? {};
  tree.add(parent, {
    key: `call${i}`,
    kind: "call",
    name: call.model ?? call.role,
    note: plain(call.purpose),
    status: call.status === "ok" ? null : "failed",
    start,
    end: start === null ? null : start + call.duration_ms,
    costUsd: call.cost_usd,
    facts: [
      ["provider", call.provider ?? "none"],
      ["role", call.role],
      ["tokens", `${read} read, ${written} written${cached ? `, ${cached} of the cache` : ""}`],
      ["stopped by", call.stop ?? "nothing"],
      ["attempts", String(call.attempts)],
      ...(call.why ? [["why", call.why]] : []),
    ],
    parts: { content: call.content, request: call.request },
  });
}

function addAgents(tree, step, name, agents) {
  for (const [i, agent] of agents.entries()) {
    if (agent.step !== name) continue;
    tree.add(step, {
      key: `agent${i}`,
      kind: "agent",
      name: plain(agent.agent),
      note: agent.summary,
      facts: [
        ["question", agent.question],
        ["findings", String(agent.findings)],
      ],
      parts: { summary: agent.summary },
    });
  }
}

function addFindings(tree, step, trace) {
  for (const finding of trace.findings ?? []) {
    const verdict = finding.verdict ?? null;
    const span = tree.add(step, {
      key: finding.id,
      kind: "finding",
      name: finding.id,
      note: finding.claim,
      status: verdict,
      facts: [
        ["kind", finding.kind],
        ["metric", [finding.metric, finding.metric_y].filter(Boolean).map(plain).join(" and ")],
        ["window", finding.window ?? "all"],
        ...(finding.assessment ? [["assessment", finding.assessment]] : []),
      ],
      parts: { finding },
    });
    for (const gate of trace.gates.filter((candidate) => candidate.finding_id === finding.id))
      tree.add(span, {
        key: gate.gate,
        kind: "gate",
        name: plain(gate.gate),
        note: gate.why ?? "",
        status: gate.verdict,
        facts: [["verdict", gate.verdict]],
        parts: { detail: gate.detail },
      });
    for (const critic of trace.critic.filter((candidate) => candidate.finding_id === finding.id))
      tree.add(span, {
        key: "critic",
        kind: "critic",
        name: "critic",
        note: critic.reasoning,
        status: critic.verdict,
        facts: critic.concerns.map(({ kind, severity, note }) => [`${plain(kind)}, ${severity}`, note]),
        parts: { concerns: critic.concerns },
      });
  }
}

function addFlagged(tree, step, { flagged, removed }) {
  for (const [i, flag] of flagged.entries())
    tree.add(step, {
      key: `flag${i}`,
      kind: "flag",
      name: "flagged",
      note: flag.text,
      status: "failed",
      facts: [
        ["attempt", String(flag.attempt)],
        ["offence", flag.offence],
      ],
      parts: { flag },
    });
  for (const [i, text] of removed.entries())
    tree.add(step, { key: `removed${i}`, kind: "flag", name: "removed", note: text, status: "failed" });
}

/** All spans in the order they are read: each before its children. */
export function spansOf(trace) {
  const tree = new Tree(trace);
  const ends = trace.steps.map((step) => tree.since(step.ended_at)).filter((end) => end !== null);
  const root = tree.add(null, {
    key: "turn",
    kind: "turn",
    name: "turn",
    status: trace.status,
    start: 0,
    end: tree.since(trace.completed_at) ?? (ends.length > 0 ? Math.max(...ends) : null),
    costUsd: trace.cost_usd,
    facts: [
      ["id", trace.turn_id],
      ["begun", trace.created_at],
      ["ended", trace.completed_at ?? "not yet"],
    ],
  });
  for (const step of trace.steps) {
    const span = addStep(tree, root, step, trace);
    for (const [i, call] of (step.model_calls ?? []).entries()) addCall(tree, span, call, i);
    addAgents(tree, span, step.name, trace.agents);
    if (step.name === "validation_gates") addFindings(tree, span, trace);
    if (step.name === "synthesis") addFlagged(tree, span, trace);
  }
  return tree.spans;
}

/** What a search sees of a span: what it did, not what it was given by others. */
function searched(span) {
  const { input, request, ...own } = span.parts;
  return `${span.name} ${span.kind} ${span.note} ${span.status ?? ""} ${span.facts.flat().join(" ")} ${JSON.stringify(own)}`
    .slice(0, MAX_SEARCHED)
    .toLowerCase();
}

/** Spans that have the word, with all that they are part of; null when nothing is searched. */
export function matches(spans, word) {
  if (word === "") return null;
  const found = new Set();
  const wanted = word.toLowerCase();
  for (const span of spans) {
    span.searched ??= searched(span);
    if (!span.searched.includes(wanted)) continue;
    for (let each = span; each; each = each.parent) found.add(each);
  }
  return found;
}

/** What is shown: nothing below what is closed, and only what was found where something is searched. */
export function visible(spans, closed, found) {
  return spans.filter((span) => {
    if (found) return found.has(span);
    for (let each = span.parent; each; each = each.parent) if (closed.has(each.id)) return false;
    return true;
  });
}

/** Where a span's bar begins and how long it is, as shares of the whole; null where nothing is known. */
export function barOf(span, total) {
  if (span.start === null || !(total > 0)) return null;
  const end = Math.min(span.end ?? total, total);
  const left = Math.max(0, Math.min(1, span.start / total));
  return { left, width: Math.max(0, end / total - left) };
}

/** Nobody reads more than a line of it in a list. */
export const shortNote = (span) => (span.note.length > MAX_NOTE ? `${span.note.slice(0, MAX_NOTE)}…` : span.note);

/** $0, $0.0011, $1.25: as many digits as a small sum needs. */
export function dollars(usd) {
  if (usd === null || usd === undefined) return "";
  if (usd === 0) return "$0";
  return `$${usd >= 1 ? usd.toFixed(2) : usd >= 0.01 ? usd.toFixed(3) : usd.toPrecision(2)}`;
}
