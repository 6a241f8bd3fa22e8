/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "base/fault.h"
#include "base/slice.h"
#include "fan/fan_impl.h"
#include "t.h"
#include "unit/fan/fake_store.h"

/* Events first..last of log 1. */
static struct chunk *events(uint64_t first, uint64_t last)
{
    static char bytes[1 << 20];
    size_t len = 0;
    for (uint64_t id = first; id <= last; id++) len += fake_event(bytes + len, 1, id);
    struct chunk *c = chunk_new(first, last, len);
    memcpy(c->bytes, bytes, len);
    return c;
}

static void push(struct window **w, uint64_t first, uint64_t last)
{
    struct chunk *c = events(first, last);
    T_OK(window_push_back(w, c));
    chunk_unref(c);
}

static void push_front(struct window **w, uint64_t first, uint64_t last)
{
    struct chunk *c = events(first, last);
    T_OK(window_push_front(w, c));
    chunk_unref(c);
}

static size_t true_cost(const struct window *w)
{
    size_t cost = 0;
    for (uint32_t i = 0; w && i < w->n; i++) cost += chunk_cost(w->chunks[w->at + i]);
    return cost;
}

/* Every event from first to last is found, and none beside them. */
static void has_just(const struct window *w, uint64_t first, uint64_t last)
{
    char event[FAKE_EVENT_BYTES];
    T_OK(!window_find(w, first - 1));
    T_OK(!window_find(w, last + 1));
    for (uint64_t id = first; id <= last; id++) {
        const struct chunk *c = window_find(w, id);
        T_OK(c && c->first <= id && c->last >= id);
        size_t len = fake_event(event, 1, id);
        if (c) T_OK(memcmp(chunk_from(c, id).ptr, event, len) == 0);
    }
    T_EQ(window_cost(w), true_cost(w));
}

TEST(empty_window_has_nothing)
{
    T_OK(!window_find(NULL, 1));
    T_EQ(window_cost(NULL), 0);
}

TEST(events_are_found_at_both_ends_and_between)
{
    struct window *w = NULL;
    push(&w, 10, 12);
    push(&w, 13, 13);
    push(&w, 14, 30);
    has_just(w, 10, 30);
    push_front(&w, 5, 9);
    push_front(&w, 4, 4);
    has_just(w, 4, 30);
    window_pop_front(&w);
    has_just(w, 5, 30);
    window_free(&w);
    T_OK(!w);
}

TEST(a_chunk_that_covers_others_takes_their_place)
{
    struct window *w = NULL;
    push(&w, 5, 11);
    push(&w, 12, 14);
    push(&w, 15, 16);
    push(&w, 10, 32);
    has_just(w, 5, 32);
    window_merge(w, 11);
    has_just(w, 5, 32);
    push(&w, 5, 40);
    T_EQ(w->n, 1);
    has_just(w, 5, 40);
    window_free(&w);
}

TEST(chunks_may_overlap)
{
    struct window *w = NULL;
    push(&w, 10, 12);
    push(&w, 11, 15);
    push_front(&w, 8, 11);
    has_just(w, 8, 15);
    T_EQ(w->n, 3);
    push_front(&w, 2, 13); /* has all of the first two */
    T_EQ(w->n, 2);
    has_just(w, 2, 15);
    push_front(&w, 1, 20);
    T_EQ(w->n, 1);
    has_just(w, 1, 20);
    window_free(&w);
}

TEST(merging_joins_small_chunks_and_keeps_the_bytes)
{
    struct window *w = NULL;
    for (uint64_t id = 1; id <= 300; id++) push(&w, id, id);
    push(&w, 299, 310);
    T_EQ(w->n, 299); /* 299 and 300 are in the last one */
    T_OK(window_merge(w, 100));
    T_OK(w->n <= 99 + 2);
    has_just(w, 1, 310);
    T_OK(window_merge(w, 1));
    T_OK(w->n <= 3);
    has_just(w, 1, 310);
    for (uint32_t i = 0; i < w->n; i++) T_OK(window_first(w)->len <= MERGE_BYTES);
    window_free(&w);
}

TEST(merging_without_memory_changes_nothing)
{
    struct window *w = NULL;
    for (uint64_t id = 1; id <= 20; id++) push(&w, id, id);
    fault_arm(FAULT_ALLOC, 1, FAULT_FROM);
    T_OK(!window_merge(w, 1));
    fault_disarm_all();
    T_EQ(w->n, 20);
    has_just(w, 1, 20);
    window_free(&w);
}

TEST(window_of_very_many_chunks_merges_unasked)
{
    struct window *w = NULL;
    for (uint64_t id = 1; id <= 5000; id++) {
        push(&w, id, id);
        T_OK(w->n < WINDOW_CHUNKS + 30);
        if (w->cost > 200000) window_pop_front(&w);
    }
    T_EQ(window_last(w)->last, 5000);
    has_just(w, window_first(w)->first, 5000);
    window_free(&w);
}

TEST(cut_is_the_longest_run_of_whole_events)
{
    struct chunk *c = events(98, 112);
    struct weir_slice all = slice_of(c->bytes, c->len);
    size_t ends[15];
    for (uint64_t id = 98; id <= 112; id++) ends[id - 98] = chunk_up_to(c, id).len;
    for (size_t max = 0; max <= c->len + 1; max++) {
        uint64_t next = 113;
        size_t want = 0;
        uint64_t want_next = 113;
        for (size_t i = 0; i < 15; i++)
            if (ends[i] <= max) want = ends[i], want_next = 99 + i;
        T_EQ(chunk_cut(all, max, &next), want);
        if (want > 0) T_EQ(next, want_next);
    }
    T_EQ(chunk_first_event(all), ends[0]);
    chunk_unref(c);
}
