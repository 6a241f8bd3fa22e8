// SPDX-License-Identifier: Apache-2.0
// Signing in: a key is shown once and becomes a cookie that no script can read; the one-time link
// that the server has printed does the same.

import { ConnectionError } from "/sdk/index.js";
import { h, newId, replace } from "../lib/dom.js";
import { capitalised, duration } from "../lib/format.js";

/** Why it did not work, for somebody who can do something about it. */
function complaint(error, whatWasTried) {
  // Which of the things that end a link it was, only the server knows.
  if (error.status === 401 && whatWasTried === "link")
    return `${capitalised(error.message)}. “weir key link” makes another one; or paste a key.`;
  if (error.status === 401) return "This key is not known here, or it is no longer good. Look whether it was pasted as a whole.";
  if (error.status === 403) return "This cannot be used to sign in here: a key of this server's own is needed.";
  if (error.status === 429) {
    const wait = error.retryAfterMs ? `Try again in ${duration(error.retryAfterMs)}.` : "Wait a little, then try again.";
    return `Too many attempts. ${wait}`;
  }
  if (error instanceof ConnectionError) return "The server cannot be reached. Is it running?";
  return error.message;
}

function keyField(id, describedBy) {
  const field = h("input", {
    id,
    class: "input mono",
    type: "password",
    name: "key",
    placeholder: "weir_…",
    autocomplete: "current-password",
    spellcheck: "false",
    autocapitalize: "off",
    required: true,
    "aria-describedby": describedBy,
  });
  const toggle = h("button", { class: "button button-small", "aria-pressed": "false" }, "Show");
  toggle.addEventListener("click", () => {
    const isShown = field.type === "text";
    field.type = isShown ? "password" : "text";
    toggle.setAttribute("aria-pressed", String(!isShown));
    replace(toggle, isShown ? "Show" : "Hide");
  });
  return { field, toggle };
}

function form(app, { next, noteId }) {
  const fieldId = newId("key");
  const problemId = newId("problem");
  const problem = h("p", { id: problemId, class: "field-problem", role: "alert" });
  const { field, toggle } = keyField(fieldId, [noteId, problemId].filter(Boolean).join(" "));
  const button = h("button", { type: "submit", class: "button button-primary" }, "Sign in");
  field.addEventListener("input", () => field.removeAttribute("aria-invalid"));

  async function submit(event) {
    event.preventDefault();
    replace(problem);
    button.disabled = true;
    try {
      await app.weir.auth.logIn(field.value.trim());
      field.value = "";
      await app.signedIn();
      app.go(next);
    } catch (error) {
      replace(problem, complaint(error, "key"));
      field.setAttribute("aria-invalid", "true");
      field.focus();
      field.select();
    } finally {
      button.disabled = false;
    }
  }
  const element = h(
    "form",
    { class: "stack", on: { submit } },
    h("div", { class: "spread" }, h("label", { for: fieldId, class: "label" }, "Key"), toggle),
    field,
    problem,
    button,
  );
  return { element, field };
}

/** Why the link has signed nobody in; null: it has. Its token goes from the address at once: it is used up. */
async function followLink(app, token) {
  history.replaceState(history.state, "", "#/signin");
  try {
    await app.weir.auth.logInByLink(token);
    await app.signedIn();
    return null;
  } catch (error) {
    return complaint(error, "link");
  }
}

function alreadyIn(root, app, note) {
  const isOpen = app.me.access === "open";
  root.append(
    h(
      "section",
      { class: "signin card" },
      h("h1", null, isOpen ? "No key is needed" : "You are signed in"),
      note && h("p", { class: "notice notice-warn", role: "alert" }, note),
      h("p", null, isOpen ? "This server is open to everybody who can reach it." : `as ${app.me.owner}.`),
      h(
        "div",
        { class: "row" },
        h("a", { class: "button button-primary", href: "#/ask" }, "Ask a question"),
        !isOpen && h("button", { class: "button", on: { click: () => app.signOut() } }, "Sign out"),
      ),
    ),
  );
}

export const view = {
  title: "Sign in",
  async render(root, params, app) {
    let note = params.hasExpired ? "You were signed out. Sign in again to go on where you were." : null;
    if (params.token) {
      root.append(h("p", { class: "signin muted", role: "status" }, "Signing in…"));
      note = await followLink(app, params.token);
      if (note === null) return app.go("/ask", { replace: true });
      replace(root);
    }
    if (app.me) return alreadyIn(root, app, note);
    const noteId = newId("note");
    const { element, field } = form(app, { next: params.next ?? "/ask", noteId: note && noteId });
    root.append(
      h(
        "section",
        { class: "signin card" },
        h(
          "div",
          null,
          h("h1", null, "Sign in"),
          h("p", { class: "muted" }, "Ask about your own data, and see how the answer was made."),
        ),
        note && h("p", { id: noteId, class: "notice notice-warn" }, note),
        element,
        h(
          "div",
          { class: "hint stack" },
          h(
            "p",
            null,
            h("code", null, "weir key link"),
            " prints a link that signs this browser in, once; ",
            h("code", null, "weir key create"),
            " prints a key.",
          ),
          h("p", null, "The key is not kept in the browser: it gets a cookie that no script can read."),
        ),
      ),
    );
    field.focus({ preventScroll: true });
  },
};
