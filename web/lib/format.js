// SPDX-License-Identifier: Apache-2.0
// Numbers, times and sizes as people read them. All of it takes null and says "–".

const NONE = "–";
const isMissing = (value) => value === null || value === undefined || Number.isNaN(value);

const plain = new Map();

function numberFormat(digits) {
  if (!plain.has(digits)) plain.set(digits, new Intl.NumberFormat("en", { maximumFractionDigits: digits }));
  return plain.get(digits);
}

/** Of a measured value: as many digits as its size deserves. 12,345; 123; 12.3; 1.23; 0.0123. */
export function number(value, digits = null) {
  if (isMissing(value)) return NONE;
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  const size = Math.abs(value);
  const by = size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 || size === 0 ? 2 : Math.min(6, 1 - Math.floor(Math.log10(size)) + 1);
  return numberFormat(digits ?? by)
    .format(value)
    .replace("-", "−");
}

/** With a capital, as a sentence begins. */
export const capitalised = (text) => (text ? text[0].toUpperCase() + text.slice(1) : "");

/** 3 turns, 1 turn */
export function count(n, one, many = `${one}s`) {
  return `${isMissing(n) ? NONE : numberFormat(0).format(n)} ${n === 1 ? one : many}`;
}

/** Of a share between 0 and 1: 12 %. */
export function percent(share, digits = 0) {
  return isMissing(share)
    ? NONE
    : `${numberFormat(digits)
        .format(share * 100)
        .replace("-", "−")} %`;
}

/** 532 B, 1.2 KB, 3.4 MB: powers of 1000. */
export function bytes(n) {
  if (isMissing(n)) return NONE;
  const units = ["B", "KB", "MB", "GB", "TB"];
  let size = n;
  let unit = 0;
  while (size >= 999.5 && unit < units.length - 1) {
    size /= 1000;
    unit++;
  }
  return `${numberFormat(unit === 0 || size >= 10 ? 0 : 1).format(size)} ${units[unit]}`;
}

/** Of milliseconds: 0.4 ms, 230 ms, 1.4 s, 2 min 5 s, 3 h 20 min, 4 d 2 h. */
export function duration(ms) {
  if (isMissing(ms)) return NONE;
  if (ms < 0) return `−${duration(-ms)}`;
  if (ms < 10) return `${numberFormat(1).format(ms)} ms`;
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 59950) return `${numberFormat(1).format(ms / 1000)} s`;
  const steps = [
    [86400, "d", 3600, "h"],
    [3600, "h", 60, "min"],
    [60, "min", 1, "s"],
  ];
  const seconds = Math.round(ms / 1000);
  const [big, bigName, small, smallName] = steps.find(([size]) => seconds >= size);
  const rest = Math.floor((seconds % big) / small);
  return `${Math.floor(seconds / big)} ${bigName}${rest ? ` ${rest} ${smallName}` : ""}`;
}

function asDate(value) {
  const date = value instanceof Date ? value : new Date(value ?? NaN);
  return Number.isNaN(date.getTime()) ? null : date;
}

const two = (n) => String(n).padStart(2, "0");

/** 2026-11-16 */
export function day(value) {
  const date = asDate(value);
  return date ? `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}` : NONE;
}

/** 14:42, or 14:42:07 */
export function clock(value, withSeconds = false) {
  const date = asDate(value);
  if (!date) return NONE;
  return `${two(date.getHours())}:${two(date.getMinutes())}${withSeconds ? `:${two(date.getSeconds())}` : ""}`;
}

/** 2026-11-16 14:42 */
export function dateTime(value, withSeconds = false) {
  return asDate(value) ? `${day(value)} ${clock(value, withSeconds)}` : NONE;
}

/** just now, 5 min ago, 3 h ago, yesterday 14:42, 2026-11-12 09:15 */
export function ago(value, now = Date.now()) {
  const date = asDate(value);
  if (!date) return NONE;
  const seconds = Math.floor((now - date.getTime()) / 1000);
  if (seconds < 0) return dateTime(date);
  if (seconds < 45) return "just now";
  if (seconds < 3600) return `${Math.max(1, Math.round(seconds / 60))} min ago`;
  if (day(date) === day(now)) return `${Math.round(seconds / 3600)} h ago`;
  const before = new Date(now);
  before.setDate(before.getDate() - 1);
  return day(date) === day(before) ? `yesterday ${clock(date)}` : dateTime(date);
}

/** The beginning of a text that may be long, on one line. */
export function shorten(text, max = 120) {
  const line = String(text ?? "")
    .replace(/\s+/g, " ")
    .trim();
  const chars = [...line];
  return chars.length <= max
    ? line
    : `${chars
        .slice(0, max - 1)
        .join("")
        .trimEnd()}…`;
}
