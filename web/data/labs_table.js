// SPDX-License-Identifier: Apache-2.0
// Laboratory results: a row a test with its newest result; earlier ones open below.

import { h, replace } from "../lib/dom.js";
import { capitalised, count } from "../lib/format.js";

const PAGE = 100;
export const MAX_RESULTS = 2000; // of one person, on one page

/** Results by test, each newest first; tests in the order of their names. */
export function groupResults(results) {
  const groups = new Map();
  for (const result of results) {
    const key = result.analyte ?? `own ${result.label}`;
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(result);
  }
  const name = (group) => nameOf(group[0]);
  const sorted = [...groups.values()].map((group) => group.sort((a, b) => b.date.localeCompare(a.date)));
  return sorted.sort((a, b) => name(a).localeCompare(name(b)));
}

/** The catalogue's name of a test that it knows, the laboratory's of others. */
export const nameOf = ({ title, label }) => capitalised(title ?? label ?? "unnamed test");

const FLAGS = { H: "high", HH: "very high", L: "low", LL: "very low", A: "abnormal", N: "normal" };

function flagBadge(flag) {
  if (!flag) return null;
  const word = FLAGS[flag.toUpperCase()] ?? flag;
  return h("span", { class: ["badge", word === "normal" ? "badge-good" : "badge-warn"] }, word);
}

const boundOf = ({ comparator, value, unit }) => `${comparator ?? ""}${value} ${unit ?? ""}`;

// What few laboratories print is only a column where somebody did.
const COLUMNS = [
  { head: "Result", class: "num lab-value", cell: (result) => result.printed ?? boundOf(result) },
  { head: "Laboratory's range", class: "lab-range", cell: (result) => result.range, needs: "range" },
  { head: "Flag", cell: (result) => flagBadge(result.flag), needs: "flag" },
  { head: "Day", class: "metric-day", cell: (result) => result.date },
];

const cells = (result, columns) => columns.map(({ class: kind, cell }) => h("td", { class: kind }, cell(result)));

function groupBody(group, columns) {
  const [newest, ...earlier] = group;
  const body = h("tbody");
  const button =
    earlier.length > 0 &&
    h(
      "button",
      { class: "link-button", "aria-expanded": "false" },
      `${count(earlier.length, "earlier one")}`,
    );
  const rows = earlier.map((result) =>
    h(
      "tr",
      { class: "lab-earlier", hidden: true },
      h("th", { scope: "row" }, h("span", { class: "visually-hidden" }, nameOf(result))),
      cells(result, columns),
      h("td", null),
    ),
  );
  if (button)
    button.addEventListener("click", () => {
      const isOpen = button.getAttribute("aria-expanded") !== "true";
      button.setAttribute("aria-expanded", String(isOpen));
      for (const row of rows) row.hidden = !isOpen;
    });
  replace(
    body,
    h("tr", null, h("th", { scope: "row" }, nameOf(newest)), cells(newest, columns), h("td", null, button)),
    rows,
  );
  return body;
}

async function loadAll(app, signal) {
  const results = [];
  for await (const result of app.weir.labs.list({ limit: PAGE, signal })) {
    results.push(result);
    if (results.length >= MAX_RESULTS) break;
  }
  return results;
}

/** Resolves to an element, or to null where there are no results. */
export async function labsTable(app, signal) {
  const results = await loadAll(app, signal);
  if (results.length === 0) return null;
  const columns = COLUMNS.filter(({ needs }) => !needs || results.some((result) => result[needs]));
  const names = columns.map(({ head, class: kind }) => h("th", { scope: "col", class: kind }, head));
  const head = h("thead", null, h("tr", null, h("th", { scope: "col" }, "Test"), names, h("td")));
  const note = results.length >= MAX_RESULTS && h("p", { class: "hint" }, `The newest ${MAX_RESULTS} results.`);
  return h(
    "div",
    { class: "stack" },
    h(
      "table",
      { class: "table labs" },
      h("caption", { class: "visually-hidden" }, "Laboratory results"),
      head,
      groupResults(results).map((group) => groupBody(group, columns)),
    ),
    note,
  );
}
