// SPDX-License-Identifier: Apache-2.0
// A chat in which something private is said: what the user decides is what happens.
import { SERVER_GONE, openPage } from "./harness/browser.mjs";
import { equal, expect, shows, test, until } from "./harness/cases.mjs";
import { Model, says, startWeir } from "./harness/server.mjs";

const PRIVATE = "ann@example.org";
const MESSAGE = `Write to ${PRIVATE} that I am late.`;
const REPLY = "It is on its way. All will be well, and they know it.";
const DECIDED_ELSEWHERE = "It was decided in another window.";
const CHOICES = { redact: "Send redacted", allow: "Send as it is", block: "Do not send" };

async function world(scope, { options = [], command = {} } = {}) {
  const model = await Model.start(scope, { default: says(REPLY), ...command });
  const server = await startWeir(scope, { models: model.config(), shield: { piiAction: "ask" }, options });
  const { page, profile } = await openPage(scope, server, "#/chat");
  return { model, server, page, profile };
}

async function say(page, text) {
  await page.getByRole("textbox", { name: "Message" }).fill(text);
  await page.getByRole("button", { name: "Send", exact: true }).click();
}

const replies = (page) => page.getByRole("article", { name: "Reply" });
const review = (page) => page.getByRole("dialog", { name: /private/ });

function choose(page, choice) {
  return review(page).getByRole("button", { name: CHOICES[choice] }).click();
}

/** What the model was told, all of it. */
async function toldModel(model) {
  return (await model.seen(true)).map(({ body }) => body).join("\n");
}

async function askedForReview(scope, more) {
  const made = await world(scope, more);
  await say(made.page, MESSAGE);
  await review(made.page).waitFor();
  return made;
}

test("a reply streams onto the page and is there once after a reload", async (scope) => {
  const { page } = await world(scope);
  await say(page, "Will I be late?");
  await replies(page).getByText(REPLY).waitFor();
  await page.waitForURL(/#\/chat\/conv_/);
  await page.reload();
  await replies(page).getByText(REPLY).waitFor();
  await shows(() => replies(page).count(), 1, "replies");
});

test("the review shows what was found and what would be sent, and how long there is", async (scope) => {
  const { page, model, server } = await askedForReview(scope);
  const dialog = review(page);
  await dialog.getByText("email", { exact: false }).first().waitFor();
  await dialog.getByText("[email_1]").first().waitFor();
  for (const name of Object.values(CHOICES)) await dialog.getByRole("button", { name }).waitFor();
  await dialog.getByRole("timer").waitFor();
  await dialog.getByRole("status").getByText(/nothing is sent, at \d/).waitFor();
  await page.keyboard.press("Escape");
  equal(await dialog.isVisible(), true, "a choice has to be made");
  equal((await model.seen()).length, 0, "calls of the model before anything was decided");
  // A reply that is over before anybody has decided was not decided elsewhere.
  await page.waitForURL(/#\/chat\/conv_/);
  await server.request("POST", `/v1/conversations/${page.url().split("/").at(-1)}/cancel`);
  await dialog.waitFor({ state: "detached" });
  equal(await page.getByText(DECIDED_ELSEWHERE).count(), 0, "notes that it was decided");
});

test("redacting sends a placeholder, and the reply has the value again", async (scope) => {
  const { page, model } = await askedForReview(scope, { command: { default: says("I wrote to [email_1].") } });
  await choose(page, "redact");
  await replies(page).getByText(`I wrote to ${PRIVATE}.`).waitFor();
  await review(page).waitFor({ state: "detached" });
  const told = await toldModel(model);
  expect(told.includes("[email_1]") && !told.includes(PRIVATE), "what left", told);
});

test("allowing sends what was written", async (scope) => {
  const { page, model } = await askedForReview(scope);
  await choose(page, "allow");
  await replies(page).getByText(REPLY).waitFor();
  expect((await toldModel(model)).includes(PRIVATE), "what left");
});

test("blocking sends nothing, and says so", async (scope) => {
  const { page, model } = await askedForReview(scope);
  await choose(page, "block");
  await review(page).waitFor({ state: "detached" });
  await page.getByText("You decided that nothing is sent.").waitFor();
  equal((await model.seen()).length, 0, "calls of the model");
});

test("a review that nobody answers ends as blocked, and the dialog goes by itself", async (scope) => {
  const { page, model } = await askedForReview(scope, { options: ["--chat-decision", "10s"] });
  await review(page).getByRole("status").getByText("Little time is left").waitFor();
  await review(page).waitFor({ state: "detached" });
  await page.getByText("Nobody decided in time, so nothing was sent.").waitFor();
  equal((await model.seen()).length, 0, "calls of the model");
});

test("a review survives a reload, and an answer in one tab closes the dialog of the other", async (scope) => {
  const { page, profile } = await askedForReview(scope);
  await page.waitForURL(/#\/chat\/conv_/);
  await page.reload();
  await review(page).waitFor();
  const other = await profile.tab(new URL(page.url()).hash);
  await review(other).waitFor();
  await choose(page, "redact");
  await review(other).waitFor({ state: "detached" });
  await other.getByText(DECIDED_ELSEWHERE).waitFor();
  for (const tab of [page, other]) await replies(tab).getByText(REPLY).waitFor();
});

test("a choice that is remembered is not asked for again in this conversation", async (scope) => {
  const { page } = await askedForReview(scope);
  await page.getByLabel("Remember for this conversation").check();
  await choose(page, "redact");
  await replies(page).getByText(REPLY).waitFor();
  // Its last word is there before its end is.
  await page.getByRole("button", { name: "Stop" }).waitFor({ state: "hidden" });
  await say(page, `And to bob@example.org, too.`);
  await until(async () => (await replies(page).getByText(REPLY).count()) === 2, "the second reply is there");
  equal(await review(page).count(), 0, "reviews");
});

test("a server that is killed in mid-reply comes back, and no word is lost or doubled", async (scope) => {
  const words = Array.from({ length: 60 }, (_, number) => `word${number}`).join(" ");
  const { page, profile, server } = await world(scope, {
    command: {
      default: says(`${words}.`, { hold_at: 20, hold_delta: "never" }),
      rules: [{ times: -1, contains: "Your answer was interrupted", do: says(" And that was the end.") }],
    },
  });
  profile.allow(SERVER_GONE);
  await say(page, "Count, please.");
  await replies(page).getByText(/word10/).waitFor();
  await server.kill();
  await server.start();
  await replies(page).getByText(/And that was the end\./).waitFor();
  const id = new URL(page.url()).hash.split("/").at(-1);
  const { messages } = await server.json("GET", `/v1/conversations/${id}`);
  await shows(() => replies(page).locator(".md").allInnerTexts(), [messages.at(-1).content.trim()], "the reply");
});
