// SPDX-License-Identifier: Apache-2.0
// Memory: what is remembered of a person, to read, to correct, to add to and to delete.

import { confirmDialog } from "../lib/dialog.js";
import { h, replace, setText } from "../lib/dom.js";
import { ago, count, dateTime, shorten } from "../lib/format.js";
import { icon } from "../lib/icons.js";
import { virtualList } from "../lib/list.js";
import { address } from "../lib/router.js";
import { editEntry } from "../memory/editor.js";
import { CATEGORIES, fits } from "../memory/entry.js";

const PAGE = 100;
const ROW_PX = 84;
const MAX_ENTRIES = 10000; // the server's ceiling

function provenance({ source_turn: turn, created_at: created, updated_at: updated }) {
  const when = h(
    "time",
    { datetime: updated, title: dateTime(updated, true) },
    updated === created ? ago(updated) : `changed ${ago(updated)}`,
  );
  return [turn ? h("a", { href: address(["turns", turn]) }, "From a turn") : h("span", null, "Added by hand"), when];
}

/** What it is about, as far as it says so in a few words. */
function aboutOf({ data }) {
  if (data === null || typeof data !== "object" || Array.isArray(data)) return null;
  const pairs = Object.entries(data).filter(
    ([name, value]) => name !== "key" && name !== "finding" && (typeof value === "string" || typeof value === "number"),
  );
  return pairs.map(([name, value]) => `${name} ${String(value).replaceAll("_", " ")}`).join(", ");
}

class Memory {
  constructor(root, app, category) {
    this.app = app;
    this.category = category;
    this.entries = [];
    this.shown = [];
    this.next = null;
    this.word = "";
    this.control = new AbortController();
    this.total = h("p", { class: "muted", role: "status" });
    this.body = h("div", { class: "memory-body" });
    this.list = virtualList({
      label: "What is remembered",
      rowHeight: ROW_PX,
      isMeasured: true,
      renderRow: (index) => this.row(this.shown[index]),
      onNearEnd: () => this.loadMore(),
      class: "card memory-list",
    });
    root.append(this.header(), this.body);
  }

  header() {
    const add = h(
      "button",
      { class: "button button-primary", on: { click: () => this.edit(null) } },
      icon("plus"),
      "Add",
    );
    const lead = h("p", { class: "muted" }, "What is remembered of you, and given to your turns.");
    return h(
      "header",
      { class: "stack" },
      h("div", { class: "spread memory-head" }, h("div", null, h("h1", null, "Memory"), lead), add),
      h(
        "div",
        { class: "spread" },
        this.kinds(),
        h("div", { class: "row memory-find" }, this.total, this.searchField()),
      ),
    );
  }

  kinds() {
    const link = (value, label) =>
      h(
        "a",
        {
          class: "segment",
          href: address(["memory"], { category: value }),
          "aria-current": value === this.category ? "true" : null,
        },
        label,
      );
    const links = Object.entries(CATEGORIES).map(([value, { many }]) => link(value, many));
    return h("nav", { class: "segments memory-kinds", "aria-label": "Which kind" }, link(null, "All"), links);
  }

  searchField() {
    return h("input", {
      class: "input memory-search",
      type: "search",
      placeholder: "Search",
      "aria-label": "Search what is remembered",
      autocomplete: "off",
      on: { input: (event) => this.search(event.target.value.trim()) },
    });
  }

  row(entry) {
    const action = (label, name, act) =>
      h(
        "button",
        {
          class: "icon-button",
          "aria-label": `${label}: ${shorten(entry.text, 60)}`,
          title: label,
          on: { click: act },
        },
        icon(name),
      );
    const about = aboutOf(entry);
    return h(
      "div",
      { class: "memory-row" },
      h(
        "div",
        { class: "memory-text" },
        h("p", null, entry.text),
        h(
          "p",
          { class: "hint memory-meta" },
          h("span", { class: "badge" }, CATEGORIES[entry.category]?.label ?? entry.category),
          provenance(entry),
          about && h("span", null, about),
        ),
      ),
      h(
        "div",
        { class: "memory-actions" },
        action("Edit", "edit", () => this.edit(entry)),
        action("Delete", "trash", () => this.delete(entry)),
      ),
    );
  }

  async load() {
    this.control.abort();
    this.control = new AbortController();
    const { items, next } = await this.page(null);
    this.entries = items;
    this.next = next;
    this.draw();
  }

  page(cursor) {
    const { signal } = this.control;
    return this.app.weir.memory.list({ limit: PAGE, category: this.category, signal }).page(cursor);
  }

  /** The next page; one at a time. A search goes on until it has seen everything. */
  async loadMore() {
    if (this.isLoading || !this.next || this.entries.length >= MAX_ENTRIES) return;
    this.isLoading = true;
    const { signal } = this.control;
    const wasEmpty = this.shown.length === 0;
    try {
      const { items, next } = await this.page(this.next);
      const known = new Set(this.entries.map((entry) => entry.id));
      this.entries.push(...items.filter((entry) => !known.has(entry.id)));
      this.next = next;
    } catch (error) {
      // There are more all the same: whoever scrolls on, or searches, asks for them again.
      if (!signal.aborted) this.app.toast(`More cannot be loaded: ${error.message}`, "error");
      return;
    } finally {
      this.isLoading = false;
    }
    if (signal.aborted) return;
    if (wasEmpty) this.draw();
    else this.grow();
    if (this.word && this.next) this.loadMore();
  }

  search(word) {
    this.word = word;
    this.draw();
    if (word) this.loadMore();
  }

  filter() {
    this.shown = this.entries.filter((entry) => fits(entry, this.word));
  }

  grow() {
    this.filter();
    this.list.isComplete = !this.next;
    this.list.grow(this.shown.length);
    this.showTotal();
  }

  draw() {
    this.filter();
    this.list.isComplete = !this.next;
    const isEmpty = this.shown.length === 0;
    if (isEmpty) replace(this.body, this.nothing());
    else if (this.body.firstChild !== this.list.element) replace(this.body, this.list.element);
    this.list.update(this.shown.length);
    this.showTotal();
  }

  showTotal() {
    const known = count(this.shown.length, "entry", "entries");
    setText(this.total, this.entries.length === 0 ? "" : this.next ? `${known} so far` : known);
  }

  nothing() {
    if (this.word) return h("p", { class: "empty" }, `Nothing with “${shorten(this.word, 40)}” in it${this.next ? " so far" : ""}.`);
    const what = this.category ? `No ${CATEGORIES[this.category].many.toLowerCase()} yet` : "Nothing is remembered yet";
    const why = this.category
      ? CATEGORIES[this.category].hint
      : "Say what you want in a question, as “I want to sleep eight hours”, or add it here.";
    return h("div", { class: "empty" }, h("h2", null, what), h("p", { class: "muted" }, why));
  }

  async edit(entry) {
    const saved = await editEntry(this.app, entry);
    if (!saved) return;
    if (!saved.isGone) this.app.toast(entry ? "Saved." : "It will be remembered.", "success");
    await this.reload();
  }

  async delete(entry) {
    const isMeant = await confirmDialog({
      title: "Forget this?",
      text: shorten(entry.text, 300),
      confirm: "Forget it",
      cancel: "Keep it",
    });
    if (!isMeant) return;
    try {
      await this.app.weir.memory.delete(entry.id);
    } catch (error) {
      if (error.status !== 404) return this.app.toast(`It could not be deleted: ${error.message}`, "error");
    }
    this.entries = this.entries.filter((other) => other.id !== entry.id);
    this.draw();
    this.app.toast("Forgotten.", "success");
  }

  async reload() {
    try {
      await this.load();
    } catch (error) {
      if (error.code !== "aborted") this.app.toast(`What is remembered cannot be loaded: ${error.message}`, "error");
    }
  }

  /** Whoever comes back sees what another tab did; when that is nothing, they stay where they were. */
  async refresh() {
    try {
      const { items } = await this.page(null);
      const isSame = (entry, i) => entry.id === this.entries[i]?.id && entry.updated_at === this.entries[i].updated_at;
      if (!items.every(isSame) || (items.length < PAGE && items.length !== this.entries.length)) await this.load();
    } catch {
      // It was not asked for, and whoever looks for news gets them by the next request.
    }
  }

  close() {
    this.control.abort();
    this.list.destroy();
  }
}

export const view = {
  title: "Memory",
  async render(root, { query }, app) {
    const category = Object.hasOwn(CATEGORIES, query.category ?? "") ? query.category : null;
    const memory = new Memory(root, app, category);
    await memory.load();
    const refresh = () => document.visibilityState === "visible" && memory.refresh();
    document.addEventListener("visibilitychange", refresh);
    return () => {
      document.removeEventListener("visibilitychange", refresh);
      memory.close();
    };
  },
};
