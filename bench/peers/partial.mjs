// SPDX-License-Identifier: Apache-2.0
// jsonriver on the deltas that bench/partial.c uses, the value read after each.
// It takes strings, so its deltas are 20 characters; cutting them is not timed.
import {parse} from 'jsonriver';
import {FNV_INIT, best, fnv, load, report} from './bench.mjs';

function cut(text) {
  const deltas = [];
  for (let at = 0; at < text.length; at += 20) deltas.push(text.slice(at, at + 20));
  return deltas;
}

async function* each(deltas) {
  for (const delta of deltas) yield delta;
}

// Lengths only: reading a character of the growing string would make the engine
// join its pieces each time, which is quadratic and no fault of jsonriver's.
function touch(value) {
  if (value.items !== undefined) return value.items.length;
  return value.content ? value.content.length : 0;
}

async function run(deltas) {
  const sum = {count: 0, check: 0};
  for await (const value of parse(each(deltas))) {
    sum.count++;
    sum.check = (sum.check + touch(value)) | 0;
  }
  return sum;
}

async function hash(deltas) {
  let last;
  for await (const value of parse(each(deltas))) last = value;
  const text = JSON.stringify(last);
  return {count: Buffer.byteLength(text), check: fnv(FNV_INIT, text)};
}

for (const name of ['string_200k', 'string_400k', 'objects_200k', 'objects_400k']) {
  const text = load(`${name}.json`);
  const deltas = cut(text.toString());
  const label = `partial/${name.replace('_', '-')}`;
  await best(label, text.length, 12, () => run(deltas));
  report(`${label}-hash`, text.length, 0, await hash(deltas));
}
