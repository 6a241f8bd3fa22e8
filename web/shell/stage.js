// SPDX-License-Identifier: Apache-2.0
// Where views are shown, one after the other: what is left is cleaned up, what fails says so.

import { ConnectionError, WeirError } from "/sdk/index.js";
import { whenHeard } from "../lib/connection.js";
import { h, replace } from "../lib/dom.js";
import { keepDrafts } from "../lib/drafts.js";
import { showFailure, showMissing } from "./failure.js";
import { markCurrent } from "./navigation.js";
import { createScrollMemory } from "./scroll.js";

const SLOW_MS = 300; // what takes longer says so

/** The module of a view; it comes from the server, too. */
async function load(name) {
  try {
    return (await import(`../views/${name}.js`)).view;
  } catch (error) {
    // So browsers say that it could not be fetched, each in its own words.
    if (!(error instanceof TypeError && /\bmodule\b/.test(error.message))) throw error;
    throw new ConnectionError("A part of this page could not be loaded.", { cause: error });
  }
}

/** All of them before they are needed, so that going there takes no time, nor a server. */
export async function loadAhead(names) {
  const wait = window.requestIdleCallback ?? window.setTimeout;
  for (const name of names) {
    await new Promise((resolve) => wait(resolve));
    await load(name).catch(() => {}); // it is tried again when it is needed
  }
}

/**
 * The stage in `main`. `wanted()` gives {name, params, key} of the view that the address is for, or
 * null; show() shows that.
 */
export class Stage {
  #app;
  #main;
  #wanted;
  #scroll = createScrollMemory();
  #current = null; // {number, key, root, control, cleanup, update} of the view that is shown
  #failed = null; // the one that could not be
  #nShown = 0;

  constructor(app, main, wanted) {
    this.#app = app;
    this.#main = main;
    this.#wanted = wanted;
  }

  async show({ isAnew = false } = {}) {
    const found = this.#wanted();
    const current = this.#current;
    markCurrent();
    if (!isAnew && found && current?.update && found.key === current.key) return this.#attempt(current, () => current.update(found.params));
    this.#leave();
    const mine = {
      number: ++this.#nShown,
      key: found?.key ?? null,
      control: new AbortController(),
      root: h("div", { class: `view view-${found?.name ?? "missing"}` }),
    };
    this.#current = mine;
    if (found) return this.#attempt(mine, () => this.#render(mine, found));
    this.#place(mine);
    showMissing(mine.root, this.#app);
  }

  #leave() {
    const left = this.#current;
    this.#current = null;
    this.#failed = null;
    this.#scroll.leave();
    for (const dialog of document.querySelectorAll("dialog[open]")) dialog.close();
    left?.control.abort();
    try {
      left?.cleanup?.();
    } catch (error) {
      console.error(error);
    }
  }

  /** What goes wrong in a view is shown in its place, unless it was left meanwhile. */
  async #attempt(mine, act) {
    try {
      await act();
    } catch (error) {
      if (this.#current !== mine || error.name === "AbortError") return;
      // What the server or the network refuses is told on the page; what is our own fault, here too.
      if (!(error instanceof WeirError)) console.error(error);
      keepDrafts(mine.root);
      this.#leave();
      this.#failed = mine;
      if (!mine.root.isConnected) this.#place(mine);
      showFailure(mine.root, error, this.#app, () => this.show());
      whenHeard(this.#app.connection, error, () => this.#failed === mine && this.show());
    }
  }

  async #render(mine, found) {
    const view = await this.#load(mine, found.name);
    if (this.#current !== mine) return;
    this.#place(mine);
    this.#app.setTitle(typeof view.title === "function" ? view.title(found.params) : view.title);
    if (mine.number > 1) this.#app.announce(document.title);
    const { signal } = mine.control;
    // What a view hears of when it was left leads nowhere, and gives no other view its title.
    const whileShown = (name) => ({ value: (...args) => (signal.aborted ? undefined : this.#app[name](...args)) });
    const own = {
      signal: { value: signal },
      isReturn: { value: this.#scroll.isReturn() },
      go: whileShown("go"),
      setTitle: whileShown("setTitle"),
    };
    const given = await view.render(mine.root, found.params, Object.create(this.#app, own));
    const hooks = typeof given === "function" ? { cleanup: given } : (given ?? {});
    if (this.#current !== mine) return hooks.cleanup?.();
    Object.assign(mine, hooks);
    this.#scroll.restore();
  }

  async #load(mine, name) {
    const tell = () => this.#current === mine && replace(this.#main, h("p", { class: "view muted", role: "status" }, "Loading…"));
    const slow = setTimeout(tell, SLOW_MS);
    try {
      return await load(name);
    } finally {
      clearTimeout(slow);
    }
  }

  /** The view in place of the last one; whoever goes by keyboard or by ear starts at its top. */
  #place({ root, number }) {
    replace(this.#main, root);
    window.scrollTo(0, 0);
    if (number > 1) this.#main.focus({ preventScroll: true });
  }
}
