/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fault.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "t.h"

/* Which of the next eight hits fail, the first as the lowest bit. */
static unsigned eight_hits(enum fault_point point)
{
    unsigned failed = 0;
    for (unsigned i = 0; i < 8; i++) failed |= (unsigned)fault_hit(point) << i;
    return failed;
}

TEST(unarmed_points_never_fail_and_do_not_count)
{
    fault_disarm_all(); /* what the whole run has armed, if anything */
    T_EQ(eight_hits(FAULT_WRITE), 0);
    T_EQ(fault_count(FAULT_WRITE), 0);
    T_OK(!atomic_load(&fault_is_armed));
}

TEST(once_fails_the_nth_hit_only_and_goes_on_counting)
{
    fault_arm(FAULT_SYNC, 3, FAULT_ONCE);
    T_EQ(eight_hits(FAULT_SYNC), 1 << 2);
    T_EQ(fault_count(FAULT_SYNC), 8);
    T_EQ(eight_hits(FAULT_SEND), 0);
    fault_disarm_all();
}

TEST(from_fails_the_nth_and_every_later_hit)
{
    fault_arm(FAULT_WRITE, 6, FAULT_FROM);
    T_EQ(eight_hits(FAULT_WRITE), 0xe0);
    fault_arm(FAULT_WRITE, 1, FAULT_FROM); /* arming again counts from zero */
    T_EQ(eight_hits(FAULT_WRITE), 0xff);
    fault_disarm_all();
    T_EQ(eight_hits(FAULT_WRITE), 0);
}

TEST(disarming_one_point_leaves_the_others)
{
    fault_arm(FAULT_WRITE, 1, FAULT_ONCE);
    fault_arm(FAULT_SEND, 1, FAULT_ONCE);
    fault_arm(FAULT_WRITE, 0, FAULT_ONCE);
    T_EQ(eight_hits(FAULT_WRITE), 0);
    T_EQ(eight_hits(FAULT_SEND), 1);
    fault_arm(FAULT_SEND, 0, FAULT_ONCE);
    T_OK(!atomic_load(&fault_is_armed));
    fault_disarm_all();
}

TEST(crash_kills_the_process_at_the_nth_hit)
{
    pid_t pid = fork();
    if (pid == 0) {
        fault_arm(FAULT_WRITE, 2, FAULT_CRASH);
        if (fault_hit(FAULT_WRITE)) _exit(1);
        fault_hit(FAULT_WRITE);
        _exit(2);
    }
    int status = 0;
    T_EQ(waitpid(pid, &status, 0), pid);
    T_OK(WIFSIGNALED(status));
    T_EQ(WTERMSIG(status), SIGKILL);
}

TEST(allocations_pass_their_point)
{
    fault_arm(FAULT_ALLOC, 1, FAULT_FROM);
    T_OK(!mem_alloc(1));
    T_OK(!mem_zalloc(1));
    T_OK(!mem_zalloc_lines(MEM_LINE_BYTES));
    T_OK(!mem_realloc(NULL, 1));
    T_EQ(fault_count(FAULT_ALLOC), 4);
    fault_disarm_all();
    void *p = mem_alloc(1);
    T_OK(p);
    mem_free(p);
    p = mem_zalloc_lines(MEM_LINE_BYTES);
    T_OK(p);
    T_EQ((uintptr_t)p % MEM_LINE_BYTES, 0);
    mem_free(p);
}

TEST(spec_arms_what_it_names)
{
    T_EQ(fault_arm_from_spec("alloc:3,sync:2+,write:5!"), WEIR_OK);
    T_EQ(eight_hits(FAULT_ALLOC), 1 << 2);
    T_EQ(eight_hits(FAULT_SYNC), 0xfe);
    T_EQ(eight_hits(FAULT_SEND), 0);
    T_EQ(fault_count(FAULT_WRITE), 0);
    fault_disarm_all();
    T_EQ(fault_arm_from_spec(""), WEIR_OK);
    T_EQ(fault_arm_from_spec("send:18446744073709551615"), WEIR_OK);
    fault_disarm_all();
}

TEST(bad_spec_arms_nothing)
{
    static const char *const bad[] = {
        "alloc",         "alloc:",          "alloc:0",
        "alloc:x",       "alloc:-1",        "alloc:1x",
        "alloc:1++",     "alloc:1+!",       "nothing:1",
        "alloc:1,",      ",alloc:1",        "alloc:1,,sync:1",
        "alloc :1",      "alloc:1,alloc:2", "send:18446744073709551617",
        "alloc:1 ",      "ALLOC:1",         "write:1,bad:2",
        "write:1;sync:1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (fault_arm_from_spec(bad[i]) != WEIR_INVALID)
            t_fail(__FILE__, __LINE__, "took \"%s\"", bad[i]);
        T_OK(!atomic_load(&fault_is_armed));
    }
}

TEST(environment_is_read_when_it_is_set)
{
    unsetenv("WEIR_FAULT");
    T_EQ(fault_arm_from_env(), WEIR_OK);
    T_OK(!atomic_load(&fault_is_armed));
    setenv("WEIR_FAULT", "send:1", 1);
    T_EQ(fault_arm_from_env(), WEIR_OK);
    T_EQ(eight_hits(FAULT_SEND), 1);
    fault_disarm_all();
    setenv("WEIR_FAULT", "send", 1);
    T_EQ(fault_arm_from_env(), WEIR_INVALID);
    unsetenv("WEIR_FAULT");
}

enum { N_THREADS = 4, N_HITS = 10000 };

static void *hit_often(void *n_failed)
{
    for (int i = 0; i < N_HITS; i++)
        if (fault_hit(FAULT_SEND)) atomic_fetch_add((atomic_int *)n_failed, 1);
    return NULL;
}

TEST(hits_from_many_threads_fail_exactly_once)
{
    pthread_t threads[N_THREADS];
    atomic_int n_failed = 0;
    fault_arm(FAULT_SEND, N_HITS, FAULT_ONCE);
    for (int i = 0; i < N_THREADS; i++)
        T_EQ(pthread_create(&threads[i], NULL, hit_often, &n_failed), 0);
    for (int i = 0; i < N_THREADS; i++) pthread_join(threads[i], NULL);
    T_EQ(n_failed, 1);
    T_EQ(fault_count(FAULT_SEND), N_THREADS * N_HITS);
    fault_disarm_all();
}
