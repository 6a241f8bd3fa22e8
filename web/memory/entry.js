// SPDX-License-Identifier: Apache-2.0
// Entries of memory as a form has them: what is wrong with one, and what was changed.

export const TEXT_BYTES = 4096; // the server's ceilings
export const DATA_BYTES = 16 * 1024;

export const CATEGORIES = {
  goal: { label: "Goal", many: "Goals", hint: "What you are working towards. The coach takes it as a topic." },
  preference: { label: "Preference", many: "Preferences", hint: "Units, diet, how long answers should be." },
  insight: { label: "Insight", many: "Insights", hint: "What was found in your data and stood up to checking." },
  hypothesis: { label: "Hypothesis", many: "Hypotheses", hint: "What was asked of your data and did not hold." },
};

export const byteLength = (text) => new TextEncoder().encode(text).length;

/** {category, text, data} of a form, with data as JSON in a text; "" is null. */
export function formOf(entry) {
  const { category = "goal", text = "", data = null } = entry ?? {};
  return { category, text, data: data === null ? "" : JSON.stringify(data, null, 2) };
}

/** The data that a form means; throws when they are no JSON. */
export const dataOf = (form) => (form.data.trim() === "" ? null : JSON.parse(form.data));

/** What keeps a form from being saved, by field; nothing when nothing does. */
export function problemsOf(form) {
  const problems = {};
  const size = byteLength(form.text);
  if (form.text.trim() === "") problems.text = "It needs some words.";
  else if (size > TEXT_BYTES) problems.text = `This is ${size - TEXT_BYTES} bytes too long.`;
  try {
    const data = dataOf(form);
    if (data !== null && byteLength(JSON.stringify(data)) > DATA_BYTES)
      problems.data = "These data are larger than 16 KiB.";
  } catch (error) {
    problems.data = `This is no JSON: ${error.message}`;
  }
  return problems;
}

/** Only what differs from the entry: another change of the rest stays as it is. */
export function changesOf(entry, form) {
  const changes = {};
  if (form.category !== entry.category) changes.category = form.category;
  if (form.text !== entry.text) changes.text = form.text;
  const data = dataOf(form);
  if (JSON.stringify(data) !== JSON.stringify(entry.data)) changes.data = data;
  return changes;
}

/** Whether an entry fits a search, in its words or what it is about. */
export function fits(entry, word) {
  if (word === "") return true;
  return `${entry.text} ${JSON.stringify(entry.data ?? "")}`.toLowerCase().includes(word.toLowerCase());
}
