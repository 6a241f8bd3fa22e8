// SPDX-License-Identifier: Apache-2.0
// Agents side by side, each with what it thinks as it comes. A lane adds what is new to its last
// piece of text and never lays out the others again; of a very long text only the end is on the page
// until somebody asks for all of it.

import { h, replace, setText } from "../lib/dom.js";
import { duration } from "../lib/format.js";
import { icon } from "../lib/icons.js";
import { usd } from "./parts.js";
import { agentName } from "./words.js";

const PIECE_CHARS = 1500; // and so much is laid out anew when a word comes
const MAX_PIECES = 64; // of one lane on the page

/** Where a piece may end: behind a line or at least a word, if there is one. */
function endOf(text) {
  if (text.length <= PIECE_CHARS) return text.length;
  const line = text.lastIndexOf("\n", PIECE_CHARS - 1);
  const word = line >= 0 ? line : text.lastIndexOf(" ", PIECE_CHARS - 1);
  return word >= 0 ? word + 1 : PIECE_CHARS;
}

/** Text that only grows, in pieces that stay as they are. */
function growingText() {
  const pieces = h("div");
  const cutNote = h("button", {
    class: "button button-small lane-cut",
    hidden: true,
    on: { click: showAll },
  });
  const element = h("div", { class: "lane-text" }, h("div", null, cutNote, pieces));
  let at = 0; // characters that were shown, those that are gone included
  let most = MAX_PIECES;
  let whole = { text: "", cutChars: 0 };

  /** What does not fit into the last piece is cut behind a line or a word of it, and goes on in others. */
  function append(text) {
    let rest = text;
    const last = pieces.lastChild?.firstChild;
    if (last && last.length + rest.length <= PIECE_CHARS) return last.appendData(rest);
    if (last) {
      rest = last.data + rest;
      pieces.lastChild.remove();
    }
    while (rest !== "") {
      const end = endOf(rest);
      pieces.append(h("div", { class: "lane-piece" }, rest.slice(0, end)));
      rest = rest.slice(end);
    }
    while (pieces.childNodes.length > most) pieces.firstChild.remove();
  }
  function drawNote() {
    const shown = [...pieces.childNodes].reduce((sum, piece) => sum + piece.firstChild.length, 0);
    const hidden = whole.text.length - shown;
    cutNote.hidden = hidden <= 0;
    if (hidden > 0) setText(cutNote, `Show all, ${hidden.toLocaleString("en")} characters more`);
  }
  function showAll() {
    most = Infinity;
    replace(pieces);
    append(whole.text);
    drawNote();
  }
  function update(agent, isFresh) {
    const end = agent.cutChars + agent.text.length;
    if (isFresh || end < at) {
      replace(pieces);
      at = 0;
    }
    whole = agent;
    if (end > at) append(agent.text.slice(Math.max(0, at - agent.cutChars)));
    at = end;
    if (pieces.childNodes.length >= MAX_PIECES) drawNote();
  }
  return { element, update };
}

function stateText(agent) {
  if (agent.isWorking) return "at work";
  if (agent.wasCut) return "stopped";
  if (agent.isSummary) return "summary";
  const parts = [
    agent.durationMs === null
      ? "done"
      : `done in ${agent.durationMs < 1 ? "under 1 ms" : duration(agent.durationMs)}`,
  ];
  if (agent.costUsd) parts.push(usd(agent.costUsd));
  return parts.join(", ");
}

function lane(name) {
  const title = agentName(name);
  const state = h("span", { class: "lane-state" });
  const question = h("p", { class: "lane-question" });
  const earlier = h("ul", { class: "lane-earlier", hidden: true });
  const text = growingText();
  text.element.setAttribute("role", "region");
  text.element.setAttribute("aria-label", `What the ${title.toLowerCase()} thinks`);
  text.element.tabIndex = 0;
  const element = h(
    "section",
    { class: "lane card", "aria-label": title, data: { agent: name } },
    h("header", { class: "lane-head" }, h("h3", null, title), state),
    question,
    earlier,
    text.element,
  );
  let last = null;

  function showState(agent) {
    element.dataset.state = agent.isWorking ? "working" : agent.wasCut ? "cut" : "done";
    replace(
      state,
      agent.isWorking
        ? h("span", { class: "pulse", "aria-hidden": "true" })
        : icon(agent.wasCut ? "cross" : "check"),
      stateText(agent),
    );
  }
  function update(agent) {
    if (agent === last) return;
    const isFresh = last !== null && agent.runs !== last.runs;
    if (!last || agent.isWorking !== last.isWorking || agent.durationMs !== last.durationMs) showState(agent);
    setText(question, agent.question);
    question.hidden = agent.question === "";
    earlier.hidden = agent.earlier.length === 0;
    if (!earlier.hidden)
      replace(
        earlier,
        agent.earlier.map((run) => h("li", null, run.summary || run.question)),
      );
    text.update(agent, isFresh);
    text.element.hidden = agent.text === "" && !agent.isWorking;
    last = agent;
  }
  return { element, update };
}

/** What the writer writes is the answer itself, and stands there. */
export function lanesSection() {
  const lanes = new Map();
  const grid = h("div", { class: "lanes" });
  const element = h(
    "section",
    { class: "turn-part", hidden: true, data: { part: "agents" } },
    h("h2", null, "Agents"),
    grid,
  );

  function update(agents) {
    for (const agent of agents) {
      if (agent.name === "synthesis") continue;
      if (!lanes.has(agent.name)) {
        lanes.set(agent.name, lane(agent.name));
        grid.append(lanes.get(agent.name).element);
      }
      lanes.get(agent.name).update(agent);
    }
    element.hidden = lanes.size === 0;
  }
  return { element, update };
}
