// SPDX-License-Identifier: Apache-2.0
// The rules of the page's own code that no engine checks; web/README.md has their reasons.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const web = fileURLToPath(new URL("../../../web/", import.meta.url));
const sdk = fileURLToPath(new URL("../../../sdk/js/src/", import.meta.url));
const names = fs.readdirSync(web, { recursive: true, encoding: "utf8" }).filter((name) => /\.(js|css|html)$/.test(name));
const files = new Map(names.map((name) => [name.split(path.sep).join("/"), fs.readFileSync(path.join(web, name), "utf8")]));
const scripts = new Map([...files].filter(([name]) => name.endsWith(".js")));

/** Without comments: these may speak of what code must not do. */
function codeOf(text) {
  return text.replace(/\/\*[^]*?\*\//g, "").replace(/^\s*\/\/.*$/gm, "");
}

function offenders(pattern, allowed = []) {
  return [...scripts].filter(([name, text]) => !allowed.includes(name) && pattern.test(codeOf(text))).map(([name]) => name);
}

test("every file names its licence first", () => {
  const missing = [...files].filter(
    ([, text]) =>
      !text
        .split("\n")
        .slice(0, 2)
        .some((line) => line.includes("SPDX-License-Identifier: Apache-2.0")),
  );
  assert.deepEqual(
    missing.map(([name]) => name),
    [],
  );
});

test("nothing makes HTML or code out of text", () => {
  assert.deepEqual(
    offenders(
      /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|DOMParser|srcdoc|setAttribute\("style"/,
    ),
    [],
  );
});

test("only the SDK talks to the server", () => {
  assert.deepEqual(
    offenders(/\bfetch\(|XMLHttpRequest|new EventSource|new WebSocket|sendBeacon/, ["app.js", "lib/connection.js"]),
    [],
  );
});

test("one place keeps things in the browser, and none of them is secret", () => {
  assert.deepEqual(offenders(/localStorage|sessionStorage|indexedDB|document\.cookie/, ["shell/storage.js", "theme.js"]), []);
});

test("nothing is left behind on the console, and no work for later", () => {
  assert.deepEqual(offenders(/console\.(log|debug|info|trace)|\bdebugger\b/), []);
  assert.deepEqual(
    [...files].filter(([, text]) => /\b(TODO|FIXME|XXX)\b/.test(text)).map(([name]) => name),
    [],
  );
});

test("every module that is imported is there, and every module is imported", () => {
  const found = new Set(["app.js", "theme.js"]);
  for (const [name, text] of scripts) {
    for (const [, target] of codeOf(text).matchAll(/^(?:import|export)\b[^;"]*"([./][^"]+)";$/gm)) {
      const isSdk = target.startsWith("/sdk/");
      const file = isSdk ? path.join(sdk, target.slice(5)) : path.join(web, path.dirname(name), target);
      assert.ok(fs.existsSync(file), `${name} imports ${target}`);
      if (!isSdk) found.add(path.relative(web, file).split(path.sep).join("/"));
    }
  }
  assert.deepEqual(
    [...scripts.keys()].filter((name) => !found.has(name) && !name.startsWith("views/")),
    [],
  );
});
