// SPDX-License-Identifier: Apache-2.0
// What else can be done with sessions and chats: what waits, what is told, names, forks, prompts by
// the clock, shortcuts, stopping, forgetting.
import { openPage } from "./harness/browser.mjs";
import { equal, expect, test, until } from "./harness/cases.mjs";
import { Model, Weir, says, startWeir } from "./harness/server.mjs";
import { DAILY } from "./harness/worlds.mjs";

async function world(scope, { command, route = "#/sessions", ...options }) {
  const model = await Model.start(scope, command);
  const server = await startWeir(scope, { models: model.config(), ...options });
  return { model, server, ...(await openPage(scope, server, route)) };
}

const message = (page) => page.getByRole("textbox", { name: "Message" });

async function say(page, text) {
  await message(page).fill(text);
  await page.getByRole("button", { name: "Send", exact: true }).click();
}

async function begin(page, text) {
  await page.getByRole("textbox", { name: "First message of a new session" }).fill(text);
  await page.keyboard.press("Enter");
  await page.waitForURL(/#\/sessions\/ses_/);
}

const sure = (page, label) => page.getByRole("dialog").getByRole("button", { name: label }).click();
const head = (page, label) => page.getByRole("button", { name: label }).click();
const answer = (page, text) => page.getByRole("article").getByText(text).first().waitFor();

test("a session is renamed, pinned, forked, found and deleted", async (scope) => {
  const { page, server } = await world(scope, { command: { default: says("The swans were there.") } });
  await begin(page, "How was the lake?");
  await answer(page, "The swans were there.");
  await head(page, "Rename");
  await page.getByRole("dialog").getByRole("textbox", { name: "Title" }).fill("At the lake");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "At the lake", level: 1 }).waitFor();
  await head(page, "Pin this session");
  await page.getByRole("button", { name: "Pin this session", pressed: true }).waitFor();
  const first = page.url();
  await head(page, /^Fork/);
  await page.waitForURL((url) => url.href !== first);
  await page.getByText("forked from").waitFor();
  await answer(page, "The swans were there.");
  await head(page, "Delete this session");
  await sure(page, "Delete");
  await page.waitForURL(/#\/sessions$/);
  await page.getByRole("searchbox", { name: "Search sessions" }).fill("swans");
  await page
    .getByRole("link", { name: /At the lake/ })
    .getByText("Pinned")
    .waitFor({ state: "attached" });
  const { sessions } = await server.call("sessions/list");
  equal(
    sessions.map(({ title, pinned }) => [title, pinned]),
    [["At the lake", true]],
    "sessions",
  );
  await page.getByRole("searchbox", { name: "Search sessions" }).fill("geese");
  await page.getByText("Nothing was found for “geese”.").waitFor();
});

test("what waits behind a turn is shown, and what the turn is told", async (scope) => {
  const held = says("One and two and three and four.", { hold_at: 2, hold_delta: "go" });
  const { page, model } = await world(scope, { command: { rules: [{ times: 1, do: held }], default: says("Well.") } });
  await begin(page, "Begin.");
  await answer(page, /One/);
  await say(page, "Then this.");
  const waiting = page.getByRole("region", { name: "Messages that wait" });
  await waiting.getByText("Waiting (1)").waitFor();
  await waiting.getByText("Then this.").waitFor();
  await message(page).fill("Be short.");
  await page.getByRole("button", { name: "Tell it now" }).click();
  await waiting.getByText("Be short.").waitFor();
  // Another window, or this one once more, knows what waits.
  await page.reload();
  await waiting.getByText("Then this.").waitFor();
  await model.release("go");
  await waiting.waitFor({ state: "hidden" });
  const said = page.locator(".said-text");
  await until(async () => (await said.allInnerTexts()).join("|") === "Begin.|Be short.|Then this.", "all of it was said, in its order");
});

test("prompts are scheduled and taken back, a shortcut is proposed and used", async (scope) => {
  const server = new Weir(scope);
  server.importFiles(DAILY);
  await server.start();
  const { page, profile } = await openPage(scope, server, "#/sessions");
  profile.allow(/status of 400/);
  await begin(page, "What was my average resting heart rate in January 2025?");
  for (const [n, month] of ["February", "March"].entries()) {
    await until(async () => (await page.locator("article[aria-busy=false]").count()) === n + 1, "an answer");
    await say(page, `What was my average resting heart rate in ${month} 2025?`);
  }
  await page.getByRole("textbox", { name: "Name" }).fill("pulse");
  await page.getByRole("button", { name: "Accept" }).click();
  await page.getByText("/pulse").waitFor();
  await say(page, "/pulse");
  await until(async () => (await page.locator("article[aria-busy=false]").count()) === 4, "the shortcut is answered");
  const panel = page.getByRole("complementary", { name: "Details" });
  await panel.getByText("Schedule a prompt").click();
  await panel.getByRole("textbox", { name: "When" }).fill("61 * * * *");
  await panel.getByRole("textbox", { name: "What to say" }).fill("/pulse");
  await panel.getByRole("button", { name: "Schedule" }).click();
  await until(async () => (await panel.getByRole("alert").allInnerTexts()).some((text) => /minute/i.test(text)), "what is wrong is said");
  await panel.getByRole("textbox", { name: "When" }).fill("0 7 * * mon-fri");
  await panel.getByRole("button", { name: "Schedule" }).click();
  await panel.getByRole("button", { name: "Delete the scheduled prompt /pulse" }).click();
  await sure(page, "Delete");
  await panel.getByText("None yet.").waitFor();
  equal((await server.call("cron/list")).jobs, [], "jobs");
});

test("a reply is stopped, its private values are forgotten, and the conversation goes", async (scope) => {
  const held = says(`I write to [email_1] now. ${"And then some more. ".repeat(10)}`, { hold_at: 6, hold_delta: "never" });
  const { page, server } = await world(scope, { command: { default: held }, route: "#/chat" });
  await say(page, "Write to ann@example.org.");
  await answer(page, /ann@example\.org/);
  await page.getByRole("button", { name: "Stop" }).click();
  await answer(page, "Stopped before it was whole");
  await head(page, /^Forget/);
  await sure(page, "Forget them");
  await page.getByText("It can be read, and not gone on with.").waitFor();
  await answer(page, /\[email_1\]/);
  await until(async () => !(await page.content()).includes("ann@example.org"), "the value is gone from the page");
  expect(await message(page).isDisabled(), "nothing can be written");
  await head(page, "Delete this conversation");
  await sure(page, "Delete");
  await page.waitForURL(/#\/chat$/);
  equal((await server.json("GET", "/v1/conversations")).conversations, [], "conversations");
});

test("what is said in one tab of a chat is in the other when one comes to it", async (scope) => {
  const { page, profile } = await world(scope, { command: { default: says("Well said.") }, route: "#/chat" });
  await say(page, "First.");
  await answer(page, "Well said.");
  const other = await profile.tab(new URL(page.url()).hash);
  await answer(other, "Well said.");
  await say(page, "Second.");
  await until(async () => (await page.locator("article[aria-busy=false]").count()) === 2, "the second reply");
  await other.evaluate(() => window.dispatchEvent(new Event("focus")));
  await until(async () => (await other.locator(".said-text").allInnerTexts()).join("|") === "First.|Second.", "both are there, once");
  await until(async () => (await other.locator("article[aria-busy=false]").count()) === 2, "both replies");
});
