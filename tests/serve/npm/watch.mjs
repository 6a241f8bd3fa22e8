// SPDX-License-Identifier: Apache-2.0
// node watch.mjs URL [KEY]: what the npm package "eventsource" sees, a line of JSON each.
import { EventSource } from 'eventsource'

const [url, key] = process.argv.slice(2)
const say = (what) => process.stdout.write(JSON.stringify(what) + '\n')
const withKey = (input, init) =>
  fetch(input, { ...init, headers: { ...init.headers, Authorization: `Bearer ${key}` } })
const source = new EventSource(url, key ? { fetch: withKey } : {})

source.onopen = () => say({ open: true })
source.onmessage = (event) => say({ id: Number(event.lastEventId), data: JSON.parse(event.data) })
source.onerror = (event) => say({ error: event.code ?? 0, state: source.readyState })
source.addEventListener('note', (event) => say({ id: Number(event.lastEventId), note: event.data }))
