/* SPDX-License-Identifier: Apache-2.0 */
/* Random bytes, hashes and comparisons that tell nothing by their time. Any thread. */
#pragma once

#include <weir/status.h>

enum { SHA256_BYTES = 32 };

void sha256(struct weir_slice bytes, unsigned char out[SHA256_BYTES]);

/* Ends the process when the system has no random bytes: nothing is safe then. */
void random_bytes(void *out, size_t len);

/* Whether both are equal, in a time that depends on len alone. */
bool bytes_equal_ct(const void *a, const void *b, size_t len);
