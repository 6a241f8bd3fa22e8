/* SPDX-License-Identifier: Apache-2.0 */
#include "base/heap.h"

#include "base/fault.h"
#include "t.h"

enum { N_NODES = 300 };

TEST(empty_heap_gives_nothing)
{
    struct heap h;
    heap_init(&h, 4);
    T_OK(!heap_peek(&h));
    T_OK(!heap_pop(&h));
    heap_fini(&h);
}

TEST(equal_dues_come_out_in_the_order_of_pushing)
{
    struct heap h;
    struct heap_node nodes[N_NODES] = {{0}};
    heap_init(&h, N_NODES);
    for (size_t i = 0; i < N_NODES; i++) T_EQ(heap_push(&h, &nodes[i], i % 3), WEIR_OK);
    for (size_t due = 0; due < 3; due++)
        for (size_t i = due; i < N_NODES; i += 3) T_OK(heap_pop(&h) == &nodes[i]);
    T_OK(!heap_pop(&h));
    heap_fini(&h);
}

TEST(ceiling_is_met_exactly)
{
    for (size_t max = 0; max < 40; max++) {
        struct heap h;
        struct heap_node nodes[41] = {{0}};
        heap_init(&h, max);
        for (size_t i = 0; i < max; i++) T_EQ(heap_push(&h, &nodes[i], 100 - i), WEIR_OK);
        T_EQ(heap_push(&h, &nodes[max], 0), WEIR_LIMIT);
        T_OK(!heap_is_linked(&nodes[max]));
        T_EQ(h.len, max);
        T_OK(h.cap <= max);
        heap_fini(&h);
    }
}

TEST(fini_unlinks_what_is_left)
{
    struct heap h;
    struct heap_node node = {0};
    heap_init(&h, 1);
    T_EQ(heap_push(&h, &node, 1), WEIR_OK);
    T_OK(heap_is_linked(&node));
    heap_fini(&h);
    T_OK(!heap_is_linked(&node));
}

/* The earliest of the nodes that are in, by looking at all. */
static struct heap_node *slow_peek(struct heap_node nodes[N_NODES])
{
    struct heap_node *best = NULL;
    for (size_t i = 0; i < N_NODES; i++) {
        struct heap_node *n = &nodes[i];
        if (!heap_is_linked(n)) continue;
        if (!best || n->due < best->due || (n->due == best->due && n->order < best->order))
            best = n;
    }
    return best;
}

static size_t count_linked(const struct heap_node nodes[N_NODES])
{
    size_t n = 0;
    for (size_t i = 0; i < N_NODES; i++) n += heap_is_linked(&nodes[i]);
    return n;
}

TEST(random_changes_agree_with_a_search_of_all_nodes)
{
    for (int run = 0; run < 10; run++) {
        struct heap h;
        struct heap_node nodes[N_NODES] = {{0}};
        heap_init(&h, N_NODES);
        for (int step = 0; step < 5000; step++) {
            struct heap_node *n = &nodes[t_random() % N_NODES];
            uint64_t due = t_random() % 50;
            struct heap_node *earliest = slow_peek(nodes);
            if (!heap_is_linked(n)) T_EQ(heap_push(&h, n, due), WEIR_OK);
            else if (due < 15) heap_remove(&h, n);
            else if (due < 30) T_OK(heap_pop(&h) == earliest);
            else heap_move(&h, n, due);
            T_OK(heap_peek(&h) == slow_peek(nodes));
            T_EQ(h.len, count_linked(nodes));
        }
        for (uint64_t last = 0; h.len > 0;) {
            struct heap_node *n = heap_pop(&h);
            T_OK(n->due >= last);
            last = n->due;
        }
        heap_fini(&h);
    }
}

TEST(failed_allocation_leaves_the_heap_as_it_was)
{
    for (uint64_t nth = 1;; nth++) {
        struct heap h;
        struct heap_node nodes[100] = {{0}};
        enum weir_status st = WEIR_OK;
        size_t n = 0;
        heap_init(&h, 100);
        fault_arm(FAULT_ALLOC, nth, FAULT_ONCE);
        while (n < 100 && (st = heap_push(&h, &nodes[n], 1000 - n)) == WEIR_OK) n++;
        fault_disarm_all();
        T_EQ(h.len, n);
        for (size_t i = n; i > 0; i--) T_OK(heap_pop(&h) == &nodes[i - 1]);
        heap_fini(&h);
        if (st == WEIR_OK) break;
        T_EQ(st, WEIR_NOMEM);
        T_OK(!heap_is_linked(&nodes[n]));
    }
}
