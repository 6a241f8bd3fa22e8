// SPDX-License-Identifier: Apache-2.0
// What an answer is made of, as elements: text, thinking, calls of tools, questions. A view of a part
// has `element` and update(part), which changes as little as possible: parts grow by the frame.

import { h, replace, setText } from "../lib/dom.js";
import { duration } from "../lib/format.js";
import { icon } from "../lib/icons.js";
import { pacedMarkdown } from "../lib/markdown.js";
import { argsLine, decisionWords, outcomeWords, prettyValue, resultLine } from "./words.js";

function textView() {
  const element = h("div", { class: "md" });
  const stream = pacedMarkdown(element);
  return { element, update: ({ text }) => stream.update(text) };
}

function thinkingView() {
  const body = h("div", { class: "thinking-text" });
  const element = h("details", { class: "thinking" }, h("summary", null, "Thinking"), body);
  return { element, update: ({ text }) => setText(body, text) };
}

function saidView() {
  const body = h("p", { class: "said-text" });
  const element = h("div", { class: "said said-inside" }, h("span", { class: "visually-hidden" }, "You: "), body);
  return { element, update: ({ text }) => setText(body, text ?? "…") };
}

function questionView() {
  const question = h("p");
  const outcome = h("p", { class: "hint" });
  const element = h("div", { class: "asked" }, question, outcome);
  return {
    element,
    update(part) {
      setText(question, part.question);
      setText(outcome, part.outcome === null ? "Waits for an answer" : outcomeWords(part.outcome));
    },
  };
}

const toolStates = {
  running: { label: "running", icon: null, kind: "accent" },
  waiting: { label: "waits for you", icon: "warning", kind: "warn" },
  done: { label: "done", icon: "check", kind: "good" },
  failed: { label: "failed", icon: "cross", kind: "bad" },
};

function toolState(part) {
  if (part.state !== "ended") return toolStates[part.state];
  return part.ok ? toolStates.done : toolStates.failed;
}

/** Bodies are made when somebody looks: a result may be long. */
class ToolView {
  #part = null;
  #clientId;

  constructor({ clientId }) {
    this.#clientId = clientId;
    this.badge = h("span", { class: "badge" });
    this.name = h("code", { class: "tool-name" });
    this.line = h("span", { class: "tool-line" });
    this.took = h("span", { class: "tool-took" });
    this.progressText = h("span");
    this.bar = h("progress", { class: "tool-bar", max: 100, "aria-label": "How far it is" });
    this.progress = h("div", { class: "tool-progress", hidden: true }, this.bar, this.progressText);
    this.body = h("div", { class: "tool-body" });
    this.details = h(
      "details",
      { class: "tool", on: { toggle: () => this.#drawBody() } },
      h("summary", null, this.badge, this.name, this.line, this.took),
      this.body,
    );
    this.element = h("div", { class: "tool-wrap" }, this.details, this.progress);
  }

  update(part) {
    const { label, icon: name, kind } = toolState(part);
    const hadState = this.#part ? toolState(this.#part).label : null;
    this.#part = part;
    setText(this.name, part.name);
    setText(this.line, part.state === "ended" && part.ok ? resultLine(part.result) || argsLine(part.args) : argsLine(part.args));
    setText(this.took, part.durationMs === null || part.durationMs === undefined ? "" : duration(part.durationMs));
    if (hadState !== label) {
      this.badge.className = `badge badge-${kind}`;
      replace(this.badge, name ? icon(name) : h("span", { class: "badge-dot", "aria-hidden": "true" }), label);
    }
    this.#drawProgress(part.state === "running" ? part.progress : null);
    this.#drawBody();
  }

  #drawProgress(progress) {
    this.progress.hidden = progress === null || progress === undefined;
    if (this.progress.hidden) return;
    setText(this.progressText, progress.message);
    if (progress.percent === null) this.bar.removeAttribute("value");
    else this.bar.value = progress.percent;
  }

  #drawBody() {
    if (!this.details.open) return;
    const { args, result, ok, decision } = this.#part;
    const section = (title, value) => [
      h("p", { class: "tool-title" }, title),
      h("pre", { class: "tool-value", tabindex: 0 }, prettyValue(value)),
    ];
    replace(
      this.body,
      decision && h("p", { class: "hint" }, decisionWords(decision, this.#clientId)),
      args !== null && args !== undefined && section("Called with", args),
      result !== null && result !== undefined && section(ok === false ? "What went wrong" : "Result", result),
      (result === null || result === undefined) &&
        h("p", { class: "hint" }, this.#part.state === "ended" ? "Its result is kept no more." : "It has no result yet."),
    );
  }
}

const views = {
  text: textView,
  thinking: thinkingView,
  said: saidView,
  question: questionView,
  tool: (options) => new ToolView(options),
};

/** Three dots: there will be more. */
export function workingNode(label) {
  const dots = Array.from({ length: 3 }, () => h("span", { class: "working-dot" }));
  return h("p", { class: "working" }, dots, h("span", { class: "visually-hidden" }, label));
}

/** All parts of one answer, in their order. */
export class PartsView {
  #options;
  #views = []; // {kind, id, view, part}

  constructor(options = {}) {
    this.#options = options;
    this.element = h("div", { class: "parts" });
  }

  update(parts) {
    for (const [i, part] of parts.entries()) this.#updateOne(i, part);
    for (const { view } of this.#views.splice(parts.length)) view.element.remove();
  }

  #updateOne(i, part) {
    let known = this.#views[i];
    if (known && (known.kind !== part.kind || known.id !== part.id)) {
      for (const { view } of this.#views.splice(i)) view.element.remove();
      known = undefined;
    }
    if (!known) {
      known = { kind: part.kind, id: part.id, view: views[part.kind](this.#options), part: null };
      this.#views.push(known);
      this.element.append(known.view.element);
    }
    if (known.part === part) return;
    known.part = part;
    known.view.update(part);
  }
}
