// SPDX-License-Identifier: Apache-2.0
// The Anthropic SDK on the messages that bench/message.c uses, without a network:
//   message/iterator  Stream.fromSSEResponse(), events only, nothing accumulated
//   message/64k       client.messages.stream() over a fetch that answers from
//                     memory, iterated to its end, then its final message
// Both get the bytes of each message in chunks of 64 KB.
import Anthropic from '@anthropic-ai/sdk';
import {Stream} from '@anthropic-ai/sdk/streaming';
import {FNV_INIT, best, fnv, load, report} from './bench.mjs';

const CHUNK = 65536;
const bytes = load('stream.sse');
const messages = [];
let from = 0;
for (const line of load('stream.idx').toString().trim().split('\n')) {
  messages.push(bytes.subarray(from, from + Number(line)));
  from += Number(line);
}

function answer(message) {
  let at = 0;
  const body = new ReadableStream({
    pull(controller) {
      if (at >= message.length) return controller.close();
      controller.enqueue(message.subarray(at, at + CHUNK));
      at += CHUNK;
    },
  });
  return new Response(body, {headers: {'content-type': 'text/event-stream'}});
}

async function iterate(message, sum) {
  const stream = Stream.fromSSEResponse(answer(message), new AbortController());
  for await (const event of stream) sum.count += event.type === 'content_block_delta';
}

let next;
const client = new Anthropic({apiKey: 'none', maxRetries: 0, fetch: async () => answer(next)});
const params = {model: 'none', max_tokens: 1, messages: [{role: 'user', content: '-'}]};

async function accumulate(message, sum) {
  next = message;
  const stream = client.messages.stream(params);
  for await (const event of stream) sum.count += event.type === 'content_block_delta';
  return stream.finalMessage();
}

async function all(each) {
  const sum = {count: 0, check: 0};
  for (const message of messages) await each(message, sum);
  return sum;
}

async function hash() {
  const sum = {count: 0, check: FNV_INIT};
  for (const message of messages) {
    // parsed_output is a helper of the SDK, not part of the message.
    const {parsed_output, ...final} = await accumulate(message, {count: 0});
    sum.count++;
    sum.check = fnv(sum.check, JSON.stringify(final));
  }
  return sum;
}

await best('message/iterator', bytes.length, 5, () => all(iterate));
await best('message/64k', bytes.length, 5, () => all(accumulate));
report('message/hash', bytes.length, 0, await hash());
