/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SipHash-1-3: a keyed hash for tables whose keys come from peers. Without the
 * key, nobody can choose inputs that collide.
 */
#pragma once

#include <weir/types.h>

struct hash_key {
    uint64_t k0;
    uint64_t k1;
};

uint64_t hash_bytes(struct hash_key key, struct weir_slice s);

/* A key from the system's randomness. */
struct hash_key hash_key_random(void);
