// SPDX-License-Identifier: Apache-2.0
// The server's time of day: deadlines are by its clock, and this machine's may be wrong.

const CLOSE_MS = 1500; // the Date of an answer is in whole seconds, and answers take a while

let offsetMs = 0;

/** What an answer says in its field Date. */
export function noteServerDate(text, now = Date.now()) {
  const date = Date.parse(text ?? "");
  if (Number.isNaN(date)) return;
  const offset = date + 500 - now;
  offsetMs = Math.abs(offset) < CLOSE_MS ? 0 : offset;
}

/** Milliseconds, as Date.now() gives them. */
export const serverNow = (now = Date.now()) => now + offsetMs;
