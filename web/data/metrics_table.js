// SPDX-License-Identifier: Apache-2.0
// What was measured: a row a metric, with its newest value and its last days as a small line.

import { sparkline } from "../lib/chart.js";
import { h, replace } from "../lib/dom.js";
import { capitalised, count, number } from "../lib/format.js";
import { address } from "../lib/router.js";
import { dayName, dayNumber, isTrusted } from "../lib/series.js";
import { valueText } from "../lib/units.js";

const SPARK_DAYS = 60;
const AT_ONCE = 3; // a browser has six connections for everything
const FILTER_FROM = 12; // metrics from which a list is long enough to be searched

function row(metric) {
  const cell = (label, props, ...children) => h("td", { data: { label }, ...props }, ...children);
  return h(
    "tr",
    { data: { metric: metric.metric } },
    h(
      "th",
      { scope: "row", class: "metric-name" },
      h("a", { href: address(["data", metric.metric]) }, capitalised(metric.title)),
    ),
    cell("Last 60 days", { class: "metric-spark" }),
    cell("Newest", { class: "metric-newest num" }),
    cell("Days", { class: "num" }, number(metric.n, 0)),
    cell("From", { class: "metric-day" }, metric.first),
    cell("To", { class: "metric-day" }, metric.last),
    cell("Sources", { class: "metric-sources" }, metric.sources.join(", ")),
  );
}

/**
 * Small charts that are loaded when they come into view, a few at a time, so that a list of a hundred metrics costs
 * what is seen of it: load(element, signal) is called once for each element that `watch` was given and that is seen.
 */
export class SeenLoader {
  #waiting = [];
  #running = 0;
  #control = new AbortController();
  #observer;

  constructor(load, { Observer = globalThis.IntersectionObserver } = {}) {
    this.load = load;
    this.#observer = new Observer(
      (entries) => {
        for (const { isIntersecting, target } of entries) {
          if (!isIntersecting) continue;
          this.#observer.unobserve(target);
          this.#waiting.push(target);
        }
        this.#next();
      },
      { rootMargin: "200px" },
    );
  }

  watch(element) {
    this.#observer.observe(element);
  }

  #next() {
    const { signal } = this.#control;
    while (this.#running < AT_ONCE && this.#waiting.length > 0 && !signal.aborted) {
      this.#running++;
      this.load(this.#waiting.shift(), signal).finally(() => {
        this.#running--;
        this.#next();
      });
    }
  }

  close() {
    this.#observer.disconnect();
    this.#control.abort();
  }
}

/** The last days of a metric, drawn into its row. */
async function fill(element, metric, app, signal) {
  try {
    const from = dayName(dayNumber(metric.last) - SPARK_DAYS + 1);
    const { data } = await app.weir.data.series(metric.metric, { from, signal });
    const newest = data.findLast(isTrusted);
    replace(element.querySelector(".metric-spark"), sparkline(data, { unit: metric.unit }));
    replace(element.querySelector(".metric-newest"), newest ? valueText(newest.value, metric.unit) : "–");
  } catch (error) {
    if (!signal.aborted)
      replace(element.querySelector(".metric-newest"), h("span", { class: "muted", title: error.message }, "–"));
  }
}

function filterField(rows, app) {
  const input = h("input", {
    class: "input",
    type: "search",
    placeholder: "Find a metric",
    "aria-label": "Find a metric",
    autocomplete: "off",
  });
  input.addEventListener("input", () => {
    const word = input.value.trim().toLowerCase();
    let shown = 0;
    for (const [element, metric] of rows) {
      element.hidden = !`${metric.title} ${metric.metric} ${metric.sources.join(" ")}`.toLowerCase().includes(word);
      if (!element.hidden) shown++;
    }
    app.announce(count(shown, "metric"));
  });
  return h("div", { class: "metric-filter" }, input);
}

/** { element, close } */
export function metricsTable(metrics, app) {
  const rows = new Map(metrics.map((metric) => [row(metric), metric]));
  const loader = new SeenLoader((element, signal) => fill(element, rows.get(element), app, signal));
  for (const element of rows.keys()) loader.watch(element);
  const heads = ["Metric", "Last 60 days", "Newest", "Days", "From", "To", "Sources"];
  const head = h(
    "thead",
    null,
    h(
      "tr",
      null,
      heads.map((name) => h("th", { scope: "col", class: ["Newest", "Days"].includes(name) && "num" }, name)),
    ),
  );
  const table = h(
    "table",
    { class: "table metrics" },
    h("caption", { class: "visually-hidden" }, "What was measured"),
    head,
    h("tbody", null, [...rows.keys()]),
  );
  const element = h("div", { class: "stack" }, metrics.length >= FILTER_FROM && filterField(rows, app), table);
  return { element, close: () => loader.close() };
}

/** Who measured: a row a source, with what it brought. */
export function sourcesOf(metrics) {
  const sources = new Map();
  for (const { title, first, last, sources: names } of metrics) {
    for (const name of names) {
      const source = sources.get(name) ?? { name, titles: [], first, last };
      source.titles.push(title);
      if (first < source.first) source.first = first;
      if (last > source.last) source.last = last;
      sources.set(name, source);
    }
  }
  return [...sources.values()].sort((a, b) => b.titles.length - a.titles.length || a.name.localeCompare(b.name));
}

export function sourcesList(metrics) {
  const item = ({ name, titles, first, last }) =>
    h(
      "li",
      { class: "source" },
      h(
        "div",
        { class: "spread" },
        h("strong", null, name),
        h("span", { class: "metric-day" }, `${first} to ${last}`),
      ),
      h(
        "details",
        null,
        h("summary", null, count(titles.length, "metric")),
        h("p", { class: "muted" }, titles.map(capitalised).join(", ")),
      ),
    );
  return h("ul", { class: "sources" }, sourcesOf(metrics).map(item));
}
