/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A first-in first-out queue of pointers with a mandatory ceiling. It grows by
 * doubling up to the ceiling and keeps its memory until the end.
 *
 * 1. ring_init() with the most pointers it may ever hold. Takes no memory yet.
 * 2. ring_push() at the back, ring_pop() at the front.
 * 3. ring_fini(); what is still queued belongs to the caller, who pops it before.
 *
 * The ring never looks behind the pointers; they are never NULL. One thread at a time.
 */
#pragma once

#include <weir/status.h>

struct ring {
    void **slots;
    size_t cap;
    size_t first; /* index of the oldest, < cap unless cap is 0 */
    size_t len;
    size_t max; /* ceiling on cap */
};

void ring_init(struct ring *r, size_t max_items);
void ring_fini(struct ring *r);

/* WEIR_LIMIT at the ceiling, WEIR_NOMEM; the ring is then as it was. */
WEIR_MUST_CHECK enum weir_status ring_push(struct ring *r, void *item);

/* Removes and returns the oldest; NULL when the ring is empty. */
void *ring_pop(struct ring *r);

/* The i-th oldest, without removing it; NULL when there are not so many. */
void *ring_peek(const struct ring *r, size_t i);
