/* SPDX-License-Identifier: Apache-2.0 */
#include "base/map.h"

#include <stdio.h>

#include "base/fault.h"
#include "base/slice.h"
#include "t.h"

static int values[1000];

TEST(empty_map_has_nothing)
{
    struct map m;
    map_init(&m, 10);
    T_OK(!map_get(&m, SLICE("a")));
    T_OK(!map_take(&m, SLICE("a")));
    struct map_walk walk = map_walk_begin(&m);
    T_OK(!map_walk_next(&m, &walk));
    map_fini(&m);
}

TEST(keys_are_bytes_of_any_length_and_are_copied)
{
    struct map m;
    char key[300];
    map_init(&m, 1000);
    memset(key, 0, sizeof key);
    for (size_t len = 0; len < sizeof key; len++)
        T_EQ(map_put(&m, slice_of(key, len), &values[len]), WEIR_OK);
    T_EQ(map_put(&m, (struct weir_slice){NULL, 0}, &values[0]), WEIR_OK);
    T_EQ(m.len, sizeof key);
    static const char zeros[300];
    memset(key, 'x', sizeof key);
    for (size_t len = 0; len < sizeof key; len++)
        T_OK(map_get(&m, slice_of(zeros, len)) == &values[len]);
    map_fini(&m);
}

TEST(numbers_can_be_keys)
{
    struct map m;
    map_init(&m, 1000);
    for (uint64_t i = 0; i < 1000; i++) T_EQ(map_put(&m, map_key_of(&i), &values[i]), WEIR_OK);
    for (uint64_t i = 0; i < 1000; i++) T_OK(map_get(&m, map_key_of(&i)) == &values[i]);
    map_fini(&m);
}

TEST(put_replaces_the_value_of_a_key)
{
    struct map m;
    map_init(&m, 1);
    T_EQ(map_put(&m, SLICE("a"), &values[1]), WEIR_OK);
    T_EQ(map_put(&m, SLICE("a"), &values[2]), WEIR_OK); /* at the ceiling, and no new key */
    T_EQ(m.len, 1);
    T_OK(map_take(&m, SLICE("a")) == &values[2]);
    T_OK(!map_take(&m, SLICE("a")));
    map_fini(&m);
}

TEST(new_key_past_the_ceiling_is_refused)
{
    struct map m;
    map_init(&m, 2);
    T_EQ(map_put(&m, SLICE("a"), &values[1]), WEIR_OK);
    T_EQ(map_put(&m, SLICE("b"), &values[2]), WEIR_OK);
    T_EQ(map_put(&m, SLICE("c"), &values[3]), WEIR_LIMIT);
    T_OK(!map_get(&m, SLICE("c")));
    T_OK(map_take(&m, SLICE("a")) == &values[1]);
    T_EQ(map_put(&m, SLICE("c"), &values[3]), WEIR_OK);
    map_fini(&m);
    map_init(&m, 0);
    T_EQ(map_put(&m, SLICE("a"), &values[1]), WEIR_LIMIT);
    map_fini(&m);
}

TEST(maps_hash_differently)
{
    struct map a, b;
    map_init(&a, 1);
    map_init(&b, 1);
    T_OK(a.hash_key.k0 != b.hash_key.k0 || a.hash_key.k1 != b.hash_key.k1);
    map_fini(&a);
    map_fini(&b);
}

/* Long enough that some keys are allocated and some are not. */
static struct weir_slice key_number(char out[40], unsigned i)
{
    int len = snprintf(out, 40, i % 2 ? "%u" : "a key with a long name %u", i);
    return slice_of(out, (size_t)len);
}

enum { N_KEYS = 200 };

static void compare_with_model(const struct map *m, void *const model[N_KEYS])
{
    bool seen[N_KEYS] = {false};
    size_t n_model = 0, n_walked = 0;
    char text[40];
    for (unsigned i = 0; i < N_KEYS; i++) {
        n_model += model[i] != NULL;
        T_OK(map_get(m, key_number(text, i)) == model[i]);
    }
    T_EQ(m->len, n_model);
    struct map_walk walk = map_walk_begin(m);
    for (; map_walk_next(m, &walk); n_walked++) {
        size_t i = (size_t)((int *)walk.value - values) % N_KEYS;
        T_OK(!seen[i]);
        T_OK(model[i] == walk.value);
        T_EQ_SLICE(walk.key, key_number(text, (unsigned)i));
        seen[i] = true;
    }
    T_EQ(n_walked, n_model);
}

TEST(random_changes_agree_with_a_plain_array)
{
    for (int run = 0; run < 5; run++) {
        void *model[N_KEYS] = {NULL};
        struct map m;
        char text[40];
        map_init(&m, N_KEYS);
        for (int step = 0; step < 4000; step++) {
            unsigned i = (unsigned)(t_random() % N_KEYS);
            if (t_random() % 2) {
                model[i] = &values[i + N_KEYS * (t_random() % 4)];
                T_EQ(map_put(&m, key_number(text, i), model[i]), WEIR_OK);
            } else {
                T_OK(map_take(&m, key_number(text, i)) == model[i]);
                model[i] = NULL;
            }
            if (step % 100 == 0) compare_with_model(&m, model);
        }
        compare_with_model(&m, model);
        map_fini(&m);
    }
}

TEST(entry_just_walked_may_be_taken)
{
    for (int run = 0; run < 200; run++) {
        struct map m;
        unsigned times[N_KEYS] = {0};
        unsigned n = (unsigned)(t_random() % N_KEYS);
        char text[40];
        map_init(&m, N_KEYS);
        for (unsigned i = 0; i < n; i++)
            T_EQ(map_put(&m, key_number(text, i), &values[i]), WEIR_OK);
        struct map_walk walk = map_walk_begin(&m);
        while (map_walk_next(&m, &walk)) {
            times[(int *)walk.value - values]++;
            if (t_random() % 2) T_OK(map_take(&m, walk.key) == walk.value);
        }
        for (unsigned i = 0; i < N_KEYS; i++) T_EQ(times[i], i < n);
        map_fini(&m);
    }
}

TEST(many_removals_leave_no_rot)
{
    struct map m;
    map_init(&m, 100);
    for (uint64_t i = 0; i < 20000; i++) {
        T_EQ(map_put(&m, map_key_of(&i), &values[0]), WEIR_OK);
        uint64_t old = i - 4;
        if (i >= 4) T_OK(map_take(&m, map_key_of(&old)));
    }
    T_EQ(m.len, 4);
    T_EQ(m.cap, 8); /* never had to grow */
    map_fini(&m);
}

TEST(failed_allocation_changes_nothing)
{
    char text[40];
    for (uint64_t nth = 1;; nth++) {
        struct map m;
        enum weir_status st = WEIR_OK;
        unsigned n = 0;
        map_init(&m, 100);
        fault_arm(FAULT_ALLOC, nth, FAULT_ONCE);
        while (n < 50 && st == WEIR_OK) {
            st = map_put(&m, key_number(text, n), &values[n]);
            if (st == WEIR_OK) n++;
        }
        fault_disarm_all();
        T_EQ(m.len, n);
        T_OK(n == 50 || !map_get(&m, key_number(text, n)));
        for (unsigned i = 0; i < n; i++) T_OK(map_get(&m, key_number(text, i)) == &values[i]);
        map_fini(&m);
        if (st == WEIR_OK) break;
        T_EQ(st, WEIR_NOMEM);
    }
}

TEST(borrowed_keys_are_not_copied)
{
    struct map m;
    char key[100];
    int value = 7;
    memset(key, 'k', sizeof key);
    map_init_borrowing(&m, 100);
    for (size_t len = 0; len < sizeof key; len++)
        T_EQ(map_put(&m, slice_of(key, len), &value), WEIR_OK);
    struct map_walk walk = map_walk_begin(&m);
    while (map_walk_next(&m, &walk))
        if (walk.key.len > MAP_INLINE_KEY) T_OK(walk.key.ptr == key);
    for (size_t len = 0; len < 50; len++) T_OK(map_take(&m, slice_of(key, len)) == &value);
    T_OK(!map_get(&m, slice_of(key, 20)));
    T_OK(map_get(&m, slice_of(key, 70)) == &value);
    map_fini(&m);
    T_EQ(map_put(&m, slice_of(key, 30), &value), WEIR_OK); /* still borrowing */
    walk = map_walk_begin(&m);
    T_OK(map_walk_next(&m, &walk) && walk.key.ptr == key);
    map_fini(&m);
}
