// SPDX-License-Identifier: Apache-2.0
// What was asked, the newest first.

import { h, replace, set, setText } from "../lib/dom.js";
import { ago, count, dateTime, duration } from "../lib/format.js";
import { virtualList } from "../lib/list.js";
import { address } from "../lib/router.js";
import { isOver, TurnList } from "../lib/turn_list.js";

const PAGE = 100;
const BUSY_MS = 1500; // while a turn runs
const CALM_MS = 15000;
const MAX_ASKED = 10; // of the turns that run and are not on the first page, at once
const ROW_PX = 68;
const NARROW_ROW_PX = 96;
const narrow = window.matchMedia("(max-width: 760px)");

const filters = [
  [null, "All"],
  ["running", "Running"],
  ["completed", "Completed"],
  ["failed", "Failed"],
];

const kinds = { running: "badge-accent", completed: "badge-good", failed: "badge-bad" };

const rowHeight = () => (narrow.matches ? NARROW_ROW_PX : ROW_PX);

// What was loaded, for whoever comes back from a turn.
let kept = null;

function statusBadge(status) {
  return h(
    "span",
    { class: ["badge", kinds[status]] },
    status === "running" && h("span", { class: "badge-dot", "aria-hidden": "true" }),
    status,
  );
}

function row(turn) {
  const findings = turn.findings > 0 && `${turn.passed} of ${count(turn.findings, "finding")} passed`;
  return h(
    "a",
    { class: "turn-row", href: address(["turns", turn.id]) },
    h("span", { class: "turn-row-status" }, statusBadge(turn.status)),
    h(
      "span",
      { class: "turn-row-text" },
      h("span", { class: "turn-row-question" }, turn.question),
      h("span", { class: "turn-row-answer" }, turn.answer),
    ),
    h(
      "span",
      { class: "turn-row-when" },
      h("time", { datetime: turn.createdAt, title: dateTime(turn.createdAt, true) }, ago(turn.createdAt)),
      h(
        "span",
        { class: "turn-row-more" },
        [turn.durationMs !== null && duration(turn.durationMs), findings].filter(Boolean).join(" · "),
      ),
    ),
  );
}

function filterBar() {
  const links = filters.map(([status, label]) => h("a", { class: "segment", href: address(["turns"], { status }) }, label));
  return {
    element: h("nav", { class: "segments", "aria-label": "Which turns" }, links),
    mark(chosen) {
      for (const [i, [status]] of filters.entries()) set(links[i], { "aria-current": status === chosen ? "true" : null });
    },
  };
}

function nothing(status) {
  if (status)
    return h(
      "div",
      { class: "empty" },
      h("h2", null, `No turn is ${status}`),
      h("p", null, h("a", { href: "#/turns" }, "Show all turns")),
    );
  return h(
    "div",
    { class: "empty" },
    h("h2", null, "Nothing was asked yet"),
    h("p", { class: "muted" }, "Every question and its answer is kept here, with all that led to it."),
    h(
      "p",
      { class: "empty-actions" },
      h("a", { class: "button button-primary", href: "#/ask" }, "Ask a question"),
      h("a", { class: "button", href: "#/data" }, "Import data"),
    ),
  );
}

class History {
  constructor(app, status, { body, total, signal, isReturn }) {
    this.app = app;
    this.signal = signal;
    this.status = status;
    // Whoever is signed in when this is left may be somebody else.
    this.owner = app.me.owner;
    if (kept?.owner !== this.owner) kept = null;
    this.isBack = isReturn && kept?.status === status;
    this.turns = this.isBack ? kept.turns : new TurnList();
    this.body = body;
    this.total = total;
    this.list = virtualList({
      label: "Turns",
      rowHeight: rowHeight(),
      renderRow: (index) => row(this.turns.items[index]),
      onNearEnd: () => this.loadMore(),
      class: "card turn-list",
    });
  }

  async start() {
    if (!this.turns.hasBegun) await this.loadMore();
    this.draw();
    if (this.isBack) {
      this.list.element.scrollTop = kept.top;
      this.refreshQuietly();
    }
    this.plan();
  }

  draw() {
    const { items } = this.turns;
    this.list.isComplete = this.turns.cursor === null;
    replace(this.body, items.length > 0 ? this.list.element : nothing(this.status));
    this.list.update(items.length);
    this.showTotal();
  }

  showTotal() {
    const { items, cursor } = this.turns;
    const text =
      items.length === 0 ? "" : cursor === null ? count(items.length, "turn") : `The newest ${count(items.length, "turn")}`;
    setText(this.total, text);
  }

  /** The next page; one at a time. */
  async loadMore() {
    if (this.isLoading || (this.turns.hasBegun && this.turns.cursor === null)) return;
    this.isLoading = true;
    try {
      this.turns.append(await this.pages().page(this.turns.cursor));
      this.list.isComplete = this.turns.cursor === null;
      this.list.grow(this.turns.items.length);
      this.showTotal();
    } catch (error) {
      if (!this.turns.hasBegun) throw error;
      if (error.name !== "AbortError") this.app.toast(`More turns could not be loaded: ${error.message}`, "error");
    } finally {
      this.isLoading = false;
    }
  }

  pages() {
    return this.app.weir.turns.list({ limit: PAGE, status: this.status ?? undefined, signal: this.signal });
  }

  /** The first page again, and those that run behind it. */
  async refresh() {
    const before = this.turns.items.length;
    const { items } = await this.pages().page();
    const { nNew, changed } = this.turns.merge(items);
    const seen = new Set(items.map((turn) => turn.id));
    const others = this.turns.running().filter((turn) => !seen.has(turn.id));
    for (const { id } of others.slice(0, MAX_ASKED)) changed.push(...(await this.refreshOne(id).catch(() => [])));
    if (before === 0 || nNew > 0 || this.turns.items.length !== before + nNew) this.draw();
    else for (const index of changed) this.list.refresh(index);
    this.showTotal();
    for (const time of this.body.querySelectorAll("time")) setText(time, ago(time.dateTime));
  }

  /** What goes wrong here the connection's badge tells; the next time may be better. */
  refreshQuietly() {
    return this.refresh().catch(() => {});
  }

  async refreshOne(id) {
    const turn = await this.app.weir.turns.retrieve(id, { signal: this.signal });
    if (this.status && turn.status !== this.status) {
      this.turns.remove(id);
      return [];
    }
    const index = this.turns.replace(turn);
    return index < 0 ? [] : [index];
  }

  plan() {
    const isBusy = this.turns.items.some((turn) => !isOver(turn));
    this.timer = setTimeout(
      async () => {
        if (!document.hidden) await this.refreshQuietly();
        if (!this.signal.aborted) this.plan();
      },
      isBusy ? BUSY_MS : CALM_MS,
    );
  }

  keep() {
    kept = { owner: this.owner, status: this.status, turns: this.turns, top: this.list.element.scrollTop };
  }
}

/** Shows the turns of one status in `body`: when that is done, and what ends it. */
function showStatus(body, status, { app, ...rest }) {
  const control = new AbortController();
  const page = new History(app, status, { body, signal: control.signal, ...rest });
  const onNarrow = () => page.list.setRowHeight(rowHeight());
  narrow.addEventListener("change", onNarrow);
  replace(body);
  const end = () => {
    control.abort();
    page.keep();
    clearTimeout(page.timer);
    narrow.removeEventListener("change", onNarrow);
    page.list.destroy();
  };
  return { end, started: page.start() };
}

const statusOf = (params) => (filters.some(([status]) => status === params.query.status) ? params.query.status : null) ?? null;

export const view = {
  title: "History",
  async render(root, params, app) {
    const bar = filterBar();
    const total = h("p", { class: "muted", role: "status" });
    const body = h("div", { class: "history-body" });
    root.append(h("header", { class: "view-header" }, h("h1", null, "History"), total, bar.element), body);
    let shown = null;
    const update = (next) => {
      shown?.end();
      bar.mark(statusOf(next));
      shown = showStatus(body, statusOf(next), { app, total, isReturn: app.isReturn && shown === null });
      return shown.started;
    };
    app.signal.addEventListener("abort", () => shown.end(), { once: true });
    await update(params);
    return { update };
  },
};
