/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Event streams over the network, and going on with them when it fails: libweir-client, which
 * needs libcurl (the rest of libweir needs nothing).
 *
 * 1. weir_client_new(). It has a thread of its own, in which all callbacks are called; or none,
 *    for a program with a loop: that polls weir_client_fd() and calls weir_client_run().
 * 2. weir_event_stream_open() as often as needed.
 * 3. on_event gives each event once, in order, whatever the network does. on_error tells of each
 *    failure, and whether the stream is asked for again; on_closed comes once, last.
 * 4. weir_event_stream_close() at any time, in any state, from any thread or callback: it takes no
 *    more than a tenth of a second, and nothing is called back any more when it has returned.
 *    weir_event_stream_abort() ends a stream as quickly and leaves closing to its owner.
 * 5. weir_client_free() closes what is left.
 *
 * A stream is opened only by 200 and text/event-stream; 204 ends it for good. It is asked for
 * again after an error of the network, a clean end without a last event, 408, 429 and 5xx; not
 * after the last event, any other answer, a certificate that is not trusted, or when the caller
 * had enough. Pauses grow from 1 s by half each time, up to 30 s, and a die is thrown for how much
 * of it is waited; what a server says (Retry-After, `retry:`) holds, between 0.1 s and a minute. A
 * new event makes earlier failures forgotten. Redirects are not followed, and the key goes to
 * nobody but the host of the URL.
 *
 * No global state and no signal handlers. SIGPIPE comes to nobody by this: its thread takes no
 * signals; a program without that thread ignores SIGPIPE itself.
 */
#pragma once

#include <weir/sse.h>

WEIR_BEGIN

struct weir_client;
struct weir_event_stream;

/* ---- clients ---- */

/* 0 in any member means the default. */
struct weir_client_options {
    bool has_no_thread;   /* the program has a loop and polls */
    unsigned max_streams; /* 256: at a time */
};

/* options may be NULL. WEIR_NOMEM, WEIR_IO: no thread or descriptor. */
WEIR_API WEIR_MUST_CHECK enum weir_status weir_client_new(
    struct weir_client **out, const struct weir_client_options *options);

/* Closes and frees its streams: on_closed is called for those that are open. Not in a callback. */
WEIR_API void weir_client_free(struct weir_client *c); /* NULL is allowed */

/*
 * Of a client without a thread: weir_client_run() is due when the descriptor can be read, or when
 * so many milliseconds have passed (-1: it need not). It does what can be done without waiting;
 * callbacks run inside of it and nowhere else.
 */
WEIR_API int weir_client_fd(const struct weir_client *c);
WEIR_API int weir_client_timeout_ms(const struct weir_client *c);
WEIR_API void weir_client_run(struct weir_client *c);

/* ---- streams ---- */

enum weir_stream_kind {
    WEIR_STREAM_ANY,     /* GET of any address; goes on behind the last id, if there are ids */
    WEIR_STREAM_TURN,    /* the events of a turn, by number; ends with turn.completed or .failed */
    WEIR_STREAM_SESSION, /* the events of a session, by number; has no end */
    WEIR_STREAM_MODEL,   /* POST to a model; ends with message_stop, error or [DONE]. It is paid
                            for: not asked for again once a byte of it has come */
    WEIR_STREAM_CHAT,    /* the newest reply of a conversation; ends with done, error or
                            dlp_blocked. Its ids are MESSAGE:NUMBER */
};

/* 0 in any member means the default of the kind. */
struct weir_stream_retry {
    unsigned max_retries; /* in a row without a new event. Turn, chat: 5, model: 2, others:
                             WEIR_RETRY_FOREVER */
    unsigned initial_ms;  /* 1 s; session: 3 s */
    unsigned max_ms;      /* 30 s; session: 3 s */
};
#define WEIR_RETRY_NEVER   (~0U - 1)
#define WEIR_RETRY_FOREVER (~0U)

/* 0 in any member means the default. */
struct weir_stream_limits {
    unsigned connect_ms;        /* 10 s: until there is a connection, TLS included */
    unsigned first_byte_ms;     /* 60 s, model: 10 min: from then on, for the answer's head */
    unsigned idle_ms;           /* none: without a byte of it; comments and pings count */
    struct weir_sse_limits sse; /* sizes of lines, events and ids */
};

/* Borrowed until the callback returns. */
struct weir_stream_error {
    enum weir_status status;
    int http_status;        /* 0: there was no answer */
    const char *why;        /* one sentence for people */
    struct weir_slice body; /* of an answer that is no event stream; its beginning */
    bool is_final;          /* on_closed comes next */
    uint64_t retry_in_ms;   /* otherwise */
    unsigned n_failed;      /* in a row */
};

struct weir_stream_field {
    const char *name;
    struct weir_slice value; /* without line ends */
};

struct weir_event_stream_options {
    enum weir_stream_kind kind;
    /* Of the server ("https://weir.example"); any, model: the whole address. */
    struct weir_slice url;
    struct weir_slice key;                  /* sent as a bearer token; empty: none */
    struct weir_slice id;                   /* of the turn, session or conversation */
    uint64_t since_seq;                     /* turn, session: events up to this one are had */
    struct weir_slice last_event_id;        /* any, chat: the same */
    struct weir_slice body;                 /* model: the request, JSON */
    const struct weir_stream_field *fields; /* more fields of the request, 8 at most */
    size_t n_fields;
    const char *ca_file; /* PEM of whom to trust; NULL: whom the system does */
    /* Of a server of this machine: its socket, whose path has 107 bytes at most; the URL is
     * http://localhost then. NULL: none. */
    const char *socket;
    struct weir_slice
        query; /* turn, session, chat: more of the address, as "user=me"; empty: none */
    struct weir_stream_retry retry;
    struct weir_stream_limits limits;

    /* `seq` is the number of the event; 0: the stream has none. False: enough, close it. */
    bool (*on_event)(void *user, const struct weir_sse_event *event, uint64_t seq);
    /* The others may be NULL. */
    void (*on_open)(void *user); /* connected, also again */
    void (*on_error)(void *user, const struct weir_stream_error *error);
    /* These numbers and those between are no longer kept by the server: of a session, or of any
     * stream whose answer says so (X-Weir-Gap: FIRST-LAST). */
    void (*on_gap)(void *user, uint64_t first_seq, uint64_t last_seq);
    /* WEIR_OK: it came to its end, or on_event had enough. WEIR_CANCELLED: it was aborted, or the
     * client is freed. Else what on_error has told. Not after weir_event_stream_close(). */
    void (*on_closed)(void *user, enum weir_status status);
    void *user;
};

/*
 * Everything is copied. WEIR_INVALID: an option cannot be; WEIR_BUSY: too many; WEIR_NOMEM. The
 * client's thread may call back before this has returned; *out is set by then.
 */
WEIR_API WEIR_MUST_CHECK enum weir_status weir_event_stream_open(
    struct weir_event_stream **out, struct weir_client *c,
    const struct weir_event_stream_options *options);

/*
 * Ends it, if it has not, and frees it. A thread that is not the client's waits for a callback of
 * this stream that is under way, so it may hold no lock that such a callback wants. Of a client
 * without a thread: the thread of the loop only.
 */
WEIR_API void weir_event_stream_close(struct weir_event_stream *s); /* NULL is allowed */

/*
 * Ends it within a tenth of a second, in any state; on_closed comes with WEIR_CANCELLED, and no
 * event or error before it. It still has to be closed. Any thread, callbacks included.
 */
WEIR_API void weir_event_stream_abort(struct weir_event_stream *s);

/* The number of the last event that was given; since_seq before the first. Any thread. */
WEIR_API uint64_t weir_event_stream_last_seq(const struct weir_event_stream *s);

/*
 * From on_event of WEIR_STREAM_ANY: the next connection, if there is one, is made to this URL, for
 * streams whose events say themselves where to go on. WEIR_INVALID, WEIR_NOMEM: nothing changes.
 */
WEIR_API WEIR_MUST_CHECK enum weir_status weir_event_stream_move(struct weir_event_stream *s,
                                                                 struct weir_slice url);

/* True once nothing will come any more. Any thread. */
WEIR_API bool weir_event_stream_closed(const struct weir_event_stream *s);

WEIR_END
