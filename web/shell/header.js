// SPDX-License-Identifier: Apache-2.0
// At the top: how well the server is heard, colours, help, who is signed in.

import { h, setText } from "../lib/dom.js";
import { icon } from "../lib/icons.js";
import { showHelp } from "./shortcuts.js";
import { nextTheme, theme } from "./theme.js";

const words = { connected: "Connected", reconnecting: "Reconnecting…", offline: "Offline" };

/** Made once: a status that is made anew is read out anew. */
export function connectionBadge(connection) {
  const text = h("span");
  const badge = h(
    "p",
    { class: "connection", role: "status" },
    h("span", { class: "connection-dot", "aria-hidden": "true" }),
    text,
  );
  connection.subscribe((state) => {
    badge.dataset.state = state;
    setText(text, words[state]);
  });
  return badge;
}

function themeButton() {
  const button = h("button", { class: "icon-button" });
  const draw = () => {
    const names = { light: "sun", dark: "moon", system: "system" };
    button.replaceChildren(icon(names[theme()]));
    button.setAttribute("aria-label", `Colours: ${theme()}`);
    button.title = `Colours: ${theme()}`;
  };
  button.addEventListener("click", () => {
    nextTheme();
    draw();
  });
  draw();
  return button;
}

export function headerTools(app) {
  const canSignOut = app.me && app.me.access !== "open" && app.me.access !== "local";
  return [
    app.me && app.me.owner && h("span", { class: "who", title: `Signed in as ${app.me.owner}` }, app.me.owner),
    themeButton(),
    h(
      "button",
      {
        class: "icon-button",
        "aria-label": "Help",
        title: "Help and shortcuts (?)",
        on: { click: () => showHelp(app) },
      },
      icon("help"),
    ),
    canSignOut &&
      h(
        "button",
        { class: "icon-button", "aria-label": "Sign out", title: "Sign out", on: { click: () => app.signOut() } },
        icon("leave"),
      ),
  ];
}
