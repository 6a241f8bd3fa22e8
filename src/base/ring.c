/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The items stand at first, first + 1, ..., counted around the end of the array.
 * The capacity need not be a power of two, so that the ceiling can be met exactly.
 */
#include "base/ring.h"

#include <string.h>

#include "base/check.h"
#include "base/mem.h"

enum { FIRST_CAP = 8 };

void ring_init(struct ring *r, size_t max_items)
{
    *r = (struct ring){.max = max_items};
}

void ring_fini(struct ring *r)
{
    mem_free(r->slots);
    ring_init(r, r->max);
}

/* Where the i-th oldest stands; i < cap, so that the sum cannot pass twice the capacity. */
static size_t index_of(const struct ring *r, size_t i)
{
    return i < r->cap - r->first ? r->first + i : i - (r->cap - r->first);
}

static enum weir_status grow(struct ring *r)
{
    if (r->cap >= r->max) return WEIR_LIMIT;
    size_t cap = r->cap > r->max / 2 ? r->max : r->cap * 2;
    if (cap < FIRST_CAP) cap = r->max < FIRST_CAP ? r->max : FIRST_CAP;
    if (cap > SIZE_MAX / sizeof *r->slots) return WEIR_NOMEM;
    void **slots = mem_alloc(cap * sizeof *slots);
    if (!slots) return WEIR_NOMEM;
    /* Full now: the old part runs to the end of the array, the new part before it. */
    size_t n_old = r->cap - r->first;
    if (r->cap > 0) {
        memcpy(slots, r->slots + r->first, n_old * sizeof *slots);
        memcpy(slots + n_old, r->slots, r->first * sizeof *slots);
    }
    mem_free(r->slots);
    r->slots = slots;
    r->cap = cap;
    r->first = 0;
    return WEIR_OK;
}

enum weir_status ring_push(struct ring *r, void *item)
{
    CHECK(item);
    if (r->len == r->cap) {
        enum weir_status st = grow(r);
        if (st != WEIR_OK) return st;
    }
    r->slots[index_of(r, r->len)] = item;
    r->len++;
    return WEIR_OK;
}

void *ring_pop(struct ring *r)
{
    if (r->len == 0) return NULL;
    void *item = r->slots[r->first];
    r->first = index_of(r, 1);
    r->len--;
    return item;
}

void *ring_peek(const struct ring *r, size_t i)
{
    return i < r->len ? r->slots[index_of(r, i)] : NULL;
}
