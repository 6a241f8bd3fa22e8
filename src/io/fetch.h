/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Outgoing HTTP: many requests at once, in one thread (libcurl): the fetcher's own, or that of a
 * caller who has a loop and polls one descriptor.
 *
 * 1. fetcher_new() with the rules of where one may go.
 * 2. fetcher_send() for each request. As the answer comes: `on_head` once, `on_body` for each piece
 *    of it; `done` once, in the end, whatever happens. All are called in the fetcher's thread:
 *    they hand over what they are given and return. Without `on_body` the body is gathered.
 *    A fetcher without a thread does all this, and nothing else, inside fetcher_round().
 * 3. fetcher_free() aborts what is left; every `done` has been called when it returns.
 *
 * Where to. With rules an address is looked at when it is connected to, after the name was
 * resolved, so that a name that leads elsewhere the second time gets nobody anywhere; http is
 * spoken only to hosts that a rule lists. A fetcher without rules asks whomever it is told, by http
 * too: for hosts that the operator has configured. Either way redirects are not followed: the
 * answer is theirs, and no field of a request is seen by anybody but the host of its URL.
 * Certificates are checked. No proxy, cookie or password comes from outside.
 *
 * How. HTTP/2 with many requests on a connection where a server of https offers it, else HTTP/1.1;
 * connections are used again. One that turns out to be dead before a byte of the answer has come
 * is replaced by a new one, and the request is sent again: servers close idle connections at any
 * time. Nothing else is ever sent twice. Bodies are asked for as they are
 * (Accept-Encoding: identity); one that is compressed all the same is refused, for what it grows to
 * is the sender's choice.
 *
 * How long. Each request has its own limits, by phase. None is too long for a fetcher: a request
 * that waits costs its memory and a descriptor, and nothing each time that another one moves. How
 * many descriptors the process may have is for the program to say (process_raise_descriptors()).
 * A caller that takes its time in a callback makes nobody late: what has come is taken first.
 *
 * fetcher_send(), fetcher_abort(), fetcher_stats(): any thread, callbacks included. fetcher_free(),
 * and what is for a fetcher without a thread: one thread, and no callback.
 */
#pragma once

#include <weir/status.h>

#include "io/target.h"

enum {
    FETCH_URL_BYTES = 2048,        /* longest URL */
    FETCH_ANSWER_BYTES = 64 << 10, /* most of a body that is gathered, unless max_body says more */
    FETCH_MAX_FIELDS = 12,         /* of a request, beside our own */
    FETCH_FIELD_BYTES = 8 << 10,   /* longest of them, with its name */
    FETCH_CONNECT_MS = 5 * 1000,   /* unless connect_ms says otherwise */
    FETCH_MAX_RUNNING = 16384,     /* most that may be asked for */
};

/* 0 in any field means its default. */
struct fetcher_options {
    unsigned max_running; /* 256: requests at a time, FETCH_MAX_RUNNING at most */
    unsigned max_waiting; /* 4,096: requests before their turn; then WEIR_BUSY */
    bool has_no_thread;   /* the caller polls fetcher_fd() */
};

struct fetcher;

/* The rules are copied; NULL: any host. WEIR_NOMEM, WEIR_IO: no thread or descriptor. */
WEIR_MUST_CHECK enum weir_status fetcher_new(struct fetcher **out, const struct target_rules *rules,
                                             const struct fetcher_options *options);
void fetcher_free(struct fetcher *f); /* NULL is allowed */

/*
 * Of a fetcher without a thread: a round is due when the descriptor can be read, or when so many
 * milliseconds have passed (-1: it need not). A round does what can be done without waiting.
 */
int fetcher_fd(const struct fetcher *f);
int fetcher_wait_ms(const struct fetcher *f);
void fetcher_round(struct fetcher *f);

/* ---- how it ended ---- */

/* X(symbol, status, why): the first two are good ends. */
#define FETCH_END_TABLE(X)                                                                         \
    X(WHOLE, OK, "")                                                                               \
    X(ENOUGH, OK, "")                      /* on_head or on_body said so */                        \
    X(ABORTED, SHUTDOWN, "it was aborted") /* by fetcher_abort() or fetcher_free() */              \
    X(BAD_URL, INVALID, "its URL is none that can be asked for")                                   \
    X(NOT_ALLOWED, FORBIDDEN, "its address may not be connected to")                               \
    X(NO_NAME, IO, "the name of the host cannot be resolved")                                      \
    X(NO_CONNECTION, IO, "no connection can be made")                                              \
    X(NO_TLS, IO, "no TLS connection can be made")                                                 \
    X(NOT_TRUSTED, IO, "the certificate of the host is not trusted or not its own")                \
    X(SLOW_CONNECT, TIMEOUT, "it took too long to connect")                                        \
    X(SLOW_HEAD, TIMEOUT, "it took too long until the answer began")                               \
    X(SLOW_BODY, TIMEOUT, "nothing came for too long in the middle of the answer")                 \
    X(SLOW_WHOLE, TIMEOUT, "all of it took too long")                                              \
    X(CUT, IO, "the connection was lost before the answer was whole")                              \
    X(NOT_HTTP, IO, "the answer is not HTTP")                                                      \
    X(ENCODED, BAD_TYPE, "the answer is compressed, which was not asked for")                      \
    X(TOO_LARGE, TOO_LARGE, "the answer is larger than the limit")                                 \
    X(NO_DESCRIPTORS, TOO_MANY, "there are no more descriptors (ulimit -n)")                       \
    X(NO_MEMORY, NOMEM, "memory could not be had")                                                 \
    X(OTHER, IO, "the request failed")

enum fetch_end {
#define FETCH_END_ENUM(symbol, status, why) FETCH_##symbol,
    FETCH_END_TABLE(FETCH_END_ENUM)
#undef FETCH_END_ENUM
};

/* How far it came. What ended before FETCH_SENT has not reached the host's HTTP server. */
enum fetch_phase {
    FETCH_WAITING,    /* for its time or its turn */
    FETCH_CONNECTING, /* name, address, TLS; or for a connection that others use as well */
    FETCH_SENT,       /* or being sent; nothing has come back */
    FETCH_ANSWERED,   /* at least the first line of an answer has come */
};

/* Borrowed until the callback returns. */
struct fetch_answer;

/* The value of a field of the answer's head, by its name in any case; empty: there is none. */
struct weir_slice fetch_field_of(const struct fetch_answer *answer, const char *name);

struct fetch_result {
    enum weir_status status; /* as `end` has it in the table */
    enum fetch_end end;
    enum fetch_phase phase;
    int http_status;        /* 0: no head of an answer has come; it may have, whatever `end` is */
    struct weir_slice body; /* what was gathered; of FETCH_TOO_LARGE and FETCH_CUT, its beginning */
    uint64_t n_body;        /* bytes of body that came, gathered or not */
    const char *why;        /* for people; never goes away; "" when all is good */
    const struct fetch_answer *answer; /* for fetch_field_of(); NULL when there is no head */
};

/* ---- asking ---- */

enum fetch_method { FETCH_POST, FETCH_GET, FETCH_DELETE };

struct fetch_field {
    const char *name;
    struct weir_slice value; /* no CR, LF or NUL: WEIR_INVALID */
};

/* 0 in any field means that there is no such limit, but for connect_ms: FETCH_CONNECT_MS. */
struct fetch_limits {
    unsigned connect_ms;    /* to be connected, with TLS, the name's resolving included */
    unsigned first_byte_ms; /* from then on, to the end of the answer's head */
    unsigned idle_ms;       /* without a byte of the answer, from its first line on */
    unsigned whole_ms;      /* for all of it, from its turn on */
    uint64_t max_body;      /* bytes; 0 for a body that is gathered: FETCH_ANSWER_BYTES */
};

struct fetch_request {
    enum fetch_method method;
    struct weir_slice url;
    struct fetch_field fields[FETCH_MAX_FIELDS];
    unsigned n_fields;
    struct weir_slice body; /* of a POST */
    unsigned delay_ms;      /* not before; what waits for its time waits for nobody's turn */
    struct fetch_limits limits;
    const char *ca_file; /* PEM; NULL: whom the system trusts */
    const char *socket;  /* of this machine, connected to whatever the host is; NULL: none */

    /* The head of an answer, but not those of 1xx. False: enough is known. NULL: not wanted. */
    bool (*on_head)(void *user, int http_status, const struct fetch_answer *answer);
    /*
     * A piece of the body of a 200, in order; other answers have theirs gathered, up to
     * FETCH_ANSWER_BYTES. False: enough is known; the connection is not used again then, unless
     * it is one of HTTP/2. NULL: the body of a 200 is gathered, too.
     */
    bool (*on_body)(void *user, struct weir_slice bytes);
    void (*done)(void *user, const struct fetch_result *result);
    void *user;
};

/*
 * Everything is copied. WEIR_BUSY, WEIR_NOMEM, WEIR_SHUTDOWN, WEIR_INVALID: no callback is called.
 * *ticket is for fetcher_abort(); it may be NULL, and is set before any callback is called.
 */
WEIR_MUST_CHECK enum weir_status fetcher_send(struct fetcher *f,
                                              const struct fetch_request *request,
                                              uint64_t *ticket);

/*
 * From on_head of this request: what is left of it has to come within so many milliseconds, or
 * FETCH_SLOW_WHOLE ends it.
 */
void fetcher_limit(struct fetcher *f, uint64_t ticket, unsigned ms);

/* `done` is called within 100 ms, with FETCH_ABORTED unless it was over before. */
void fetcher_abort(struct fetcher *f, uint64_t ticket);

/*
 * Whether such a URL may be asked for, as far as can be told without resolving its host:
 * WEIR_OK, WEIR_INVALID: no URL of http or https without a password, WEIR_FORBIDDEN. *why gets a
 * sentence. Rules that are NULL allow any host.
 */
WEIR_MUST_CHECK enum weir_status fetch_check_url(const struct target_rules *rules,
                                                 struct weir_slice url, const char **why);

struct fetcher_stats {
    uint64_t n_done, n_failed, n_forbidden, n_refused; /* refused: the queue was full */
    unsigned n_running, n_waiting;
};
void fetcher_stats(struct fetcher *f, struct fetcher_stats *out);
