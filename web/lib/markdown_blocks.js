// SPDX-License-Identifier: Apache-2.0
// Blocks of Markdown: paragraphs, headings, lists, quotes, code, tables, rules.
//
// A block is {type, start, …}: "paragraph" and "heading" (level) have `inline`, "code" has `text` and
// `language`, "list" has `isOrdered`, `first`, `isLoose` and `items` (lists of blocks), "quote" has
// `blocks`, "table" has `align`, `head` and `rows` (cells are inline), "rule" has nothing. `start` is
// where its first line begins in the source. Everything behind a block is independent of what is in
// it, which is what lets a growing text be read from its last block on.

import { parseInline } from "./markdown_inline.js";

const MAX_DEPTH = 24; // of lists in quotes in lists; what is deeper is a paragraph
const MAX_COLUMNS = 64; // of a table
const TAB = 4;
const CODE_INDENT = 4;

const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const MARKER = /^( {0,3})([-+*]|\d{1,9}[.)])(?: |$)/;
const HEADING = /^ {0,3}(#{1,6})(?: |$)/;
const QUOTE = /^ {0,3}>/;

/** Lines with where they begin; tabs in front, and behind the mark of an item, count as columns. */
function linesOf(text, base) {
  const lines = [];
  let at = 0;
  while (at <= text.length) {
    let end = text.indexOf("\n", at);
    if (end < 0) end = text.length;
    const line = text.slice(at, text[end - 1] === "\r" && end > at ? end - 1 : end);
    lines.push({ ...withoutTabs(line, base + at), at: base + at });
    at = end + 1;
  }
  return lines;
}

function withoutTabs(line, src) {
  const front = /^[ \t]*(?:(?:[-+*]|\d{1,9}[.)])[ \t]+)?/.exec(line)[0];
  if (!front.includes("\t")) return { text: line, src };
  let text = "";
  for (const char of front) text += char === "\t" ? " ".repeat(TAB - (text.length % TAB)) : char;
  return { text: text + line.slice(front.length), src: src + front.length - text.length };
}

const isBlank = (line) => /^\s*$/.test(line.text);
const indentOf = (line) => /^ */.exec(line.text)[0].length;
const cut = (line, n) => ({ text: line.text.slice(n), src: line.src + n });

function trimmed(line) {
  const front = /^\s*/.exec(line.text)[0].length;
  return cut(line, front);
}

/** * * *, ---, ___ */
function isRule(text) {
  const mark = text.trimStart()[0];
  if ((mark !== "*" && mark !== "-" && mark !== "_") || /^ {4}/.test(text)) return false;
  let n = 0;
  for (const char of text) {
    if (char === mark) n++;
    else if (char !== " ") return false;
  }
  return n >= 3;
}

function isFence(text) {
  const mark = FENCE.exec(text)?.[1];
  return (
    mark !== undefined && !(mark[0] === "`" && text.slice(text.indexOf(mark) + mark.length).includes("`"))
  );
}

/** What ends a paragraph; an item that is empty or does not count from 1 does not. */
function interrupts(line) {
  const { text } = line;
  if (HEADING.test(text) || QUOTE.test(text) || isRule(text) || isFence(text)) return true;
  const marker = MARKER.exec(text);
  return (
    Boolean(marker) &&
    text.length > marker[0].length &&
    (!/\d/.test(marker[2]) || parseInt(marker[2], 10) === 1)
  );
}

// ---- tables

/** The cells of a row, with their places; \| is no border. */
function cellsOf(line) {
  const { text } = line;
  let at = indentOf(line);
  const end = text.trimEnd().length;
  if (text[at] === "|") at++;
  const cells = [];
  let begin = at;
  for (; at < end && cells.length < MAX_COLUMNS; at++) {
    if (text[at] === "\\") at++;
    else if (text[at] === "|") {
      cells.push(cellAt(line, begin, at));
      begin = at + 1;
    }
  }
  if (begin < end && cells.length < MAX_COLUMNS) cells.push(cellAt(line, begin, end));
  return cells;
}

function cellAt(line, begin, end) {
  const cell = trimmed({ text: line.text.slice(begin, end), src: line.src + begin });
  return { ...cell, text: cell.text.trimEnd() };
}

function alignOf({ text }) {
  if (!/^:?-+:?$/.test(text)) return null;
  if (text.startsWith(":") && text.length > 1 && text.endsWith(":")) return "center";
  return text.endsWith(":") ? "right" : text.startsWith(":") ? "left" : "start";
}

/** The alignments of the columns, when a table begins here; null else. */
function tableAt(lines, i) {
  const under = lines[i + 1];
  if (!under || !lines[i].text.includes("|") || !/^[\s|:-]+$/.test(under.text) || !under.text.includes("-"))
    return null;
  const align = cellsOf(under).map(alignOf);
  if (align.length === 0 || align.includes(null)) return null;
  return cellsOf(lines[i]).length === align.length ? align : null;
}

// Unescaped: inside of code a backslash is one, but not before a border of the table.
const inlineCell = (cell) => parseInline([{ ...cell, text: cell.text.replaceAll("\\|", "|") }]);

function readTable(lines, i, align) {
  const head = cellsOf(lines[i]).map(inlineCell);
  const rows = [];
  let at = i + 2;
  for (; at < lines.length && !isBlank(lines[at]) && !interrupts(lines[at]); at++) {
    const cells = cellsOf(lines[at]).slice(0, align.length).map(inlineCell);
    while (cells.length < align.length) cells.push([]);
    rows.push(cells);
  }
  return { block: { type: "table", align, head, rows }, next: at };
}

// ---- leaves

function readFence(lines, i) {
  const [, mark] = FENCE.exec(lines[i].text);
  const indent = indentOf(lines[i]);
  const language = lines[i].text
    .slice(indent + mark.length)
    .trim()
    .split(/\s/, 1)[0];
  const text = [];
  let at = i + 1;
  for (; at < lines.length; at++) {
    const end = FENCE.exec(lines[at].text);
    const isEnd = end && end[1][0] === mark[0] && end[1].length >= mark.length;
    if (isEnd && lines[at].text.slice(end[0].length).trim() === "") break;
    text.push(lines[at].text.slice(Math.min(indent, indentOf(lines[at]))));
  }
  return { block: { type: "code", language, text: text.join("\n") }, next: at + 1 };
}

function readIndented(lines, i) {
  const text = [];
  let at = i;
  for (; at < lines.length && (isBlank(lines[at]) || indentOf(lines[at]) >= CODE_INDENT); at++)
    text.push(lines[at].text.slice(CODE_INDENT));
  while (text.at(-1)?.trim() === "") text.pop();
  return { block: { type: "code", language: "", text: text.join("\n") }, next: at };
}

function readHeading(lines, i) {
  const [front, marks] = HEADING.exec(lines[i].text);
  const line = trimmed(cut(lines[i], front.length));
  let text = line.text.trimEnd();
  const bare = text.length - /#*$/.exec(text.slice(-80))[0].length;
  if (bare === 0 || text[bare - 1] === " ") text = text.slice(0, bare).trimEnd();
  return {
    block: { type: "heading", level: marks.length, inline: parseInline([{ ...line, text }]) },
    next: i + 1,
  };
}

function readParagraph(lines, i) {
  const kept = [trimmed(lines[i])];
  let at = i + 1;
  let level = 0;
  for (; at < lines.length && !isBlank(lines[at]); at++) {
    const under = /^ {0,3}(?:=+|-+) *$/.test(lines[at].text);
    if (under) {
      level = lines[at].text.includes("=") ? 1 : 2;
      at++;
      break;
    }
    if (interrupts(lines[at]) || tableAt(lines, at)) break;
    kept.push(trimmed(lines[at]));
  }
  kept.push({ ...kept.pop() });
  kept.at(-1).text = kept.at(-1).text.trimEnd();
  const inline = parseInline(kept);
  return { block: level ? { type: "heading", level, inline } : { type: "paragraph", inline }, next: at };
}

// ---- containers

/** Whether a line goes on with the paragraph above it, though its marks are missing. */
function isLazy(lines, at) {
  return (
    !isBlank(lines[at]) && !isBlank(lines[at - 1]) && !interrupts(lines[at]) && !MARKER.test(lines[at].text)
  );
}

function readQuote(lines, i, depth) {
  const inner = [];
  let at = i;
  for (; at < lines.length; at++) {
    const front = QUOTE.exec(lines[at].text)?.[0].length;
    if (front) inner.push(cut(lines[at], front + (lines[at].text[front] === " " ? 1 : 0)));
    else if (at > i && isLazy(lines, at) && indentOf(lines[at]) < CODE_INDENT) inner.push(lines[at]);
    else break;
  }
  return { block: { type: "quote", blocks: parse(inner, depth + 1) }, next: at };
}

/** A marker: of which list, how far its contents are indented. */
function markerAt(line) {
  const found = MARKER.exec(line.text);
  if (!found || isRule(line.text)) return null;
  const [, front, mark] = found;
  const width = front.length + mark.length;
  const space = /^ */.exec(line.text.slice(width))[0].length;
  const isEmpty = width + space >= line.text.length;
  return {
    kind: mark.at(-1),
    number: parseInt(mark, 10),
    indent: isEmpty || space > CODE_INDENT ? width + 1 : width + space,
  };
}

function readItem(lines, i, indent) {
  const inner = [cut(lines[i], Math.min(indent, lines[i].text.length))];
  let at = i + 1;
  for (; at < lines.length; at++) {
    if (isBlank(lines[at])) inner.push({ text: "", src: lines[at].src });
    else if (indentOf(lines[at]) >= indent) inner.push(cut(lines[at], indent));
    else if (isLazy(lines, at)) inner.push(lines[at]);
    else break;
  }
  let n = inner.length;
  while (n > 1 && isBlank(inner[n - 1])) n--;
  return { inner: inner.slice(0, n), blanks: inner.length - n, next: at };
}

function readList(lines, i, depth) {
  const first = markerAt(lines[i]);
  const block = {
    type: "list",
    isOrdered: Number.isFinite(first.number),
    first: first.number,
    isLoose: false,
    items: [],
  };
  let at = i;
  while (at < lines.length) {
    const marker = markerAt(lines[at]);
    if (marker?.kind !== first.kind) break;
    const { inner, blanks, next } = readItem(lines, at, marker.indent);
    const item = parse(inner, depth + 1);
    block.items.push(item);
    at = next;
    const goesOn = at < lines.length && markerAt(lines[at])?.kind === first.kind;
    if ((blanks > 0 && goesOn) || (item.length > 1 && hasGap(inner, item))) block.isLoose = true;
  }
  return { block, next: at };
}

/** Whether a blank line stands between two blocks of an item. */
function hasGap(inner, blocks) {
  const starts = new Set(blocks.slice(1).map((block) => block.start));
  return inner.some((line, i) => i > 0 && starts.has(line.src) && isBlank(inner[i - 1]));
}

function readBlock(lines, i, depth) {
  const line = lines[i];
  if (isFence(line.text)) return readFence(lines, i);
  if (HEADING.test(line.text)) return readHeading(lines, i);
  if (isRule(line.text)) return { block: { type: "rule" }, next: i + 1 };
  if (depth < MAX_DEPTH && QUOTE.test(line.text)) return readQuote(lines, i, depth);
  if (depth < MAX_DEPTH && markerAt(line)) return readList(lines, i, depth);
  if (indentOf(line) >= CODE_INDENT) return readIndented(lines, i);
  const align = tableAt(lines, i);
  return align ? readTable(lines, i, align) : readParagraph(lines, i);
}

function parse(lines, depth) {
  const blocks = [];
  let i = 0;
  while (i < lines.length) {
    if (isBlank(lines[i])) {
      i++;
      continue;
    }
    const { block, next } = readBlock(lines, i, depth);
    block.start = lines[i].src;
    block.at = lines[i].at; // of outermost blocks: where the line begins, tabs and all
    blocks.push(block);
    i = next;
  }
  return blocks;
}

/** The blocks of a text; `base` is where it begins in the whole. */
export function parseBlocks(text, base = 0) {
  return parse(linesOf(text, base), 0);
}
