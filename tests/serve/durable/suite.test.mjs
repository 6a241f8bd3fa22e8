// SPDX-License-Identifier: Apache-2.0
// The public suite against a server that runs already; streams_api.py starts it.
//
// Its tests of streams that expire run side by side, sleep, and want an answer within half a second
// of that, which no busy machine gives. So while they run, the server's time of day stands still
// ($LATE_CLOCK, tests/crash/late_clock.c), and ours with it, until all of them sleep: then it leaps to
// where the first one wakes. A server may keep it a secret for a moment that a stream was read, and an
// eighth longer that nobody does: a leap begins with a pause, and is so much longer.
import fs from "node:fs";
import { afterEach, beforeEach } from "vitest";
import { runConformanceTests } from "@durable-streams/server-conformance-tests";

const clock = fs.openSync(process.env.LATE_CLOCK, "r+");
const realNow = Date.now;
const realTimeout = globalThis.setTimeout;
const LEAST_MS = 500; // of a sleep; what is shorter is no matter of time of day
const PAUSE_MS = 500;
const LONGER = 1.15;
let aheadMs = 0;
let frozenMs = 0;
let nRunning = 0;
let nPauses = 0;
let sleepers = [];

function setClock(ahead, frozen) {
  aheadMs = ahead;
  frozenMs = frozen;
  fs.writeSync(clock, new Uint8Array(BigInt64Array.of(BigInt(ahead), BigInt(frozen)).buffer), 0, 16, 0);
}

function leapIfAllSleep() {
  if (nRunning === 0 || sleepers.length < nRunning) return;
  setClock(aheadMs, Math.min(...sleepers.map(({ at }) => at)));
  const due = sleepers.filter(({ at }) => at <= frozenMs);
  sleepers = sleepers.filter(({ at }) => at > frozenMs);
  for (const { wake } of due) wake();
}

function leapSoon() {
  const pause = ++nPauses;
  realTimeout(() => pause === nPauses && leapIfAllSleep(), PAUSE_MS);
}

/** Whether somebody only waits for the time: what is to be called is a promise's own. */
const isSleep = (call, ms) => ms >= LEAST_MS && call.name === "" && Function.prototype.toString.call(call).includes("[native code]");

Date.now = () => frozenMs || realNow() + aheadMs;
globalThis.setTimeout = Object.assign((call, ms, ...values) => {
  if (nRunning === 0 || !isSleep(call, ms)) return realTimeout(call, ms, ...values);
  sleepers.push({ at: frozenMs + Math.round(ms * LONGER), wake: call });
  leapSoon();
}, realTimeout);

beforeEach(({ task }) => {
  if (!task.concurrent) return;
  if (nRunning === 0) setClock(aheadMs, Date.now());
  nRunning++;
});

afterEach(({ task }) => {
  if (!task.concurrent) return;
  nRunning--;
  if (nRunning === 0) setClock(frozenMs - realNow(), 0);
  else leapSoon();
});

runConformanceTests({
  baseUrl: process.env.WEIR_URL,
  subscriptions: true,
  longPollTimeoutMs: Number(process.env.WEIR_LONG_POLL_MS),
});
