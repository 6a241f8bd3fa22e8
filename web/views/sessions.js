// SPDX-License-Identifier: Apache-2.0
// All sessions: the newest first, pinned ones before them, with a search through what was said.

import { h, newId, replace, setText } from "../lib/dom.js";
import { ago, count, dateTime } from "../lib/format.js";
import { icon } from "../lib/icons.js";
import { virtualList } from "../lib/list.js";
import { once } from "../lib/once.js";
import { address } from "../lib/router.js";
import { Composer } from "../talk/composer.js";
import { JobsPanel, SkillsPanel } from "../talk/panels.js";
import { arrangeSessions } from "../talk/words.js";

const PAGE = 50;
const ENOUGH = 20; // that a search finds before it waits for somebody to scroll
const CALM_MS = 5000;
const TYPING_MS = 250;
const ROW_PX = 52;
const NARROW_ROW_PX = 64;
const narrow = window.matchMedia("(max-width: 760px)");
const MAX_QUERY_CHARS = 50;

function stateBadge(session, asking) {
  const [text, kind] = asking.has(session.id)
    ? ["Waits for you", "warn"]
    : session.state === "running"
      ? ["Working", "accent"]
      : session.queued > 0
        ? ["Queued", "accent"]
        : [null, null];
  return text && h("span", { class: `badge badge-${kind}` }, h("span", { class: "badge-dot", "aria-hidden": "true" }), text);
}

function row(session, asking) {
  return h(
    "a",
    { class: "session-row", href: address(["sessions", session.id]) },
    h(
      "span",
      { class: "session-title" },
      session.title ?? h("em", { class: "muted" }, "Untitled"),
      session.pinned &&
        h("span", { class: "session-pin", title: "Pinned" }, icon("pin"), h("span", { class: "visually-hidden" }, "Pinned")),
    ),
    h("span", { class: "session-state" }, stateBadge(session, asking)),
    h("time", { class: "session-when", datetime: session.updatedAt, title: dateTime(session.updatedAt, true) }, ago(session.updatedAt)),
  );
}

class SessionsPage {
  constructor(root, app) {
    this.app = app;
    this.sessions = app.weir.sessions;
    this.query = "";
    this.reset();
    this.asking = new Set();
    this.status = h("p", { class: "muted", role: "status" });
    this.body = h("div", { class: "sessions-body" });
    this.list = virtualList({
      label: "Sessions",
      rowHeight: narrow.matches ? NARROW_ROW_PX : ROW_PX,
      renderRow: (i) => row(this.rows[i], this.asking),
      onNearEnd: () => this.loadMore(),
      class: "card session-list",
    });
    this.jobs = new JobsPanel(app);
    this.skills = new SkillsPanel(app);
    const side = h("aside", { class: "talk-side", "aria-label": "Prompts and shortcuts" }, this.jobs.element, this.skills.element);
    const main = h("div", { class: "talk-main" }, this.composer(), this.searchBox(), this.body);
    root.append(
      h("header", { class: "view-header" }, h("h1", null, "Sessions"), this.status),
      h("div", { class: "talk talk-list" }, main, side),
    );
  }

  composer() {
    const begin = once(async (text, options) => {
      const { sessionId } = await this.sessions.send({ text }, options);
      this.app.go(address(["sessions", sessionId]));
    });
    return new Composer({
      label: "First message of a new session",
      placeholder: "Begin a new session: ask, or say what shall be done…",
      button: "Begin",
      onSend: begin,
      onError: (error) => this.app.toast(`No session was begun: ${error.message}`, "error"),
    }).element;
  }

  searchBox() {
    const id = newId("search");
    let timer = 0;
    const search = (event) => {
      clearTimeout(timer);
      timer = setTimeout(() => this.search(event.target.value.trim()), TYPING_MS);
    };
    return h(
      "div",
      { class: "search-box" },
      h("label", { class: "visually-hidden", for: id }, "Search sessions"),
      icon("search"),
      h("input", {
        id,
        type: "search",
        class: "input",
        maxlength: MAX_QUERY_CHARS,
        placeholder: "Search titles and messages",
        on: { input: search },
      }),
    );
  }

  reset() {
    this.found = [];
    this.rows = [];
    this.cursor = null;
    this.hasAll = false;
    this.control?.abort();
    this.control = new AbortController();
  }

  async search(query) {
    if (query === this.query) return;
    this.query = query;
    this.reset();
    this.isLoading = false;
    this.draw();
    await this.loadMore().catch((error) => this.app.toast(`The search failed: ${error.message}`, "error"));
  }

  page(cursor) {
    return this.sessions
      .list({ q: this.query || undefined, limit: PAGE, signal: AbortSignal.any([this.app.signal, this.control.signal]) })
      .page(cursor);
  }

  /** A page of a search may be empty although there are more: on until there is something to see. */
  async loadMore() {
    if (this.isLoading || this.hasAll) return;
    const { control } = this;
    const wanted = this.found.length + ENOUGH;
    this.isLoading = true;
    this.showStatus();
    try {
      do {
        const { items, next } = await this.page(this.cursor);
        if (control !== this.control) return;
        this.found.push(...items);
        this.cursor = next;
        this.hasAll = next === null;
        this.draw();
      } while (!this.hasAll && this.query !== "" && this.found.length < wanted);
    } catch (error) {
      if (error.name !== "AbortError") throw error;
    } finally {
      if (control === this.control) this.isLoading = false;
      this.showStatus();
    }
  }

  draw() {
    this.rows = arrangeSessions(this.found);
    this.list.isComplete = this.hasAll;
    const isEmpty = this.rows.length === 0 && this.hasAll;
    replace(this.body, isEmpty ? this.nothing() : this.list.element);
    this.list.update(this.rows.length);
    this.showStatus();
  }

  showStatus() {
    const text =
      this.isLoading && this.query
        ? "Searching…"
        : this.rows.length === 0
          ? ""
          : `${this.hasAll ? "" : "The newest "}${count(this.rows.length, "session")}`;
    setText(this.status, text);
  }

  nothing() {
    if (this.query) return h("p", { class: "muted" }, `Nothing was found for “${this.query}”.`);
    return h(
      "div",
      { class: "empty" },
      h("h2", null, "No sessions yet"),
      h(
        "p",
        { class: "muted" },
        "A session is a long conversation with tools: it reads your data, remembers, writes notes and runs prompts by the clock. Whatever changes something asks you first.",
      ),
    );
  }

  /** Which are new, which work, which wait: by the clock, for a list has no stream. */
  async refresh() {
    const options = { signal: this.app.signal };
    const [approvals, questions] = await Promise.all([
      this.sessions.pendingApprovals({}, options),
      this.sessions.pendingQuestions({}, options),
    ]);
    this.asking = new Set([...approvals, ...questions].map((each) => each.sessionId));
    if (this.query === "" && !this.isLoading) {
      const { items } = await this.page(null);
      const fresh = new Map(items.map((each) => [each.id, each]));
      const oldest = items.at(-1)?.id ?? "";
      // Those of the first page are known anew; one that is not there any more was deleted.
      this.found = [...items, ...this.found.filter((each) => !fresh.has(each.id) && each.id < oldest)];
    }
    this.redraw();
  }

  redraw() {
    const rows = arrangeSessions(this.found);
    const isSame = rows.length === this.rows.length && rows.every((each, i) => each.id === this.rows[i].id);
    if (!isSame) return this.draw();
    const before = this.rows;
    this.rows = rows;
    const asking = [...this.asking].sort().join();
    const isOther = (each, i) => JSON.stringify(each) !== JSON.stringify(before[i]);
    if (asking !== this.shownAsking) this.list.refresh();
    else rows.forEach((each, i) => isOther(each, i) && this.list.refresh(i));
    this.shownAsking = asking;
  }

  async start() {
    await this.loadMore();
    this.jobs.load();
    this.skills.load();
    const plan = () => {
      this.timer = setTimeout(async () => {
        // What goes wrong here the connection's badge tells; the next time may be better.
        if (!document.hidden) await this.refresh().catch(() => {});
        if (!this.app.signal.aborted) plan();
      }, CALM_MS);
    };
    plan();
    this.refresh().catch(() => {});
  }

  end() {
    clearTimeout(this.timer);
    this.control.abort();
    this.list.destroy();
  }
}

export const view = {
  title: "Sessions",
  async render(root, params, app) {
    const page = new SessionsPage(root, app);
    narrow.addEventListener("change", () => page.list.setRowHeight(narrow.matches ? NARROW_ROW_PX : ROW_PX), { signal: app.signal });
    app.signal.addEventListener("abort", () => page.end(), { once: true });
    await page.start();
  },
};
