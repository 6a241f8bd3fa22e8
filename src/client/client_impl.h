/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the client share. client.c has clients, event_stream.c the life of a stream,
 * stream_request.c what is sent for it; resume.c decides.
 *
 * A stream belongs to the thread that runs the fetcher: as long as it is not over, either a request
 * of it is under way (one that waits for its time included), or one of its callbacks runs. Other
 * threads read its atomics, and take the client's lock for what is below it.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include <weir/client.h>

#include "base/list.h"
#include "client/resume.h"
#include "io/fetch.h"

struct weir_client {
    struct fetcher *fetcher;
    bool has_no_thread;

    pthread_mutex_t lock; /* over all below, and the last members of each stream */
    pthread_cond_t changed;
    struct list streams;
    unsigned n_streams, max_streams;
    bool has_thread; /* callbacks have been called, by `thread` */
    pthread_t thread;
};

struct weir_event_stream {
    unsigned magic;
    struct weir_client *client;
    struct list_node node;
    /* Its slices and texts lie behind this struct. */
    struct weir_event_stream_options options;
    struct weir_stream_field fields[FETCH_MAX_FIELDS];
    struct resume resume;
    struct weir_sse *decoder;
    uint32_t n_throws;     /* of the die */
    struct weir_buf moved; /* URL of the next connection; empty: that of the options */

    /* Of the connection. */
    bool has_head;
    enum resume_answer answer;
    uint64_t said_ms;        /* by Retry-After; 0: nothing */
    struct weir_buf page;    /* beginning of a 200 that is no event stream */
    bool is_missing;         /* an event was lost on the way */
    bool has_enough;         /* on_event said so */
    enum weir_status broken; /* the stream cannot be read */

    atomic_uint_fast64_t last_seq;
    atomic_bool is_closed;
    atomic_bool is_aborted; /* nothing is called back any more but on_closed */

    /* Under the client's lock. */
    uint64_t ticket;          /* of the request */
    atomic_bool is_cancelled; /* by weir_event_stream_close(): nothing more is called back */
    bool is_freeing;          /* whoever ends it frees it */
    bool is_over;             /* nobody uses it any more but its owner */
};

/* The client's: a stream that is over, or was never sent. */
void stream_free(struct weir_event_stream *s);

/* ---- stream_request.c ---- */

enum { STREAM_URL_BYTES = 1024 }; /* longest that a caller may give */

bool stream_request_url_can_be(struct weir_slice url);

/* Whether such a stream can be asked for: a URL, an id, fields in one line each. */
bool stream_request_can_be(const struct weir_event_stream_options *options);

enum { STREAM_REQUEST_BYTES = 32 << 10 }; /* of all that is written for one */

/*
 * Fills url, method, body, limits and fields, as they are at this point of the stream; they borrow
 * from `out` and from the stream. What failed is in weir_buf_status(out).
 */
void stream_request_fill(const struct weir_event_stream *s, struct weir_buf *out,
                         struct fetch_request *request);
