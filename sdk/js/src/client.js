// SPDX-License-Identifier: Apache-2.0
// Requests: one place that knows the address, the key, how long a request may take, and what may be
// tried again.

import { AbortError, ApiError, ConnectionError, errorOf, isRefusal, isTransient, WeirError } from "./errors.js";
import { linked, pauseMs, sleep, throwIfAborted, within } from "./wait.js";

const DEFAULT_URL = "http://127.0.0.1:8080";
const MAX_PAGE_BYTES = 64 * 1024; // of an answer that says no
const PAGE_MS = 2000; // for the rest of such a page, whose head says it all

function defaultUrl() {
  let origin;
  try {
    origin = globalThis.location?.origin;
  } catch {
    // Deno throws where nobody has said what it is.
  }
  return origin && origin !== "null" ? origin : DEFAULT_URL;
}

function checkedUrl(text) {
  const url = new URL(text); // throws what is no address
  if (url.protocol !== "http:" && url.protocol !== "https:") throw new TypeError(`baseUrl cannot be ${text}`);
  if (url.search || url.hash || url.username || url.password)
    throw new TypeError("baseUrl has no query, no fragment and no password");
  return (url.origin + url.pathname).replace(/\/+$/, "");
}

/** What fetch throws when there is no answer says little; its cause says more. */
export function connectionError(error, what) {
  if (error instanceof WeirError) return error;
  const why = error?.cause?.message || error?.cause?.code || error?.message || String(error);
  return new ConnectionError(`${what}: ${why}`, { cause: error });
}

/** The beginning of the page of an answer that is not wanted; what does not come soon is left. */
export async function readPage(response, signal) {
  const reader = response.body?.getReader?.();
  // Where fetch does not stream the whole page is there already.
  if (!reader)
    return response.text().then(
      (text) => text.slice(0, MAX_PAGE_BYTES),
      () => "",
    );
  const utf8 = new TextDecoder();
  let page = "";
  let nBytes = 0;
  const deadline = Date.now() + PAGE_MS;
  try {
    while (nBytes < MAX_PAGE_BYTES) {
      const { done, value } = await within(reader.read(), { ms: Math.max(1, deadline - Date.now()), signal });
      if (done) break;
      nBytes += value.length;
      page += utf8.decode(value, { stream: true });
    }
  } catch {
    // As much as came is what there is to tell.
  } finally {
    reader.cancel().catch(() => {});
  }
  return page;
}

export class Client {
  constructor({ apiKey, baseUrl, timeout = 60000, maxRetries = 2, fetch, EventSourceCtor } = {}) {
    const given = fetch ?? globalThis.fetch;
    if (typeof given !== "function") throw new TypeError("there is no fetch here: give one as {fetch}");
    this.apiKey = apiKey || null;
    this.baseUrl = checkedUrl(String(baseUrl || defaultUrl()));
    this.timeout = timeout;
    this.maxRetries = maxRetries;
    this.EventSourceCtor = EventSourceCtor ?? null;
    this.fetch = (...args) => given(...args); // browsers want it called without an object
    this.hasOwnFetch = Boolean(fetch);
    // Without a key it is the browser's cookie that says who asks.
    this.credentials = this.apiKey ? "omit" : "include";
  }

  get authorization() {
    return this.apiKey ? { authorization: `Bearer ${this.apiKey}` } : {};
  }

  url(path, query = {}) {
    const url = new URL(this.baseUrl + path);
    for (const [name, value] of Object.entries(query))
      if (value !== undefined && value !== null) url.searchParams.set(name, String(value));
    return url.href;
  }

  /** The answer's head, whatever it says; `signal` ends its body, too. */
  async open(method, path, options) {
    const {
      query,
      headers,
      body,
      signal,
      timeout = this.timeout,
      accept = "application/json",
      fetch = this.fetch,
    } = options;
    // What cannot be sent is the caller's mistake, and not the network's.
    const address = this.url(path, query);
    const request = {
      method,
      headers: new Headers({ ...this.authorization, accept, ...headers }),
      body,
      credentials: this.credentials,
      cache: "no-store",
      redirect: "manual", // a key goes to nobody but whom it was given for
      signal,
    };
    try {
      return await within(fetch(address, request), { ms: timeout, signal, what: "no answer" });
    } catch (error) {
      throwIfAborted(signal);
      throw connectionError(error, `${this.baseUrl} cannot be reached`);
    }
  }

  /** One attempt at a whole answer: its JSON, or null when it has none. */
  async #once(method, path, options) {
    const { timeout = this.timeout, signal, onResponse } = options;
    const link = linked(signal);
    const begin = Date.now();
    try {
      const response = await this.open(method, path, { ...options, signal: link.signal });
      if (!response.ok) throw errorOf(response, await readPage(response, link.signal));
      const leftMs = timeout && Math.max(1, begin + timeout - Date.now());
      const text = await within(response.text(), {
        ms: leftMs,
        signal: link.signal,
        what: "no whole answer",
      }).catch((error) => {
        throw connectionError(error, "the answer was cut");
      });
      onResponse?.(response);
      return readJson(text, response);
    } finally {
      link.free();
      link.abort(); // what is left of it, if anything is
    }
  }

  /**
   * The answer's JSON, or null. What does no harm when it is done twice is tried again: reading, and
   * whatever carries a key that tells the server it is the same. Anything else only when the server
   * says that it has done nothing.
   */
  async request(method, path, options = {}) {
    const { json, idempotencyKey, signal, maxRetries = this.maxRetries } = options;
    const headers = { ...options.headers };
    if (json !== undefined) headers["content-type"] = "application/json";
    if (idempotencyKey) headers["idempotency-key"] = idempotencyKey;
    const body = json === undefined ? options.body : JSON.stringify(json);
    const isSafe =
      options.isSafe ?? (method === "GET" || method === "PUT" || method === "DELETE" || Boolean(idempotencyKey));
    for (let nFailed = 1; ; nFailed++) {
      throwIfAborted(signal);
      try {
        return await this.#once(method, path, { ...options, headers, body });
      } catch (error) {
        // The answer to the first attempt was lost, and it was done.
        if (method === "DELETE" && nFailed > 1 && error.status === 404) return null;
        const mayRepeat = isSafe ? isTransient(error) : isRefusal(error);
        if (!mayRepeat || nFailed > maxRetries || error instanceof AbortError) throw error;
        await sleep(pauseMs(nFailed, { askedMs: error.retryAfterMs ?? null }), signal);
      }
    }
  }
}

function readJson(text, response) {
  if (text === "") return null;
  try {
    return JSON.parse(text);
  } catch {
    throw new ApiError("the answer is no JSON: is the baseUrl right?", {
      status: response.status,
      code: "bad_answer",
      requestId: response.headers.get("x-request-id"),
      page: text.slice(0, MAX_PAGE_BYTES),
    });
  }
}

/** A name for a request that may be sent twice and counts once. */
export function newIdempotencyKey() {
  // Pages by plain HTTP from elsewhere than localhost have no randomUUID.
  if (globalThis.crypto.randomUUID) return globalThis.crypto.randomUUID();
  const bytes = globalThis.crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Names a request of its own, unless the caller has named it. */
export function named(options = {}) {
  return { ...options, idempotencyKey: options.idempotencyKey ?? newIdempotencyKey() };
}
