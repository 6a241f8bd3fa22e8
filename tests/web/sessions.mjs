// SPDX-License-Identifier: Apache-2.0
// A session: its tools ask before they change something, its questions are answered, and it goes
// on in every tab and over a crash.
import { SERVER_GONE, openPage } from "./harness/browser.mjs";
import { equal, expect, shows, test, until } from "./harness/cases.mjs";
import { Model, says, startWeir, uses } from "./harness/server.mjs";

const NOTE = ["write_note", { name: "packing", text: "Take the blue coat." }];
const ASK = ["ask_user", { question: "Which city?", options: ["Lisbon", "Oslo"] }];

/** A session on a page; the model answers its first message with these, one after the other. */
async function world(scope, answers, options = []) {
  const rules = answers.map((answer) => ({ times: 1, do: answer }));
  const model = await Model.start(scope, { rules, default: says("That is all there is.") });
  const server = await startWeir(scope, { models: model.config(), options });
  const { page, profile } = await openPage(scope, server, "#/sessions");
  return { model, server, page, profile };
}

async function say(page, text) {
  await page.getByRole("textbox", { name: "Message" }).fill(text);
  await page.getByRole("button", { name: "Send", exact: true }).click();
}

/** The first message, which makes the session. */
async function begin(page, text) {
  await page.getByRole("textbox", { name: "First message of a new session" }).fill(text);
  await page.getByRole("button", { name: "Begin" }).click();
  await page.waitForURL(/#\/sessions\/ses_/);
}

const answers = (page) => page.getByRole("article", { name: "Answer" });
const approval = (page) => page.getByRole("region", { name: /May write_note/ });
const sessionOf = (page) => /ses_\w+/.exec(page.url())[0];

async function messagesOf(server, page) {
  return (await server.call("sessions/get", { id: sessionOf(page) })).messages;
}

test("a session answers, and shows in the list with its title", async (scope) => {
  const { page } = await world(scope, [says("You slept **seven hours**.")]);
  await begin(page, "How did I sleep?");
  await answers(page).getByText("You slept seven hours.").waitFor();
  await page.getByRole("link", { name: "Sessions", exact: true }).click();
  await page.getByRole("link", { name: /How did I sleep/ }).click();
  await answers(page).getByText("You slept seven hours.").waitFor();
  await shows(() => answers(page).count(), 1, "answers");
});

test("what is sent again after its answer was lost is said once", async (scope) => {
  const { page, profile, server } = await world(scope, [says("You slept well.")]);
  profile.allow(/net::ERR_FAILED/);
  let nLost = 0;
  await page.route("**/rpc/chat/send", async (route) => {
    if (nLost++ >= 3) return route.continue();
    await route.fetch();
    return route.abort();
  });
  await page.getByRole("textbox", { name: "First message of a new session" }).fill("How did I sleep?");
  await page.getByRole("button", { name: "Begin" }).click();
  await page.getByText("No session was begun").waitFor();
  await page.getByRole("button", { name: "Begin" }).click();
  await answers(page).getByText("You slept well.").waitFor();
  equal((await server.call("sessions/list")).sessions.length, 1, "sessions");
});

test("a tool that is allowed runs, and its call is shown with what came of it", async (scope) => {
  const { page } = await world(scope, [uses(NOTE), says("It is written down.")]);
  await begin(page, "Note the coat, please.");
  await approval(page).getByText("Take the blue coat.").waitFor();
  await approval(page).getByRole("button", { name: "Allow once" }).click();
  await answers(page).getByText("It is written down.").waitFor();
  await approval(page).waitFor({ state: "detached" });
  await answers(page).getByText("write_note").first().waitFor();
});

test("what goes from right to left does, and turns nothing round that is beside it", async (scope) => {
  const note = uses(["write_note", { name: "packing", text: "a\u202egpj.exe \u2067hidden" }]);
  const { page } = await world(scope, [says("שלום עולם, it is late.\n\nAnd so on."), note]);
  const said = "מה השעה?";
  await begin(page, said);
  // Where the first letters of a paragraph are, seen from its middle.
  const side = (place) => place.evaluate((element) => {
    const range = document.createRange();
    range.setStart(element.firstChild, 0);
    range.setEnd(element.firstChild, 2);
    const [box, all] = [range.getBoundingClientRect(), element.getBoundingClientRect()];
    return (box.left + box.right) / 2 > (all.left + all.right) / 2 ? "right" : "left";
  });
  equal(await side(answers(page).getByText(/it is late/)), "right", "a paragraph in Hebrew");
  equal(await side(answers(page).getByText("And so on.")), "left", "a paragraph in English");
  const field = page.getByRole("textbox", { name: "Message" });
  equal(await field.evaluate((element) => getComputedStyle(element).unicodeBidi), "plaintext", "what is written");
  await say(page, "Note it.");
  await approval(page).getByText("a\\u202egpj.exe \\u2067hidden", { exact: true }).waitFor();
});

test("a tool that is denied does not run, and the model is told why", async (scope) => {
  const { page, model } = await world(scope, [uses(NOTE), says("As you wish.")]);
  await begin(page, "Note the coat, please.");
  await approval(page).getByRole("button", { name: /^Deny/ }).click();
  await approval(page).getByLabel("Why not?").fill("It is the red one.");
  await approval(page).getByRole("button", { name: "Deny", exact: true }).click();
  await answers(page).getByText("As you wish.").waitFor();
  const told = (await model.seen(true)).at(-1).body;
  expect(told.includes("It is the red one."), "what the model was told", told.slice(-800));
});

test("an approval that nobody gives is a denial when its time is over", async (scope) => {
  const { page } = await world(scope, [uses(NOTE), says("Then not.")], ["--approval-timeout", "10s"]);
  await begin(page, "Note the coat, please.");
  await approval(page).waitFor();
  await approval(page).waitFor({ state: "detached" });
  await answers(page).getByText("Then not.").waitFor();
});

test("a question is answered by one of its options, in one tab for all", async (scope) => {
  const { page, profile } = await world(scope, [uses(ASK), says("Oslo it is.")]);
  await begin(page, "Plan my trip.");
  const asked = (tab) => tab.getByRole("region", { name: "A question for you" });
  await asked(page).getByText("Which city?").waitFor();
  const other = await profile.tab(new URL(page.url()).hash);
  await asked(other).getByRole("button", { name: "Oslo" }).click();
  await asked(page).waitFor({ state: "detached" });
  for (const tab of [page, other]) await answers(tab).getByText("Oslo it is.").waitFor();
});

test("what is said in one tab is there in the other, once", async (scope) => {
  const { page, profile } = await world(scope, [says("One."), says("Two.")]);
  await begin(page, "The first");
  const other = await profile.tab(new URL(page.url()).hash);
  for (const tab of [page, other]) await answers(tab).getByText("One.", { exact: true }).waitFor();
  await say(other, "The second");
  for (const tab of [page, other]) {
    await answers(tab).getByText("Two.", { exact: true }).waitFor();
    await shows(() => tab.getByRole("listitem").getByText(/^The (first|second)$/).allInnerTexts(), ["The first", "The second"], "what was said");
    await shows(() => answers(tab).count(), 2, "answers");
  }
});

/** What a browser does when another tab is in front, or this one again. */
function see(page, isSeen) {
  return page.evaluate((isSeen) => {
    Object.defineProperty(document, "hidden", { value: !isSeen, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
  }, isSeen);
}

test("tabs that nobody sees leave their connections to others, and miss nothing", async (scope) => {
  const { page, profile } = await world(scope, [says("One."), says("Two.")]);
  await begin(page, "The first");
  await answers(page).getByText("One.", { exact: true }).waitFor();
  const route = new URL(page.url()).hash;
  const tabs = [page];
  // As many as a browser has connections to a host; the next one would wait for ever.
  while (tabs.length < 6) {
    const tab = await profile.tab(route);
    tabs.push(tab);
    await answers(tab).getByText("One.", { exact: true }).waitFor();
  }
  await Promise.all(tabs.map((tab) => see(tab, false)));
  const last = await profile.tab(route);
  await answers(last).getByText("One.", { exact: true }).waitFor();
  await say(last, "The second");
  await answers(last).getByText("Two.", { exact: true }).waitFor();
  equal(await answers(page).count(), 1, "answers that a tab in the background has");
  await see(page, true);
  await answers(page).getByText("Two.", { exact: true }).waitFor();
  await shows(() => page.getByRole("listitem").getByText(/^The (first|second)$/).allInnerTexts(), ["The first", "The second"], "what was said");
  await shows(() => answers(page).locator(".md").allInnerTexts(), ["One.", "Two."], "answers");
});

test("an approval waits over a crash of the server, and is given then", async (scope) => {
  const { page, profile, server } = await world(scope, [uses(NOTE), says("It is written down.")]);
  profile.allow(SERVER_GONE);
  await begin(page, "Note the coat, please.");
  await approval(page).waitFor();
  await server.kill();
  await server.start();
  await page.getByRole("banner").getByRole("status").filter({ hasText: "Connected" }).waitFor();
  await approval(page).getByRole("button", { name: "Allow once" }).click();
  await answers(page).getByText("It is written down.").waitFor();
  await shows(() => answers(page).getByText("It is written down.").count(), 1, "answers");
});

test("an answer that a crash cuts goes on, and no word is lost or doubled", async (scope) => {
  const words = Array.from({ length: 60 }, (_, number) => `word${number}`).join(" ");
  const { page, profile, server, model } = await world(scope, [says(`${words}.`, { hold_at: 20, hold_delta: "never" })]);
  await model.control({ default: says(" And that was the end.") });
  profile.allow(SERVER_GONE);
  await begin(page, "Count, please.");
  await answers(page).getByText(/word10/).waitFor();
  await server.kill();
  await server.start();
  await answers(page).getByText(/And that was the end\./).waitFor();
  const text = await until(async () => {
    const messages = await messagesOf(server, page);
    return messages.length === 2 && messages[1].content;
  }, "the answer is kept");
  await shows(() => answers(page).locator(".md").allInnerTexts(), [text.trim()], "the answer");
});

test("a turn is stopped, and what was said of it stays", async (scope) => {
  const { page } = await world(scope, [says("One thing and another and a third and a fourth.", { hold_at: 2, hold_delta: "never" })]);
  await begin(page, "Tell me.");
  await answers(page).getByText(/One thing/).waitFor();
  await page.getByRole("button", { name: "Stop" }).click();
  await page.getByRole("button", { name: "Stop" }).waitFor({ state: "hidden" });
  await answers(page).getByText(/One thing/).waitFor();
});
