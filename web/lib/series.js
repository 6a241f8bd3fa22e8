// SPDX-License-Identifier: Apache-2.0
// Values by day as plain data: days as numbers, periods, what is missing, fewer points for fewer
// pixels. No document here, so that all of it is tested without one.
//
// A point is {index, at, value, quality, source, n}: `index` counts periods (days, weeks, months), so
// that neighbours differ by one, and `at` is the day number its period is drawn at.

const DAY_MS = 86400000;
const FIRST_MONDAY = 3; // 1970-01-01 was a Thursday
const MINUTES_A_DAY = 1440;

/** "2025-03-09" as days since 1970; NaN when it is no day. */
export function dayNumber(day) {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(day)) return NaN;
  const [year, month, date] = [Number(day.slice(0, 4)), Number(day.slice(5, 7)), Number(day.slice(8))];
  const ms = Date.UTC(year, month - 1, date);
  const found = new Date(ms);
  // 30 February would be a day of March, and the year 25 one of the last century.
  const isSame = found.getUTCDate() === date && found.getUTCMonth() === month - 1 && found.getUTCFullYear() === year;
  return isSame ? ms / DAY_MS : NaN;
}

export const dayDate = (number) => new Date(number * DAY_MS);

export const dayName = (number) => dayDate(number).toISOString().slice(0, 10);

/** The number of the day, week (from Monday) or month that a day belongs to. */
export function periodOf(number, per) {
  if (per === "week") return Math.floor((number + FIRST_MONDAY) / 7);
  if (per === "day") return number;
  const date = dayDate(number);
  return date.getUTCFullYear() * 12 + date.getUTCMonth();
}

/** The first day of a period, as a number. */
export function periodStart(index, per) {
  if (per === "week") return index * 7 - FIRST_MONDAY;
  if (per === "day") return index;
  return Date.UTC(Math.floor(index / 12), ((index % 12) + 12) % 12, 1) / DAY_MS;
}

/** Where a period is drawn: in its middle, so that a mean stands where its days do. */
export function periodMiddle(index, per) {
  if (per === "day") return index;
  return (periodStart(index, per) + periodStart(index + 1, per) - 1) / 2;
}

/** The mean of times of day, in minutes; they go around. */
export function clockCentre(values) {
  let sin = 0;
  let cos = 0;
  for (const value of values) {
    const angle = (value / MINUTES_A_DAY) * 2 * Math.PI;
    sin += Math.sin(angle);
    cos += Math.cos(angle);
  }
  return (Math.atan2(sin, cos) / (2 * Math.PI)) * MINUTES_A_DAY;
}

/** The same time of day, less than half a day from the centre: 00:10 is after 23:50, not a day before it. */
export const clockNear = (value, centre) => value + Math.round((centre - value) / MINUTES_A_DAY) * MINUTES_A_DAY;

/** What answers leave out, too: the server marks it, and no mean counts it. */
export const isTrusted = (point) => point.quality !== "not_worn" && point.quality !== "implausible";

/** Points out of the rows of a series, in order; rows that are none are left out. */
export function pointsOf(rows, unit) {
  const kept = [];
  for (const { day, value, quality = "good", source = null } of rows) {
    const index = dayNumber(day);
    if (Number.isFinite(index) && Number.isFinite(value)) kept.push({ index, at: index, value, quality, source, n: 1 });
  }
  kept.sort((a, b) => a.index - b.index);
  if (unit !== "clock") return kept;
  const centre = clockCentre(kept.map((point) => point.value));
  return kept.map((point) => ({ ...point, value: clockNear(point.value, centre) }));
}

/** The mean of each week or month, of the days that count; `n` says how many those were. */
export function aggregate(points, per) {
  if (per === "day") return points;
  const periods = new Map();
  for (const point of points) {
    if (!isTrusted(point)) continue;
    const index = periodOf(point.index, per);
    const period = periods.get(index) ?? { sum: 0, n: 0, sources: new Set() };
    period.sum += point.value;
    period.n++;
    if (point.source) period.sources.add(point.source);
    periods.set(index, period);
  }
  return [...periods].map(([index, { sum, n, sources }]) => ({
    index,
    at: periodMiddle(index, per),
    value: sum / n,
    quality: "good",
    source: sources.size === 1 ? [...sources][0] : null,
    n,
  }));
}

/** Runs of neighbours, which a line may connect; what is not trusted interrupts. */
export function segmentsOf(points) {
  const segments = [];
  let last = null;
  for (const point of points) {
    if (!isTrusted(point)) {
      last = null;
      continue;
    }
    if (last !== null && point.index === last + 1) segments.at(-1).push(point);
    else segments.push([point]);
    last = point.index;
  }
  return segments;
}

/** Runs of periods without a point from `from` to `to`, both included. */
export function missingRuns(points, from, to) {
  const runs = [];
  let next = from;
  for (const { index } of points) {
    if (index < from || index > to) continue;
    if (index > next) runs.push({ from: next, to: index - 1 });
    next = index + 1;
  }
  if (next <= to) runs.push({ from: next, to });
  return runs;
}

export const countOf = (runs) => runs.reduce((sum, run) => sum + run.to - run.from + 1, 0);

/** The place of the first point whose index is not below this one. */
export function lowerBound(points, index) {
  let low = 0;
  let high = points.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (points[middle].index < index) low = middle + 1;
    else high = middle;
  }
  return low;
}

export function pointAt(points, index) {
  const point = points[lowerBound(points, index)];
  return point?.index === index ? point : null;
}

export function pointsBetween(points, from, to) {
  return points.slice(lowerBound(points, from), lowerBound(points, to + 1));
}

/**
 * A segment with at most four points in each column of pixels: the first, the smallest, the largest,
 * the last. Drawn, it looks the same.
 */
export function thin(segment, columnOf) {
  const kept = [];
  for (let i = 0; i < segment.length;) {
    const column = columnOf(segment[i]);
    let end = i;
    let low = i;
    let high = i;
    for (; end < segment.length && columnOf(segment[end]) === column; end++) {
      if (segment[end].value < segment[low].value) low = end;
      if (segment[end].value > segment[high].value) high = end;
    }
    const [first, second] = low < high ? [low, high] : [high, low];
    kept.push(segment[i]);
    if (first > i) kept.push(segment[first]);
    if (second > first) kept.push(segment[second]);
    if (end - 1 > second) kept.push(segment[end - 1]);
    i = end;
  }
  return kept;
}

/** Mean, smallest and largest of what counts; null when nothing does. */
export function summaryOf(points) {
  const counted = points.filter(isTrusted);
  if (!counted.length) return null;
  let sum = 0;
  let low = counted[0];
  let high = counted[0];
  for (const point of counted) {
    sum += point.value;
    if (point.value < low.value) low = point;
    if (point.value > high.value) high = point;
  }
  return { n: counted.length, mean: sum / counted.length, low, high };
}
