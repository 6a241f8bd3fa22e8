// SPDX-License-Identifier: Apache-2.0
// What is said aside: to screen readers, and as notes in the corner.

import { h } from "../lib/dom.js";
import { icon } from "../lib/icons.js";

const SHOWN_MS = 6000;
const MAX_TOASTS = 4;

/** Read out by screen readers, seen by nobody. The same text twice is read twice. */
export function announce(text) {
  const region = document.querySelector("[data-announcer]");
  region.textContent = "";
  requestAnimationFrame(() => {
    region.textContent = text;
  });
}

/** A note that goes by itself, unless it is pointed at; kind: "info", "success" or "error". */
export function toast(text, kind = "info") {
  const corner = document.querySelector("[data-toasts]");
  let timer = 0;
  const remove = () => {
    clearTimeout(timer);
    note.remove();
  };
  const wait = () => {
    clearTimeout(timer);
    timer = setTimeout(remove, SHOWN_MS);
  };
  const note = h(
    "div",
    {
      class: `toast toast-${kind}`,
      role: kind === "error" ? "alert" : "status",
      on: { mouseenter: () => clearTimeout(timer), focusin: () => clearTimeout(timer), mouseleave: wait, focusout: wait },
    },
    h("span", null, text),
    h("button", { class: "icon-button", "aria-label": "Dismiss", on: { click: remove } }, icon("close")),
  );
  while (corner.children.length >= MAX_TOASTS) corner.firstElementChild.remove();
  corner.append(note);
  wait();
}
