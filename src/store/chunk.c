/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events have no table of where they begin: an empty line stands at the end of each and
 * nowhere else, and somebody who starts in the middle of a chunk is rare enough to search.
 */
#include "store/chunk.h"

#include "base/check.h"
#include "base/mem.h"

struct chunk *chunk_new(uint64_t first, uint64_t last, size_t len)
{
    CHECK(first > 0 && first <= last && len <= UINT32_MAX);
    struct chunk *c = mem_alloc(sizeof *c + len);
    if (!c) return NULL;
    atomic_init(&c->refs, 1);
    c->len = (uint32_t)len;
    c->first = first;
    c->last = last;
    return c;
}

struct chunk *chunk_ref(struct chunk *c)
{
    atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
    return c;
}

void chunk_unref(struct chunk *c)
{
    if (c && atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) == 1) mem_free(c);
}

/* Where event `id` begins; the end of the chunk for the one behind its last. */
static size_t offset_of(const struct chunk *c, uint64_t id)
{
    size_t at = 0;
    CHECK(id >= c->first && id <= c->last + 1);
    if (id == c->last + 1) return c->len;
    for (uint64_t i = c->first; i < id; i++) {
        const char *end = memmem(c->bytes + at, c->len - at, "\n\n", 2);
        CHECK(end);
        at = (size_t)(end - c->bytes) + 2;
    }
    return at;
}

struct weir_slice chunk_from(const struct chunk *c, uint64_t id)
{
    size_t at = offset_of(c, id);
    return (struct weir_slice){c->bytes + at, c->len - at};
}

struct weir_slice chunk_up_to(const struct chunk *c, uint64_t id)
{
    return (struct weir_slice){c->bytes, offset_of(c, id + 1)};
}
