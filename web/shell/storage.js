// SPDX-License-Identifier: Apache-2.0
// Small choices that outlive the page. Nothing secret is ever kept here.

/** What was remembered, or null; a browser may keep nothing at all. */
export function recall(name) {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

/** Null forgets it. */
export function remember(name, value) {
  try {
    if (value === null) localStorage.removeItem(name);
    else localStorage.setItem(name, value);
  } catch {
    // It lasts as long as the page, then.
  }
}
