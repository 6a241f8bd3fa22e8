/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is known of a stream beside its log: a document of kind "stream" under the stream's name.
 * One line for each thing, "name value", so that it can be read where it lies. A log without such
 * a document is a stream of JSON that lives until somebody deletes it. Pure; any thread.
 */
#pragma once

#include <weir/buf.h>

#include "stream/media.h"

enum {
    STREAM_NAME_BYTES = 200, /* longest name of a stream */
    STREAM_TYPE_BYTES = 200, /* longest media type */
    STREAM_SEQ_BYTES = 256,  /* longest Stream-Seq */
    PRODUCER_ID_BYTES = 200, /* longest Producer-Id */
    RECORD_BYTES = 2048,     /* of all lines */
    COPY_PAUSE_MS = 60000,   /* a copy that did not go on for so long was given up */
};

/* Slices point into the document it was read from, or wherever its maker took them from. */
struct stream_record {
    struct weir_slice type;    /* as it was given */
    int64_t ttl_s;             /* -1: none */
    struct weir_slice expires; /* as it was given; empty: never */
    int64_t expires_ms;        /* the same as wall time */
    int64_t created_ms;
    int64_t touched_ms; /* last used, give or take an eighth of the ttl */
    bool is_closed;
    bool has_closer; /* a producer closed it: */
    struct weir_slice closer;
    uint64_t closer_epoch, closer_seq;
    struct weir_slice seq;    /* newest Stream-Seq; empty: none */
    struct weir_slice source; /* name of the stream that it is a fork of; empty: none */
    uint64_t fork_at;         /* inherited events */
    uint64_t fork_sub;        /* and so much of the next, as the client said */
    uint64_t n_forks;         /* streams that are forks of this one */
    bool is_gone;             /* deleted, and only remembered because of its forks */
    bool is_copying;          /* a fork that has not all yet that it inherits: nobody sees it */
};

/* One that says nothing but its type. */
struct stream_record record_of_type(struct weir_slice type);

void stream_record_write(struct weir_buf *out, const struct stream_record *r);
/* False when it is none of ours. */
bool stream_record_read(struct weir_slice body, struct stream_record *out);

/* Whether it has had its time, or will never be whole. */
bool record_is_expired(const struct stream_record *r, int64_t now_ms);

/* Whether using it now is worth a new document. */
bool record_wants_touch(const struct stream_record *r, int64_t now_ms);

/* How far a producer got: a document of kind "producer". */
struct producer_record {
    uint64_t epoch, seq;
    struct weir_slice stream; /* its name */
};
void producer_write(struct weir_buf *out, const struct producer_record *p);
bool producer_read(struct weir_slice body, struct producer_record *out);
