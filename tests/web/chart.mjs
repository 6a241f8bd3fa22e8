// SPDX-License-Identifier: Apache-2.0
// One metric: its values by day can be seen, read with keys, and read as a table.
import { openPage, PHONE, Profile } from "./harness/browser.mjs";
import { equal, expect, shows, test, until } from "./harness/cases.mjs";
import { Weir } from "./harness/server.mjs";

const DAY_MS = 86400000;
const START = Date.UTC(2024, 11, 1);
const dayOf = (i) => new Date(START + i * DAY_MS).toISOString().slice(0, 10);
const isMissing = (i) => i === 20 || (i >= 40 && i <= 43);
const N_DAYS = 120;

/** Somebody with 120 days of steps, five of which are missing. */
async function walker(scope) {
  const server = new Weir(scope);
  const rows = Array.from({ length: N_DAYS }, (_, i) => (isMissing(i) ? null : `${dayOf(i)},${5000 + i * 10}`)).filter(
    Boolean,
  );
  server.importFiles(server.put("steps.csv", ["date,steps", ...rows].join("\n")));
  await server.start();
  return server;
}

const reader = (page) => page.getByRole("slider", { name: /read values/i });
/** Until there is something to point at: the chart is drawn when it has a width. */
const drawn = (page) => page.locator(".chart-svg[viewBox]").waitFor();
const told = (page) => reader(page).getAttribute("aria-valuetext");

test("keys read the values day by day, and say which day has none", async (scope) => {
  const { page } = await openPage(scope, await walker(scope), "#/data/steps");
  await drawn(page);
  await reader(page).focus();
  await shows(() => told(page), "Sun, 30 Mar 2025: 6,190 steps", "the newest day");
  await page.keyboard.press("ArrowLeft");
  await shows(() => told(page), "Sat, 29 Mar 2025: 6,180 steps", "the day before");
  await page.keyboard.press("Home");
  await shows(() => told(page), "Sun, 1 Dec 2024: 5,000 steps", "the first day");
  for (let i = 0; i < 20; i++) await page.keyboard.press("ArrowRight");
  await shows(() => told(page), "Sat, 21 Dec 2024: no value", "a day without a value");
  await page.keyboard.press("End");
  await shows(() => told(page), "Sun, 30 Mar 2025: 6,190 steps", "the last day");
});

test("keys read values before the chart has a width, and are seen when it has one", async (scope) => {
  const profile = await Profile.open(scope, await walker(scope));
  await profile.context.addInitScript(() => {
    const held = [];
    const Real = ResizeObserver;
    window.ResizeObserver = function HeldObserver(callback) {
      return { observe: (element) => held.push(() => new Real(callback).observe(element)) };
    };
    window.giveWidths = () => held.forEach((observe) => observe());
  });
  const page = await profile.tab("#/data/steps");
  await reader(page).focus();
  await page.keyboard.press("Home");
  await shows(() => told(page), "Sun, 1 Dec 2024: 5,000 steps", "the first day");
  equal(await page.locator(".chart-svg[viewBox]").count(), 0, "charts that are drawn");
  await page.evaluate(() => window.giveWidths());
  await page.locator(".chart-probe-dot[transform]").waitFor();
});

test("the pointer reads what it is over, and leaves the newest value behind", async (scope) => {
  const { page } = await openPage(scope, await walker(scope), "#/data/steps");
  await drawn(page);
  const box = await reader(page).boundingBox();
  await page.mouse.move(box.x + 2, box.y + box.height / 2);
  await page.locator(".chart-readout").getByText("5,000 steps").waitFor();
  await page.mouse.move(box.x, box.y - 60);
  await page.locator(".chart-readout").getByText("6,190 steps").waitFor();
});

test("missing days are gaps and marks, and nothing is drawn across them", async (scope) => {
  const { page } = await openPage(scope, await walker(scope), "#/data/steps?range=all");
  await page.getByText("5 days without a value", { exact: true }).waitFor();
  const line = await page.locator(".chart-line").getAttribute("d");
  equal(line.match(/M/g).length, 3, "pieces of the line");
  const marks = await page.locator(".chart-missing").getAttribute("d");
  equal(marks.match(/M/g).length, 2, "marks under the axis");
});

test("range and periods are chosen by keys, kept in the address, and there after a reload", async (scope) => {
  const { page } = await openPage(scope, await walker(scope), "#/data/steps");
  await page.getByRole("radio", { name: "30 days" }).focus();
  await page.keyboard.press("Space");
  await page.getByText("30 of 30").waitFor();
  await shows(() => page.evaluate(() => document.activeElement.value), "30", "the focus stays on what was chosen");
  await page.getByRole("radio", { name: "Weeks" }).check({ force: true });
  await until(async () => (await told(page)).startsWith("Week of"), "weeks are told");
  expect(page.url().endsWith("#/data/steps?per=week&range=30"), "the address", page.url());
  await page.reload();
  await until(async () => (await told(page)).startsWith("Week of"), "weeks are told again");
  expect(await page.getByRole("radio", { name: "30 days" }).isChecked(), "the range is chosen again");
});

test("an own range is taken, and days beyond all values are a chart without values", async (scope) => {
  const { page } = await openPage(scope, await walker(scope), "#/data/steps");
  await page.getByLabel("First day").fill("2025-01-01");
  await page.getByLabel("Last day").fill("2025-01-31");
  await page.getByText("27 of 31").waitFor();
  await page.goto(page.url().replace(/#.*/, "#/data/steps?from=1999-01-01&to=1999-02-01"));
  await page
    .getByText(/no values in this time/i)
    .first()
    .waitFor();
});

test("the table has all that the line has, on a phone as well", async (scope) => {
  const { page } = await openPage(scope, await walker(scope), "#/data/steps?range=all", { viewport: PHONE });
  await page.getByText("Values as a table").click();
  const rows = page.getByRole("region", { name: /as a table/ }).getByRole("row");
  await shows(() => rows.count(), 1 + N_DAYS - 5, "rows, with that of the names");
  await shows(() => rows.nth(1).innerText(), "Sun, 30 Mar 2025\t6,190 steps\tplain", "the newest day");
});

test("another width draws the chart anew, in the same measure", async (scope) => {
  const { page } = await openPage(scope, await walker(scope), "#/data/steps");
  const viewBox = () =>
    page
      .locator(".chart-svg")
      .evaluate((svg) => [
        Number(svg.getAttribute("viewBox").split(" ")[2]),
        Math.round(svg.getBoundingClientRect().width),
      ]);
  await drawn(page);
  for (const width of [1280, 500, 900]) {
    await page.setViewportSize({ width, height: 800 });
    await until(async () => {
      const [drawn, shown] = await viewBox();
      return Math.abs(drawn - shown) <= 1;
    }, `a pixel is a pixel at ${width}`);
  }
});

test("a metric that nobody knows, and one without values, have a way on", async (scope) => {
  const server = await walker(scope);
  const { page, profile } = await openPage(scope, server, "#/data/weight");
  await page.getByText("There are no values of this metric").waitFor();
  profile.allow(/status of 404|NotFoundError/);
  await page.goto(`${server.url}/#/data/nothing_at_all`);
  await page.getByRole("heading", { name: "This is not here" }).waitFor();
});
