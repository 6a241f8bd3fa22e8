/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests that wait for the end of a log: of a turn or a reply ("stream": false).
 *
 * 1. log_waits_init(), with the server.
 * 2. log_waits_add() before it begins; `post` is posted to the loop once, when the log is sealed or
 *    nobody works on it any more.
 * 3. log_waits_end() when the server goes down: all are woken, and no more are kept.
 * 4. log_waits_fini().
 *
 * Any thread.
 */
#pragma once

#include <pthread.h>

#include "base/map.h"
#include "io/loop.h"
#include "store/store.h"

enum { LOG_WAIT_BYTES = 48 }; /* of a log's name, with a NUL */

struct log_wait {
    struct log_wait *next; /* of the same log */
    struct loop *loop;
    struct post post;
    char log[LOG_WAIT_BYTES];
};

struct log_waits {
    pthread_mutex_t lock;
    struct map waiting; /* name of the log -> the newest struct log_wait */
    bool has_ended;
};

void log_waits_init(struct log_waits *w);
void log_waits_fini(struct log_waits *w);

/* Loop, post and log are filled in by the caller. WEIR_SHUTDOWN, WEIR_NOMEM: it is not posted. */
WEIR_MUST_CHECK enum weir_status log_waits_add(struct log_waits *w, struct log_wait *wait);

/* For on_news of the store. */
void log_waits_news(struct log_waits *w, const struct store_news *news, size_t n);

/* Of whose end somebody waits; `each` is short. Any thread. */
bool log_waits_has(struct log_waits *w, struct weir_slice log);
void log_waits_each(struct log_waits *w, store_log_fn each, void *arg);

void log_waits_end(struct log_waits *w);
