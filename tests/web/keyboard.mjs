// SPDX-License-Identifier: Apache-2.0
// The whole way without a mouse: sign in, bring data, ask, read, follow a number, decide.
import { Profile, goKeys } from "./harness/browser.mjs";
import { expect, shows, test } from "./harness/cases.mjs";
import { approvalWaits, reviewWaits } from "./harness/scenes.mjs";
import { startWeir } from "./harness/server.mjs";
import { DAILY } from "./harness/worlds.mjs";

const MAX_STOPS = 60; // of the Tab key on one page

/** What has the focus: its kind, its words and whether one can see that it has it. */
function focused(page) {
  return page.evaluate(() => {
    const element = document.activeElement;
    const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(element);
    const name = element.getAttribute("aria-label") ?? element.labels?.[0]?.textContent ?? element.textContent;
    const isSeen = (outlineStyle !== "none" && outlineWidth !== "0px") || boxShadow !== "none";
    return { tag: element.tagName, name: name.trim(), class: element.className, isSeen };
  });
}

/** Tab until what has the focus is wanted; everything on the way is seen to have it. */
async function tabTo(page, wanted, text) {
  const stops = [];
  for (let stop = 0; stop < MAX_STOPS; stop += 1) {
    await page.keyboard.press("Tab");
    const where = await focused(page);
    stops.push(where.name.slice(0, 40) || where.tag);
    if (where.tag === "BODY") continue;
    expect(where.isSeen, "the focus is not seen on", where);
    if (wanted(where)) return where;
  }
  throw new Error(`${text} cannot be reached by Tab: ${stops.join(" · ")}`);
}

const named = (name) => (where) => where.name === name;

async function goByKeys(page, key, title) {
  await goKeys(page, key);
  await page.getByRole("heading", { level: 1, name: title }).waitFor();
}

test("from the key to the chart behind a number without a mouse", async (scope) => {
  const server = await startWeir(scope, { isOpen: false });
  server.makeKey("--owner", "ann");
  const profile = await Profile.open(scope, server);
  const page = await profile.tab("#/data");
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  if ((await focused(page)).tag !== "INPUT") await tabTo(page, ({ tag }) => tag === "INPUT", "the field of the key");
  await page.keyboard.type(server.key);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: "Data" }).waitFor();

  await tabTo(page, named("Choose files"), "the button for files");
  const chooser = page.waitForEvent("filechooser");
  await page.keyboard.press("Enter");
  await (await chooser).setFiles(DAILY);
  await page.getByRole("link", { name: "Resting heart rate" }).waitFor();

  await goByKeys(page, "a", "What would you like to know?");
  await page.keyboard.type("What was my average resting heart rate in March 2025?");
  await page.keyboard.press("Enter");
  await page.locator("a.number").first().waitFor();
  const number = await tabTo(page, (where) => where.class.includes("number"), "a number of the answer");
  await page.keyboard.press("Enter");
  await page.locator(".fact-panel svg").first().waitFor();
  await shows(async () => (await focused(page)).tag, "TR", `where ${number.name} leads`);
  const fact = await tabTo(page, (where) => where.class.includes("fact-open"), "the entry of the fact sheet");
  await page.keyboard.press("Enter");
  await page.locator(".fact-panel svg").first().waitFor({ state: "detached" });
  expect(fact.name.length > 0, "the entry has a name");
  const gate = await tabTo(page, (where) => where.class.split(" ").includes("gate"), "a gate");
  await page.getByRole("tooltip").waitFor();
  expect(gate.name.length > 0, "the gate has a name");
});

test("the shield is answered without a mouse", async (scope) => {
  const { page } = await reviewWaits(scope);
  await tabTo(page, named("Do not send"), "the choice");
  await page.keyboard.press("Enter");
  await page.getByText("You decided that nothing is sent.").waitFor();
  const where = await focused(page);
  expect(where.tag !== "BODY", "the focus is somewhere when the dialog has closed", where);
});

test("a tool is allowed without a mouse", async (scope) => {
  const { page } = await approvalWaits(scope);
  await tabTo(page, named("Allow once"), "the button that allows");
  await page.keyboard.press("Enter");
  await page.getByText("It is in your notes.").waitFor();
});
