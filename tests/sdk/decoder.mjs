#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// tests/sdk/decoder.mjs [CASE]...
//
// The decoder of sdk/js/src/sse.js against the rules of WHATWG HTML 9.2.6: each input cut at every
// byte gives the same events. The shared samples have many more inputs; where they are not, those here
// are what there is.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { SseDecoder } from "../../sdk/js/src/index.js";
import { main, test } from "./t.mjs";

const FOLDER = process.env.WEIR_SAMPLES ?? fileURLToPath(new URL("../../../shared/samples", import.meta.url));
const SAMPLES = path.join(FOLDER, "sse", "cases.jsonl");
const bytes = (text) => Buffer.from(text, "latin1");

/** What comes of chunks. */
function decoded(chunks, options = {}) {
  const events = [];
  const comments = [];
  const decoder = new SseDecoder({
    onEvent: ({ type, data, id }) => events.push({ event: type, data, id }),
    onComment: (text) => comments.push(text),
    ...options,
  });
  for (const chunk of chunks) decoder.feed(chunk);
  return { events, comments, retry: decoder.retry, lastId: decoder.lastId };
}

/** Cut once at each place, at each byte, and not at all; a long one where it matters and at some others. */
function* cuttings(input) {
  yield [input];
  yield Array.from(input, (_, i) => input.subarray(i, i + 1));
  const step = Math.max(1, Math.floor(input.length / 2000));
  for (let at = 0; at <= input.length; at += step) yield [input.subarray(0, at), input.subarray(at)];
}

function check(input, wanted, name) {
  for (const chunks of cuttings(input)) {
    const got = decoded(chunks);
    const where = `${name}, cut into ${chunks.map((chunk) => chunk.length).slice(0, 5)}`;
    assert.deepEqual(got.events, wanted.events, where);
    if (wanted.retry !== undefined) assert.equal(got.retry, wanted.retry, where);
    if (wanted.lastId !== undefined) assert.equal(got.lastId, wanted.lastId, where);
    if (wanted.comments !== undefined) assert.deepEqual(got.comments, wanted.comments, where);
  }
}

const one = (data, event = "message", id = "") => ({ event, data, id });

const table = [
  ["a byte order mark is dropped once", "\xef\xbb\xbfdata: 1\n\n\xef\xbb\xbfdata: 2\n\n", [one("1")]],
  [
    "lines end with LF, CRLF or CR",
    "data: a\r\rdata: b\r\n\r\ndata: c\n\ndata: d\r\n\rdata: e\n\r\n",
    ["a", "b", "c", "d", "e"].map((d) => one(d)),
  ],
  ["lines of data are joined", "data: a\ndata:\ndata:  b\n\n", [one("a\n\n b")]],
  ["data without a colon is an empty line", "data\n\ndata\ndata\n\n", [one(""), one("\n")]],
  ["a block without data is no event", "event: x\n\nid: 7\n\ndata: a\n\n", [one("a", "message", "7")]],
  [
    "an id with NUL is ignored",
    "id: 1\ndata: a\n\nid: 2\0\ndata: b\n\n",
    [one("a", "message", "1"), one("b", "message", "1")],
  ],
  ["an empty id takes it back", "id: 1\ndata: a\n\nid\ndata: b\n\n", [one("a", "message", "1"), one("b")]],
  ["names are exact", "Data: x\nDATA: x\n data: x\ndata : x\ndata: y\n\n", [one("y")]],
  ["the type is for one event", "event: x\ndata: a\n\ndata: b\n\n", [one("a", "x"), one("b")]],
  ["what is pending is no event", "data: a\n\ndata: b\n", [one("a")]],
  ["UTF-8 is whole wherever it is cut", "data: \xf0\x9f\x98\x80 \xe2\x82\xac\n\n", [one("\u{1f600} \u20ac")]],
  ["bad UTF-8 is replaced and eats no line end", "data: \xe2\x82\ndata: \xff\n\n", [one("\ufffd\n\ufffd")]],
  [
    "other line ends of Unicode are none",
    "data: a\xe2\x80\xa8b\xc2\x85c\x0bd\x0c\n\n",
    [one("a\u2028b\u0085c\u000bd\u000c")],
  ],
];

for (const [name, input, events] of table) test(name, async () => check(bytes(input), { events }, name));

test("only digits are a retry", async () => {
  for (const [text, retry] of [
    ["1000", 1000],
    ["0", 0],
    ["-1", null],
    ["1.5", null],
    ["5x", null],
    ["", null],
    [" 7", null],
    ["99999999999999999999", 2 ** 31 - 1],
  ])
    check(bytes(`retry: ${text}\n\n`), { events: [], retry }, text);
});

test("an id counts from the empty line on", async () => {
  check(bytes("id: 1\ndata: a\n\nid: 2\n\nid: 3\n"), { events: [one("a", "message", "1")], lastId: "2" }, "ids");
});

test("comments are told", async () => {
  check(bytes(": hb\n:\ndata: a\n:x: y\n\n"), { events: [one("a")], comments: [" hb", "", "x: y"] }, "comments");
});

test("samples of others give the same however they are cut", async () => {
  if (!fs.existsSync(SAMPLES)) return console.log("          (the shared samples are not there)");
  const lines = fs.readFileSync(SAMPLES, "utf8").trim().split("\n");
  for (const line of lines) {
    const sample = JSON.parse(line);
    const wanted = { events: sample.events, retry: sample.retry, lastId: sample.last_event_id };
    check(Buffer.from(sample.input_base64, "base64"), wanted, sample.name);
  }
});

test("an event that is too long is an error with a name, wherever it is cut", async () => {
  const limit = { maxEventChars: 100 };
  const line = bytes(`data: ${"x".repeat(95)}\n`);
  const tooLong = (error) => error.code === "event_too_long";
  assert.equal(decoded([line, bytes("\n")], limit).events.length, 1);
  assert.throws(() => decoded([line, line, bytes("\n")], limit), tooLong);
  assert.throws(() => decoded([Buffer.concat([line, line, bytes("\n")])], limit), tooLong);
  assert.throws(() => decoded([bytes("data: "), ...Array(101).fill(bytes("x"))], limit), tooLong);
  assert.throws(() => decoded([bytes(`id: ${"1".repeat(70000)}\n`)]), tooLong);
});

test("one long line in single bytes is no work that grows with its length", async () => {
  const nBytes = 400000; // quadratic, it would not come to its end in time
  const piece = bytes("x");
  const chunks = [bytes("data: "), ...Array(nBytes).fill(piece), bytes("\n\n")];
  assert.equal(decoded(chunks).events[0].data.length, nBytes);
});

await main();
