// SPDX-License-Identifier: Apache-2.0
// What somebody has written and not sent when their signing in has expired, until they are back: in memory alone.

const kept = new Map(); // address and label of a field → text
let owner = null;

const nameOf = (label) => `${location.hash} ${label}`;

/** Whose they are from now on; what was somebody else's is gone. */
export function useDrafts(who) {
  if (who !== owner) kept.clear();
  owner = who;
}

export function keepDrafts(root) {
  for (const { value, labels } of root.querySelectorAll("textarea"))
    if (value) kept.set(nameOf(labels[0]?.textContent), value);
}

/** The text for the field with that label, once. */
export function takeDraft(label) {
  const name = nameOf(label);
  const text = kept.get(name);
  kept.delete(name);
  return text;
}
