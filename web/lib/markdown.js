// SPDX-License-Identifier: Apache-2.0
// Markdown as elements. No HTML passes, no image is loaded, and links lead to the web or to mail.
//
//   root.append(...renderMarkdown(text, { ranges }))
//   const stream = markdownStream(root);  stream.update(text so far), again and again
//
//   const paced = pacedMarkdown(root)                the same, in a share of the time
//
// ranges: [{start, end, wrap(nodes) → element}], places in the text, in order and without overlap:
// what of the text is shown inside of one is handed to `wrap`.
// headingLevel: the level that "#" gets; the page has a first one already.

import { h, replace } from "./dom.js";
import { parseBlocks } from "./markdown_blocks.js";

const HEADING_LEVEL = 3;
const MAX_LEVEL = 6;
const MAX_CHARS = 128 << 10; // what is longer is shown as plain text
const PAUSE_FACTOR = 4; // drawing may take one part in five of the time, however long the text is

const INLINE_TAGS = { em: "em", strong: "strong", del: "del" };

/** A text cut where ranges begin and end; the parts inside are wrapped. */
function textNodes({ text, src }, ranges) {
  const end = src + text.length;
  const out = [];
  let at = src;
  for (const range of ranges) {
    if (range.end <= at) continue;
    if (range.start >= end) break;
    const from = Math.max(at, range.start);
    const to = Math.min(end, range.end);
    if (from > at) out.push(text.slice(at - src, from - src));
    out.push(range.wrap([text.slice(from - src, to - src)]));
    at = to;
  }
  if (at < end) out.push(text.slice(at - src));
  return out;
}

function linkNode({ href, title, children }, context) {
  const props = { href, title: title || null, target: "_blank", rel: "noopener noreferrer nofollow" };
  // A link inside of a link is none.
  return h("a", props, inlineNodes(children, { ...context, ranges: [] }));
}

function inlineNodes(nodes, context) {
  return nodes.map((node) => {
    if (node.type === "text") return textNodes(node, context.ranges);
    if (node.type === "code") return h("code", null, textNodes(node, context.ranges));
    if (node.type === "break") return h("br");
    if (node.type === "link") return linkNode(node, context);
    return h(INLINE_TAGS[node.type], null, inlineNodes(node.children, context));
  });
}

function itemNode(blocks, isLoose, context) {
  const children = blocks.map((block) =>
    block.type === "paragraph" && !isLoose ? inlineNodes(block.inline, context) : blockNode(block, context),
  );
  return h("li", null, children);
}

function tableNode({ align, head, rows }, context) {
  const cell = (tag, inline, i, props) =>
    h(tag, { class: align[i] === "start" ? null : `md-${align[i]}`, ...props }, inlineNodes(inline, context));
  const table = h(
    "table",
    { class: "md-table" },
    h(
      "thead",
      null,
      h(
        "tr",
        null,
        head.map((inline, i) => cell("th", inline, i, { scope: "col" })),
      ),
    ),
    h(
      "tbody",
      null,
      rows.map((row) =>
        h(
          "tr",
          null,
          row.map((inline, i) => cell("td", inline, i)),
        ),
      ),
    ),
  );
  // Wide ones scroll by themselves, which has to be possible with keys.
  return h("div", { class: "md-scroll", tabindex: 0, role: "region", "aria-label": "Table" }, table);
}

const BLOCKS = {
  paragraph: ({ inline }, context) => h("p", null, inlineNodes(inline, context)),
  heading: ({ level, inline }, context) =>
    h(`h${Math.min(MAX_LEVEL, level + context.headingLevel - 1)}`, null, inlineNodes(inline, context)),
  rule: () => h("hr"),
  code: ({ text, language }) =>
    h(
      "pre",
      {
        class: "md-code",
        tabindex: 0,
        role: "region",
        "aria-label": language ? `Code, ${language}` : "Code",
      },
      h("code", null, text),
    ),
  quote: ({ blocks }, context) =>
    h(
      "blockquote",
      null,
      blocks.map((block) => blockNode(block, context)),
    ),
  list: ({ isOrdered, first, isLoose, items }, context) =>
    h(
      isOrdered ? "ol" : "ul",
      { start: isOrdered && first !== 1 ? first : null },
      items.map((blocks) => itemNode(blocks, isLoose, context)),
    ),
  table: tableNode,
};

function blockNode(block, context) {
  return BLOCKS[block.type](block, context);
}

function nodesOf(text, base, context) {
  const blocks = parseBlocks(text, base);
  // A block whose first two lines are not whole may become a part of the one right above it.
  const open = base + text.lastIndexOf("\n", text.lastIndexOf("\n") - 1) + 1;
  const isApart = (i) => blocks[i - 1].type !== "list" && /\n[ \t\r]*\n$/.test(text.slice(0, blocks[i].at - base));
  let last = Math.max(0, blocks.length - 1);
  while (last > 0 && blocks[last].at >= open && !isApart(last)) last--;
  return { nodes: blocks.map((block) => blockNode(block, context)), last, lastStart: blocks[last]?.at ?? base };
}

const plainNode = (text) => h("p", { class: "md-plain" }, text);

function contextOf({ ranges = [], headingLevel = HEADING_LEVEL } = {}) {
  return { ranges, headingLevel };
}

/** The elements of a whole text. */
export function renderMarkdown(text, options) {
  if (text.length > MAX_CHARS) return [plainNode(text)];
  return nodesOf(text, 0, contextOf(options)).nodes;
}

/**
 * A text that grows inside of `root`: only what is behind the beginning of its last block is read
 * again, and blocks that stand stay the same elements. update() with a text that does not begin with
 * the last one starts over.
 */
export function markdownStream(root, options) {
  const context = contextOf(options);
  let shown = "";
  let lastStart = 0; // of the last block
  let n = 0; // elements before it

  function update(text) {
    if (text === shown) return;
    const isLonger = text.startsWith(shown);
    shown = text;
    if (text.length > MAX_CHARS) return replace(root, plainNode(text));
    if (!isLonger) {
      lastStart = 0;
      n = 0;
    }
    const fresh = nodesOf(text.slice(lastStart), lastStart, context);
    while (root.childNodes.length > n) root.lastChild.remove();
    root.append(...fresh.nodes);
    n += fresh.last;
    lastStart = fresh.lastStart;
  }
  return { update };
}

/** A stream that draws the newest text when the last drawing is far enough in the past; cancel() forgets it. */
export function pacedMarkdown(root, options, now = () => performance.now()) {
  const stream = markdownStream(root, options);
  let busyUntil = 0;
  let timer = null;
  let newest = "";

  function draw() {
    timer = null;
    const begin = now();
    stream.update(newest);
    const end = now();
    busyUntil = end + (end - begin) * PAUSE_FACTOR;
  }
  return {
    update(text) {
      newest = text;
      const waitMs = busyUntil - now();
      if (waitMs <= 0 && timer === null) draw();
      else timer ??= setTimeout(draw, waitMs);
    },
    cancel() {
      clearTimeout(timer);
      timer = null;
    },
  };
}
