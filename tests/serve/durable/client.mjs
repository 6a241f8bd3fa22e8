// SPDX-License-Identifier: Apache-2.0
// The client of Durable Streams, as a program that prints a line of JSON for all it does.
//
//   client.mjs produce URL PRODUCER COUNT    appends {"p":PRODUCER,"i":0}... through an
//                                            IdempotentProducer, ten at a time: {"sent":10}...
//   client.mjs append URL TEXT...            appends each text, one after the other
//   client.mjs tail URL sse|long-poll OFFSET  {"items":[...],"offset":"..."} until it is closed
import { DurableStream, IdempotentProducer, stream } from "@durable-streams/client";

const [command, url, ...words] = process.argv.slice(2);
const say = (what) => process.stdout.write(`${JSON.stringify(what)}\n`);
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// Says the same thing again until it is heard: the server may be gone for a while, or be killed
// between the disk and its answer. What it answers is for the client to judge.
async function patientFetch(...request) {
  for (;;) {
    try {
      const response = await fetch(...request);
      if (response.status < 500) return response;
      await response.arrayBuffer();
    } catch (problem) {
      if (request[1]?.signal?.aborted) throw problem;
    }
    await pause(5);
  }
}

async function produce(id, count) {
  const handle = new DurableStream({ url, contentType: "application/json", fetch: patientFetch });
  const producer = new IdempotentProducer(handle, id, {
    maxInFlight: 3,
    maxBatchBytes: 60, // a few in each request, so that several are under way
    lingerMs: 1,
    fetch: patientFetch,
    onError: (problem) => say({ error: String(problem) }),
  });
  for (let i = 0; i < Number(count); i++) {
    producer.append(JSON.stringify({ p: id, i }));
    if (i % 10 !== 9) continue;
    await producer.flush();
    say({ sent: i + 1 });
  }
  await producer.detach();
  say({ done: Number(count) });
}

async function append(...texts) {
  const handle = new DurableStream({ url, contentType: "text/plain" });
  for (const text of texts) await handle.append(text);
  say({ done: texts.length });
}

async function tail(live, offset) {
  for (;;) {
    try {
      const response = await stream({ url, offset, live, fetch: patientFetch, json: true });
      await new Promise((resolve, reject) => {
        response.subscribeJson((batch) => {
          offset = batch.offset;
          if (batch.items.length > 0) say({ items: batch.items, offset });
        });
        response.closed.then(resolve, reject);
      });
      if (response.streamClosed) break;
    } catch (problem) {
      say({ again: String(problem), offset });
      await pause(5);
    }
  }
  say({ closed: true, offset });
}

await { produce, append, tail }[command](...words);
