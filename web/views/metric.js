// SPDX-License-Identifier: Apache-2.0
// One metric: its chart over a range of choice, by day, week or month, and who measured it.

import { lineChart } from "../lib/chart.js";
import { h, replace } from "../lib/dom.js";
import { capitalised, count, number, percent } from "../lib/format.js";
import { address } from "../lib/router.js";
import { dayName, dayNumber, pointsBetween, pointsOf, summaryOf } from "../lib/series.js";
import { valueText } from "../lib/units.js";

const RANGES = [
  ["30", "30 days"],
  ["90", "90 days"],
  ["183", "6 months"],
  ["365", "1 year"],
  ["all", "All"],
];
const PERIODS = [
  ["day", "Days"],
  ["week", "Weeks"],
  ["month", "Months"],
];
const DEFAULT = { range: "183", per: "day" };

/** What is shown, out of the address: {range, per, from, to}; from and to are within the data. */
export function choiceOf(query, rows) {
  const [first, last] = [rows[0].day, rows.at(-1).day];
  const per = PERIODS.some(([name]) => name === query.per) ? query.per : DEFAULT.per;
  const isDay = (text) => Number.isFinite(dayNumber(text ?? ""));
  if (isDay(query.from) && isDay(query.to) && query.from <= query.to)
    return { range: "own", per, from: query.from, to: query.to };
  const range = RANGES.some(([name]) => name === query.range) ? query.range : DEFAULT.range;
  if (range === "all") return { range, per, from: first, to: last };
  const from = dayName(dayNumber(last) - Number(range) + 1);
  return { range, per, from: from > first ? from : first, to: last };
}

/** Days and share of each source within what is shown. */
export function sourceCounts(rows) {
  const counts = new Map();
  for (const { source, day } of rows) {
    const entry = counts.get(source) ?? { source, n: 0, first: day, last: day };
    entry.n++;
    entry.last = day;
    counts.set(source, entry);
  }
  return [...counts.values()].sort((a, b) => b.n - a.n);
}

function choices(name, legend, options, chosen, onChange) {
  const option = ([value, label]) =>
    h(
      "label",
      { class: "choice" },
      h("input", {
        type: "radio",
        name,
        value,
        checked: value === chosen,
        on: { change: () => onChange(value) },
      }),
      h("span", null, label),
    );
  return h("fieldset", { class: "choices" }, h("legend", { class: "visually-hidden" }, legend), options.map(option));
}

function ownRange(choice, rows, onChange) {
  const [first, last] = [rows[0].day, rows.at(-1).day];
  const field = (label, value) =>
    h("input", { class: "input", type: "date", value, min: first, max: last, "aria-label": label });
  const [from, to] = [field("First day", choice.from), field("Last day", choice.to)];
  const change = () => from.value && to.value && from.value <= to.value && onChange(from.value, to.value);
  for (const input of [from, to]) input.addEventListener("change", change);
  return h("div", { class: "row range-own" }, from, h("span", { class: "muted" }, "to"), to);
}

function figures(rows, { from, to }, unit) {
  const points = pointsBetween(pointsOf(rows, unit), dayNumber(from), dayNumber(to));
  const summary = summaryOf(points);
  if (!summary) return null;
  const days = dayNumber(to) - dayNumber(from) + 1;
  const figure = (name, value, note) =>
    h(
      "div",
      { class: "figure" },
      h("dt", null, name),
      h("dd", null, h("strong", null, value), note && h("span", { class: "muted" }, note)),
    );
  const dayOf = (point) => dayName(point.index);
  return h(
    "dl",
    { class: "figures" },
    figure("Mean", valueText(summary.mean, unit)),
    figure("Lowest", valueText(summary.low.value, unit), dayOf(summary.low)),
    figure("Highest", valueText(summary.high.value, unit), dayOf(summary.high)),
    figure("Days with a value", `${number(summary.n, 0)} of ${number(days, 0)}`, percent(summary.n / days)),
  );
}

function sourcesTable(rows) {
  const total = rows.length;
  const row = ({ source, n, first, last }) =>
    h(
      "tr",
      null,
      h("th", { scope: "row" }, source ?? "unknown"),
      h("td", { class: "num" }, number(n, 0)),
      h("td", { class: "num" }, percent(n / total)),
      h("td", { class: "metric-day" }, first),
      h("td", { class: "metric-day" }, last),
    );
  const heads = [["Source"], ["Days", "num"], ["Share", "num"], ["From"], ["To"]];
  return h(
    "div",
    { class: "table-wrap", tabindex: 0, role: "region", "aria-label": "Days by source" },
    h(
      "table",
      { class: "table" },
      h(
        "thead",
        null,
        h(
          "tr",
          null,
          heads.map(([name, kind]) => h("th", { scope: "col", class: kind }, name)),
        ),
      ),
      h("tbody", null, sourceCounts(rows).map(row)),
    ),
  );
}

/** The page of a series that is loaded; update(query) draws what the address now says. */
class MetricPage {
  constructor(root, series, app) {
    Object.assign(this, { root, series, app });
    this.controls = h("div", { class: "spread metric-controls" });
    this.chart = h("div");
    this.figures = h("div");
    this.sources = h("div");
  }

  place(query) {
    const { title, data } = this.series;
    replace(
      this.root,
      h("p", { class: "back" }, h("a", { href: "#/data" }, "All data")),
      h("h1", null, capitalised(title)),
      h("section", { class: "card stack", "aria-label": "Values" }, this.controls, this.figures, this.chart),
      h(
        "section",
        { class: "card stack", "aria-labelledby": "metric-sources" },
        h("h2", { id: "metric-sources" }, "Sources"),
        this.sources,
      ),
      h(
        "p",
        { class: "hint" },
        `${count(data.length, "day")} with a value in all, ${data[0].day} to ${data.at(-1).day}.`,
      ),
    );
    this.draw(query);
  }

  #go(change) {
    const { range, per, from, to } = this.choice;
    const query = { per, ...(range === "own" ? { from, to } : { range }), ...change };
    this.app.go(address(["data", this.series.metric], query), { replace: true });
  }

  draw(query) {
    const { data, unit, title } = this.series;
    const choice = (this.choice = choiceOf(query, data));
    const held = this.controls.contains(document.activeElement) ? document.activeElement : null;
    const heldBy = held && { name: held.name, label: held.ariaLabel };
    replace(
      this.controls,
      choices("range", "Range", RANGES, choice.range, (range) => this.#go({ range, from: null, to: null })),
      ownRange(choice, data, (from, to) => this.#go({ range: null, from, to })),
      choices("per", "Values by", PERIODS, choice.per, (per) => this.#go({ per })),
    );
    if (heldBy) this.#refocus(heldBy);
    replace(this.figures, figures(data, choice, unit));
    replace(
      this.chart,
      lineChart({
        title: choice.per === "day" ? title : `${title}, mean by ${choice.per}`,
        unit,
        rows: data,
        from: choice.from,
        to: choice.to,
        per: choice.per,
        height: 300,
      }),
    );
    const shown = data.filter(({ day }) => day >= choice.from && day <= choice.to);
    replace(
      this.sources,
      shown.length > 0 ? sourcesTable(shown) : h("p", { class: "muted" }, "No values in this time."),
    );
  }

  /** Whoever chose by keyboard stays on what they chose. */
  #refocus({ name, label }) {
    const target = name
      ? this.controls.querySelector(`input[name="${name}"]:checked`)
      : this.controls.querySelector(`[aria-label="${label}"]`);
    target?.focus();
  }
}

function nothing(root, metric) {
  replace(
    root,
    h("p", { class: "back" }, h("a", { href: "#/data" }, "All data")),
    h("h1", null, capitalised(metric.replaceAll("_", " "))),
    h("p", { class: "notice" }, "There are no values of this metric. ", h("a", { href: "#/data" }, "Bring some"), "."),
  );
}

export const view = {
  title: (params) => capitalised(params.metric.replaceAll("_", " ")),
  async render(root, params, app) {
    root.append(h("p", { class: "muted", role: "status" }, "Loading…"));
    const series = await app.weir.data.series(params.metric, { signal: app.signal });
    app.setTitle(capitalised(series.title));
    if (series.data.length === 0) return nothing(root, params.metric);
    const page = new MetricPage(root, series, app);
    page.place(params.query);
    return { update: ({ query }) => page.draw(query) };
  },
};
