// SPDX-License-Identifier: Apache-2.0
// The answer: as it is written, and then with a link from each number to its entry.

import { h, replace, setText } from "../lib/dom.js";
import { pacedMarkdown, renderMarkdown } from "../lib/markdown.js";
import { factAddress } from "./facts.js";
import { basisText, factValueText, placesOf, windowText } from "./numbers.js";
import { phaseOf } from "./state.js";
import { agentName, failureText, listText, numberName, phaseText } from "./words.js";

const HEADING_LEVEL = 2; // the question is the first

function numberLink(turnId, claim, sheet, nodes) {
  const fact = sheet.find((entry) => entry.claim === claim);
  const title =
    fact &&
    [`${numberName(claim)} ${factValueText(fact)}`, fact.n && `${fact.n} days`, windowText(fact)]
      .filter(Boolean)
      .join(", ");
  return h(
    "a",
    {
      class: ["number", fact?.verdict === "conditional" && "number-conditional"],
      href: factAddress(turnId, claim),
      title,
      data: { claim },
    },
    nodes,
  );
}

function finished(turnId, result) {
  const ranges = placesOf(result.answer, result.numbers).map(({ start, end, claim }) => ({
    start,
    end,
    wrap: (nodes) => numberLink(turnId, claim, result.fact_sheet, nodes),
  }));
  return renderMarkdown(result.answer, { ranges, headingLevel: HEADING_LEVEL });
}

function failure(error, onAgain) {
  const { title, advice, message } = failureText(error);
  return h(
    "div",
    { class: ["notice stack", error?.code !== "cancelled" && "notice-bad"], data: { failure: error?.code } },
    h("h2", null, title),
    message && error?.code !== "cancelled" && h("p", null, message),
    h("p", null, advice),
    error?.request_id &&
      error.code !== "cancelled" &&
      h("p", { class: "hint" }, "Request ", h("code", null, error.request_id)),
    h("div", null, h("button", { class: "button", on: { click: onAgain } }, "Ask again")),
  );
}

function workingText(state) {
  const names = state.agents
    .filter((agent) => agent.isWorking && agent.name !== "synthesis")
    .map((agent) => agentName(agent.name));
  const phase = phaseOf(state);
  if (phase !== "working" || names.length === 0) return phaseText(phase);
  return `${listText(names)} ${names.length === 1 ? "is" : "are"} at work`;
}

export function answerSection(turnId, onAgain) {
  const phase = h("p", { class: "answer-phase" });
  const draft = h("div", { class: "answer md" });
  const note = h("p", { class: "hint answer-note" });
  const element = h(
    "section",
    { class: "turn-part answer-card card", "aria-label": "Answer", data: { part: "answer" } },
    phase,
    draft,
    note,
  );
  const stream = pacedMarkdown(draft, { headingLevel: HEADING_LEVEL });
  let shown = null; // the result or the error that stands there

  function showEnd(state) {
    const end = state.result ?? state.error;
    if (shown === end) return;
    shown = end;
    stream.cancel();
    phase.hidden = true;
    element.dataset.state = state.status;
    if (state.status === "failed") return replace(draft, failure(state.error, onAgain));
    replace(draft, finished(turnId, state.result));
    setText(note, basisText(state.result));
    note.hidden = note.textContent === "";
  }
  function update(state) {
    if (state.status === "completed" || state.status === "failed") return showEnd(state);
    setText(phase, workingText(state));
    stream.update(state.draft);
  }
  note.hidden = true;
  element.dataset.state = "open";
  return { element, update };
}
