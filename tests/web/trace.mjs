// SPDX-License-Identifier: Apache-2.0
// How an answer came about, as a tree that can be searched.
import { openPage } from "./harness/browser.mjs";
import { expect, shows, test, until } from "./harness/cases.mjs";
import { startWeir } from "./harness/server.mjs";
import { askTurn, endedTurn, withModel } from "./harness/worlds.mjs";

const tree = (page) => page.getByRole("region", { name: "Waterfall" });
const detail = (page) => page.getByRole("region", { name: "The chosen span" });
const span = (page, name) => tree(page).getByRole("button", { name });

test("steps, calls of models, findings and gates are there with what they did", async (scope) => {
  const { server } = await withModel(scope);
  const id = await askTurn(server);
  await endedTurn(server, id);
  const trace = await server.json("GET", `/v1/turns/${id}/trace`);
  const { page } = await openPage(scope, server, `#/turns/${id}/trace`);
  await span(page, /^Turn/).waitFor();
  const calls = trace.steps.flatMap((step) => step.model_calls);
  const nSpans =
    1 +
    trace.steps.length +
    calls.length +
    trace.agents.length +
    trace.findings.length +
    trace.gates.length +
    trace.critic.length +
    trace.flagged.length +
    trace.removed.length;
  await tree(page).getByText(`${nSpans} spans`, { exact: true }).waitFor();
  await tree(page).getByRole("searchbox").fill("sample size");
  await span(page, /^Sample size/)
    .first()
    .click();
  await detail(page).getByRole("heading", { name: "Sample size" }).waitFor();
  await detail(page).getByText("detail", { exact: true }).waitFor();
  await tree(page).getByRole("searchbox").fill(calls[0].model);
  await span(page, new RegExp(`^${calls[0].model}`))
    .first()
    .click();
  await detail(page).getByText(`${calls[0].usage.input_tokens} read`, { exact: false }).waitFor();
  await tree(page).getByRole("searchbox").fill("no span says this");
  await tree(page).getByText(`0 of ${nSpans} spans`).waitFor();
});

test("keys open, close and choose, and the focus stays where it was", async (scope) => {
  const server = await startWeir(scope);
  const id = await askTurn(server, "hello");
  await endedTurn(server, id);
  const { page } = await openPage(scope, server, `#/turns/${id}/trace`);
  await span(page, /^Turn/).focus();
  const nRows = () => tree(page).getByRole("listitem").count();
  const before = await nRows();
  expect(before > 2, "rows", before);
  await page.keyboard.press("ArrowLeft");
  await until(async () => (await nRows()) === 1, "all below the turn is closed");
  await shows(
    () => page.evaluate(() => document.activeElement.getAttribute("aria-expanded")),
    "false",
    "the focus is still on the turn",
  );
  await page.keyboard.press("ArrowRight");
  await until(async () => (await nRows()) === before, "all is open again");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await detail(page).getByRole("heading", { name: "Classify vagueness" }).waitFor();
  await detail(page).getByText("output", { exact: true }).waitFor();
});

test("the trace of a turn that still runs grows by itself", async (scope) => {
  const { model, server } = await withModel(scope, { command: { default: { hold_head: "go" } } });
  const id = await askTurn(server);
  await until(async () => (await model.seen()).length > 0, "the model is asked");
  const { page } = await openPage(scope, server, `#/turns/${id}/trace`);
  await page.getByText("running", { exact: true }).first().waitFor();
  await model.control({ default: {}, release: ["go"] });
  await page.getByText("completed", { exact: true }).waitFor();
  await tree(page).getByRole("searchbox").fill("synthesis");
  await span(page, /^Synthesis/).waitFor();
});
