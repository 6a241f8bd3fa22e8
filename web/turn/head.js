// SPDX-License-Identifier: Apache-2.0
// The top of a turn: the question, how it stands, what it costs, and what one can do about it.

import { h, replace, setText } from "../lib/dom.js";
import { dateTime, duration, shorten } from "../lib/format.js";
import { icon } from "../lib/icons.js";
import { address } from "../lib/router.js";
import { usd } from "./parts.js";
import { isOver } from "./state.js";

const TITLE_CHARS = 60;
const LONG_CHARS = 240; // of a question that is no headline any more

const STATUS_BADGES = {
  queued: ["", "queued"],
  running: ["badge-accent", "running"],
  completed: ["badge-good", "completed"],
  failed: ["badge-bad", "failed"],
};

export const questionOf = (turn) => turn?.messages.at(-1)?.content ?? "";

/** What was said before the question, for those who want to see it. */
function conversation(messages) {
  const lines = messages.map(({ role, content }) =>
    h("p", null, h("strong", null, role === "user" ? "You: " : "Answer: "), content),
  );
  const summary = h("summary", null, `Earlier in this conversation (${messages.length})`);
  return h("details", { class: "turn-earlier" }, summary, lines);
}

function tookText(state, now) {
  const began = state.startedAt === null ? null : (state.endedAt ?? now) - state.startedAt;
  const took = state.result?.duration_ms ?? began;
  return took === null ? "" : took < 1 ? "under 1 ms" : duration(took);
}

export class TurnHead {
  #app;
  #shown = ""; // what its line says
  #turn = null;

  constructor(app, id, onCancel) {
    this.#app = app;
    this.title = h("h1", { class: "turn-question" }, "…");
    this.earlier = h("div");
    this.stand = h("p", { class: "turn-stand" });
    const small = { class: "button button-small", hidden: true, on: { click: onCancel } };
    this.cancel = h("button", small, icon("stop"), "Stop");
    const trace = h("a", { class: "button button-small", href: address(["turns", id, "trace"]) }, "Trace");
    const buttons = h("div", { class: "row" }, this.cancel, trace);
    const line = h("div", { class: "spread" }, this.stand, buttons);
    this.element = h("header", { class: "turn-head" }, this.earlier, this.title, line);
  }

  update(state, turn, now) {
    if (turn && !this.#turn) this.#showQuestion(turn);
    const took = tookText(state, now);
    const cost = state.result?.cost_usd ?? 0;
    this.cancel.hidden = isOver(state) || turn === null;
    const shown = [state.status, took, cost, turn?.created_at].join();
    if (shown === this.#shown) return;
    this.#shown = shown;
    const [kind, word] = STATUS_BADGES[state.status];
    const pulse = state.status === "running" && h("span", { class: "pulse", "aria-hidden": "true" });
    replace(
      this.stand,
      h("span", { class: ["badge", kind], data: { status: state.status } }, pulse, word),
      turn && h("span", null, dateTime(turn.created_at)),
      took && h("span", null, took),
      cost > 0 && h("span", null, usd(cost)),
    );
  }

  #showQuestion(turn) {
    const question = questionOf(turn);
    const before = turn.messages.slice(0, -1);
    this.#turn = turn;
    setText(this.title, question);
    this.#app.setTitle(shorten(question, TITLE_CHARS));
    const isLong = question.length > LONG_CHARS;
    this.title.classList.toggle("is-long", isLong);
    if (isLong) this.title.tabIndex = 0; // it scrolls, then
    if (before.length > 0) replace(this.earlier, conversation(before));
  }
}

export function costNote() {
  const props = { class: "notice notice-warn turn-part", role: "note", hidden: true, data: { part: "cost" } };
  const element = h("p", props);
  return {
    element,
    update(warning, isEnded) {
      element.hidden = !warning;
      if (!warning) return;
      const limit = usd(warning.thresholdUsd);
      const soFar = `This turn has cost ${usd(warning.costUsd)} so far, more than ${limit}.`;
      setText(
        element,
        isEnded
          ? `This turn has cost more than ${limit}.`
          : `${soFar} It goes on; stop it if that is too much.`,
      );
    },
  };
}
