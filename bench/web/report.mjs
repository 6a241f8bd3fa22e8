// SPDX-License-Identifier: Apache-2.0
// node report.mjs SECONDS PER_SECOND VISITS strict|lenient: the table of bench/web/run.
import { closeBrowser } from "../../tests/web/harness/browser.mjs";
import { Scope } from "../../tests/web/harness/cases.mjs";
import { firstPaints, median, watchMany, weigh } from "./measure.mjs";

const BARS = { bytes: 150_000, paintMs: 200, longShare: 0.05 };

/** Runs it with a scope of its own. */
async function measured(measure) {
  const scope = new Scope("bench");
  try {
    return await measure(scope);
  } finally {
    await scope.close();
  }
}

const [seconds, perSecond, nVisits] = process.argv.slice(2, 5).map(Number);
const isStrict = process.argv[5] === "strict";
const rows = [];
function row(work, bar, seen, isReached) {
  rows.push(isReached);
  console.log(`| ${work} | ${bar} | ${seen} | ${isReached ? "pass" : "missed"} |`);
}

console.log("| work | bar | weir | result |\n| --- | --- | --- | --- |");
const bytes = await measured(weigh);
row("all files of the page, as they are sent", "≤ 150 KB", `${(bytes / 1000).toFixed(1)} KB`, bytes <= BARS.bytes);
const paints = await measured((scope) => firstPaints(scope, nVisits));
row(`first contentful paint, median of ${nVisits} first visits`, "≤ 200 ms",
  `${median(paints).toFixed(0)} ms (worst ${Math.max(...paints).toFixed(0)})`, median(paints) <= BARS.paintMs);
const many = await measured((scope) => watchMany(scope, seconds, perSecond));
row(`long tasks while ${many.nEvents} thoughts come (${many.perSecond.toFixed(0)} a second for ${many.seconds.toFixed(0)} s)`, "≤ 5 %",
  `${(many.longShare * 100).toFixed(2)} % (${many.nLong}, longest frame ${many.longest.toFixed(0)} ms, 99 % within ${many.framesP99.toFixed(0)} ms)`,
  many.longShare <= BARS.longShare && many.perSecond >= perSecond * 0.95);
await closeBrowser();
process.exit(isStrict && !rows.every(Boolean) ? 1 : 0);
