/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bounded number of connections for those who read. One that idles is given out before a new one
 * is made, the newest first, so that few are warm rather than all of them lukewarm.
 *
 * A server that did not answer in time is asked by one at a time until it does again: the others
 * are told at once what they would be told after a long wait.
 */
#include <pthread.h>
#include <stdio.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/mem.h"
#include "store/pg.h"

enum { PAUSE_MS = 250 };

struct pg_pool {
    pthread_mutex_t lock;
    pthread_cond_t came_back;
    struct pg_options options; /* the texts are its own */
    char *url;
    char *name;
    unsigned n_max;
    unsigned n_out; /* given out, or being made */
    unsigned n_idle;
    bool is_slow;          /* the last answer did not come in time */
    uint64_t not_until_ns; /* none could be made: who comes before that is told so at once */
    uint64_t n_waits, n_busy;
    struct pg *idle[];
};

static char *copy_of(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = mem_alloc(size);
    if (copy) memcpy(copy, text, size);
    return copy;
}

enum weir_status pg_pool_new(struct pg_pool **out, const struct pg_options *options, unsigned n_max)
{
    pthread_condattr_t attributes;
    CHECK(n_max > 0);
    struct pg_pool *pool = mem_zalloc(sizeof *pool + n_max * sizeof *pool->idle);
    *out = NULL;
    if (!pool) return WEIR_NOMEM;
    pool->n_max = n_max;
    pool->options = *options;
    pool->options.url = pool->url = copy_of(options->url);
    pool->options.name = pool->name = copy_of(options->name ? options->name : "weir");
    CHECK(pthread_mutex_init(&pool->lock, NULL) == 0);
    CHECK(pthread_condattr_init(&attributes) == 0);
    CHECK(pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0);
    CHECK(pthread_cond_init(&pool->came_back, &attributes) == 0);
    pthread_condattr_destroy(&attributes);
    if (!pool->url || !pool->name) {
        pg_pool_free(pool);
        return WEIR_NOMEM;
    }
    *out = pool;
    return WEIR_OK;
}

void pg_pool_free(struct pg_pool *pool)
{
    if (!pool) return;
    CHECK(pool->n_out == 0);
    while (pool->n_idle > 0) pg_close(pool->idle[--pool->n_idle]);
    pthread_cond_destroy(&pool->came_back);
    pthread_mutex_destroy(&pool->lock);
    mem_free(pool->url);
    mem_free(pool->name);
    mem_free(pool);
}

/* Waits for one that idles, or for the right to make one. WEIR_STORAGE: somebody tries it. */
static WEIR_MUST_CHECK enum weir_status wait_for_place(struct pg_pool *pool, unsigned wait_ms,
                                                       struct pg **out)
{
    struct timespec deadline = clock_deadline(wait_ms);
    enum weir_status st = WEIR_OK;
    pthread_mutex_lock(&pool->lock);
    if (pool->is_slow && pool->n_out > 0) st = WEIR_STORAGE;
    if (pool->n_out >= pool->n_max) pool->n_waits++;
    while (st == WEIR_OK && pool->n_out >= pool->n_max) {
        if (pthread_cond_timedwait(&pool->came_back, &pool->lock, &deadline) != 0 &&
            pool->n_out >= pool->n_max)
            st = WEIR_BUSY;
    }
    if (st == WEIR_OK) {
        pool->n_out++;
        *out = pool->n_idle > 0 ? pool->idle[--pool->n_idle] : NULL;
    }
    if (st == WEIR_BUSY) pool->n_busy++;
    pthread_mutex_unlock(&pool->lock);
    return st;
}

static void give_place_back(struct pg_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    CHECK(pool->n_out > 0);
    pool->n_out--;
    pthread_cond_signal(&pool->came_back);
    pthread_mutex_unlock(&pool->lock);
}

static bool may_connect(struct pg_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    bool may = clock_mono_ns(&clock_system) >= pool->not_until_ns;
    pthread_mutex_unlock(&pool->lock);
    return may;
}

static void note_failure(struct pg_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    pool->not_until_ns = clock_mono_ns(&clock_system) + (uint64_t)PAUSE_MS * 1000000;
    pthread_mutex_unlock(&pool->lock);
}

/* A server that is away is not waited for by everybody in turn: one tries, the others are told. */
enum weir_status pg_pool_take(struct pg_pool *pool, unsigned wait_ms, struct pg **out)
{
    *out = NULL;
    enum weir_status st = wait_for_place(pool, wait_ms, out);
    if (st != WEIR_OK || *out) return st;
    bool may = may_connect(pool);
    st = may ? pg_open(out, &pool->options, NULL) : WEIR_STORAGE;
    if (st != WEIR_OK && may) note_failure(pool);
    if (st != WEIR_OK) give_place_back(pool);
    return st;
}

void pg_pool_give(struct pg_pool *pool, struct pg *pg)
{
    bool is_broken = pg_is_broken(pg), was_late = pg_was_late(pg);
    CHECK(pg_n_pending(pg) == 0 || is_broken);
    if (is_broken) pg_close(pg);
    pthread_mutex_lock(&pool->lock);
    if (was_late || !is_broken) pool->is_slow = was_late;
    while (is_broken && pool->n_idle > 0) pg_close(pool->idle[--pool->n_idle]);
    if (!is_broken) pool->idle[pool->n_idle++] = pg;
    CHECK(pool->n_out > 0);
    pool->n_out--;
    pthread_cond_signal(&pool->came_back);
    pthread_mutex_unlock(&pool->lock);
}

void pg_pool_stats(struct pg_pool *pool, struct pg_pool_stats *out)
{
    pthread_mutex_lock(&pool->lock);
    *out = (struct pg_pool_stats){.n_out = pool->n_out,
                                  .n_max = pool->n_max,
                                  .n_waits = pool->n_waits,
                                  .n_busy = pool->n_busy};
    pthread_mutex_unlock(&pool->lock);
}
