// SPDX-License-Identifier: Apache-2.0
// Long lists: only what is seen exists, and yet nobody misses anything.
import { openPage } from "./harness/browser.mjs";
import { equal, expect, shows, test, until } from "./harness/cases.mjs";
import { startWeir } from "./harness/server.mjs";

const N_ROWS = 100_000;

/** A list on the page, as window.list. */
async function withList(scope, options) {
  const { page } = await openPage(scope, await startWeir(scope), "#/nowhere");
  await page.getByRole("heading", { level: 1 }).waitFor();
  await page.evaluate(
    async ({ isMeasured, followEnd, count, rowHeight }) => {
      const { virtualList } = await import("/web/lib/list.js");
      const { h } = await import("/web/lib/dom.js");
      const renderRow = (index) => {
        const text = isMeasured ? `row ${index} ${"and more ".repeat((index * 7) % 90)}` : `row ${index}`;
        return h("a", { href: `#/nowhere/${index}` }, text);
      };
      window.list = virtualList({ label: "Rows", count, rowHeight, isMeasured, followEnd, renderRow });
      window.list.element.style.height = "400px";
      document.querySelector("main").replaceChildren(window.list.element);
    },
    { count: N_ROWS, rowHeight: 30, ...options },
  );
  await page.getByRole("listitem").first().waitFor();
  return page;
}

const focusedText = (page) => page.evaluate(() => document.activeElement.textContent);

/** The rows that can be seen, from top to bottom: number, top and bottom. */
function seen(page) {
  return page.evaluate(() => {
    const view = window.list.element.getBoundingClientRect();
    return [...document.querySelectorAll(".vlist-row")]
      .map((row) => ({ index: Number(row.dataset.index), ...row.getBoundingClientRect().toJSON() }))
      .filter(({ top, bottom }) => bottom > view.top && top < view.bottom)
      .map(({ index, top, bottom }) => ({ index, top: Math.round(top - view.top), bottom: Math.round(bottom - view.top) }));
  });
}

/** No hole and no overlap, in the order of their numbers, over the whole height. */
function isGapless(rows) {
  return (
    rows.length > 0 &&
    rows[0].top <= 0 &&
    rows.at(-1).bottom >= 399 &&
    rows.every((row, i) => i === 0 || (row.index === rows[i - 1].index + 1 && Math.abs(row.top - rows[i - 1].bottom) <= 1))
  );
}

test("a hundred thousand rows are a few elements, and keys reach each of them", async (scope) => {
  const page = await withList(scope, {});
  await page.getByRole("link").and(page.locator(".vlist a")).first().focus();
  for (const [key, text] of [
    ["ArrowDown", "row 1"],
    ["End", `row ${N_ROWS - 1}`],
    ["ArrowUp", `row ${N_ROWS - 2}`],
    ["Home", "row 0"],
    ["ArrowUp", "row 0"],
  ]) {
    await page.keyboard.press(key);
    await shows(() => focusedText(page), text, `the focus behind ${key}`);
  }
  await page.keyboard.press("PageDown");
  const far = Number((await focusedText(page)).slice(4));
  expect(far > 8 && far < 20, "a page further", far);
  const state = await page.evaluate(() => ({
    rows: document.querySelectorAll(".vlist-row").length,
    stops: document.querySelectorAll(".vlist [tabindex='0']").length,
    size: document.activeElement.parentElement.getAttribute("aria-setsize"),
    place: document.activeElement.parentElement.getAttribute("aria-posinset"),
  }));
  expect(state.rows < 50, "few rows exist", state.rows);
  equal([state.stops, state.size, state.place], [1, String(N_ROWS), String(far + 1)], "stops of Tab, size, place");
});

test("a row that is higher than the view is read before the next one, and what scrolls in it has its own keys", async (scope) => {
  const page = await withList(scope, { count: 3, rowHeight: 1000 });
  const place = () => page.evaluate(() => [document.activeElement.textContent, window.list.element.scrollTop]);
  await page.locator(".vlist a").first().focus();
  for (const [key, row, top] of [
    ["PageDown", 0, 360],
    ["ArrowDown", 0, 400],
    ["PageDown", 0, 600],
    ["PageDown", 1, 1000],
    ["ArrowUp", 0, 600],
    ["ArrowUp", 0, 560],
    ["End", 2, 2600],
    ["PageDown", 2, 2600],
    ["Home", 0, 0],
  ]) {
    await page.keyboard.press(key);
    await shows(place, [`row ${row}`, top], `the place behind ${key}`);
  }
  await page.evaluate(() => {
    const inner = document.createElement("pre");
    Object.assign(inner, { tabIndex: 0, textContent: "line\n".repeat(100) });
    Object.assign(inner.style, { height: "100px", overflow: "auto" });
    document.querySelector(".vlist-row").append(inner);
    inner.focus();
  });
  await page.keyboard.press("ArrowDown");
  await until(() => page.evaluate(() => document.activeElement.scrollTop > 0), "what is inside has scrolled");
  equal(await page.evaluate(() => [document.activeElement.tagName, window.list.element.scrollTop]), ["PRE", 0], "the focus, and the list");
});

test("wherever one scrolls to, there is a row for Tab, and they are read in order", async (scope) => {
  const page = await withList(scope, {});
  for (const top of [1_500_000, 40, 2_999_600, 700_000]) {
    await page.evaluate((y) => (window.list.element.scrollTop = y), top);
    await until(async () => isGapless(await seen(page)), `the rows at ${top} are there`);
  }
  const order = await page.evaluate(() => [...document.querySelectorAll(".vlist-row")].map((row) => Number(row.dataset.index)));
  equal(
    order,
    [...order].sort((a, b) => a - b),
    "the order in the document",
  );
  await page.getByRole("button", { name: "Help" }).focus();
  await page.keyboard.press("Tab");
  for (let i = 0; i < 12 && !(await focusedText(page)).startsWith("row"); i++) await page.keyboard.press("Tab");
  const rows = await seen(page);
  const index = Number((await focusedText(page)).slice(4));
  expect(
    rows.some((row) => row.index === index),
    "Tab leads to what is seen",
    index,
    rows,
  );
});

test("rows of any height leave no hole, and what is read stays where it is", async (scope) => {
  const page = await withList(scope, { isMeasured: true, count: 5000 });
  for (const top of [0, 3000, 60_000, 20_000, 19_500]) {
    await page.evaluate((y) => (window.list.element.scrollTop = y), top);
    await until(async () => isGapless(await seen(page)), `the rows at ${top} are there`);
  }
  await page.evaluate(() => (window.list.element.scrollTop = window.list.element.scrollHeight));
  await until(async () => {
    await page.evaluate(() => (window.list.element.scrollTop = window.list.element.scrollHeight));
    const rows = await seen(page);
    return isGapless(rows) && rows.at(-1).index === 4999;
  }, "the end is there");
});

test("a list that follows its end does so until somebody scrolls up", async (scope) => {
  const page = await withList(scope, { isMeasured: true, followEnd: true, count: 100 });
  const last = async () => (await seen(page)).at(-1)?.index;
  for (const count of [100, 150, 300]) {
    await page.evaluate((n) => window.list.grow(n), count);
    await until(async () => (await last()) === count - 1, `row ${count - 1} is seen`);
  }
  await page.evaluate(() => (window.list.element.scrollTop = 1000));
  await until(async () => isGapless(await seen(page)), "the rows further up are there");
  const before = await seen(page);
  await page.evaluate(() => window.list.grow(400));
  await until(async () => JSON.stringify(await seen(page)) === JSON.stringify(before), "nothing has moved");
  await page.evaluate(() => (window.list.element.scrollTop = window.list.element.scrollHeight));
  await until(async () => (await last()) === 399, "it follows again");
});

test("the focus outlives other contents of its row", async (scope) => {
  const page = await withList(scope, { count: 50 });
  await page.locator(".vlist a").first().focus();
  await page.keyboard.press("ArrowDown");
  await page.evaluate(() => window.list.refresh(1));
  await shows(() => focusedText(page), "row 1", "the focus behind another content");
  await page.evaluate(() => window.list.update(1));
  await shows(() => focusedText(page), "row 0", "the focus when its row is gone");
});
