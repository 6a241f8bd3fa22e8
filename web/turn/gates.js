// SPDX-License-Identifier: Apache-2.0
// Findings, each with its seven gates as a grid and what the critic says. The numbers that decided a
// gate show when it is pointed at, focused or tapped, and Escape hides them.

import { h, newId, replace } from "../lib/dom.js";
import { capitalised, number } from "../lib/format.js";
import { verdictBadge, verdictMark } from "./parts.js";
import { GATES, gateVerdict, verdictOf } from "./state.js";
import { detailName, gateName, gateQuestion, plainName } from "./words.js";

const VERDICT_WORDS = {
  passed: "passed",
  failed: "failed",
  skipped: "not applicable",
  not_reached: "not reached",
  waiting: "waiting",
};
const TIP_WIDTH = 340;
const MAX_NUMBERS = 16;

function detailText(value) {
  if (typeof value === "number") return number(value);
  if (typeof value === "boolean") return value ? "yes" : "no";
  return value === null ? "not defined" : String(value);
}

function tipContent(name, verdict, gate) {
  const numbers = Object.entries(gate?.detail ?? {}).slice(0, MAX_NUMBERS);
  return [
    h(
      "p",
      { class: "tip-title" },
      verdictMark(verdict),
      `${gateName(name)}: ${VERDICT_WORDS[verdict] ?? verdict}`,
    ),
    h("p", { class: "tip-question" }, gateQuestion(name)),
    gate?.why && h("p", null, `${capitalised(gate.why)}.`),
    verdict === "not_reached" && h("p", null, "A gate that has to be passed failed before it."),
    numbers.length > 0 &&
      h(
        "dl",
        { class: "tip-numbers" },
        numbers.map(([key, value]) => [h("dt", null, detailName(key)), h("dd", null, detailText(value))]),
      ),
  ];
}

/** One note for all gates of a finding, placed inside its card so that it is never cut off. */
function gateTip(card) {
  const id = newId("gate-tip");
  const element = h("div", { class: "tip", role: "tooltip", id, hidden: true });
  let owner = null;

  function show(button, content) {
    owner?.removeAttribute("aria-describedby");
    owner = button;
    replace(element, content);
    element.hidden = false;
    const width = Math.min(TIP_WIDTH, card.clientWidth);
    const left = Math.max(0, Math.min(button.offsetLeft, card.clientWidth - width));
    Object.assign(element.style, {
      top: `${button.offsetTop + button.offsetHeight + 6}px`,
      left: `${left}px`,
      width: `${width}px`,
    });
    button.setAttribute("aria-describedby", id);
  }
  function hide() {
    owner?.removeAttribute("aria-describedby");
    owner = null;
    element.hidden = true;
  }
  return { element, show, hide, isShownFor: (button) => owner === button };
}

function gateCell(name, finding, isEnded, tip) {
  const verdict = gateVerdict(finding, name, isEnded);
  const button = h(
    "button",
    { class: "gate", data: { gate: name, verdict } },
    verdictMark(verdict),
    h("span", { class: "gate-name" }, gateName(name)),
    h("span", { class: "gate-verdict" }, VERDICT_WORDS[verdict] ?? verdict),
  );
  const show = () => tip.show(button, tipContent(name, verdict, finding.gates[name]));
  button.addEventListener("mouseenter", show);
  button.addEventListener("focus", show);
  button.addEventListener("click", show);
  button.addEventListener("blur", tip.hide);
  button.addEventListener("mouseleave", () => document.activeElement !== button && tip.hide());
  button.addEventListener("keydown", (event) => event.key === "Escape" && tip.hide());
  return h("li", null, button);
}

const SEVERITIES = { high: "badge-bad", medium: "badge-warn" };
const CRITIC_WORDS = {
  accept: "has no objection",
  downgrade: "lowers it to conditional",
  reject: "rejects it",
};

function criticPart(critic) {
  if (!critic) return null;
  return h(
    "div",
    { class: "critic", data: { critic: critic.verdict } },
    h(
      "p",
      null,
      h("strong", null, `The critic ${CRITIC_WORDS[critic.verdict] ?? critic.verdict}. `),
      critic.reasoning,
    ),
    critic.concerns.length > 0 &&
      h(
        "ul",
        { class: "concerns" },
        critic.concerns.map(({ kind, severity, note }) =>
          h(
            "li",
            null,
            h(
              "span",
              { class: ["badge", SEVERITIES[severity]] },
              `${plainName(kind)}${severity ? `, ${severity}` : ""}`,
            ),
            h("span", null, note),
          ),
        ),
      ),
  );
}

function drawFinding(card, finding, isEnded) {
  const focused = card.contains(document.activeElement) ? document.activeElement.dataset.gate : null;
  const grid = h("ul", { class: "gates", "aria-label": `Gates of ${finding.id}` });
  const tip = gateTip(card);
  replace(
    card,
    h(
      "header",
      { class: "check-head" },
      h("h3", null, capitalised(finding.claim) || finding.id),
      verdictBadge(verdictOf(finding)),
    ),
    finding.assessment && h("p", { class: "check-assessment" }, `${capitalised(finding.assessment)}.`),
    grid,
    criticPart(finding.critic),
    tip.element,
  );
  grid.append(...GATES.map((name) => gateCell(name, finding, isEnded, tip)));
  if (focused) grid.querySelector(`[data-gate="${focused}"]`)?.focus({ preventScroll: true });
}

export function checksSection() {
  const list = h("div", { class: "check-list" });
  const count = h("span", { class: "muted" });
  const element = h(
    "section",
    { class: "turn-part", hidden: true, data: { part: "checks" } },
    h("h2", null, "Checks ", count),
    list,
  );
  const shown = new Map(); // id → {card, finding, isEnded}

  function update(findings, isEnded) {
    for (const finding of findings) {
      const old = shown.get(finding.id);
      if (old && old.finding === finding && old.isEnded === isEnded) continue;
      const card = old?.card ?? h("article", { class: "check-card card", data: { finding: finding.id } });
      if (!old) list.append(card);
      drawFinding(card, finding, isEnded);
      shown.set(finding.id, { card, finding, isEnded });
    }
    element.hidden = shown.size === 0;
    count.textContent = summaryText(findings);
  }
  return { element, update };
}

/** 2 findings: 1 validated, 1 rejected */
function summaryText(findings) {
  const verdicts = findings.map(verdictOf);
  const parts = ["validated", "conditional", "rejected"].map((word) => [
    verdicts.filter((verdict) => verdict === word).length,
    word,
  ]);
  const open = verdicts.filter((verdict) => verdict === null).length;
  if (open > 0) parts.push([open, "open"]);
  return parts
    .filter(([n]) => n > 0)
    .map(([n, word]) => `${n} ${word}`)
    .join(", ");
}
