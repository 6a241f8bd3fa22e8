// SPDX-License-Identifier: Apache-2.0
// The public suite against a server that runs already; streams_api.py starts it.
import { runConformanceTests } from "@durable-streams/server-conformance-tests";

runConformanceTests({
  baseUrl: process.env.WEIR_URL,
  subscriptions: true,
  longPollTimeoutMs: Number(process.env.WEIR_LONG_POLL_MS),
});
