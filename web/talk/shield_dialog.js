// SPDX-License-Identifier: Apache-2.0
// The Privacy Shield asks: what was found, what would be sent, and what shall become of it.

import { openDialog } from "../lib/dialog.js";
import { h, newId, setText } from "../lib/dom.js";
import { clock } from "../lib/format.js";
import { createCountdown } from "./countdown.js";
import { alignRedacted, countFindings, kindWords, sourceWords } from "./words.js";

function findingList(findings) {
  return h(
    "ul",
    { class: "found" },
    countFindings(findings).map(({ category, n, sources }) =>
      h(
        "li",
        { class: "found-kind" },
        h("span", { class: "badge badge-warn" }, kindWords(category, n)),
        h("span", { class: "hint" }, `found by ${sources.map(sourceWords).join(" and ")}`),
      ),
    ),
  );
}

/** Both texts, with what differs marked; as they are where they do not fit together. */
function comparison(original, redacted) {
  const pieces = original === null ? null : alignRedacted(original, redacted);
  const left = pieces
    ? pieces.map((piece) => (piece.same === undefined ? h("mark", { class: "private" }, piece.original) : piece.same))
    : (original ?? "");
  const right = pieces
    ? pieces.map((piece) => (piece.same === undefined ? h("mark", { class: "placeholder" }, piece.token) : piece.same))
    : redacted;
  const column = (title, content) => {
    const id = newId("text");
    return h(
      "div",
      { class: "review-column" },
      h("h3", { id }, title),
      h("div", { class: "review-text", role: "group", "aria-labelledby": id, tabindex: 0 }, content),
    );
  };
  return h("div", { class: "review-texts" }, original !== null && column("What you wrote", left), column("Redacted", right));
}

const choices = [
  {
    choice: "redact",
    label: "Send redacted",
    kind: "primary",
    what: "The model gets placeholders; in its reply you see the values again.",
  },
  { choice: "allow", label: "Send as it is", kind: null, what: "Everything leaves as you wrote it." },
  { choice: "block", label: "Do not send", kind: null, what: "Nothing leaves, and this message is left out from now on." },
];

function bodyOf(ask) {
  return [
    h("p", null, `${ask.provider || "The Privacy Shield"} looked at it before anything left for a model, and found:`),
    findingList(ask.findings),
    comparison(ask.original, ask.redactedText),
    h(
      "dl",
      { class: "review-choices" },
      choices.map(({ label, what }) => [h("dt", null, label), h("dd", null, what)]),
    ),
  ];
}

/**
 * The open dialog. `decide(choice, isRemembered)` tells the server; close() is for when the stream says
 * that it was decided, here or elsewhere, or that the time is over.
 */
export class Review {
  #decide;
  #dialog;
  #countdown;
  #deadline = null;
  // The page's own region for what is said aside is not heard while a dialog is open.
  #hint = h("p", { class: "hint", role: "status" }, "Without an answer nothing is sent.");
  #problem = h("p", { class: "field-problem", role: "alert" });
  #remember = h("input", { id: newId("remember"), type: "checkbox" });
  #buttons;

  constructor({ ask, decide }) {
    this.#decide = decide;
    this.decisionId = ask.decisionId;
    this.#countdown = createCountdown({
      onWarn: () => setText(this.#hint, `Little time is left: at ${clock(this.#deadline, true)} nothing is sent.`),
      onOver: () => setText(this.#hint, "The time is over: nothing is sent."),
    });
    this.#countdown.element.hidden = true;
    this.#buttons = choices.map((each) => this.#button(each));
    this.#dialog = openDialog({ title: "This message has something private in it", class: "review", isSticky: true, body: bodyOf(ask) });
    this.#dialog.element.append(this.#foot());
    this.#buttons[0].focus();
    this.#dialog.element.scrollTop = 0; // where all of it scrolls, what was found comes first
  }

  #button({ choice, label, kind, what }) {
    const props = { class: ["button", kind && `button-${kind}`], title: what, data: { choice } };
    return h("button", { ...props, on: { click: () => this.#send(choice) } }, label);
  }

  #foot() {
    return h(
      "div",
      { class: "review-foot" },
      h("div", { class: "review-remember" }, this.#remember, h("label", { for: this.#remember.id }, "Remember for this conversation")),
      this.#problem,
      h("div", { class: "spread" }, this.#hint, this.#countdown.element),
      h("div", { class: "dialog-actions review-actions" }, this.#buttons),
    );
  }

  async #send(choice) {
    for (const button of this.#buttons) button.disabled = true;
    setText(this.#problem, "");
    try {
      await this.#decide(choice, choice !== "block" && this.#remember.checked);
    } catch (error) {
      // Decided elsewhere, or too late: the stream says which, and closes this.
      if (error.status === 404) return setText(this.#hint, "It was decided already.");
      setText(this.#problem, `That did not arrive: ${error.message}`);
      for (const button of this.#buttons) button.disabled = false;
    }
  }

  setDeadline(at) {
    if (at === this.#deadline) return;
    this.#deadline = at;
    this.#countdown.element.hidden = false;
    setText(this.#hint, `Without an answer nothing is sent, at ${clock(at, true)}.`);
    this.#countdown.setDeadline(at);
  }

  close() {
    this.#countdown.stop();
    this.#dialog.close();
  }
}
