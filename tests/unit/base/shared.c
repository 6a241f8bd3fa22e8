/* SPDX-License-Identifier: Apache-2.0 */
#include "base/shared.h"

#include <pthread.h>

#include "base/fault.h"
#include "base/slice.h"
#include "t.h"

TEST(bytes_are_a_copy)
{
    char text[] = "hello";
    struct shared *s = shared_new(slice_of(text, 5));
    memset(text, 'x', 5);
    T_EQ_STR(shared_slice(s), "hello");
    shared_unref(s);
}

TEST(parts_are_joined_in_order)
{
    struct weir_slice parts[] = {SLICE("ab"), {NULL, 0}, SLICE("c\0d"), SLICE("e")};
    struct shared *s = shared_join(parts, 4);
    T_EQ_SLICE(shared_slice(s), SLICE("abc\0de"));
    shared_unref(s);
    s = shared_join(NULL, 0);
    T_EQ(shared_slice(s).len, 0);
    shared_unref(s);
}

TEST(bytes_live_until_the_last_reference)
{
    struct shared *s = shared_new(SLICE("text"));
    T_OK(shared_ref(s) == s);
    shared_unref(s);
    T_EQ_STR(shared_slice(s), "text");
    shared_unref(s);
    shared_unref(NULL);
}

TEST(impossible_size_and_no_memory_are_null)
{
    struct weir_slice huge[] = {{"", SIZE_MAX / 2}, {"", SIZE_MAX / 2}};
    T_OK(!shared_join(huge, 2));
    fault_arm(FAULT_ALLOC, 1, FAULT_ONCE);
    T_OK(!shared_new(SLICE("a")));
    T_EQ(fault_count(FAULT_ALLOC), 1);
    fault_disarm_all();
    fault_arm(FAULT_ALLOC, 2, FAULT_ONCE); /* one allocation does */
    struct shared *s = shared_new(SLICE("a"));
    T_OK(s);
    fault_disarm_all();
    shared_unref(s);
}

enum { N_THREADS = 4, N_ROUNDS = 20000 };

/* Owns one reference, which it gives back last. */
static void *use_often(void *user)
{
    struct shared *s = user;
    size_t n_wrong = 0;
    for (int i = 0; i < N_ROUNDS; i++) {
        struct shared *mine = shared_ref(s);
        n_wrong += !slice_eq(shared_slice(mine), SLICE("shared by all"));
        shared_unref(mine);
    }
    shared_unref(s);
    return (void *)n_wrong;
}

TEST(threads_share_without_a_lock)
{
    pthread_t threads[N_THREADS];
    struct shared *s = shared_new(SLICE("shared by all"));
    for (int i = 0; i < N_THREADS; i++)
        T_EQ(pthread_create(&threads[i], NULL, use_often, shared_ref(s)), 0);
    shared_unref(s); /* whichever thread is last frees */
    for (int i = 0; i < N_THREADS; i++) {
        void *n_wrong;
        pthread_join(threads[i], &n_wrong);
        T_OK(n_wrong == NULL);
    }
}
