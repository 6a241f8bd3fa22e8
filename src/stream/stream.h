/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams: what the Durable Streams protocol calls one is a log, "s/NAME", with a document that
 * says what the log cannot (record.h), and one document for each of its producers.
 *
 * Every change is one commit whose last word is spoken by the committer (commit_decide()): it
 * sees the stream as it is when the change's turn comes, so two at once cannot both be right, and
 * events, the producer's count and the close are durable together or not at all.
 *
 * 1. The caller fills a struct stream_append, _create or _delete, which lives until the commit is
 *    done, and makes a commit with the stream_*_commit() function.
 * 2. When it is done, `outcome` says what happened; the commit's status is WEIR_OK only when
 *    something did, and another than WEIR_CONFLICT when the store failed.
 *
 * Any thread makes them; the committer's decides.
 */
#pragma once

#include "store/store.h"
#include "stream/record.h"

extern const char stream_kind[];   /* of the documents */
extern const char producer_kind[]; /* of the producers' */

enum { STREAM_LOG_BYTES = 2 + STREAM_NAME_BYTES };

struct stream_log_text {
    char bytes[STREAM_LOG_BYTES];
    size_t len;
};

/* 1 to STREAM_NAME_BYTES bytes of UTF-8 without control characters. */
bool stream_is_name(struct weir_slice name);

/* The log of a stream; the name has been checked. */
struct weir_slice stream_log_name(struct stream_log_text *log, struct weir_slice name);

/* And back: the name of a stream's log is at hand. */
struct weir_slice stream_name_of_log(struct weir_slice log);

enum stream_outcome {
    STREAM_DONE,
    STREAM_EXISTED,   /* create: one of the same kind is there */
    STREAM_DUPLICATE, /* the producer has sent this before */
    STREAM_NOT_FOUND,
    STREAM_GONE,       /* deleted, but it has forks */
    STREAM_DIFFERS,    /* create: one of another kind is there */
    STREAM_EXPIRED,    /* create: one is there that has to be deleted first */
    STREAM_OTHER_TYPE, /* the media type is not the stream's */
    STREAM_CLOSED,     /* by somebody else */
    STREAM_OLD_SEQ,    /* Stream-Seq does not rise */
    STREAM_OLD_EPOCH,  /* a later producer of this name has been here */
    STREAM_BAD_EPOCH,  /* a new epoch begins with sequence 0 */
    STREAM_SEQ_GAP,
    STREAM_NO_SOURCE, /* fork: of nothing */
    STREAM_SOURCE_GONE,
    STREAM_SOURCE_CHANGED /* fork: it is not what was read of it; try again */
};

/* Whether the document of that id is of a producer of the log with this id. */
bool producer_is_of(struct weir_slice id, uint64_t log_id);

/* ---- appending, closing ---- */

struct stream_append {
    struct weir_slice name;
    struct weir_slice type; /* essence of what is appended; empty: nothing is */
    bool closes;
    struct weir_slice seq; /* Stream-Seq; empty: none */
    bool has_producer;
    struct weir_slice producer; /* id */
    uint64_t epoch, producer_seq;
    int64_t now_ms;

    enum stream_outcome outcome;
    bool is_closed;      /* now */
    uint64_t last;       /* newest event before the append */
    uint64_t told_epoch; /* the producer's, as the stream knows it */
    uint64_t told_seq;   /* newest accepted; STREAM_SEQ_GAP: the expected one */
};

/* For a commit that has the appends already, or none. */
void stream_append_commit(struct commit *c, struct stream_append *a);

/*
 * For an append by our own view, which makes a stream that is not there: only that what is there
 * is JSON and takes it. WEIR_BAD_TYPE, WEIR_GONE.
 */
enum weir_status stream_decide_json(void *name_slice, struct commit_view *view, struct commit *c);

/* ---- making ---- */

struct stream_create {
    struct weir_slice name;
    struct stream_record wanted; /* source and fork_at: as resolved, for forks */
    bool has_fork_at;            /* the client named it */
    uint64_t source_log;         /* id of the log that the fork's events were read from */
    int64_t now_ms;

    enum stream_outcome outcome;
    uint64_t last;       /* the caller's */
    uint64_t last_there; /* of the one that existed */
    bool is_closed;
    char type[STREAM_TYPE_BYTES]; /* of the one that existed */
    size_t type_len;
};

/* For a commit that has the first events already, inherited and given, or none. */
void stream_create_commit(struct commit *c, struct stream_create *create);

/*
 * A fork that inherits more than a commit can hold is made with wanted.is_copying, and nobody
 * sees it until it is whole: then come commits with events, and one that ends it, which may have
 * some, too. One that is given up goes with stream_delete_commit(), or with the sweep.
 */
void stream_copy_commit(struct commit *c, struct stream_create *create);
void stream_copied_commit(struct commit *c, struct stream_create *create);

/* ---- deleting ---- */

struct stream_delete {
    struct weir_slice name;
    bool only_expired; /* the sweep: not if it was used meanwhile */
    bool only_copying; /* a fork that is given up */
    int64_t now_ms;

    enum stream_outcome outcome;
};

void stream_delete_commit(struct commit *c, struct stream_delete *d);

/* ---- using ---- */

/* Notes that it was read now; nothing is there to be told. */
struct stream_touch {
    struct weir_slice name;
    int64_t now_ms;
};
void stream_touch_commit(struct commit *c, struct stream_touch *t);

/* ---- reading ---- */

/* What is there; free with doc_fini(&s->doc). May wait for the disk. */
struct stream_found {
    enum weir_status status; /* WEIR_NOT_FOUND; of an expired one, too */
    struct doc doc;
    struct stream_record record; /* is_gone is for the caller to look at */
    struct log_state log;
};
void stream_find(struct store *store, struct weir_slice name, int64_t now_ms,
                 struct stream_found *out);
