/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread with a connection of its own that looks after the tables on PostgreSQL: it trims what it
 * is told to, and sweeps from time to time (pg_tables.h). While the database is away it tries again
 * each time.
 *
 * 1. pg_keeper_start(). 2. pg_keeper_trim(), pg_keeper_settle(). 3. pg_keeper_stop().
 *
 * Any thread; one starts and stops it.
 */
#pragma once

#include "store/pg_clusters.h"

struct pg_keeper;

/* 0 in a number means its default. The URL, the name and the writer are copied. */
struct pg_keeper_options {
    struct pg_options connection;
    struct pg_clusters *clusters; /* whose first one that is; NULL: there are no others */
    const char *writer;           /* who we are in weir.writers */
    unsigned interval_ms;         /* 5,000: between two rounds */
    unsigned keep_days;
    int64_t (*now_ms)(void *user); /* the store's time */
    /* Sets it by that of the first database, with each round; NULL: it is right. */
    enum weir_status (*set_time)(void *user, struct pg *first);
    /* As in pg_sweep, by the keeper's thread. */
    bool (*drop)(void *user, const struct pg_expired *logs, size_t n);
    /* Whether some of that is still under way: it is not told again meanwhile. NULL: it never is */
    bool (*is_dropping)(void *user);
    void *user;
};

WEIR_MUST_CHECK enum weir_status pg_keeper_start(struct pg_keeper **out,
                                                 const struct pg_keeper_options *options);
void pg_keeper_stop(struct pg_keeper *k); /* NULL is allowed */

/* As store_trim(). */
WEIR_MUST_CHECK enum weir_status pg_keeper_trim(struct pg_keeper *k, struct weir_slice log,
                                                uint64_t before);

/* Waits for the end of a round that began after the asking, and says how that went. */
WEIR_MUST_CHECK enum weir_status pg_keeper_settle(struct pg_keeper *k);

/* How many rounds did not work. Any thread. */
uint64_t pg_keeper_failed(struct pg_keeper *k);
