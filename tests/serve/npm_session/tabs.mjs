// SPDX-License-Identifier: Apache-2.0
// node tabs.mjs: a browser without its windows. Standard input has one command a line, each for a
// tab with a name of its own; standard output says what came, a line of JSON each.
//
//   {"do":"watch","tab","baseUrl","apiKey"?,"sessionId","sinceSeq"?,"reconnectMs"?,"silenceMs"?,
//    "query"?,"usesHeader"?}
//             {tab, open, gap}, {tab, seq, event}, {tab, comment}, {tab, error, data?}, {tab, closed}
//   {"do":"close","tab"}                                 {tab, closed}
//   {"do":"call","number","baseUrl","apiKey"?,"headers"?,"method","input"}    {number, result} or {number, error}
//   {"do":"check","number","event"}                      {number, error}: null if it validates
import { createInterface } from 'node:readline'
import { EventStream, SseEventSchema, rpc } from './client.mjs'

const say = (what) => process.stdout.write(JSON.stringify(what) + '\n')
const words = (error) => [error.name, error.message, error.cause?.code ?? ''].join(' ').trim()
const tabs = new Map()

const commands = {
  watch({ tab, ...options }) {
    const stream = EventStream({
      ...options,
      onOpen: (response) => say({ tab, open: true, gap: response.headers.get('x-weir-gap') }),
      onEvent: (event, seq) => say({ tab, seq, event }),
      onComment: (comment) => say({ tab, comment }),
      onError: (error) => say({ tab, error: words(error), data: error.data, status: error.status }),
      onClose: () => say({ tab, closed: true, lastSeq: stream.lastSeq }),
    })
    tabs.set(tab, stream)
  },
  close({ tab }) {
    tabs.get(tab).close()
  },
  async call({ number, method, input, ...where }) {
    try {
      say({ number, result: await rpc(where, method, input) })
    } catch (error) {
      say({ number, error: words(error) })
    }
  },
  check({ number, event }) {
    const result = SseEventSchema.safeParse(event)
    say({ number, error: result.success ? null : words(result.error) })
  },
}

for await (const line of createInterface({ input: process.stdin })) {
  const { do: what, ...rest } = JSON.parse(line)
  commands[what](rest)
}
process.exit(0)
