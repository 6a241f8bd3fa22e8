// SPDX-License-Identifier: Apache-2.0
// Files on their way into the data: a queue that goes on when its view is left. The server reads one
// file of a person at a time, so the next is sent when the one before is done.
//
// An item is {key, name, size, state, sent, progress, id, summary, error, at}, and its state goes
//   waiting → sending → reading → done | failed | cancelled
// While the server is not heard, or nobody is signed in, all of that stands still. Whoever subscribes is told after
// every change; nothing here knows of a document.

import { isPassing } from "../lib/connection.js";

export const MAX_FILES = 100; // at once; what is dropped beyond is refused, not forgotten
export const MAX_KEPT = 50; // items that have ended
const BUSY_WAIT_MS = 2000; // another import of this person runs
const MAX_BUSY_WAITS = 300;
const MAX_SENDS = 3; // of one file, when its connection is lost although the server is heard
const UNHEARD_WAIT_MS = 2000;
const RETRY_DELAY_MS = 500; // of a stream; and for how long it is tried before the import itself is asked about
const MAX_RETRIES = 40;

const hasEnded = (item) => item.state === "done" || item.state === "failed" || item.state === "cancelled";
const isUnheard = (error) => isPassing(error) || error.status === 401;

export class Importer {
  #weir = null;
  #owner = null;
  #isAway = false;
  #isRunning = false;
  #nextKey = 1;
  #listeners = new Set();

  constructor({ connection = null, sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms)) } = {}) {
    this.items = [];
    this.connection = connection;
    this.sleep = sleep;
  }

  /** For whom; null: nobody at the moment. What somebody else left here goes. */
  use({ weir, owner, connection }) {
    this.#weir = weir;
    this.connection = connection;
    this.#isAway = owner === null;
    if (this.#isAway) return;
    if (this.#owner !== owner) this.drop();
    this.#owner = owner;
    this.#run();
  }

  /** Nothing of it is wanted any more. */
  drop() {
    for (const item of this.items) {
      item.state = "cancelled";
      item.control.abort();
    }
    this.items = [];
  }

  subscribe(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #tell(item) {
    for (const listener of this.#listeners) listener(item);
  }

  #set(item, change) {
    Object.assign(item, change);
    this.#tell(item);
  }

  /** Whether there is something that only this page has: it would be lost with it. */
  get isHolding() {
    return this.items.some((item) => item.state === "waiting" || item.state === "sending");
  }

  get isBusy() {
    return this.items.some((item) => !hasEnded(item));
  }

  /** Gives back how many were taken. */
  add(files, options = {}) {
    const room = MAX_FILES - this.items.filter((item) => !hasEnded(item)).length;
    const taken = [...files].slice(0, Math.max(0, room)).map((file) => ({
      key: this.#nextKey++,
      file,
      options,
      name: file.name,
      size: file.size,
      state: "waiting",
      sent: 0,
      progress: null,
      id: null,
      summary: null,
      error: null,
      control: new AbortController(),
    }));
    // The newest come first, and those that came together in their order.
    this.items.unshift(...taken);
    this.#forgetOld();
    this.#tell(null);
    this.#run();
    return taken.length;
  }

  #forgetOld() {
    let kept = 0;
    this.items = this.items.filter((item) => !hasEnded(item) || ++kept <= MAX_KEPT);
  }

  /** One that runs already, as after the page was loaded anew. */
  adopt(record) {
    if (this.items.some((item) => item.id === record.id)) return;
    const item = {
      key: this.#nextKey++,
      file: null,
      options: {},
      name: record.file,
      size: record.bytes,
      state: "reading",
      sent: record.bytes,
      progress: null,
      id: record.id,
      summary: null,
      error: null,
      control: new AbortController(),
    };
    this.items.unshift(item);
    this.#tell(item);
    this.#follow(item);
  }

  /** What was not sent whole leaves no trace; what the server has, it reads. */
  cancel(item) {
    if (item.state !== "waiting" && item.state !== "sending") return;
    this.#set(item, { state: "cancelled" });
    item.control.abort();
  }

  retry(item, options = item.options) {
    if (!hasEnded(item) || !item.file) return;
    this.remove(item);
    this.add([item.file], options);
  }

  remove(item) {
    if (!hasEnded(item)) return;
    this.items = this.items.filter((other) => other !== item);
    this.#tell(null);
  }

  async #run() {
    if (this.#isRunning) return;
    this.#isRunning = true;
    try {
      for (;;) {
        const waiting = this.items.filter((item) => item.state === "waiting");
        if (waiting.length === 0 || this.#isAway) return;
        await this.#send(waiting.reduce((first, item) => (item.key < first.key ? item : first)));
      }
    } finally {
      this.#isRunning = false;
    }
  }

  async #send(item) {
    this.#set(item, { state: "sending", sent: 0 });
    try {
      const record = await this.#upload(item);
      if (item.state !== "sending") return;
      this.#set(item, { state: "reading", id: record.id, sent: item.size });
      await this.#follow(item);
    } catch (error) {
      if (item.state !== "cancelled") this.#set(item, { state: "failed", error });
    }
  }

  async #upload(item) {
    const request = {
      ...item.options,
      name: item.name,
      xhr: true, // the page's own fetch could not tell how much has gone
      idempotencyKey: globalThis.crypto.randomUUID?.(), // without a safe connection the SDK makes one
      signal: item.control.signal,
      onProgress: ({ bytes }) => item.state === "sending" && this.#set(item, { sent: bytes }),
    };
    for (let nBusy = 1, nLost = 1; ;) {
      try {
        return await this.#weir.data.import(item.file, request);
      } catch (error) {
        const isBusy = error.code === "concurrency_limit_exceeded";
        if (isBusy ? nBusy++ > MAX_BUSY_WAITS : !isUnheard(error) || nLost++ >= MAX_SENDS) throw error;
        this.#set(item, { sent: 0 });
        await (isBusy ? this.sleep(error.retryAfterMs ?? BUSY_WAIT_MS) : this.#heard(item));
      }
    }
  }

  /** Until the server answers whoever is signed in; a request that is refused tells the page that nobody is. */
  async #heard({ control: { signal } }) {
    const isHeard = () => this.#weir.auth.whoami({ maxRetries: 0 }).then(
      () => true,
      () => false,
    );
    do await this.sleep(UNHEARD_WAIT_MS);
    while (!signal.aborted && (this.#isAway || !(await isHeard())));
  }

  /** As often as it takes until there is an answer. */
  async #ask(item, act) {
    for (;;) {
      try {
        return await act();
      } catch (error) {
        if (item.control.signal.aborted || !isUnheard(error)) throw error;
        await this.#heard(item);
      }
    }
  }

  async #follow(item) {
    const { signal } = item.control;
    const key = `import ${item.key}`;
    try {
      // Where its events cannot be had any more, the import itself says how it ended.
      await this.#ask(item, () => this.#listen(item, key)).catch(() => {});
      if (!hasEnded(item)) this.#conclude(item, await this.#ask(item, () => this.#weir.data.retrieveImport(item.id, { signal })));
    } catch (error) {
      if (!hasEnded(item)) this.#set(item, { state: "failed", error });
    } finally {
      this.connection?.forget(key);
    }
  }

  async #listen(item, key) {
    const events = this.#weir.data.streamImport(item.id, {
      signal: item.control.signal,
      retryDelayMs: RETRY_DELAY_MS,
      maxRetries: MAX_RETRIES,
      onOpen: () => this.connection?.report(key, "connected"),
      onReconnect: () => this.connection?.report(key, "reconnecting"),
    });
    for await (const event of events) this.#hear(item, event);
  }

  #hear(item, { type, data }) {
    if (type === "import.completed") this.#set(item, { state: "done", summary: data });
    else if (type === "import.failed") this.#set(item, { state: "failed", error: { message: data.error } });
    else if (type === "import.progress") this.#set(item, { progress: data });
    else if (type === "import.file")
      this.#set(item, { progress: { ...item.progress, file: data.file, kind: data.kind } });
  }

  /** The stream is gone, and the import itself says how it ended. */
  #conclude(item, record) {
    if (record.status === "completed") this.#set(item, { state: "done", summary: record.summary });
    else if (record.status === "failed") this.#set(item, { state: "failed", error: record.error });
  }
}

/** The page's own: views come and go, it stays. */
export const importer = new Importer();
