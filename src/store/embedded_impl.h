/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of the embedded store, shared by its threads:
 *
 *   any thread   store_commit() ──▶ queue ──▶ committer ──▶ journal ──▶ index ──▶ news, done
 *                                                                        │
 *   any thread   store_read() ◀── index, then database            settler ──▶ database
 *
 * The committer owns the journal and decides what happens: it alone adds to and takes from
 * the map of logs, and so may look into it without the lock. The index is what is visible:
 * everything durable that the database does not have yet, and the logs it has heard of lately. The
 * settler moves what is visible into the database and then lets the committer release the journal.
 *
 * Locks: `queue_lock` guards the queue; `index_lock` guards everything marked "index" below.
 * Both are held for moments only, never over the disk; never both at once.
 */
#pragma once

#include <pthread.h>

#include <weir/buf.h>

#include "base/arena.h"
#include "base/list.h"
#include "base/map.h"
#include "base/ring.h"
#include "io/file.h"
#include "store/ahead_impl.h"
#include "store/db.h"
#include "store/engine.h"
#include "store/journal.h"

enum {
    STORE_MAX_MAP = 16 << 20,    /* logs or documents that may be in memory */
    STORE_IDLE_SETTLE_MS = 1000, /* nothing waits longer than this to be settled */
    STORE_FULL_MS = 5000,        /* a full disk is believed to be full for so long */
    STORE_LAZY_SYNC_MS = 200,    /* STORE_DURABLE_NORMAL: the kernel is asked this often */
    VIEW_BYTES = 16 << 20,       /* that a `decide` may look at */
    PENDING_OVERHEAD = 96,       /* what a waiting chunk or document costs beyond its bytes */
};

struct embedded;

/* Where a log is in the life between two settlings; index. */
enum log_place {
    LOG_LOOSE,    /* made by the committer, not yet visible */
    LOG_CLEAN,    /* the database has it all: may be forgotten */
    LOG_DIRTY,    /* something waits to be settled */
    LOG_SETTLING, /* the settler is at it */
};

/* Something for the reading threads; part of what it is about. */
struct job {
    struct job *next;
    void (*run)(struct embedded *s, struct job *job);
};

/* Documents that the database has, as it has them, the least recently used first. */
struct doc_cache {
    struct map docs; /* kind, NUL, id -> struct cached_doc */
    struct list ages;
    size_t n_bytes;
};

struct trim {
    struct trim *next;
    uint64_t before;
    size_t n_name;
    char name[];
};

struct read_job {
    struct job job;
    uint64_t from;
    size_t max_bytes;
    log_read_fn done;
    void *user;
    size_t n_name;
    char name[];
};

struct embedded {
    struct store store; /* first: what others hold */
    char folder[1024];
    struct store_options options;
    const struct clock *clock;
    int64_t wall_base_ms;  /* the store's time is this plus what the monotonic clock went on, */
    uint64_t mono_base_ns; /* so that a wall clock that jumps expires nothing */
    struct file lock;
    struct journal *journal; /* the committer's */
    struct db *db;           /* the settler's */

    pthread_mutex_t queue_lock;
    pthread_cond_t queue_filled;
    struct commit *queue_first;
    struct commit **queue_end;
    uint64_t queued_bytes;
    bool committer_waits;
    bool is_closing;

    pthread_mutex_t index_lock;
    pthread_cond_t settle_wanted; /* for the settler */
    pthread_cond_t settle_ended;  /* for whoever waits for one */
    struct map logs;              /* index: by name */
    struct list clean, dirty;     /* index: logs */
    struct map overlay;           /* index: documents by kind, NUL, id */
    struct list dirty_docs;       /* index */
    struct trim *trims;           /* index: what need not be kept */
    uint64_t *dropped;            /* index: ids of logs to drop from the database */
    size_t n_dropped, cap_dropped;
    uint64_t pending_bytes;         /* index */
    uint64_t visible_number;        /* index: newest journal record that is visible */
    uint64_t visible_id;            /* index: the greatest that it, or one before, has used */
    uint64_t settled_number;        /* index */
    uint64_t settles_asked;         /* index: settlings asked for, and ended */
    uint64_t settles_ended;         /* index */
    uint64_t oldest_pending_ns;     /* index: when the oldest pending thing came; 0: nothing */
    enum weir_status settle_status; /* index: of the last settling */
    uint64_t full_since_ns;         /* index: when the journal last found no room; 0: it has */
    enum weir_status broken;        /* index: not WEIR_OK: nothing is accepted any more */
    bool settler_stops;             /* index */
    struct store_stats stats;       /* index */

    pthread_mutex_t reader_lock;
    pthread_cond_t job_added;
    struct ring spares; /* reader_lock: database connections nobody uses */
    struct job *jobs;   /* reader_lock */
    struct job **jobs_end;
    bool readers_stop; /* reader_lock */

    pthread_t committer, settler;
    pthread_t *readers;
    unsigned n_readers;
    bool is_running;

    /* The committer's own. */
    struct ahead ahead;
    struct weir_buf record;
    struct db_reader *committer_reader;
    struct doc_cache doc_cache;
    struct arena view_memory; /* what a `decide` was shown */
    bool is_blind;            /* a call in vain is under way: see view.c */
    unsigned n_blind;         /* documents that such calls have asked for */
    uint64_t last_id;         /* of logs and of lives of documents */
    uint64_t unsynced_since_ns;
    struct store_news *news;
    size_t cap_news;
};

static inline struct embedded *embedded_of(struct store *s)
{
    return CONTAINER_OF(s, struct embedded, store);
}

int64_t embedded_now_ms(struct embedded *s);

void trims_free(struct trim *trims);

/* ---- index (index.c); the lock is held unless a function says otherwise ---- */

/* NULL when there is none in memory. The committer needs no lock for this. */
struct log *index_find(const struct embedded *s, struct weir_slice name);

/*
 * A log that was never there or was dropped: known from now on, but not visible. And one that
 * the database knows; WEIR_NOT_FOUND. Committer only; both take the lock themselves.
 */
WEIR_MUST_CHECK enum weir_status index_make_log(struct embedded *s, struct weir_slice name,
                                                uint64_t id, struct log **out);
WEIR_MUST_CHECK enum weir_status index_load_log(struct embedded *s, struct weir_slice name,
                                                struct log **out);

/* Adds events to what is visible; takes over the reference. */
void index_add_chunk(struct embedded *s, struct log *log, struct chunk *chunk);
void index_set_dirty(struct embedded *s, struct log *log);
/* The log is there, though it has no events; nothing for one that was dropped. */
void index_show(struct embedded *s, struct log *log);
/* Lets go of the oldest n chunks, or as many as there are. */
void index_forget_chunks(struct embedded *s, struct log *log, size_t n);
/* The log is gone for readers; the settler will tell the database. */
void index_drop(struct embedded *s, struct log *log);

/* Takes over the reference; what it replaces goes. */
void index_put_doc(struct embedded *s, struct pending_doc *d);

/* Forgets clean logs beyond the ceiling. Committer only; takes the lock itself. */
void index_trim(struct embedded *s);
void index_fini(struct embedded *s);

/* ---- committer.c ---- */

extern const struct ahead_ways embedded_ways;

void *committer_run(void *store);

/* ---- view.c; committer only ---- */

/* Calls the commit's `decide`, if it has one. */
WEIR_MUST_CHECK enum weir_status view_decide(struct embedded *s, struct commit *c);

/* The version a document has now, in the batch, the overlay or the database; 0: none. */
WEIR_MUST_CHECK enum weir_status view_doc_version(struct embedded *s, struct doc_key key,
                                                  int64_t *version);

void doc_cache_init(struct doc_cache *cache);
void doc_cache_fini(struct doc_cache *cache);
/* The document is another from now on. `key` is kind, NUL, id. */
void doc_cache_forget(struct doc_cache *cache, struct weir_slice key);

/* As commit_view_doc() and commit_view_log(). */
WEIR_MUST_CHECK enum weir_status embedded_view_doc(struct store *s, struct doc_key key,
                                                   struct doc *out);
WEIR_MUST_CHECK enum weir_status embedded_view_log(struct store *s, struct weir_slice log,
                                                   struct log_state *out);

/* ---- settler.c ---- */

WEIR_MUST_CHECK enum weir_status embedded_trim(struct store *s, struct weir_slice log,
                                               uint64_t before);

void *settler_run(void *store);
/* Settles all that is visible, by the caller's thread: before the settler was started. */
WEIR_MUST_CHECK enum weir_status settle_now(struct embedded *s);
/* Asks for a settling; settle_and_wait() also waits. Takes the lock itself. */
void settle_ask(struct embedded *s);
/* Asks the settler and waits for the end of a settling that began after the asking. */
WEIR_MUST_CHECK enum weir_status settle_and_wait(struct embedded *s);

/* ---- read.c ---- */

void *reader_run(void *store);
struct db_reader *embedded_take_reader(struct embedded *s); /* NULL when none can be had */
void embedded_give_reader(struct embedded *s, struct db_reader *reader);

/* As the functions of store.h and passage.h that are called so without "embedded". */
void embedded_read(struct store *s, struct weir_slice log, uint64_t from, size_t max_bytes,
                   struct log_read *out);
bool embedded_read_now(struct store *s, struct weir_slice log, uint64_t from, size_t max_bytes,
                       struct log_read *out);
void embedded_read_later(struct store *s, struct weir_slice log, uint64_t from, size_t max_bytes,
                         log_read_fn done, void *user);
WEIR_MUST_CHECK enum weir_status embedded_later(struct store *s, void (*work)(void *user),
                                                void *user);
WEIR_MUST_CHECK enum weir_status embedded_doc_get(struct store *s, struct doc_key key,
                                                  struct doc *out);
WEIR_MUST_CHECK enum weir_status embedded_doc_list(struct store *s, const struct doc_query *query,
                                                   doc_fn each, void *user);
WEIR_MUST_CHECK enum weir_status embedded_search(struct store *s, const struct passage_query *query,
                                                 passage_fn each, void *user);
