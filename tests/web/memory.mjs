// SPDX-License-Identifier: Apache-2.0
// What is remembered can be read, corrected, added to and deleted, also by two at once.
import { openPage } from "./harness/browser.mjs";
import { equal, expect, shows, test, until } from "./harness/cases.mjs";
import { startWeir } from "./harness/server.mjs";

const remember = (server, text, category = "goal") => server.json("POST", "/v1/memory", { category, text });
const entries = async (server) => (await server.json("GET", "/v1/memory")).data;
const editor = (page) => page.getByRole("dialog");
const words = (page) => editor(page).getByLabel("What should be remembered");

test("keys alone add an entry, correct it and delete it", async (scope) => {
  const server = await startWeir(scope);
  const { page } = await openPage(scope, server, "#/memory");
  await page.getByRole("button", { name: "Add" }).focus();
  await page.keyboard.press("Enter");
  await page.keyboard.type("Run a half marathon");
  await page.keyboard.press("Tab");
  await page.keyboard.type("pref");
  await editor(page).getByRole("button", { name: "Add" }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("listitem").getByText("Run a half marathon").waitFor();
  equal(
    (await entries(server)).map(({ text, category }) => [text, category]),
    [["Run a half marathon", "preference"]],
    "on the server",
  );
  await page.getByRole("button", { name: "Edit: Run a half marathon" }).focus();
  await page.keyboard.press("Enter");
  await page.keyboard.press("End");
  await page.keyboard.type(" in May");
  await editor(page).getByRole("button", { name: "Save" }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("listitem").getByText("Run a half marathon in May").waitFor();
  await page.getByRole("button", { name: "Delete: Run a half marathon in May" }).focus();
  await page.keyboard.press("Enter");
  await editor(page).getByRole("button", { name: "Forget it" }).focus();
  await page.keyboard.press("Enter");
  await page.getByText("Nothing is remembered yet").waitFor();
  await shows(() => entries(server), [], "on the server");
});

test("what was changed meanwhile is shown before it is overwritten", async (scope) => {
  const server = await startWeir(scope);
  const { id } = await remember(server, "Sleep eight hours");
  const { page } = await openPage(scope, server, "#/memory");
  await page.getByRole("button", { name: /^Edit/ }).click();
  await server.json("PATCH", `/v1/memory/${id}`, { text: "Sleep nine hours" });
  await words(page).fill("Sleep seven hours");
  await editor(page).getByRole("button", { name: "Save" }).click();
  await editor(page).getByText("Sleep nine hours").waitFor();
  equal((await entries(server))[0].text, "Sleep nine hours", "nothing is overwritten yet");
  await editor(page).getByRole("button", { name: "Keep mine" }).click();
  await editor(page).getByRole("button", { name: "Save" }).click();
  await page.getByRole("listitem").getByText("Sleep seven hours").waitFor();
  equal((await entries(server))[0].text, "Sleep seven hours", "on the server");
});

test("what was deleted meanwhile can be kept as a new entry", async (scope) => {
  const server = await startWeir(scope);
  const { id } = await remember(server, "Sleep eight hours");
  const { page, profile } = await openPage(scope, server, "#/memory");
  profile.allow(/status of 404/);
  await page.getByRole("button", { name: /^Edit/ }).click();
  await server.request("DELETE", `/v1/memory/${id}`);
  await words(page).fill("Sleep a lot");
  await editor(page).getByRole("button", { name: "Save" }).click();
  await editor(page).getByRole("button", { name: "Keep mine as a new one" }).click();
  await editor(page).getByRole("button", { name: "Add" }).click();
  await page.getByRole("listitem").getByText("Sleep a lot").waitFor();
  equal(
    (await entries(server)).map(({ text }) => text),
    ["Sleep a lot"],
    "on the server",
  );
});

test("what cannot be saved says why, and nothing that was written is lost", async (scope) => {
  const server = await startWeir(scope);
  const { page } = await openPage(scope, server, "#/memory");
  await page.getByRole("button", { name: "Add" }).click();
  await editor(page).getByRole("button", { name: "Add" }).click();
  await editor(page).getByText("It needs some words.").waitFor();
  await words(page).fill("é".repeat(2049));
  await editor(page).getByText("This is 2 bytes too long.").waitFor();
  await words(page).fill("<img src=x onerror=alert(1)>");
  await editor(page).getByText("Data for programs").click();
  await editor(page).getByLabel("JSON").fill("{");
  await editor(page).getByRole("button", { name: "Add" }).click();
  await editor(page)
    .getByText(/This is no JSON/)
    .waitFor();
  await editor(page).getByLabel("JSON").fill('{"hours":8}');
  await editor(page).getByRole("button", { name: "Add" }).click();
  await page.getByRole("listitem").getByText("<img src=x onerror=alert(1)>").waitFor();
  equal(
    (await entries(server)).map(({ data }) => data),
    [{ hours: 8 }],
    "data on the server",
  );
});

test("many entries are a list that draws what is seen, and a search looks at all of them", async (scope) => {
  const server = await startWeir(scope);
  const n = 130;
  for (let i = 0; i < n; i++) await remember(server, `Entry number ${i}`, i % 2 ? "goal" : "insight");
  const { page, profile } = await openPage(scope, server, "#/memory");
  await page
    .getByRole("listitem")
    .getByText(`Entry number ${n - 1}`)
    .waitFor();
  expect((await page.getByRole("listitem").count()) < 60, "rows in the document");
  // On the first page nothing fits.
  await page.getByRole("searchbox").fill("number 0");
  await page.getByRole("listitem").getByText("Entry number 0").waitFor();
  await page.getByRole("searchbox").fill("number 3");
  await until(
    async () => (await page.getByRole("status").allInnerTexts()).includes("11 entries"),
    "all that fit were found",
  );
  await page.getByRole("link", { name: "Goals" }).click();
  await until(
    async () => (await page.getByRole("status").allInnerTexts()).includes("65 entries"),
    "all goals are there",
  );
  // A page that cannot be had is still to come.
  profile.allow(/status of 500/);
  let isBroken = true;
  await page.route("**/v1/memory?*cursor=*", (route) =>
    isBroken ? route.fulfill({ status: 500, headers: { "retry-after": "0" }, body: "broken" }) : route.continue(),
  );
  const total = (text) => until(async () => (await page.getByRole("status").allInnerTexts()).includes(text), text);
  const toEnd = () => page.locator(".memory-list").evaluate((list) => list.scrollTo(0, list.scrollHeight));
  await page.getByRole("link", { name: "All", exact: true }).click();
  await total("100 entries so far");
  await toEnd();
  await page.getByText("More cannot be loaded").waitFor();
  await total("100 entries so far");
  isBroken = false;
  await page.locator(".memory-list").evaluate((list) => list.scrollTo(0, 0));
  await toEnd();
  await total("130 entries");
});
