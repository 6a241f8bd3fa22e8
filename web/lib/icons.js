// SPDX-License-Identifier: Apache-2.0
// Small pictures drawn from lines; they are decoration, so whatever has one also has words.

import { s } from "./dom.js";

const paths = {
  ask: ["M4 5.5h16v10.5h-9l-4 3.5v-3.5h-3z", "M8.5 9.5h7M8.5 12.5h4"],
  history: ["M12 7.5v5l3.2 2", "M4.6 9.2a8 8 0 1 1-.5 4.3M4.2 5v4.4h4.4"],
  data: ["M4 19.5h16", "M5 15l4.5-5 3.5 3 6-7"],
  memory: ["M6 4.5h12v15l-6-3.5-6 3.5z"],
  sessions: ["M4 5h16v14h-16z", "M7.5 10l2.5 2.2-2.5 2.2M12.5 14.8h4"],
  chat: ["M4 4.5h11.5v8.5h-6l-3 2.8v-2.8h-2.5z", "M18 9h2v8.5h-2v2.5l-3-2.5h-4.5v-1.5"],
  sun: ["M12 8.2a3.8 3.8 0 1 0 0 7.6a3.8 3.8 0 1 0 0-7.6", "M12 3v2M12 19v2M3 12h2M19 12h2M5.6 5.6l1.4 1.4M17 17l1.4 1.4M5.6 18.4l1.4-1.4M17 7l1.4-1.4"],
  moon: ["M19.5 14.2a8 8 0 1 1-9.7-9.7a6.5 6.5 0 0 0 9.7 9.7z"],
  system: ["M4 5h16v11h-16zM9 20h6M12 16v4"],
  help: ["M9.3 9.3a2.8 2.8 0 1 1 4 2.6c-.9.5-1.3 1-1.3 2", "M12 17v.2", "M12 3.5a8.5 8.5 0 1 0 0 17a8.5 8.5 0 1 0 0-17"],
  leave: ["M14 4.5h5v15h-5", "M11 8l-4 4 4 4M7 12h8"],
  close: ["M6 6l12 12M18 6l-12 12"],
  check: ["M5 12.5l4.5 4.5 9.5-10"],
  cross: ["M7 7l10 10M17 7l-10 10"],
  warning: ["M12 4.5l8.5 15h-17z", "M12 10v4.5M12 17v.2"],
  arrow: ["M5 12h13M13 7l5 5-5 5"],
  plus: ["M12 5v14M5 12h14"],
  upload: ["M12 16v-11M7.5 9l4.5-4.5 4.5 4.5M4.5 19.5h15"],
  search: ["M10.5 4.5a6 6 0 1 0 0 12a6 6 0 1 0 0-12M15 15l4.5 4.5"],
  stop: ["M6.5 6.5h11v11h-11z"],
  trash: ["M5 7h14M9.5 7v-2.5h5v2.5M7 7l.8 12.5h8.4l.8-12.5M10.5 10.5v6M13.5 10.5v6"],
  edit: ["M5 19l.8-3.8 10-10 3 3-10 10zM14 7l3 3"],
  fork: ["M7 4.5v7a4 4 0 0 0 4 4h6", "M14 12.5l3.2 3-3.2 3M7 11.5v8"],
  shield: ["M12 3.5l7 2.5v5.5c0 4.3-2.8 7.4-7 9-4.2-1.6-7-4.7-7-9v-5.5z"],
  pin: ["M9 4.5h6l-.8 6 2.8 3h-10l2.8-3zM12 13.5v6"],
};

/** icon("ask"): an SVG of the size of the text around it. */
export function icon(name, props = {}) {
  return s(
    "svg",
    { class: "icon", viewBox: "0 0 24 24", "aria-hidden": "true", ...props },
    paths[name].map((d) => s("path", { d })),
  );
}
