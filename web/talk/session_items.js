// SPDX-License-Identifier: Apache-2.0
// Rows of a session: what was said, turns, and notes.

import { h, replace, setText } from "../lib/dom.js";
import { clock, count, dateTime } from "../lib/format.js";
import { icon } from "../lib/icons.js";
import { PartsView, workingNode } from "./parts.js";
import { failureWords } from "./words.js";

function saidView() {
  const body = h("p", { class: "said-text" });
  const note = h("p", { class: "hint" });
  const element = h(
    "div",
    { class: "said-row" },
    h("div", { class: "said" }, h("span", { class: "visually-hidden" }, "You: "), body, note),
  );
  return {
    element,
    update(item) {
      setText(body, item.text ?? "…");
      setText(note, item.isBlocked ? "Kept back by the Privacy Shield; later turns leave it out" : "");
      note.hidden = !item.isBlocked;
      if (item.at) element.title = dateTime(item.at, true);
    },
  };
}

function endText(end) {
  if (end === null || end.kind === "done") return null;
  if (end.kind === "incomplete") return "It did not come to its end";
  return failureWords(end.code, end.error);
}

/** Provider, tokens and what the model was told besides, on one line. */
function metaText({ provider, model, usage, context }) {
  const told =
    context &&
    [context.memories > 0 && count(context.memories, "memory", "memories"), context.labs > 0 && count(context.labs, "lab result")].filter(
      Boolean,
    );
  return [
    model && (model === provider ? model : `${provider} · ${model}`),
    usage.input + usage.output > 0 && `${count(usage.input, "token")} in, ${usage.output} out`,
    usage.costUsd > 0 && `$${usage.costUsd.toFixed(4)}`,
    told?.length > 0 && `knows ${told.join(" and ")}`,
  ]
    .filter(Boolean)
    .join(" · ");
}

function turnView(options) {
  const parts = new PartsView(options);
  const waiting = workingNode("Works on it");
  const end = h("p", { class: "turn-end" });
  const meta = h("p", { class: "hint talk-meta" });
  const element = h("article", { class: "answer-row", "aria-label": "Answer" }, parts.element, waiting, end, meta);
  return {
    element,
    update(item) {
      const text = endText(item.end);
      const last = item.parts.at(-1);
      parts.update(item.parts);
      waiting.hidden = item.end !== null || last?.kind === "text" || last?.state === "waiting" || last?.kind === "question";
      element.setAttribute("aria-busy", item.end === null ? "true" : "false");
      end.hidden = text === null;
      if (text !== null) replace(end, icon("warning"), text);
      setText(meta, item.end === null && item.parts.length === 0 ? "" : metaText(item));
    },
  };
}

function noteView() {
  const body = h("p", { class: "note-text" });
  const element = h("div", { class: "note-row" }, body);
  return {
    element,
    update(item) {
      setText(
        body,
        item.note === "cron"
          ? `A scheduled prompt ran at ${clock(item.at)}`
          : "A shortcut is proposed for a question that was asked three times: see Shortcuts",
      );
    },
  };
}

export function makeItemView(item, options) {
  if (item.kind === "said") return saidView();
  return item.kind === "turn" ? turnView(options) : noteView();
}
