// SPDX-License-Identifier: Apache-2.0
// What surrounds the views: finding one's way, by hand, by keys and by ear, and what happens when
// something goes wrong.
import { Profile, SERVER_GONE, goKeys, openPage, quiet } from "./harness/browser.mjs";
import { equal, expect, shows, test, until } from "./harness/cases.mjs";
import { startWeir, weir } from "./harness/server.mjs";
import { askTurn, endedTurn } from "./harness/worlds.mjs";

const REFUSED = /console: Failed to load resource: .* 401 \(Unauthorized\)/;
const BROKEN = /console: .*(500 \(Internal Server Error\)|ServerError)/;
const N_TURNS = 30; // more than is seen at once

function heading(page, name) {
  return page.getByRole("main").getByRole("heading", { level: 1, name });
}

async function signIn(page, key) {
  await page.getByLabel("Key", { exact: true }).fill(key);
  await page.getByRole("button", { name: "Sign in" }).click();
}

async function withKey(scope) {
  const server = await startWeir(scope, { isOpen: false });
  server.makeKey("--owner", "ann");
  const profile = await Profile.open(scope, server);
  profile.allow(REFUSED);
  return { server, profile };
}

/** What has the focus, as a screen reader would name it. */
function focused(page) {
  return page.evaluate(() => document.activeElement.getAttribute("aria-label") ?? document.activeElement.id ?? "");
}

test("signing in and out in one tab does so in the others", async (scope) => {
  const { server, profile } = await withKey(scope);
  await endedTurn(server, await askTurn(server, "how did I sleep?"));
  const one = await profile.tab("#/turns");
  const other = await profile.tab("#/memory");
  await heading(other, "Sign in").waitFor();
  await signIn(one, server.key);
  await heading(one, "History").waitFor();
  await heading(other, "Memory").waitFor();
  await one.getByRole("link", { name: "how did I sleep?" }).waitFor();
  // Somebody else's link in another tab: what was loaded for the one is not shown to the other.
  const link = weir("key", "link", "--data", server.data, "--owner", "bob").trim().split("\n")[0];
  await other.goto(link);
  await one.getByText("Nothing was asked yet").waitFor();
  await other.getByRole("button", { name: "Sign out" }).click();
  await heading(one, "Sign in").waitFor();
});

test("signing in elsewhere while the server is gone is no failure here", async (scope) => {
  const server = await startWeir(scope);
  const { page, profile } = await openPage(scope, server, "#/memory");
  profile.allow(SERVER_GONE);
  await heading(page, "Memory").waitFor();
  await quiet(page);
  let nFailed = 0;
  await page.route("**/auth/me", (route) => route.abort("connectionrefused").finally(() => nFailed++));
  await page.evaluate(() => {
    window.rejected = [];
    addEventListener("unhandledrejection", ({ reason }) => window.rejected.push(reason.message));
    new BroadcastChannel("weir.signin").postMessage("changed");
  });
  await until(() => nFailed >= 3, "it has asked and given up");
  await quiet(page);
  await page.evaluate(() => new Promise((resolve) => setTimeout(resolve)));
  equal(await page.evaluate(() => window.rejected), [], "what nobody caught");
  equal(await page.getByRole("alert").count(), 0, "notes");
});

test("an error that begins with an address says it as it is", async (scope) => {
  const server = await startWeir(scope);
  const { page, profile } = await openPage(scope, server, "#/turns");
  profile.allow(SERVER_GONE);
  await heading(page, "History").waitFor();
  await page.getByRole("link", { name: "Memory" }).click();
  await heading(page, "Memory").waitFor();
  await quiet(page);
  await server.kill();
  await page.getByRole("link", { name: "History" }).click();
  await page.getByRole("alert").getByText(/^http:\/\/127\.0\.0\.1:\d+ cannot be reached/).waitFor();
});

test("a view that fails tells the request's number, and tries again", async (scope) => {
  const { page, profile } = await openPage(scope, await startWeir(scope), "#/ask");
  profile.allow(BROKEN);
  let isBroken = true;
  await page.route("**/v1/turns?*", (route) => {
    if (!isBroken) return route.continue();
    const error = { code: "internal", message: "the disk is gone", request_id: "req_of_the_test" };
    return route.fulfill({
      status: 500,
      contentType: "application/json",
      body: JSON.stringify({ error }),
      headers: { "retry-after": "0" },
    });
  });
  await page.getByRole("link", { name: "History" }).click();
  const alert = page.getByRole("main").getByRole("alert");
  await alert.getByText("req_of_the_test").waitFor();
  await alert.getByText("the disk is gone").waitFor();
  isBroken = false;
  await alert.getByRole("button", { name: "Try again" }).click();
  await heading(page, "History").waitFor();
});

test("what the server could not give is there when it is back, without a click", async (scope) => {
  const server = await startWeir(scope);
  const { page, profile } = await openPage(scope, server, "#/ask");
  profile.allow(SERVER_GONE);
  await quiet(page);
  await server.kill();
  await page.getByRole("link", { name: "History" }).click();
  await heading(page, "The server cannot be reached").waitFor();
  await server.start();
  await heading(page, "History").waitFor();
});

test("the start and the chats are whole when the server is back", async (scope) => {
  const server = await startWeir(scope);
  await endedTurn(server, await askTurn(server, "how did I sleep?"));
  const { page, profile } = await openPage(scope, server, "#/chat");
  profile.allow(SERVER_GONE);
  await page.getByText("None yet. What you write").waitFor();
  await page.getByRole("link", { name: "Ask", exact: true }).click();
  await page.getByText("There are no data yet.").waitFor();
  await quiet(page);
  await server.kill();
  await page.getByRole("link", { name: "Chat", exact: true }).click();
  await page.getByText(/Conversations could not be loaded/).waitFor();
  await server.start();
  await page.getByText("None yet. What you write begins the first one.").waitFor();
  await server.kill();
  await page.getByRole("link", { name: "Ask", exact: true }).click();
  await page.getByText(/Your data could not be loaded/).waitFor();
  await page.getByText(/Turns could not be loaded/).waitFor();
  await server.start();
  await page.getByText("There are no data yet.").waitFor();
  await page.getByRole("link", { name: "how did I sleep?" }).waitFor();
});

test("a beat that is late says nothing while others are heard", async (scope) => {
  const { page } = await openPage(scope, await startWeir(scope), "#/memory");
  await heading(page, "Memory").waitFor();
  await quiet(page);
  const badge = page.getByRole("banner").getByRole("status");
  await page.route("**/v1/whoami", () => {}); // no answer, ever
  const beat = page.waitForEvent("requestfailed", (request) => request.url().endsWith("/v1/whoami"));
  await page.evaluate(() => {
    window.badges = new Set();
    const element = document.querySelector(".connection");
    new MutationObserver(() => window.badges.add(element.dataset.state)).observe(element, { attributes: true });
    window.dispatchEvent(new Event("online"));
  });
  await page.getByRole("link", { name: "History" }).click();
  await page.getByText("Nothing was asked yet").waitFor();
  await beat;
  await page.getByRole("link", { name: "Memory" }).click();
  await heading(page, "Memory").waitFor();
  equal(await page.evaluate(() => [...window.badges]), [], "what the badge said meanwhile");
  await page.evaluate(() => window.dispatchEvent(new Event("online")));
  await badge.getByText("Offline").waitFor();
});

test("title and focus follow to another view", async (scope) => {
  const { page } = await openPage(scope, await startWeir(scope), "#/ask");
  await until(async () => (await page.title()) === "Ask · weir", "the title is there");
  await page.getByRole("link", { name: "History" }).click();
  await heading(page, "History").waitFor();
  await shows(() => page.title(), "History · weir", "the title");
  await shows(() => focused(page), "main", "the focus");
  await shows(() => page.locator(".nav-link[aria-current=page]").innerText(), "History", "where one is");
  await page.keyboard.press("Control+Home");
  await page.getByRole("link", { name: "Skip to content" }).focus();
  await page.keyboard.press("Enter");
  await shows(() => focused(page), "main", "the focus behind the skip link");
});

test("keys lead everywhere, unless somebody writes or has turned them off", async (scope) => {
  const { page } = await openPage(scope, await startWeir(scope), "#/memory");
  await heading(page, "Memory").waitFor();
  await goKeys(page, "h");
  await heading(page, "History").waitFor();
  await page.getByRole("button", { name: "Help" }).focus();
  await page.keyboard.press("?");
  const dialog = page.getByRole("dialog", { name: "Help" });
  await dialog.waitFor();
  await dialog.getByLabel("Letters are shortcuts").uncheck();
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await shows(() => focused(page), "Help", "the focus behind the dialog");
  await page.keyboard.press("?");
  equal(await page.getByRole("dialog").count(), 0, "dialogs when keys are off");
  await goKeys(page, "m");
  await heading(page, "History").waitFor();
});

test("history goes on where it was left, and begins at its top else", async (scope) => {
  const server = await startWeir(scope);
  for (let i = 0; i < N_TURNS; i++) await endedTurn(server, await askTurn(server, `how did I sleep? (${i})`));
  const { page } = await openPage(scope, server, "#/turns");
  const list = page.getByRole("list", { name: "Turns" });
  const place = () => page.locator(".turn-list").evaluate((element) => element.scrollTop);
  await list.getByRole("link").first().focus();
  await page.keyboard.press("End");
  await list.getByText("(0)").waitFor();
  const left = await place();
  expect(left > 500, "it has scrolled", left);
  await page.keyboard.press("Enter");
  await page.waitForURL(/#\/turns\/turn_/);
  await page.goBack();
  await list.getByText("(0)").waitFor();
  await shows(place, left, "how far down it is");
  await page.getByRole("link", { name: "Failed" }).click();
  await page.getByText("No turn is failed").waitFor();
  await page.getByRole("link", { name: "History" }).click();
  await list.getByText(`(${N_TURNS - 1})`).waitFor();
  await shows(place, 0, "how far down it is for whoever comes anew");
});
