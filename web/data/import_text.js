// SPDX-License-Identifier: Apache-2.0
// What became of a file, in words.

import { bytes, count, number, percent } from "../lib/format.js";

/** How far it is, from 0 to 1; null when nobody knows. */
export function shareOf({ state, sent, size, progress }) {
  if (state === "sending") return size > 0 ? Math.min(1, sent / size) : null;
  if (state === "reading" && progress?.total_bytes > 0) return Math.min(1, progress.bytes / progress.total_bytes);
  return null;
}

function readingText({ progress }) {
  const records = progress?.records > 0 && count(progress.records, "record");
  return ["Reading", progress?.kind && progress.kind !== "plain" && `as ${progress.kind}`, records]
    .filter(Boolean)
    .join(", ")
    .replace("Reading, as", "Reading as");
}

/** What a summary says: new, there already, or nothing. */
export function outcomeText(summary) {
  const { new: fresh = 0, duplicates = 0, days, first_day: first, last_day: last } = summary;
  const span = first ? ` on ${count(days, "day")}, ${first === last ? first : `${first} to ${last}`}` : "";
  if (fresh > 0)
    return `${count(fresh, "new value")}${span}${duplicates > 0 ? `; ${number(duplicates, 0)} ${duplicates === 1 ? "was" : "were"} there already` : ""}.`;
  if (duplicates > 0)
    return `Nothing new: ${duplicates === 1 ? "its value was" : `all ${number(duplicates, 0)} values were`} there already.`;
  return "No values in this file.";
}

// What a terminal is told; here there are buttons for it.
const FOR_TERMINALS = /,? or import with --dates dmy or --dates mdy/;

const WORDS = {
  waiting: () => "It is sent when those before it are done.",
  sending: (item) => `Sending, ${percent(shareOf(item) ?? 0)} of ${bytes(item.size)}`,
  reading: readingText,
  done: (item) => outcomeText(item.summary),
  failed: (item) => (item.error?.message ?? "It failed.").replace(FOR_TERMINALS, ""),
  cancelled: () => "Cancelled; nothing of it was kept.",
};

export const stateText = (item) => WORDS[item.state](item);

/** "u03.csv, line 12: no date": what was refused, as far as the server lists it. */
export function refusalTexts({ refusals = [], refused = 0 }, name) {
  const lines = refusals.map(({ file, line, reason }) => {
    const place = [file && file !== name && file, line > 0 && `line ${number(line, 0)}`].filter(Boolean).join(", ");
    return place ? `${place}: ${reason}` : reason;
  });
  const rest = refused - refusals.length;
  return rest > 0 ? [...lines, `and ${number(rest, 0)} more`] : lines;
}

export const ignoredTexts = ({ ignored_kinds: kinds = {} }) =>
  Object.entries(kinds).map(([name, n]) => `${name} (${number(n, 0)})`);

/** How a file may be tried again: [label, options]. What only its owner can know is asked there. */
export function waysToRetry({ state, file, error }) {
  if (!file || state === "done") return [];
  if (!/--dates\b/.test(error?.message ?? "")) return [["Try again", {}]];
  return [
    ["The day comes first", { dates: "dmy" }],
    ["The month comes first", { dates: "mdy" }],
  ];
}

/** A record of the server as an item of the queue, so that both are shown alike. */
export function itemOf({ id, file, bytes: size, status, summary, error, created_at: at }) {
  const state = { completed: "done", failed: "failed" }[status] ?? "reading";
  return { key: id, id, name: file, size, state, sent: size, progress: null, summary, error, at, file: null };
}
