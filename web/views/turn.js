// SPDX-License-Identifier: Apache-2.0
// One turn, while it runs and afterwards: the answer, the fact sheet, the checks, the agents, the
// steps. Everything is drawn from one state, at most once a frame.

import { h, replace } from "../lib/dom.js";
import { perFrame } from "../lib/frame.js";
import { once } from "../lib/once.js";
import { serverNow } from "../lib/server_clock.js";
import { answerSection } from "../turn/answer.js";
import { composer } from "../turn/composer.js";
import { FactSheet } from "../turn/facts.js";
import { followTurn } from "../turn/follow.js";
import { checksSection } from "../turn/gates.js";
import { costNote, questionOf, TurnHead } from "../turn/head.js";
import { lanesSection } from "../turn/lanes.js";
import { emptyState, isOver, phaseOf } from "../turn/state.js";
import { stepsSection } from "../turn/waterfall.js";
import { phaseText } from "../turn/words.js";

const TICK_MS = 250; // how often a bar that grows is drawn when nothing else happens
const MAX_MESSAGES = 20; // of the conversation that goes with a follow-up

/** A turn of these messages, and to its page. */
async function put(app, messages, options) {
  const turn = await app.weir.turns.create({ messages }, options);
  app.go(`/turns/${turn.id}`);
}

/** A question alone can be changed before it is asked again; a conversation would be lost on the way. */
function asksAgain(app, getTurn) {
  const again = once((messages, options) => put(app, messages, options));
  return () => {
    const { messages } = getTurn();
    if (messages.length === 1) return app.go(`/ask?q=${encodeURIComponent(questionOf(getTurn()))}`);
    again(messages).catch((error) => app.toast(`It was not asked: ${error.message}`, "error"));
  };
}

function followUp(app, getTurn, getState) {
  const form = composer({
    label: "Ask a follow-up",
    placeholder: "And on weekends?",
    button: "Ask",
    ask: (text, options) => {
      const messages = [
        ...getTurn().messages,
        { role: "assistant", content: getState().result.answer },
      ].slice(-MAX_MESSAGES);
      return put(app, [...messages, { role: "user", content: text }], options);
    },
  });
  form.element.hidden = true;
  form.element.classList.add("turn-part");
  return form.element;
}

/** The phase is said aloud when it changes, and nothing else is: thoughts would drown everything. */
function announcer(app) {
  let last = null;
  return (state) => {
    const phase = phaseOf(state);
    if (last !== null && phase !== last) app.announce(phaseText(phase));
    last = phase;
  };
}

function lostNotice(error, onAgain) {
  return h(
    "div",
    { class: "notice notice-bad stack turn-lost", role: "alert" },
    h("p", null, `The turn cannot be followed at the moment: ${error.message}`),
    h("div", null, h("button", { class: "button", on: { click: onAgain } }, "Try again")),
  );
}

function missingTurn() {
  return h(
    "div",
    { class: "empty" },
    h("h1", null, "There is no such turn"),
    h("p", null, "Its address may be cut off, or it is somebody else's."),
    h("div", { class: "empty-actions" }, h("a", { class: "button", href: "#/turns" }, "All turns")),
  );
}

async function cancelTurn(app, id, button) {
  button.disabled = true;
  try {
    await app.weir.turns.cancel(id);
    app.announce("The turn is being stopped");
  } catch (error) {
    button.disabled = false;
    if (error.status !== 409) app.toast(`It could not be stopped: ${error.message}`, "error");
  }
}

/** The parts of the page, drawn from the state. */
function makePage(root, id, app) {
  const page = { state: emptyState, turn: null, wanted: null };
  const parts = {
    head: new TurnHead(app, id, () => cancelTurn(app, id, parts.head.cancel)),
    notice: h("div"),
    cost: costNote(),
    answer: answerSection(
      id,
      asksAgain(app, () => page.turn),
    ),
    facts: new FactSheet(app, id),
    checks: checksSection(),
    lanes: lanesSection(),
    steps: stepsSection(),
    follow: followUp(
      app,
      () => page.turn,
      () => page.state,
    ),
  };
  const { notice, head: top, cost, answer, facts, checks, lanes, steps, follow } = parts;
  root.append(
    top.element,
    notice,
    cost.element,
    answer.element,
    follow,
    facts.element,
    checks.element,
    lanes.element,
    steps.element,
  );

  const say = announcer(app);
  page.draw = perFrame(() => {
    const { state, turn } = page;
    if (turn) say(state);
    // Their clocks are known within a second or two, and no bar ends before it begins.
    const now = Math.max(serverNow(), state.lastAt ?? 0);
    top.update(state, turn, now);
    cost.update(state.costWarning, isOver(state));
    answer.update(state);
    lanes.update(state.agents);
    checks.update(state.findings, isOver(state));
    if (state.result) facts.update(state.result, state.findings);
    steps.update(state, now);
    follow.hidden = state.status !== "completed";
    if (page.wanted && state.result) facts.select(page.wanted);
    if (state.result) page.wanted = null;
  });
  return Object.assign(page, { notice, facts });
}

export const view = {
  title: "Turn",
  render(root, params, app) {
    const { id } = params;
    const key = `turn ${id}`;
    const page = makePage(root, id, app);
    const select = ({ rest = [] }) => {
      page.wanted = rest[0] === "facts" && rest[1] ? rest[1] : null;
      page.draw();
    };
    const watch = followTurn(app.weir, id, {
      onState(state, turn) {
        Object.assign(page, { state, turn });
        page.draw();
      },
      onConnection: (state) => app.connection.report(key, state),
      onLost(error) {
        app.connection.forget(key);
        if (error.status === 404) return replace(root, missingTurn());
        replace(
          page.notice,
          lostNotice(error, () => (replace(page.notice), watch.resume())),
        );
      },
    });
    // A link to where one is already changes no address.
    root.addEventListener("click", ({ target }) => {
      const { hash } = target.closest("a.number") ?? {};
      if (hash === location.hash) app.go(hash);
    });
    const ticker = setInterval(() => !isOver(page.state) && page.draw(), TICK_MS);
    select(params);
    page.draw();
    return {
      update: select,
      cleanup() {
        clearInterval(ticker);
        page.draw.cancel();
        watch.stop();
        page.facts.stop();
        app.connection.forget(key);
      },
    };
  },
};
