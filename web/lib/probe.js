// SPDX-License-Identifier: Apache-2.0
// What reads the points of a chart: a slider over the plot, for the pointer and for keys. Screen
// readers hear each value as the slider's; eyes see it in the chart's head.

import { h, s, setText } from "./dom.js";
import { perFrame } from "./frame.js";
import { linear } from "./scale.js";
import * as series from "./series.js";

const NEAR_PIXELS = 6; // a day without a value gives way to a neighbour that has one
const PAGE = { day: 30, week: 13, month: 12 };
const PAGE_OF_SPARSE = 5;
const STEPS = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 };

/** The period under the pointer, or a close one that has a value; of what is sparse always one that has. */
export function nearestIndex({ points, per, first, last, isSparse }, { x, left, right }, pixels) {
  const day = linear(left, right, first - 0.5, last + 0.5)(Math.max(left, Math.min(right, pixels)));
  const index = series.periodOf(Math.round(Math.max(first, Math.min(last, day))), per);
  const place = series.lowerBound(points, index);
  if (points[place]?.index === index) return index;
  const distance = (point) => (point ? Math.abs(x(point.at) - pixels) : Infinity);
  const near = distance(points[place - 1]) < distance(points[place]) ? points[place - 1] : points[place];
  return distance(near) <= (isSparse ? Infinity : NEAR_PIXELS) ? near.index : index;
}

/** Where a key leads from `current` between `low` and `high`; null when it is none of a slider's. */
function moved(key, current, low, high, page) {
  const targets = { PageUp: current + page, PageDown: current - page, Home: low, End: high };
  const target = targets[key] ?? current + (STEPS[key] ?? NaN);
  return Number.isNaN(target) ? null : Math.max(low, Math.min(high, target));
}

/** The period that a key leads to: the next one, or of what is sparse the next that has a value. */
export function keyTarget(key, current, { points, range, per, isSparse }) {
  if (!isSparse) return moved(key, current, ...range, PAGE[per]);
  const place = moved(key, series.lowerBound(points, current), 0, points.length - 1, PAGE_OF_SPARSE);
  return place === null ? null : points[place].index;
}

export class Probe {
  /** `tell(index)` gives [period, value] as texts; `readout` has an element for each. */
  constructor({ model, label, readout, tell }) {
    Object.assign(this, { model, readout, tell });
    this.newest = model.points.at(-1)?.index ?? model.range[1];
    this.current = this.newest;
    this.rule = s("path", { class: "chart-probe-rule" });
    this.dot = s("circle", { class: "chart-probe-dot", r: 4.5 });
    this.marks = s("g", { visibility: "hidden" }, this.rule, this.dot);
    this.element = h("div", {
      class: "chart-probe",
      role: "slider",
      tabindex: 0,
      "aria-label": label,
      "aria-orientation": "horizontal",
      "aria-valuemin": model.range[0],
      "aria-valuemax": model.range[1],
    });
    this.#listen();
    this.#rest();
  }

  #listen() {
    const { element, model } = this;
    const isFocused = () => document.activeElement === element;
    const follow = perFrame((clientX) => {
      const left = element.parentElement.getBoundingClientRect().left;
      this.#go(nearestIndex(model, this.layout, clientX - left));
    });
    element.addEventListener("pointermove", (event) => follow(event.clientX));
    element.addEventListener("pointerdown", (event) => follow(event.clientX));
    element.addEventListener("pointerleave", () => {
      follow.cancel();
      if (!isFocused()) this.#rest();
    });
    element.addEventListener("focus", () => this.#go(this.current));
    element.addEventListener("blur", () => this.#rest());
    element.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.altKey || event.metaKey) return;
      const target = keyTarget(event.key, this.current, model);
      if (target === null) return;
      event.preventDefault();
      this.#go(target);
    });
  }

  #say() {
    const [period, value] = this.tell(this.current);
    this.element.setAttribute("aria-valuenow", this.current);
    this.element.setAttribute("aria-valuetext", `${period}: ${value}`);
    setText(this.readout.firstChild, period);
    setText(this.readout.lastChild, value);
  }

  #go(index) {
    this.current = index;
    this.#say();
    this.marks.setAttribute("visibility", "visible");
    // Somebody may be here before there is a width to draw in; the first one draws this as well.
    if (this.layout) this.draw(this.layout);
  }

  /** The newest value, when nobody asks for another. */
  #rest() {
    this.current = this.newest;
    this.#say();
    this.marks.setAttribute("visibility", "hidden");
  }

  draw(layout) {
    this.layout = layout;
    const { model, current } = this;
    const point = series.pointAt(model.points, current);
    const at = layout.x(series.periodMiddle(current, model.per));
    this.rule.setAttribute("d", `M${at} ${layout.top}V${layout.bottom}`);
    this.dot.setAttribute("visibility", point ? "inherit" : "hidden");
    if (point) this.dot.setAttribute("transform", `translate(${at} ${layout.y(point.value)})`);
  }
}
