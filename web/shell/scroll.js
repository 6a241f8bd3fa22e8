// SPDX-License-Identifier: Apache-2.0
// Going back leads to where one was on the page, also when its view takes a moment.

const MAX_ENTRIES = 100;

/** The browser's own memory is of no use where the contents come later. */
export function createScrollMemory() {
  const places = new Map(); // entry of the history → how far down
  let here = null; // no entry while one is left and the next is not there yet
  let nEntries = 0;
  history.scrollRestoration = "manual";
  window.addEventListener("scroll", remember, { passive: true });

  function remember() {
    if (here === null) return;
    places.delete(here);
    places.set(here, window.scrollY);
    if (places.size > MAX_ENTRIES) places.delete(places.keys().next().value);
  }

  return {
    /** Whether the address was come to by going back or forward. */
    isReturn() {
      return places.has(history.state?.entry);
    },
    leave() {
      here = null;
    },
    restore() {
      here = history.state?.entry ?? `${Date.now()}.${++nEntries}`;
      if (places.has(here)) return window.scrollTo(0, places.get(here));
      history.replaceState({ ...history.state, entry: here }, "");
      remember();
    },
  };
}
