/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Open addressing with linear probing. Invariant: an entry stands at its home
 * (hash & mask) or behind it with no empty place between. Removal keeps it by
 * moving later entries of the same run forward, so there are no tombstones and
 * a map that has seen many removals is as fast as a new one.
 */
#include "base/map.h"

#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/slice.h"

enum { FIRST_CAP = 8 };

struct map_entry {
    void *value; /* NULL: empty place */
    uint64_t hash;
    size_t key_len;
    union {
        char bytes[MAP_INLINE_KEY]; /* when key_len <= MAP_INLINE_KEY */
        char *ptr;                  /* the map's own */
        const char *borrowed;       /* when the map is borrowing */
    } key;
};

static struct weir_slice key_of(const struct map_entry *e)
{
    return slice_of(e->key_len <= MAP_INLINE_KEY ? e->key.bytes : e->key.ptr, e->key_len);
}

static void free_key(const struct map *m, struct map_entry *e)
{
    if (e->key_len > MAP_INLINE_KEY && !m->is_borrowing) mem_free(e->key.ptr);
}

void map_init(struct map *m, size_t max_entries)
{
    *m = (struct map){.max = max_entries, .hash_key = hash_key_random()};
}

void map_init_borrowing(struct map *m, size_t max_entries)
{
    map_init(m, max_entries);
    m->is_borrowing = true;
}

void map_fini(struct map *m)
{
    for (size_t i = 0; i < m->cap; i++)
        if (m->entries[i].value) free_key(m, &m->entries[i]);
    mem_free(m->entries);
    m->entries = NULL;
    m->cap = m->len = 0;
}

/* The place of the key, or the empty place where it belongs. The table is never full. */
static struct map_entry *find(const struct map *m, struct weir_slice key, uint64_t hash)
{
    size_t mask = m->cap - 1;
    for (size_t i = hash & mask;; i = (i + 1) & mask) {
        struct map_entry *e = &m->entries[i];
        if (!e->value || (e->hash == hash && slice_eq(key_of(e), key))) return e;
    }
}

void *map_get(const struct map *m, struct weir_slice key)
{
    if (m->len == 0) return NULL;
    return find(m, key, hash_bytes(m->hash_key, key))->value;
}

static void place(const struct map *m, const struct map_entry *entry)
{
    size_t mask = m->cap - 1;
    size_t i = entry->hash & mask;
    while (m->entries[i].value) i = (i + 1) & mask;
    m->entries[i] = *entry;
}

/* Makes room for one more entry, keeping a quarter of the places empty. */
static enum weir_status reserve_one(struct map *m)
{
    if (m->len < m->cap - m->cap / 4) return WEIR_OK;
    if (m->cap > SIZE_MAX / 2 / sizeof *m->entries) return WEIR_NOMEM;
    struct map grown = *m;
    grown.cap = m->cap == 0 ? FIRST_CAP : m->cap * 2;
    grown.entries = mem_zalloc(grown.cap * sizeof *grown.entries);
    if (!grown.entries) return WEIR_NOMEM;
    for (size_t i = 0; i < m->cap; i++)
        if (m->entries[i].value) place(&grown, &m->entries[i]);
    mem_free(m->entries);
    *m = grown;
    return WEIR_OK;
}

static enum weir_status set_key(const struct map *m, struct map_entry *e, struct weir_slice key)
{
    char *bytes = e->key.bytes;
    e->key_len = key.len;
    if (key.len > MAP_INLINE_KEY && m->is_borrowing) {
        e->key.borrowed = key.ptr;
        return WEIR_OK;
    }
    if (key.len > MAP_INLINE_KEY) bytes = e->key.ptr = mem_alloc(key.len);
    if (!bytes) return WEIR_NOMEM;
    if (key.len > 0) memcpy(bytes, key.ptr, key.len);
    return WEIR_OK;
}

enum weir_status map_put(struct map *m, struct weir_slice key, void *value)
{
    CHECK(value);
    struct map_entry entry = {.value = value, .hash = hash_bytes(m->hash_key, key)};
    struct map_entry *old = m->len > 0 ? find(m, key, entry.hash) : NULL;
    if (old && old->value) {
        old->value = value;
        return WEIR_OK;
    }
    if (m->len >= m->max) return WEIR_LIMIT;
    enum weir_status st = reserve_one(m);
    if (st != WEIR_OK) return st;
    st = set_key(m, &entry, key);
    if (st != WEIR_OK) return st;
    place(m, &entry);
    m->len++;
    return WEIR_OK;
}

/* Fills the hole at `hole` with the entries behind it that may stand there. */
static void close_hole(struct map *m, size_t hole)
{
    size_t mask = m->cap - 1;
    for (size_t i = (hole + 1) & mask; m->entries[i].value; i = (i + 1) & mask) {
        size_t from_home = (i - m->entries[i].hash) & mask;
        size_t from_hole = (i - hole) & mask;
        if (from_home < from_hole) continue; /* its home is behind the hole */
        m->entries[hole] = m->entries[i];
        hole = i;
    }
    m->entries[hole] = (struct map_entry){0};
}

void *map_take(struct map *m, struct weir_slice key)
{
    if (m->len == 0) return NULL;
    struct map_entry *e = find(m, key, hash_bytes(m->hash_key, key));
    void *value = e->value;
    if (!value) return NULL;
    free_key(m, e);
    close_hole(m, (size_t)(e - m->entries));
    m->len--;
    return value;
}

/*
 * Walks go backwards from an empty place. A removal only moves entries towards
 * its hole from behind, and never across an empty place: what moves has been
 * walked already, and stays on the walked side.
 */
struct map_walk map_walk_begin(const struct map *m)
{
    struct map_walk walk = {.left = m->cap};
    while (walk.at < m->cap && m->entries[walk.at].value) walk.at++;
    return walk;
}

bool map_walk_next(const struct map *m, struct map_walk *walk)
{
    while (walk->left > 0) {
        walk->left--;
        walk->at = (walk->at - 1) & (m->cap - 1);
        const struct map_entry *e = &m->entries[walk->at];
        if (!e->value) continue;
        walk->key = key_of(e);
        walk->value = e->value;
        return true;
    }
    return false;
}
