// SPDX-License-Identifier: Apache-2.0
// Files come in, chosen and dropped, and what they hold is there.
import fs from "node:fs";
import path from "node:path";
import { openPage } from "./harness/browser.mjs";
import { equal, expect, shows, test } from "./harness/cases.mjs";
import { startWeir } from "./harness/server.mjs";
import { ACTIVITIES, DAILY, LABS } from "./harness/worlds.mjs";

function importOf(page, file) {
  return page.getByRole("region", { name: "Import" }).getByRole("listitem").filter({ hasText: path.basename(file) });
}

async function choose(page, ...files) {
  const chooser = page.waitForEvent("filechooser");
  await page.getByRole("button", { name: "Choose files" }).click();
  await (await chooser).setFiles(files);
}

/** As the browser does it when files are let go over an element. */
async function drop(page, target, ...files) {
  const contents = files.map((file) => [path.basename(file), fs.readFileSync(file, "utf8")]);
  const transfer = await page.evaluateHandle((pairs) => {
    const made = new DataTransfer();
    for (const [name, text] of pairs) made.items.add(new File([text], name, { type: "text/csv" }));
    return made;
  }, contents);
  for (const type of ["dragenter", "dragover", "drop"]) await target.dispatchEvent(type, { dataTransfer: transfer });
}

test("a chosen file is imported, and its metrics are there with their days", async (scope) => {
  const server = await startWeir(scope);
  const { page } = await openPage(scope, server, "#/data");
  await page.getByText("Nothing here yet").waitFor();
  await choose(page, DAILY);
  await importOf(page, DAILY).getByText("done", { exact: true }).waitFor();
  const metrics = page.getByRole("region", { name: "Metrics" });
  await metrics.getByRole("link", { name: "Resting heart rate" }).waitFor();
  const { data } = await server.json("GET", "/v1/data/metrics");
  await shows(() => metrics.getByRole("row").count(), data.length + 1, "a row for each metric, and one of names");
  await metrics.getByRole("link", { name: "Resting heart rate" }).click();
  await page.getByRole("heading", { level: 1, name: /Resting heart rate/i }).waitFor();
  await page.getByRole("img").or(page.locator("svg[role]")).first().waitFor();
});

test("several dropped files are imported one after the other, laboratory results too", async (scope) => {
  const server = await startWeir(scope);
  const { page } = await openPage(scope, server, "#/data");
  await page.getByText("Nothing here yet").waitFor();
  await drop(page, page.getByText("Drop exports here"), DAILY, ACTIVITIES);
  await drop(page, page.getByRole("banner"), LABS); // beside the view, too
  for (const file of [DAILY, ACTIVITIES, LABS]) await importOf(page, file).getByText("done", { exact: true }).waitFor();
  await page.getByRole("region", { name: "Laboratory results" }).waitFor();
  const { data } = await server.json("GET", "/v1/data/imports");
  equal(data.map(({ status }) => status), ["completed", "completed", "completed"], "imports on the server");
});

test("a file that nobody can read says so, and the next one is read", async (scope) => {
  const server = await startWeir(scope);
  const broken = server.put("broken.csv", "this is\nno table <script>alert(1)</script>\n");
  const { page, profile } = await openPage(scope, server, "#/data");
  profile.allow(/status of 400/);
  await choose(page, broken, DAILY);
  await importOf(page, broken).getByText("failed", { exact: true }).waitFor();
  await importOf(page, DAILY).getByText("done", { exact: true }).waitFor();
});

test("imports are there after a reload, and a file that is imported twice counts once", async (scope) => {
  const server = await startWeir(scope);
  const { page } = await openPage(scope, server, "#/data");
  await choose(page, DAILY);
  await importOf(page, DAILY).getByText("done", { exact: true }).waitFor();
  const before = await server.json("GET", "/v1/data/metrics");
  await page.reload();
  await importOf(page, DAILY).getByText("done", { exact: true }).waitFor();
  await choose(page, DAILY);
  await importOf(page, DAILY).nth(1).getByText("done", { exact: true }).waitFor();
  equal(await server.json("GET", "/v1/data/metrics"), before, "metrics");
  expect(before.data.length > 5, "metrics", before.data.length);
});

test("dates that can be read in two ways are asked about, and rows that are wrong are named", async (scope) => {
  const server = await startWeir(scope);
  const ambiguous = server.put("ambiguous.csv", "date,steps\n01/02/2025,100\n03/04/2025,200\n");
  const partly = server.put("partly.csv", "date,steps\n2025-01-01,100\nfoo,1\n2025-01-03,5,6\n");
  const { page } = await openPage(scope, server, "#/data");
  await choose(page, ambiguous, partly);
  await importOf(page, partly).getByText("2 rows refused").click();
  await importOf(page, partly).getByText(/^line 3: /).waitFor();
  await importOf(page, ambiguous).getByText(/line 2: 01\/02\/2025/).waitFor();
  await importOf(page, ambiguous).getByRole("button", { name: /The day comes first/ }).click();
  await importOf(page, ambiguous).getByText("2 new values on 2 days, 2025-02-01 to 2025-04-03.").waitFor();
});

test("what waits or is being sent can be cancelled, and is tried again when that is wanted", async (scope) => {
  const server = await startWeir(scope);
  const { page, profile } = await openPage(scope, server, "#/data");
  profile.allow(/net::ERR_ABORTED|net::ERR_FAILED/);
  let isHeld = false;
  await page.route(({ pathname }) => pathname === "/v1/data/imports", (route) => {
    if (isHeld || route.request().method() !== "POST") return route.continue();
    isHeld = true; // the first one never arrives
  });
  await choose(page, DAILY, LABS);
  await importOf(page, LABS).getByRole("button", { name: /Cancel/ }).click();
  await importOf(page, DAILY).getByText("sending", { exact: true }).waitFor();
  await importOf(page, DAILY).getByRole("button", { name: /Cancel/ }).click();
  for (const file of [DAILY, LABS]) await importOf(page, file).getByText("cancelled", { exact: true }).waitFor();
  equal((await server.json("GET", "/v1/data/imports")).data, [], "imports on the server");
  await importOf(page, LABS).getByRole("button", { name: /Try again/ }).click();
  await importOf(page, LABS).getByText("done", { exact: true }).waitFor();
});
