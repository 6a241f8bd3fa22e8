// SPDX-License-Identifier: Apache-2.0
// What a chart shows, as plain data: all that its drawing needs and that its width does not change.

import * as series from "./series.js";

const dayOr = (text, other) => {
  const day = series.dayNumber(text ?? "");
  return Number.isFinite(day) ? day : other;
};

/** Results that were computed from times of day stand where the times do. */
function nearDays({ mean = null, other = null, interval = null, trend = null }, unit, days) {
  if (unit !== "clock" || days.length === 0) return { mean, other, interval, trend };
  const centre = series.clockCentre(days.map((point) => point.value));
  const near = (value) => (Number.isFinite(value) ? series.clockNear(value, centre) : value);
  return {
    mean: near(mean),
    other: other && { ...other, value: near(other.value) },
    interval: interval && interval.map(near),
    trend: trend && { from: near(trend.from), to: near(trend.to) },
  };
}

function bandOf(window) {
  if (!window) return null;
  const [first, last] = [series.dayNumber(window.from), series.dayNumber(window.to)];
  return first <= last ? { ...window, first, last } : null;
}

/** The options of lineChart(), with points in place of rows. */
export function modelOf({ rows = [], unit = "", per = "day", from, to, window, isSparse = false, ...rest }) {
  const all = series.pointsOf(rows, unit);
  const first = dayOr(from, all[0]?.index ?? 0);
  const last = Math.max(first, dayOr(to, all.at(-1)?.index ?? first));
  const days = series.pointsBetween(all, first, last);
  const points = series.aggregate(days, per);
  const range = [series.periodOf(first, per), series.periodOf(last, per)];
  return {
    ...rest,
    ...nearDays(rest, unit, days),
    ...{ unit, per, points, first, last, range, isSparse },
    band: bandOf(window),
    otherBand: bandOf(rest.other?.window),
    missing: isSparse ? [] : series.missingRuns(points, ...range),
    summary: series.summaryOf(days),
  };
}

/** The smallest and the largest of what is drawn. */
export function valueRange({ points, mean, other, interval, trend }) {
  const extra = [mean, other?.value, ...(interval ?? []), trend?.from, trend?.to].filter(Number.isFinite);
  let low = Infinity;
  let high = -Infinity;
  for (const value of [...points.filter(series.isTrusted).map((point) => point.value), ...extra]) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low <= high ? [low, high] : [0, 1];
}
