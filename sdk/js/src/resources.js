// SPDX-License-Identifier: Apache-2.0
// People's own things: memory, data, laboratory results, documents; who one is, and keys.

import { named } from "./client.js";
import { pageOf, pagesOf } from "./pages.js";
import { numberedStream } from "./turns.js";
import { blobOf, countingFetch } from "./upload.js";

export const IMPORT_EVENTS = Object.freeze([
  "import.started",
  "import.file",
  "import.progress",
  "import.completed",
  "import.failed",
]);

const at = (base, id, rest = "") => `${base}/${encodeURIComponent(id)}${rest}`;

export class Memory {
  #client;

  constructor(client) {
    this.#client = client;
  }

  list({ limit, cursor, category, ...options } = {}) {
    return pagesOf(this.#client, "/v1/memory", { limit, cursor, category }, options);
  }

  create(entry, options) {
    return this.#client.request("POST", "/v1/memory", { ...named(options), json: entry });
  }

  retrieve(id, options) {
    return this.#client.request("GET", at("/v1/memory", id), options);
  }

  update(id, change, options) {
    return this.#client.request("PATCH", at("/v1/memory", id), { ...named(options), json: change });
  }

  delete(id, options) {
    return this.#client.request("DELETE", at("/v1/memory", id), options);
  }
}

export class Data {
  #client;

  constructor(client) {
    this.#client = client;
  }

  async metrics(options) {
    return pageOf(await this.#client.request("GET", "/v1/data/metrics", options), "data").items;
  }

  /** Values by day; `from` and `to` are days as "2026-05-31". */
  series(metric, { from, to, ...options } = {}) {
    return this.#client.request("GET", "/v1/data/series", { ...options, query: { metric, from, to } });
  }

  /**
   * Sends a file: a File, a Blob, a text or bytes. `onProgress({bytes, totalBytes})` hears how much of
   * it has gone; in a browser by XMLHttpRequest, which a caller with an own fetch allows by `xhr`.
   * Resolves to the import; streamImport() says how that goes on.
   */
  import(file, { name = file?.name, kind, zone, dates, units, person, onProgress, xhr, ...options } = {}) {
    const { fetch, hasOwnFetch } = this.#client;
    return this.#client.request("POST", "/v1/data/imports", {
      timeout: 0, // a large file takes its time
      ...named(options),
      query: { name, kind, zone, dates, units, person },
      body: blobOf(file),
      headers: { "content-type": "application/octet-stream" },
      fetch: onProgress && countingFetch(fetch, onProgress, xhr ?? !hasOwnFetch),
    });
  }

  imports({ limit, cursor, ...options } = {}) {
    return pagesOf(this.#client, "/v1/data/imports", { limit, cursor }, options);
  }

  retrieveImport(id, options) {
    return this.#client.request("GET", at("/v1/data/imports", id), options);
  }

  /** The events of an import, as those of a turn. */
  streamImport(id, options = {}) {
    const isLast = ({ type }) => type === "import.completed" || type === "import.failed";
    return numberedStream(this.#client, at("/v1/data/imports", id, "/events"), IMPORT_EVENTS, isLast, options);
  }
}

export class Labs {
  #client;

  constructor(client) {
    this.#client = client;
  }

  list({ limit, cursor, ...options } = {}) {
    return pagesOf(this.#client, "/v1/labs", { limit, cursor }, options);
  }

  retrieve(id, options) {
    return this.#client.request("GET", at("/v1/labs", id), options);
  }

  /** A table as CSV (a text, or a file), or FHIR: an Observation or a Bundle of them, as an object. */
  create(report, options) {
    const isFile = typeof report === "string" || report instanceof Blob;
    const body = isFile ? blobOf(report) : JSON.stringify(report);
    const type = isFile ? report.type || "text/csv" : "application/json";
    return this.#client.request("POST", "/v1/labs", { ...named(options), body, headers: { "content-type": type } });
  }
}

export class Documents {
  #client;

  constructor(client) {
    this.#client = client;
  }

  list({ limit, cursor, ...options } = {}) {
    return pagesOf(this.#client, "/v1/documents", { limit, cursor }, options);
  }

  async search(q, { limit, ...options } = {}) {
    return (await this.#client.request("GET", "/v1/documents/search", { ...options, query: { q, limit } })).data;
  }

  retrieve(id, options) {
    return this.#client.request("GET", at("/v1/documents", id), options);
  }

  /** {title, text, mediaType} */
  create(document, options) {
    return this.#client.request("POST", "/v1/documents", { ...named(options), json: document });
  }

  replace(id, document, options) {
    return this.#client.request("PUT", at("/v1/documents", id), { ...options, json: document });
  }

  delete(id, options) {
    return this.#client.request("DELETE", at("/v1/documents", id), options);
  }
}

/** In a browser: a key or a link, once, for a cookie that no script can read. */
export class Auth {
  #client;

  constructor(client) {
    this.#client = client;
  }

  logIn(apiKey, options) {
    return this.#client.request("POST", "/auth/session", { ...options, json: { apiKey }, isSafe: true });
  }

  /** A link is good once: when the answer is lost, so is the link. */
  logInByLink(link, options) {
    return this.#client.request("POST", "/auth/session", { ...options, json: { link } });
  }

  /** Who one is, and by what: {owner, scopes, access, …}. AuthenticationError: nobody. */
  whoami(options) {
    return this.#client.request("GET", "/v1/whoami", options);
  }

  /** The same for whoever may be nobody: null then. */
  me(options) {
    return this.#client.request("GET", "/auth/me", options);
  }

  logOut(options) {
    return this.#client.request("DELETE", "/auth/session", options);
  }
}

/** Keys of the server, for whoever may make them. */
export class Keys {
  #client;

  constructor(client) {
    this.#client = client;
  }

  async list(options) {
    return (await this.#client.request("GET", "/v1/keys", options)).keys;
  }

  /** The answer is the only place where the key itself can be read. */
  create(wish = {}, options) {
    return this.#client.request("POST", "/v1/keys", { ...options, json: wish });
  }

  revoke(name, options) {
    return this.#client.request("DELETE", at("/v1/keys", name), options);
  }
}

/** What the shield has decided about what is private, the newest first. */
export class Shield {
  #client;

  constructor(client) {
    this.#client = client;
  }

  audit({ limit, cursor, ...options } = {}) {
    return pagesOf(this.#client, "/v1/shield/audit", { limit, cursor }, options);
  }
}
