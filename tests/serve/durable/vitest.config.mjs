// SPDX-License-Identifier: Apache-2.0
export default {
  test: {
    include: ["suite.test.mjs"],
    testTimeout: 120000 * Number(process.env.WEIR_PATIENCE ?? "1"),
  },
};
