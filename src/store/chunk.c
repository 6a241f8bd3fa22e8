/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events have no table of where they begin: an empty line stands at the end of each and
 * nowhere else, and somebody who starts in the middle of a chunk is rare enough to search.
 */
#include "store/chunk.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/slice.h"

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

/* Line by line: there are few, and memchr() is many times faster than any search for two bytes. */
size_t chunk_event_length(struct weir_slice events)
{
    const char *stop = events.ptr + events.len;
    const char *lf = events.len > 0 ? memchr(events.ptr, '\n', events.len) : NULL;
    while (lf && lf + 1 < stop && lf[1] != '\n') lf = memchr(lf + 1, '\n', (size_t)(stop - lf) - 1);
    return lf && lf + 1 < stop ? (size_t)(lf - events.ptr) + 2 : 0;
}

struct weir_slice chunk_event_line(struct weir_slice event, const char *name)
{
    size_t n_name = strlen(name);
    while (event.len > 0) {
        const char *lf = memchr(event.ptr, '\n', event.len);
        size_t len = lf ? (size_t)(lf - event.ptr) : event.len;
        if (len >= n_name && memcmp(event.ptr, name, n_name) == 0)
            return slice_of(event.ptr + n_name, len - n_name);
        event = slice_from(event, len < event.len ? len + 1 : len);
    }
    return (struct weir_slice){0};
}

/* Where event `id` begins; the end of the chunk for the one behind its last. */
static size_t offset_of(const struct chunk *c, uint64_t id)
{
    size_t at = 0;
    CHECK(id >= c->first && id <= c->last + 1);
    if (id == c->last + 1) return c->len;
    for (uint64_t i = c->first; i < id; i++) {
        size_t len = chunk_event_length(slice_of(c->bytes + at, c->len - at));
        CHECK(len > 0);
        at += len;
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

/* The length of the event that bytes begin with, if it is well-formed and has this id; or 0. */
static size_t numbered_length(struct weir_slice bytes, uint64_t id)
{
    char head[32];
    int len = snprintf(head, sizeof head, "id: %" PRIu64 "\n", id);
    if (bytes.len < (size_t)len || memcmp(bytes.ptr, head, (size_t)len) != 0) return 0;
    /* From the LF of the id line on: the event may have no other line. */
    struct weir_slice rest = slice_from(bytes, (size_t)len - 1);
    const char *end = memmem(rest.ptr, rest.len, "\n\n", 2);
    if (!end) return 0;
    size_t n = (size_t)(end - bytes.ptr) + 2;
    bool is_text = !memchr(bytes.ptr, 0, n) && !memchr(bytes.ptr, '\r', n);
    return is_text ? n : 0;
}

bool chunk_are_events(struct weir_slice bytes, uint64_t first, uint64_t last, uint64_t *bad)
{
    for (*bad = first; *bad <= last; ++*bad) {
        size_t n = numbered_length(bytes, *bad);
        if (n == 0) return false;
        bytes = slice_from(bytes, n);
    }
    return bytes.len == 0;
}
