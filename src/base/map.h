/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hash map from bytes to pointers, safe with keys that a peer chooses: each
 * map hashes with a random key of its own, and the number of entries has a
 * mandatory ceiling.
 *
 * 1. map_init() with the most entries it may ever hold. Takes no memory yet.
 * 2. map_put(), map_get(), map_take().
 * 3. map_fini() frees the map's own memory.
 *
 * Keys are copied into the map; those of up to MAP_INLINE_KEY bytes (numbers,
 * ULIDs) cost no allocation, nor do any where keys are borrowed. Values belong to the caller and
 * are never NULL: before map_fini(), walk the map to free them. One thread at a time.
 */
#pragma once

#include <weir/status.h>

#include "base/hash.h"

enum { MAP_INLINE_KEY = 16 };

struct map_entry;

struct map {
    struct map_entry *entries;
    size_t cap; /* places: 0 or a power of two */
    size_t len; /* entries in use */
    size_t max; /* ceiling on len */
    struct hash_key hash_key;
    bool is_borrowing; /* keys that are not inline belong to the caller */
};

void map_init(struct map *m, size_t max_entries);

/* A map that copies no long key: each must stay as it is until it is taken out. */
void map_init_borrowing(struct map *m, size_t max_entries);
void map_fini(struct map *m);

/* NULL when there is no such key. */
void *map_get(const struct map *m, struct weir_slice key);

/*
 * Sets the value of a key, in place of its old one if there is one (the caller
 * gets that by map_get() before). WEIR_LIMIT when a new key would pass the
 * ceiling, WEIR_NOMEM; the map is then as it was.
 */
WEIR_MUST_CHECK enum weir_status map_put(struct map *m, struct weir_slice key, void *value);

/* Removes a key and returns its value; NULL when there is no such key. */
void *map_take(struct map *m, struct weir_slice key);

/* A number as a key, by its eight bytes. The slice borrows *n. */
static inline struct weir_slice map_key_of(const uint64_t *n)
{
    return (struct weir_slice){(const char *)n, sizeof *n};
}

/*
 * A walk over all entries in no particular order. Between two steps the entry
 * just returned may be taken out and values may be set, but no key added.
 */
struct map_walk {
    struct weir_slice key; /* borrowed until the map changes */
    void *value;
    size_t left; /* the rest is private */
    size_t at;
};

struct map_walk map_walk_begin(const struct map *m);

/* False when there are no more. */
bool map_walk_next(const struct map *m, struct map_walk *walk);
