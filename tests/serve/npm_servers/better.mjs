// SPDX-License-Identifier: Apache-2.0
// node better.mjs N: a server on the npm package "better-sse" that pushes N events with ids of no
// order, cuts every third off, and ends with 204. Prints its port.
import { createServer } from 'node:http'
import { createSession } from 'better-sse'

const n = Number(process.argv[2])
const events = Array.from({ length: n }, (_, i) => ({ id: `e-${(i * 7919) % 1009}`, text: `value ${i}` }))

const server = createServer(async (request, response) => {
  const had = events.findIndex((event) => event.id === request.headers['last-event-id'])
  if (had === n - 1) {
    response.writeHead(204).end()
    return
  }
  const session = await createSession(request, response, { retry: 100, keepAlive: 50 })
  for (let i = had + 1; i < n; i++) {
    // What was had is told again now and then.
    if (i === had + 1 && had >= 0) session.push(events[had].text, 'note', events[had].id)
    session.push(events[i].text, 'note', events[i].id)
    if (i % 3 === 2) break
  }
  // A cut in the middle of an event, at once: a comment of the session would make it a whole one.
  setTimeout(() => response.write('id: half\ndata: ha', () => response.destroy()), 20)
})
server.listen(0, '127.0.0.1', () => console.log(server.address().port))
