// SPDX-License-Identifier: Apache-2.0
// How an answer came about: every step of a turn with its times, its cost and what went in and out.

import { h, replace, setText } from "../lib/dom.js";
import { capitalised, count, dateTime, duration } from "../lib/format.js";
import { virtualList } from "../lib/list.js";
import { address } from "../lib/router.js";
import { jsonView } from "../trace/json_view.js";
import { barOf, dollars, matches, shortNote, spansOf, verdictKind, visible } from "../trace/spans.js";

const ROW_PX = 36;
const REFRESH_MS = 2000; // while the turn runs
const INDENT_PX = 16;

const lasted = (span) => (span.start === null || span.end === null ? null : span.end - span.start);
const isRunning = (trace) => trace.status === "queued" || trace.status === "running";

function statusBadge(status) {
  const kind =
    { completed: "good", failed: "bad", cut: "bad", running: "accent", queued: "" }[status] ?? verdictKind(status);
  return h("span", { class: ["badge", kind && `badge-${kind}`] }, status);
}

/** What went well is said quietly. */
function statusMark(status) {
  return verdictKind(status) === "good" ? h("span", { class: "trace-good" }, status) : statusBadge(status);
}

const titleOf = (span) => (span.kind === "finding" || span.kind === "call" ? span.name : capitalised(span.name));

function questionOf(trace) {
  const messages = trace.steps[0]?.input?.messages ?? [];
  const content = messages.findLast((message) => message.role === "user")?.content;
  return typeof content === "string" ? content : "";
}

function factsOf(span) {
  const times =
    span.start === null
      ? []
      : [
          ["begins", `${duration(span.start)} into the turn`],
          ["lasts", span.end === null ? "still" : duration(lasted(span))],
        ];
  const cost = span.costUsd === null ? [] : [["cost", dollars(span.costUsd)]];
  return h(
    "dl",
    { class: "facts trace-facts" },
    [...times, ...cost, ...span.facts]
      .filter(([, value]) => value !== "")
      .map(([name, value]) => [h("dt", null, name), h("dd", null, value)]),
  );
}

class TracePage {
  constructor(root, app, id) {
    Object.assign(this, { root, app, id, spans: [], shown: [], closed: new Set(), word: "", selected: "turn" });
    this.question = h("p", { class: "trace-question" });
    this.head = h("div", { class: "row" });
    this.detail = h("section", { class: "card stack trace-detail", "aria-label": "The chosen span", tabindex: -1 });
    this.list = virtualList({
      label: "Spans",
      rowHeight: ROW_PX,
      renderRow: (index) => this.row(this.shown[index]),
      class: "trace-list",
    });
    this.list.element.addEventListener("keydown", (event) => this.onKey(event));
    this.total = h("p", { class: "muted", role: "status" });
  }

  place() {
    const search = h("input", {
      class: "input trace-search",
      type: "search",
      placeholder: "Search spans",
      "aria-label": "Search spans",
      autocomplete: "off",
      on: { input: (event) => this.search(event.target.value.trim()) },
    });
    const fold = (label, act) =>
      h("button", { class: "button button-small", on: { click: act } }, label);
    const tools = h(
      "div",
      { class: "row trace-tools" },
      search,
      this.total,
      fold("Open all", () => this.fold(new Set())),
      fold("Close all", () =>
        this.fold(new Set(this.spans.filter((span) => span.depth > 0 && span.hasChildren).map((span) => span.id))),
      ),
    );
    const head = h(
      "div",
      { class: "trace-columns", "aria-hidden": "true" },
      h("span", null, "Span"),
      h("span", { class: "trace-scale" }, h("span", null, "0"), (this.scaleEnd = h("span"))),
      h("span", { class: "num" }, "Lasts"),
      h("span", { class: "num trace-cost" }, "Cost"),
    );
    replace(
      this.root,
      h("p", { class: "back" }, h("a", { href: address(["turns", this.id]) }, "The turn")),
      h("h1", null, "Trace"),
      this.question,
      this.head,
      h(
        "div",
        { class: "trace-panes" },
        h("section", { class: "card trace-tree", "aria-label": "Waterfall" }, tools, head, this.list.element),
        this.detail,
      ),
    );
  }

  /** A new trace, or the same with more in it. */
  take(trace) {
    this.spans = spansOf(trace);
    this.totalMs = Math.max(...this.spans.map((span) => span.end ?? span.start ?? 0), 1);
    const { costUsd } = this.spans[0];
    setText(this.question, questionOf(trace));
    setText(this.scaleEnd, duration(this.totalMs));
    replace(
      this.head,
      statusBadge(trace.status),
      h("span", { class: "muted" }, dateTime(trace.created_at, true)),
      h("span", null, duration(this.totalMs)),
      h("span", null, dollars(costUsd)),
      h("span", { class: "muted" }, count(trace.steps.length, "step")),
    );
    this.draw();
    this.show(this.spans.find((span) => span.id === this.selected) ?? this.spans[0]);
  }

  draw() {
    const found = matches(this.spans, this.word);
    this.shown = visible(this.spans, this.closed, found);
    this.list.update(this.shown.length);
    setText(
      this.total,
      this.word ? `${this.shown.length} of ${count(this.spans.length, "span")}` : count(this.spans.length, "span"),
    );
  }

  row(span) {
    const isTimed = span.start !== null;
    const isChosen = span.id === this.selected;
    const isOpen = !this.closed.has(span.id);
    const hidden = [lasted(span) !== null && duration(lasted(span)), span.costUsd > 0 && dollars(span.costUsd)]
      .filter(Boolean)
      .map((text) => `, ${text}`);
    const name = h(
      "button",
      {
        class: "trace-name",
        "aria-expanded": span.hasChildren ? String(isOpen) : null,
        "aria-current": isChosen ? "true" : null,
        style: { paddingLeft: `${span.depth * INDENT_PX}px` },
        on: { click: () => this.choose(span) },
      },
      h("span", {
        class: ["trace-fold", span.hasChildren && (isOpen ? "is-open" : "is-closed")],
        "aria-hidden": "true",
        on: { click: (event) => this.onFold(event, span) },
      }),
      h("span", { class: `trace-label trace-${span.kind}` }, titleOf(span)),
      span.depth > 0 && span.status && statusMark(span.status),
      span.note && h("span", { class: "trace-note" }, shortNote(span)),
      h("span", { class: "visually-hidden" }, hidden),
    );
    return h(
      "div",
      { class: ["trace-row", isChosen && "is-chosen", !isTimed && "trace-row-wide"] },
      name,
      isTimed && this.times(span),
    );
  }

  times(span) {
    const bar = barOf(span, this.totalMs);
    return [
      h(
        "span",
        { class: "trace-track", "aria-hidden": "true" },
        bar &&
          h("span", {
            class: `trace-bar trace-bar-${span.kind}`,
            style: { left: `${bar.left * 100}%`, width: `${bar.width * 100}%` },
          }),
      ),
      h(
        "span",
        { class: "num", "aria-hidden": "true" },
        lasted(span) === null ? "" : duration(lasted(span)),
      ),
      h("span", { class: "num trace-cost", "aria-hidden": "true" }, span.costUsd > 0 ? dollars(span.costUsd) : ""),
    ];
  }

  onFold(event, span) {
    if (!span.hasChildren) return;
    event.stopPropagation();
    this.toggle(span);
  }

  toggle(span, isOpen = this.closed.has(span.id)) {
    const closed = new Set(this.closed);
    if (isOpen) closed.delete(span.id);
    else closed.add(span.id);
    this.fold(closed);
  }

  fold(closed) {
    this.closed = closed;
    this.draw();
  }

  /** As in other trees: right opens, left closes or leads to what it is part of. */
  onKey(event) {
    if (event.key !== "ArrowRight" && event.key !== "ArrowLeft") return;
    const index = Number(event.target.closest(".vlist-row")?.dataset.index);
    const span = this.shown[index];
    if (!span) return;
    event.preventDefault();
    const isOpen = span.hasChildren && !this.closed.has(span.id);
    if (event.key === "ArrowRight" && span.hasChildren && !isOpen) return this.toggle(span, true);
    if (event.key === "ArrowLeft" && isOpen) return this.toggle(span, false);
  }

  search(word) {
    this.word = word;
    this.draw();
  }

  choose(span) {
    this.show(span);
    this.list.refresh();
    if (this.detail.getBoundingClientRect().top > window.innerHeight * 0.8)
      this.detail.scrollIntoView({ block: "start" });
    this.app.announce(`${span.name} chosen; its details are behind the list`);
  }

  show(span) {
    this.selected = span.id;
    // While the turn runs it is asked for again and again; what somebody has opened stays open.
    const content = JSON.stringify([span.id, span.start, span.end, span.note, span.facts, span.parts]);
    if (content === this.detailed) return;
    this.detailed = content;
    const parts = Object.entries(span.parts).filter(([, value]) => value !== undefined && value !== null);
    replace(
      this.detail,
      h("h2", null, titleOf(span)),
      span.note && h("p", null, span.note),
      factsOf(span),
      parts.map(([name, value]) => jsonView(name, value)),
    );
  }

  async load() {
    const trace = await this.app.weir.turns.trace(this.id, { signal: this.app.signal });
    this.take(trace);
    if (isRunning(trace)) this.timer = setTimeout(() => this.reload(), REFRESH_MS);
  }

  async reload() {
    try {
      await this.load();
    } catch {
      if (this.app.signal.aborted) return;
      this.timer = setTimeout(() => this.reload(), REFRESH_MS);
    }
  }

  close() {
    clearTimeout(this.timer);
    this.list.destroy();
  }
}

export const view = {
  title: "Trace",
  async render(root, { id }, app) {
    const page = new TracePage(root, app, id);
    page.place();
    await page.load();
    return () => page.close();
  },
};
