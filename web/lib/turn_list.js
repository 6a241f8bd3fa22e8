// SPDX-License-Identifier: Apache-2.0
// The turns that the history shows: pages from the server, put together and kept fresh.

import { shorten } from "./format.js";

const MAX_TURNS = 100000;
const QUESTION_CHARS = 300;
const ANSWER_CHARS = 200;
const READ_CHARS = 2000; // marks are looked for in so much of an answer

export const isOver = (turn) => turn.status === "completed" || turn.status === "failed";

/** Of a turn only what a row shows: its result may be large, and there may be many. */
export function summarise(turn) {
  const questions = turn.messages?.filter((message) => message.role === "user") ?? [];
  const validator = turn.result?.validator ?? null;
  return {
    id: turn.id,
    status: turn.status,
    createdAt: turn.created_at,
    question: shorten(textOf(questions.at(-1)?.content), QUESTION_CHARS) || "No question",
    answer: shorten(plain((turn.result?.answer ?? turn.error?.message ?? "").slice(0, READ_CHARS)), ANSWER_CHARS),
    durationMs: turn.result?.duration_ms ?? null,
    findings: validator ? validator.findings_total : null,
    passed: validator ? validator.findings_validated + validator.findings_conditional : null,
  };
}

/** A message's content is a text, or blocks of which some are texts. */
function textOf(content) {
  if (typeof content === "string") return content;
  return Array.isArray(content) ? content.map((block) => block.text ?? "").join(" ") : "";
}

/** Markdown's marks mean nothing on one line. */
function plain(markdown) {
  return markdown
    .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replace(/(^|\n)\s*(#{1,6}|[-*>]|\d+\.)\s+/g, " ")
    .replace(/[*_`|]+/g, "");
}

/**
 * Newest first, each once. `items` is what is shown; `cursor` where the next page begins, null when
 * there is none.
 */
export class TurnList {
  items = [];
  cursor = null;
  hasBegun = false;
  #at = new Map(); // id → index

  /** The next page of the server's, behind the others. Returns how many are new. */
  append({ items, next }) {
    this.hasBegun = true;
    this.cursor = this.items.length + items.length >= MAX_TURNS ? null : (next ?? null);
    if (items.length === 0) this.cursor = null;
    const fresh = items.filter((turn) => !this.#at.has(turn.id)).map(summarise);
    for (const turn of fresh) this.#at.set(turn.id, this.items.push(turn) - 1);
    return fresh.length;
  }

  /** What the first page says now: {nNew} came at the top, rows `changed` have changed. */
  merge(items) {
    const changed = [];
    const fresh = [];
    for (const turn of items.map(summarise)) {
      const index = this.#at.get(turn.id);
      if (index === undefined) fresh.push(turn);
      else if (this.#put(index, turn)) changed.push(index);
    }
    // One that is older than all that are known belongs to a later page.
    const newest = this.items[0]?.id ?? "";
    const above = fresh.filter((turn) => turn.id > newest);
    if (above.length > 0) {
      this.items.unshift(...above);
      this.#number();
    }
    return { nNew: above.length, changed: changed.map((index) => index + above.length) };
  }

  /** One turn that was asked for by its id; the row that has changed, or -1. */
  replace(turn) {
    const index = this.#at.get(turn.id);
    return index !== undefined && this.#put(index, summarise(turn)) ? index : -1;
  }

  /** One that is no longer what is asked for, or gone. */
  remove(id) {
    const index = this.#at.get(id);
    if (index === undefined) return false;
    this.items.splice(index, 1);
    this.#number();
    return true;
  }

  running() {
    return this.items.filter((turn) => !isOver(turn));
  }

  #put(index, turn) {
    const old = this.items[index];
    this.items[index] = turn;
    return Object.keys(turn).some((key) => turn[key] !== old[key]);
  }

  #number() {
    this.#at = new Map(this.items.map((turn, index) => [turn.id, index]));
  }
}
