/* SPDX-License-Identifier: Apache-2.0 */
#include "base/list.h"

#include "t.h"

struct thing {
    int number;
    struct list_node node;
};

/* The numbers from front to back as decimal digits; checks the way back too. */
static long long digits(const struct list *l)
{
    long long forth = 0, back = 0, scale = 1;
    for (struct list_node *n = list_first(l); n; n = list_next(l, n))
        forth = forth * 10 + CONTAINER_OF(n, struct thing, node)->number;
    for (const struct list_node *n = l->ends.prev; n != &l->ends; n = n->prev, scale *= 10)
        back += scale * CONTAINER_OF((uintptr_t)n, struct thing, node)->number;
    T_EQ(back, forth);
    return forth;
}

TEST(new_list_is_empty)
{
    struct list l;
    list_init(&l);
    T_OK(list_is_empty(&l));
    T_OK(!list_first(&l));
    T_OK(!list_last(&l));
    T_OK(!list_pop_front(&l));
}

TEST(nodes_stand_where_they_were_pushed)
{
    struct thing t[4] = {{.number = 1}, {.number = 2}, {.number = 3}, {.number = 4}};
    struct list l;
    list_init(&l);
    list_push_back(&l, &t[1].node);
    list_push_back(&l, &t[3].node);
    list_push_front(&l, &t[0].node);
    list_insert_after(&t[1].node, &t[2].node);
    T_EQ(digits(&l), 1234);
    T_OK(list_first(&l) == &t[0].node);
    T_OK(list_last(&l) == &t[3].node);
}

TEST(removed_node_is_unlinked_and_may_be_pushed_again)
{
    struct thing t[3] = {{.number = 1}, {.number = 2}, {.number = 3}};
    struct list l;
    list_init(&l);
    for (int i = 0; i < 3; i++) list_push_back(&l, &t[i].node);
    list_remove(&t[1].node);
    T_EQ(digits(&l), 13);
    T_OK(!list_is_linked(&t[1].node));
    T_OK(list_is_linked(&t[0].node));
    list_push_front(&l, &t[1].node);
    T_EQ(digits(&l), 213);
    T_OK(list_pop_front(&l) == &t[1].node);
    T_OK(list_pop_front(&l) == &t[0].node);
    T_OK(list_pop_front(&l) == &t[2].node);
    T_OK(list_is_empty(&l));
}

TEST(nodes_may_be_removed_during_a_walk)
{
    struct thing t[5] = {{.number = 1}, {.number = 2}, {.number = 3}, {.number = 4}, {.number = 5}};
    struct list l;
    list_init(&l);
    for (int i = 0; i < 5; i++) list_push_back(&l, &t[i].node);
    for (struct list_node *n = list_first(&l), *next; n; n = next) {
        next = list_next(&l, n);
        if (CONTAINER_OF(n, struct thing, node)->number % 2 == 1) list_remove(n);
    }
    T_EQ(digits(&l), 24);
}

TEST(all_nodes_move_behind_those_of_another_list)
{
    struct thing t[4] = {{.number = 1}, {.number = 2}, {.number = 3}, {.number = 4}};
    struct list from;
    struct list to;
    list_init(&from);
    list_init(&to);
    list_move_all(&from, &to);
    T_OK(list_is_empty(&to));
    list_push_back(&from, &t[0].node);
    list_push_back(&from, &t[1].node);
    list_move_all(&from, &to);
    T_OK(list_is_empty(&from));
    T_EQ(digits(&to), 12);
    list_push_back(&from, &t[2].node);
    list_push_back(&from, &t[3].node);
    list_move_all(&from, &to);
    T_EQ(digits(&to), 1234);
    list_remove(&t[2].node);
    T_EQ(digits(&to), 124);
}
