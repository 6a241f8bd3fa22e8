// SPDX-License-Identifier: Apache-2.0
// Debian's Chromium, one for all cases of a program; each page has a profile of its own and is
// watched: an error on its console, an exception, a breach of the content security policy or a
// request to any other host fails the case.
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { ROOT, WAIT_MS, equal, until } from "./cases.mjs";

const need = createRequire(path.join(process.env.WEIR_WEB_PACKAGES ?? "", "package.json"));
const { chromium } = need("playwright-core");
const FAILURES = path.join(ROOT, "build", "check-logs", "web");
export const DESKTOP = { width: 1280, height: 860 };
export const PHONE = { width: 360, height: 740 };
// What Chromium itself writes about a server that is not there; no page can prevent that.
export const SERVER_GONE = /net::ERR_(CONNECTION_\w+|INCOMPLETE_CHUNKED_ENCODING|EMPTY_RESPONSE|SOCKET_NOT_CONNECTED)/;

let browser;

async function sharedBrowser() {
  browser ??= await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-dev-shm-usage", "--disable-background-networking",
      "--disable-component-update", "--force-color-profile=srgb", "--font-render-hinting=none"],
  });
  return browser;
}

export async function closeBrowser() {
  await browser?.close();
}

/** A profile: pages of it share cookies and storage, as tabs do. */
export class Profile {
  static async open(scope, server, options = {}) {
    const profile = new Profile();
    Object.assign(profile, { server, complaints: [], allowed: [], pages: [] });
    profile.context = await (await sharedBrowser()).newContext({
      viewport: DESKTOP, locale: "en-GB", timezoneId: "UTC", reducedMotion: "reduce", ...options,
    });
    profile.context.setDefaultTimeout(WAIT_MS);
    await profile.context.addInitScript(() => {
      addEventListener("securitypolicyviolation", (event) =>
        console.error(`policy: ${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}:${event.lineNumber}`));
    });
    profile.context.on("page", (page) => profile.watch(page));
    scope.end(() => profile.context.close());
    scope.failed(() => profile.keepPictures(scope.claim));
    scope.check(() => equal(profile.unexpected(), [], "what the browser complains of"));
    return profile;
  }

  watch(page) {
    this.pages.push(page);
    page.on("console", (message) => {
      if (message.type() === "error" || message.type() === "warning") this.complain("console", message.text());
    });
    page.on("pageerror", (error) => this.complain("exception", error.stack ?? error.message));
    page.on("crash", () => this.complain("crash", page.url()));
    page.on("request", (request) => {
      const { origin, protocol } = new URL(request.url());
      if (origin !== this.server.url && protocol !== "data:" && protocol !== "blob:") {
        this.complain("request", request.url());
      }
    });
    // From the beginning: what is told the browser only when a key is pressed may come too late.
    page.on("filechooser", () => {});
    page.inFlight = new Set();
    page.on("request", (request) => {
      if (!/event-stream/.test(request.headers().accept ?? "")) page.inFlight.add(request);
    });
    for (const end of ["requestfinished", "requestfailed"]) page.on(end, (request) => page.inFlight.delete(request));
  }

  complain(kind, text) {
    this.complaints.push(`${kind}: ${text}`);
  }

  /** From now on this is no complaint. */
  allow(pattern) {
    this.allowed.push(pattern);
  }

  unexpected() {
    return this.complaints.filter((text) => !this.allowed.some((pattern) => pattern.test(text)));
  }

  async tab(route = "") {
    const page = await this.context.newPage();
    await page.goto(`${this.server.url}/${route}`);
    return page;
  }

  async keepPictures(claim) {
    fs.mkdirSync(FAILURES, { recursive: true });
    const name = claim.replace(/\W+/g, "-").slice(0, 60);
    for (const [number, page] of this.pages.entries()) {
      await page.screenshot({ path: path.join(FAILURES, `${name}-${number}.png`), timeout: 5000 });
    }
    return this.unexpected().length ? `the browser complains: ${this.unexpected().join("; ")}` : "";
  }
}

/** A page of a profile of its own. */
export async function openPage(scope, server, route = "", options = {}) {
  const profile = await Profile.open(scope, server, options);
  const page = await profile.tab(route);
  return { page, profile };
}

/** Until no request is under way but streams, and what came is on the page. */
export async function quiet(page) {
  await until(async () => {
    if (page.inFlight.size) return false;
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
    return page.inFlight.size === 0;
  }, "all requests are answered");
}

/** "g" and a letter, between which the page's clock stands still: it waits for the letter only so long. */
export async function goKeys(page, letter) {
  await page.evaluate(() => {
    const now = performance.now();
    performance.now = () => now;
  });
  await page.keyboard.press("g");
  await page.keyboard.press(letter);
  await page.evaluate(() => delete performance.now);
}

export function axeSource() {
  return fs.readFileSync(need.resolve("axe-core/axe.min.js"), "utf8");
}
