// SPDX-License-Identifier: Apache-2.0
// What the peer programs share; the mirror of bench.h. A peer is charged the
// smaller of its wall time and its CPU time: garbage collection and compilation
// on other threads then cost it nothing, and neither does a busy machine.
import {readFileSync} from 'node:fs';

export const dir = process.argv[2];

export function load(name) {
  return readFileSync(`${dir}/${name}`);
}

export async function best(name, bytes, rounds, run) {
  let seconds = Infinity;
  let result;
  for (let i = 0; i < rounds; i++) {
    const cpu = process.cpuUsage();
    const wall = process.hrtime.bigint();
    result = await run();
    const wallS = Number(process.hrtime.bigint() - wall) / 1e9;
    const used = process.cpuUsage(cpu);
    seconds = Math.min(seconds, wallS, (used.user + used.system) / 1e6);
  }
  report(name, bytes, seconds, result);
}

export function report(name, bytes, seconds, {count, check}) {
  console.log(JSON.stringify({name, bytes, seconds, count, check: check >>> 0}));
}

export const FNV_INIT = 2166136261;

export function fnv(hash, text) {
  const bytes = Buffer.from(text, 'utf8');
  for (let i = 0; i < bytes.length; i++) hash = Math.imul(hash ^ bytes[i], 16777619);
  return hash;
}
