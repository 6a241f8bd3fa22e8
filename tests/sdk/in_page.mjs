// SPDX-License-Identifier: Apache-2.0
// in_page.mjs: runs the program of standard input's first line, {url, code, options}, in a page of
// Chromium that comes from that server, with `sdk`, `weir`, `say`, `told`, `collect` and `failure` at hand.
// What the page says is printed, a line each; lines that come are told.

import { createRequire } from "node:module";
import path from "node:path";
import readline from "node:readline";

const need = createRequire(path.join(process.env.WEIR_WEB_PACKAGES, "package.json"));
const { chromium } = need("playwright-core");
const lines = readline.createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const next = async () => JSON.parse((await lines.next()).value);
const { url, code, options } = await next();

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
  ],
});
const page = await browser.newPage();
page.on("pageerror", (error) => console.error(error.stack ?? error.message));
await page.exposeFunction("say", (what) => console.log(JSON.stringify(what)));
await page.exposeFunction("told", next);
// A document of the server's own without a program in it.
await page.goto(`${url}/healthz`);
await page.evaluate(
  async ({ code, options }) => {
    const sdk = await import("/sdk/index.js");
    if (options.usesEventSource) options.EventSourceCtor = EventSource;
    const weir = new sdk.Weir(options);
    const collect = async (events) => {
      const all = [];
      for await (const each of events) all.push(each);
      return all;
    };
    const failure = (promise) =>
      promise.then(
        () => null,
        ({ name, code, status }) => ({ name, code, status }),
      );
    const AsyncFunction = (async () => {}).constructor;
    await new AsyncFunction("sdk", "weir", "options", "collect", "failure", code)(sdk, weir, options, collect, failure);
  },
  { code, options },
);
await browser.close();
process.exit(0);
