// SPDX-License-Identifier: Apache-2.0
// Markdown: web/lib/markdown.js, which is all that stands between a model's text and the page.

import assert from "node:assert/strict";
import { test } from "node:test";

import { h } from "../../../web/lib/dom.js";
import { markdownStream, pacedMarkdown, renderMarkdown } from "../../../web/lib/markdown.js";
import { parseBlocks } from "../../../web/lib/markdown_blocks.js";
import { installDocument } from "../harness/document.mjs";

installDocument();

// Attributes that every such element has are left out of what is compared.
const COMMON =
  / (?:target="_blank" rel="noopener noreferrer nofollow"|class="md-\w+"|tabindex="0"|role="region"|aria-label="[^"]*"|scope="col")/g;
const htmlOf = (text, options) =>
  renderMarkdown(text, options)
    .map((node) => node.html)
    .join("")
    .replace(COMMON, "")
    .replace(COMMON, "");

function check(cases) {
  for (const [text, expected] of cases) assert.equal(htmlOf(text), expected, JSON.stringify(text));
}

test("paragraphs, headings, rules and breaks", () => {
  check([
    ["", ""],
    [" \n\t\n", ""],
    ["a\nb\n\nc", "<p>a\nb</p><p>c</p>"],
    ["a\r\nb\r\n\r\nc", "<p>a\nb</p><p>c</p>"],
    ["# One\n## Two ##\n###### Six\n####### no", "<h3>One</h3><h4>Two</h4><h6>Six</h6><p>####### no</p>"],
    ["One\n===\nTwo\n---", "<h3>One</h3><h4>Two</h4>"],
    ["#no", "<p>#no</p>"],
    ["a\n\n---\n* * *", "<p>a</p><hr></hr><hr></hr>"],
    ["a  \nb\\\nc", "<p>a<br></br>b<br></br>c</p>"],
  ]);
});

test("emphasis pairs as CommonMark says", () => {
  check([
    [
      "**a** *b* ***c*** __d__ _e_",
      "<p><strong>a</strong> <em>b</em> <em><strong>c</strong></em> <strong>d</strong> <em>e</em></p>",
    ],
    ["a_b_c 2*3*4", "<p>a_b_c 2<em>3</em>4</p>"],
    ["* a*b **c", "<ul><li>a*b **c</li></ul>"],
    ["**a*b**c*", "<p><strong>a*b</strong>c*</p>"],
    ["*foo**bar*", "<p><em>foo**bar</em></p>"],
    ["~~gone~~ ~not~", "<p><del>gone</del> ~not~</p>"],
    ["a * b * c", "<p>a * b * c</p>"],
    ["**7 h 9 min**, and", "<p><strong>7 h 9 min</strong>, and</p>"],
  ]);
});

test("code is what it is", () => {
  check([
    ["`a*b*` ``c`d`` ` e `", "<p><code>a*b*</code> <code>c`d</code> <code>e</code></p>"],
    ["`open", "<p>`open</p>"],
    ["```js\nlet a = '<b>';\n\n```\nafter", "<pre><code>let a = '&lt;b&gt;';\n</code></pre><p>after</p>"],
    ["~~~\n```\n~~~", "<pre><code>```</code></pre>"],
    ["```\nnever closed\n", "<pre><code>never closed\n</code></pre>"],
    ["    indented\n\n    more\n", "<pre><code>indented\n\nmore</code></pre>"],
  ]);
});

test("lists nest, count on, and are tight or loose", () => {
  check([
    ["- a\n- b\n  - c\n- d", "<ul><li>a</li><li>b<ul><li>c</li></ul></li><li>d</li></ul>"],
    ["3. a\n4. b", '<ol start="3"><li>a</li><li>b</li></ol>'],
    ["- a\n\n- b", "<ul><li><p>a</p></li><li><p>b</p></li></ul>"],
    ["text\n- a\nlazy\n\nend", "<p>text</p><ul><li>a\nlazy</li></ul><p>end</p>"],
    ["1. a\n\n   more\n2. b", "<ol><li><p>a</p><p>more</p></li><li><p>b</p></li></ol>"],
    ["text\n2025. was a year", "<p>text\n2025. was a year</p>"],
    ["- a\n* b", "<ul><li>a</li></ul><ul><li>b</li></ul>"],
    ["-\n- b", "<ul><li></li><li>b</li></ul>"],
    ["\t- a\n", "<pre><code>- a</code></pre>"],
    ["- a\n\n\tb", "<ul><li><p>a</p><p>b</p></li></ul>"],
  ]);
});

test("quotes hold blocks", () => {
  check([
    ["> a\nlazy\n> - b\n\nc", "<blockquote><p>a\nlazy</p><ul><li>b</li></ul></blockquote><p>c</p>"],
    ["> > deep", "<blockquote><blockquote><p>deep</p></blockquote></blockquote>"],
  ]);
});

test("tables have a head, alignments, and rows of one length", () => {
  const row = (tag, ...cells) => `<tr>${cells.map((cell) => `<${tag}>${cell}</${tag}>`).join("")}</tr>`;
  const table = (head, ...rows) =>
    `<div><table><thead>${row("th", ...head)}</thead><tbody>${rows.map((cells) => row("td", ...cells)).join("")}</tbody></table></div>`;
  check([
    [
      "| a | b |\n|---|:-:|\n| 1 \\| 2 | **x** |\n| 3 |\n| 4 | 5 | 6 |\n\nend",
      `${table(["a", "b"], ["1 | 2", "<strong>x</strong>"], ["3", ""], ["4", "5"])}<p>end</p>`,
    ],
    ["text\na | b\n--|--\n1 | 2", `<p>text</p>${table(["a", "b"], ["1", "2"])}`],
    ["a | b\n--", "<h4>a | b</h4>"],
    ["a | b\n-- | -- | --", "<p>a | b\n-- | -- | --</p>"],
  ]);
  assert.match(renderMarkdown("a | b\n-:|:-:\n1|2")[0].html, /class="md-right"/);
});

test("links lead to the web and to mail, and nowhere else", () => {
  check([
    ['[a](https://x.y/z_(1) "t")', '<p><a href="https://x.y/z_(1)" title="t">a</a></p>'],
    ["[a](<https://x.y/a b>)", '<p><a href="https://x.y/ab">a</a></p>'],
    [
      "[mail](mailto:a@b.c) <mailto:a@b.c>",
      '<p><a href="mailto:a@b.c">mail</a> <a href="mailto:a@b.c">a@b.c</a></p>',
    ],
    ["see https://a.b/c.", '<p>see <a href="https://a.b/c">https://a.b/c</a>.</p>'],
    ["[[in](https://a.b)](x)", '<p>[<a href="https://a.b/">in</a>](x)</p>'],
    ["[*a](https://b.c)*", '<p><a href="https://b.c/">*a</a>*</p>'],
    ["![alt *x*](https://spy.example/i.png)", "<p>alt <em>x</em></p>"],
  ]);
  const bad = [
    "javascript:alert(1)",
    "JaVaScRiPt:alert(1)",
    "java\tscript:alert(1)",
    "&#106;avascript:alert(1)",
    "data:text/html,<script>1</script>",
    "vbscript:x",
    "file:///etc/passwd",
    "//evil.example",
    "/auth/session",
    "#/signin",
    "\u0001javascript:alert(1)",
    "https:",
  ];
  for (const address of bad) {
    assert.doesNotMatch(htmlOf(`[a](${address})`), /<a/, address);
    assert.doesNotMatch(htmlOf(`[a](<${address}>)`), /<a/, address);
    assert.doesNotMatch(htmlOf(`<${address}>`), /<a/, address);
  }
  for (const node of renderMarkdown("[a](https://b.c)"))
    assert.match(node.html, /rel="noopener noreferrer nofollow"/);
});

test("HTML is text, whatever it looks like", () => {
  const texts = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<!-- a -->",
    "<svg/onload=alert(1)>",
    "a <b>c</b>",
    '<a href="javascript:alert(1)">x</a>',
    "<iframe srcdoc='<script>'>",
    "<style>*{}</style>",
    "&lt;script&gt;",
    "<<script>>",
    "[<script>](https://a.b)",
    "`<script>`",
    "| <b> |\n|---|\n| <i> |",
    "# <h1>",
    "> <q>",
    "- <li>",
  ];
  const allowed =
    /^(?:p|em|strong|del|code|pre|a|br|hr|ul|ol|li|blockquote|div|table|thead|tbody|tr|th|td|h[3-6])$/;
  for (const text of texts)
    for (const [, tag] of htmlOf(text).matchAll(/<\/?([a-z0-9]+)/g)) assert.match(tag, allowed, text);
  assert.equal(
    renderMarkdown("<b>&lt;i&gt; &amp; &#65;&#x42; &nope; &#0;")[0].textContent,
    "<b><i> & AB &nope; &#0;",
  );
});

test("ranges of the source are wrapped wherever they stand", () => {
  const wrapIn = (text, ...found) =>
    htmlOf(text, {
      ranges: found.map((part) => ({
        start: text.indexOf(part),
        end: text.indexOf(part) + part.length,
        wrap: (nodes) => h("a", { href: "#f" }, nodes),
      })),
    });
  const a = (text) => `<a href="#f">${text}</a>`;
  assert.equal(
    wrapIn("It is **57.8 bpm** now (27 days).", "57.8 bpm", "27 days"),
    `<p>It is <strong>${a("57.8 bpm")}</strong> now (${a("27 days")}).</p>`,
  );
  assert.equal(
    wrapIn("- x\n  - é 41 min\n- 7", "41 min", "7"),
    `<ul><li>x<ul><li>é ${a("41 min")}</li></ul></li><li>${a("7")}</li></ul>`,
  );
  assert.equal(wrapIn("| a |\n|---|\n| 5 bpm |", "5 bpm").includes(a("5 bpm")), true);
  assert.equal(wrapIn("> 1\n> 22 min", "22 min"), `<blockquote><p>1\n${a("22 min")}</p></blockquote>`);
  assert.equal(wrapIn("7 h\n9 min long", "7 h\n9 min"), `<p>${a("7 h\n9 min")} long</p>`);
  assert.equal(wrapIn("**7** h", "7** h"), `<p><strong>${a("7")}</strong>${a(" h")}</p>`);
  assert.equal(wrapIn("\t- 5 kg", "5 kg"), "<pre><code>- 5 kg</code></pre>");
  assert.equal(wrapIn("1.\t5 kg\n\t6 kg", "6 kg"), `<ol><li>5 kg\n${a("6 kg")}</li></ol>`);
  assert.equal(wrapIn("[5 kg](https://a.b)", "5 kg"), '<p><a href="https://a.b/">5 kg</a></p>');
});

const LONG = [
  "# Title\n\nYour *sleep* was **7 h 9 min** `x`.\n\n- one\n- two\n  - three\n\n  more\n- four\n\n",
  "| a | b |\n|---|---|\n| 1 | 2 |\n\n> quote\n> - in\n\n1. first\n2. second\n\n```js\ncode\n```\n\n[a](https://b.c) end\n---\nlast",
].join("");

test("a text that grows by any pieces looks as if it had come at once", () => {
  const texts = [
    "Result:\n-\tsteps\n\t- more\n\nHello world\n\n\tcode\n\tmore\n\n1.\tone\n2.\ttwo\n",
    "1. walk\n\n2. sleep\n\n- x\n**Note** y\n\n> a\nb\n\n| a |\n|---|\n| 1 |\nend",
  ];
  for (const text of texts)
    for (let piece = 1; piece < 8; piece++) {
      const root = document.createElement("div");
      const stream = markdownStream(root);
      for (let end = piece; end < text.length + piece; end += piece) {
        stream.update(text.slice(0, end));
        const whole = renderMarkdown(text.slice(0, end)).map((node) => node.html);
        assert.equal(root.inner, whole.join(""), `${JSON.stringify(text.slice(0, end))} by ${piece}`);
      }
    }
});

test("a text that grows looks as if it had come at once, wherever it is cut", () => {
  const whole = (text) =>
    renderMarkdown(text)
      .map((node) => node.html)
      .join("");
  for (let cut = 0; cut <= LONG.length; cut++) {
    const root = document.createElement("div");
    const stream = markdownStream(root);
    stream.update(LONG.slice(0, cut));
    assert.equal(root.inner, whole(LONG.slice(0, cut)), `cut at ${cut}`);
    stream.update(LONG);
    assert.equal(root.inner, whole(LONG), `cut at ${cut}, then whole`);
  }
  const root = document.createElement("div");
  const stream = markdownStream(root);
  for (let end = 1; end <= LONG.length; end++) stream.update(LONG.slice(0, end));
  assert.equal(root.inner, whole(LONG));
  stream.update("another");
  assert.equal(root.inner, "<p>another</p>");
});

test("what is as long as it may be is Markdown, and elements for it are made", () => {
  const longest = (part) => part.repeat(Math.floor((128 << 10) / part.length));
  for (const part of ["- a\n", "*a* ", "a\n\n", "> ", "a|b\n-|-\n", "[a](https://b.c) "])
    assert.ok(renderMarkdown(longest(part)).length > 0, part);
  const root = document.createElement("div");
  const stream = markdownStream(root);
  stream.update(longest("- a\n"));
  assert.equal(root.firstChild.tag, "ul");
  stream.update(`${longest("- a\n")}more of it`);
  assert.equal(root.inner.startsWith('<p class="md-plain">'), true);
});

test("blocks that stand stay the same elements", () => {
  const root = document.createElement("div");
  const stream = markdownStream(root);
  stream.update("one\n\ntwo");
  const [first] = root.childNodes;
  stream.update("one\n\ntwo three\n\nfour");
  assert.equal(root.childNodes[0], first);
  assert.equal(root.inner, "<p>one</p><p>two three</p><p>four</p>");
});

test("drawing takes a share of the time: what comes too soon is drawn later, and only the newest of it", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  let ms = 0;
  const now = () => (ms += 5); // each look at the clock, so each drawing takes 5
  const root = document.createElement("div");
  const stream = pacedMarkdown(root, {}, now);
  stream.update("one");
  assert.equal(root.inner, "<p>one</p>");
  for (const text of ["one two", "one two three"]) stream.update(text);
  assert.equal(root.inner, "<p>one</p>");
  t.mock.timers.tick(20);
  assert.equal(root.inner, "<p>one two three</p>");
  stream.update("one two three four");
  stream.cancel();
  t.mock.timers.tick(1000);
  assert.equal(root.inner, "<p>one two three</p>");
});

const MANY = 50_000;
const HOSTILE = {
  stars: () => "*".repeat(4 * MANY),
  openers: () => "*a ".repeat(MANY),
  closers: () => "a* ".repeat(MANY),
  pairs: () => "*a* ".repeat(MANY),
  crossed: () => "*a_b".repeat(MANY),
  uneven: () => "**x* ".repeat(MANY),
  "stars inside stars": () => "*".repeat(2 * MANY) + "a" + "*".repeat(2 * MANY),
  brackets: () => "[".repeat(4 * MANY),
  "closing brackets": () => "]".repeat(4 * MANY),
  "half links": () => "[a](".repeat(MANY),
  "half titles": () => '[a](b "'.repeat(MANY / 2),
  "links in brackets": () => "[".repeat(MANY) + "](https://a.b)".repeat(MANY / 4),
  "images before links": () => "![".repeat(MANY) + "[a](https://b.c)".repeat(MANY / 8),
  backticks: () => Array.from({ length: 1400 }, (_, i) => "`".repeat(i + 1)).join(" "), // a megabyte
  quotes: () => "> ".repeat(2 * MANY),
  "quotes in lines": () => `${"> ".repeat(30)}\n`.repeat(MANY / 16),
  "lists in lists": () => Array.from({ length: 1000 }, (_, i) => `${" ".repeat(2 * i)}- a`).join("\n"),
  "many items": () => "- a\n\n".repeat(MANY / 2),
  "lazy items": () => "- a\nb\n".repeat(MANY / 2),
  lines: () => "a\n".repeat(2 * MANY),
  "empty lines": () => "\n".repeat(4 * MANY),
  fences: () => "```\n".repeat(MANY),
  "wide table": () => `${"|".repeat(2 * MANY)}\n${"|-".repeat(MANY)}`,
  "long table": () => `a|b\n-|-\n${"1|2\n".repeat(MANY)}`,
  hashes: () => `# ${"#".repeat(4 * MANY)}x`,
  spaces: () => `a${" ".repeat(4 * MANY)}b`,
  "spaces at the end": () => `${" ".repeat(1000)}a${" ".repeat(1000)}\n`.repeat(500),
  ampersands: () => "&".repeat(4 * MANY),
  angles: () => "<".repeat(4 * MANY),
  backslashes: () => "\\".repeat(4 * MANY),
  addresses: () => "http://a ".repeat(MANY / 2),
  "letters h": () => "h".repeat(4 * MANY),
  "one word": () => "x".repeat(4 * MANY),
  nul: () => "\0\ud800".repeat(MANY),
};

const ENOUGH = 1000; // of what one node holds is looked at

function depthOf(node) {
  const inside = [node.inline, node.blocks, node.children, ...(node.items ?? []).slice(0, ENOUGH)].filter(
    Boolean,
  );
  return (
    1 +
    Math.max(
      0,
      ...inside
        .flatMap((list) => list.slice(0, ENOUGH))
        .slice(0, ENOUGH)
        .map(depthOf),
    )
  );
}

for (const [name, make] of Object.entries(HOSTILE)) {
  test(`200 KB of ${name} are read, and not deep`, () => {
    const blocks = parseBlocks(make());
    assert.ok(Array.isArray(blocks));
    for (const block of blocks.slice(0, 10)) assert.ok(depthOf(block) < 80, "depth");
    const [first] = renderMarkdown(make());
    if (make().length > 128 << 10)
      assert.equal(first.getAttribute("class"), "md-plain", "what is too long is plain text");
  });
}

test("marks that end in something else are looked at once", () => {
  const deadlineMs = 10_000 * Number(process.env.WEIR_PATIENCE ?? 1);
  const hostile = { "spaces before a line's end": `a${" ".repeat(6 * MANY)}b\nc`, "an address that goes on": `http://a${".".repeat(6 * MANY)}b c` };
  for (const [name, text] of Object.entries(hostile)) {
    const begin = performance.now();
    assert.ok(parseBlocks(text).length > 0);
    const ms = performance.now() - begin;
    // Linear it takes some milliseconds; begun anew at each mark, most of a minute.
    assert.ok(ms < deadlineMs, `${name}: ${ms} ms`);
  }
});

test("a megabyte of everything together is read", () => {
  const text = Object.values(HOSTILE)
    .map((make) => make().slice(0, 30_000))
    .join("\n\n");
  assert.ok(parseBlocks(text).length > Object.keys(HOSTILE).length);
});
