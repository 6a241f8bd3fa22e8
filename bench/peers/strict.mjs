// SPDX-License-Identifier: Apache-2.0
// JSON.parse on the texts that bench/strict.c uses, for information. It starts
// from decoded strings, which spares it the UTF-8 work.
import {best, load} from './bench.mjs';

const lines = load('small.ndjson');
const texts = lines.toString().trimEnd().split('\n');
await best('strict/200b', lines.length, 15, () => {
  const sum = {count: 0, check: 0};
  for (const text of texts) {
    sum.check += Object.keys(JSON.parse(text)).length;
    sum.count++;
  }
  return sum;
});

const doc = load('doc_200k.json');
const text = doc.toString();
await best('strict/200k', doc.length * 20, 15, () => {
  const sum = {count: 0, check: 0};
  for (let i = 0; i < 20; i++) {
    sum.check += JSON.parse(text).events.length;
    sum.count++;
  }
  return sum;
});
