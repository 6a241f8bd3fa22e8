// SPDX-License-Identifier: Apache-2.0
// Pictures of the six main views. With WEIR_SCREENSHOTS=1 they are kept in docs/img; without it is
// only seen that they can be taken, so that nobody's working tree changes by testing.
import fs from "node:fs";
import path from "node:path";
import { Profile, quiet } from "./harness/browser.mjs";
import { ROOT, expect, test } from "./harness/cases.mjs";
import { approvalWaits, halfThought, reviewWaits } from "./harness/scenes.mjs";
import { Weir, startWeir } from "./harness/server.mjs";
import { ACTIVITIES, DAILY, LABS, askTurn, endedTurn, withModel } from "./harness/worlds.mjs";

const FOLDER = path.join(ROOT, "docs/img");
const IS_KEPT = Boolean(process.env.WEIR_SCREENSHOTS);
const LOOK = { viewport: { width: 1200, height: 800 }, colorScheme: "light" };
const MAX_BYTES = 300_000;
const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47]);

/** Without a caret that blinks or a pointer over something. */
async function take(page, name, height = LOOK.viewport.height) {
  await page.setViewportSize({ ...LOOK.viewport, height });
  await page.mouse.move(0, 0);
  await quiet(page);
  await page.evaluate(() => document.fonts.ready);
  const picture = await page.screenshot({ animations: "disabled", caret: "hide" });
  expect(picture.subarray(0, 4).equals(PNG) && picture.length < MAX_BYTES, "a picture", picture.length);
  if (!IS_KEPT) return;
  fs.mkdirSync(FOLDER, { recursive: true });
  fs.writeFileSync(path.join(FOLDER, `${name}.png`), picture);
}

test("a turn that runs", async (scope) => {
  const { page } = await halfThought(scope, LOOK);
  await take(page, "turn-running", 900);
});

test("a turn that has ended, with a number's days and the checks", async (scope) => {
  const server = new Weir(scope);
  server.importFiles(DAILY, ACTIVITIES, LABS);
  await server.start();
  const turn = await askTurn(server, "Do I go to bed later on Saturdays?");
  await endedTurn(server, turn);
  const page = await (await Profile.open(scope, server, LOOK)).tab(`#/turns/${turn}`);
  await page.locator("a.number").first().click();
  await page.locator(".fact-panel svg").first().waitFor();
  await page.setViewportSize({ ...LOOK.viewport, height: 1500 });
  await page.evaluate(() => scrollTo(0, 0));
  await take(page, "turn", 1500);
});

test("the trace of a turn", async (scope) => {
  const { server } = await withModel(scope, { command: { default: { first_ms: 60, delta_ms: 2 } } });
  const turn = await askTurn(server);
  await endedTurn(server, turn);
  const page = await (await Profile.open(scope, server, LOOK)).tab(`#/turns/${turn}/trace`);
  await page.getByRole("heading", { level: 1 }).waitFor();
  await take(page, "trace");
});

test("the data", async (scope) => {
  const server = await startWeir(scope);
  const page = await (await Profile.open(scope, server, LOOK)).tab("#/data");
  const chooser = page.waitForEvent("filechooser");
  await page.getByRole("button", { name: "Choose files" }).click();
  await (await chooser).setFiles([DAILY, ACTIVITIES, LABS]);
  await page.getByRole("region", { name: "Laboratory results" }).waitFor();
  await page.getByRole("link", { name: "Resting heart rate" }).waitFor();
  await take(page, "data", 1000);
});

test("a session that asks for an approval", async (scope) => {
  const { page } = await approvalWaits(scope, LOOK);
  await take(page, "session");
});

test("a chat, and the shield's review", async (scope) => {
  const { page } = await reviewWaits(scope, LOOK);
  await take(page, "review");
});
