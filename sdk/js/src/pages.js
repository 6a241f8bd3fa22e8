// SPDX-License-Identifier: Apache-2.0
// Lists that come in pages.

import { ApiError } from "./errors.js";

/**
 * Await it for a page: what the server says, with `items` and `next`, the cursor of the page behind it
 * or null. Iterate over `.iter()` for everything.
 */
export class Pages {
  #load;
  #cursor;

  /** load(cursor) gives such a page; null is the first cursor. */
  constructor(load, cursor = null) {
    this.#load = load;
    this.#cursor = cursor;
  }

  page(cursor = this.#cursor) {
    return this.#load(cursor);
  }

  then(resolve, reject) {
    return this.page().then(resolve, reject);
  }

  catch(reject) {
    return this.page().catch(reject);
  }

  finally(settled) {
    return this.page().finally(settled);
  }

  async *iter() {
    for (let cursor = this.#cursor; ;) {
      const { items, next } = await this.#load(cursor);
      yield* items;
      // A server that says the same again would be asked for ever.
      if (next === null || next === undefined || next === cursor) return;
      cursor = next;
    }
  }

  [Symbol.asyncIterator]() {
    return this.iter();
  }
}

/** A page of what the server says, or an error: what answered may be no server of ours. */
export function pageOf(page, items, next) {
  if (Array.isArray(page?.[items])) return { ...page, items: page[items], next: page[next] ?? null };
  throw new ApiError("the answer is no list: is the baseUrl right?", { status: 200, code: "bad_answer" });
}

/** A list of the server's, whose members and cursor may be called otherwise than `data` and `next_cursor`. */
export function pagesOf(client, path, { cursor, ...query }, options, { items = "data", next = "next_cursor" } = {}) {
  const load = async (cursor) => {
    const page = await client.request("GET", path, { ...options, query: { ...query, cursor } });
    return pageOf(page, items, next);
  };
  return new Pages(load, cursor);
}
