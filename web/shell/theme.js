// SPDX-License-Identifier: Apache-2.0
// Light, dark, or as the system has it; web/theme.js puts it on before the first paint.

import { remember } from "./storage.js";

const order = ["system", "light", "dark"];

export function theme() {
  return document.documentElement.dataset.theme ?? "system";
}

export function nextTheme() {
  const next = order[(order.indexOf(theme()) + 1) % order.length];
  if (next === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = next;
  remember("weir.theme", next === "system" ? null : next);
}
