// SPDX-License-Identifier: Apache-2.0
// Keys that work everywhere, except where somebody writes; and the page that tells them.

import { openDialog } from "../lib/dialog.js";
import { h } from "../lib/dom.js";
import { places } from "./navigation.js";
import { recall, remember } from "./storage.js";

const CHORD_MS = 1500; // between "g" and the letter behind it
const OFF = "weir.shortcuts"; // letters as shortcuts are in the way of whoever talks to their machine

const listed = [
  ...places.map((place) => [["g", place.key], place.label]),
  [["/"], "To the first text field"],
  [["?"], "This help"],
  [["Esc"], "Close a dialog, leave a text field"],
  [["↑", "↓"], "Within a list; also Page Up, Page Down, Home, End"],
];

const areOff = () => recall(OFF) === "off";

function isWriting(target) {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}

function keys() {
  const toggle = h("input", {
    type: "checkbox",
    checked: !areOff(),
    on: { change: () => remember(OFF, toggle.checked ? null : "off") },
  });
  return [
    h(
      "dl",
      { class: "keys" },
      listed.map(([names, what]) => [
        h(
          "dt",
          null,
          names.map((name) => h("kbd", null, name)),
        ),
        h("dd", null, what),
      ]),
    ),
    h("label", { class: "check" }, toggle, "Letters are shortcuts"),
  ];
}

function about(me) {
  if (!me) return null;
  const ways = { key: "by a key", token: "by a token", open: "for everybody who can reach it", local: "on this machine" };
  return [
    h("h3", null, "About"),
    h(
      "dl",
      { class: "facts" },
      h("dt", null, "Server"),
      h("dd", null, `weir ${me.version}`),
      h("dt", null, "Data of"),
      h("dd", null, me.owner),
      h("dt", null, "Access"),
      h("dd", null, `${ways[me.access] ?? me.access} (${me.scopes.join(", ")})`),
      h("dt", null, "For programs"),
      h(
        "dd",
        null,
        h("a", { href: "/openapi.json" }, "OpenAPI"),
        ", ",
        h("a", { href: "/llms.txt" }, "llms.txt"),
        ", ",
        h("a", { href: "/docs/errors" }, "errors"),
      ),
    ),
  ];
}

export function showHelp(app) {
  if (document.querySelector("dialog[open]")) return;
  openDialog({
    title: "Help",
    class: "help",
    body: [h("h3", null, "Keyboard"), keys(), about(app.me)],
    actions: [{ value: null, label: "Close" }],
    autofocus: 0,
  });
}

const TEXT_FIELD = "main textarea, main input:not([type=hidden], [type=checkbox], [type=radio], [type=file])";

export function installShortcuts(app) {
  let chordUntil = 0;
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.defaultPrevented || document.querySelector("dialog[open]"))
      return;
    // Out of the field, where letters lead somewhere again.
    if (isWriting(event.target)) return event.key === "Escape" && document.getElementById("main").focus({ preventScroll: true });
    if (areOff()) return;
    const place = performance.now() < chordUntil && places.find(({ key }) => key === event.key);
    chordUntil = event.key === "g" ? performance.now() + CHORD_MS : 0;
    if (place && app.me) app.go(place.path);
    else if (event.key === "?") showHelp(app);
    else if (event.key === "/") document.querySelector(TEXT_FIELD)?.focus();
    else return;
    event.preventDefault();
  });
}
