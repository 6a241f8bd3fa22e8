// SPDX-License-Identifier: Apache-2.0
// telling.mjs in Node, for many streams at once. Lines come, as JSON: {"run": N, "options": {…}} follows a
// stream, {"run": N} aborts it; `event_source` is the module of an EventSource to use. Lines go: "N LINE".
// Run 0 is this program itself: what nobody has caught.

import readline from "node:readline";
import * as sdk from "../../sdk/js/src/index.js";
import { follow } from "./telling.mjs";

const controls = new Map();
const print = (run, line) => console.log(`${run} ${line.replaceAll("\n", "\\n")}`);
for (const kind of ["unhandledRejection", "uncaughtException"])
  process.on(kind, (error) => print(0, `stray ${error?.stack ?? error}`));

async function begin(run, options) {
  const control = new AbortController();
  controls.set(run, control);
  if (options.event_source) options.EventSourceCtor = (await import(options.event_source)).EventSource;
  const { lastSeq, nEvents } = await follow(sdk, options, control, (line) => print(run, line));
  controls.delete(run);
  const { user, system } = process.cpuUsage();
  print(run, `end ${lastSeq} ${nEvents} ${Math.round((user + system) / 1000)} ${process.resourceUsage().maxRSS}`);
}

for await (const line of readline.createInterface({ input: process.stdin })) {
  const { run, options } = JSON.parse(line);
  if (options) begin(run, options);
  else controls.get(run)?.abort();
}
process.exit(0);
