// SPDX-License-Identifier: Apache-2.0
// Before anything is painted: the colours that were chosen last. No module, so that it blocks.
(() => {
  try {
    const chosen = localStorage.getItem("weir.theme");
    if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
  } catch {
    // No storage: the system's colours.
  }
})();
