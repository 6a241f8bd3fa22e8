// SPDX-License-Identifier: Apache-2.0
// Cases: each is a claim and the function that proves it. What a case starts it hands to its scope,
// which ends it, the newest first. Nobody sleeps: every wait is for a condition, with a deadline
// that $WEIR_PATIENCE multiplies.
import path from "node:path";
import { fileURLToPath } from "node:url";

export const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../../..");
export const PATIENCE = Number(process.env.WEIR_PATIENCE ?? "1");
export const WAIT_MS = 120_000 * PATIENCE;
const CASE_MS = 4 * WAIT_MS;
const POLL_MS = 20;
const DETAIL_CHARACTERS = 600;

const cases = [];

/** Marks a function as the proof of a claim. */
export function test(claim, prove) {
  cases.push({ claim, prove });
}

export class Failure extends Error {}

export function expect(holds, text, ...details) {
  if (holds) return;
  const said = details.map((detail) => JSON.stringify(detail)?.slice(0, DETAIL_CHARACTERS));
  throw new Failure([text, ...said].join(" "));
}

export function equal(seen, wanted, text) {
  const [left, right] = [JSON.stringify(seen), JSON.stringify(wanted)];
  if (left === right) return;
  throw new Failure(`${text}: wanted ${right?.slice(0, DETAIL_CHARACTERS)}, got ${left?.slice(0, DETAIL_CHARACTERS)}`);
}

/** Polls until the condition holds, and returns what it returned. */
export async function until(condition, text, waitMs = WAIT_MS) {
  const deadline = performance.now() + waitMs;
  for (;;) {
    const result = await condition();
    if (result) return result;
    if (performance.now() > deadline) throw new Failure(`waited in vain until ${text}`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

/** A page draws when it gets to it: polls until it shows what is wanted, and says what it showed last. */
export async function shows(look, wanted, text) {
  let seen;
  const isThere = until(async () => {
    seen = await look();
    return JSON.stringify(seen) === JSON.stringify(wanted);
  }, text);
  await isThere.catch((problem) => {
    if (!(problem instanceof Failure)) throw problem;
    equal(seen, wanted, text);
  });
}

/** What a case has started, and what is to be looked at before it ends. */
export class Scope {
  constructor(claim) {
    this.claim = claim;
    this.checks = [];
    this.ends = [];
    this.onFailure = [];
  }

  /** Whatever the case says, this is asked behind it. */
  check(prove) {
    this.checks.push(prove);
  }

  end(action) {
    this.ends.push(action);
  }

  /** For a picture of what went wrong, and words that help. */
  failed(action) {
    this.onFailure.push(action);
  }

  async close() {
    for (const end of this.ends.reverse()) await end();
  }
}

function deadline(promise, text) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Failure(text)), CASE_MS);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

async function proves({ claim, prove }) {
  const scope = new Scope(claim);
  try {
    await deadline(
      (async () => {
        await prove(scope);
        for (const check of scope.checks) await check();
      })(),
      "it did not end in time",
    );
    return "";
  } catch (problem) {
    const more = [];
    for (const action of scope.onFailure) more.push(await action().catch(() => ""));
    return [whatWentWrong(problem), ...more.filter(Boolean)].join("\n");
  } finally {
    await scope.close();
  }
}

/** The message, and where in our own files. */
function whatWentWrong(problem) {
  const stack = problem.stack ?? String(problem);
  const place = /tests\/web\/(\w+\.mjs:\d+)/.exec(stack)?.[1] ?? "";
  return `${place} ${problem.message ?? problem}`.trim();
}

/** Runs the cases whose claims contain one of the words; all without words. */
export async function runCases(words) {
  let nPassed = 0;
  let nFailed = 0;
  for (const each of cases) {
    if (words.length && !words.some((word) => each.claim.includes(word))) continue;
    const begin = performance.now();
    const wrong = await proves(each);
    if (wrong) nFailed += 1;
    else nPassed += 1;
    const seconds = ((performance.now() - begin) / 1000).toFixed(2).padStart(7);
    console.log(`${seconds} s  ${each.claim}: ${wrong ? `FAILED ${wrong}` : "ok"}`);
  }
  console.log(`${nPassed} passed, ${nFailed} failed`);
  return nFailed === 0 && nPassed > 0;
}
