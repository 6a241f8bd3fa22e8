// SPDX-License-Identifier: Apache-2.0
// Chats: one conversation beside the list of all of them, and the shield's questions about what is private.

import { whenHeard } from "../lib/connection.js";
import { confirmDialog } from "../lib/dialog.js";
import { h, newId, replace, setText } from "../lib/dom.js";
import { frameQueue } from "../lib/frame.js";
import { icon } from "../lib/icons.js";
import { once } from "../lib/once.js";
import { address } from "../lib/router.js";
import { makeChatView } from "../talk/chat_items.js";
import { readReply } from "../talk/chat_reader.js";
import { emptyChat, reduceChat } from "../talk/chat_state.js";
import { Composer } from "../talk/composer.js";
import { ConversationList } from "../talk/conversations.js";
import { Review } from "../talk/shield_dialog.js";
import { Transcript } from "../talk/transcript.js";

const STREAM = "chat";
const DEADLINE_MS = 3000; // for asking when a question ends; a choice waits for that

// For as long as the page is there; nothing of it is kept.
const wishes = { withTools: true, withSources: true, showMap: false, piiAction: "" };

const actions = [
  ["", "as the policy says"],
  ["ask", "ask me first"],
  ["auto_redact", "always redact"],
  ["block", "never send"],
];

function optionsNode() {
  const check = (name, label) => {
    const id = newId("option");
    return h(
      "div",
      { class: "row" },
      h("input", { id, type: "checkbox", checked: wishes[name], on: { change: (event) => (wishes[name] = event.target.checked) } }),
      h("label", { for: id }, label),
    );
  };
  const id = newId("option");
  const select = h(
    "select",
    { id, class: "select", value: wishes.piiAction, on: { change: (event) => (wishes.piiAction = event.target.value) } },
    actions.map(([value, label]) => h("option", { value }, label)),
  );
  return h(
    "details",
    { class: "chat-options" },
    h("summary", null, "Options"),
    h(
      "div",
      { class: "chat-options-body" },
      check("withTools", "May read my data"),
      check("withSources", "Show sources"),
      check("showMap", "Show what placeholders stand for"),
      h("div", { class: "row" }, h("label", { for: id }, "Private data:"), select),
      h("p", { class: "hint" }, "A request can be stricter than the policy of the server, never weaker."),
    ),
  );
}

/** What a request says beside its message. */
function requestOf(text, conversationId) {
  return {
    messages: [{ role: "user", content: text }],
    ...(conversationId ? { conversationId } : {}),
    ...(wishes.piiAction ? { piiAction: wishes.piiAction } : {}),
    includeSourceReferences: wishes.withSources,
    showRawPayload: wishes.showMap,
  };
}

function welcomeNode() {
  const text = "What is private in a message is found before anything leaves for a model, and you decide what becomes of it.";
  return h("div", { class: "empty talk-welcome" }, h("h2", null, "What would you like to know?"), h("p", { class: "muted" }, text));
}

class ChatPage {
  constructor(root, id, app) {
    this.app = app;
    this.chat = app.weir.chat;
    this.isNew = id === null || id === "new";
    this.state = this.isNew ? emptyChat : { ...emptyChat, id };
    this.review = null;
    this.list = new ConversationList(app, this.state.id);
    this.transcript = new Transcript({ label: "Conversation", makeView: (item) => makeChatView(item, {}) });
    this.title = h("h1", { class: "talk-title" });
    this.notices = h("div", { class: "talk-notices" });
    this.welcome = welcomeNode();
    this.forget = this.headButton("Forget what placeholders stand for", "shield", () => this.forgetValues());
    this.remove = this.headButton("Delete this conversation", "trash", () => this.deleteAll());
    this.composer = this.makeComposer();
    const main = h(
      "div",
      { class: "talk-main" },
      this.headNode(),
      this.notices,
      this.welcome,
      this.transcript.element,
      this.composer.element,
      optionsNode(),
    );
    this.element = h("div", { class: ["chat", id === null && "chat-all"] }, this.list.element, main);
    root.append(this.element);
    this.events = frameQueue((batch) => this.apply(...batch));
  }

  headNode() {
    const back = { class: "icon-button chat-back", href: "#/chat", "aria-label": "All conversations", title: "All conversations" };
    return h(
      "header",
      { class: "talk-head" },
      h("a", back, icon("arrow", { class: "icon icon-back" })),
      h("div", { class: "talk-heading" }, this.title),
      h("div", { class: "talk-tools" }, this.forget, this.remove),
    );
  }

  headButton(label, name, act) {
    return h("button", { class: "icon-button", "aria-label": label, title: label, on: { click: act } }, icon(name));
  }

  makeComposer() {
    this.stop = h("button", { class: "button", hidden: true, on: { click: () => this.stopReply() } }, icon("stop"), "Stop");
    return new Composer({
      label: "Message",
      placeholder: "Write a message…",
      extra: [this.stop],
      onSend: (text) => this.send(text),
      onError: (error) => this.app.signal.aborted || this.app.toast(`It was not sent: ${error.message}`, "error"),
    });
  }

  async start() {
    this.draw();
    document.addEventListener("visibilitychange", () => this.comeBack(), { signal: this.app.signal });
    window.addEventListener("focus", () => this.comeBack(), { signal: this.app.signal });
    this.loadList();
    if (!this.isNew) await this.open();
    this.isOpen = true;
    this.draw();
    if (this.isNew || !this.state.reply) this.composer.focus();
  }

  async loadList() {
    const { signal, toast, connection } = this.app;
    try {
      await this.list.loadMore();
    } catch (error) {
      if (signal.aborted) return;
      toast(`Conversations could not be loaded: ${error.message}`, "error");
      whenHeard(connection, error, () => signal.aborted || this.loadList());
    }
  }

  /** A conversation has no stream between its replies: whoever comes back looks whether it went on elsewhere. */
  async comeBack() {
    if (document.hidden || this.state.reply || !this.state.id || !this.isOpen) return;
    try {
      await this.list.refresh();
      const row = this.list.rows.find(({ id }) => id === this.state.id);
      if (!row || this.state.reply) return;
      if (row.running || row.messages !== this.nKept()) await this.open();
    } catch {
      // The connection's badge tells; they come back again.
    }
  }

  /** How many messages the server would count for what is shown. */
  nKept() {
    return this.state.items.filter((item) => item.kind === "said" || (item.end !== "blocked" && item.parts.length > 0)).length;
  }

  async load() {
    const { nSaid } = this.state;
    const data = await this.chat.conversation(this.state.id, { signal: this.app.signal });
    this.apply({ type: "snapshot", data, nSaid });
    return data;
  }

  async open() {
    const data = await this.load();
    if (this.control) return;
    this.transcript.toEnd();
    // A message without a reply: it is under way, or was kept back.
    if (data.running || data.messages.at(-1)?.role === "user") this.attach();
  }

  // ---- replies ----

  /** Reads a reply; `begin` is how. Resolves when the server has taken it, or there is none. */
  read(begin) {
    const control = new AbortController();
    this.control = control;
    const signal = AbortSignal.any([control.signal, this.app.signal]);
    return new Promise((resolve, reject) => {
      let isOpen = false;
      const on = {
        state: (state) => this.app.connection.report(STREAM, state),
        open: (head) => {
          isOpen = true;
          this.onOpen(head);
          resolve();
        },
        event: ({ id, type, data }) => this.onEvent(id, type, data),
      };
      const resume = (lastEventId, handlers) => this.chat.attach(this.state.id, { ...handlers, lastEventId });
      readReply({ begin, resume, on, signal })
        .then(resolve, (error) => (isOpen ? this.onFailure(error, signal) : reject(error)))
        .finally(() => this.onEnd(control));
    });
  }

  say = once(([request, direct], { idempotencyKey }) =>
    this.read((handlers) => this.chat.stream(request, { ...handlers, direct, idempotencyKey })),
  );

  async send(text) {
    if (this.state.reply) throw new Error("a reply is under way");
    this.apply({ type: "ask", text });
    this.transcript.toEnd();
    const { key } = this.state.items.at(-1);
    try {
      await this.say([requestOf(text, this.state.id), !wishes.withTools]);
    } catch (error) {
      this.apply({ type: "unsaid", key });
      if (error.status === 410) this.apply({ type: "closed" });
      throw error;
    }
  }

  async attach() {
    try {
      await this.read((handlers) => this.chat.attach(this.state.id, handlers));
    } catch (error) {
      // Its events are kept no more, or there never were any: the messages are all there is.
      if (error.status !== 404 && error.status !== 410 && error.name !== "AbortError")
        this.app.toast(`The reply could not be read: ${error.message}`, "error");
    }
  }

  onOpen(head) {
    const isFirst = this.state.id === null;
    this.apply({ type: "open", ...head });
    if (!isFirst || !this.state.id) return;
    // The same view goes on: only the address says what it is now.
    history.replaceState(history.state, "", address(["chat", this.state.id]));
    this.isNew = false;
    this.element.classList.remove("chat-all");
    this.list.currentId = this.state.id;
    this.refreshList();
  }

  onEvent(id, event, data) {
    this.events.push({ type: "event", id, event, data });
    if (event === "done") this.app.announce("The reply is complete");
    if (event === "error") this.app.announce("The reply ended with an error");
    if (event === "dlp_blocked") this.app.announce("Nothing was sent");
  }

  onFailure(error, signal) {
    if (this.app.signal.aborted) return;
    this.events.flush();
    this.apply({ type: "failed", error: signal.aborted ? { code: "cancelled", message: "stopped" } : error });
    // Its events are kept no more, say: the message may be there as a whole.
    if (!signal.aborted) this.load().catch(() => {});
  }

  onEnd(control) {
    if (this.control === control) this.control = null;
    if (this.app.signal.aborted) return;
    this.app.connection.forget(STREAM);
    this.events.flush();
    this.refreshList();
  }

  refreshList() {
    // The list is beside the point here; the connection's badge tells what is wrong.
    this.list.refresh().catch(() => {});
  }

  async stopReply() {
    this.composer.focus();
    // Before the server has named it there is nothing to cancel but the request.
    if (!this.state.id) return this.control?.abort();
    try {
      await this.chat.cancel(this.state.id);
    } catch (error) {
      this.app.toast(`It could not be stopped: ${error.message}`, "error");
    }
  }

  // ---- the shield ----

  async readDeadline(decisionId) {
    try {
      const { deadlineAt } = await this.chat.question(decisionId, { timeout: DEADLINE_MS, maxRetries: 0, signal: this.app.signal });
      this.events.push({ type: "deadline", decisionId, deadlineAt });
    } catch {
      // It was decided elsewhere, which the stream says; or it is not known, and no countdown shows.
    }
  }

  showReview() {
    const { ask } = this.state;
    if (this.review && this.review.decisionId !== ask?.decisionId) this.closeReview();
    if (!ask) return;
    if (!this.review) {
      const decide = (choice, isRemembered) => this.decide(ask.decisionId, choice, isRemembered);
      this.review = new Review({ ask, decide });
      this.isOurs = false;
      this.deadline = this.readDeadline(ask.decisionId);
    }
    this.review.setDeadline(ask.deadlineAt);
  }

  closeReview() {
    this.review.close();
    this.review = null;
    // The button that sent the message had the focus, and is disabled by now.
    if (!this.app.signal.aborted) this.composer.focus();
    // None where the reply ended before anybody decided.
    const privacy = (this.state.reply ?? this.state.items.at(-1))?.privacy;
    if (privacy && privacy.reason !== "timeout" && !this.isOurs && !this.app.signal.aborted)
      this.app.toast("It was decided in another window.");
  }

  async decide(decisionId, choice, rememberForConversation) {
    this.isOurs = true;
    try {
      // A question that is decided has no deadline any more, and asking for it would be an error.
      await this.deadline;
      await this.chat.decide(decisionId, choice, { rememberForConversation });
    } catch (error) {
      this.isOurs = false;
      throw error;
    }
    if (rememberForConversation) this.apply({ type: "remembered", choice });
  }

  // ---- what is shown ----

  apply(...given) {
    this.state = given.reduce(reduceChat, this.state);
    this.draw();
  }

  draw() {
    const { state } = this;
    const title = state.title || (state.items.find((item) => item.kind === "said")?.text ?? "New conversation");
    setText(this.title, title);
    this.app.setTitle(state.id ? title.slice(0, 60) : "Chat");
    const rows = state.reply && (state.reply.parts.length > 0 || !state.ask) ? [...state.items, state.reply] : state.items;
    this.welcome.hidden = rows.length > 0 || !this.isNew;
    this.transcript.element.hidden = !this.welcome.hidden;
    this.transcript.update(rows);
    this.stop.hidden = state.reply === null;
    this.forget.hidden = state.id === null || state.isClosed;
    this.remove.hidden = state.id === null;
    this.composer.setOff(state.isClosed || !this.isOpen);
    this.drawNotices();
    this.showReview();
  }

  drawNotices() {
    const { isClosed, remembered } = this.state;
    const key = `${isClosed} ${remembered}`;
    if (key === this.shownNotices) return;
    this.shownNotices = key;
    const kept = {
      redact: "What is private in this conversation is always redacted, as you chose.",
      allow: "What is private in this conversation is sent as it is, as you chose.",
    };
    replace(
      this.notices,
      isClosed &&
        h(
          "p",
          { class: "notice notice-warn" },
          "What the placeholders of this conversation stood for is forgotten. It can be read, and not gone on with.",
        ),
      remembered && !isClosed && h("p", { class: "notice" }, kept[remembered]),
    );
  }

  // ---- what one can do ----

  async forgetValues() {
    const text =
      "Nobody will be able to tell what the placeholders of this conversation stand for. It can be read then, and not gone on with.";
    if (!(await confirmDialog({ title: "Forget the private values?", text, confirm: "Forget them" }))) return;
    try {
      await this.chat.forgetPlaceholders(this.state.id);
      const data = await this.chat.conversation(this.state.id, { signal: this.app.signal });
      this.state = { ...emptyChat, id: this.state.id };
      this.apply({ type: "snapshot", data });
      await this.list.refresh();
      this.app.toast("The values are forgotten.", "success");
    } catch (error) {
      this.app.toast(`They were not forgotten: ${error.message}`, "error");
    }
  }

  async deleteAll() {
    if (
      !(await confirmDialog({
        title: "Delete this conversation?",
        text: "Its messages, replies and private values go with it. That cannot be undone.",
        confirm: "Delete",
      }))
    )
      return;
    try {
      this.control?.abort();
      await this.chat.deleteConversation(this.state.id);
      this.app.go("/chat");
    } catch (error) {
      this.app.toast(`It was not deleted: ${error.message}`, "error");
    }
  }

  end() {
    this.control?.abort();
    this.events.cancel();
    if (this.review) this.closeReview();
    this.transcript.destroy();
    this.list.destroy();
    this.app.connection.forget(STREAM);
  }
}

export const view = {
  title: "Chat",
  async render(root, { id = null }, app) {
    // Where the conversations are all there is room for, none of them is what the page is about.
    root.append(h("h1", { class: "chat-heading visually-hidden" }, "Chat"));
    const page = new ChatPage(root, id, app);
    app.signal.addEventListener("abort", () => page.end(), { once: true });
    await page.start();
  },
};
