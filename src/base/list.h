/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An intrusive doubly-linked list: the links are a member of what is listed, so
 * adding cannot fail and removing needs no search.
 *
 * 1. list_init() the list; a node needs only to be zeroed.
 * 2. list_push_back(), list_push_front(); a node is in one list at most.
 * 3. list_remove(), list_pop_front(). The node may be listed again, or freed.
 *
 * Walk with
 *     for (struct list_node *n = list_first(&l); n; n = list_next(&l, n))
 *         struct thing *t = CONTAINER_OF(n, struct thing, node);
 * and take list_next() before the removal of a node inside the loop.
 *
 * The list owns nothing, and must not move while it has nodes. One thread at a time.
 */
#pragma once

#include <stdbool.h>

#include "base/check.h"
#include "base/container.h"

struct list_node {
    struct list_node *prev; /* NULL: not in a list */
    struct list_node *next;
};

/* A ring through `ends`, which is before the first and after the last node. */
struct list {
    struct list_node ends;
};

static inline void list_init(struct list *l)
{
    l->ends.prev = l->ends.next = &l->ends;
}

static inline bool list_is_empty(const struct list *l)
{
    return l->ends.next == &l->ends;
}

static inline bool list_is_linked(const struct list_node *node)
{
    return node->prev != NULL;
}

/* NULL at the end. */
static inline struct list_node *list_next(const struct list *l, const struct list_node *node)
{
    return node->next == &l->ends ? NULL : node->next;
}

static inline struct list_node *list_first(const struct list *l)
{
    return list_next(l, &l->ends);
}

static inline struct list_node *list_last(const struct list *l)
{
    return l->ends.prev == &l->ends ? NULL : l->ends.prev;
}

/* Links a node behind another that is in a list. */
static inline void list_insert_after(struct list_node *place, struct list_node *node)
{
    CHECK(!list_is_linked(node));
    *node = (struct list_node){.prev = place, .next = place->next};
    place->next->prev = node;
    place->next = node;
}

static inline void list_push_back(struct list *l, struct list_node *node)
{
    list_insert_after(l->ends.prev, node);
}

static inline void list_push_front(struct list *l, struct list_node *node)
{
    list_insert_after(&l->ends, node);
}

/* The node must be in a list. */
static inline void list_remove(struct list_node *node)
{
    CHECK(list_is_linked(node));
    node->prev->next = node->next;
    node->next->prev = node->prev;
    *node = (struct list_node){0};
}

/* Removes and returns the first node; NULL when the list is empty. */
static inline struct list_node *list_pop_front(struct list *l)
{
    struct list_node *node = list_first(l);
    if (node) list_remove(node);
    return node;
}

/* Moves all nodes behind those of `to`, in their order, without touching each. */
static inline void list_move_all(struct list *from, struct list *to)
{
    if (list_is_empty(from)) return;
    from->ends.next->prev = to->ends.prev;
    from->ends.prev->next = &to->ends;
    to->ends.prev->next = from->ends.next;
    to->ends.prev = from->ends.prev;
    list_init(from);
}
