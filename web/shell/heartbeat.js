// SPDX-License-Identifier: Apache-2.0
// Whether the server is there, also while nobody asks it anything.

import { TimeoutError } from "/sdk/index.js";
import { PATIENCE_MS, patienceAfter } from "../lib/connection.js";

const CALM_MS = 20000;
const FIRST_RETRY_MS = 1000;
const LAST_RETRY_MS = 15000;

/** What an answer says about the connection is noted by the watched fetch; none at all is noted here. */
export function startHeartbeat(app) {
  let timer = 0;
  let retryMs = FIRST_RETRY_MS;
  let patienceMs = PATIENCE_MS;

  async function beat() {
    clearTimeout(timer);
    await ask();
    plan();
  }

  async function ask() {
    const begin = performance.now();
    let isLate = false;
    try {
      const options = { maxRetries: 0, timeout: patienceMs };
      // Whoever was somebody wants to hear of it when that is over.
      await (app.me ? app.weir.auth.whoami(options) : app.weir.auth.me(options));
    } catch (error) {
      isLate = error instanceof TimeoutError;
      // Others may have been heard while it waited behind them.
      if (isLate && app.connection.heardAt < begin) app.connection.report("requests", "offline");
    }
    patienceMs = patienceAfter(patienceMs, isLate ? null : performance.now() - begin);
  }

  function plan() {
    clearTimeout(timer);
    if (document.hidden) return;
    const isCalm = app.connection.state === "connected";
    timer = setTimeout(beat, isCalm ? CALM_MS : retryMs);
    retryMs = isCalm ? FIRST_RETRY_MS : Math.min(retryMs * 2, LAST_RETRY_MS);
  }

  app.connection.subscribe(plan);
  window.addEventListener("online", beat);
  window.addEventListener("offline", beat); // the server may be this machine
  document.addEventListener("visibilitychange", () => (document.hidden ? clearTimeout(timer) : beat()));
}
