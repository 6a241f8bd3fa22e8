// SPDX-License-Identifier: Apache-2.0
// What waits for an answer, as cards: may a tool, and which one is meant. They come and go by the
// session's events, so a decision in one window closes the card in all others.

import { h, newId, replace, setText } from "../lib/dom.js";
import { clock } from "../lib/format.js";
import { icon } from "../lib/icons.js";
import { createCountdown } from "./countdown.js";
import { plainly, prettyValue } from "./words.js";

const MAX_REASON_CHARS = 1000;

/** Members of an object line by line; anything else as it is. */
function argsNode(args) {
  if (args === null || typeof args !== "object" || Array.isArray(args))
    return h("pre", { class: "tool-value", tabindex: 0 }, plainly(prettyValue(args)));
  const value = (each) =>
    typeof each === "string"
      ? h("dd", { class: "request-arg" }, plainly(each))
      : h("dd", null, h("pre", { class: "tool-value" }, plainly(prettyValue(each))));
  return h(
    "dl",
    { class: "facts request-args" },
    Object.entries(args).map(([name, each]) => [h("dt", null, plainly(name)), value(each)]),
  );
}

class Card {
  constructor({ title, titleNodes = title, kind, ask, app, overText }) {
    const titleId = newId("ask");
    this.app = app;
    this.ask = ask;
    this.overText = overText;
    this.countdown = createCountdown({
      onWarn: (seconds) => app.announce(`${seconds} seconds left: ${title}`),
      onOver: () => setText(this.hint, "The time is over."),
    });
    this.hint = h("p", { class: "hint request-hint" });
    this.problem = h("p", { class: "field-problem", role: "alert" });
    this.body = h("div", { class: "stack" });
    this.titleNode = h(
      "h2",
      { id: titleId, class: "request-title" },
      icon(kind === "approval" ? "warning" : "help"),
      h("span", null, titleNodes),
    );
    this.element = h(
      "section",
      { class: ["card", "request", `request-${kind}`], tabindex: -1, "aria-labelledby": titleId, data: { ask: ask.id } },
      h("div", { class: "request-head" }, this.titleNode, this.countdown.element),
      this.body,
      this.problem,
      this.hint,
    );
    this.update(ask);
  }

  update(ask) {
    this.ask = ask;
    this.countdown.element.hidden = ask.deadlineAt === null;
    this.countdown.setDeadline(ask.deadlineAt);
    setText(this.hint, ask.deadlineAt === null ? "" : `${this.overText} at ${clock(ask.deadlineAt, true)}.`);
  }

  /** One answer at a time; when somebody was quicker, the event that says so is on its way. */
  async send(act) {
    // A control that is disabled drops the focus on the floor.
    if (this.element.contains(document.activeElement)) this.element.focus();
    for (const control of this.controls()) control.disabled = true;
    setText(this.problem, "");
    try {
      await act();
      setText(this.hint, "Sent.");
    } catch (error) {
      if (error.status === 409 || error.status === 404) return setText(this.problem, `Too late: ${error.message}`);
      setText(this.problem, `That did not arrive: ${error.message}`);
      for (const control of this.controls()) control.disabled = false;
    }
  }

  controls() {
    return this.element.querySelectorAll("button, input, textarea");
  }

  close() {
    this.countdown.stop();
    this.element.remove();
  }
}

class ApprovalCard extends Card {
  constructor(ask, app) {
    super({
      title: `May ${ask.toolName} do this?`,
      titleNodes: ["May ", h("code", null, ask.toolName), " do this?"],
      kind: "approval",
      ask,
      app,
      overText: "Without an answer it is denied",
    });
    const { sessions } = app.weir;
    const allow = (scope, label, title, kind) =>
      h(
        "button",
        {
          class: ["button", kind && `button-${kind}`],
          title,
          data: { scope },
          on: { click: () => this.send(() => sessions.approve(ask.id, scope)) },
        },
        label,
      );
    this.actions = h(
      "div",
      { class: "request-actions" },
      allow("once", "Allow once", "This time only", "primary"),
      allow("exact-args", "Allow this call", "Whenever it is called with the same arguments, in this session"),
      allow("any-args", "Allow always", `Whatever ${ask.toolName} is called with, in this session`),
      h(
        "button",
        { class: "button request-deny", "aria-expanded": "false", on: { click: () => this.askWhy(true) } },
        "Deny…",
      ),
    );
    this.why = this.whyForm();
    this.why.hidden = true;
    this.body.append(...[ask.reason && h("p", null, ask.reason), argsNode(ask.args), this.actions, this.why].filter(Boolean));
  }

  whyForm() {
    const id = newId("why");
    this.reason = h("input", {
      id,
      class: "input",
      maxlength: MAX_REASON_CHARS,
      placeholder: "Optional; the assistant is told",
      autocomplete: "off",
    });
    const deny = (event) => {
      event.preventDefault();
      this.send(() => this.app.weir.sessions.deny(this.ask.id, this.reason.value.trim() || undefined));
    };
    return h(
      "form",
      { class: "stack", on: { submit: deny } },
      h("label", { class: "label", for: id }, "Why not?"),
      this.reason,
      h(
        "div",
        { class: "request-actions" },
        h("button", { type: "submit", class: "button button-danger" }, "Deny"),
        h("button", { class: "button", on: { click: () => this.askWhy(false) } }, "Back"),
      ),
    );
  }

  askWhy(isAsking) {
    this.why.hidden = !isAsking;
    this.actions.hidden = isAsking;
    if (isAsking) this.reason.focus();
    else this.actions.querySelector(".request-deny").focus();
  }
}

class QuestionCard extends Card {
  constructor(ask, app) {
    super({
      title: "A question for you",
      kind: "question",
      ask,
      app,
      overText: ask.fallback === null ? "Without an answer it goes on" : `Without an answer “${ask.fallback}” counts`,
    });
    const id = newId("answer");
    const input = h("input", {
      id,
      class: "input",
      autocomplete: "off",
      placeholder: ask.options.length > 0 ? "Something else" : "Your answer",
    });
    const answer = (text) => this.send(() => app.weir.sessions.answer(ask.id, text));
    const submit = (event) => {
      event.preventDefault();
      if (input.value.trim()) answer(input.value.trim());
    };
    const option = (text) =>
      h(
        "button",
        { class: ["button", text === ask.fallback && "request-default"], on: { click: () => answer(text) } },
        text,
        text === ask.fallback && h("span", { class: "hint" }, " default"),
      );
    replace(
      this.body,
      h("p", { class: "request-question" }, ask.question),
      ask.options.length > 0 && h("div", { class: "request-actions", role: "group", "aria-label": "Answers" }, ask.options.map(option)),
      h(
        "form",
        { class: "request-answer", on: { submit } },
        h("label", { class: "visually-hidden", for: id }, "Your answer"),
        input,
        h("button", { type: "submit", class: "button button-primary" }, "Answer"),
        h(
          "button",
          { class: "button", on: { click: () => this.send(() => app.weir.sessions.dismiss(ask.id)) } },
          "No answer",
        ),
      ),
    );
  }
}

/** All cards of a session. update(asks) shows those and no others. */
export class AskCards {
  #cards = new Map();
  #app;
  #whereTo;

  /** `whereTo()`: where the focus goes when a card that had it closes. */
  constructor(app, whereTo) {
    this.#app = app;
    this.#whereTo = whereTo;
    this.element = h("div", { class: "asks", role: "region", "aria-label": "What waits for your answer" });
    this.element.hidden = true;
  }

  update(asks) {
    const ids = new Set(asks.map((ask) => ask.id));
    for (const [id, card] of this.#cards) if (!ids.has(id)) this.#close(id, card);
    for (const ask of asks) this.#show(ask);
    this.element.hidden = this.#cards.size === 0;
  }

  #show(ask) {
    const known = this.#cards.get(ask.id);
    if (known) return known.ask === ask ? null : known.update(ask);
    const card = ask.kind === "approval" ? new ApprovalCard(ask, this.#app) : new QuestionCard(ask, this.#app);
    this.#cards.set(ask.id, card);
    this.element.append(card.element);
    this.#app.announce(ask.kind === "approval" ? `Approval needed: may ${ask.toolName} do this?` : `A question for you: ${ask.question}`);
  }

  #close(id, card) {
    const hadFocus = card.element.contains(document.activeElement);
    this.#cards.delete(id);
    card.close();
    if (hadFocus) (this.element.querySelector("button") ?? this.#whereTo())?.focus();
  }

  destroy() {
    for (const card of this.#cards.values()) card.close();
    this.#cards.clear();
  }
}
