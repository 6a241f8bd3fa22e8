// SPDX-License-Identifier: Apache-2.0
// What is shown in place of a view that could not be shown.

import { h, replace } from "../lib/dom.js";
import { capitalised } from "../lib/format.js";

function headline(error) {
  if (error.status === 404) return "This is not here";
  if (error.status === 403) return "This is not allowed";
  if (error.status === 429) return "Too much at once";
  if (error.status >= 500) return "The server has a problem";
  if (error.name === "ConnectionError" || error.name === "TimeoutError") return "The server cannot be reached";
  return "Something went wrong";
}

const advice = {
  403: "The key that you are signed in with may not do this.",
  404: "It was deleted, is somebody else's, or the address is mistyped.",
  429: "Wait a little, then try again.",
};

/** What the server or the network said, as a sentence. */
function message(error) {
  const said = String(error.message || "Nobody knows why.");
  const sentence = /^\w+:/.test(said) ? said : capitalised(said); // an address stays as it is
  return /[.!?…]$/.test(sentence) ? sentence : `${sentence}.`;
}

/** What a report about it needs. */
function details(error) {
  const parts = [error.code, error.status && `status ${error.status}`, error.requestId && `request ${error.requestId}`].filter(
    Boolean,
  );
  return parts.length > 0 && h("p", { class: "hint" }, h("code", null, parts.join(", ")));
}

/** An error in place of a view, and a way on. */
export function showFailure(root, error, app, retry) {
  const isFinal = error.status === 404 || error.status === 403;
  app.setTitle(headline(error));
  replace(
    root,
    h(
      "section",
      { class: "empty", role: "alert" },
      h("h1", null, headline(error)),
      h("p", null, message(error)),
      advice[error.status] && h("p", { class: "muted" }, advice[error.status]),
      details(error),
      h(
        "p",
        { class: "empty-actions" },
        !isFinal && h("button", { class: "button button-primary", on: { click: () => retry() } }, "Try again"),
        h("a", { class: ["button", isFinal && "button-primary"], href: "#/ask" }, "Start page"),
      ),
    ),
  );
}

/** What nobody has caught, told in a note rather than in the console alone. */
export function watchFailures(app) {
  const tell = (error, text) => {
    if (error?.status === 401) return;
    const request = error?.requestId ? ` (request ${error.requestId})` : "";
    app.toast(`${error?.message ?? text}${request}`, "error");
  };
  window.addEventListener("unhandledrejection", (event) => {
    // Somebody went away while something was under way: not even the console needs to know.
    if (event.reason?.name === "AbortError") event.preventDefault();
    else tell(event.reason, "Something went wrong");
  });
  // Without an error it is a remark of the browser's about its own work.
  window.addEventListener("error", ({ error, message }) => error && tell(error, message));
}

/** An address that means nothing. */
export function showMissing(root, app) {
  app.setTitle("Not found");
  replace(
    root,
    h(
      "section",
      { class: "empty" },
      h("h1", null, "There is no such page"),
      h("p", null, "The address is mistyped, or it is that of something that was deleted."),
      h("p", { class: "empty-actions" }, h("a", { class: "button button-primary", href: "#/ask" }, "Start page")),
    ),
  );
}
