// SPDX-License-Identifier: Apache-2.0
// What stands inside a paragraph of Markdown, as a tree: emphasis, code, links, line breaks.
//
// The manner is CommonMark's: one pass makes tokens and remembers runs of * _ ~ and brackets, a
// second one pairs the runs. Both are linear in the text whatever it holds, and HTML is text. A node
// is {type: "text", text, src} (src: where it stands in the source), {type: "code", text, src},
// {type: "break"}, {type: "em" | "strong" | "del", children} or {type: "link", href, title, children}.

const MAX_DEPTH = 24; // of emphasis in links in emphasis; what is deeper loses its marks
const MAX_LINK_CHARS = 2048; // of an address with its title
const MAX_PARENTHESES = 32; // inside an address

const PUNCTUATION = /[\p{P}\p{S}]/u;
const SPACE = /\s/;
const URL_HERE = /https?:\/\/[^\s<>"`[\]{}|\\^]+/iy;
const AUTOLINK_HERE = /<((?:https?:\/\/|mailto:)[^\s<>]{1,2000})>/iy;
const ENTITY_HERE = /&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|([a-zA-Z]{2,8}));/y;
const PLAIN_HERE = /[^\\`*_~[\]!<&\nhH]+/y;
const ENTITIES = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  nbsp: "\u00a0",
  ndash: "–",
  mdash: "—",
  hellip: "…",
  times: "×",
  deg: "°",
  plusmn: "±",
  middot: "·",
  le: "≤",
  ge: "≥",
  ne: "≠",
  rarr: "→",
  larr: "←",
  micro: "µ",
};

/** Where a text leads, if it may: the web and mail, nothing that could run. */
export function safeHref(address) {
  const bare = address.replace(/[\u0000-\u0020\u007f]/g, "");
  if (!/^(?:https?:\/\/|mailto:)/i.test(bare)) return null;
  try {
    return new URL(bare).href;
  } catch {
    return null;
  }
}

/** How many characters at the end of a text are some of these; a pattern would begin anew at each of them. */
function endOf(text, chars) {
  let at = text.length;
  while (at > 0 && chars.includes(text[at - 1])) at--;
  return text.length - at;
}

function matchAt(pattern, text, at) {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

/** Lines of a paragraph as one text, with the way back to where each character came from. */
function joined(lines) {
  const starts = [];
  let text = "";
  for (const line of lines) {
    starts.push({ at: text.length, src: line.src });
    text += `${line.text}\n`;
  }
  return { text: text.slice(0, -1), starts };
}

/** The places of runs of backticks by their length, so that none is looked for twice. */
function backtickRuns(text) {
  const runs = new Map();
  for (const { 0: run, index } of text.matchAll(/`+/g)) {
    if (!runs.has(run.length)) runs.set(run.length, { places: [], next: 0 });
    runs.get(run.length).places.push(index);
  }
  return runs;
}

class Inline {
  constructor(lines) {
    const { text, starts } = joined(lines);
    this.text = text;
    this.starts = starts;
    this.line = 0;
    this.at = 0;
    this.out = [];
    this.delimiters = { last: null };
    this.brackets = [];
    this.linked = 0; // so many of the brackets have a link inside, and become none
    this.ticks = null;
  }

  /** Where the character at `at` stands in the source; asked for in growing order. */
  src(at) {
    while (this.line + 1 < this.starts.length && this.starts[this.line + 1].at <= at) this.line++;
    const { at: begin, src } = this.starts[this.line];
    return src + at - begin;
  }

  push(text, length = text.length) {
    this.out.push({ type: "text", text, src: this.src(this.at) });
    this.at += length;
  }

  parse() {
    const { text } = this;
    while (this.at < text.length) this.step(text[this.at]);
    pairDelimiters(this.delimiters, null);
    return treeOf(this.out);
  }

  step(char) {
    const handler = HANDLERS[char];
    if (handler) return handler.call(this, char);
    const plain = matchAt(PLAIN_HERE, this.text, this.at);
    this.push(plain ? plain[0] : char);
  }

  escape() {
    const next = this.text[this.at + 1];
    if (next === "\n") this.lineBreak(2);
    else if (next !== undefined && /[!-/:-@[-`{-~]/.test(next)) {
      this.at++;
      this.push(next);
    } else this.push("\\");
  }

  newline() {
    const last = this.out.at(-1);
    const spaces = last?.type === "text" ? endOf(last.text, " ") : 0;
    if (spaces > 0) last.text = last.text.slice(0, -spaces);
    if (spaces >= 2) this.lineBreak(1);
    else this.push("\n");
  }

  lineBreak(length) {
    this.out.push({ type: "break" });
    this.at += length;
  }

  code() {
    const length = /^`+/.exec(this.text.slice(this.at, this.at + MAX_LINK_CHARS))[0].length;
    this.ticks ??= backtickRuns(this.text);
    const run = this.ticks.get(length);
    while (run && run.next < run.places.length && run.places[run.next] < this.at + length) run.next++;
    const end = run?.places[run.next];
    if (end === undefined) return this.push("`".repeat(length));
    let inner = this.text.slice(this.at + length, end).replaceAll("\n", " ");
    if (/^ .* $/s.test(inner) && inner.trim() !== "") inner = inner.slice(1, -1);
    this.out.push({ type: "code", text: inner, src: this.src(this.at + length) });
    this.at = end + length;
  }

  delimiter(char) {
    const { text, at } = this;
    let end = at;
    while (text[end] === char) end++;
    const token = { type: "delimiter", char, count: end - at, src: this.src(at), opens: [], closes: [] };
    this.at = end;
    this.out.push(token);
    if (char === "~" && token.count !== 2) return;
    Object.assign(token, flanks(text, at, end, char));
    token.isOpener = token.canOpen;
    token.size = token.count;
    token.previous = this.delimiters.last;
    if (token.previous) token.previous.next = token;
    token.next = null;
    this.delimiters.last = token;
  }

  open(isImage) {
    this.brackets.push({ token: this.out.length, delimiter: this.delimiters.last, isImage });
    this.push(isImage ? "![" : "[");
  }

  bang() {
    if (this.text[this.at + 1] === "[") this.open(true);
    else this.push("!");
  }

  close() {
    const bracket = this.brackets.pop();
    const isInside = this.brackets.length < this.linked && !bracket?.isImage;
    this.linked = Math.min(this.linked, this.brackets.length);
    const target = bracket && !isInside ? linkTarget(this.text, this.at + 1) : null;
    if (!target) return this.push("]");
    pairDelimiters(this.delimiters, bracket.delimiter);
    const href = bracket.isImage ? null : safeHref(target.href);
    // Images would be requests to others: what stands for them is their text.
    this.out[bracket.token] = {
      type: "open",
      node: href ? { type: "link", href, title: target.title } : null,
    };
    this.out.push({ type: "close" });
    this.at = target.end;
    if (!bracket.isImage) this.linked = this.brackets.length;
  }

  angle() {
    const link = matchAt(AUTOLINK_HERE, this.text, this.at);
    const href = link && safeHref(link[1]);
    if (!href) return this.push("<");
    this.link(href, link[1].replace(/^mailto:/i, ""), this.at + 1, link[0].length);
  }

  link(href, text, at, length) {
    this.out.push({ type: "open", node: { type: "link", href, title: "" } });
    this.out.push({ type: "text", text, src: this.src(at) });
    this.out.push({ type: "close" });
    this.at += length;
  }

  bareUrl(char) {
    const before = this.at > 0 ? this.text[this.at - 1] : " ";
    const found =
      /\w/.test(before) || this.brackets.length > 0 ? null : matchAt(URL_HERE, this.text, this.at);
    const address = found?.[0].slice(0, found[0].length - endOf(found[0], ".,;:!?'*_~)"));
    const href = address && safeHref(address);
    if (href) return this.link(href, address, this.at, address.length);
    const plain = matchAt(PLAIN_HERE, this.text, this.at + 1);
    this.push(char + (plain ? plain[0] : ""));
  }

  entity() {
    const found = matchAt(ENTITY_HERE, this.text, this.at);
    const [whole, decimal, hex, name] = found ?? [];
    const code = decimal ? Number(decimal) : hex ? parseInt(hex, 16) : null;
    const isCharacter = code !== null && code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff);
    const text = isCharacter
      ? String.fromCodePoint(code)
      : name && Object.hasOwn(ENTITIES, name)
        ? ENTITIES[name]
        : null;
    if (text === null) this.push("&");
    else this.push(text, whole.length);
  }
}

const HANDLERS = {
  "\\": Inline.prototype.escape,
  "\n": Inline.prototype.newline,
  "`": Inline.prototype.code,
  "*": Inline.prototype.delimiter,
  _: Inline.prototype.delimiter,
  "~": Inline.prototype.delimiter,
  "[": function () {
    this.open(false);
  },
  "!": Inline.prototype.bang,
  "]": Inline.prototype.close,
  "<": Inline.prototype.angle,
  "&": Inline.prototype.entity,
  h: Inline.prototype.bareUrl,
  H: Inline.prototype.bareUrl,
};

/** Whether a run may begin and end emphasis, by what stands on its two sides. */
function flanks(text, at, end, char) {
  const before = at > 0 ? text[at - 1] : " ";
  const after = end < text.length ? text[end] : " ";
  const isSpaceBefore = SPACE.test(before);
  const isSpaceAfter = SPACE.test(after);
  const isMarkBefore = PUNCTUATION.test(before);
  const isMarkAfter = PUNCTUATION.test(after);
  const isLeft = !isSpaceAfter && (!isMarkAfter || isSpaceBefore || isMarkBefore);
  const isRight = !isSpaceBefore && (!isMarkBefore || isSpaceAfter || isMarkAfter);
  if (char !== "_") return { canOpen: isLeft, canClose: isRight };
  return { canOpen: isLeft && (!isRight || isMarkBefore), canClose: isRight && (!isLeft || isMarkAfter) };
}

function unlink(list, token) {
  if (token.previous) token.previous.next = token.next;
  if (token.next) token.next.previous = token.previous;
  if (list.last === token) list.last = token.previous;
}

/** A closer fits an opener unless their sizes add up to a multiple of three where either is both. */
function fits(opener, closer) {
  if (opener.char !== closer.char || !opener.isOpener || opener.count === 0) return false;
  const isBoth = opener.canClose || closer.canOpen;
  return !isBoth || (opener.size + closer.size) % 3 !== 0 || (opener.size % 3 === 0 && closer.size % 3 === 0);
}

/** Pairs the runs behind `bottom`, which are forgotten then. */
function pairDelimiters(list, bottom) {
  const floors = new Map(); // below these no opener was found before, so none is looked for again
  let closer = bottom ? bottom.next : firstOf(list);
  while (closer) {
    const { next } = closer;
    if (closer.canClose) closeWith(list, closer, bottom, floors);
    else if (!closer.canOpen) unlink(list, closer);
    closer = next;
  }
  if (bottom) bottom.next = null;
  list.last = bottom;
}

function firstOf(list) {
  let token = list.last;
  while (token?.previous) token = token.previous;
  return token;
}

function closeWith(list, closer, bottom, floors) {
  const key = `${closer.char}${closer.canOpen}${closer.size % 3}`;
  let opener = closer.previous;
  while (closer.count > 0) {
    while (opener && opener !== bottom && opener !== floors.get(key) && !fits(opener, closer))
      opener = opener.previous;
    if (!opener || opener === bottom || opener === floors.get(key)) break;
    const size = closer.count >= 2 && opener.count >= 2 ? 2 : 1;
    const type = closer.char === "~" ? "del" : size === 2 ? "strong" : "em";
    opener.opens.push(type);
    closer.closes.push(type);
    opener.count -= size;
    closer.count -= size;
    // What stands between a pair pairs with nothing outside of it.
    opener.next = closer;
    closer.previous = opener;
    if (opener.count === 0) {
      unlink(list, opener);
      opener = opener.previous;
    }
  }
  if (closer.count === 0) return unlink(list, closer);
  floors.set(key, closer.previous);
  if (!closer.canOpen) unlink(list, closer);
}

/** Address and title behind "](", and where they end; null: there are none. */
function linkTarget(text, at) {
  if (text[at] !== "(") return null;
  const limit = Math.min(text.length, at + MAX_LINK_CHARS);
  let place = skipSpace(text, at + 1, limit);
  const address = text[place] === "<" ? angleAddress(text, place, limit) : plainAddress(text, place, limit);
  if (!address) return null;
  place = skipSpace(text, address.end, limit);
  const title = place > address.end ? titleAt(text, place, limit) : null;
  if (title) place = skipSpace(text, title.end, limit);
  return text[place] === ")" ? { href: address.href, title: title?.text ?? "", end: place + 1 } : null;
}

function skipSpace(text, at, limit) {
  while (at < limit && SPACE.test(text[at])) at++;
  return at;
}

function angleAddress(text, at, limit) {
  for (let end = at + 1; end < limit && text[end] !== "\n" && text[end] !== "<"; end++)
    if (text[end] === ">") return { href: text.slice(at + 1, end), end: end + 1 };
  return null;
}

function plainAddress(text, at, limit) {
  let depth = 0;
  let end = at;
  for (; end < limit && !SPACE.test(text[end]); end++) {
    if (text[end] === "(" && ++depth > MAX_PARENTHESES) return null;
    if (text[end] === ")" && depth-- === 0) break;
    if (text[end] === "\\" && end + 1 < limit) end++;
  }
  const href = text.slice(at, end).replace(/\\([!-/:-@[-`{-~])/g, "$1");
  return depth > 0 ? null : { href, end };
}

const TITLE_ENDS = { '"': '"', "'": "'", "(": ")" };

function titleAt(text, at, limit) {
  const mark = TITLE_ENDS[text[at]];
  if (!mark) return null;
  for (let end = at + 1; end < limit; end++) {
    if (text[end] === "\\") end++;
    else if (text[end] === mark) return { text: text.slice(at + 1, end), end: end + 1 };
  }
  return null;
}

/** Tokens with their opening and closing marks, as a tree. */
function treeOf(tokens) {
  const root = { children: [] };
  const stack = [root];
  let tooDeep = 0;
  const open = (node) => {
    if (stack.length > MAX_DEPTH) tooDeep++;
    else {
      if (node) node.children = [];
      stack.push(node ?? { children: stack.at(-1).children });
      if (node) stack.at(-2).children.push(node);
    }
  };
  const close = () => {
    if (tooDeep > 0) tooDeep--;
    else if (stack.length > 1) stack.pop();
  };
  for (const token of tokens) {
    if (token.type === "open") open(token.node);
    else if (token.type === "close") close();
    else if (token.type === "delimiter") {
      for (let i = 0; i < token.closes.length; i++) close();
      if (token.count > 0)
        add(stack.at(-1).children, { type: "text", text: token.char.repeat(token.count), src: token.src });
      for (let i = token.opens.length - 1; i >= 0; i--) open({ type: token.opens[i] });
    } else add(stack.at(-1).children, token);
  }
  return root.children;
}

/** Neighbours in the source are one text. */
function add(children, node) {
  const last = children.at(-1);
  const isNext = node.type === "text" && last?.type === "text" && last.src + last.text.length === node.src;
  if (isNext) last.text += node.text;
  else if (node.type !== "text" || node.text !== "") children.push(node);
}

/** lines: [{text, src}], without the white space around them. */
export function parseInline(lines) {
  return new Inline(lines).parse();
}
