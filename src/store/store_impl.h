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
#include "store/commit_impl.h"
#include "store/db.h"
#include "store/journal.h"

enum {
    STORE_MAX_MAP = 16 << 20,    /* logs or documents that may be in memory */
    STORE_IDLE_SETTLE_MS = 1000, /* nothing waits longer than this to be settled */
    STORE_FULL_MS = 5000,        /* a full disk is believed to be full for so long */
    STORE_LAZY_SYNC_MS = 200,    /* STORE_DURABLE_NORMAL: the kernel is asked this often */
    VIEW_BYTES = 16 << 20,       /* that a `decide` may look at */
    PENDING_OVERHEAD = 96,       /* what a waiting chunk or document costs beyond its bytes */
};

/* Where a log is in the life between two settlings; index. */
enum log_place {
    LOG_LOOSE,    /* made by the committer, not yet visible */
    LOG_CLEAN,    /* the database has it all: may be forgotten */
    LOG_DIRTY,    /* something waits to be settled */
    LOG_SETTLING, /* the settler is at it */
};

struct log {
    struct list_node node;  /* in the list of its place; index */
    struct list_node batch; /* in the committer's batch */
    uint64_t id;
    /* What readers see; index. */
    uint64_t last;
    int64_t expires_ms;
    struct ring pending; /* chunks that the database does not have, oldest first */
    size_t n_settling;   /* how many of them the settler is at */
    bool is_kept;        /* it was there when the settler took it */
    unsigned char place; /* enum log_place */
    bool is_visible;     /* it exists */
    bool is_sealed;
    bool is_dropped;      /* it was there; the database may still say that it is */
    bool dirty_again;     /* changed while the settler was at it */
    bool is_orphan;       /* no more in the map: the settler frees it */
    unsigned char n_name; /* length of name */
    /* The committer's own: as it will be when the batch under way is durable. */
    bool next_sealed;
    bool next_dropped;
    int64_t next_expires_ms;
    uint64_t next_last;
    size_t batch_bytes;  /* of the events of this batch, with their id lines */
    struct chunk *chunk; /* those events */
    size_t chunk_at;     /* how much of it is filled in */
    char name[];
};

/* A version of a document that the database does not have; does not change once made. */
struct pending_doc {
    struct list_node node; /* in the index's or the settler's list; index */
    unsigned refs;         /* the overlay, the settler, listings; index */
    bool is_removed;
    bool in_overlay;  /* index */
    bool is_settling; /* it is in the settler's list, not in the index's; index */
    int64_t version;
    unsigned char n_kind, n_id, n_owner;
    uint32_t n_body;
    char bytes[]; /* kind, NUL, id, owner, body */
};

/* Something for the reading threads; part of what it is about. */
struct job {
    struct job *next;
    void (*run)(struct store *s, struct job *job);
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

struct store {
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
    struct list batch_logs;
    struct map batch_docs; /* documents of the batch, by key */
    struct weir_buf record;
    struct db_reader *committer_reader;
    struct doc_cache doc_cache;
    struct arena view_memory; /* what a `decide` was shown */
    uint64_t last_log_id;
    uint64_t unsynced_since_ns;
    struct store_news *news;
    size_t cap_news;
};

int64_t store_now_ms(struct store *s);

void trims_free(struct trim *trims);

/* ---- index (index.c); the lock is held unless a function says otherwise ---- */

/* NULL when there is none in memory. The committer needs no lock for this. */
struct log *index_find(const struct store *s, struct weir_slice name);
void log_free(struct log *log);
struct weir_slice log_name(const struct log *log);

/*
 * A log that was never there or was dropped: known from now on, but not visible. And one that
 * the database knows; WEIR_NOT_FOUND. Committer only; both take the lock themselves.
 */
WEIR_MUST_CHECK enum weir_status index_make_log(struct store *s, struct weir_slice name,
                                                uint64_t id, struct log **out);
WEIR_MUST_CHECK enum weir_status index_load_log(struct store *s, struct weir_slice name,
                                                struct log **out);

/* Adds events to what is visible; takes over the reference. */
void index_add_chunk(struct store *s, struct log *log, struct chunk *chunk);
void index_set_dirty(struct store *s, struct log *log);
/* The log is there, though it has no events; nothing for one that was dropped. */
void index_show(struct store *s, struct log *log);
/* Lets go of the oldest n chunks, or as many as there are. */
void index_forget_chunks(struct store *s, struct log *log, size_t n);
/* The log is gone for readers; the settler will tell the database. */
void index_drop(struct store *s, struct log *log);

struct pending_doc *pending_doc_new(struct doc_key key, struct weir_slice owner,
                                    struct weir_slice body);
struct weir_slice pending_doc_key(const struct pending_doc *d); /* kind, NUL, id */
size_t pending_doc_bytes(const struct pending_doc *d);
void pending_doc_unref(struct pending_doc *d);
/* A doc whose slices point into d. */
struct doc pending_doc_view(const struct pending_doc *d);
/* Takes over the reference; what it replaces goes. */
void index_put_doc(struct store *s, struct pending_doc *d);

enum { OVERLAY_KEY_BYTES = 2 * STORE_NAME_BYTES + 1 };
struct weir_slice overlay_key(char out[OVERLAY_KEY_BYTES], struct doc_key key);

/* Forgets clean logs beyond the ceiling. Committer only; takes the lock itself. */
void index_trim(struct store *s);
void index_fini(struct store *s);

/* ---- committer.c ---- */

/* The log as it will be when the batch under way is durable; WEIR_NOT_FOUND. */
WEIR_MUST_CHECK enum weir_status committer_log(struct store *s, struct weir_slice name,
                                               struct log_state *out);

void *committer_run(void *store);

/* ---- view.c; committer only ---- */

/* Calls the commit's `decide`, if it has one. */
WEIR_MUST_CHECK enum weir_status view_decide(struct store *s, struct commit *c);

/* The version a document has now, in the batch, the overlay or the database; 0: none. */
WEIR_MUST_CHECK enum weir_status view_doc_version(struct store *s, struct doc_key key,
                                                  int64_t *version);

void doc_cache_init(struct doc_cache *cache);
void doc_cache_fini(struct doc_cache *cache);
/* The document is another from now on. `key` is kind, NUL, id. */
void doc_cache_forget(struct doc_cache *cache, struct weir_slice key);

/* ---- settler.c ---- */

void *settler_run(void *store);
/* Settles all that is visible, by the caller's thread: before the settler was started. */
WEIR_MUST_CHECK enum weir_status settle_now(struct store *s);
/* Asks for a settling; settle_and_wait() also waits. Takes the lock itself. */
void settle_ask(struct store *s);
/* Asks the settler and waits for the end of a settling that began after the asking. */
WEIR_MUST_CHECK enum weir_status settle_and_wait(struct store *s);

/* ---- read.c ---- */

void *reader_run(void *store);
struct db_reader *store_take_reader(struct store *s); /* NULL when none can be had */
void store_give_reader(struct store *s, struct db_reader *reader);
