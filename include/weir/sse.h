/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Server-Sent Events: bytes in, events out, and back.
 *
 * The decoder follows WHATWG HTML 9.2.6 to the letter. However the bytes are
 * cut into pieces, the events are the same.
 *
 * 1. weir_sse_new() with the callbacks.
 * 2. weir_sse_feed() with each piece as it arrives; callbacks run inside.
 * 3. At the end of input, weir_sse_pending() tells whether an unfinished block
 *    was left. It is dropped, as the standard demands.
 * 4. weir_sse_reset() for the next connection, weir_sse_free() at last. Both
 *    may be called from inside a callback; the rest of that piece is dropped.
 *
 * Bytes that are not UTF-8 become U+FFFD, one for each maximal bad part; they
 * are never an error. The only errors are the limits and lack of memory.
 * One thread at a time per decoder.
 */
#pragma once

#include <weir/buf.h>

WEIR_BEGIN

struct weir_sse;

/* All slices are borrowed until the callback returns. */
struct weir_sse_event {
    struct weir_slice type; /* "message" when the stream named none */
    struct weir_slice data; /* lines joined with LF, may be empty */
    struct weir_slice id;   /* the last event id as of this event, may be empty */
};

/* Any callback may be NULL. */
struct weir_sse_handlers {
    void (*on_event)(void *user, const struct weir_sse_event *event);
    void (*on_comment)(void *user, struct weir_slice text); /* without the colon */
    void (*on_retry)(void *user, uint64_t retry_ms);
    /* A field that the standard says to ignore; some servers send errors as one. */
    void (*on_unknown)(void *user, struct weir_slice name, struct weir_slice value);
};

/*
 * 0 in a member means the default. A decoder takes no more memory than four times
 * the line limit and the event limit together, and that only for hostile input.
 */
struct weir_sse_limits {
    size_t max_line_bytes;  /* 16 MiB */
    size_t max_event_bytes; /* 16 MiB, data of one event */
    size_t max_id_bytes;    /* 4 KiB */
};

/* retry: values above this are taken as this (2^53 - 1, exact in any JSON reader). */
#define WEIR_SSE_RETRY_MAX_MS UINT64_C(9007199254740991)

/* limits may be NULL. NULL when there is no memory. Free with weir_sse_free(). */
WEIR_API struct weir_sse *weir_sse_new(const struct weir_sse_handlers *handlers, void *user,
                                       const struct weir_sse_limits *limits);
WEIR_API void weir_sse_free(struct weir_sse *d);

/*
 * Decodes a piece of any size. WEIR_OK, or WEIR_LINE_TOO_LONG, WEIR_EVENT_TOO_LONG,
 * WEIR_ID_TOO_LONG, WEIR_NOMEM: after one of these nothing more is decoded until a reset. From
 * inside a callback of the same decoder: WEIR_INVALID, and nothing happens.
 */
WEIR_API WEIR_MUST_CHECK enum weir_status weir_sse_feed(struct weir_sse *d, const void *bytes,
                                                        size_t len);

/* Back to the state after weir_sse_new(), the last event id included. */
WEIR_API void weir_sse_reset(struct weir_sse *d);

/* Whether input has arrived that no blank line has ended yet; true after a failure. */
WEIR_API bool weir_sse_pending(const struct weir_sse *d);

/* The committed last event id; borrowed until the next feed. */
WEIR_API struct weir_slice weir_sse_last_event_id(const struct weir_sse *d);

/* False while the stream has set none. */
WEIR_API bool weir_sse_retry_ms(const struct weir_sse *d, uint64_t *retry_ms);

/*
 * Appends one event in wire form: id, event, data, blank line, LF only. Empty id
 * and type are left out; data are split at every line end (LF, CR, CRLF). A type
 * or id with a line end in it, or an id with a NUL, is WEIR_INVALID and appends
 * nothing. Otherwise the buffer's status.
 */
WEIR_API WEIR_MUST_CHECK enum weir_status weir_sse_write(struct weir_buf *out,
                                                         const struct weir_sse_event *event);

/* Appends a comment line and a blank line; text may not contain a line end. */
WEIR_API WEIR_MUST_CHECK enum weir_status weir_sse_write_comment(struct weir_buf *out,
                                                                 struct weir_slice text);

WEIR_END
