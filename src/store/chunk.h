/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A chunk: some events of a log, one behind the other, as they go on the wire. Each event
 * begins with its id line and ends with an empty one, and has no other.
 *
 * 1. chunk_new() with room for the bytes, which its maker fills in before anyone else has it.
 * 2. From then on it does not change. chunk_ref() for each further holder.
 * 3. chunk_unref() by each holder; the last one frees.
 *
 * Any thread.
 */
#pragma once

#include <stdatomic.h>

#include <weir/types.h>

struct chunk {
    atomic_uint refs;
    uint32_t len;
    uint64_t first; /* id of its first event */
    uint64_t last;  /* id of its last event */
    char bytes[];
};

/* With one reference. NULL when there is no memory. */
struct chunk *chunk_new(uint64_t first, uint64_t last, size_t len);

struct chunk *chunk_ref(struct chunk *c);
void chunk_unref(struct chunk *c); /* NULL is allowed */

/* The bytes from event `id` on, which is in the chunk. Borrowed. */
struct weir_slice chunk_from(const struct chunk *c, uint64_t id);

/* The bytes of the events up to `id`, which is in the chunk. Borrowed. */
struct weir_slice chunk_up_to(const struct chunk *c, uint64_t id);

/* How long the first of some events is, up to the end of its empty line; 0 when it has none. */
size_t chunk_event_length(struct weir_slice events);

/* The rest of an event's line that begins so, as "data: "; empty: it has none. Borrowed. */
struct weir_slice chunk_event_line(struct weir_slice event, const char *name);

/* Whether bytes are the events first..last and nothing else; if not, *bad is the first wrong one.
 */
bool chunk_are_events(struct weir_slice bytes, uint64_t first, uint64_t last, uint64_t *bad);
