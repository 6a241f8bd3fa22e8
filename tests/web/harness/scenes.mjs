// SPDX-License-Identifier: Apache-2.0
// Pages in the middle of something that waits until it is told to go on.
import { openPage } from "./browser.mjs";
import { Model, says, startWeir, uses } from "./server.mjs";
import { QUESTION, askTurn, withModel } from "./worlds.mjs";

const DELTA_CHARACTERS = 12; // of the stand-in
const HELD_AT = 12; // deltas
// No number is in it, so that nobody takes anything out of it.
const WORDS = "Let me see what changed. First the level of each week, then whether the weeks before a trip differ from the others. "
  + "Devices count, too: a new one may read lower. There was none in this window. So what is left is the trend itself, "
  + "which I compare with the usual ups and downs of single days before I say anything about it.";
export const BEGIN = WORDS.slice(0, (HELD_AT - 1) * DELTA_CHARACTERS).trim();

// The data scientist asks for a plan first; what it says then stops in the middle until "go on".
export const HELD = {
  rules: [
    { purpose: "data_science", times: 1, do: {} },
    { purpose: "data_science", times: -1, do: says(WORDS, { hold_at: HELD_AT, hold_delta: "go on" }) },
  ],
};

export function thoughts(page, agent) {
  return page.getByRole("region", { name: `What the ${agent} thinks` });
}

/** A turn whose data scientist has said half of what it will. */
export async function halfThought(scope, pageOptions = {}) {
  const { model, server } = await withModel(scope, { command: HELD });
  const turn = await askTurn(server, QUESTION);
  const { page, profile } = await openPage(scope, server, `#/turns/${turn}`, pageOptions);
  await thoughts(page, "data scientist").getByText(BEGIN).waitFor();
  return { model, server, page, profile, turn };
}

/** A session whose model wants to write a note. */
export async function approvalWaits(scope, pageOptions = {}) {
  const note = uses(["write_note", { name: "Lisbon in May", text: "Pack the light coat, the charger and the running shoes." }]);
  note.answer.content.unshift({ type: "text", text: "Two things stand out: you sleep **40 minutes less** on the nights before you travel, and you walk more once you are there. I would like to keep your list where you find it again." });
  const model = await Model.start(scope, { rules: [{ times: 1, do: note }], default: says("It is in your notes.") });
  const server = await startWeir(scope, { models: model.config() });
  const { sessionId } = await server.call("chat/send", { clientId: "test", text: "What should I pack for Lisbon, and what do I sleep before trips?" });
  const { page, profile } = await openPage(scope, server, `#/sessions/${sessionId}`, pageOptions);
  await page.getByRole("region", { name: /May write_note/ }).waitFor();
  return { model, server, page, profile, session: sessionId };
}

/** A chat in which something private was said, and somebody has to decide. */
export async function reviewWaits(scope, pageOptions = {}) {
  const model = await Model.start(scope, { default: says("Of course. Here is a draft you can send.") });
  const server = await startWeir(scope, { models: model.config(), shield: { piiAction: "ask" } });
  const { page, profile } = await openPage(scope, server, "#/chat", pageOptions);
  await page.getByRole("textbox", { name: "Message" }).fill(
    "Write to my doctor, ann.lee@example.org, that I cannot come on Friday. She can call me back: +44 20 7946 0958.");
  await page.getByRole("button", { name: "Send", exact: true }).click();
  await page.getByRole("dialog", { name: /private/ }).waitFor();
  return { model, server, page, profile };
}
