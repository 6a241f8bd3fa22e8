// SPDX-License-Identifier: Apache-2.0
// node durable.mjs: the server of the npm package "@durable-streams/server". Prints its URL.
import { DurableStreamTestServer } from '@durable-streams/server'

const server = new DurableStreamTestServer({ port: 0, host: '127.0.0.1' })
console.log(await server.start())
