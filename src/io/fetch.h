/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Outgoing HTTP: many requests at once, in one thread (libcurl).
 *
 * 1. fetcher_new() with the rules of where one may go.
 * 2. fetcher_post() for each request. `done` is called once, in the fetcher's thread: it hands
 *    the result over and returns.
 * 3. fetcher_free() aborts what is left; every `done` has been called when it returns.
 *
 * An address is looked at when it is connected to, after the name was resolved, so that a name
 * that leads elsewhere the second time gets nobody anywhere. Redirects are not followed: the
 * answer is theirs. Only http and https are spoken, http only to hosts that a rule lists, and
 * certificates are checked against the system's. No proxy, cookie or password comes from outside.
 *
 * fetcher_post(), fetcher_abort(), fetcher_stats(): any thread, `done` included.
 */
#pragma once

#include <weir/status.h>

#include "io/target.h"

enum {
    FETCH_URL_BYTES = 2048,        /* longest URL */
    FETCH_ANSWER_BYTES = 64 << 10, /* most of an answer's body */
    FETCH_MAX_FIELDS = 8,          /* of a request, beside our own */
    FETCH_WHY_BYTES = 128,
};

/* 0 in any field means its default. */
struct fetcher_options {
    unsigned max_running; /* 256: requests at a time */
    unsigned max_waiting; /* 4,096: requests before their turn; then WEIR_BUSY */
    unsigned connect_ms;  /* 5 s: to be connected, the name's resolving included */
    unsigned whole_ms;    /* 15 s: for all of it, from its turn on */
};

struct fetcher;

/* The rules are copied. WEIR_NOMEM, WEIR_IO: no thread. */
WEIR_MUST_CHECK enum weir_status fetcher_new(struct fetcher **out, const struct target_rules *rules,
                                             const struct fetcher_options *options);
void fetcher_free(struct fetcher *f); /* NULL is allowed */

struct fetch_field {
    const char *name;
    struct weir_slice value; /* no CR, LF or NUL */
};

/*
 *   WEIR_OK         there is an answer
 *   WEIR_TOO_LARGE  there is one, but its body is longer than FETCH_ANSWER_BYTES and cut there
 *   WEIR_FORBIDDEN  the address is none that one may connect to
 *   WEIR_TIMEOUT    it took too long
 *   WEIR_SHUTDOWN   it was aborted
 *   WEIR_INVALID, WEIR_NOMEM
 *   WEIR_IO         anything else: no such name, nobody listens, a bad certificate, cut off
 */
struct fetch_result {
    enum weir_status status;
    int http_status;
    struct weir_slice body; /* borrowed until `done` returns */
    const char *why;        /* for people, unless there is an answer; never goes away */
};

typedef void (*fetch_done_fn)(void *user, const struct fetch_result *result);

struct fetch_post {
    struct weir_slice url;
    struct fetch_field fields[FETCH_MAX_FIELDS];
    unsigned n_fields;
    struct weir_slice body;
    fetch_done_fn done;
    void *user;
};

/*
 * Everything is copied. WEIR_BUSY, WEIR_NOMEM, WEIR_SHUTDOWN: `done` is not called. *ticket is for
 * fetcher_abort(); it may be NULL.
 */
WEIR_MUST_CHECK enum weir_status fetcher_post(struct fetcher *f, const struct fetch_post *post,
                                              uint64_t *ticket);

/* `done` is called soon, with WEIR_SHUTDOWN unless it was over before. */
void fetcher_abort(struct fetcher *f, uint64_t ticket);

/*
 * Whether such a URL may be asked for, as far as can be told without resolving its host:
 * WEIR_OK, WEIR_INVALID: no URL of http or https without a password, WEIR_FORBIDDEN. *why gets a
 * sentence.
 */
WEIR_MUST_CHECK enum weir_status fetch_check_url(const struct target_rules *rules,
                                                 struct weir_slice url, const char **why);

struct fetcher_stats {
    uint64_t n_done, n_failed, n_forbidden, n_refused; /* refused: the queue was full */
    unsigned n_running, n_waiting;
};
void fetcher_stats(struct fetcher *f, struct fetcher_stats *out);
