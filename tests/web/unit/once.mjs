// SPDX-License-Identifier: Apache-2.0
// What is sent again counts once: web/lib/once.js, which has the SDK where the page has it.
import assert from "node:assert/strict";
import { register } from "node:module";
import { test } from "node:test";

const sdk = new URL("../../../sdk/js/src/", import.meta.url);
const resolve = `export const resolve = (name, context, next) => next(name.replace(/^\\/sdk\\//, "${sdk}"), context);`;
register(`data:text/javascript,${encodeURIComponent(resolve)}`);
const { once } = await import("../../../web/lib/once.js");

test("the same has the same name until it was taken, and anything else another one", async () => {
  const names = [];
  const outcomes = ["lost", "lost", "taken", "lost", "lost"];
  const act = once(async (input, { idempotencyKey, maxRetries }) => {
    names.push(idempotencyKey);
    assert.equal(maxRetries, 0);
    if (outcomes.shift() === "lost") throw new Error("lost");
    return `${input.text} is taken`;
  });
  const put = (text) => act({ text }, { maxRetries: 0 }).catch(({ message }) => message);
  assert.deepEqual([await put("a"), await put("a"), await put("a")], ["lost", "lost", "a is taken"]);
  await put("a");
  await put("b");
  const [first, again, taken, said, other] = names;
  assert.deepEqual([again, taken], [first, first]);
  assert.equal(new Set([first, said, other]).size, 3);
});
