/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of a store on PostgreSQL, shared by its threads:
 *
 *   any thread   store_commit() ──▶ queue ──▶ committer ──▶ one transaction ──▶ news, done
 *                                                ▲
 *   listener     what other nodes wrote ─────────┘
 *   any thread   store_read() ◀── a pool of connections; store_read_later() by reading threads
 *   keeper       sweeps now and then
 *
 * Nobody has the database for himself, so the committer is optimistic: it decides a batch on what
 * it remembers or reads, and sends everything as one group of statements that happens only if
 * nothing of what was looked at has changed. If something has, it reads again and decides again.
 *
 * What keeps this right, whoever else commits:
 *
 *   - each document that a batch looked at or changes is locked by an advisory lock of its key's
 *     hash until the end of the transaction, shared or exclusive, all in one order; then versions
 *     are compared. So it is for logs that were seen not to be there, or are made;
 *   - logs that are there are locked by their rows, in the order of their ids for each kind of
 *     change. Two batches that append to a log and seal another, the other way round, stop each
 *     other: the database ends one of them, which is decided again;
 *   - a node's batches are numbered, and each writes its number to the node's row in the table of
 *     writers if it is the one behind the last. When a connection is lost nobody knows whether the
 *     batch happened: the row does. It is told apart there, and its number is used up, before
 *     anything else goes on. No commit's `done` ever says "perhaps".
 *
 * A store may have several databases (pg_clusters.h). All of the above is about the first of them.
 * Events of a log that is elsewhere are written there while the transaction of the first one is
 * open, has its locks and waits: see pg_carry.c.
 *
 * Locks: `queue_lock` guards what is marked "queue", `stats_lock` what is marked "stats",
 * `reader_lock` the jobs of the reading threads. All are held for moments only, never two at once.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "base/ulid.h"
#include "store/ahead_impl.h"
#include "store/engine.h"
#include "store/pg_clusters.h"
#include "store/pg_keeper.h"
#include "store/pg_listen.h"
#include "store/pg_news.h"
#include "store/pg_tables.h"

enum {
    PG_WAIT_MS = 5000,        /* so long a commit may wait for a database that is away */
    PG_PROBE_MS = 1000,       /* between two attempts to reach it */
    PG_DOCS_BYTES = 32 << 20, /* documents that are remembered */
    PG_DOC_OVERHEAD = 200,
    PG_BATCH_BYTES = 4 << 20, /* of one transaction, about */
    PG_LOCK_TURN = 4, /* of PG_LOCKS: shared by all batches; exclusive by who is out of luck */
    PG_IDS = 64,      /* taken from the sequence at a time, for one batch */
    PG_VIEW_BYTES = 16 << 20, /* that a `decide` may look at */
    PG_POOL = 8,              /* connections that read */
    PG_ANSWER_MS = 10000,     /* to a batch; then nobody knows what became of it */
};

/* A document as the database has it, or is believed to have it; the committer's. */
struct pg_doc {
    struct list_node age;    /* the least recently used first */
    struct list_node batch;  /* the batch under way has looked at it */
    struct pending_doc *doc; /* its key at least; version 0: it is not there */
    bool is_known;           /* false: not even the version, or not what it was */
    bool is_believed;        /* the version was expected by somebody and has yet to be seen */
};

struct pg_job {
    struct pg_job *next;
    void (*run)(struct store *s, struct pg_job *job);
};

/* Numbers that were taken from the sequence and not used yet. */
struct pg_ids {
    int64_t all[PG_IDS];
    unsigned n;
};

/* What is to be fetched with the next statement; the committer's. */
struct pg_wish {
    struct pg_doc **docs;
    size_t n_docs, cap_docs;
    struct log **logs;
    size_t n_logs, cap_logs;
};

/* Columns of a batch's statements; the committer's. */
struct pg_columns;

struct pg_store {
    struct store store;             /* first: what others hold */
    const char *url;                /* of the first cluster */
    char writer[ULID_TEXT_LEN + 1]; /* who we are, for the table of writers and notifications */
    struct store_options options;
    const struct clock *clock;
    atomic_int_fast64_t ahead_ms; /* the database's time, less that of our monotonic clock */
    struct pg_clusters clusters;
    struct pg_pool *pool; /* that of the first cluster */

    pthread_mutex_t queue_lock;
    pthread_cond_t queue_filled;
    struct commit *queue_first;  /* queue */
    struct commit **queue_end;   /* queue */
    uint64_t queued_bytes;       /* queue */
    uint64_t n_queued, n_ended;  /* queue: commits accepted, and told how they went */
    pthread_cond_t some_ended;   /* queue */
    uint64_t away_since_ns;      /* queue: since when the database cannot be reached; 0: it can */
    enum weir_status refusal;    /* queue: how it refused last, or WEIR_OK */
    uint64_t refused_ns;         /* queue: when that was */
    struct pg_heard *heard;      /* queue: what other nodes have written, the oldest first */
    struct pg_heard **heard_end; /* queue */
    bool committer_waits;        /* queue: for anything */
    bool committer_gathers;      /* queue: for more commits, until n_queued is n_gathered */
    uint64_t n_gathered;         /* queue */
    bool is_closing;             /* queue */

    pthread_mutex_t stats_lock;
    struct store_stats stats; /* stats */

    pthread_mutex_t reader_lock;
    pthread_cond_t job_added;
    struct pg_job *jobs; /* reader_lock */
    struct pg_job **jobs_end;
    bool readers_stop; /* reader_lock */

    pthread_t committer;
    pthread_t *readers;
    unsigned n_readers;
    bool has_committer;
    struct pg_keeper *keeper;
    atomic_uint n_dropping; /* commits that drop what has expired */
    struct pg_listener *listener;

    /* The committer's own. */
    struct ahead ahead;
    struct pg *pg;               /* NULL: there is no connection */
    struct store_error link_why; /* why there is none */
    int old_process;             /* of the connection that was lost; 0: it ended as it should */
    uint64_t batch_number;       /* the newest in our row */
    uint64_t batch_ns;           /* queue: when the last batch began */
    bool is_batching;            /* queue: it is under way */
    size_t batch_commits;        /* that it had */
    uint64_t refusal_told_ns;    /* 0: never */
    uint64_t connect_at_ns;      /* not before that */
    struct map logs;             /* struct log by name: as the database has them */
    struct list log_ages;        /* by `node`, the least recently used first */
    struct map docs;             /* struct pg_doc by kind, NUL, id */
    struct list doc_ages;
    size_t doc_bytes;
    struct list batch_docs;            /* that the batch has looked at */
    size_t n_batch_docs, n_batch_keys; /* that is, advisory locks */
    struct pg_wish wish;
    enum weir_status trouble; /* of a look into the database while the batch was decided */
    bool is_stale;            /* the batch was decided on two states: it has to be again */
    struct pg_ids log_ids, life_ids;
    size_t max_keys; /* of one batch: the server's table of locks is bounded */
    size_t viewed;   /* bytes that the `decide` under way was shown */
    struct pg_columns *columns;
    struct pg_words *words;
    struct pg_news *news_text;
    struct store_news *news;
    size_t cap_news;
};

static inline struct pg_store *pg_store_of(struct store *s)
{
    return CONTAINER_OF(s, struct pg_store, store);
}

/*
 * The database's time, by our own clock meanwhile. It is set again with each connection and each
 * round of the keeper: our clock stands still while the machine sleeps, and after a failover it is
 * another server's time that counts. Any thread.
 */
int64_t pg_now_ms(struct pg_store *s);
WEIR_MUST_CHECK enum weir_status pg_set_time(struct pg_store *s, struct pg *pg);

/* ---- what is remembered (pg_cache.c); committer only ---- */

void pg_cache_init(struct pg_store *s);
void pg_cache_fini(struct pg_store *s);
/* Nothing of a log or document, or of anything, is believed any more. */
void pg_cache_forget_log(struct pg_store *s, struct weir_slice name);
void pg_cache_forget_doc(struct pg_store *s, struct doc_key key);
void pg_cache_forget_all(struct pg_store *s);
/* Forgets what was used longest ago beyond the ceilings, and nothing of the batch under way. */
void pg_cache_trim(struct pg_store *s);

/* What is remembered, or a place for it that is not known yet; NULL: no memory. */
struct log *pg_cache_log(struct pg_store *s, struct weir_slice name);
struct pg_doc *pg_cache_doc(struct pg_store *s, struct doc_key key);
/* The document is this from now on; takes it over. */
void pg_cache_set_doc(struct pg_store *s, struct pg_doc *d, struct pending_doc *doc);

/* To be fetched with the rest. */
WEIR_MUST_CHECK enum weir_status pg_wish_log(struct pg_store *s, struct log *log);
WEIR_MUST_CHECK enum weir_status pg_wish_doc(struct pg_store *s, struct pg_doc *d);
/* Fetches all that is wished for, with a statement for each kind. WEIR_STORAGE & co. */
WEIR_MUST_CHECK enum weir_status pg_fetch(struct pg_store *s);

/* ---- what a batch sees (pg_view.c); committer only ---- */

extern const struct ahead_ways pg_ways;

/* Fetches what the commits' operations speak of, as far as it is not remembered. */
WEIR_MUST_CHECK enum weir_status pg_view_prefetch(struct pg_store *s, struct commit *commits);
/*
 * Lets go of what was decided. If it `is_stale` nothing that the batch saw is believed any more,
 * and all of it is fetched with the next pg_fetch().
 */
void pg_view_roll_back(struct pg_store *s, bool is_stale);
/* The batch is over: lets go of what it only looked at. */
void pg_view_end(struct pg_store *s);

WEIR_MUST_CHECK enum weir_status pg_view_doc(struct store *s, struct doc_key key, struct doc *out);
WEIR_MUST_CHECK enum weir_status pg_view_log(struct store *s, struct weir_slice log,
                                             struct log_state *out);

/* ---- events on other databases (pg_carry.c); committer only ---- */

/* Events of one log that another database is to have. */
struct pg_carried {
    const int64_t *logs, *first, *last; /* columns: n rows, by rising log */
    const struct weir_slice *bytes;
    size_t n;
    int64_t token;
};

/* Sends them to that database. WEIR_STORAGE: it cannot be written to now. */
WEIR_MUST_CHECK enum weir_status pg_carry_send(struct pg_cluster *to,
                                               const struct pg_carried *events);
/*
 * Waits for all that was sent, whatever became of it. WEIR_CONFLICT: somebody has written to one
 * of the logs who had a newer token. WEIR_STORAGE: one of the databases could not do it.
 */
WEIR_MUST_CHECK enum weir_status pg_carry_wait(struct pg_store *s);

/* ---- a batch as statements (pg_write.c); committer only ---- */

WEIR_MUST_CHECK enum weir_status pg_columns_new(struct pg_columns **out);
void pg_columns_free(struct pg_columns *c); /* NULL is allowed */

/*
 * Sends all that was decided as one transaction under this number, and waits for its end; nothing
 * that was only looked at needs a number: *is_written. WEIR_CONFLICT: something was not as it was
 * seen. WEIR_STORAGE with a broken connection: it may have happened, if it is_written.
 */
WEIR_MUST_CHECK enum weir_status pg_write(struct pg_store *s, uint64_t number, bool is_locked,
                                          bool *is_written);

/* ---- the committer's connection (pg_link.c); committer only ---- */

/* Connected, with a row in the table of writers. WEIR_STORAGE: not now. */
WEIR_MUST_CHECK enum weir_status pg_link_open(struct pg_store *s, struct store_error *error);
/*
 * What all connections that write have in common. Without durability a commit may be lost, but
 * never what it rests on: whoever carries events waits for its disk always. The answer is still to
 * be taken.
 */
void pg_link_send_settings(struct pg *pg, bool is_durable);
/* The connection is of no use any more. */
void pg_link_lose(struct pg_store *s);
/* Connects again, if it is time to. */
WEIR_MUST_CHECK enum weir_status pg_link_up(struct pg_store *s);
/*
 * Whether the batch that was under way when the connection was lost has happened. Its number is
 * used up afterwards. WEIR_STORAGE: nobody knows yet.
 */
WEIR_MUST_CHECK enum weir_status pg_link_resolve(struct pg_store *s, uint64_t number,
                                                 bool *has_happened);
void pg_link_close(struct pg_store *s);

/* ---- the committer (pg_commit.c) ---- */

void *pg_committer_run(void *store);
void pg_commit_run(struct store *s, struct commit_run *run);
/* Other nodes have written something; takes it over. Any thread. */
void pg_commit_hear(void *store, struct pg_heard *h);
/* Under the queue's lock: a batch is under way for longer than a commit may wait. */
bool pg_commit_is_stuck(const struct pg_store *s, uint64_t now);
/* A database answers, and takes nothing: its own words, once a minute at most. Committer only. */
void pg_tell_refusal(struct pg_store *s, enum weir_status st, const struct pg *by);

/* ---- threads that read (pg_readers.c) ---- */

void *pg_reader_run(void *store);
void pg_read_later(struct store *s, struct weir_slice log, uint64_t from, size_t max_bytes,
                   log_read_fn done, void *user);
WEIR_MUST_CHECK enum weir_status pg_later(struct store *s, void (*work)(void *user), void *user);
