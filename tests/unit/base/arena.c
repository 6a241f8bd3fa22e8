/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"

#include "base/fault.h"
#include "base/slice.h"
#include "t.h"

TEST(pieces_are_aligned_and_apart)
{
    struct arena a;
    unsigned char *pieces[500];
    size_t sizes[500];
    arena_init(&a, 1 << 20);
    for (size_t i = 0; i < 500; i++) {
        sizes[i] = t_random() % 100;
        pieces[i] = arena_alloc(&a, sizes[i]);
        T_OK(pieces[i] && (uintptr_t)pieces[i] % sizeof(void *) == 0);
        memset(pieces[i], (int)(i % 256), sizes[i]);
    }
    for (size_t i = 0; i < 500; i++)
        for (size_t k = 0; k < sizes[i]; k++) T_EQ(pieces[i][k], i % 256);
    arena_fini(&a);
}

TEST(no_bytes_from_a_new_arena_is_no_failure)
{
    struct arena a;
    arena_init(&a, 1000);
    T_OK(arena_alloc(&a, 0));
    arena_fini(&a);
}

TEST(blocks_never_pass_the_ceiling)
{
    for (size_t max = 0; max < 20000; max += 997) {
        struct arena a;
        size_t got = 0;
        arena_init(&a, max);
        while (arena_alloc(&a, 64)) got += 64;
        T_EQ(a.status, WEIR_LIMIT);
        T_OK(a.n_bytes <= max);
        T_OK(got + 3 * 80 >= max); /* little is wasted at the ends of the blocks */
        arena_fini(&a);
    }
}

TEST(absurd_sizes_are_a_limit)
{
    struct arena a;
    arena_init(&a, SIZE_MAX);
    T_OK(arena_alloc(&a, 1));
    for (size_t less = 0; less < 20; less++) {
        T_OK(!arena_alloc(&a, SIZE_MAX - less));
        T_EQ(a.status, WEIR_LIMIT);
    }
    arena_fini(&a);
}

TEST(huge_piece_gets_a_block_of_its_own)
{
    struct arena a;
    arena_init(&a, 64 << 20);
    char *p = arena_alloc(&a, 5 << 20);
    T_OK(p);
    memset(p, 1, 5 << 20);
    T_OK(arena_alloc(&a, 10));
    arena_reset(&a);
    T_OK(a.n_bytes <= 1 << 20);
    p = arena_alloc(&a, 5 << 20);
    T_OK(p);
    arena_reset(&a); /* the newest block is the huge one now, and not kept */
    T_EQ(a.n_bytes, 0);
    arena_fini(&a);
}

TEST(reset_keeps_a_block_and_clears_the_failure)
{
    struct arena a;
    arena_init(&a, 10000);
    while (arena_alloc(&a, 100)) continue;
    arena_reset(&a);
    T_EQ(a.status, WEIR_OK);
    fault_arm(FAULT_ALLOC, 1, FAULT_FROM);
    T_OK(arena_alloc(&a, 100));
    fault_disarm_all();
    arena_fini(&a);
    arena_reset(&a);
    T_OK(arena_alloc(&a, 100)); /* and may be used again after fini */
    arena_fini(&a);
}

TEST(no_memory_is_told_from_the_limit)
{
    struct arena a;
    arena_init(&a, 1 << 20);
    fault_arm(FAULT_ALLOC, 1, FAULT_ONCE);
    T_OK(!arena_alloc(&a, 10));
    T_EQ(a.status, WEIR_NOMEM);
    fault_disarm_all();
    T_OK(arena_alloc(&a, 10));
    arena_fini(&a);
}

static void append(struct arena *a, struct arena_text *t, char c)
{
    T_EQ(arena_text_reserve(a, t, 1), WEIR_OK);
    t->ptr[t->len++] = c;
}

TEST(newest_text_grows_where_it_stands)
{
    struct arena a;
    struct arena_text t = {0};
    arena_init(&a, 1 << 20);
    append(&a, &t, 'a');
    char *first = t.ptr;
    for (int i = 0; i < 1000; i++) append(&a, &t, 'b');
    T_OK(t.ptr == first);
    arena_fini(&a);
}

TEST(texts_that_grow_in_turn_stay_whole)
{
    struct arena a;
    struct arena_text texts[4] = {{0}};
    arena_init(&a, 16 << 20);
    for (int i = 0; i < 20000; i++) append(&a, &texts[t_random() % 4], (char)('a' + i % 26));
    size_t total = 0;
    for (int k = 0; k < 4; k++) total += texts[k].len;
    T_EQ(total, 20000);
    T_OK(a.n_bytes < 40 * 20000); /* doubling, not a copy for each byte */
    arena_fini(&a);
}

TEST(old_bytes_stay_readable_where_they_were)
{
    struct arena a;
    struct arena_text t = {0};
    arena_init(&a, 1 << 20);
    append(&a, &t, 'a');
    struct weir_slice before = {t.ptr, t.len};
    T_OK(arena_alloc(&a, 8)); /* now it has to move */
    append(&a, &t, 'b');
    T_OK(t.ptr != before.ptr);
    T_EQ_STR(before, "a");
    T_EQ_STR(slice_of(t.ptr, t.len), "ab");
    arena_fini(&a);
}

TEST(text_past_the_ceiling_is_a_limit_and_keeps_its_bytes)
{
    struct arena a;
    struct arena_text t = {0};
    arena_init(&a, 5000);
    while (arena_text_reserve(&a, &t, 1) == WEIR_OK) t.ptr[t.len++] = 'x';
    T_EQ(a.status, WEIR_LIMIT);
    T_OK(t.len > 3000);
    for (size_t i = 0; i < t.len; i++) T_EQ(t.ptr[i], 'x');
    T_EQ(arena_text_reserve(&a, &t, SIZE_MAX), WEIR_LIMIT);
    arena_fini(&a);
}

TEST(failed_allocation_leaves_text_as_it_was)
{
    for (uint64_t nth = 1;; nth++) {
        struct arena a;
        struct arena_text t = {0};
        enum weir_status st = WEIR_OK;
        arena_init(&a, 1 << 20);
        fault_arm(FAULT_ALLOC, nth, FAULT_FROM);
        while (t.len < 50000 && (st = arena_text_reserve(&a, &t, 1)) == WEIR_OK)
            t.ptr[t.len++] = 'x';
        fault_disarm_all();
        for (size_t i = 0; i < t.len; i++) T_OK(t.ptr[i] == 'x');
        arena_fini(&a);
        if (st == WEIR_OK) break;
        T_EQ(st, WEIR_NOMEM);
    }
}
