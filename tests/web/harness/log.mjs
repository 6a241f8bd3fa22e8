// SPDX-License-Identifier: Apache-2.0
// What the server has written, read past the page: the page has to show the same.

/** Events of a stream that has ended, as [id, type, data]. */
export function parseEvents(wire) {
  return wire.split("\n\n").filter((frame) => frame && !frame.startsWith(":")).map((frame) => {
    const field = (name) => new RegExp(`^${name}: (.*)$`, "m").exec(frame)?.[1];
    return [field("id"), field("event"), JSON.parse(field("data"))];
  });
}

/** All events of a turn that has ended. */
export async function turnEvents(server, turn) {
  const answer = await fetch(`${server.url}/v1/turns/${turn}/events`, {
    headers: { Accept: "text/event-stream", ...(server.key ? { Authorization: `Bearer ${server.key}` } : {}) },
  });
  return parseEvents(await answer.text());
}

/** What a reader has of each agent at the end: it drops what it had when one begins anew. */
export function lanesOf(events) {
  const lanes = {};
  for (const [, type, data] of events) {
    if (type === "agent.started") lanes[data.agent] = "";
    if (type === "agent.thought") lanes[data.channel ?? data.agent] += data.delta;
  }
  return lanes;
}
