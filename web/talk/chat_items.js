// SPDX-License-Identifier: Apache-2.0
// Rows of a chat: what was said, and replies with what they rest on.

import { h, replace, setText } from "../lib/dom.js";
import { dateTime, shorten } from "../lib/format.js";
import { icon } from "../lib/icons.js";
import { PartsView, workingNode } from "./parts.js";
import { countFindings, failureWords, kindWords } from "./words.js";

function saidView() {
  const body = h("p", { class: "said-text" });
  const note = h("p", { class: "said-note" }, icon("shield"), "Not sent");
  const bubble = h("div", { class: "said" }, h("span", { class: "visually-hidden" }, "You: "), body, note);
  return {
    element: h("div", { class: "said-row" }, bubble),
    update(item) {
      setText(body, item.text);
      note.hidden = !item.isBlocked;
      bubble.classList.toggle("said-blocked", item.isBlocked);
      if (item.at) bubble.title = dateTime(item.at, true);
    },
  };
}

const reasons = {
  policy_block: "Your organisation does not let messages with private data leave.",
  user_blocked: "You decided that nothing is sent.",
  timeout: "Nobody decided in time, so nothing was sent.",
};

function privacyText({ choice, count, categories, reason, findings }) {
  if (choice === "block")
    return `${Object.hasOwn(reasons, reason) ? reasons[reason] : "Nothing was sent."} Found: ${countFindings(findings)
      .map(({ category, n }) => kindWords(category, n))
      .join(", ")}.`;
  if (choice === "allow")
    return `Sent as it was, with ${categories.map((each) => each.replaceAll("_", " ")).join(", ") || "what was found"}.`;
  return `${count === 1 ? "One value was replaced by a placeholder" : `${count} values were replaced by placeholders`} before it was sent (${categories.map((each) => each.replaceAll("_", " ")).join(", ")}).`;
}

function citationList(citations) {
  return h(
    "details",
    { class: "citations" },
    h("summary", null, `Sources (${citations.length})`),
    h(
      "ol",
      null,
      citations.map(({ title, snippet, sourceId }) =>
        h(
          "li",
          null,
          h("span", { class: "citation-title" }, title || sourceId),
          h("blockquote", { class: "citation-snippet" }, shorten(snippet, 400)),
        ),
      ),
    ),
  );
}

function tokenMapNode(tokenMap) {
  return h(
    "details",
    { class: "citations" },
    h("summary", null, `Placeholders (${Object.keys(tokenMap).length})`),
    h(
      "dl",
      { class: "facts" },
      Object.entries(tokenMap).map(([token, value]) => [h("dt", null, h("code", null, token)), h("dd", null, value)]),
    ),
  );
}

function endText({ end, error }) {
  if (end === "incomplete") return "It did not come to its end";
  return end === "error" ? failureWords(error.code, error.message) : null;
}

function replyView(options) {
  const parts = new PartsView(options);
  const privacy = h("p", { class: "privacy-note" });
  const waiting = workingNode("The reply comes");
  const sources = h("div");
  const end = h("p", { class: "turn-end" });
  const meta = h("p", { class: "hint talk-meta" });
  const element = h("article", { class: "answer-row", "aria-label": "Reply" }, privacy, parts.element, waiting, sources, end, meta);
  let shown = {};
  return {
    element,
    update(item) {
      const text = endText(item);
      parts.update(item.parts);
      waiting.hidden = item.end !== null || item.parts.at(-1)?.kind === "text";
      element.setAttribute("aria-busy", item.end === null ? "true" : "false");
      privacy.hidden = item.privacy === null;
      if (item.privacy !== shown.privacy && item.privacy) replace(privacy, icon("shield"), h("span", null, privacyText(item.privacy)));
      privacy.classList.toggle("privacy-blocked", item.end === "blocked");
      if (item.citations !== shown.citations || item.tokenMap !== shown.tokenMap)
        replace(sources, item.citations.length > 0 && citationList(item.citations), item.tokenMap && tokenMapNode(item.tokenMap));
      end.hidden = text === null;
      if (text !== null) replace(end, icon("warning"), text);
      setText(
        meta,
        [item.model, item.usage && item.usage.input + item.usage.output > 0 && `${item.usage.input} tokens in, ${item.usage.output} out`]
          .filter(Boolean)
          .join(" · "),
      );
      shown = item;
    },
  };
}

export function makeChatView(item, options) {
  return item.kind === "said" ? saidView() : replyView(options);
}
