// SPDX-License-Identifier: Apache-2.0
// Small things that the parts of a turn share.

import { h, s } from "../lib/dom.js";

/** $0.0123; what is large enough has cents alone. */
export function usd(value) {
  if (!Number.isFinite(value)) return "";
  const digits = value >= 1 ? 2 : value >= 0.01 ? 3 : 4;
  return `$${value.toFixed(digits)}`;
}

// Told apart by shape, for those who cannot tell them apart by colour.
const SHAPES = {
  passed: [
    ["circle", { cx: 12, cy: 12, r: 10, class: "mark-fill" }],
    ["path", { d: "M7.5 12.5l3 3 6-6.5" }],
  ],
  failed: [
    ["rect", { x: 2.5, y: 2.5, width: 19, height: 19, rx: 3, class: "mark-fill" }],
    ["path", { d: "M8 8l8 8M16 8l-8 8" }],
  ],
  skipped: [
    ["circle", { cx: 12, cy: 12, r: 9.5 }],
    ["path", { d: "M8 12h8" }],
  ],
  not_reached: [["circle", { cx: 12, cy: 12, r: 9.5, class: "mark-dashed" }]],
  waiting: [["circle", { cx: 12, cy: 12, r: 3.5, class: "mark-dot" }]],
};

/** A small picture of a gate's verdict; the word stands beside it. */
export function verdictMark(verdict) {
  const shapes = SHAPES[verdict] ?? SHAPES.waiting;
  return s(
    "svg",
    { class: `mark mark-${verdict}`, viewBox: "0 0 24 24", "aria-hidden": "true" },
    shapes.map(([tag, props]) => s(tag, props)),
  );
}

const VERDICTS = {
  validated: ["badge-good", "validated"],
  conditional: ["badge-warn", "conditional"],
  rejected: ["badge-bad", "rejected"],
};

export function verdictBadge(verdict) {
  const [kind, word] = VERDICTS[verdict] ?? ["", "being checked"];
  return h("span", { class: ["badge", kind] }, word);
}
