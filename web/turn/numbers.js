// SPDX-License-Identifier: Apache-2.0
// From a number of an answer to its entry of the fact sheet, and from there to what a chart shows; and what all of
// them come to. Pure.

import { dayName, dayNumber } from "../lib/series.js";
import { valueText } from "../lib/units.js";

const MIN_PAD_DAYS = 7; // shown before and behind a window, so that one sees what it is cut from
const MAX_PAD_DAYS = 45;
const PAD_SHARE = 0.25;
const SEARCH = "inv";
const BARE_UNITS = new Set(["r", "ratio", "count"]); // the name of the number says as much

/** How many bytes of UTF-8 a code point has. */
const bytesOf = (code) => (code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4);

/** Places that the server gives in bytes, as places in a JavaScript text; what does not fit is left out. */
export function placesOf(answer, numbers) {
  const sorted = [...(numbers ?? [])]
    .filter(({ start, end }) => Number.isInteger(start) && end > start)
    .sort((a, b) => a.start - b.start);
  const wanted = [...new Set(sorted.flatMap(({ start, end }) => [start, end]))].sort((a, b) => a - b);
  const found = new Map();
  let bytes = 0;
  let next = 0;
  for (let at = 0; at <= answer.length && next < wanted.length;) {
    if (bytes === wanted[next]) found.set(wanted[next++], at);
    else if (bytes > wanted[next]) next++;
    else {
      const code = answer.codePointAt(at);
      if (code === undefined) break;
      bytes += bytesOf(code);
      at += code > 0xffff ? 2 : 1;
    }
  }
  let last = 0;
  return sorted.flatMap(({ start, end, text, claim }) => {
    const place = { start: found.get(start), end: found.get(end), claim };
    const isFit = place.start >= last && answer.slice(place.start, place.end) === text;
    if (isFit) last = place.end;
    return isFit ? [place] : [];
  });
}

export const findingIdOf = (claim) => claim.split(".", 1)[0];
const nameOf = (claim) => claim.split(".").slice(1).join(".");

export function factValueText({ value, unit }) {
  if (typeof value === "string") return value;
  return valueText(value, BARE_UNITS.has(unit) ? "" : unit);
}

/** {from, to} of "2025-03-02 .. 2025-03-31"; null where it is no window of days. */
export function windowOf(fact) {
  const found = /^(\d{4}-\d{2}-\d{2}) \.\. (\d{4}-\d{2}-\d{2})$/.exec(fact.window ?? "");
  return found && dayNumber(found[1]) <= dayNumber(found[2]) ? { from: found[1], to: found[2] } : null;
}

const dayText = new Intl.DateTimeFormat("en-GB", {
  day: "numeric",
  month: "short",
  year: "numeric",
  timeZone: "UTC",
});
const shortDay = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });

/** 2 Mar to 31 Mar 2025; what is no window of days is said as it is. */
export function windowText(fact) {
  const days = windowOf(fact);
  if (!days) return fact.window ?? "";
  const [from, to] = [new Date(days.from), new Date(days.to)];
  if (days.from === days.to) return dayText.format(from);
  return `${(from.getUTCFullYear() === to.getUTCFullYear() ? shortDay : dayText).format(from)} to ${dayText.format(to)}`;
}

/** Entries by finding, mostly in the sheet's order: [{id, finding, facts}]. */
export function factGroups(sheet, findings) {
  const groups = new Map();
  for (const fact of sheet) {
    const id = findingIdOf(fact.claim);
    if (!groups.has(id))
      groups.set(id, { id, finding: findings.find((finding) => finding.id === id) ?? null, facts: [] });
    groups.get(id).facts.push(fact);
  }
  // How a search was done is of less interest than what it found.
  const isAside = ({ id }) => Number(id === SEARCH);
  return [...groups.values()].sort((a, b) => isAside(a) - isAside(b));
}

// Values that lie among those of the days, so that they can be drawn as a line through them.
const LEVELS = new Set([
  "avg",
  "median",
  "min",
  "max",
  "a",
  "b",
  "first",
  "last",
  "value",
  "usual",
  "quantile",
  "q25",
  "q75",
  "from",
  "to",
]);
const isLevel = (name) => LEVELS.has(name) || name.startsWith("row.");
// Of these the interval is, and not of the days themselves.
const EFFECTS = ["diff", "change", "r", "slope"];

/** Of two groups or windows the other one; both are seen beside a difference, too. */
function otherOf(name, siblings) {
  if (!["a", "b", "diff", "pct", "ratio", "ci_low", "ci_high"].includes(name)) return null;
  const found = siblings.find(({ claim }) => nameOf(claim) === (name === "b" ? "a" : "b"));
  return found && Number.isFinite(found.value)
    ? { value: found.value, claim: found.claim, window: windowOf(found) }
    : null;
}

function padded({ from, to }) {
  const [first, last] = [dayNumber(from), dayNumber(to)];
  const pad = Math.min(MAX_PAD_DAYS, Math.max(MIN_PAD_DAYS, Math.round((last - first + 1) * PAD_SHARE)));
  return { from: dayName(first - pad), to: dayName(last + pad) };
}

function spanOf(windows) {
  const days = windows.flatMap(({ from, to }) => [dayNumber(from), dayNumber(to)]);
  return { from: dayName(Math.min(...days)), to: dayName(Math.max(...days)) };
}

/**
 * What to draw for an entry: {metric, metricY, window, from, to, mean, meanName, other, interval, trend}; null
 * when no series is behind it.
 */
export function chartOf(fact, sheet, finding) {
  const window = windowOf(fact);
  if (!fact.metric || !window) return null;
  const siblings = sheet.filter((other) => findingIdOf(other.claim) === findingIdOf(fact.claim));
  const valueOf = (name) =>
    siblings.find((other) => nameOf(other.claim) === name && Number.isFinite(other.value))?.value ?? null;
  const own = nameOf(fact.claim);
  const ownLevel = isLevel(own) && Number.isFinite(fact.value) ? fact.claim : null;
  const lineClaim =
    ownLevel ?? siblings.find((other) => ["avg", "median", "a"].includes(nameOf(other.claim)))?.claim ?? null;
  const line = siblings.find((other) => other.claim === lineClaim);
  const [low, high, from, to] = ["ci_low", "ci_high", "from", "to"].map(valueOf);
  const isOfLevel = low !== null && high !== null && !EFFECTS.some((name) => valueOf(name) !== null);
  const span = padded(spanOf(siblings.map(windowOf).filter(Boolean)));
  return {
    metric: fact.metric,
    metricY: finding?.metricY ?? null,
    window,
    ...span,
    mean: Number.isFinite(line?.value) ? line.value : null,
    meanName: lineClaim,
    other: otherOf(own, siblings),
    interval: isOfLevel ? [low, high] : null,
    trend: from !== null && to !== null ? { from, to } : null,
  };
}

/** What the numbers behind an answer come to, in a sentence; "" when there is nothing to say. */
export function basisText({ agents_used: agents, validator, fact_sheet: sheet, numbers }) {
  if (agents.length === 0) return "Answered without a look at your data.";
  if (validator.findings_total === 0) return "Nothing was computed from your data for this.";
  if (validator.findings_rejected === validator.findings_total)
    return "Nothing that was found held up to the checks, so the answer claims no number.";
  if (sheet.length === 0 || !numbers?.length) return "";
  const isConditional = sheet.some(
    (fact) => fact.verdict === "conditional" && numbers.some(({ claim }) => claim === fact.claim),
  );
  if (isConditional)
    return "Numbers with a dashed line have passed a part of the checks only. Follow one to where it comes from.";
  return "Every number has passed the checks. Follow one to where it comes from.";
}
