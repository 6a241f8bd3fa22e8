/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/turns_wait.h"

#include "base/slice.h"

enum { MAX_WAITS = 1 << 20 };

void turn_waits_init(struct turn_waits *w)
{
    *w = (struct turn_waits){.has_ended = false};
    pthread_mutex_init(&w->lock, NULL);
    map_init(&w->waiting, MAX_WAITS);
}

void turn_waits_fini(struct turn_waits *w)
{
    map_fini(&w->waiting);
    pthread_mutex_destroy(&w->lock);
}

enum weir_status turn_waits_add(struct turn_waits *w, struct turn_wait *wait)
{
    struct weir_slice id = weir_slice_of(wait->id);
    pthread_mutex_lock(&w->lock);
    enum weir_status st = w->has_ended ? WEIR_SHUTDOWN : WEIR_OK;
    wait->next = st == WEIR_OK ? map_get(&w->waiting, id) : NULL;
    if (st == WEIR_OK) st = map_put(&w->waiting, id, wait);
    pthread_mutex_unlock(&w->lock);
    return st == WEIR_LIMIT ? WEIR_BUSY : st;
}

/* The loop may free it as soon as it is posted. */
static void wake(struct turn_wait *wait)
{
    for (struct turn_wait *next; wait; wait = next) {
        next = wait->next;
        loop_post(wait->loop, &wait->post);
    }
}

void turn_waits_news(struct turn_waits *w, const struct store_news *news, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct weir_slice id = turn_of_log(news[i].log);
        if (!news[i].is_sealed || id.len == 0) continue;
        pthread_mutex_lock(&w->lock);
        struct turn_wait *wait = map_take(&w->waiting, id);
        pthread_mutex_unlock(&w->lock);
        wake(wait);
    }
}

void turn_waits_end(struct turn_waits *w)
{
    pthread_mutex_lock(&w->lock);
    w->has_ended = true;
    struct map_walk walk = map_walk_begin(&w->waiting);
    while (map_walk_next(&w->waiting, &walk)) {
        struct turn_wait *wait = walk.value;
        map_take(&w->waiting, weir_slice_of(wait->id));
        wake(wait);
    }
    pthread_mutex_unlock(&w->lock);
}
