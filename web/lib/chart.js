// SPDX-License-Identifier: Apache-2.0
// Charts of values by day, as SVG that the browser scales and style sheets colour (css/data.css).
//
//   lineChart({
//     title: "Resting heart rate", unit: "bpm",
//     rows: [{ day: "2025-03-09", value: 58.6, quality: "good", source: "plain" }, …],
//     from: "2025-01-01", to: "2025-06-30",                what is shown; the rows' own days else
//     per: "day",                                          or "week", "month": means of their days
//     window: { from: "2025-03-01", to: "2025-03-31", label: "March" },       a band behind the line
//     mean: 57.1, interval: [56.2, 58.0],                  a line and a band, over the window if any
//     meanLabel: "mean", intervalLabel: "95 % interval",
//     other: { value: 59.3, label: "before", window: {…} }, a second mean, over days of its own
//     trend: { from: 59.1, to: 54.5 },                     a line from the window's begin to its end
//     isSparse: true,                                      measured now and then: no day is missing
//     height: 240,
//   })
//
// gives a <figure>. Days without a value are gaps in the line and marks under the axis, and nothing
// is drawn across them. What a point is can be read with the pointer, and with the keys of a slider;
// below is the same as a table.
//
//   sparkline(rows, { label, unit })      a small <svg> without axes

import { modelOf, valueRange } from "./chart_model.js";
import { h, newId, replace, s } from "./dom.js";
import { count } from "./format.js";
import { Probe } from "./probe.js";
import { barPath, dayTicks, dotPath, linear, linePath, valueTicks } from "./scale.js";
import * as series from "./series.js";
import { rangeText, tickText, unitName, valueText } from "./units.js";

const MIN_WIDTH = 120;
const TOP = 10;
const BOTTOM = 42; // marks of missing days, names of days, years
const RIGHT = 10;
const CHAR_WIDTH = 6.6;
const EDGE = 14; // half the width of a day's name
const VALUE_TICK_GAP = 44;
const DAY_TICK_GAP = 62;
const DOTS_FROM_GAP = 7; // pixels between days from which each gets a dot
const DENSE_BELOW_GAP = 2.5; // below which the line steps back behind what was computed from it
const TABLE_ROWS = 366; // a table grows by so many rows at a time

const longDay = new Intl.DateTimeFormat("en-GB", {
  weekday: "short",
  day: "numeric",
  month: "short",
  year: "numeric",
  timeZone: "UTC",
});
const longMonth = new Intl.DateTimeFormat("en-GB", { month: "long", year: "numeric", timeZone: "UTC" });

export function periodText(index, per) {
  const date = series.dayDate(series.periodStart(index, per));
  if (per === "month") return longMonth.format(date);
  return per === "week" ? `Week of ${longDay.format(date)}` : longDay.format(date);
}

const QUALITY_TEXT = { partial: "part of the day", not_worn: "not worn", implausible: "implausible, not counted" };

/** Scales and ticks for a width and a height. */
function layoutOf(model, width, height) {
  const plotHeight = height - TOP - BOTTOM;
  const values = valueTicks(...valueRange(model), Math.max(2, Math.floor(plotHeight / VALUE_TICK_GAP)), model.unit);
  const labels = values.ticks.map((value) => tickText(value, model.unit, values));
  const left = Math.ceil(Math.max(...labels.map((label) => label.length)) * CHAR_WIDTH) + 12;
  // Half a day on both sides, so that the first and the last point are not on the edge.
  const x = linear(model.first - 0.5, model.last + 0.5, left, width - RIGHT);
  const y = linear(values.ticks[0], values.ticks.at(-1), height - BOTTOM, TOP);
  const days = dayTicks(model.first, model.last, Math.max(2, Math.floor((width - left) / DAY_TICK_GAP)));
  const clamped = (value) => Math.max(TOP, Math.min(height - BOTTOM, y(value)));
  return {
    width,
    left,
    right: width - RIGHT,
    top: TOP,
    bottom: height - BOTTOM,
    x,
    y: clamped,
    values,
    labels,
    days,
  };
}

/** Names at the edges are kept within. */
function anchorOf(at, { left, right }) {
  if (at < left + EDGE) return { x: Math.max(left, at - EDGE), "text-anchor": "start" };
  return at > right - EDGE ? { x: right, "text-anchor": "end" } : { x: at, "text-anchor": "middle" };
}

function axes(layout) {
  const { left, right, bottom, values, labels, days, x, y } = layout;
  const rules = values.ticks.map((value) => `M${left} ${y(value)}H${right}`).join("");
  return [
    s("path", { class: "chart-rule", d: rules }),
    values.ticks.map((value, i) => s("text", { class: "chart-value", x: left - 8, y: y(value) + 4, text: labels[i] })),
    s("path", {
      class: "chart-axis",
      d: `M${left} ${bottom}H${right}${days.map((tick) => `M${x(tick.at)} ${bottom}v4`).join("")}`,
    }),
    days.map((tick) => {
      const place = anchorOf(x(tick.at), layout);
      return [
        s("text", { ...place, y: bottom + 22, text: tick.label }),
        tick.year && s("text", { ...place, class: "chart-year", y: bottom + 36, text: tick.year }),
      ];
    }),
  ];
}

/** From where to where the window reaches, or all that is shown. */
function windowEdges(band, { x, left, right }) {
  const clip = (value) => Math.max(left, Math.min(right, value));
  return band ? [clip(x(band.first - 0.5)), clip(x(band.last + 0.5))] : [left, right];
}

function windowBand(model, layout) {
  const [begin, end] = windowEdges(model.band, layout);
  return (
    model.band &&
    s("rect", {
      class: "chart-window",
      x: begin,
      y: TOP,
      width: Math.max(1, end - begin),
      height: layout.bottom - TOP,
    })
  );
}

/** What was computed over the window, in front of the values. */
function results(model, layout) {
  const { mean, other, interval, trend } = model;
  const { y } = layout;
  const [begin, end] = windowEdges(model.band, layout);
  const [otherBegin, otherEnd] = windowEdges(model.otherBand ?? model.band, layout);
  const [low, high] = interval ? [y(interval[0]), y(interval[1])] : [];
  return [
    interval &&
      s("rect", {
        class: "chart-interval",
        x: begin,
        y: high,
        width: Math.max(1, end - begin),
        height: Math.max(1, low - high),
      }),
    Number.isFinite(mean) && s("path", { class: "chart-mean", d: `M${begin} ${y(mean)}H${end}` }),
    other && s("path", { class: "chart-mean chart-mean-other", d: `M${otherBegin} ${y(other.value)}H${otherEnd}` }),
    trend && s("path", { class: "chart-trend", d: `M${begin} ${y(trend.from)}L${end} ${y(trend.to)}` }),
  ];
}

function line(model, { x, y }) {
  const pixelsPerPeriod =
    model.points.length > 1
      ? (x(model.last) - x(model.first)) / Math.max(1, model.range[1] - model.range[0])
      : DOTS_FROM_GAP;
  const segments = model.isSparse
    ? [model.points.filter(series.isTrusted)]
    : series.segmentsOf(model.points);
  const columnOf = (point) => Math.floor(x(point.at));
  const drawn = pixelsPerPeriod < 1 ? segments.map((segment) => series.thin(segment, columnOf)) : segments;
  const hasDots = pixelsPerPeriod >= DOTS_FROM_GAP || model.isSparse;
  const dots = hasDots ? drawn.flat() : drawn.filter((segment) => segment.length === 1).flat();
  const doubtful = model.points.filter((point) => !series.isTrusted(point));
  return [
    s("path", {
      class: ["chart-line", pixelsPerPeriod < DENSE_BELOW_GAP && "chart-line-dense"],
      d: linePath(drawn, x, y),
    }),
    s("path", { class: ["chart-dots", model.isSparse && "chart-dots-sparse"], d: dotPath(dots, x, y) }),
    doubtful.length > 0 && s("path", { class: "chart-doubtful", d: dotPath(doubtful, x, y) }),
  ];
}

function missingMarks({ missing, per }, { x, bottom }) {
  const runs = missing.map(({ from, to }) => ({
    from: series.periodStart(from, per) - 0.5,
    to: series.periodStart(to + 1, per) - 0.5,
  }));
  return s("path", { class: "chart-missing", d: barPath(runs, x, bottom + 5, 4) });
}

function describe({ title, unit, per, first, last, summary, missing, points, isSparse }) {
  if (!summary) return `${title}: no values.`;
  const { low, high, mean } = summary;
  const at = (point) => longDay.format(series.dayDate(point.index));
  const gaps = isSparse ? "" : `; ${count(series.countOf(missing), per)} without a value`;
  return (
    `${title} by ${per}, ${longDay.format(series.dayDate(first))} to ${longDay.format(series.dayDate(last))}: ` +
    `${count(points.length, "value")}, mean ${valueText(mean, unit)}, lowest ${valueText(low.value, unit)} on ${at(low)}, ` +
    `highest ${valueText(high.value, unit)} on ${at(high)}${gaps}.`
  );
}

function legend(model) {
  const {
    unit,
    mean,
    meanLabel = "mean",
    other,
    interval,
    intervalLabel = "95 % interval",
    band,
    missing,
    per,
    trend,
  } = model;
  const item = (kind, text) =>
    h(
      "li",
      { class: "chart-key" },
      h("span", { class: `chart-swatch chart-swatch-${kind}`, "aria-hidden": "true" }),
      text,
    );
  const gaps = series.countOf(missing);
  const doubtful = model.points.filter((point) => !series.isTrusted(point)).length;
  const items = [
    Number.isFinite(mean) && item("mean", `${meanLabel} ${valueText(mean, unit)}`),
    other && item("other", `${other.label} ${valueText(other.value, unit)}`),
    interval && item("interval", `${intervalLabel} ${rangeText(...interval, unit)}`),
    trend && item("trend", `trend ${rangeText(trend.from, trend.to, unit)}`),
    band && item("window", band.label ?? "window"),
    gaps > 0 && item("missing", `${count(gaps, per)} without a value`),
    doubtful > 0 && item("doubtful", `${count(doubtful, "value")} not counted`),
  ].filter(Boolean);
  return items.length > 0 && h("ul", { class: "chart-legend" }, items);
}

function pointText(point, model) {
  if (!point) return "no value";
  const more = [QUALITY_TEXT[point.quality], model.per !== "day" && `mean of ${count(point.n, "day")}`].filter(Boolean);
  return [valueText(point.value, model.unit), ...more].join(", ");
}

function tableOf(model) {
  const { points, per, unit, title } = model;
  const body = h("tbody");
  const more = h(
    "button",
    { class: "button button-small", on: { click: () => grow() } },
    "Show earlier values",
  );
  let end = points.length;
  function grow() {
    const start = Math.max(0, end - TABLE_ROWS);
    for (let i = end - 1; i >= start; i--)
      body.append(
        h(
          "tr",
          null,
          h("th", { scope: "row" }, periodText(points[i].index, per)),
          h("td", null, pointText(points[i], model)),
          h("td", null, points[i].source ?? ""),
        ),
      );
    end = start;
    more.hidden = end === 0;
  }
  grow();
  const head = h(
    "thead",
    null,
    h(
      "tr",
      null,
      [per, unitName(unit === "clock" ? "time" : unit) || "value", "source"].map((name) =>
        h("th", { scope: "col" }, name),
      ),
    ),
  );
  const table = h(
    "table",
    { class: "chart-table" },
    h("caption", { class: "visually-hidden" }, `${title}, the newest first`),
    head,
    body,
  );
  return h(
    "div",
    { class: "chart-table-box", tabindex: 0, role: "region", "aria-label": `${title} as a table` },
    table,
    more,
  );
}

/** The table is only made for those who open it. */
function tableAlternative(model) {
  const details = h("details", { class: "chart-details" }, h("summary", null, "Values as a table"));
  details.addEventListener(
    "toggle",
    () => details.open && details.children.length === 1 && details.append(tableOf(model)),
  );
  return details;
}

/** The title with its unit, and the value in question. */
function head(model, readout) {
  const isToldByTicks = model.unit === "clock" || layoutOf(model, MIN_WIDTH, MIN_WIDTH).values.isHours;
  const unit = isToldByTicks || model.unit === model.title ? "" : unitName(model.unit);
  return h(
    "figcaption",
    { class: "chart-head" },
    h("span", { class: "chart-title" }, model.title, unit && h("span", { class: "muted" }, `, ${unit}`)),
    readout,
  );
}

function drawingOf(model, layout) {
  return [
    windowBand(model, layout),
    axes(layout),
    missingMarks(model, layout),
    line(model, layout),
    results(model, layout),
  ];
}

export function lineChart(options) {
  const { title = "Values", height = 240 } = options;
  const model = modelOf({ ...options, title });
  if (!model.summary)
    return h("figure", { class: "chart" }, h("p", { class: "muted" }, `${title}: no values in this time.`));
  const [titleId, descId] = [newId("chart-title"), newId("chart-desc")];
  const readout = h("span", { class: "chart-readout", "aria-hidden": "true" }, h("span"), h("strong"));
  const tell = (index) => [periodText(index, model.per), pointText(series.pointAt(model.points, index), model)];
  const probe = new Probe({ model, label: `${title}: read values by ${model.per}`, readout, tell });
  const drawing = s("g");
  const svg = s(
    "svg",
    { class: "chart-svg", role: "img", "aria-labelledby": `${titleId} ${descId}`, height },
    s("title", { id: titleId }, title),
    s("desc", { id: descId }, describe(model)),
    drawing,
    probe.marks,
  );
  const plot = h("div", { class: "chart-plot" }, svg, probe.element);

  function draw(width) {
    const layout = layoutOf(model, Math.max(MIN_WIDTH, width), height);
    svg.setAttribute("viewBox", `0 0 ${layout.width} ${height}`);
    replace(drawing, drawingOf(model, layout));
    Object.assign(probe.element.style, { left: `${layout.left}px`, right: `${RIGHT}px`, bottom: `${BOTTOM}px` });
    probe.draw(layout);
  }
  // It is told the first width before anything is painted, and each other once per frame.
  new ResizeObserver(([entry]) => draw(entry.contentRect.width)).observe(plot);
  return h("figure", { class: "chart" }, head(model, readout), plot, legend(model), tableAlternative(model));
}

const SPARK_WIDTH = 120;
const SPARK_HEIGHT = 28;
const SPARK_PAD = 3;

/** The last of a series at a glance. Decoration unless `label` names it. */
export function sparkline(rows, { label = null, unit = "", width = SPARK_WIDTH, height = SPARK_HEIGHT } = {}) {
  const points = series.pointsOf(rows, unit).filter(series.isTrusted);
  const props = label ? { role: "img", "aria-label": label } : { "aria-hidden": "true" };
  const svg = s("svg", { class: "sparkline", viewBox: `0 0 ${width} ${height}`, width, height, ...props });
  if (points.length === 0) return svg;
  const [low, high] = valueRange({ points });
  const x = linear(points[0].at, points.at(-1).at, SPARK_PAD, width - SPARK_PAD);
  const y = linear(low, high, height - SPARK_PAD, SPARK_PAD);
  const segments = series.segmentsOf(points).map((segment) => series.thin(segment, (point) => Math.floor(x(point.at))));
  const single = segments.filter((segment) => segment.length === 1).flat();
  svg.append(
    s("path", { class: "sparkline-line", d: linePath(segments, x, y) }),
    s("path", { class: "sparkline-dots", d: dotPath(single, x, y) }),
    s("path", { class: "sparkline-last", d: dotPath([points.at(-1)], x, y) }),
  );
  return svg;
}
