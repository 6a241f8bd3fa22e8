/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A min-heap of timers, or of anything else that is due in an order. Nodes are
 * members of what is timed; the heap holds an array of pointers to them, with a
 * mandatory ceiling. What is due at the same moment comes out in the order it
 * was pushed.
 *
 * 1. heap_init() with the most nodes it may ever hold. Takes no memory yet.
 * 2. heap_push() a zeroed node; heap_peek() and heap_pop() the earliest;
 *    heap_remove() or heap_move() any node that is in.
 * 3. heap_fini() forgets the nodes, which belong to the caller.
 *
 * Each change takes O(log n); only heap_push() can fail. A node must not move in
 * memory while it is in. One thread at a time.
 */
#pragma once

#include <weir/status.h>

#include "base/container.h"

struct heap_node {
    uint64_t due;
    uint64_t order; /* of pushing, decides between equal dues */
    size_t place;   /* index in slots plus 1; 0: not in a heap */
};

struct heap {
    struct heap_node **slots;
    size_t len;
    size_t cap;
    size_t max; /* ceiling on cap */
    uint64_t n_pushed;
};

void heap_init(struct heap *h, size_t max_nodes);
void heap_fini(struct heap *h);

/* WEIR_LIMIT at the ceiling, WEIR_NOMEM; the heap is then as it was. */
WEIR_MUST_CHECK enum weir_status heap_push(struct heap *h, struct heap_node *node, uint64_t due);

/* The earliest node, which stays in; NULL when the heap is empty. */
struct heap_node *heap_peek(const struct heap *h);

/* Removes and returns the earliest node; NULL when the heap is empty. */
struct heap_node *heap_pop(struct heap *h);

/* The node must be in this heap. */
void heap_remove(struct heap *h, struct heap_node *node);

/* Gives a node that is in another due, as if it were removed and pushed; cannot fail. */
void heap_move(struct heap *h, struct heap_node *node, uint64_t due);

static inline bool heap_is_linked(const struct heap_node *node)
{
    return node->place != 0;
}
