// SPDX-License-Identifier: Apache-2.0
// How long somebody still has to answer.

import { h, setText } from "../lib/dom.js";
import { serverNow } from "../lib/server_clock.js";

const WARN_S = 30; // from then on it is red, and said aloud

/** 0:09, 9:41, 1:02:03 */
export function clockText(ms) {
  const s = Math.max(0, Math.ceil(ms / 1000));
  const two = (n) => String(n).padStart(2, "0");
  const minutes = Math.floor(s / 60);
  return minutes < 60 ? `${minutes}:${two(s % 60)}` : `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${two(s % 60)}`;
}

/**
 * An element that counts down to setDeadline(RFC 3339), and ends with stop(). `onWarn` is called once,
 * when little time is left; `onOver` when there is none. null: the deadline is not known.
 */
export function createCountdown({ onWarn, onOver, now = serverNow } = {}) {
  const digits = h("span", null, "–:––");
  const element = h("span", { class: "countdown", role: "timer", "aria-label": "Time left to answer" }, digits);
  let deadline = null;
  let timer = null;
  let hasWarned = false;

  function tick() {
    const left = deadline - now();
    setText(digits, clockText(left));
    const isLate = left <= WARN_S * 1000;
    element.dataset.late = isLate ? "yes" : "no";
    if (isLate && left > 0 && !hasWarned) {
      hasWarned = true;
      onWarn?.(Math.ceil(left / 1000));
    }
    if (left <= 0) {
      timer = null;
      return onOver?.();
    }
    timer = setTimeout(tick, left % 1000 || 1000);
  }

  const stop = () => {
    clearTimeout(timer);
    timer = null;
  };
  return {
    element,
    stop,
    setDeadline(at) {
      const ms = at === null ? NaN : Date.parse(at);
      if (Number.isNaN(ms) || ms === deadline) return;
      stop();
      deadline = ms;
      tick();
    },
  };
}
