// SPDX-License-Identifier: Apache-2.0
// Axes: where ticks stand, and what values and days are in pixels. Pure functions.

import { dayDate, dayNumber } from "./series.js";

const STEPS = [1, 2, 2.5, 5, 10];
const HOUR_STEPS = [15, 30, 60, 120, 180, 240, 360, 720, 1440];
const HOURS_AXIS_FROM = 120; // an axis of minutes that reaches two hours is one of hours
const MAX_TICKS = 200;
const SAME = 1e-9; // values that differ by less, relatively, are told apart by no axis

export function linear(fromLow, fromHigh, toLow, toHigh) {
  const span = fromHigh - fromLow;
  const factor = span === 0 ? 0 : (toHigh - toLow) / span;
  const start = span === 0 ? (toLow + toHigh) / 2 : toLow;
  return (value) => start + (value - fromLow) * factor;
}

function niceStep(rough) {
  const power = 10 ** Math.floor(Math.log10(rough));
  return STEPS.find((step) => step * power >= rough * (1 - 1e-9)) * power;
}

/** Digits behind the point that tell multiples of a step apart. */
function digitsOf(step) {
  for (let digits = 0; digits < 10; digits++) {
    const scaled = step * 10 ** digits;
    if (Math.abs(scaled - Math.round(scaled)) < 1e-6 * scaled) return digits;
  }
  return 10;
}

/**
 * Ticks at round values around [low, high], about `count` of them; the axis goes from the first to
 * the last one. Minutes get steps of hours, and a range far above nothing does not begin there.
 */
export function valueTicks(low, high, count, unit) {
  if (low > 0 && low < high * 0.4 && unit !== "clock") low = 0;
  if (high - low <= Math.max(Math.abs(low), Math.abs(high)) * SAME) {
    const pad = Math.abs(low) * 0.05 || 1;
    low -= pad;
    high += pad;
  }
  const rough = (high - low) / Math.max(1, count);
  const isHours = unit === "min" && high >= HOURS_AXIS_FROM;
  const hourly = isHours || unit === "clock" ? HOUR_STEPS.find((step) => step >= rough) : undefined;
  const step = hourly ?? niceStep(rough);
  const first = Math.floor(low / step + 1e-9);
  const last = Math.min(Math.ceil(high / step - 1e-9), first + MAX_TICKS);
  const ticks = [];
  for (let i = first; i <= last; i++) ticks.push(Number((i * step).toPrecision(12)));
  return { ticks, step, digits: digitsOf(step), isHours };
}

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const DAY_STEPS = [1, 2, 7, 14];
const MONTH_STEPS = [1, 2, 3, 6, 12, 24, 60, 120];
const DAYS_A_MONTH = 30.44;

function dayStepTicks(from, to, step) {
  // Weeks begin on Monday, which 1969-12-29 was; other steps begin with the range.
  const origin = step % 7 === 0 ? -3 : from;
  const ticks = [];
  for (let at = origin + Math.ceil((from - origin) / step) * step; at <= to; at += step) {
    const date = dayDate(at);
    ticks.push({ at, label: `${date.getUTCDate()} ${MONTHS[date.getUTCMonth()]}`, year: date.getUTCFullYear() });
  }
  return ticks;
}

function monthStepTicks(from, to, step) {
  const first = dayDate(from);
  const month = first.getUTCFullYear() * 12 + first.getUTCMonth();
  const ticks = [];
  for (let i = Math.floor(month / step) * step; ; i += step) {
    const year = Math.floor(i / 12);
    const at = dayNumber(`${String(year).padStart(4, "0")}-${String((i % 12) + 1).padStart(2, "0")}-01`);
    if (!(at <= to)) return ticks;
    if (at >= from) ticks.push({ at, label: step >= 12 ? String(year) : MONTHS[i % 12], year });
  }
}

/**
 * Ticks of days from `from` to `to` so that at most `count` stand there: days, weeks, months, years.
 * `year` is only kept where it is news.
 */
export function dayTicks(from, to, count) {
  const days = to - from + 1;
  const dayStep = DAY_STEPS.find((step) => days / step <= count);
  const monthStep = MONTH_STEPS.find((step) => days / DAYS_A_MONTH / step <= count) ?? MONTH_STEPS.at(-1);
  const ticks = dayStep ? dayStepTicks(from, to, dayStep) : monthStepTicks(from, to, monthStep);
  let told = null;
  return ticks.map(({ at, label, year }) => {
    const isNews = year !== told && label !== String(year);
    told = year;
    return { at, label, year: isNews ? String(year) : null };
  });
}

const pixel = (value) => Math.round(value * 10) / 10;

/** A line through each segment. A segment of one point has no line; dots show it. */
export function linePath(segments, x, y) {
  let path = "";
  for (const segment of segments) {
    if (segment.length < 2) continue;
    path += segment.map((point, i) => `${i ? "L" : "M"}${pixel(x(point.at))} ${pixel(y(point.value))}`).join("");
  }
  return path;
}

/** Dots as lines of no length, which round caps make visible: one element, however many. */
export function dotPath(points, x, y) {
  return points.map((point) => `M${pixel(x(point.at))} ${pixel(y(point.value))}h0`).join("");
}

/** Bars of the given height under an axis, each at least a pixel wide. */
export function barPath(runs, x, top, height) {
  return runs
    .map(({ from, to }) => {
      const left = pixel(x(from));
      const width = Math.max(1, pixel(x(to) - x(from)));
      return `M${left} ${top}h${width}v${height}h${-width}z`;
    })
    .join("");
}
