// SPDX-License-Identifier: Apache-2.0
// The fact sheet: every number that the answer may use, with where it comes from. A row opens to the
// chart of its days; a number of the answer leads to its row.

import { h, newId, replace } from "../lib/dom.js";
import { capitalised, count, number } from "../lib/format.js";
import { icon } from "../lib/icons.js";
import { address } from "../lib/router.js";
import { factChart } from "./fact_chart.js";
import { chartOf, factGroups, factValueText, findingIdOf, windowText } from "./numbers.js";
import { agentName, numberName, plainName } from "./words.js";

const SHOWN_FACTS = 150; // rows until somebody asks for all

export const factAddress = (turnId, claim) => address(["turns", turnId, "facts", claim]);

function exactText({ value, unit }) {
  return typeof value === "number" ? `${number(value, 6)} ${unit ?? ""}`.trim() : "";
}

function groupTitle({ id, finding, facts }) {
  if (finding?.claim) return finding.claim;
  if (id === "fact") return "Published limits";
  return id === "inv" ? "How the search was done" : (facts[0].metric && plainName(facts[0].metric)) || id;
}

/** One entry: a row that opens and closes. */
function factRow(fact, context) {
  const { app, turnId, sheet, findingOf, used } = context;
  const panelId = newId("fact");
  const hasChart = chartOf(fact, sheet, null) !== null;
  const panel = h(
    "tr",
    { class: "fact-panel", hidden: true },
    h("td", { colspan: COLUMNS.length, id: panelId }),
  );
  const name = hasChart
    ? h(
        "button",
        { class: "fact-open", "aria-expanded": "false", "aria-controls": panelId },
        icon("arrow", { class: "icon fact-arrow" }),
        numberName(fact.claim),
      )
    : h("span", { class: "fact-plain" }, numberName(fact.claim));
  const row = h(
    "tr",
    { class: "fact", tabindex: -1, data: { fact: fact.claim } },
    h(
      "th",
      { scope: "row" },
      name,
      used.has(fact.claim) && h("span", { class: "badge badge-accent" }, "in the answer"),
    ),
    h("td", { class: "num", title: exactText(fact) }, factValueText(fact)),
    h(
      "td",
      { class: "num", data: { label: "days" } },
      fact.n === null || fact.n === undefined ? "–" : count(fact.n, "day"),
    ),
    h("td", { data: { label: "window" } }, windowText(fact)),
    h("td", { class: "fact-source", data: { label: "by" } }, agentName(fact.source)),
  );
  let control = null;

  function setOpen(isOpen) {
    if (!hasChart || isOpen === !panel.hidden) return;
    control?.abort();
    panel.hidden = !isOpen;
    name.setAttribute("aria-expanded", String(isOpen));
    control = isOpen ? new AbortController() : null;
    replace(panel.firstChild, isOpen ? factChart(app, fact, sheet, findingOf(fact), control.signal) : null);
  }
  if (hasChart)
    name.addEventListener("click", () => {
      setOpen(panel.hidden);
      history.replaceState(
        history.state,
        "",
        panel.hidden ? address(["turns", turnId]) : factAddress(turnId, fact.claim),
      );
    });
  return { fact, row, panel, setOpen, stop: () => control?.abort() };
}

const COLUMNS = ["number", "value", "days", "window", "by"];
const isNumeric = (name) => name === "value" || name === "days";

function groupBody(group, rows) {
  const isConditional = group.facts.some((fact) => fact.verdict === "conditional");
  const title = h(
    "th",
    { scope: "rowgroup", colspan: COLUMNS.length },
    capitalised(groupTitle(group)),
    isConditional && h("span", { class: "badge badge-warn" }, "conditional"),
  );
  const lines = rows.flatMap(({ row, panel }) => [row, panel]);
  return h("tbody", null, h("tr", { class: "fact-group" }, title), lines);
}

function factTable(bodies) {
  const head = COLUMNS.map((name) => h("th", { scope: "col", class: isNumeric(name) ? "num" : null }, name));
  return h(
    "table",
    { class: "table facts-table" },
    h("caption", { class: "visually-hidden" }, "Numbers that the answer may use"),
    h("thead", null, h("tr", null, head)),
    bodies,
  );
}

export class FactSheet {
  #app;
  #turnId;
  #rows = [];
  #sheet = [];
  #used = new Set(); // claims that the answer says
  #titles = ""; // of the findings that are shown
  #findings = []; // as the trace knows them by now
  #hasAll = false;

  constructor(app, turnId) {
    this.#app = app;
    this.#turnId = turnId;
    this.body = h("div", { class: "table-wrap" });
    this.total = h("span", { class: "muted" });
    this.element = h(
      "section",
      { class: "turn-part", hidden: true, data: { part: "facts" } },
      h("h2", null, "Fact sheet ", this.total),
      this.body,
    );
  }

  /** What is open stays open, and nothing is drawn again that did not change. */
  update(result, findings) {
    const sheet = result.fact_sheet ?? [];
    const titles = JSON.stringify(findings.map(({ id, claim }) => [id, claim]));
    this.#findings = findings;
    if (this.#sheet === sheet && this.#titles === titles) return;
    const open = this.#rows.filter(({ panel }) => !panel.hidden).map(({ fact }) => fact.claim);
    this.#sheet = sheet;
    this.#titles = titles;
    this.#used = new Set((result.numbers ?? []).map(({ claim }) => claim));
    this.element.hidden = sheet.length === 0;
    this.total.textContent = sheet.length > 0 ? count(sheet.length, "number") : "";
    this.#draw();
    for (const claim of open) this.#find(claim)?.setOpen(true);
  }

  /** Opens an entry and goes there; false when the sheet has none of that name. */
  select(claim) {
    if (!this.#find(claim) && !this.#hasAll) this.#showAll();
    const found = this.#find(claim);
    for (const other of this.#rows) {
      other.row.classList.toggle("is-selected", other === found);
      if (other !== found) other.setOpen(false);
    }
    if (!found) return false;
    found.setOpen(true);
    found.row.focus({ preventScroll: true });
    found.row.scrollIntoView({ block: "center" });
    return true;
  }

  stop() {
    for (const row of this.#rows) row.stop();
  }

  #find(claim) {
    return this.#rows.find(({ fact }) => fact.claim === claim) ?? null;
  }

  #showAll() {
    this.#hasAll = true;
    this.#draw();
  }

  #draw() {
    this.stop();
    const visible = this.#hasAll ? this.#sheet : this.#sheet.slice(0, SHOWN_FACTS);
    const context = {
      app: this.#app,
      turnId: this.#turnId,
      sheet: this.#sheet,
      used: this.#used,
      findingOf: ({ claim }) => this.#findings.find(({ id }) => id === findingIdOf(claim)) ?? null,
    };
    const groups = factGroups(visible, this.#findings).map((group) => ({
      group,
      rows: group.facts.map((fact) => factRow(fact, context)),
    }));
    this.#rows = groups.flatMap(({ rows }) => rows);
    const more = this.#sheet.length - visible.length;
    const showMore = { class: "button", on: { click: () => this.#showAll() } };
    replace(
      this.body,
      factTable(groups.map(({ group, rows }) => groupBody(group, rows))),
      more > 0 && h("button", showMore, `Show ${count(more, "number")} more`),
    );
  }
}
