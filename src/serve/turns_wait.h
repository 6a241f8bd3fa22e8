/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests that wait for the end of a turn ("stream": false).
 *
 * 1. turn_waits_init(), with the server.
 * 2. turn_waits_add() before the turn begins; `post` is posted to the loop once, when the log of
 * the turn is sealed or nobody works on turns any more.
 * 3. turn_waits_end() when the server goes down: all are woken, and no more are kept.
 * 4. turn_waits_fini().
 *
 * Any thread.
 */
#pragma once

#include <pthread.h>

#include "base/map.h"
#include "io/loop.h"
#include "store/store.h"
#include "turn/turn.h"

struct turn_wait {
    struct turn_wait *next; /* of the same turn */
    struct loop *loop;
    struct post post;
    char id[TURN_ID_LEN + 1];
};

struct turn_waits {
    pthread_mutex_t lock;
    struct map waiting; /* id of the turn -> the newest struct turn_wait */
    bool has_ended;
};

void turn_waits_init(struct turn_waits *w);
void turn_waits_fini(struct turn_waits *w);

/* Loop and id are filled in by the caller. WEIR_SHUTDOWN, WEIR_NOMEM: it is not posted. */
WEIR_MUST_CHECK enum weir_status turn_waits_add(struct turn_waits *w, struct turn_wait *wait);

/* For on_news of the store. */
void turn_waits_news(struct turn_waits *w, const struct store_news *news, size_t n);

void turn_waits_end(struct turn_waits *w);
