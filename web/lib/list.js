// SPDX-License-Identifier: Apache-2.0
// A list of any length of which only what is seen exists.
//
//   const list = virtualList({ label: "Turns", rowHeight: 56, renderRow: (index) => node });
//   list.element              the scrolling element; give it a height
//   list.update(count)        so many rows; those that are seen are drawn anew
//   list.grow(count)          the same rows and some more behind them; nothing is drawn anew
//   list.refresh(index)       another content of one row, or of all without an index
//   list.scrollTo(index), list.destroy()
//
// options: isMeasured     rows are as high as their content; rowHeight is a guess then
//          followEnd      begins at the end and stays there while rows come, until somebody scrolls
//                         up, and again when they are back
//          onNearEnd()    the last rows are near: the time to load more
//          isComplete     false: there are more rows than count, nobody knows how many
//
// It is a list for screen readers, with each row's place in the whole, and one stop of the Tab key:
// arrows, Page Up and Down, Home and End move within; of a row that is higher than the view they first show
// the rest. What a row is focused by is its first link or button, or the row itself. What scrolls by
// itself inside of a row has its keys when it has the focus.

import { h } from "./dom.js";
import { perFrame } from "./frame.js";
import { Heights } from "./heights.js";

const OVERSCAN_ROWS = 6;
const NEAR_END_PX = 40;
const STEP_PX = 40; // of an arrow key, within a row
const PAGE_SHARE = 0.9; // of the view, by Page Up and Down

/** The rows [first, end) that are seen, with some before and behind. */
export function visibleRange(heights, top, viewHeight, overscan = OVERSCAN_ROWS) {
  if (heights.count === 0) return { first: 0, end: 0 };
  const first = Math.max(0, heights.indexAt(top) - overscan);
  const end = Math.min(heights.count, heights.indexAt(top + viewHeight) + 1 + overscan);
  return { first, end };
}

export function virtualList(options) {
  const list = new VirtualList(options);
  list.update(options.count ?? 0);
  return list;
}

class VirtualList {
  #options;
  #heights;
  #rows = new Map(); // index → element
  #active = 0; // the row that Tab leads to
  #inner;
  #later = perFrame(() => this.#draw());
  #resized;
  #isFollowing;
  #lastTop = 0;

  constructor({ label, rowHeight = 48, isComplete = true, class: extra, ...options }) {
    this.#options = options;
    this.#isFollowing = Boolean(options.followEnd);
    this.isComplete = isComplete;
    this.#heights = new Heights(0, rowHeight);
    this.#inner = h("div", { class: "vlist-inner", role: "list", "aria-label": label });
    this.element = h("div", { class: ["vlist", extra] }, this.#inner);
    this.element.addEventListener("keydown", (event) => this.#onKey(event));
    this.element.addEventListener("focusin", (event) => this.#onFocus(event));
    this.element.addEventListener("scroll", () => this.#onScroll(), { passive: true });
    this.#resized = new ResizeObserver((entries) => this.#onResize(entries));
    this.#resized.observe(this.element);
  }

  get count() {
    return this.#heights.count;
  }

  update(count) {
    const focused = this.#focusedRow();
    this.#resize(count);
    this.refresh();
    if (focused >= 0) this.#keepFocus(focused);
  }

  grow(count) {
    this.#resize(count);
    for (const row of this.#rows.values()) this.#number(row);
    this.#later();
  }

  /** Another estimate, as when the page became narrower. */
  setRowHeight(rowHeight) {
    if (rowHeight === this.#heights.estimate) return;
    const first = this.#heights.indexAt(this.element.scrollTop);
    this.#heights.reset(rowHeight);
    this.refresh();
    this.element.scrollTop = this.#heights.offset(first);
  }

  refresh(index = null) {
    const focused = this.#focusedRow();
    for (const [each, row] of this.#rows) if (index === null || each === index) this.#remove(each, row);
    this.#draw();
    if (focused >= 0) this.#keepFocus(focused);
  }

  scrollTo(index) {
    const top = this.#heights.offset(index);
    const bottom = top + this.#heights.get(index);
    const { scrollTop, clientHeight } = this.element;
    // No further than needed; of a row that is higher than the view the edge that one comes from.
    const [low, high] = [top, bottom - clientHeight].sort((a, b) => a - b);
    const wanted = Math.max(low, Math.min(scrollTop, high));
    if (wanted !== scrollTop) this.element.scrollTop = wanted;
  }

  destroy() {
    this.#later.cancel();
    this.#resized.disconnect();
  }

  // ---- drawing ----

  #resize(count) {
    this.#heights.resize(count);
    for (const [index, row] of this.#rows) if (index >= count) this.#remove(index, row);
    this.#active = Math.max(0, Math.min(this.#active, count - 1));
    this.#fit();
  }

  /** As high as all rows together. */
  #fit() {
    this.#inner.style.height = `${this.#heights.total}px`;
    this.element.style.setProperty("--rows-height", `${this.#heights.total}px`);
    if (this.#isFollowing) this.element.scrollTop = this.#heights.total;
  }

  #remove(index, row) {
    this.#rows.delete(index);
    this.#resized.unobserve(row);
    row.remove();
  }

  #draw() {
    const { scrollTop, clientHeight } = this.element;
    const { first, end } = visibleRange(this.#heights, scrollTop, clientHeight);
    const focused = this.#focusedRow();
    if (focused < 0 && this.count > 0) this.#keepTabStop(scrollTop, first, end);
    // A row that has the focus stays: the browser would drop it on the floor.
    for (const [index, row] of this.#rows) if ((index < first || index >= end) && index !== focused) this.#remove(index, row);
    let before = null;
    for (let index = first; index < end; index++) {
      const row = this.#rows.get(index) ?? this.#make(index);
      // In the order of reading, not of scrolling.
      if (!row.isConnected) this.#inner.insertBefore(row, before ? before.nextSibling : this.#inner.firstChild);
      before = row;
    }
    if (end >= this.count && this.count > 0) this.#options.onNearEnd?.();
  }

  #make(index) {
    const row = h("div", { class: "vlist-row", role: "listitem", data: { index } }, this.#options.renderRow(index));
    if (this.#options.isMeasured) this.#resized.observe(row);
    else row.style.height = `${this.#heights.get(index)}px`;
    row.style.transform = `translateY(${this.#heights.offset(index)}px)`;
    this.#number(row);
    target(row).tabIndex = index === this.#active ? 0 : -1;
    this.#rows.set(index, row);
    return row;
  }

  #number(row) {
    row.setAttribute("aria-posinset", Number(row.dataset.index) + 1);
    row.setAttribute("aria-setsize", this.isComplete ? this.count : -1);
  }

  /** Heights that became known: what is above the view must not push what is read. */
  #onResize(entries) {
    const top = this.element.scrollTop;
    let pushed = 0;
    let hasChanged = false;
    for (const { target: row, borderBoxSize } of entries) {
      if (row === this.element || !row.isConnected) continue;
      const index = Number(row.dataset.index);
      const isAbove = this.#heights.offset(index) + this.#heights.get(index) <= top;
      const grown = this.#heights.set(index, borderBoxSize[0].blockSize);
      if (grown !== 0) hasChanged = true;
      if (isAbove) pushed += grown;
    }
    if (hasChanged) {
      for (const [index, row] of this.#rows) row.style.transform = `translateY(${this.#heights.offset(index)}px)`;
    }
    this.#fit();
    if (pushed !== 0 && !this.#isFollowing) this.element.scrollTop = top + pushed;
    this.#later();
  }

  /** Only somebody's hand moves it up; what grows and what follows move it down. */
  #onScroll() {
    const { scrollTop, clientHeight } = this.element;
    const isAtEnd = scrollTop + clientHeight >= this.#heights.total - NEAR_END_PX;
    if (isAtEnd) this.#isFollowing = Boolean(this.#options.followEnd);
    else if (scrollTop < this.#lastTop) this.#isFollowing = false;
    this.#lastTop = scrollTop;
    this.#later();
  }

  // ---- keys ----

  #focusedRow() {
    const row = document.activeElement?.closest?.(".vlist-row");
    return row && this.#inner.contains(row) ? Number(row.dataset.index) : -1;
  }

  /** Tab has to lead to a row that exists, and that is seen. */
  #keepTabStop(scrollTop, first, end) {
    if (this.#active >= first && this.#active < end) return;
    this.#setActive(Math.min(this.count - 1, this.#heights.indexAt(scrollTop)));
  }

  #setActive(index) {
    const setTab = (row, value) => row && (target(row).tabIndex = value);
    setTab(this.#rows.get(this.#active), -1);
    this.#active = index;
    setTab(this.#rows.get(index), 0);
  }

  #onFocus(event) {
    const index = this.#focusedRow();
    if (index >= 0 && event.target === target(this.#rows.get(index))) this.#setActive(index);
  }

  /** Of a row that was made anew, or of the last one where it is gone. */
  #keepFocus(index) {
    if (this.count > 0 && !this.element.contains(document.activeElement)) this.#focus(index);
  }

  #focus(index, top = null) {
    const wanted = Math.max(0, Math.min(index, this.count - 1));
    this.scrollTo(wanted);
    if (top !== null) this.element.scrollTop = top;
    this.#draw();
    const row = this.#rows.get(wanted);
    if (!row) return;
    target(row).focus({ preventScroll: true });
    this.#setActive(wanted);
  }

  #onKey(event) {
    if (event.ctrlKey || event.altKey || event.metaKey || event.shiftKey || this.count === 0) return;
    if (/^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName) || scrolls(event.target)) return;
    const at = this.#active;
    const page = this.element.clientHeight * PAGE_SHARE;
    const ways = { ArrowDown: STEP_PX, ArrowUp: -STEP_PX, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    const way = ways[event.key];
    if (!way) return;
    event.preventDefault();
    if (way === -Infinity) return this.#focus(0, 0);
    if (way === Infinity) return this.#focus(this.count - 1, this.#heights.total);
    if (this.#scrollInside(way)) return;
    const far = Math.abs(way) === page ? this.#heights.indexAt(this.#heights.offset(at) + way) : at;
    this.#focus(way > 0 ? Math.max(at + 1, far) : Math.min(at - 1, far));
  }

  /** True: there was more to see of the row that one is at, in this direction. */
  #scrollInside(way) {
    const { scrollTop, clientHeight } = this.element;
    const height = this.#heights.get(this.#active);
    const end = this.#heights.offset(this.#active) + (way > 0 ? height - clientHeight : 0);
    const left = Math.abs(end - scrollTop);
    // Behind its end it has been read, and one that is further away than it is high is not seen.
    if (height <= clientHeight || left < 1 || left >= height || end > scrollTop !== way > 0) return false;
    this.element.scrollTop += Math.sign(way) * Math.min(left, Math.abs(way));
    return true;
  }
}

const scrolls = (element) => /auto|scroll/.test(getComputedStyle(element).overflow);

function target(row) {
  return row.querySelector("a[href], button") ?? row;
}
