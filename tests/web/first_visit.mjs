// SPDX-License-Identifier: Apache-2.0
// Somebody comes for the first time, signs in, stays, and leaves.
import { Profile, openPage, quiet } from "./harness/browser.mjs";
import { equal, expect, test, until } from "./harness/cases.mjs";
import { startWeir, weir } from "./harness/server.mjs";

// Chromium itself writes that on the console when a key is refused.
const REFUSED = /console: Failed to load resource: .* 401 \(Unauthorized\)/;
const PLACES = ["Ask", "History", "Data", "Memory", "Sessions", "Chat"];

async function withKey(scope) {
  const server = await startWeir(scope, { isOpen: false });
  server.makeKey("--owner", "ann");
  const profile = await Profile.open(scope, server);
  profile.allow(REFUSED);
  return { server, profile };
}

async function signIn(page, key) {
  await page.getByLabel("Key", { exact: true }).fill(key);
  await page.getByRole("button", { name: "Sign in" }).click();
}

async function expectSignedIn(page) {
  await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Ask" }).waitFor();
  await page.getByRole("button", { name: "Sign out" }).waitFor();
}

/** All places in which a page can keep something, as one text. */
function everythingKept(page) {
  return page.evaluate(async () => JSON.stringify({
    address: location.href, name: window.name, state: history.state, cookies: document.cookie,
    local: { ...localStorage }, session: { ...sessionStorage },
    databases: await indexedDB.databases(), caches: await caches.keys(),
  }));
}

async function expectNothingKept(page, ...secrets) {
  const kept = await everythingKept(page);
  for (const secret of secrets) expect(!kept.includes(secret), "the page keeps a secret", kept);
}

test("an open server shows the page at once, without signing in", async (scope) => {
  const server = await startWeir(scope);
  const { page } = await openPage(scope, server);
  await page.getByRole("heading", { level: 1 }).waitFor();
  const links = await page.getByRole("navigation", { name: "Main" }).getByRole("link").allInnerTexts();
  equal(links.map((text) => text.trim()), PLACES, "where one can go");
  equal(await page.getByRole("button", { name: "Sign out" }).count(), 0, "nobody can leave who has not come");
  equal(new URL(page.url()).hash, "#/ask", "where it begins");
  await page.getByRole("status").filter({ hasText: "Connected" }).waitFor();
});

test("a pasted key signs in, a reload keeps it, and no script can read it", async (scope) => {
  const { server, profile } = await withKey(scope);
  const page = await profile.tab("#/data");
  await signIn(page, server.key);
  await expectSignedIn(page);
  equal(new URL(page.url()).hash, "#/data", "where they wanted to go");
  const [cookie, ...others] = await profile.context.cookies();
  equal([cookie.httpOnly, cookie.sameSite, others.length], [true, "Strict", 0], "the cookie");
  await expectNothingKept(page, server.key, cookie.value);
  await page.reload();
  await expectSignedIn(page);
  await expectNothingKept(page, server.key, cookie.value);
});

test("a link signs in once, and its token stays nowhere", async (scope) => {
  const { server, profile } = await withKey(scope);
  const link = weir("key", "link", "--data", server.data).trim().split("\n")[0];
  expect(link.startsWith(`${server.url}/#/link/`), "the link", link);
  const token = link.split("/").at(-1);
  const page = await profile.tab(new URL(link).hash);
  await expectSignedIn(page);
  equal(new URL(page.url()).hash, "#/ask", "the address");
  await expectNothingKept(page, token);
  await page.goBack().catch(() => {});
  expect(!page.url().includes(token), "the history of the tab has the token", page.url());

  const other = await Profile.open(scope, server);
  other.allow(REFUSED);
  const late = await other.tab(new URL(link).hash);
  await late.getByRole("heading", { name: "Sign in" }).waitFor();
  await late.getByText("used already").waitFor();
  await expectNothingKept(late, token);

  // Whoever is signed in already is told that this was not by the link.
  const again = await profile.tab(new URL(link).hash);
  await again.getByRole("heading", { name: "You are signed in" }).waitFor();
  await again.getByRole("alert").getByText("used already").waitFor();
  await again.getByRole("link", { name: "Ask a question" }).click();
  await again.getByRole("textbox", { name: "Your question" }).waitFor();
});

test("a wrong key is refused in words, and the right one is taken behind it", async (scope) => {
  const { server, profile } = await withKey(scope);
  const page = await profile.tab();
  const wrong = `${server.key.slice(0, -4)}AAAA`;
  await signIn(page, wrong);
  await page.getByRole("alert").filter({ hasText: /key/ }).waitFor();
  await expectNothingKept(page, wrong);
  equal((await profile.context.cookies()).length, 0, "cookies");
  await signIn(page, server.key);
  await expectSignedIn(page);
});

test("signing out takes the cookie back, here and on the server", async (scope) => {
  const { server, profile } = await withKey(scope);
  const page = await profile.tab("#/data");
  await signIn(page, server.key);
  await expectSignedIn(page);
  await page.route(({ pathname }) => pathname === "/v1/data/imports", (route) => route.request().method() !== "POST" && route.continue());
  await page.locator("input[type=file]").setInputFiles({ name: "a.csv", mimeType: "text/csv", buffer: Buffer.from("date,steps\n") });
  await page.getByText("sending", { exact: true }).waitFor();
  const [cookie] = await profile.context.cookies();
  await page.getByRole("button", { name: "Sign out" }).click();
  // A file is on its way, and would be lost.
  const sure = page.getByRole("dialog", { name: "Sign out now?" });
  await sure.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  await until(async () => (await profile.context.cookies()).length === 0, "the browser forgets the cookie");
  const answer = await fetch(`${server.url}/auth/session`, { headers: { Cookie: `${cookie.name}=${cookie.value}` } });
  equal(answer.status, 401, "the cookie on the server");
  await page.reload();
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
});

test("what was written when a key is revoked is there again for its owner, and for nobody else", async (scope) => {
  const { server, profile } = await withKey(scope);
  const expire = async (key) => {
    server.makeKey("--owner", "ann", "--scopes", "read,write,admin");
    await server.request("DELETE", `/v1/keys/${key.split("_")[1]}`);
    return server.key;
  };
  const [route, name] = ["#/chat/new", "Message"];
  const page = await profile.tab(route);
  const field = page.getByRole("textbox", { name });
  await signIn(page, server.key);
  await field.fill("Not sent yet");
  let key = await expire(server.key);
  await page.getByRole("button", { name: "Send", exact: true }).click();
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  await quiet(page);
  await expectNothingKept(page, "Not sent yet");
  await signIn(page, key);
  await expectSignedIn(page);
  equal([await field.inputValue(), new URL(page.url()).hash], ["Not sent yet", route], "what was written");

  // A question that was asked and not taken, too.
  await page.evaluate(() => (location.hash = "#/ask"));
  await page.getByRole("textbox", { name: "Your question" }).fill("How did I sleep?");
  key = await expire(key);
  await page.getByRole("button", { name: "Ask", exact: true }).click();
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  await quiet(page);
  const bob = weir("key", "create", "--data", server.data, "--owner", "bob").trim();
  await signIn(page, bob);
  await expectSignedIn(page);
  equal(await page.getByRole("textbox", { name: "Your question" }).inputValue(), "", "what somebody else sees");
});

test("a key that is revoked meanwhile leads back to signing in, and on from there", async (scope) => {
  const { server, profile } = await withKey(scope);
  const page = await profile.tab("#/memory");
  await signIn(page, server.key);
  await expectSignedIn(page);
  const other = server.key;
  server.makeKey("--owner", "ann", "--scopes", "read,write,admin");
  await server.request("DELETE", `/v1/keys/${other.split("_")[1]}`);
  // Not by its link, which is gone when the page has noticed by itself.
  await page.evaluate(() => (location.hash = "#/data"));
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  await quiet(page);
  await signIn(page, server.key);
  await expectSignedIn(page);
  equal(new URL(page.url()).hash, "#/data", "where they were going");
});
