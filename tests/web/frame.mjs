// SPDX-License-Identifier: Apache-2.0
// What is around every view: keys, colours, how well the server is heard, addresses, long lists.
import { PHONE, SERVER_GONE, goKeys, openPage } from "./harness/browser.mjs";
import { expect, shows, test, until } from "./harness/cases.mjs";
import { startWeir } from "./harness/server.mjs";
import { askTurn, endedTurn } from "./harness/worlds.mjs";

function heading(page, name) {
  return page.getByRole("heading", { level: 1, name });
}

test("keys lead to every view, to help and back", async (scope) => {
  const { page } = await openPage(scope, await startWeir(scope), "#/turns");
  await heading(page, "History").waitFor();
  await page.keyboard.press("Tab");
  await shows(() => page.evaluate(() => document.activeElement.textContent), "Skip to content", "the first stop");
  await page.keyboard.press("Enter");
  await shows(() => page.evaluate(() => document.activeElement.id), "main", "where the skip leads");
  for (const [key, name] of [["h", "History"], ["d", "Data"], ["m", "Memory"], ["s", "Sessions"], ["c", "Chat"]]) {
    await goKeys(page, key);
    await page.waitForFunction((title) => document.title.startsWith(title), name);
    await page.keyboard.press("Escape"); // out of the field that a view may begin with
  }
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Help" }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
});

test("colours that were chosen stay, and nothing else is kept", async (scope) => {
  const { page } = await openPage(scope, await startWeir(scope));
  const colours = page.getByRole("button", { name: /^Colours/ });
  const background = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  const light = await background();
  await until(async () => {
    if ((await colours.getAttribute("aria-label")) === "Colours: dark") return true;
    await colours.click();
    return false;
  }, "it is dark");
  const dark = await background();
  expect(dark !== light, "dark is another colour", dark);
  await page.reload();
  await colours.waitFor();
  await shows(background, dark, "the colour after a reload");
  await shows(() => page.evaluate(() => JSON.stringify({ ...localStorage })), '{"weir.theme":"dark"}', "what is kept");
});

test("the page says when the server is gone and when it is back", async (scope) => {
  const server = await startWeir(scope);
  const { page, profile } = await openPage(scope, server, "#/turns");
  profile.allow(SERVER_GONE);
  await heading(page, "History").waitFor();
  const connection = page.getByRole("banner").getByRole("status");
  await connection.filter({ hasText: "Connected" }).waitFor();
  await server.kill();
  await page.evaluate(() => dispatchEvent(new Event("online")));
  await connection.filter({ hasText: /Offline|Reconnecting/ }).waitFor();
  await server.start();
  await connection.filter({ hasText: "Connected" }).waitFor();
});

test("addresses that mean nothing, and things that are not there, have a way on", async (scope) => {
  const server = await startWeir(scope);
  const { page, profile } = await openPage(scope, server, "#/no/such/thing");
  profile.allow(/status of 404/);
  await heading(page, "There is no such page").waitFor();
  await page.getByRole("main").getByRole("link", { name: "Start page" }).click();
  await page.waitForURL(/#\/ask$/);
});

test("a history of many turns is a list that draws what is seen, and ends at the first one", async (scope) => {
  const server = await startWeir(scope);
  const nTurns = 130;
  for (let number = 0; number < nTurns; number += 1) await endedTurn(server, await askTurn(server, `Who are you, number ${number}?`));
  for (const viewport of [PHONE, undefined]) {
    const { page } = await openPage(scope, server, "#/turns", viewport ? { viewport } : {});
    await page.getByRole("link", { name: `number ${nTurns - 1}?` }).waitFor();
    const nDrawn = await page.getByRole("list", { name: "Turns" }).getByRole("link").count();
    expect(nDrawn < nTurns / 2, "rows that are drawn", nDrawn);
    await page.getByRole("link", { name: `number ${nTurns - 1}?` }).focus();
    await until(async () => {
      await page.keyboard.press("End");
      return page.getByRole("link", { name: "number 0?" }).isVisible();
    }, "the first turn is seen");
  }
});
