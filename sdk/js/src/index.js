// SPDX-License-Identifier: Apache-2.0
// weir-sdk: turns, sessions and chats of a weir server, in browsers, Node, Deno and Bun.

import { Chat } from "./chat.js";
import { Client } from "./client.js";
import { Auth, Data, Documents, Keys, Labs, Memory, Shield } from "./resources.js";
import { Sessions } from "./sessions.js";
import { Turns } from "./turns.js";

export { CHAT_EVENTS } from "./chat.js";
export {
  AbortError,
  ApiError,
  AuthenticationError,
  ConflictError,
  ConnectionError,
  ExpiredError,
  InvalidRequestError,
  NotFoundError,
  PermissionError,
  RateLimitError,
  ServerError,
  StreamError,
  TimeoutError,
  TurnFailedError,
  WeirError,
} from "./errors.js";
export { EventStream } from "./event_stream.js";
export { IMPORT_EVENTS } from "./resources.js";
export { SseDecoder } from "./sse.js";
export { TURN_EVENTS } from "./turns.js";

/**
 * new Weir({apiKey, baseUrl, timeout, maxRetries, fetch, EventSourceCtor})
 *
 * Without `apiKey` the browser's cookie says who asks. `timeout` is that of a request, not of a
 * stream, in milliseconds; `maxRetries` counts further attempts at what may be tried again.
 */
export class Weir {
  #client;

  constructor(options = {}) {
    this.#client = new Client(options);
    this.turns = new Turns(this.#client);
    this.sessions = new Sessions(this.#client, options);
    this.chat = new Chat(this.#client);
    this.memory = new Memory(this.#client);
    this.data = new Data(this.#client);
    this.labs = new Labs(this.#client);
    this.documents = new Documents(this.#client);
    this.auth = new Auth(this.#client);
    this.keys = new Keys(this.#client);
    this.shield = new Shield(this.#client);
  }

  get baseUrl() {
    return this.#client.baseUrl;
  }

  /** What has no method here: the answer's JSON, or null. */
  request(method, path, options) {
    return this.#client.request(method, path, options);
  }
}
