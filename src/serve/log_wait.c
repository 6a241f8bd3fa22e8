/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/log_wait.h"

#include "base/slice.h"

enum { MAX_WAITS = 1 << 20 };

void log_waits_init(struct log_waits *w)
{
    *w = (struct log_waits){.has_ended = false};
    pthread_mutex_init(&w->lock, NULL);
    map_init(&w->waiting, MAX_WAITS);
}

void log_waits_fini(struct log_waits *w)
{
    map_fini(&w->waiting);
    pthread_mutex_destroy(&w->lock);
}

enum weir_status log_waits_add(struct log_waits *w, struct log_wait *wait)
{
    struct weir_slice log = weir_slice_of(wait->log);
    pthread_mutex_lock(&w->lock);
    enum weir_status st = w->has_ended ? WEIR_SHUTDOWN : WEIR_OK;
    wait->next = st == WEIR_OK ? map_get(&w->waiting, log) : NULL;
    if (st == WEIR_OK) st = map_put(&w->waiting, log, wait);
    pthread_mutex_unlock(&w->lock);
    return st == WEIR_LIMIT ? WEIR_BUSY : st;
}

/* The loop may free it as soon as it is posted. */
static void wake(struct log_wait *wait)
{
    for (struct log_wait *next; wait; wait = next) {
        next = wait->next;
        loop_post(wait->loop, &wait->post);
    }
}

void log_waits_news(struct log_waits *w, const struct store_news *news, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!news[i].is_sealed) continue;
        pthread_mutex_lock(&w->lock);
        struct log_wait *wait = map_take(&w->waiting, news[i].log);
        pthread_mutex_unlock(&w->lock);
        wake(wait);
    }
}

bool log_waits_has(struct log_waits *w, struct weir_slice log)
{
    pthread_mutex_lock(&w->lock);
    bool has = map_get(&w->waiting, log) != NULL;
    pthread_mutex_unlock(&w->lock);
    return has;
}

void log_waits_each(struct log_waits *w, store_log_fn each, void *arg)
{
    pthread_mutex_lock(&w->lock);
    struct map_walk walk = map_walk_begin(&w->waiting);
    while (map_walk_next(&w->waiting, &walk)) each(arg, walk.key);
    pthread_mutex_unlock(&w->lock);
}

void log_waits_end(struct log_waits *w)
{
    pthread_mutex_lock(&w->lock);
    w->has_ended = true;
    struct map_walk walk = map_walk_begin(&w->waiting);
    while (map_walk_next(&w->waiting, &walk)) {
        struct log_wait *wait = walk.value;
        map_take(&w->waiting, weir_slice_of(wait->log));
        wake(wait);
    }
    pthread_mutex_unlock(&w->lock);
}
