// SPDX-License-Identifier: Apache-2.0
// Every view for everybody: on a narrow screen, for a screen reader, in both colours; as it is when
// nothing happens, and in the middle of something.
import { DESKTOP, PHONE, Profile, axeSource, quiet } from "./harness/browser.mjs";
import { equal, expect, test, until } from "./harness/cases.mjs";
import { Model, says, startWeir } from "./harness/server.mjs";
import { approvalWaits, halfThought, reviewWaits } from "./harness/scenes.mjs";
import { allRoutes, askTurn, endedTurn, livedIn, withModel } from "./harness/worlds.mjs";

/** The view is there, and waits for nothing. */
async function settled(page, route) {
  await page.goto(`${page.url().split("#")[0]}${route}`);
  await page.getByRole("main").getByRole("heading", { level: 1 }).first().waitFor();
  await quiet(page);
  await until(() => page.evaluate(() => !document.querySelector("main [aria-busy=true]")), `nothing is awaited on ${route}`);
}

/** What sticks out of the page to the right, but for what can be scrolled by itself. */
function sticksOut() {
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= width && document.body.scrollWidth <= width) return [];
  const out = [...document.body.querySelectorAll("*")].filter((element) => element.getBoundingClientRect().right > width + 1);
  return out.map((element) => `${element.tagName}.${element.getAttribute("class")} sticks out`).slice(0, 8);
}

/** Serious and critical findings, as lines. */
function seriousFindings() {
  return window.axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) =>
    violations.filter(({ impact }) => impact === "serious" || impact === "critical")
      .map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(" | ")}`));
}

/** Of what is on the page now: light and dark, and no wider than a phone. */
async function problemsOf(page, name) {
  const problems = [];
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    for (const problem of await page.evaluate(seriousFindings)) problems.push(`${name}, ${colorScheme}: ${problem}`);
  }
  await page.setViewportSize(PHONE);
  for (const problem of await page.evaluate(sticksOut)) problems.push(`${name}, phone: ${problem}`);
  await page.setViewportSize(DESKTOP);
  return problems;
}

async function looked(profile, route = "") {
  const page = await profile.tab(route);
  await page.evaluate(axeSource());
  return page;
}

test("every view is fine in light and dark, wide and narrow", async (scope) => {
  const lived = await livedIn(scope);
  const page = await looked(await Profile.open(scope, lived.server));
  const problems = [];
  for (const route of allRoutes(lived)) {
    await settled(page, route);
    problems.push(...(await problemsOf(page, route)));
  }
  equal(problems, [], "problems");
});

test("no view of a phone is wider than it", async (scope) => {
  const lived = await livedIn(scope);
  const profile = await Profile.open(scope, lived.server, { viewport: PHONE, isMobile: true, hasTouch: true });
  const page = await profile.tab();
  for (const route of allRoutes(lived)) {
    await settled(page, route);
    equal(await page.evaluate(sticksOut), [], route);
  }
});

test("a turn that runs is fine, too", async (scope) => {
  const { page } = await halfThought(scope);
  await page.evaluate(axeSource());
  equal(await problemsOf(page, "a turn that runs"), [], "problems");
});

test("a fact with its chart, and a gate with its numbers, are fine, too", async (scope) => {
  const { server } = await withModel(scope, { command: { actor: { critic: "downgrade" } } });
  const turn = await askTurn(server);
  await endedTurn(server, turn);
  const page = await looked(await Profile.open(scope, server), `#/turns/${turn}`);
  await page.locator("a.number").first().click();
  await page.locator(".fact-panel svg").first().waitFor();
  equal(await problemsOf(page, "a fact with its chart"), [], "problems");
  const gate = page.getByRole("list", { name: /Gates of/ }).getByRole("button").last();
  for (const viewport of [DESKTOP, PHONE]) {
    await gate.blur();
    await page.setViewportSize(viewport);
    await gate.focus();
    await page.getByRole("tooltip").last().waitFor();
    equal(await page.evaluate(sticksOut), [], "what sticks out");
    equal(await page.evaluate(seriousFindings), [], "findings");
  }
});

test("an approval that waits is fine, too", async (scope) => {
  const { page } = await approvalWaits(scope);
  await page.evaluate(axeSource());
  equal(await problemsOf(page, "an approval"), [], "problems");
});

test("a word that is wider than a phone breaks, wherever it stands", async (scope) => {
  const word = "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft";
  const levels = [1, 2, 3, 4, 5, 6].map((level) => `${"#".repeat(level)} ${word}`);
  const answer = [...levels, `> ${word}`, `- ${word}`, `1. **${word}**`, `| ${word} | b |\n|---|---|\n| ${word} | ${word} |`, `\`${word}\``].join("\n\n");
  const model = await Model.start(scope, { default: says(answer) });
  const server = await startWeir(scope, { models: model.config() });
  const { sessionId } = await server.call("chat/send", { clientId: "test", text: word });
  await server.request("POST", "/ai/chat", { conversationId: "conv_word", messages: [{ role: "user", content: word }] });
  await server.json("POST", "/v1/memory", { category: "goal", text: word });
  const turn = await askTurn(server, `${word} ${word}?`);
  await endedTurn(server, turn);
  const profile = await Profile.open(scope, server, { viewport: PHONE, isMobile: true });
  const page = await profile.tab();
  const routes = allRoutes({ turn, session: sessionId, chat: "conv_word" }).filter((route) => !route.includes("resting"));
  for (const route of routes) {
    await settled(page, route);
    if (/ses_|conv_/.test(route)) await page.getByRole("article").locator("blockquote").waitFor();
    equal(await page.evaluate(sticksOut), [], route);
  }
});

test("the shield's review is fine, too", async (scope) => {
  const { page } = await reviewWaits(scope);
  await page.evaluate(axeSource());
  equal(await problemsOf(page, "the review"), [], "problems");
});

test("the shield's review can be read and answered on a screen that is enlarged four times", async (scope) => {
  const { page } = await reviewWaits(scope);
  await page.setViewportSize({ width: 320, height: 256 });
  await page.reload();
  const dialog = page.getByRole("dialog", { name: /private/ });
  await dialog.waitFor();
  // What is inside of the view and of every box that scrolls around it.
  const share = (element) => {
    const { top, bottom, height } = element.getBoundingClientRect();
    let [low, high] = [0, window.innerHeight];
    for (let box = element.parentElement; box; box = box.parentElement) {
      if (getComputedStyle(box).overflowY === "visible") continue;
      const edge = box.getBoundingClientRect();
      [low, high] = [Math.max(low, edge.top), Math.min(high, edge.bottom)];
    }
    return (Math.min(bottom, high) - Math.max(top, low)) / Math.min(height, window.innerHeight);
  };
  const title = dialog.getByRole("heading", { level: 2 });
  expect((await title.evaluate(share)) > 0.9, "its title is seen first");
  const parts = [dialog.getByText(/looked at it before/), dialog.getByText(/found by/).first(), dialog.getByText("ann.lee@example.org"),
    dialog.getByLabel("Remember for this conversation"), ...["Send redacted", "Send as it is", "Do not send"].map((name) => dialog.getByRole("button", { name }))];
  for (const part of parts) {
    await part.scrollIntoViewIfNeeded();
    const seen = await part.evaluate(share);
    expect(seen > 0.9, "a part that can be seen", await part.innerText(), seen);
  }
  await page.keyboard.press("Tab");
  await dialog.getByRole("button", { name: "Send redacted" }).click();
  await dialog.waitFor({ state: "detached" });
});

test("signing in and help are fine, too", async (scope) => {
  const server = await startWeir(scope, { isOpen: false });
  const profile = await Profile.open(scope, server);
  const page = await looked(profile);
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  equal(await problemsOf(page, "signing in"), [], "problems");
  await page.getByRole("button", { name: "Help" }).click();
  await page.getByRole("dialog").waitFor();
  equal(await problemsOf(page, "help"), [], "problems");
});

test("axe would find what is wrong", async (scope) => {
  const page = await looked(await Profile.open(scope, await startWeir(scope)));
  await page.evaluate(() => document.body.append(document.createElement("button")));
  const findings = await page.evaluate(seriousFindings);
  expect(findings.some((text) => text.startsWith("button-name")), "a button without a name is serious", findings);
});
