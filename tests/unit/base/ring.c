/* SPDX-License-Identifier: Apache-2.0 */
#include "base/ring.h"

#include "base/fault.h"
#include "t.h"

static char items[4096];

TEST(empty_ring_gives_nothing)
{
    struct ring r;
    ring_init(&r, 4);
    T_OK(!ring_pop(&r));
    T_OK(!ring_peek(&r, 0));
    ring_fini(&r);
}

TEST(ceiling_is_met_exactly)
{
    for (size_t max = 0; max < 40; max++) {
        struct ring r;
        ring_init(&r, max);
        for (size_t i = 0; i < max; i++) T_EQ(ring_push(&r, &items[i]), WEIR_OK);
        T_EQ(ring_push(&r, &items[max]), WEIR_LIMIT);
        T_OK(r.cap <= max);
        for (size_t i = 0; i < max; i++) T_OK(ring_peek(&r, i) == &items[i]);
        for (size_t i = 0; i < max; i++) T_OK(ring_pop(&r) == &items[i]);
        T_OK(!ring_pop(&r));
        ring_fini(&r);
    }
}

TEST(random_pushes_and_pops_agree_with_two_counters)
{
    for (int run = 0; run < 50; run++) {
        struct ring r;
        size_t max = 1 + t_random() % 100;
        size_t n_pushed = 0, n_popped = 0;
        ring_init(&r, max);
        for (int step = 0; step < 2000; step++) {
            bool is_push = t_random() % 100 < (step % 400 < 200 ? 65 : 35);
            if (is_push) {
                bool is_full = n_pushed - n_popped == max;
                T_EQ(ring_push(&r, &items[n_pushed]), is_full ? WEIR_LIMIT : WEIR_OK);
                n_pushed += !is_full;
            } else {
                bool is_empty = n_pushed == n_popped;
                T_OK(ring_pop(&r) == (is_empty ? NULL : &items[n_popped]));
                n_popped += !is_empty;
            }
            size_t len = n_pushed - n_popped;
            size_t i = t_random() % (len + 1);
            T_EQ(r.len, len);
            T_OK(ring_peek(&r, i) == (i < len ? &items[n_popped + i] : NULL));
        }
        ring_fini(&r);
    }
}

TEST(failed_allocation_keeps_what_is_queued)
{
    struct ring r;
    ring_init(&r, 100);
    size_t n = 0, n_failures = 0;
    while (n < 100) {
        fault_arm(FAULT_ALLOC, 1, FAULT_ONCE);
        enum weir_status st = ring_push(&r, &items[n]);
        fault_disarm_all();
        if (st == WEIR_OK) n++;
        else {
            n_failures++;
            T_EQ(st, WEIR_NOMEM);
            T_EQ(ring_push(&r, &items[n++]), WEIR_OK);
        }
    }
    T_EQ(n_failures, 5); /* 8, 16, 32, 64, 100 */
    for (size_t i = 0; i < n; i++) T_OK(ring_pop(&r) == &items[i]);
    ring_fini(&r);
}
