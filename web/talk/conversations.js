// SPDX-License-Identifier: Apache-2.0
// The list of conversations, beside the one that is had.

import { h, replace } from "../lib/dom.js";
import { ago, count, dateTime } from "../lib/format.js";
import { icon } from "../lib/icons.js";
import { virtualList } from "../lib/list.js";
import { address } from "../lib/router.js";

const PAGE = 50;
const ROW_PX = 60;

export class ConversationList {
  constructor(app, currentId) {
    this.app = app;
    this.currentId = currentId;
    this.rows = [];
    this.cursor = null;
    this.hasAll = false;
    this.list = virtualList({
      label: "Conversations",
      rowHeight: ROW_PX,
      renderRow: (i) => this.row(this.rows[i]),
      onNearEnd: () => this.loadMore(),
      class: "conversation-list",
    });
    this.body = h("div", { class: "conversations-body" }, this.list.element);
    this.element = h(
      "nav",
      { class: "conversations", "aria-label": "Conversations" },
      h(
        "div",
        { class: "conversations-head" },
        h("h2", null, "Conversations"),
        h("a", { class: "button button-small", href: "#/chat/new" }, icon("plus"), "New"),
      ),
      this.body,
    );
  }

  row(conversation) {
    const isCurrent = conversation.id === this.currentId;
    return h(
      "a",
      { class: "conversation-row", href: address(["chat", conversation.id]), "aria-current": isCurrent ? "page" : null },
      h("span", { class: "conversation-title" }, conversation.title || "Conversation"),
      h(
        "span",
        { class: "hint conversation-more" },
        conversation.running &&
          h("span", { class: "badge badge-accent" }, h("span", { class: "badge-dot", "aria-hidden": "true" }), "Replying"),
        h("time", { datetime: conversation.updatedAt, title: dateTime(conversation.updatedAt, true) }, ago(conversation.updatedAt)),
        ` · ${count(conversation.messages, "message")}`,
      ),
    );
  }

  async loadMore() {
    if (this.isLoading || this.hasAll) return;
    this.isLoading = true;
    try {
      const { items, next } = await this.app.weir.chat.conversations({ limit: PAGE, signal: this.app.signal }).page(this.cursor);
      const known = new Set(this.rows.map(({ id }) => id));
      this.rows.push(...items.filter(({ id }) => !known.has(id)));
      this.cursor = next;
      this.hasAll = next === null;
    } finally {
      this.isLoading = false;
    }
    this.draw();
  }

  /** The first page anew: a conversation was begun, went on or is gone. */
  async refresh() {
    if (this.isLoading) return;
    this.isLoading = true;
    try {
      const { items, next } = await this.app.weir.chat.conversations({ limit: PAGE, signal: this.app.signal }).page(null);
      const fresh = new Set(items.map(({ id }) => id));
      const oldest = items.at(-1)?.createdAt ?? "";
      this.rows = [...items, ...this.rows.filter((each) => !fresh.has(each.id) && each.createdAt < oldest)];
      if (this.rows.length === items.length) {
        this.cursor = next;
        this.hasAll = next === null;
      }
    } finally {
      this.isLoading = false;
    }
    this.draw();
  }

  draw() {
    this.list.isComplete = this.hasAll;
    const isEmpty = this.rows.length === 0 && this.hasAll;
    replace(
      this.body,
      isEmpty ? h("p", { class: "hint" }, "None yet. What you write begins the first one.") : this.list.element,
    );
    if (!isEmpty) this.list.update(this.rows.length);
  }

  destroy() {
    this.list.destroy();
  }
}
