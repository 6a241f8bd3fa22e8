// SPDX-License-Identifier: Apache-2.0
// Modal dialogs: the browser's own <dialog>, which keeps the focus inside and hears Escape.

import { h, newId } from "./dom.js";

/**
 * Shows a dialog and resolves to the value of the button that closed it, or to null by Escape.
 *
 *   const dialog = openDialog({ title: "Delete it?", body: [nodes], actions: [
 *     { value: "delete", label: "Delete", kind: "danger" }, { value: null, label: "Keep" }] });
 *   await dialog.result;      dialog.close(value) closes it from outside;      dialog.element
 *
 * `isSticky` keeps Escape from closing it, where a choice has to be made. `class` is added to its
 * own; `describedBy: true` reads the body out with the title; `autofocus` is the number of the action
 * that has the focus first.
 */
export function openDialog({
  title,
  body = [],
  actions = [],
  isSticky = false,
  class: extra,
  describedBy = false,
  autofocus = null,
}) {
  const returnTo = document.activeElement;
  const titleId = newId("dialog-title");
  const bodyId = newId("dialog-body");
  let settle;
  const result = new Promise((resolve) => (settle = resolve));
  let outcome = null;
  let isOver = false;

  const close = (value = null) => {
    isOver = true;
    outcome = value;
    if (element.open) element.close();
  };
  const buttons = actions.map(({ value, label, kind }, i) =>
    h(
      "button",
      {
        class: ["button", kind && `button-${kind}`],
        autofocus: autofocus === i,
        on: { click: () => close(value) },
      },
      label,
    ),
  );
  const element = h(
    "dialog",
    { class: ["dialog", extra], "aria-labelledby": titleId, "aria-describedby": describedBy ? bodyId : null },
    h("h2", { id: titleId, class: "dialog-title" }, title),
    h("div", { id: bodyId, class: "dialog-body" }, body),
    buttons.length > 0 && h("div", { class: "dialog-actions" }, buttons),
  );
  element.addEventListener("cancel", (event) => {
    if (isSticky) event.preventDefault();
  });
  element.addEventListener("close", () => {
    // A second Escape, or a phone's gesture, closes whatever a page says.
    if (isSticky && !isOver) return element.showModal();
    element.remove();
    if (returnTo instanceof HTMLElement && returnTo.isConnected) returnTo.focus();
    settle(outcome);
  });
  document.body.append(element);
  element.showModal();
  return { element, result, close };
}

/** "Really?": resolves to true or false. */
export async function confirmDialog({ title, text, confirm = "OK", cancel = "Cancel", kind = "danger" }) {
  const dialog = openDialog({
    title,
    body: [h("p", null, text)],
    describedBy: true,
    actions: [
      { value: false, label: cancel },
      { value: true, label: confirm, kind },
    ],
  });
  return (await dialog.result) === true;
}
