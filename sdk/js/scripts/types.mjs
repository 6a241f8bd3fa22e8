#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// scripts/types.mjs [FILE | URL] > types/api.d.ts
//
// The types of what the server says, out of its /openapi.json: a type for each schema, and one for the
// events of each stream. tests/sdk/types.py fails when types/api.d.ts is not what this makes.

import fs from "node:fs";

const WIDTH = 100;
const UNIONS = {
  TurnEvent: ["/v1/turns/{id}/events", "Numbered"],
  ChatEvent: ["/ai/chat", "Named"],
  ImportEvent: ["/v1/data/imports/{id}/events", "Numbered"],
};

const literal = (value) => JSON.stringify(value);
const isName = (text) => /^[A-Za-z_$][\w$]*$/.test(text);

function refName(ref) {
  const name = ref.split("/").at(-1);
  return name === "any" ? "unknown" : name;
}

function objectOf({ properties = {}, required = [], additionalProperties }) {
  const members = Object.entries(properties).map(([name, schema]) => {
    const mark = required.includes(name) ? "" : "?";
    return `${isName(name) ? name : literal(name)}${mark}: ${typeOf(schema)}`;
  });
  const rest = typeof additionalProperties === "object" ? typeOf(additionalProperties) : "unknown";
  if (members.length === 0) return `Record<string, ${rest}>`;
  return `{ ${members.join("; ")} }`;
}

function ofKind(kind, schema) {
  if (kind === "integer") return "number";
  if (kind === "array") return `Array<${typeOf(schema.items ?? {})}>`;
  return kind === "object" ? objectOf(schema) : kind;
}

function typeOf(schema) {
  if (schema.$ref) return refName(schema.$ref);
  if ("const" in schema) return literal(schema.const);
  if (schema.enum) return schema.enum.map(literal).join(" | ");
  const several = schema.oneOf ?? schema.anyOf;
  if (several) return several.map(typeOf).join(" | ");
  if (!schema.type) return schema.properties ? objectOf(schema) : "unknown";
  return [schema.type]
    .flat()
    .map((kind) => ofKind(kind, schema))
    .join(" | ");
}

/** Broken at its outermost semicolons or bars when it does not fit into a line. */
function laid(head, type) {
  if (head.length + type.length + 1 <= WIDTH) return `${head}${type};`;
  const isObject = type.startsWith("{") && matching(type) === type.length - 1;
  const parts = split(isObject ? type.slice(2, -2) : type, isObject ? ";" : "|");
  if (parts.length === 1) return `${head}${type};`;
  if (isObject) return `${head}{\n${parts.map((part) => `  ${laidMember(part)}`).join("\n")}\n};`;
  return `${head.trimEnd()}\n${parts.map((part) => `  | ${part}`).join("\n")};`;
}

function laidMember(text) {
  if (text.length + 3 <= WIDTH) return `${text};`;
  const colon = text.indexOf(": ") + 2;
  return laid(text.slice(0, colon), text.slice(colon)).replaceAll("\n", "\n  ");
}

/** Where the bracket that the text begins with is closed. */
function matching(text) {
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    if ("{<[".includes(text[i])) depth++;
    if ("}>]".includes(text[i]) && --depth === 0) return i;
  }
  return -1;
}

function split(text, at) {
  const parts = [""];
  let depth = 0;
  for (const letter of text) {
    if ("{<[".includes(letter)) depth++;
    if ("}>]".includes(letter)) depth--;
    if (letter === at && depth === 0) parts.push("");
    else parts[parts.length - 1] += letter;
  }
  return parts.map((part) => part.trim());
}

function eventsOf(document, path) {
  const operations = Object.values(document.paths[path]);
  const media = operations.map((operation) => operation.responses?.["200"]?.content?.["text/event-stream"]);
  return media.find((each) => each?.["x-events"])["x-events"];
}

function unionOf(document, [path, form]) {
  const events = Object.entries(eventsOf(document, path));
  return events.map(([type, schema]) => `${form}<${literal(type)}, ${typeOf(schema)}>`).join(" | ");
}

export function typesOf(document) {
  const out = [
    "// SPDX-License-Identifier: Apache-2.0",
    "// Made by scripts/types.mjs out of /openapi.json; changes here are lost.",
    "",
    "/** An event of a turn or an import; the members of its data are its own, too. */",
    "export type Numbered<T extends string, D> = { id: number; type: T; data: D } & D;",
    "",
    "/** An event of a chat; its id is MESSAGE:NUMBER. */",
    "export type Named<T extends string, D> = { id: string; type: T; data: D };",
  ];
  const schemas = Object.entries(document.components.schemas).filter(([name]) => name !== "any");
  for (const [name, schema] of schemas.sort(([a], [b]) => (a < b ? -1 : 1)))
    out.push("", laid(`export type ${name} = `, typeOf(schema)));
  for (const [name, where] of Object.entries(UNIONS))
    out.push("", laid(`export type ${name} = `, unionOf(document, where)));
  return `${out.join("\n")}\n`;
}

async function read(source) {
  if (/^https?:/.test(source)) return (await fetch(source)).json();
  return JSON.parse(fs.readFileSync(source, "utf8"));
}

if (import.meta.url === new URL(process.argv[1], "file:").href)
  process.stdout.write(typesOf(await read(process.argv[2] ?? "/dev/stdin")));
