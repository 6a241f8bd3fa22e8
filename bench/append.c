/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench-append FOLDER [SECONDS]
 *
 * Durable appends inside the process: one thread appends events of 200 bytes to 1,000 logs in
 * turn, each as a commit of its own, with so many under way at once, through the whole store:
 * queue, journal with a sync for each batch, index, settling into SQLite, everything included.
 * The time ends when the last event is settled. Prints one JSON line for each depth.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/slice.h"
#include "bench.h"
#include "store/store.h"

enum { N_LOGS = 1000, EVENT_BYTES = 200 };

static atomic_uint under_way;
static atomic_uint n_failed;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ended = PTHREAD_COND_INITIALIZER;
static unsigned low_water;

static double wall_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void on_done(void *commit, const struct commit_result *result)
{
    /* The result is the commit's. */
    if (result->status != WEIR_OK) atomic_fetch_add(&n_failed, 1);
    commit_free(commit);
    if (atomic_fetch_sub(&under_way, 1) != low_water + 1) return;
    pthread_mutex_lock(&lock);
    pthread_cond_signal(&ended);
    pthread_mutex_unlock(&lock);
}

/* Waits until no more than `n` commits are under way. */
static void wait_until(unsigned n)
{
    pthread_mutex_lock(&lock);
    while (atomic_load(&under_way) > n) pthread_cond_wait(&ended, &lock);
    pthread_mutex_unlock(&lock);
}

static void run(const char *folder, unsigned depth, double seconds)
{
    static char frame[EVENT_BYTES];
    struct store *s;
    struct store_error error;
    memset(frame, 'x', sizeof frame);
    memcpy(frame, "data: \"", 7);
    memcpy(frame + sizeof frame - 3, "\"\n\n", 3);
    bench_need(store_open(&s, folder, NULL, &error) == WEIR_OK, error.text);
    uint64_t n = 0;
    low_water = depth / 2;
    double begun = wall_s();
    double cpu = bench_cpu_s();
    while (wall_s() - begun < seconds) {
        while (atomic_load(&under_way) < depth) {
            char name[16];
            int len = snprintf(name, sizeof name, "log-%u", (unsigned)(n++ % N_LOGS));
            struct commit *c = commit_new(sizeof frame + 16);
            bench_need(c != NULL, "memory");
            commit_append(c, slice_of(name, (size_t)len), slice_of(frame, sizeof frame));
            atomic_fetch_add(&under_way, 1);
            store_commit(s, c, on_done, c);
        }
        wait_until(low_water);
    }
    low_water = 0;
    wait_until(0);
    double acked = wall_s() - begun;
    bench_need(store_settle(s) == WEIR_OK, "settling");
    double wall = wall_s() - begun;
    struct store_stats stats;
    store_stats(s, &stats);
    printf("{\"name\":\"append\",\"under_way\":%u,\"events\":%llu,\"events_s\":%.0f,"
           "\"acked_s\":%.0f,\"per_sync\":%.1f,\"settles\":%llu,\"cpu_us\":%.2f,\"failed\":%u}\n",
           depth, (unsigned long long)n, (double)n / wall, (double)n / acked,
           (double)n / (double)stats.n_syncs, (unsigned long long)stats.n_settles,
           (bench_cpu_s() - cpu) / (double)n * 1e6, atomic_load(&n_failed));
    fflush(stdout);
    store_close(s);
}

int main(int argc, char **argv)
{
    bench_need(argc >= 2, "usage: bench-append FOLDER [SECONDS]");
    double seconds = argc > 2 ? strtod(argv[2], NULL) : 3;
    static const unsigned depths[] = {1, 16, 64, 1024, 8192};
    for (size_t i = 0; i < sizeof depths / sizeof *depths; i++) run(argv[1], depths[i], seconds);
    return 0;
}
