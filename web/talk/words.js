// SPDX-License-Identifier: Apache-2.0
// What the page says about tools, answers and what is private, in words.

import { shorten } from "../lib/format.js";

const SHOWN_CHARS = 20000; // of arguments or a result

const UNSEEN = /[\u061c\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

/** What cannot be seen and may make a text look like another one, written out. */
export function plainly(text) {
  return text.replace(UNSEEN, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** JSON as people read it; a text that is JSON, too. Of what is very long, the beginning. */
export function prettyValue(value) {
  let text = value;
  if (typeof value === "string") {
    try {
      text = JSON.stringify(JSON.parse(value), null, 2);
    } catch {
      text = value;
    }
  } else text = JSON.stringify(value, null, 2) ?? "";
  return text.length > SHOWN_CHARS ? `${text.slice(0, SHOWN_CHARS)}\n… ${text.length - SHOWN_CHARS} more characters` : text;
}

function parsed(value) {
  if (typeof value !== "string") return value;
  try {
    return JSON.parse(value);
  } catch {
    return null;
  }
}

/** One line about what came of a call: its own summary if it has one. */
export function resultLine(result) {
  if (result === null || result === undefined) return "";
  const summary = parsed(result)?.summary;
  if (typeof summary === "string") return shorten(summary, 160);
  return typeof result === "string" && parsed(result) === null ? shorten(result, 160) : "";
}

/** One line about what a tool was called with: its only text, or its members. */
export function argsLine(args) {
  if (args === null || typeof args !== "object") return args === null || args === undefined ? "" : shorten(String(args), 100);
  const entries = Object.entries(args);
  if (entries.length === 1 && typeof entries[0][1] === "string") return shorten(entries[0][1], 100);
  return shorten(entries.map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`).join(", "), 100);
}

/** Who decided, as the event says it; `clientId` is this window's name. */
export function deciderWords(decidedBy, clientId) {
  const known = { timeout: "nobody answered in time", abort: "the turn was stopped", system: "the turn failed" };
  if (decidedBy === clientId) return "by you";
  return Object.hasOwn(known, decidedBy) ? known[decidedBy] : "in another window";
}

export function decisionWords({ decision, decidedBy }, clientId) {
  return `${decision === "allow" ? "Allowed" : "Denied"} ${decidedBy === clientId ? "by you" : `– ${deciderWords(decidedBy, clientId)}`}`;
}

const outcomes = {
  user: "Answered",
  "timeout-default": "Nobody answered in time: the default counted",
  "timeout-no-default": "Nobody answered in time",
  cancel: "Left without an answer",
};

export function outcomeWords(source) {
  return Object.hasOwn(outcomes, source) ? outcomes[source] : source;
}

const failures = {
  aborted: "Stopped",
  blocked: "Not sent: the Privacy Shield found something private in it",
  cancelled: "Stopped before it was whole",
  cost_limit_exceeded: "Ended: it would have cost more than is allowed",
  upstream_unavailable: "The model could not be reached",
};

export function failureWords(code, message) {
  return Object.hasOwn(failures, code) ? failures[code] : message || "It failed";
}

const kinds = {
  email: ["e-mail address", "e-mail addresses"],
  phone: ["phone number", "phone numbers"],
  credit_card: ["card number", "card numbers"],
  iban: ["IBAN", "IBANs"],
  us_ssn: ["US social security number", "US social security numbers"],
  bsn: ["Dutch citizen number", "Dutch citizen numbers"],
  national_id: ["national number", "national numbers"],
  medical: ["medical number", "medical numbers"],
  passport: ["passport number", "passport numbers"],
  driver_license: ["driving licence", "driving licences"],
  date_of_birth: ["date of birth", "dates of birth"],
  ip_address: ["IP address", "IP addresses"],
  mac_address: ["hardware address", "hardware addresses"],
  crypto: ["crypto address", "crypto addresses"],
  url: ["address with a password", "addresses with passwords"],
  secret: ["key or password", "keys or passwords"],
  custom: ["term of your organisation", "terms of your organisation"],
};

/** "2 e-mail addresses" */
export function kindWords(category, n) {
  const [one, many] = Object.hasOwn(kinds, category) ? kinds[category] : [category.replaceAll("_", " "), category.replaceAll("_", " ")];
  return `${n} ${n === 1 ? one : many}`;
}

const sources = { checksum: "check digits", format: "form", context: "the words around", entropy: "randomness", term: "a list of terms" };

export function sourceWords(source) {
  return Object.hasOwn(sources, source) ? sources[source] : source;
}

/** Findings by kind: [{category, n, sources}], the most frequent first. */
export function countFindings(findings) {
  const byKind = new Map();
  for (const { category, source } of findings) {
    const entry = byKind.get(category) ?? { category, n: 0, sources: [] };
    entry.n++;
    if (!entry.sources.includes(source)) entry.sources.push(source);
    byKind.set(category, entry);
  }
  return [...byKind.values()].sort((a, b) => b.n - a.n);
}

/**
 * The two texts of a review cut into the same and the other: [{same} | {original, token}]. null when
 * they do not fit together: the redacted one may have been cut, or be about more than this text.
 */
export function alignRedacted(original, redacted) {
  const pieces = redacted.split(/(\[[a-z][a-z0-9_]*_[0-9]+\])/i);
  const out = [];
  let at = 0;
  for (let i = 0; i < pieces.length; i += 2) {
    const same = pieces[i];
    const token = pieces[i - 1];
    const isLast = i === pieces.length - 1;
    const found = i === 0 ? (original.startsWith(same) ? 0 : -1) : isLast && same === "" ? original.length : original.indexOf(same, at + 1);
    if (found < 0) return null;
    if (token !== undefined) out.push({ original: original.slice(at, found), token });
    if (same !== "") out.push({ same });
    at = found + same.length;
  }
  return at === original.length ? out : null;
}

/** Sessions with pinned ones first, in the order they came otherwise; each once. */
export function arrangeSessions(sessions) {
  const seen = new Set();
  const once = sessions.filter(({ id }) => !seen.has(id) && seen.add(id));
  return [...once.filter((each) => each.pinned), ...once.filter((each) => !each.pinned)];
}
