// SPDX-License-Identifier: Apache-2.0
// Agents in lanes: web/turn/lanes.js. What stands there is what was thought, in a bounded number of pieces.

import assert from "node:assert/strict";
import { test } from "node:test";

import { lanesSection } from "../../../web/turn/lanes.js";
import { emptyState, reduce } from "../../../web/turn/state.js";
import { installDocument } from "../harness/document.mjs";

installDocument();

const textOf = (section) =>
  section.element
    .withClass("lane-piece")
    .map((piece) => piece.textContent)
    .join("");

/** A section and a function that sends events through the state into it. */
function watched() {
  const section = lanesSection();
  let state = emptyState;
  const send = (type, data) => {
    state = reduce(state, { id: state.lastId + 1, type, data });
    section.update(state.agents);
    return state;
  };
  return { section, send };
}

function randomly(seed) {
  let x = seed;
  return (n) => {
    x = (x * 1103515245 + 12345) % 2147483648;
    return Math.floor((x / 2147483648) * n);
  };
}

test("a lane holds exactly what was thought, however it was cut", () => {
  const { section, send } = watched();
  const random = randomly(11);
  const words = ["a ", "word\n", "x".repeat(700), " ", "\n\n", "é😀", "**7** bpm, ", "y".repeat(4000)];
  let all = "";
  send("agent.started", { agent: "data_science", question: "q" });
  for (let i = 0; i < 300; i++) {
    const delta = words[random(i % 40 === 0 ? 8 : 7)];
    all += delta;
    send("agent.thought", { agent: "data_science", delta });
    if (all.length < 60_000) assert.equal(textOf(section), all);
  }
});

test("the page holds a bounded number of pieces, and all of them when somebody asks", () => {
  const { section, send } = watched();
  let all = "";
  for (let i = 0; i < 400; i++) {
    const delta = `${i} ${"word ".repeat(100)}`;
    all += delta;
    send("agent.thought", { agent: "a", delta });
  }
  const pieces = section.element.withClass("lane-piece");
  assert.ok(pieces.length <= 64 && pieces.every((piece) => piece.textContent.length <= 1500));
  assert.ok(all.endsWith(textOf(section)), "the end is what is there");
  const [button] = section.element.withClass("lane-cut");
  assert.match(button.textContent, /^Show all, [\d,]+ characters more$/);
  button.listeners.get("click")();
  assert.equal(textOf(section), all);
  send("agent.thought", { agent: "a", delta: "more" });
  assert.equal(textOf(section), `${all}more`);
});

test("who starts anew begins with nothing, and the writer has no lane", () => {
  const { section, send } = watched();
  send("agent.started", { agent: "a", question: "q" });
  send("agent.thought", { agent: "a", delta: "old" });
  send("agent.started", { agent: "a", question: "q" });
  assert.equal(textOf(section), "");
  send("agent.thought", { agent: "a", delta: "new" });
  assert.equal(textOf(section), "new");
  send("agent.started", { agent: "synthesis", question: "q" });
  send("agent.thought", { agent: "a", channel: "synthesis", delta: "answer" });
  assert.equal(section.element.withClass("lane").length, 1);
  assert.equal(textOf(section), "new");
});
