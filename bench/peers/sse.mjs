// SPDX-License-Identifier: Apache-2.0
// eventsource-parser with a TextDecoder, on the chunks that bench/sse.c uses.
import {createParser} from 'eventsource-parser';
import {FNV_INIT, best, fnv, load, report} from './bench.mjs';

function decode(bytes, chunk, onEvent) {
  const decoder = new TextDecoder();
  const parser = createParser({onEvent});
  for (let at = 0; at < bytes.length; at += chunk) {
    parser.feed(decoder.decode(bytes.subarray(at, at + chunk), {stream: true}));
  }
  parser.feed(decoder.decode());
}

function touch(bytes, chunk) {
  const sum = {count: 0, check: 0};
  decode(bytes, chunk, ({event = 'message', data}) => {
    sum.count++;
    const ends = data.charCodeAt(0) + data.charCodeAt(data.length - 1);
    sum.check = (sum.check + ends + event.length) | 0;
  });
  return sum;
}

function hash(bytes) {
  const sum = {count: 0, check: FNV_INIT};
  decode(bytes, 65536, ({event = 'message', data}) => {
    sum.count++;
    sum.check = fnv(fnv(sum.check, event), data);
  });
  return sum;
}

const stream = load('stream.sse');
await best('sse/64k', stream.length, 6, () => touch(stream, 65536));
await best('sse/1k', stream.length, 6, () => touch(stream, 1024));
const part = stream.subarray(0, 5e6);
await best('sse/1b-5m', part.length, 2, () => touch(part, 1));
report('sse/hash', stream.length, 0, hash(stream));
