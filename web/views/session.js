// SPDX-License-Identifier: Apache-2.0
// One session: its conversation as it happens, what waits for an answer, and what is beside it.

import { confirmDialog, openDialog } from "../lib/dialog.js";
import { h, newId, replace, setText } from "../lib/dom.js";
import { count, dateTime, shorten } from "../lib/format.js";
import { frameQueue } from "../lib/frame.js";
import { icon } from "../lib/icons.js";
import { once } from "../lib/once.js";
import { address } from "../lib/router.js";
import { AskCards } from "../talk/asks.js";
import { Composer } from "../talk/composer.js";
import { JobsPanel, SkillsPanel, toolsPanel } from "../talk/panels.js";
import { makeItemView } from "../talk/session_items.js";
import { emptySession, reduceSession } from "../talk/session_state.js";
import { Transcript } from "../talk/transcript.js";

const AGAIN_MS = 500; // between two looks at messages whose text is not known; longer each time
const LAST_AGAIN_MS = 15000;
const TITLE_CHARS = 200;
const UNSEEN_MS = 5000; // that the stream of a tab which nobody sees is kept

/** What one asks before one begins, and the head of the page. */
class Head {
  constructor(page) {
    this.page = page;
    this.title = h("h1", { class: "talk-title" });
    this.badge = h("span", { class: "badge", role: "status" });
    this.parent = h("span", { class: "hint" });
    const button = (label, name, act, props) =>
      h("button", { class: "icon-button", "aria-label": label, title: label, on: { click: act }, ...props }, icon(name));
    this.pin = button("Pin this session", "pin", () => page.togglePin());
    this.details = h(
      "button",
      { class: "button button-small talk-details", "aria-expanded": "false", on: { click: () => page.toggleSide() } },
      "Details",
    );
    this.element = h(
      "header",
      { class: "talk-head" },
      h(
        "a",
        { class: "icon-button", href: "#/sessions", "aria-label": "All sessions", title: "All sessions" },
        icon("arrow", { class: "icon icon-back" }),
      ),
      h("div", { class: "talk-heading" }, this.title, this.parent),
      this.badge,
      h(
        "div",
        { class: "talk-tools" },
        button("Rename", "edit", () => page.rename()),
        this.pin,
        button("Fork: go on elsewhere with the same messages", "fork", () => page.fork()),
        button("Delete this session", "trash", () => page.remove()),
        this.details,
      ),
    );
  }

  update({ session, turn, asks, queue }) {
    const title = session.title ?? "Untitled session";
    setText(this.title, title);
    this.pin.setAttribute("aria-pressed", session.pinned ? "true" : "false");
    const [text, kind] =
      asks.length > 0 ? ["Waits for you", "warn"] : turn ? ["Working", "accent"] : queue.length > 0 ? ["Queued", "accent"] : ["Idle", ""];
    if (this.badge.textContent !== text) {
      this.badge.className = `badge${kind ? ` badge-${kind}` : ""}`;
      replace(this.badge, h("span", { class: "badge-dot", "aria-hidden": "true" }), text);
    }
    if (session.parentSessionId && !this.parent.hasChildNodes())
      replace(this.parent, "forked from ", h("a", { href: address(["sessions", session.parentSessionId]) }, "another session"));
  }
}

function waitingNode(title, texts) {
  return (
    texts.length > 0 && [
      h("h2", { class: "queue-title" }, title),
      h(
        "ol",
        { class: "queue-list" },
        texts.map((text) => h("li", null, shorten(text, 140))),
      ),
    ]
  );
}

function aboutRows({ session, usage, mesh }) {
  const rows = [
    ["Model", session.model ? (session.model === session.provider ? session.model : `${session.provider}, ${session.model}`) : "none yet"],
    [
      "Tokens",
      usage.input + usage.output > 0 ? `${usage.input.toLocaleString("en")} in, ${usage.output.toLocaleString("en")} out` : "none",
    ],
    ["Cost", usage.costUsd > 0 ? `$${usage.costUsd.toFixed(4)}` : "none"],
    ["Begun", dateTime(session.createdAt)],
    mesh && ["Servers", mesh.length],
  ];
  return rows.filter(Boolean).map(([name, value]) => [h("dt", null, name), h("dd", null, value)]);
}

class SessionPage {
  constructor(root, id, app) {
    this.id = id;
    this.app = app;
    this.sessions = app.weir.sessions;
    this.state = emptySession;
    this.key = `session ${id}`;
    this.head = new Head(this);
    this.notices = h("div", { class: "talk-notices" });
    const options = { clientId: this.sessions.clientId };
    this.transcript = new Transcript({ label: "Conversation", makeView: (item) => makeItemView(item, options) });
    this.asks = new AskCards(app, () => this.composer.input);
    this.queue = h("div", { class: "queue", role: "region", "aria-label": "Messages that wait" });
    this.composer = this.makeComposer();
    this.about = h("dl", { class: "facts" });
    this.jobs = new JobsPanel(app, id);
    this.skills = new SkillsPanel(app);
    this.side = h(
      "aside",
      { class: "talk-side", "aria-label": "Details" },
      h("section", { class: "panel" }, h("h2", { class: "panel-title" }, "About"), this.about),
      this.jobs.element,
      this.skills.element,
      toolsPanel(app),
    );
    this.main = h(
      "div",
      { class: "talk-main" },
      this.notices,
      this.transcript.element,
      this.queue,
      this.asks.element,
      this.composer.element,
    );
    this.element = h("div", { class: "talk" }, this.head.element, this.main, this.side);
    root.append(this.element);
    this.events = frameQueue((actions) => this.apply(...actions));
  }

  makeComposer() {
    this.stop = h("button", { class: "button", hidden: true, on: { click: () => this.abort() } }, icon("stop"), "Stop");
    this.steer = h(
      "button",
      {
        class: "button",
        hidden: true,
        title: "Told to the turn that runs, before it asks the model again",
        on: { click: () => this.composer.run((text) => this.tell(text)) },
      },
      "Tell it now",
    );
    return new Composer({
      label: "Message",
      placeholder: "Write a message…",
      extra: [this.stop],
      withText: [this.steer],
      onSend: (text) => this.send(text),
      onError: (error) => this.app.toast(`It was not sent: ${error.message}`, "error"),
    });
  }

  // ---- what happens ----

  async start() {
    const data = await this.sessions.get(this.id, { signal: this.app.signal });
    this.apply({ type: "snapshot", data });
    this.transcript.toEnd();
    this.readPending();
    this.jobs.load();
    this.skills.load();
    this.follow(data.seq);
    const onSeen = () => this.onSeen();
    document.addEventListener("visibilitychange", onSeen, { signal: this.app.signal });
    onSeen();
    this.composer.focus();
  }

  follow(sinceSeq) {
    this.stream = this.sessions.stream(this.id, {
      sinceSeq,
      signal: this.app.signal,
      onEvent: (event, seq) => this.onEvent(event, seq),
      onGap: ({ first, last }) => this.events.push({ type: "gap", first, last }),
      onState: (state) => this.onState(state),
      onError: (error, how) => this.onError(error, how),
    });
  }

  /** It never ends, and browsers open six connections to a host: one that nobody sees is one that others need. */
  onSeen() {
    clearTimeout(this.unseen);
    if (document.hidden) this.unseen = setTimeout(() => this.stream.close(), UNSEEN_MS);
    else if (this.stream.closed && !this.isGone) this.follow(this.stream.lastSeq);
  }

  onEvent(event, seq) {
    this.events.push({ type: "event", event, seq });
    if (event.type === "tool.approval_required") this.readPending();
    if (event.type === "evolve.skill_pending") this.skills.load();
    if (event.type === "cron.fired") this.jobs.load();
    if (event.type === "done") this.app.announce("The answer is complete");
    if (event.type === "error") this.app.announce("The turn ended with an error");
  }

  onState(state) {
    if (state === "connected" || state === "reconnecting") this.app.connection.report(this.key, state);
    else this.app.connection.forget(this.key);
  }

  /** Those that end the stream: it is deleted, or somebody else's by now, or what comes is no stream of it. */
  onError(error, { isFinal }) {
    const isDeleted = error.status === 404;
    if (this.isGone || !(isDeleted || isFinal) || error.status === 401) return;
    this.isGone = true;
    this.composer.setOff(true);
    const text = isDeleted ? "This session was deleted. " : `This session cannot be followed any more: ${error.message}. Reload the page. `;
    replace(this.notices, h("p", { class: "notice notice-warn", role: "alert" }, text, h("a", { href: "#/sessions" }, "All sessions")));
  }

  apply(...actions) {
    this.state = actions.reduce(reduceSession, this.state);
    this.draw();
    if (this.state.needsMessages) this.readAgain();
  }

  /** Texts that other windows wrote; not more than once in a while. */
  async readAgain() {
    if (this.isReading) return;
    this.isReading = true;
    try {
      const data = await this.sessions.get(this.id, { signal: this.app.signal });
      this.apply({ type: "snapshot", data });
    } catch {
      // The connection's badge tells; the next event asks again.
    }
    if (this.app.signal.aborted) return;
    this.nReads = this.state.needsMessages ? (this.nReads ?? 0) + 1 : 0;
    this.timer = setTimeout(
      () => {
        this.isReading = false;
        if (this.state.needsMessages) this.readAgain();
      },
      Math.min(AGAIN_MS * 2 ** this.nReads, LAST_AGAIN_MS),
    );
  }

  /** Deadlines of approvals are not in their event. */
  async readPending() {
    try {
      const options = { signal: this.app.signal };
      const [approvals, questions] = await Promise.all([
        this.sessions.pendingApprovals({ sessionId: this.id }, options),
        this.sessions.pendingQuestions({ sessionId: this.id }, options),
      ]);
      this.events.push({ type: "pending", approvals, questions });
    } catch {
      // Without them there is no countdown, and everything else works.
    }
  }

  // ---- what is shown ----

  draw() {
    const { state } = this;
    this.head.update(state);
    this.transcript.update(state.turn ? [...state.items, state.turn] : state.items);
    this.asks.update(state.asks);
    this.drawQueue();
    this.drawNotices();
    this.stop.hidden = state.turn === null;
    this.steer.hidden = state.turn === null;
    this.drawAbout();
  }

  drawQueue() {
    const { queue, told, turn } = this.state;
    const key = JSON.stringify([queue, told, turn !== null]);
    if (key === this.shownQueue) return;
    this.shownQueue = key;
    // What is on its way is no queue yet.
    const waiting = turn === null ? [] : queue.map(({ text }) => text);
    this.queue.hidden = waiting.length + told.length === 0;
    replace(
      this.queue,
      waitingNode("Told, and heard before it asks the model again", told),
      waitingNode(`Waiting (${waiting.length})`, waiting),
    );
  }

  drawNotices() {
    const { gap, leftOut, upgrade } = this.state;
    const key = JSON.stringify([gap, leftOut, upgrade]);
    if (this.isGone || key === this.shownNotices) return;
    this.shownNotices = key;
    replace(
      this.notices,
      gap &&
        h(
          "p",
          { class: "notice notice-warn", role: "status" },
          `Events ${gap.first} to ${gap.last} are kept no more. What was said is here; how it came about is not.`,
        ),
      leftOut > 0 && h("p", { class: "notice" }, `${count(leftOut, "older message")} not shown.`),
      upgrade && h("p", { class: "notice notice-bad", role: "alert" }, "The server speaks a newer protocol. Reload the page."),
    );
  }

  drawAbout() {
    const { session, usage, mesh } = this.state;
    const key = JSON.stringify([session, usage, mesh]);
    if (key === this.shownAbout) return;
    this.shownAbout = key;
    replace(this.about, aboutRows(this.state));
    this.app.setTitle(session.title ?? "Session");
  }

  toggleSide() {
    const isOpen = this.element.classList.toggle("talk-side-open");
    this.head.details.setAttribute("aria-expanded", isOpen ? "true" : "false");
  }

  // ---- what one can do ----

  send = once(async (text, options) => {
    const { turnId } = await this.sessions.send({ sessionId: this.id, text }, options);
    this.apply({ type: "sent", turnId, text });
    this.transcript.toEnd();
  });

  tell = once(async (text, options) => {
    const { ok } = await this.sessions.steer(this.id, text, options);
    if (!ok) return this.send(text);
    this.apply({ type: "told", text });
    this.app.announce("The turn is told");
  });

  async attempt(work, failure) {
    try {
      return await work();
    } catch (error) {
      this.app.toast(`${failure}: ${error.message}`, "error");
      return null;
    }
  }

  abort() {
    return this.attempt(() => this.sessions.abort(this.id), "It could not be stopped");
  }

  async rename() {
    const id = newId("title");
    const input = h("input", { id, class: "input", maxlength: TITLE_CHARS, value: this.state.session.title ?? "", autofocus: true });
    const dialog = openDialog({
      title: "Rename this session",
      body: h(
        "form",
        { class: "stack", on: { submit: (event) => (event.preventDefault(), dialog.close(true)) } },
        h("label", { class: "label", for: id }, "Title"),
        input,
        h("p", { class: "hint" }, "Without one it has no title."),
      ),
      actions: [
        { value: null, label: "Cancel" },
        { value: true, label: "Rename", kind: "primary" },
      ],
    });
    if (!(await dialog.result)) return;
    const changed = await this.attempt(
      () => this.sessions.update(this.id, { title: input.value.trim() || null }),
      "It could not be renamed",
    );
    if (changed) this.apply({ type: "session", session: changed.session });
  }

  async togglePin() {
    const { session } = this.state;
    const done = await this.attempt(() => this.sessions.pin(this.id, !session.pinned), "It could not be pinned");
    if (!done) return;
    this.apply({ type: "session", session: { ...session, pinned: !session.pinned } });
    this.app.announce(session.pinned ? "No longer pinned" : "Pinned");
  }

  async fork() {
    const made = await this.attempt(() => this.sessions.fork(this.id), "It could not be forked");
    if (made) this.app.go(address(["sessions", made.session.id]));
  }

  async remove() {
    const text = "Its messages, events, notes and scheduled prompts go with it. That cannot be undone.";
    if (!(await confirmDialog({ title: "Delete this session?", text, confirm: "Delete" }))) return;
    const done = await this.attempt(() => this.sessions.delete(this.id), "It could not be deleted");
    if (done) this.app.go("/sessions");
  }

  end() {
    clearTimeout(this.timer);
    clearTimeout(this.unseen);
    this.stream?.close();
    this.events.cancel();
    this.asks.destroy();
    this.transcript.destroy();
    this.app.connection.forget(this.key);
  }
}

export const view = {
  title: "Session",
  async render(root, { id }, app) {
    const page = new SessionPage(root, id, app);
    app.signal.addEventListener("abort", () => page.end(), { once: true });
    await page.start();
  },
};
