// SPDX-License-Identifier: Apache-2.0
// What bench/web/run measures, for a moment and without a clock that decides.
import { firstPaints, watchMany, weigh } from "../../bench/web/measure.mjs";
import { expect, test } from "./harness/cases.mjs";

const MAX_BYTES = 150_000;

test("all of the page is 150 KB at most as it is sent", async (scope) => {
  const bytes = await weigh(scope);
  expect(bytes > 10_000 && bytes <= MAX_BYTES, "bytes", bytes);
});

test("first visits tell when they saw something", async (scope) => {
  const [time] = await firstPaints(scope, 1);
  expect(time > 0, "milliseconds until the first paint", time);
});

test("a turn that thinks aloud 300 times in a second is watched to its end", async (scope) => {
  const seen = await watchMany(scope, 2, 300);
  expect(seen.nEvents > 0 && seen.nEvents <= seen.nDeltas + 1, "thoughts", seen.nEvents, seen.nDeltas);
  expect(seen.nFrames > 0, "frames were drawn meanwhile", seen.nFrames);
});
