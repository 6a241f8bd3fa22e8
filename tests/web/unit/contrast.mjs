// SPDX-License-Identifier: Apache-2.0
// The colours of base.css can be told apart: WCAG 2.2, level AA.
import assert from "node:assert/strict";
import fs from "node:fs";
import { test } from "node:test";

const css = fs.readFileSync(new URL("../../../web/css/base.css", import.meta.url), "utf8");
const tokens = Object.fromEntries(
  [...css.matchAll(/--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\);/g)].map(([, name, light, dark]) => [
    name,
    { light, dark },
  ]),
);

function luminance(hex) {
  const [r, g, b] = [1, 3, 5]
    .map((at) => parseInt(hex.slice(at, at + 2), 16) / 255)
    .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(one, other) {
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}

const grounds = ["bg", "surface", "surface-2"];
const texts = 4.5;
const shapes = 3; // borders of fields, the ring of the focus
const pairs = [
  ...grounds.flatMap((ground) => [
    ["text", ground, texts],
    ["text-2", ground, texts],
    ["accent", ground, texts],
    ["line-strong", ground, shapes],
  ]),
  ...["good", "warn", "bad"].flatMap((kind) => [
    [kind, `${kind}-soft`, texts],
    [kind, "surface", texts],
    ["text", `${kind}-soft`, texts],
  ]),
  ["accent-strong", "accent-soft", texts],
  ["text", "accent-soft", texts],
  ["on-accent", "accent", texts],
  ["on-accent", "accent-strong", texts],
  ["on-bad", "bad", texts],
];

for (const scheme of ["light", "dark"]) {
  test(`colours can be told apart, ${scheme}`, () => {
    for (const [front, ground, least] of pairs) {
      const found = contrast(tokens[front][scheme], tokens[ground][scheme]);
      assert.ok(found >= least, `${front} on ${ground}: ${found.toFixed(2)}, not ${least}`);
    }
  });
}
