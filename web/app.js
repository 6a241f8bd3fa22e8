// SPDX-License-Identifier: Apache-2.0
// The page: who looks at it, and which view is shown.
//
// A view is web/views/NAME.js with
//   export const view = { title, render(root, params, app) }
// `title` is a text or a function of params. render fills the empty `root`, at once or as a promise,
// and gives back nothing, a function that cleans up, or { cleanup, update }: update(params) is
// called in place of rendering anew when only "*rest" or the query of the address has changed.
// What render throws is shown in its place, with a way to try again.
//
// app: { weir (the SDK), me (whoami), go(path), connection, announce(text), toast(text, kind),
//        setTitle(text), signal (aborts when the view is left), isReturn (by going back) }

import { Weir } from "/sdk/index.js";
import { importer } from "./data/importer.js";
import { createConnection, watchedFetch } from "./lib/connection.js";
import { confirmDialog } from "./lib/dialog.js";
import { h, replace } from "./lib/dom.js";
import { keepDrafts, useDrafts } from "./lib/drafts.js";
import { match } from "./lib/router.js";
import { announce, toast } from "./shell/announce.js";
import { showFailure, watchFailures } from "./shell/failure.js";
import { connectionBadge, headerTools } from "./shell/header.js";
import { startHeartbeat } from "./shell/heartbeat.js";
import { markCurrent, navigation } from "./shell/navigation.js";
import { installShortcuts } from "./shell/shortcuts.js";
import { loadAhead, Stage } from "./shell/stage.js";

const routes = [
  ["ask", "ask"],
  ["turns", "history"],
  ["turns/:id/trace", "trace"],
  ["turns/:id/*rest", "turn"],
  ["data", "data"],
  ["data/:metric/*rest", "metric"],
  ["memory", "memory"],
  ["sessions", "sessions"],
  ["sessions/:id/*rest", "session"],
  ["chat", "chat"],
  ["chat/:id/*rest", "chat"],
  ["signin", "signin"],
  ["link/:token", "signin"],
];
const START = "#/ask";

const main = document.getElementById("main");
const frame = document.getElementById("app");
const connection = createConnection();
const otherTabs = new BroadcastChannel("weir.signin");

let hasExpired = false; // somebody was signed in, and is no more

const app = {
  weir: new Weir({ fetch: watchedFetch((...args) => fetch(...args), connection, onUnauthorized) }),
  me: null,
  connection,
  announce,
  toast,
  go(path, { replace: isReplacing = false } = {}) {
    const hash = `#/${String(path).replace(/^#?\/?/, "")}`;
    if (isReplacing) history.replaceState(history.state, "", hash);
    if (isReplacing || location.hash === hash) show();
    else location.hash = hash;
  },
  setTitle(text) {
    document.title = text ? `${text} · weir` : "weir";
  },
  /** Asks the server who this is, after signing in. */
  async signedIn() {
    app.me = await app.weir.auth.whoami();
    hasExpired = false;
    drawFrame();
    otherTabs.postMessage("changed");
  },
  async signOut() {
    const text = "There are files that have not arrived yet. They are not sent then.";
    if (importer.isHolding && !(await confirmDialog({ title: "Sign out now?", text, confirm: "Sign out" }))) return;
    try {
      await app.weir.auth.logOut();
    } catch (error) {
      if (error.status !== 401) return toast(`Signing out failed: ${error.message}`, "error");
    }
    importer.drop();
    forgetWho(false);
    otherTabs.postMessage("changed");
    app.go("/signin");
    announce("You are signed out");
  },
};

const stage = new Stage(app, main, wanted);
const show = () => stage.show();

function forgetWho(isExpiry) {
  app.me = null;
  hasExpired = isExpiry;
  drawFrame();
}

function onUnauthorized(path) {
  if (!app.me || path === "/auth/session") return;
  keepDrafts(main);
  forgetWho(true);
  show();
}

function drawFrame() {
  // What somebody has queued waits for them, and is not sent for whoever else comes next.
  importer.use({ weir: app.weir, owner: app.me?.owner ?? null, connection });
  if (!hasExpired) useDrafts(app.me?.owner);
  frame.dataset.state = app.me ? "in" : "out";
  replace(document.querySelector("[data-tools]"), headerTools(app));
  replace(document.querySelector("[data-nav]"), app.me ? navigation() : null);
  markCurrent();
}

/** Which view the address is for; whoever is not signed in signs in first, and is there then. */
function wanted() {
  if (/^#?\/?$/.test(location.hash)) history.replaceState(history.state, "", START);
  const found = match(routes, location.hash);
  if (app.me || found?.name === "signin") return found;
  return { name: "signin", params: { hasExpired, next: location.hash }, key: `signin for ${location.hash}` };
}

async function start() {
  try {
    app.me = await app.weir.auth.me();
  } catch (error) {
    return showFailure(replace(main, h("div", { class: "view" })).firstChild, error, app, start);
  }
  drawFrame();
  await show();
  loadAhead(new Set(routes.map(([, name]) => name)));
}

/** Somebody signed in or out in another tab: it is the same cookie. */
async function onOtherTab() {
  const before = app.me;
  const now = await app.weir.auth.me().catch(() => before); // the next request says who it is
  if (now?.owner === before?.owner && now?.access === before?.access) return;
  app.me = now;
  hasExpired = false;
  drawFrame();
  stage.show({ isAnew: true }); // the same address shows somebody else's
}

window.addEventListener("hashchange", show);
otherTabs.addEventListener("message", onOtherTab);
document.querySelector("[data-skip]").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
document.querySelector("[data-connection]").replaceWith(connectionBadge(connection));
watchFailures(app);
installShortcuts(app);
startHeartbeat(app);
drawFrame();
start();
