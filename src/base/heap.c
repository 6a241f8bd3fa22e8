/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A binary heap in an array: the children of i are 2i + 1 and 2i + 2, and no
 * child is before its parent. Each node knows its place, so any node can be
 * removed without a search.
 */
#include "base/heap.h"

#include "base/check.h"
#include "base/mem.h"

enum { FIRST_CAP = 16 };

void heap_init(struct heap *h, size_t max_nodes)
{
    *h = (struct heap){.max = max_nodes};
}

void heap_fini(struct heap *h)
{
    for (size_t i = 0; i < h->len; i++) h->slots[i]->place = 0;
    mem_free(h->slots);
    heap_init(h, h->max);
}

static bool is_before(const struct heap_node *a, const struct heap_node *b)
{
    return a->due != b->due ? a->due < b->due : a->order < b->order;
}

static void put_at(struct heap *h, size_t i, struct heap_node *node)
{
    h->slots[i] = node;
    node->place = i + 1;
}

static void sift_up(struct heap *h, size_t i, struct heap_node *node)
{
    while (i > 0 && is_before(node, h->slots[(i - 1) / 2])) {
        put_at(h, i, h->slots[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
    put_at(h, i, node);
}

static void sift_down(struct heap *h, size_t i, struct heap_node *node)
{
    for (;;) {
        size_t child = 2 * i + 1;
        if (child + 1 < h->len && is_before(h->slots[child + 1], h->slots[child])) child++;
        if (child >= h->len || !is_before(h->slots[child], node)) break;
        put_at(h, i, h->slots[child]);
        i = child;
    }
    put_at(h, i, node);
}

/* Puts a node at a place that is free, or up or down from there. */
static void settle(struct heap *h, size_t i, struct heap_node *node)
{
    if (i > 0 && is_before(node, h->slots[(i - 1) / 2])) sift_up(h, i, node);
    else sift_down(h, i, node);
}

static enum weir_status grow(struct heap *h)
{
    if (h->cap >= h->max) return WEIR_LIMIT;
    size_t cap = h->cap > h->max / 2 ? h->max : h->cap * 2;
    if (cap < FIRST_CAP) cap = h->max < FIRST_CAP ? h->max : FIRST_CAP;
    if (cap > SIZE_MAX / sizeof *h->slots) return WEIR_NOMEM;
    struct heap_node **slots = mem_realloc(h->slots, cap * sizeof *slots);
    if (!slots) return WEIR_NOMEM;
    h->slots = slots;
    h->cap = cap;
    return WEIR_OK;
}

enum weir_status heap_push(struct heap *h, struct heap_node *node, uint64_t due)
{
    CHECK(!heap_is_linked(node));
    if (h->len == h->cap) {
        enum weir_status st = grow(h);
        if (st != WEIR_OK) return st;
    }
    node->due = due;
    node->order = h->n_pushed++;
    sift_up(h, h->len++, node);
    return WEIR_OK;
}

struct heap_node *heap_peek(const struct heap *h)
{
    return h->len > 0 ? h->slots[0] : NULL;
}

struct heap_node *heap_pop(struct heap *h)
{
    struct heap_node *node = heap_peek(h);
    if (node) heap_remove(h, node);
    return node;
}

void heap_remove(struct heap *h, struct heap_node *node)
{
    size_t i = node->place - 1;
    CHECK(i < h->len && h->slots[i] == node);
    struct heap_node *last = h->slots[--h->len];
    if (last != node) settle(h, i, last);
    node->place = 0;
}

void heap_move(struct heap *h, struct heap_node *node, uint64_t due)
{
    size_t i = node->place - 1;
    CHECK(i < h->len && h->slots[i] == node);
    node->due = due;
    node->order = h->n_pushed++;
    settle(h, i, node);
}
