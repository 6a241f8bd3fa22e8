// SPDX-License-Identifier: Apache-2.0
// The days behind an entry of the fact sheet, drawn: a series, or results of a laboratory.

import { lineChart } from "../lib/chart.js";
import { h, replace } from "../lib/dom.js";
import { address } from "../lib/router.js";
import { chartOf, windowText } from "./numbers.js";
import { numberName, plainName } from "./words.js";

const MAX_RESULTS = 500; // of a laboratory that are looked through
const HEIGHT = 220;

/** The days that are drawn: some around the window, but none before the first value or behind the last. */
function shownDays({ from, to, window }, { first, last }) {
  const latest = (a, b) => (a > b ? a : b);
  const earliest = (a, b) => (a < b ? a : b);
  return { from: earliest(latest(from, first), window.from), to: latest(earliest(to, last), window.to) };
}

async function dailySeries(app, known, plan, signal) {
  const days = shownDays(plan, known);
  return { ...(await app.weir.data.series(known.metric, { ...days, signal })), ...days };
}

/** Results of a laboratory as a series; null: there are none of that test. */
async function labSeries(app, metric, signal) {
  const rows = [];
  let title = null;
  let unit = null;
  let n = 0;
  for await (const result of app.weir.labs.list({ limit: 100, signal }).iter()) {
    if (++n > MAX_RESULTS) break;
    if (result.analyte !== metric || (unit !== null && result.unit !== unit)) continue;
    ({ title, unit } = result);
    rows.push({ day: result.date, value: result.value, source: result.source });
  }
  return rows.length > 0 ? { metric, title, unit, data: rows, isSparse: true } : null;
}

async function seriesOf(app, metrics, plan, signal) {
  const known = new Map((await app.weir.data.metrics({ signal })).map((each) => [each.metric, each]));
  return Promise.all(
    metrics.map((metric) =>
      known.has(metric) ? dailySeries(app, known.get(metric), plan, signal) : labSeries(app, metric, signal),
    ),
  );
}

function figure(series, plan, fact) {
  if (!series || series.data.length === 0)
    return h("p", { class: "notice" }, "The values behind this number are no longer there.");
  const isOwn = series.metric === plan.metric;
  const band = { ...plan.window, label: `window of this number, ${windowText(fact)}` };
  return lineChart({
    title: plainName(series.title),
    unit: series.unit,
    rows: series.data,
    height: HEIGHT,
    isSparse: series.isSparse ?? false,
    from: series.from,
    to: series.to,
    window: series.isSparse ? null : band,
    mean: isOwn ? plan.mean : null,
    meanLabel: plan.meanName ? numberName(plan.meanName) : "mean",
    other: isOwn && plan.other ? { ...plan.other, label: numberName(plan.other.claim) } : null,
    interval: isOwn ? plan.interval : null,
    trend: isOwn ? plan.trend : null,
  });
}

/** An element that fills itself; `signal` ends the loading. */
export function factChart(app, fact, sheet, finding, signal) {
  const plan = chartOf(fact, sheet, finding);
  if (!plan) return null;
  const box = h(
    "div",
    { class: "fact-chart", "aria-busy": "true" },
    h("p", { class: "muted" }, "Loading the days behind it…"),
  );
  const metrics = [plan.metric, plan.metricY].filter(Boolean);
  seriesOf(app, metrics, plan, signal).then(
    (all) => {
      if (signal.aborted) return;
      const links = metrics.map(
        (metric, i) =>
          all[i] &&
          !all[i].isSparse &&
          h("a", { href: address(["data", metric]) }, `All days of ${all[i].title}`),
      );
      replace(
        box,
        all.map((series) => figure(series, plan, fact)),
        h("p", { class: "row hint" }, links),
      );
      box.removeAttribute("aria-busy");
    },
    (error) => {
      if (signal.aborted) return;
      replace(
        box,
        h(
          "p",
          { class: "notice notice-bad" },
          `The days behind this number could not be loaded: ${error.message}`,
        ),
      );
      box.removeAttribute("aria-busy");
    },
  );
  return box;
}
