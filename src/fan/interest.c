/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which logs have tails, for threads that are not the fans': the store asks it about each log that
 * another process has written to. Kept only where somebody asks (hub_share()). A log is counted
 * before its tail reads anything, so who finds it here not may leave it out: the tail's read will
 * see what it was about.
 *
 * Names are spread over parts with a lock each, and a lock is held for one look or one step; only
 * a walk holds one for a few names longer.
 */
#include <string.h>

#include "base/mem.h"
#include "base/slice.h"
#include "fan/fan_impl.h"

struct part {
    pthread_mutex_t lock;
    struct map logs; /* name -> number of tails, as a pointer: it is never 0 */
};

struct interest {
    struct hash_key key;
    struct part parts[STORE_LOG_PARTS];
};

struct interest *interest_new(void)
{
    struct interest *i = mem_zalloc(sizeof *i);
    if (!i) return NULL;
    i->key = hash_key_random();
    for (size_t p = 0; p < STORE_LOG_PARTS; p++) {
        pthread_mutex_init(&i->parts[p].lock, NULL);
        map_init(&i->parts[p].logs, SIZE_MAX);
    }
    return i;
}

void interest_free(struct interest *i)
{
    if (!i) return;
    for (size_t p = 0; p < STORE_LOG_PARTS; p++) {
        CHECK(i->parts[p].logs.len == 0);
        map_fini(&i->parts[p].logs);
        pthread_mutex_destroy(&i->parts[p].lock);
    }
    mem_free(i);
}

static struct part *part_of(struct interest *i, struct weir_slice log)
{
    return &i->parts[hash_bytes(i->key, log) % STORE_LOG_PARTS];
}

static uintptr_t count_of(const struct part *p, struct weir_slice log)
{
    return (uintptr_t)map_get(&p->logs, log);
}

enum weir_status interest_add(struct interest *i, struct weir_slice log)
{
    struct part *p = part_of(i, log);
    pthread_mutex_lock(&p->lock);
    enum weir_status st = map_put(&p->logs, log, (void *)(count_of(p, log) + 1));
    pthread_mutex_unlock(&p->lock);
    return st;
}

void interest_remove(struct interest *i, struct weir_slice log)
{
    struct part *p = part_of(i, log);
    pthread_mutex_lock(&p->lock);
    uintptr_t n = count_of(p, log);
    CHECK(n > 0);
    if (n == 1) map_take(&p->logs, log);
    else CHECK(map_put(&p->logs, log, (void *)(n - 1)) == WEIR_OK); /* a key that is there */
    pthread_mutex_unlock(&p->lock);
}

bool interest_has(struct interest *i, struct weir_slice log)
{
    struct part *p = part_of(i, log);
    pthread_mutex_lock(&p->lock);
    bool has = p->logs.len > 0 && count_of(p, log) > 0;
    pthread_mutex_unlock(&p->lock);
    return has;
}

void interest_each(struct interest *i, unsigned part, store_log_fn each, void *user)
{
    struct part *p = &i->parts[part % STORE_LOG_PARTS];
    pthread_mutex_lock(&p->lock);
    struct map_walk walk = map_walk_begin(&p->logs);
    while (map_walk_next(&p->logs, &walk)) each(user, walk.key);
    pthread_mutex_unlock(&p->lock);
}
