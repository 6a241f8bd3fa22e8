// SPDX-License-Identifier: Apache-2.0
// What is sent again because its answer was lost, and counts once.

import { newIdempotencyKey } from "/sdk/client.js";

/**
 * act(input, options) with a name for the server in its options: the same input keeps its name until it
 * was taken, so that whoever presses the button again has not said it twice.
 */
export function once(act) {
  let known = null;
  let idempotencyKey;
  return async (input, options) => {
    const text = JSON.stringify(input);
    if (text !== known) [known, idempotencyKey] = [text, newIdempotencyKey()];
    const result = await act(input, { ...options, idempotencyKey });
    known = null;
    return result;
  };
}
