// SPDX-License-Identifier: Apache-2.0
// JSON to look into: what is deep opens when it is asked for, what is long comes in pieces, so that
// megabytes cost nothing until somebody reads them.

import { h } from "../lib/dom.js";
import { count, number } from "../lib/format.js";

const PIECE_CHARS = 2000;
const PIECE_MEMBERS = 100;
const OPEN_MEMBERS = 12; // what has so few is open at the top

const isBranch = (value) => value !== null && typeof value === "object";

function textNode(text) {
  const shown = h("span", { class: "json-string" }, JSON.stringify(text.slice(0, PIECE_CHARS)));
  if (text.length <= PIECE_CHARS) return shown;
  let end = PIECE_CHARS;
  const more = h("button", { class: "link-button" }, `${number(text.length - end, 0)} more characters`);
  more.addEventListener("click", () => {
    end += PIECE_CHARS * 10;
    shown.textContent = JSON.stringify(text.slice(0, end));
    if (end >= text.length) more.remove();
    else more.textContent = `${number(text.length - end, 0)} more characters`;
  });
  return h("span", null, shown, " ", more);
}

function leaf(value) {
  if (typeof value === "string") return textNode(value);
  return h("span", { class: `json-${value === null ? "null" : typeof value}` }, String(value));
}

function summaryText(value) {
  if (Array.isArray(value)) return count(value.length, "item");
  return count(Object.keys(value).length, "member");
}

/** Members in pieces; the rest waits behind a button. */
function members(value) {
  const entries = Object.entries(value);
  const list = h("ul", { class: "json-members" });
  const add = (from) => {
    for (const [name, child] of entries.slice(from, from + PIECE_MEMBERS))
      list.append(h("li", null, member(name, child, false)));
    const next = from + PIECE_MEMBERS;
    if (next >= entries.length) return;
    const more = h("button", { class: "link-button" }, `${number(entries.length - next, 0)} more`);
    const item = h("li", null, more);
    more.addEventListener("click", () => {
      item.remove();
      add(next);
    });
    list.append(item);
  };
  add(0);
  return list;
}

function member(name, value, isOpen) {
  const label = h("span", { class: "json-name" }, name);
  if (!isBranch(value)) return h("div", { class: "json-leaf" }, label, ": ", leaf(value));
  if (Object.keys(value).length === 0)
    return h("div", { class: "json-leaf" }, label, ": ", Array.isArray(value) ? "[]" : "{}");
  const details = h(
    "details",
    { class: "json-branch" },
    h("summary", null, label, h("span", { class: "muted" }, ` ${summaryText(value)}`)),
  );
  const fill = () => details.open && details.children.length === 1 && details.append(members(value));
  details.addEventListener("toggle", fill);
  details.open = isOpen;
  if (isOpen) fill();
  return details;
}

/** A named value; small ones are open. */
export function jsonView(name, value) {
  return h("div", { class: "json" }, member(name, value, isBranch(value) && Object.keys(value).length <= OPEN_MEMBERS));
}
