// SPDX-License-Identifier: Apache-2.0
// The main views: beside the page where it is wide, below it where it is narrow.

import { h } from "../lib/dom.js";
import { icon } from "../lib/icons.js";

export const places = [
  { path: "ask", label: "Ask", key: "a" },
  { path: "turns", label: "History", key: "h", icon: "history" },
  { path: "data", label: "Data", key: "d" },
  { path: "memory", label: "Memory", key: "m" },
  { path: "sessions", label: "Sessions", key: "s" },
  { path: "chat", label: "Chat", key: "c" },
];

export function navigation() {
  return h(
    "ul",
    { class: "nav-list" },
    places.map((place) =>
      h(
        "li",
        null,
        h(
          "a",
          { class: "nav-link", href: `#/${place.path}`, data: { path: place.path } },
          icon(place.icon ?? place.path),
          h("span", null, place.label),
        ),
      ),
    ),
  );
}

/** Which of them the address belongs to. */
export function markCurrent() {
  const here = location.hash.replace(/^#\/?/, "").split(/[/?]/, 1)[0];
  for (const link of document.querySelectorAll(".nav-link")) {
    if (link.dataset.path === here) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}
