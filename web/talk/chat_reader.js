// SPDX-License-Identifier: Apache-2.0
// Reads a reply to its end, whatever the network does: what the SDK gives up is taken up again.

import { isPassing } from "../lib/connection.js";

const PAUSE_MS = 4000;

/** Waits, or less long when the browser is back on the network. */
function pause(ms, signal) {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      globalThis.removeEventListener?.("online", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    globalThis.addEventListener?.("online", done);
    signal.addEventListener("abort", done, { once: true });
  });
}

/**
 * Hands every event of a reply to `on.event({id, type, data})`, once and in order. `begin(handlers)` gives the first
 * stream, `resume(lastEventId, handlers)` one that goes on behind that event. `on.open({messageId,
 * conversationId})`, `on.state("connected" | "reconnecting" | "offline")`. Resolves at the end of the
 * reply; throws what will not pass, and whatever goes wrong before there is a reply.
 */
export async function readReply({ begin, resume, on, signal, pauseMs = PAUSE_MS }) {
  let lastId = null;
  const handlers = {
    signal,
    onOpen(head) {
      if (head.messageId) lastId ??= `${head.messageId}:0`;
      on.state("connected");
      on.open(head);
    },
    onReconnect: () => on.state("reconnecting"),
  };
  let events = begin(handlers);
  for (;;) {
    try {
      for await (const event of events) {
        lastId = event.id;
        on.event(event);
      }
      return;
    } catch (error) {
      if (signal.aborted || !isPassing(error) || lastId === null) throw error;
    }
    on.state("offline");
    await pause(pauseMs, signal);
    if (signal.aborted) return;
    events = resume(lastId, handlers);
  }
}
