/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store: logs, documents, and commits that join them.
 *
 * A log is a name and the events 1, 2, 3… appended to it, without gap or repeat, over
 * crashes too. An event is kept in wire form: "id: N\n" is put in front of the frame
 * that was appended. A document is bytes under (kind, id), with an owner and a version.
 * A commit is a list of appends, seals, drops and documents that happen all or not at all.
 *
 * 1. store_open() takes the folder, which no other process may have open, and recovers it; or it
 *    goes to a database that others may use at the same time, too: a store that is shared.
 * 2. commit_new(), commit_append() & co., store_commit(). `done` says how it went.
 * 3. store_read() and document functions, at any time, from any thread.
 * 4. store_close() when every commit's `done` was called.
 *
 * Durable: `done` with WEIR_OK is called, and news are given, only after the commit is on
 *   the disk (STORE_DURABLE_FULL). With STORE_DURABLE_NORMAL it is in the hands of the
 *   kernel: it survives a crash of the process, the last moments not that of the machine.
 * Order: commits of one thread happen in the order given. All that a log's reader sees is
 *   a prefix of it. A commit is visible as a whole: news of it come in one call.
 * Isolation: a read sees what was committed before it began, and nothing else.
 * Failure: `done` with another status means that nothing of the commit happened and nobody
 *   saw any of it, with one exception: after WEIR_STORAGE nobody knows until the store was
 *   opened again; nobody has seen it until then.
 *
 *   WEIR_NOT_FOUND   a sealed, dropped or versioned thing is not there
 *   WEIR_SEALED      an append to a log that was sealed
 *   WEIR_CONFLICT    a document's version, or a log's newest id, is not the one expected
 *   WEIR_EXISTS      a document that had to be new is there
 *   WEIR_NO_SPACE    the disk is full: room may come
 *   WEIR_BUSY        too much is waiting to be committed: try again
 *   WEIR_STORAGE     a write or a sync failed: nothing is accepted any more; reads go on.
 *                    Only closing and opening the store helps. Of a shared store: not now;
 *                    nothing of the commit happened, and the next one may do well
 *   WEIR_SHUTDOWN    the store is closing
 *   WEIR_LIMIT       larger than a ceiling below
 *   WEIR_CORRUPT, WEIR_IO, WEIR_NOMEM
 *
 * Any thread, unless a function says otherwise.
 */
#pragma once

#include <weir/status.h>

#include "base/clock.h"
#include "store/chunk.h"

enum {
    STORE_NAME_BYTES = 255,       /* longest name of a log, kind, id or owner */
    STORE_FRAME_BYTES = 4 << 20,  /* longest frame */
    STORE_COMMIT_BYTES = 8 << 20, /* largest commit */
    STORE_DOC_BYTES = 4 << 20,    /* largest document */
};

/* What store_commit() and the readers of logs hand around: see below. */
struct store;
struct commit;
struct doc;
struct doc_key;
struct log_state;

/* ---- life ---- */

enum store_durability { STORE_DURABLE_FULL, STORE_DURABLE_NORMAL };

/*
 * A log was made, advanced, was sealed or was dropped.
 *
 * One that is dropped may have log_id 0: when the store looked, there was none of this name, and it
 * does not know which one had been there. That is a reason to look and no more, for another may
 * have been made since: whoever knows of a log by this name reads the store again, which by then
 * remembers nothing older.
 */
struct store_news {
    struct weir_slice log; /* its name */
    uint64_t log_id;       /* tells a log from an earlier one of the same name */
    struct chunk *chunk;   /* the new events; NULL when there are none. Ref it to keep it */
    bool is_made;          /* it was not there before */
    bool is_sealed;
    bool is_dropped;
};

/*
 * All that became visible by one sync, in order. Called by the committer's thread, after
 * reads can see it and before any `done` of it. Must be short.
 */
typedef void (*store_news_fn)(void *user, const struct store_news *news, size_t n);

/*
 * Documents that other processes changed; n == 0: news of them were lost, any may have changed.
 * Called by the committer's thread, of a shared store alone. Must be short.
 */
typedef void (*store_docs_fn)(void *user, const struct doc_key *keys, size_t n);

typedef void (*store_log_fn)(void *arg, struct weir_slice log);
enum { STORE_LOG_PARTS = 64 };

/* 0 or NULL in any field means its default. */
struct store_options {
    enum store_durability durability;
    const struct clock *clock;
    uint64_t pending_bytes; /* 16 MiB: committed bytes that may wait in memory to be settled */
    uint64_t queue_bytes;   /* 64 MiB: bytes that may wait to be committed, then WEIR_BUSY */
    uint64_t segment_bytes; /* of the journal */
    unsigned max_logs;      /* 65,536: logs remembered in memory beyond those with pending events */
    unsigned n_readers;     /* 2: threads that read for store_read_later() */
    store_news_fn on_news;
    store_docs_fn on_docs;
    /* Whether news of that log, made by others, are wanted; all when NULL. Any thread. */
    bool (*wants_log)(void *user, struct weir_slice log);
    /* A database answers and takes nothing: its own words why, once a minute. Any thread. */
    void (*on_refused)(void *user, const char *why);
    /* Calls `each`, which is short, for the logs of one of STORE_LOG_PARTS parts of those that are
     * wanted: now and then they are compared with what was told of them. Any thread. */
    void (*each_log)(void *user, unsigned part, store_log_fn each, void *arg);
    void *user;
};

/* Where an opening failed, for people. */
struct store_error {
    char text[256];
};

/*
 * Opens the store at a place: a folder, which is made if it is not there, or the URL of a database
 * of PostgreSQL ("postgres://…", "postgresql://…"). WEIR_LOCKED when another process has the
 * folder, WEIR_NEWER when a newer weir wrote it.
 */
WEIR_MUST_CHECK enum weir_status store_open(struct store **out, const char *place,
                                            const struct store_options *options,
                                            struct store_error *error);

/* Commits what is queued, settles and closes. NULL is allowed. */
void store_close(struct store *s);

/* Other processes may have it open, too. */
bool store_is_shared(const struct store *s);

/* ---- committing ---- */

struct commit_result {
    enum weir_status status;
    uint64_t first;  /* ids of the first and last event of the commit's last append run; */
    uint64_t last;   /* 0 when it appended none */
    int64_t version; /* of the last document put */
    int64_t made;    /* the version of all documents that it has made; 0: none */
};

enum { DOC_LIFE_BITS = 20 }; /* of a version: the puts of one life of its key */

/* How often it was put since it was made. */
static inline int64_t doc_n_puts(int64_t version)
{
    return version & (((int64_t)1 << DOC_LIFE_BITS) - 1);
}

/* No log and no other life of the key had the same number; 0: of a version from before lives. */
static inline uint64_t doc_life(int64_t version)
{
    return (uint64_t)version >> DOC_LIFE_BITS;
}

/* Called once for each commit, by the committer's thread. Must be short. */
typedef void (*commit_done_fn)(void *user, const struct commit_result *result);

/* An empty commit; `expected_bytes` is a hint. NULL when there is no memory. */
struct commit *commit_new(size_t expected_bytes);

/* The same in memory of the caller's, of at least commit_size(expected_bytes), aligned. */
size_t commit_size(size_t expected_bytes);
struct commit *commit_new_in(void *memory, size_t size);
void commit_free(struct commit *c); /* NULL is allowed */

/*
 * Appends an event to a log, which is made if it is not there. The frame is wire form
 * without the id line: lines that end in LF, then an empty line, no CR, no NUL. A commit that
 * goes wrong remembers it: WEIR_INVALID, WEIR_LIMIT or WEIR_NOMEM from store_commit().
 */
void commit_append(struct commit *c, struct weir_slice log, struct weir_slice frame);

/* Makes a log without events, if it is not there. */
void commit_make(struct commit *c, struct weir_slice log);

/* The commit happens only if the log's newest id is `last` by then; 0: empty or not there. */
void commit_expect(struct commit *c, struct weir_slice log, uint64_t last);

/* No more appends; the log expires `keep_ms` from now, or never when it is negative. */
void commit_seal(struct commit *c, struct weir_slice log, int64_t keep_ms);

/* Forgets a log and all its events. The name may be used again, from id 1. */
void commit_drop(struct commit *c, struct weir_slice log);

enum { DOC_ANY_VERSION = -1, DOC_MUST_BE_NEW = 0 };

/*
 * Puts a document, if its version is the expected one (or DOC_ANY_VERSION, DOC_MUST_BE_NEW).
 * Each put gives it the next version. One that is made, also after it was removed, begins where no
 * earlier one of its key has been: whoever compares versions never takes it for that.
 */
struct doc_key {
    struct weir_slice kind;
    struct weir_slice id;
};
void commit_put(struct commit *c, struct doc_key key, int64_t expected_version,
                struct weir_slice owner, struct weir_slice body);
void commit_remove(struct commit *c, struct doc_key key, int64_t expected_version);

/*
 * A commit that is looked at when its turn comes. `decide` is called by the committer's thread
 * and sees everything as it is after all commits before this one; it adds to the commit what
 * else is to happen and returns WEIR_OK, or it returns why nothing is to happen, which `done`
 * gets then. It may add commit_drop() only if `may_drop`, which takes a sync of its own. Must
 * be short. It may be called more than once: when what it saw turns out to be old, what it added
 * is taken back and it is asked again; the last call alone counts.
 */
struct commit_view;
typedef enum weir_status (*commit_decide_fn)(void *user, struct commit_view *view,
                                             struct commit *c);
void commit_decide(struct commit *c, bool may_drop, commit_decide_fn decide, void *user);

/* WEIR_NOT_FOUND. The document is borrowed until `decide` returns: no doc_fini(). */
WEIR_MUST_CHECK enum weir_status commit_view_doc(struct commit_view *view, struct doc_key key,
                                                 struct doc *out);
/* A log that is not there does not exist: that is no error. */
WEIR_MUST_CHECK enum weir_status commit_view_log(struct commit_view *view, struct weir_slice log,
                                                 struct log_state *out);

/*
 * Hands the commit over until `done` is called, which it always is, maybe before this returns
 * when it is refused. From then on it belongs to its maker again, who frees it.
 */
void store_commit(struct store *s, struct commit *c, commit_done_fn done, void *user);

/*
 * Several commits, handed over with one lock and one wake: whoever makes many in a moment
 * should do that, and the next sync takes them all. The struct is zeroed at first and empty
 * again afterwards. One thread at a time.
 */
struct commit_run {
    struct commit *first;
    struct commit *last;
};
void commit_run_add(struct commit_run *run, struct commit *c, commit_done_fn done, void *user);
void store_commit_run(struct store *s, struct commit_run *run);

/* As store_commit(), but waits, and frees the commit. */
struct commit_result store_commit_wait(struct store *s, struct commit *c);

/*
 * Events before `before` need not be kept: they go when the settler comes to it, as far as they lie
 * in rows of their own. No promise is made of when, and after a crash it may have to be said again;
 * so whoever trims remembers where readers may begin. Reading further back is WEIR_NOT_FOUND, and
 * the stream of who was there ends. Ids go on as if nothing had happened. WEIR_NOMEM.
 */
WEIR_MUST_CHECK enum weir_status store_trim(struct store *s, struct weir_slice log,
                                            uint64_t before);

/* ---- reading logs ---- */

struct log_state {
    bool exists;
    bool is_sealed;
    uint64_t log_id;
    uint64_t last; /* newest durable event; 0: none */
};

enum { STORE_READ_CHUNKS = 8 };

struct log_read {
    enum weir_status status;
    struct log_state state;
    struct chunk *chunks[STORE_READ_CHUNKS]; /* references are the receiver's */
    unsigned n_chunks;
};

/*
 * Events from id `from` on, without a gap, up to about `max_bytes` but one event at least.
 * No chunk when there is no such event (yet). max_bytes 0 asks for the state alone. It may
 * wait for the disk.
 */
void store_read(struct store *s, struct weir_slice log, uint64_t from, size_t max_bytes,
                struct log_read *out);

/* The same if that can be told without waiting for the disk; else false. */
bool store_read_now(struct store *s, struct weir_slice log, uint64_t from, size_t max_bytes,
                    struct log_read *out);

/* Called by one of the store's reading threads; takes over the references. */
typedef void (*log_read_fn)(void *user, const struct log_read *read);

/* The same by a thread of the store's. */
void store_read_later(struct store *s, struct weir_slice log, uint64_t from, size_t max_bytes,
                      log_read_fn done, void *user);

/*
 * Calls `work` in a thread of the store's: the place for reads that may wait. WEIR_NOMEM: it is
 * not called.
 */
WEIR_MUST_CHECK enum weir_status store_later(struct store *s, void (*work)(void *user), void *user);

/* ---- reading documents ---- */

struct doc {
    struct weir_slice kind, id, owner, body; /* inside `memory` */
    int64_t version;
    void *memory;
};

/* WEIR_NOT_FOUND; free with doc_fini(). May wait for the disk. */
WEIR_MUST_CHECK enum weir_status store_doc_get(struct store *s, struct doc_key key,
                                               struct doc *out);
void doc_fini(struct doc *d);

/* WEIR_OK to go on; anything else ends the listing and is returned. */
typedef enum weir_status (*doc_fn)(void *user, const struct doc *doc);

/* Which documents. */
struct doc_query {
    struct weir_slice kind;
    struct weir_slice owner; /* empty: of all */
    struct weir_slice after; /* ids behind this one, compared byte for byte; empty: all */
    size_t limit;            /* so many at most */
    bool is_falling;         /* by falling id: "behind" is below then */
};

/* The documents asked for, by rising id unless told otherwise. */
WEIR_MUST_CHECK enum weir_status store_doc_list(struct store *s, const struct doc_query *query,
                                                doc_fn each, void *user);

/* ---- looking after it ---- */

/* WEIR_OK when a commit would be accepted now. */
WEIR_MUST_CHECK enum weir_status store_is_writable(struct store *s);

/*
 * What time it is for all who have the store open: that of its clock, or of a shared one that of
 * its first database, whatever the clocks of their machines say. Any thread.
 */
int64_t store_wall_ms(struct store *s);

/* Everything committed so far is in the database, and may be read there by other tools. */
WEIR_MUST_CHECK enum weir_status store_settle(struct store *s);

/* A consistent copy, while everything goes on, into a file that must not exist. */
WEIR_MUST_CHECK enum weir_status store_backup(struct store *s, const char *path,
                                              struct store_error *error);

/* Reads everything and reports each thing that is wrong; *n_wrong counts. */
typedef void (*store_complaint_fn)(void *user, const char *text);
WEIR_MUST_CHECK enum weir_status store_check(struct store *s, store_complaint_fn complain,
                                             void *user, uint64_t *n_wrong);

/* Upper bounds of the histogram's buckets; the last one has none. */
enum { STORE_HISTOGRAM_BUCKETS = 16 };

struct store_histogram {
    uint64_t counts[STORE_HISTOGRAM_BUCKETS]; /* bucket i: up to 2^i units; the last: more */
    uint64_t n;
    uint64_t sum;
};

/* Of a shared store: how it gets on with its databases. */
struct store_shared_stats {
    unsigned n_reading, max_reading; /* connections that read, and how many there may be */
    uint64_t n_waits, n_busy;        /* reads that had to wait for one; that got none */
    uint64_t n_conflicts;            /* batches that were decided again */
    uint64_t n_alone;                /* batches that were decided while all others waited */
    uint64_t n_connects, n_lost;     /* connections of the committer: made, lost */
    uint64_t n_notes, n_fetches;     /* notifications heard; fetches of events because of them */
    uint64_t n_news_lost;            /* times that anything may have changed unheard */
    uint64_t n_listens;              /* connections of the listener that were made */
    uint64_t n_standby_reads;        /* reads that a standby has answered */
    uint64_t n_failed_sweeps;        /* rounds of looking after the tables that did not work */
    uint64_t n_databases, n_away;    /* databases that it is on; that cannot be reached now */
    bool is_listening;               /* news are heard */
};

struct store_stats {
    uint64_t n_commits, n_events, n_refused, n_syncs, n_settles, n_reads;
    uint64_t event_bytes, read_bytes, pending_bytes, queued_bytes;
    struct store_histogram batch_commits; /* commits in a sync */
    struct store_histogram commit_us;     /* from store_commit() to done */
    bool is_broken;
    struct store_shared_stats shared;
};

void store_stats(struct store *s, struct store_stats *out);
