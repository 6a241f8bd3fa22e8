// SPDX-License-Identifier: Apache-2.0
// A conversation of any length, of which only what is seen exists. Rows are kept for a while, so that
// what was opened stays open, and the one that grows is never made anew.

import { virtualList } from "../lib/list.js";

const GUESSED_PX = 120;
const KEPT_VIEWS = 120;

/** `makeView(item)` gives {element, update(item)}; items have a `key`. */
export class Transcript {
  #rows = [];
  #views = new Map(); // key → {view, item}
  #makeView;

  constructor({ label, makeView }) {
    this.#makeView = makeView;
    this.list = virtualList({
      label,
      rowHeight: GUESSED_PX,
      isMeasured: true,
      followEnd: true,
      class: "transcript",
      renderRow: (index) => this.#element(this.#rows[index]),
    });
    this.element = this.list.element;
  }

  #element(item) {
    const known = this.#views.get(item.key);
    if (known) {
      // The newest last: the first to go is what was not looked at for the longest time.
      this.#views.delete(item.key);
      this.#views.set(item.key, known);
      this.#updateView(known, item);
      return known.view.element;
    }
    const view = this.#makeView(item);
    view.update(item);
    this.#views.set(item.key, { view, item });
    this.#forgetSome();
    return view.element;
  }

  #updateView(known, item) {
    if (known.item === item) return;
    known.item = item;
    known.view.update(item);
  }

  #forgetSome() {
    for (const [key, { view }] of this.#views) {
      if (this.#views.size <= KEPT_VIEWS) return;
      if (!view.element.isConnected) this.#views.delete(key);
    }
  }

  /** Other rows; what has not changed is the same object as before. */
  update(rows) {
    const before = this.#rows;
    this.#rows = rows;
    const isLonger = rows.length >= before.length && before.every((item, i) => item.key === rows[i].key);
    if (!isLonger) return this.list.update(rows.length);
    for (const [i, item] of before.entries()) {
      const known = item === rows[i] ? null : this.#views.get(item.key);
      if (known) this.#updateView(known, rows[i]);
    }
    if (rows.length > before.length) this.list.grow(rows.length);
  }

  toEnd() {
    this.element.scrollTop = this.element.scrollHeight;
  }

  destroy() {
    this.list.destroy();
  }
}
