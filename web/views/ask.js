// SPDX-License-Identifier: Apache-2.0
// The start: a question, ideas for one, and what was asked lately.

import { whenHeard } from "../lib/connection.js";
import { h, replace } from "../lib/dom.js";
import { ago, count, shorten } from "../lib/format.js";
import { address } from "../lib/router.js";
import { composer } from "../turn/composer.js";
import { suggestions } from "../turn/suggestions.js";

const RECENT = 4;
const RECENT_CHARS = 90;

function option(label, hint, name) {
  const box = h("input", { type: "checkbox", name, checked: true });
  return {
    box,
    element: h(
      "label",
      { class: "ask-option" },
      box,
      h("span", null, label, h("span", { class: "hint" }, hint)),
    ),
  };
}

/** What goes along with a question, for those who do not want that. */
function contextOptions() {
  const memory = option("Use memory", "goals, preferences and what was learnt before", "include_memory");
  const labs = option("Use lab results", "the newest of each test", "include_biomarkers");
  return {
    element: h(
      "details",
      { class: "ask-options" },
      h("summary", null, "What goes along"),
      memory.element,
      labs.element,
    ),
    value: () => ({ include_memory: memory.box.checked, include_biomarkers: labs.box.checked }),
  };
}

function dataText(metrics) {
  const first = metrics.map((metric) => metric.first).sort()[0];
  const last = metrics
    .map((metric) => metric.last)
    .sort()
    .at(-1);
  return [
    `${count(metrics.length, "metric")} from ${first} to ${last}. `,
    h("a", { href: "#/data" }, "See the data"),
  ];
}

function ideas(metrics, onPick) {
  if (metrics.length === 0)
    return [
      h(
        "div",
        { class: "notice" },
        h(
          "p",
          null,
          h("strong", null, "There are no data yet. "),
          "Import what your watch, ring, scale or laboratory has exported; then ask about it.",
        ),
        h("p", null, h("a", { class: "button button-primary", href: "#/data" }, "Import data")),
      ),
    ];
  return [
    h("h2", { class: "ask-heading" }, "Ideas"),
    h(
      "ul",
      { class: "ask-ideas" },
      suggestions(metrics).map((text) =>
        h(
          "li",
          null,
          h("button", { class: "ask-idea", on: { click: () => onPick(text) } }, text),
        ),
      ),
    ),
    h("p", { class: "hint" }, dataText(metrics)),
  ];
}

const STATUS_KINDS = { completed: "badge-good", failed: "badge-bad", running: "badge-accent" };

function recent(turns) {
  if (turns.length === 0) return null;
  return [
    h("h2", { class: "ask-heading" }, "Asked lately"),
    h(
      "ul",
      { class: "ask-recent card" },
      turns.map((turn) =>
        h(
          "li",
          null,
          h("a", { href: address(["turns", turn.id]) }, shorten(turn.messages.at(-1).content, RECENT_CHARS)),
          h(
            "span",
            { class: "ask-when" },
            h("span", { class: ["badge", STATUS_KINDS[turn.status]] }, turn.status),
            ago(turn.created_at),
          ),
        ),
      ),
    ),
    h("p", { class: "hint" }, h("a", { href: "#/turns" }, "All turns")),
  ];
}

export const view = {
  title: "Ask",
  render(root, params, app) {
    const { signal } = app;
    const context = contextOptions();
    const form = composer({
      label: "Your question",
      placeholder: "Do I sleep less on weekends?",
      value: params.query.q ?? "",
      ask: async (text, options) => {
        const turn = await app.weir.turns.create(
          { messages: [{ role: "user", content: text }], context: context.value() },
          options,
        );
        app.go(`/turns/${turn.id}`);
      },
    });
    const ideasBox = h("section", { class: "ask-part", "aria-label": "Ideas" });
    const recentBox = h("section", { class: "ask-part", "aria-label": "Asked lately" });
    root.append(
      h(
        "div",
        { class: "ask-page" },
        h("h1", null, "What would you like to know?"),
        h(
          "p",
          { class: "muted" },
          "Several agents look at your data, and every number of the answer is checked.",
        ),
        form.element,
        context.element,
        ideasBox,
        recentBox,
      ),
    );
    form.input.focus({ preventScroll: true });
    const load = async (box, what, read) => {
      try {
        replace(box, await read());
      } catch (error) {
        if (signal.aborted) return;
        replace(box, h("p", { class: "hint" }, `${what} could not be loaded: ${error.message}`));
        whenHeard(app.connection, error, () => signal.aborted || load(box, what, read));
      }
    };
    load(ideasBox, "Your data", async () => ideas(await app.weir.data.metrics({ signal }), form.ask));
    load(recentBox, "Turns", async () => recent((await app.weir.turns.list({ limit: RECENT, signal })).items));
  },
};
