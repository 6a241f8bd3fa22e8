// SPDX-License-Identifier: Apache-2.0
// The nine steps as bars over the time that they took; the one that runs grows.

import { h, replace, setText } from "../lib/dom.js";
import { duration } from "../lib/format.js";
import { usd } from "./parts.js";
import { STEPS, waterfall } from "./state.js";
import { agentName, stepName } from "./words.js";

const STATUS_WORDS = {
  running: "running",
  waiting: "waiting",
  skipped: "not needed",
  not_reached: "not reached",
  failed: "failed",
};
const MIN_PERCENT = 0.6; // a bar of a moment is still seen

const tookText = (ms) => (ms < 1 ? "< 1 ms" : duration(ms));

function bar(extra) {
  const fill = h("span", { class: ["step-bar", extra] });
  return { fill, track: h("span", { class: "step-track", "aria-hidden": "true" }, fill) };
}

function place(fill, { from, to }, span) {
  const whole = span.to - span.from;
  const left = Math.max(0, Math.min(100 - MIN_PERCENT, ((from - span.from) / whole) * 100));
  fill.style.left = `${left}%`;
  fill.style.width = `${Math.max(MIN_PERCENT, Math.min(100 - left, ((to - from) / whole) * 100))}%`;
}

function agentRow(agent, span, now) {
  const { fill, track } = bar("step-bar-agent");
  const to = agent.endedAt ?? now;
  place(fill, { from: agent.startedAt, to }, span);
  return h(
    "li",
    null,
    h("span", { class: "step-name" }, agentName(agent.name)),
    track,
    h("span", { class: "step-time" }, tookText(to - agent.startedAt)),
  );
}

function stepRow(step) {
  const { fill, track } = bar();
  const time = h("span", { class: "step-time" });
  const agents = h("ul", { class: "step-agents" });
  const element = h(
    "li",
    { class: "step", data: { step } },
    h("div", { class: "step-line" }, h("span", { class: "step-name" }, stepName(step)), track, time),
    agents,
  );
  let shownAgents = [];

  function update(row, span, now) {
    element.dataset.status = row.status;
    fill.hidden = row.from === null;
    if (row.from !== null) place(fill, row, span);
    const more = [row.attempts > 1 && `${row.attempts} attempts`, row.costUsd > 0 && usd(row.costUsd)].filter(
      Boolean,
    );
    const words =
      row.status === "done"
        ? [tookText(row.to - row.from), ...more]
        : row.status === "running"
          ? [duration(row.to - row.from)]
          : [STATUS_WORDS[row.status], ...more];
    setText(time, words.join(", "));
    // One that did all of a step is the step's own bar once more.
    const inside = row.agents.length > 1 ? row.agents : [];
    if (inside.length === 0 && shownAgents.length === 0) return;
    replace(
      agents,
      inside.map((agent) => agentRow(agent, span, now)),
    );
    shownAgents = inside;
  }
  return { element, update };
}

export function stepsSection() {
  const rows = STEPS.map(stepRow);
  const total = h("span", { class: "muted" });
  const element = h(
    "section",
    { class: "turn-part", data: { part: "steps" } },
    h("h2", null, "Steps ", total),
    h(
      "ol",
      { class: "steps card" },
      rows.map((row) => row.element),
    ),
  );

  function update(state, now) {
    const span = waterfall(state, now);
    for (const [i, row] of rows.entries()) row.update(span.rows[i], span, now);
    setText(total, state.startedAt === null ? "" : tookText(span.to - span.from));
  }
  return { element, update };
}
