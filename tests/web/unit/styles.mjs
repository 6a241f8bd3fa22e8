// SPDX-License-Identifier: Apache-2.0
// All styles are on the page at once: a class that two files style looks as neither of them meant.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";

const folder = new URL("../../../web/css/", import.meta.url);

/** The classes that a rule styles wherever they are, alone; with others it says which ones it means. */
function classesOf(text) {
  const plain = text.replace(/\/\*[^]*?\*\//g, "");
  const selectors = [...plain.matchAll(/([^{}]+)\{/g)].flatMap((match) => match[1].split(","));
  return new Set(selectors.map((selector) => /^\s*(\.[\w-]+)(?![\w-]|[.\s]*[.\s>+~#]\S)/.exec(selector)?.[1]).filter(Boolean));
}

test("a class is styled by one file", () => {
  const owners = new Map();
  for (const file of readdirSync(folder).filter((name) => name.endsWith(".css")))
    for (const name of classesOf(readFileSync(new URL(file, folder), "utf8"))) {
      assert.equal(owners.get(name) ?? file, file, `${name} is styled by ${owners.get(name)} and ${file}`);
      owners.set(name, file);
    }
  assert.ok(owners.size > 50);
});

test("every custom property that is used is defined somewhere", () => {
  const styles = readdirSync(folder).map((name) => readFileSync(new URL(name, folder), "utf8")).join("\n");
  const scripts = readdirSync(new URL("../", folder), { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".js"));
  const code = scripts.map((name) => readFileSync(new URL(`../${name}`, folder), "utf8")).join("\n");
  const used = new Set([...styles.matchAll(/var\((--[\w-]+)\)/g)].map(([, name]) => name));
  assert.deepEqual([...used].filter((name) => !styles.includes(`${name}:`) && !code.includes(`"${name}"`)), []);
});
