/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the listener share: its thread's, unless marked otherwise.
 *
 *   pg_listen.c   the thread: connecting, hearing, sweeping
 *   pg_heard.c    what is handed over
 *   pg_writers.c  whose batches were heard, and whether one is missing
 *   pg_follow.c   the logs that are followed, and fetching their events
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "base/map.h"
#include "store/pg.h"
#include "store/pg_listen.h"

/* ---- pg_heard.c: each says so when there is no memory: then anything may have changed ---- */

struct pg_heard *heard_new(struct pg_listener *from); /* NULL: no memory */
bool heard_is_empty(const struct pg_heard *h);
/* The same log again, next to the first time. NULL: no memory. */
struct pg_heard_log *heard_add_log(struct pg_heard *h, const struct pg_heard_log *log);
void heard_add_doc(struct pg_heard *h, struct doc_key key);
/* Takes over the reference to the chunk; the name is copied. */
void heard_add_news(struct pg_heard *h, const struct store_news *news);

/* ---- pg_writers.c ---- */

struct pg_writers {
    struct map by_id; /* struct pg_writer */
};

void writers_init(struct pg_writers *w);
void writers_fini(struct pg_writers *w);
/* A part of a batch was heard of. False: one before it was not. */
bool writers_hear(struct pg_writers *w, struct weir_slice id, uint64_t batch, uint64_t part,
                  bool is_last);
/* What the table says. The first time, of all that are there, `is_known`: it was before our time.
 */
bool writers_look(struct pg_writers *w, struct weir_slice id, uint64_t batch, bool is_known);

/* ---- pg_follow.c ---- */

struct pg_follow {
    struct map logs; /* by name: struct known, what was given of the log */
};

void follow_init(struct pg_follow *f);
void follow_fini(struct pg_follow *f);
void follow_forget(struct pg_follow *f); /* what was given is not known any more */
/* Our own node has written it, and has told its readers itself. */
void follow_own(struct pg_follow *f, const struct pg_heard_log *log, uint64_t first);
/* Other nodes have: fetches what is wanted of all that is in `h`, into it. */
struct told {
    uint64_t first, last; /* events told of; 0: none */
};
WEIR_MUST_CHECK enum weir_status follow_fetch(struct pg_listener *l, struct pg_heard *h,
                                              const struct told *told);
/*
 * Compares the logs of one part with what was given; what is missing goes into *h, which is handed
 * over meanwhile when that is much. WEIR_SHUTDOWN: *h is NULL.
 */
WEIR_MUST_CHECK enum weir_status follow_compare(struct pg_listener *l, struct pg_heard **h,
                                                unsigned part);

/* ---- pg_listen.c ---- */

struct pg_listener {
    struct pg_listen_options options;
    char *writer;
    struct pg *pg;                      /* NULL: there is no connection */
    struct pg *others[PG_MAX_CLUSTERS]; /* to the other databases; NULL: not now */
    uint64_t not_until_ns[PG_MAX_CLUSTERS];
    bool must_compare; /* events could not be fetched */
    bool is_lost;      /* what was given is not known: all is compared now */
    struct pg_writers writers;
    struct pg_follow follow;
    unsigned part;        /* the next to be compared */
    uint64_t sweep_at_ns; /* on the system's own clock */
    pthread_t thread;
    bool has_thread;
    int wake_fd;
    atomic_bool is_stopping;
    atomic_uint_fast64_t n_notes, n_fetches, n_lost, n_connects;
    atomic_bool is_connected;

    pthread_mutex_t lock; /* any thread: what was handed over and not freed */
    pthread_cond_t freed;
    size_t n_out, out_bytes;
};

/* Hands *h over if there is much in it, and begins anew. WEIR_SHUTDOWN: *h is NULL. */
WEIR_MUST_CHECK enum weir_status listener_pass_on(struct pg_listener *l, struct pg_heard **h);
