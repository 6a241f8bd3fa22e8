// SPDX-License-Identifier: Apache-2.0
// node harness/main.mjs FILE [WORD]...: the cases of one file; see tests/web/run.
import path from "node:path";
import { pathToFileURL } from "node:url";
import { closeBrowser } from "./browser.mjs";
import { runCases } from "./cases.mjs";

const [file, ...words] = process.argv.slice(2);
await import(pathToFileURL(path.resolve(file)));
const isFine = await runCases(words);
await closeBrowser();
process.exit(isFine ? 0 : 1);
