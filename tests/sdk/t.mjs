// SPDX-License-Identifier: Apache-2.0
// What the tests of the SDK in Node share: cases whose names are the claims they prove, counting, and
// servers that do what a function says. A promise that is rejected with nobody to catch it fails the
// case in which it was made.

import http from "node:http";
import { once } from "node:events";

const PATIENCE = Number(process.env.WEIR_PATIENCE ?? 1);
export const WAIT_MS = 120_000 * PATIENCE;
const cases = [];
let stray = [];

process.on("unhandledRejection", (error) => stray.push(error));
process.on("uncaughtException", (error) => stray.push(error));

export function test(name, run) {
  cases.push({ name, run });
}

/** What was thrown with nobody to catch it so far. */
export function takeStray() {
  const taken = stray;
  stray = [];
  return taken;
}

/** The same, or null while there is nothing. */
export const someStray = () => (stray.length > 0 ? takeStray() : null);

function late(name) {
  let timer;
  const promise = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${name} takes too long`)), WAIT_MS);
  });
  return { promise, clear: () => clearTimeout(timer) };
}

async function verdictOf({ name, run }) {
  const { promise, clear } = late(name);
  try {
    await Promise.race([run(), promise]);
    await new Promise((resolve) => setImmediate(resolve));
    const left = takeStray();
    if (left.length > 0) throw new Error(`nobody caught ${left.map((error) => error?.stack ?? error).join("; ")}`);
    return null;
  } catch (error) {
    return error?.stack ?? String(error);
  } finally {
    clear();
  }
}

/** Runs the cases, or those whose names contain one of the arguments, and ends the program. */
export async function main() {
  const wanted = process.argv.slice(2);
  let nPassed = 0;
  let nFailed = 0;
  for (const each of cases) {
    if (wanted.length > 0 && !wanted.some((part) => each.name.includes(part))) continue;
    const begin = performance.now();
    const wrong = await verdictOf(each);
    if (wrong === null) nPassed++;
    else nFailed++;
    const seconds = ((performance.now() - begin) / 1000).toFixed(2).padStart(7);
    console.log(`${seconds} s  ${each.name}: ${wrong === null ? "ok" : `FAILED ${wrong}`}`);
  }
  console.log(`${nPassed} passed, ${nFailed} failed`);
  process.exit(nFailed > 0 || nPassed === 0 ? 1 : 0);
}

/** Listens while `use(url, requests)` runs; `answer(request, response, nth)` answers each request. */
export async function withServer(answer, use) {
  const requests = [];
  const server = http.createServer((request, response) => {
    requests.push(request);
    answer(request, response, requests.length);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    return await use(`http://127.0.0.1:${server.address().port}`, requests);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

/** The whole body of a request. */
export async function bodyOf(request) {
  const pieces = [];
  for await (const piece of request) pieces.push(piece);
  return Buffer.concat(pieces);
}

export function sendJson(response, status, value, headers = {}) {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(value));
}

/** An event as the server writes it. */
export function frame(id, type, data) {
  return `id: ${id}\nevent: ${type}\ndata: ${JSON.stringify(data)}\n\n`;
}

export function sendEvents(response, ...frames) {
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.write(frames.join(""));
}

/** Until the condition holds, with a deadline. */
export async function until(condition, text) {
  const deadline = Date.now() + WAIT_MS;
  for (;;) {
    const value = condition();
    if (value) return value;
    if (Date.now() > deadline) throw new Error(`waited in vain until ${text}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

export async function collect(iterable) {
  const all = [];
  for await (const each of iterable) all.push(each);
  return all;
}

/** What a promise is rejected with; it has to be. */
export async function failure(promise) {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error("it did not fail");
}
