// SPDX-License-Identifier: Apache-2.0
// What the page weighs, when it first shows something, and what it does to the browser's main
// thread while many events come. bench/web/run prints it; the tests run it for a moment.
import fs from "node:fs";
import path from "node:path";
import { Profile, openPage } from "../../tests/web/harness/browser.mjs";
import { ROOT, WAIT_MS, until } from "../../tests/web/harness/cases.mjs";
import { Model, Weir, says, startWeir } from "../../tests/web/harness/server.mjs";

const DELTA_CHARACTERS = 12; // of the stand-in
const QUESTION = "What is my resting heart rate?";
const PEOPLE = path.join(ROOT, "tests/data/people");

function filesUnder(folder, prefix) {
  const names = fs.readdirSync(path.join(ROOT, folder), { recursive: true, withFileTypes: true });
  return names.filter((entry) => entry.isFile())
    .map((entry) => prefix + path.relative(path.join(ROOT, folder), path.join(entry.parentPath ?? entry.path, entry.name)));
}

/** Bytes of everything that the page may load, as they are sent. */
export async function weigh(scope) {
  const server = await startWeir(scope);
  const targets = ["/", "/web/style.css", ...filesUnder("web", "/web/"), ...filesUnder("sdk/js/src", "/sdk/")];
  let sum = 0;
  for (const target of targets) {
    if (target === "/web/index.html") continue; // it is sent as "/"
    const answer = await fetch(server.url + target, { headers: { "Accept-Encoding": "gzip" } });
    await answer.arrayBuffer();
    if (answer.ok) sum += Number(answer.headers.get("content-length"));
  }
  return sum;
}

/** Milliseconds until the first contentful paint, of each of so many first visits. */
export async function firstPaints(scope, nVisits) {
  const server = await startWeir(scope);
  const times = [];
  for (let visit = 0; visit < nVisits; visit += 1) {
    const profile = await Profile.open(scope, server);
    const page = await profile.tab();
    times.push(await page.evaluate(() => new Promise((resolve) => {
      new PerformanceObserver((list) => {
        const paint = list.getEntriesByName("first-contentful-paint")[0];
        if (paint) resolve(paint.startTime);
      }).observe({ type: "paint", buffered: true });
    })));
    await profile.context.close();
  }
  return times;
}

/** In the page: long tasks, and how long after the one before each frame came. */
function observe() {
  const seen = { longTasks: [], frames: [], begin: performance.now() };
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) seen.longTasks.push(entry.duration);
  }).observe({ type: "longtask" });
  let last = performance.now();
  const frame = (now) => {
    seen.frames.push(now - last);
    last = now;
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
  window.weirSeen = seen;
}

/** A model that talks without end. */
async function talkative(scope, seconds, perSecond) {
  const nDeltas = Math.round(seconds * perSecond);
  const line = "A word and one more, and **another** of them, 72 of all. ";
  const text = line.repeat(Math.ceil((nDeltas * DELTA_CHARACTERS) / line.length)).slice(0, nDeltas * DELTA_CHARACTERS);
  const talk = says(text, { per_second: perSecond, hold_first: "watched" });
  const model = await Model.start(scope, {
    rules: [{ purpose: "data_science", times: 1, do: talk }],
    actor: { plays: [{ question: QUESTION, main: "data_science", supporting: [] }] },
  });
  return { model, nDeltas };
}

async function thoughtsOf(server, turn) {
  const answer = await fetch(`${server.url}/v1/turns/${turn}/events`, { headers: { Accept: "text/event-stream" } });
  const wire = await answer.text();
  return { n: wire.match(/^event: agent\.thought$/gm)?.length ?? 0, wire };
}

/** A turn whose agent has so many thoughts per second, watched on its page. */
export async function watchMany(scope, seconds, perSecond) {
  const { model, nDeltas } = await talkative(scope, seconds, perSecond);
  const server = new Weir(scope, { models: { ...model.config(), max_turn_usd: 1000 } });
  server.importFiles(path.join(PEOPLE, "u01_daily.csv"));
  await server.start();
  const turn = await server.json("POST", "/v1/turns", { messages: [{ role: "user", content: QUESTION }] });
  const { page } = await openPage(scope, server, `#/turns/${turn.id}`);
  await page.getByRole("heading", { level: 1 }).waitFor();
  await page.evaluate(observe);
  const begin = performance.now();
  await model.release("watched");
  await until(async () => (await server.json("GET", `/v1/turns/${turn.id}`)).status === "completed", "the turn ends",
    WAIT_MS + seconds * 4000);
  const wallMs = performance.now() - begin;
  const seen = await page.evaluate(() => ({ ...window.weirSeen, now: performance.now() }));
  const { n } = await thoughtsOf(server, turn.id);
  const frames = seen.frames.slice(1).sort((a, b) => a - b);
  const longMs = seen.longTasks.reduce((sum, ms) => sum + ms, 0);
  return {
    nEvents: n, nDeltas, seconds: wallMs / 1000, perSecond: n / (wallMs / 1000), nLong: seen.longTasks.length, longMs,
    longShare: longMs / (seen.now - seen.begin), nFrames: frames.length, framesP99: frames[Math.floor(frames.length * 0.99)] ?? 0,
    longest: frames.at(-1) ?? 0, page, server, turn,
  };
}

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)];
}
