// SPDX-License-Identifier: Apache-2.0
// server.mjs [FOLDER]: the reference server on a free port, with its file store in the folder or
// with its memory store. Its first line says where it listens.
import { DurableStreamTestServer } from "@durable-streams/server";

const dataDir = process.argv[2];
const server = new DurableStreamTestServer({ port: 0, host: "127.0.0.1", dataDir });
console.log(`listening on ${await server.start()}`);
