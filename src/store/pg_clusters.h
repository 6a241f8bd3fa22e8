/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A store on several databases. The first one decides: it has documents, and of each log the name,
 * the newest id and on which of the databases its events are. The others carry events.
 *
 * So a commit is one transaction of the first database, whatever it joins, and what that has not
 * committed is not there for anybody. Its events are made durable where they belong before that
 * (pg_carry.c). A log gets its place when it is made, by rendezvous of its id with the databases
 * that are open then, and keeps it: a database that is added takes its share of new logs, and
 * nothing has to move.
 *
 * Databases are told apart by an identity of their own, which is made when a store has several, so
 * the order of all but the first does not matter.
 */
#pragma once

#include <stdatomic.h>

#include "store/pg_tables.h"

enum { PG_MAX_CLUSTERS = 16, PG_IDENTITY_BYTES = 40 };

struct pg_cluster {
    unsigned number; /* its row in weir.clusters; 0: the first one */
    char *url;
    char identity[PG_IDENTITY_BYTES];
    atomic_bool is_open; /* new logs may be put there */
    /* It could not be written to: nothing is sent there until the keeper has reached it. */
    atomic_bool is_away;
    atomic_uint_least64_t away_until_ns; /* not before that, though it can be reached */
    unsigned pause_ms;                   /* the committer's: how long that was last */
    /* It is not in the table any more, and may be somebody else's by now. */
    atomic_bool is_removed;
    struct pg_pool *pool; /* for who reads */
    struct pg_far far;    /* the same, and standbys */
    struct pg *pg;        /* the committer's; NULL: there is no connection. Not of the first one */
};

struct pg_clusters {
    size_t n; /* 1: there is only the first one */
    struct pg_cluster all[PG_MAX_CLUSTERS];
};

/* Several URLs are parted by commas. WEIR_LIMIT: too many; WEIR_NOMEM. */
WEIR_MUST_CHECK enum weir_status pg_clusters_init(struct pg_clusters *cs, const char *urls);
void pg_clusters_fini(struct pg_clusters *cs); /* zeroed is fine */

/*
 * Makes the databases one store, or finds that they are, by a connection to the first one, whose
 * tables are there. WEIR_INVALID: they are not, and the error says how.
 */
WEIR_MUST_CHECK enum weir_status pg_clusters_join(struct pg_clusters *cs, struct pg *first,
                                                  struct store_error *error);

/* Connections to read with; so many by threads that read. WEIR_NOMEM. */
WEIR_MUST_CHECK enum weir_status pg_clusters_pool(struct pg_clusters *cs, unsigned n_max,
                                                  unsigned n_far);

/* Which are open by now. */
WEIR_MUST_CHECK enum weir_status pg_clusters_refresh(struct pg_clusters *cs, struct pg *first);

/* By its number; NULL: this node was not told of it. */
struct pg_cluster *pg_clusters_find(struct pg_clusters *cs, unsigned number);

/* Where a new log of this id is put. Any thread. */
unsigned pg_clusters_place(const struct pg_clusters *cs, uint64_t log_id);

/* As store_check(), of what is not in the first one; adds to *n_wrong. */
WEIR_MUST_CHECK enum weir_status pg_check_carried(struct pg_clusters *cs,
                                                  store_complaint_fn complain, void *user,
                                                  uint64_t *n_wrong);

/* As store_read(), wherever the events are. */
void pg_clusters_read(struct pg_clusters *cs, struct weir_slice log, uint64_t from,
                      size_t max_bytes, int64_t now_ms, struct log_read *out);
