// SPDX-License-Identifier: Apache-2.0
// A question, and the turn that answers it: watched, reloaded, killed, and read to the days behind
// each number.
import { Profile, SERVER_GONE, openPage, quiet } from "./harness/browser.mjs";
import { equal, expect, shows, test, until } from "./harness/cases.mjs";
import { lanesOf, turnEvents } from "./harness/log.mjs";
import { BEGIN, HELD, halfThought, thoughts } from "./harness/scenes.mjs";
import { says } from "./harness/server.mjs";
import { QUESTION, askTurn, endedTurn, withModel } from "./harness/worlds.mjs";

const plain = (text) => text.replace(/\s+/g, " ").trim();

function status(page, word) {
  return page.getByRole("main").getByText(word, { exact: true }).first();
}

const turnOf = (page) => /#\/turns\/(turn_\w+)/.exec(page.url())[1];

/** What is on the page is what the log has: each lane, and the answer. */
async function expectAsLogged(page, server, turn) {
  await status(page, "completed").waitFor();
  const lanes = lanesOf(await turnEvents(server, turn));
  for (const [agent, name] of [["data_science", "data scientist"], ["domain_expert", "domain expert"]]) {
    await shows(async () => plain(await thoughts(page, name).innerText()), plain(lanes[agent]), `what the ${name} thought`);
  }
  const { result } = await server.json("GET", `/v1/turns/${turn}`);
  const answer = plain(result.answer.replaceAll("**", ""));
  const shown = async () => plain(await page.getByRole("region", { name: "Answer", exact: true }).innerText());
  await shows(async () => (await shown()).split(answer).length - 1, 1, `how often the page has the answer “${answer}”`);
}

test("a question is asked and watched to its answer", async (scope) => {
  const { model, server } = await withModel(scope, { command: HELD });
  const { page } = await openPage(scope, server);
  await page.getByRole("textbox", { name: "Your question" }).fill(QUESTION);
  await page.getByRole("button", { name: "Ask", exact: true }).click();
  await page.getByRole("heading", { level: 1, name: QUESTION }).waitFor();
  await thoughts(page, "data scientist").getByText(BEGIN).waitFor();
  await status(page, "running").waitFor();
  await page.getByRole("button", { name: "Stop" }).waitFor();
  await model.release("go on");
  await expectAsLogged(page, server, turnOf(page));
  await page.getByRole("link", { name: "History" }).click();
  await page.getByRole("link", { name: QUESTION }).waitFor();
});

test("a number leads to its fact, and the fact to a chart of its days", async (scope) => {
  const { server } = await withModel(scope);
  const turn = await askTurn(server);
  const { result } = await endedTurn(server, turn);
  const { page } = await openPage(scope, server, `#/turns/${turn}`);
  await status(page, "completed").waitFor();
  const links = page.locator("a.number");
  await links.first().waitFor();
  expect(result.numbers.length > 0, "numbers of the answer", result.answer);
  await shows(() => links.count(), result.numbers.length, "numbers of the answer that are links");
  const claim = await links.first().getAttribute("data-claim");
  await links.first().click();
  await shows(() => decodeURIComponent(page.url()).split("/").at(-1), claim, "the address");
  const row = page.locator(`[data-fact="${claim}"]`);
  await shows(() => row.evaluate((element) => element === document.activeElement), true, "the row has the focus");
  await page.getByRole("heading", { level: 1 }).click();
  await shows(() => row.evaluate((element) => element === document.activeElement), false, "the row has the focus");
  await links.first().click();
  await shows(() => row.evaluate((element) => element === document.activeElement), true, "a click more leads there again: the focus");
  const entry = result.fact_sheet.find((fact) => fact.claim === claim);
  expect((await row.innerText()).includes(`${entry.n} day`), "the row says of how many days", await row.innerText());
  const chart = page.getByRole("img", { name: /Resting heart rate/i }).or(page.locator(".fact-panel svg")).first();
  await chart.waitFor();
  await page.reload();
  await chart.waitFor();
});

test("each finding shows its seven gates, whose numbers come by focus and by pointer", async (scope) => {
  const { server } = await withModel(scope, { command: { actor: { critic: "downgrade" } } });
  const turn = await askTurn(server);
  await endedTurn(server, turn);
  const events = await turnEvents(server, turn);
  const gates = events.filter(([, type]) => type === "validator.gate").map(([, , data]) => data);
  const { page } = await openPage(scope, server, `#/turns/${turn}`);
  const finding = gates[0].finding_id;
  const cells = page.getByRole("list", { name: `Gates of ${finding}` }).getByRole("button");
  await cells.first().waitFor();
  await shows(() => cells.count(), 7, "gates");
  const tip = page.getByRole("tooltip");
  // What is still to come of the turn draws the gates anew, and with the focus the tip comes again.
  await page.locator('.answer-card[data-state="completed"]').waitFor();
  await quiet(page);
  await cells.first().focus();
  await tip.waitFor();
  const [[name]] = Object.entries(gates[0].detail);
  expect((await tip.innerText()).toLowerCase().includes(name.replaceAll("_", " ")), "the deciding numbers", await tip.innerText(), name);
  await page.keyboard.press("Escape");
  await tip.waitFor({ state: "hidden" });
  await cells.nth(2).hover();
  await tip.waitFor();
  await page.getByText("The season changed in the same weeks.").first().waitFor();
});

test("a page that is reloaded in mid-turn goes on where it was", async (scope) => {
  const { model, server, page, turn } = await halfThought(scope);
  await page.reload();
  await thoughts(page, "data scientist").getByText(BEGIN).waitFor();
  await model.release("go on");
  await expectAsLogged(page, server, turn);
});

test("a server that is killed in mid-turn comes back, and the page has what the log has", async (scope) => {
  const { model, server, page, profile, turn } = await halfThought(scope);
  profile.allow(SERVER_GONE);
  const connection = page.getByRole("banner").getByRole("status");
  await server.kill();
  await connection.filter({ hasText: /Reconnecting|Offline/ }).waitFor();
  await server.start();
  await connection.filter({ hasText: "Connected" }).waitFor();
  await model.release("go on");
  await expectAsLogged(page, server, turn);
});

test("two tabs watch one turn, and see the same", async (scope) => {
  const { model, server, page, profile, turn } = await halfThought(scope);
  const other = await profile.tab(`#/turns/${turn}`);
  await thoughts(other, "data scientist").getByText(BEGIN).waitFor();
  await model.release("go on");
  for (const tab of [page, other]) await expectAsLogged(tab, server, turn);
});

test("a turn that is stopped says so, and can be asked again", async (scope) => {
  const { page } = await halfThought(scope);
  await page.getByRole("button", { name: "Stop" }).click();
  await page.getByRole("heading", { name: "You stopped this turn" }).waitFor();
  await page.getByRole("button", { name: "Ask again" }).click();
  await shows(() => page.getByRole("textbox", { name: "Your question" }).inputValue(), QUESTION, "the question");
});

test("a long question is asked as it is, and one that is too long is refused in words", async (scope) => {
  const { server } = await withModel(scope, { options: ["--max-body", "64K"] });
  const { page, profile } = await openPage(scope, server);
  profile.allow(/413/);
  const field = page.getByRole("textbox", { name: "Your question" });
  const tooLong = "why ".repeat(20_000).trim();
  await field.fill(tooLong);
  await page.getByRole("button", { name: "Ask", exact: true }).click();
  await page.getByRole("alert").getByText(/longer than the server takes/).waitFor();
  equal((await field.inputValue()).length, tooLong.length, "characters that are kept");
  const long = tooLong.slice(0, 40_000).trim();
  await field.fill("");
  await field.focus();
  await page.keyboard.insertText(long); // as what is pasted
  await page.getByRole("button", { name: "Ask", exact: true }).click();
  await page.waitForURL(/#\/turns\/turn_/);
  equal((await server.json("GET", `/v1/turns/${turnOf(page)}`)).messages[0].content.length, long.length, "characters asked");
});

test("a follow-up that is asked again keeps its conversation", async (scope) => {
  const { server } = await withModel(scope, { command: { default: { status: 400, message: "no such model" } } });
  const messages = [{ role: "user", content: QUESTION }, { role: "assistant", content: "It is." }, { role: "user", content: "Since when?" }];
  const { id } = await server.json("POST", "/v1/turns", { messages });
  const { page } = await openPage(scope, server, `#/turns/${id}`);
  await page.getByRole("button", { name: "Ask again" }).click();
  await until(() => page.url().includes("turn_") && turnOf(page) !== id, "another turn is shown");
  await page.getByRole("heading", { level: 1, name: "Since when?" }).waitFor();
  equal((await server.json("GET", `/v1/turns/${turnOf(page)}`)).messages, messages, "what was asked");
});

test("a model that is down fails the turn in words", async (scope) => {
  const { server } = await withModel(scope, { command: { default: { status: 400, message: "no such model" } } });
  const { page } = await openPage(scope, server, `#/turns/${await askTurn(server)}`);
  await status(page, "failed").waitFor();
  await page.getByRole("button", { name: "Ask again" }).waitFor();
});

test("what a model says is text and never a part of the page", async (scope) => {
  const evil = '<img src=x onerror=alert(1)><script>alert(2)</script> [a](javascript:alert(3)) ![p](https://evil.example/p.png)';
  const { server } = await withModel(scope, { command: { rules: [{ purpose: "data_science", times: -1, do: says(evil) }] } });
  const profile = await Profile.open(scope, server);
  const page = await profile.tab(`#/turns/${await askTurn(server, `${QUESTION} ${evil}`)}`);
  page.on("dialog", (dialog) => profile.complain("dialog", dialog.message()));
  await status(page, "completed").waitFor();
  await until(async () => (await thoughts(page, "data scientist").innerText()).includes("onerror"), "it is shown as text");
  equal(await page.locator("main img, main script, main a[href^='javascript'], main a[href*='evil']").count(), 0, "what it tried");
});
