/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What there is to do with the tables of a store on PostgreSQL beside committing: making and
 * migrating them, reading, searching, looking after them. Each function takes a connection of the
 * caller's, or one of a pool's for the time of the call.
 *
 * Functions with a pool: any thread. WEIR_STORAGE and WEIR_BUSY when no connection is to be had.
 */
#pragma once

#include <stdatomic.h>

#include "store/passage.h"
#include "store/pg.h"

enum {
    PG_LOCKS = 0x77656972, /* "weir": the class of our advisory locks of two numbers; the second: */
    PG_LOCK_SCHEMA = 1,    /* somebody migrates */
    PG_LOCK_DAYS = 2,      /* somebody makes partitions */
    PG_LOCK_SWEEP = 3,     /* somebody sweeps */
    PG_READ_WAIT_MS = 5000,    /* for a connection to read with, */
    PG_READ_ANSWER_MS = 10000, /* then for an answer */
};

/* ---- the schema (pg_schema.c) ---- */

/*
 * Brings the database to this version's schema, and sees that partitions are there for the days to
 * come. WEIR_NEWER when its schema is more than one step ahead of us: one step is a rolling
 * upgrade.
 */
WEIR_MUST_CHECK enum weir_status pg_migrate(struct pg *pg, struct store_error *error);

/* Partitions for today and some days to come, unless they are there. */
WEIR_MUST_CHECK enum weir_status pg_make_days(struct pg *pg);

int64_t pg_newest_version(void);

/* ---- reading (pg_read.c) ---- */

/*
 * Calls `work` with a connection of the pool's. A connection that idled may be long dead: then it
 * is called once more, with a new one.
 */
typedef enum weir_status (*pg_work_fn)(struct pg *pg, void *user);
WEIR_MUST_CHECK enum weir_status pg_with(struct pg_pool *pool, pg_work_fn work, void *user);

/* As store_read(), whatever is in memory; logs that expired by now_ms are not there. */
void pg_read_log(struct pg_pool *pool, struct weir_slice log, uint64_t from, size_t max_bytes,
                 int64_t now_ms, struct log_read *out);

/*
 * The same with the help of standbys: what a log is like is asked of the server that writes, and
 * what is far behind its head is read on a standby, up to that head. So nobody sees what only a
 * standby has, which may be gone after a failure, and a standby that is late is not waited for.
 */
struct pg_far {
    struct pg_pool *pool;           /* the server that writes */
    struct pg_pool *standbys;       /* NULL: there are none */
    atomic_uint_fast64_t not_until; /* ms of the monotonic clock: none could be reached */
    atomic_uint_fast64_t n_far;     /* reads that a standby has answered */
};

/* Standbys are used if the URL names several servers. WEIR_NOMEM. */
WEIR_MUST_CHECK enum weir_status pg_far_init(struct pg_far *far, struct pg_pool *pool,
                                             const char *url, unsigned n_max);
void pg_far_fini(struct pg_far *far); /* zeroed is fine; the pool is the caller's */
void pg_read_far(struct pg_far *far, struct weir_slice log, uint64_t from, size_t max_bytes,
                 int64_t now_ms, struct log_read *out);

/* As store_doc_get(). */
WEIR_MUST_CHECK enum weir_status pg_get_doc(struct pg_pool *pool, struct doc_key key,
                                            struct doc *out);

/*
 * As store_doc_list(). No connection is held while `each` runs. It is one state of the database
 * that is listed, up to 4,096 documents or 16 MB; what follows may be as it is some moments later.
 */
WEIR_MUST_CHECK enum weir_status pg_list_docs(struct pg_pool *pool, const struct doc_query *query,
                                              doc_fn each, void *user);

/* ---- passages (pg_words.c, pg_search.c) ---- */

/*
 * What a batch does to the index of passages' words, so that both change in one transaction.
 *
 * 1. pg_words_put() or pg_words_remove() for each document of kind "passage" that the batch
 *    changes: once for each, as it is in the end.
 * 2. pg_words_send() adds the statements to the batch's group, after those for its documents.
 * 3. pg_words_reset(), also when the batch is decided anew.
 *
 * One thread at a time.
 */
struct pg_words;
WEIR_MUST_CHECK enum weir_status pg_words_new(struct pg_words **out);
void pg_words_free(struct pg_words *w); /* NULL is allowed */
WEIR_MUST_CHECK enum weir_status pg_words_put(struct pg_words *w, const struct doc *passage);
WEIR_MUST_CHECK enum weir_status pg_words_remove(struct pg_words *w, struct weir_slice id);
void pg_words_send(const struct pg_words *w, struct pg *pg);
void pg_words_reset(struct pg_words *w);

/* Places are of the title, or with this bit of the text. The longest word that is told apart. */
enum { PG_WORDS_BYTES = 1024 };
#define PG_WORDS_IN_TEXT UINT32_C(0x80000000)

/* As store_search(). What counts for a rank is the owner's own. */
WEIR_MUST_CHECK enum weir_status pg_search(struct pg_pool *pool, const struct passage_query *query,
                                           passage_fn each, void *user);

/* ---- looking after it (pg_sweep.c) ---- */

/*
 * As store_trim(), at once; never without its newest event. No such log: nothing happens. Events
 * that another database has are to be trimmed there: `elsewhere`, whose cluster is 0 otherwise.
 */
struct pg_trimmed {
    int64_t log, before;
    unsigned cluster;
};
WEIR_MUST_CHECK enum weir_status pg_trim(struct pg *pg, struct weir_slice log, uint64_t before,
                                         struct pg_trimmed *elsewhere);
WEIR_MUST_CHECK enum weir_status pg_trim_carried(struct pg *pg, const struct pg_trimmed *t);

enum { PG_DAY_NAME_BYTES = 64 };

/* A log that has expired. */
struct pg_expired {
    struct weir_slice name;
    uint64_t log_id;
};

/* How far an old day was looked through for what lives on. It may go when nothing was found. */
struct pg_keeping {
    char day[PG_DAY_NAME_BYTES];
    int64_t after;  /* logs up to this one were looked at … */
    bool has_moved; /* … and since the first one something was found */
};

struct pg_sweep {
    int64_t now_ms;     /* the store's time */
    unsigned keep_days; /* chunks older than that are moved together or go; 0: 7 */
    unsigned stuck_ms;  /* a connection of ours that is silent inside of a transaction; 0: 6,000 */
    struct weir_slice writer; /* who we are: seen now */
    /* Logs that have expired, to be dropped by one commit. Borrowed while it runs. False: not now
     */
    bool (*drop)(void *user, const struct pg_expired *logs, size_t n);
    void *user;
    /* How far expired logs were told: commits take their time. Zeroed, they are told again. */
    int64_t told_ms, told_id;
    struct pg_keeping keeping; /* zeroed, it begins with the first log */
};

/*
 * A round: connections that hold others up, partitions for days to come, logs that have expired,
 * chunks of logs that were dropped, days that are old, writers that were not seen for a month. It
 * does a bounded part of that, and but for the first nothing while another node is at it.
 * *has_more: there is more to do at once.
 */
WEIR_MUST_CHECK enum weir_status pg_sweep(struct pg *pg, struct pg_sweep *sweep, bool *has_more);

/*
 * A moment of the first database: whoever took a token up to this one (pg_carry.c) had begun its
 * transaction before this one. It counts for the connection that it was read with, and no other:
 * after a crash or a failover tokens and transactions may be given again that were not written
 * down.
 */
struct pg_moment {
    int64_t token;       /* 0: none is known */
    int64_t transaction; /* its number, which never wraps around */
};
WEIR_MUST_CHECK enum weir_status pg_read_moment(struct pg *first, struct pg_moment *out);

/*
 * The same for a database that carries events of another one's logs: those that are no longer
 * there go, and so do those that never came to be. The second connection is to that database.
 */
struct pg_strays {
    struct pg_moment old; /* whoever is older than that has sent its events, or never will */
    int64_t after;        /* logs up to this one were looked at */
    struct pg_keeping keeping;
};
WEIR_MUST_CHECK enum weir_status pg_sweep_carried(struct pg *first, struct pg *pg, unsigned cluster,
                                                  const struct pg_sweep *sweep,
                                                  struct pg_strays *strays, bool *has_more);

/* ---- whether all of it is right (pg_check.c) ---- */

/* As store_check(), in one state of the database. What the server keeps wrong it may not tell. */
WEIR_MUST_CHECK enum weir_status pg_check(struct pg_pool *pool, store_complaint_fn complain,
                                          void *user, uint64_t *n_wrong);

/* As store_backup(): that is pg_dump's or pg_basebackup's, and the error says so. */
WEIR_MUST_CHECK enum weir_status pg_backup(struct store_error *error);
