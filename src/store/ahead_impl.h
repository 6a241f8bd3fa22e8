/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state ahead: logs and documents as they will be when the batch under way is durable. Every
 * engine's committer decides its commits here, one after the other, each on the state that those
 * before it leave; how a log or a document is found that the batch has not touched yet is the
 * engine's business. Nobody else sees any of it.
 *
 * 1. ahead_decide() for each commit of the batch. One that cannot happen is undone and fails alone.
 * 2. ahead_fill() makes the events of each log one chunk, ids and all.
 * 3. The engine writes what is in `logs` and `docs` and takes it out; or ahead_roll_back().
 *
 * The committer's thread alone.
 */
#pragma once

#include <weir/buf.h>

#include "base/list.h"
#include "base/map.h"
#include "base/ring.h"
#include "store/commit_impl.h"

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
    bool is_dropped;       /* it was there; the database may still say that it is */
    bool dirty_again;      /* changed while the settler was at it */
    bool is_orphan;        /* no more in the map: the settler frees it */
    bool is_known;         /* of PostgreSQL: the database was asked for it */
    unsigned char cluster; /* of PostgreSQL: which database has its events */
    unsigned char n_name;  /* length of name */
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

struct log *log_new(struct weir_slice name, uint64_t id); /* not visible; NULL: no memory */
void log_free(struct log *log);
struct weir_slice log_name(const struct log *log);

struct pending_doc *pending_doc_new(struct doc_key key, struct weir_slice owner,
                                    struct weir_slice body);
struct weir_slice pending_doc_key(const struct pending_doc *d); /* kind, NUL, id */
size_t pending_doc_bytes(const struct pending_doc *d);
void pending_doc_unref(struct pending_doc *d);
/* A doc whose slices point into d. */
struct doc pending_doc_view(const struct pending_doc *d);

enum { OVERLAY_KEY_BYTES = 2 * STORE_NAME_BYTES + 1 };
struct weir_slice overlay_key(char out[OVERLAY_KEY_BYTES], struct doc_key key);

/* Which logs are to be found; one that is not gets WEIR_NOT_FOUND. */
enum log_wanted {
    LOG_LIVE,    /* that is there and has not expired */
    LOG_EXPIRED, /* that is there */
    LOG_MAYBE,   /* any; one that is not there yet is not visible, and has an id to be made with */
};

struct ahead;

/* What the engine knows. A log that is found has joined the batch: ahead_join(). */
struct ahead_ways {
    enum weir_status (*find_log)(struct ahead *a, struct weir_slice name, enum log_wanted wanted,
                                 struct log **out);
    /*
     * The version of a document that the batch has not changed; 0: none. An engine that can take
     * it back may believe what is expected of it.
     */
    enum weir_status (*doc_version)(struct ahead *a, struct doc_key key, int64_t expected,
                                    int64_t *version);
    /* A number that was never given before, not to a log either. */
    enum weir_status (*next_id)(struct ahead *a, uint64_t *id);
    enum weir_status (*call_decide)(struct ahead *a, struct commit *c);
    int64_t (*now_ms)(struct ahead *a);
};

struct ahead {
    const struct ahead_ways *ways;
    struct list logs;           /* that have joined the batch, by `batch` */
    struct map docs;            /* changed by the batch: struct pending_doc by its key */
    uint64_t n_events, n_bytes; /* of the chunks, once they are filled */
    size_t n_logs;
};

void ahead_init(struct ahead *a, const struct ahead_ways *ways, size_t max_docs);
void ahead_fini(struct ahead *a);

void ahead_join(struct ahead *a, struct log *log);

/* As it is so far; WEIR_NOT_FOUND. */
WEIR_MUST_CHECK enum weir_status ahead_log(struct ahead *a, struct weir_slice name,
                                           struct log_state *out);

/* The commit's result says how it went. */
void ahead_decide(struct ahead *a, struct commit *c);

/* Chunks for all commits of the list that go well; WEIR_NOMEM. */
WEIR_MUST_CHECK enum weir_status ahead_fill(struct ahead *a, struct commit *commits);

/* It was not there, is now, and has no events; it was there and is not any more. */
static inline bool log_is_made(const struct log *log)
{
    return !log->is_visible && !log->next_dropped && !log->chunk;
}
static inline bool log_is_unmade(const struct log *log)
{
    return log->is_visible && log->next_dropped;
}

/* The batch did not happen: the state ahead is the state that is. */
void ahead_roll_back(struct ahead *a);
