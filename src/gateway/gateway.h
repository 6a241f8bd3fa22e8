/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gateway: requests in Anthropic's or OpenAI's own form go on to the provider that is
 * configured, with placeholders in place of what is private; answers come back with the values. An
 * answer that streams is a log first and is read from there, so that whoever lost the connection
 * reads the rest.
 *
 * 1. gateway_new() on an open store; gateway_start() ends the streams that a crash has cut. Of
 *    several nodes each ends those of nodes that are dead: gateway_end_cut().
 * 2. gateway_forward() for each request; exactly one function of its sink is called.
 * 3. gateway_log() and gateway_map() for whoever reads a stream: which log, and how its events get
 *    their values back (rewrite.h).
 * 4. gateway_stop() ends what is under way. After models_free(): gateway_free() waits until
 *    everything is written.
 *
 * A stream is the log "gateway/OWNER/ID". Its first event is no answer but says what the rest is:
 * {"type","at","map"}, the map of placeholders sealed; all others are the provider's, with
 * placeholders. It is sealed with its last event, is kept for keep_ms, and has a document
 * "gateway_open" OWNER/ID until then (its form, and of several nodes whose it is). Nobody has to
 * read it: what was asked for is paid for.
 *
 * There is nobody who could be asked: of a policy, `ask` counts as `auto_redact`.
 *
 * Any thread, but for gateway_new() to gateway_start() and gateway_free(): one.
 */
#pragma once

#include "base/trace.h"
#include "model/forward.h"
#include "shield/guard.h"
#include "store/store.h"

struct gateway;

enum {
    GATEWAY_ID_LEN = 3 + 26,                                              /* "gw_" and a ULID */
    GATEWAY_OWNER_BYTES = 64,                                             /* with a NUL */
    GATEWAY_LOG_BYTES = 8 + GATEWAY_OWNER_BYTES + 1 + GATEWAY_ID_LEN + 1, /* of a log's name */
    GATEWAY_KEEP_MS = 3600 * 1000,   /* events last so long after the end */
    GATEWAY_ANSWER_BYTES = 16 << 20, /* of an answer that does not stream */
    GATEWAY_STREAM_BYTES = 64 << 20, /* of one that does */
    GATEWAY_FIRST = 2,               /* the id of a stream's first event for readers */
};

/* 0 or NULL in any field means its default. */
struct gateway_options {
    struct models *models;              /* NULL: there are no providers. Freed before the gateway */
    const struct shield_policy *policy; /* never NULL; borrowed, as is the vault */
    const struct vault *vault;
    int64_t keep_ms;
    const char *node; /* of several on the store: what this one is called; NULL: there is one */
    const struct clock *clock;
};

WEIR_MUST_CHECK enum weir_status gateway_new(struct gateway **out, struct store *store,
                                             const struct gateway_options *options);
WEIR_MUST_CHECK enum weir_status gateway_start(struct gateway *g);
/*
 * Ends the open streams of nodes that are dead, whose own name is not among them. May wait. Those
 * that cannot be ended now are left to another time, and the status says why.
 */
WEIR_MUST_CHECK enum weir_status gateway_end_cut(
    struct gateway *g, bool (*is_dead)(void *user, struct weir_slice node), void *user);
void gateway_stop(struct gateway *g);
void gateway_free(struct gateway *g); /* NULL is allowed */

/* ---- forwarding ---- */

/* Borrowed until the function returns. */
struct gateway_answer {
    int http_status;
    struct weir_slice body;        /* JSON, in the form that was spoken; errors, too */
    struct weir_slice retry_after; /* as the provider has it; empty: nothing was said */
    struct weir_slice request_id;  /* the provider's own */
};

/* Exactly one of them is called once, by any thread; must be short. */
struct gateway_sink {
    void (*open)(void *user, const char *id); /* it streams: the log is there, and durable */
    void (*answer)(void *user, const struct gateway_answer *answer);
    void *user;
};

/* Borrowed until gateway_forward() returns. */
struct gateway_request {
    enum model_type type;
    struct weir_slice owner;
    struct weir_slice body;          /* as it came */
    struct weir_slice version, beta; /* anthropic-version and anthropic-beta; empty: not said */
    struct gateway_sink sink;
};

/* Takes as long as looking at all of the request does. */
void gateway_forward(struct gateway *g, const struct gateway_request *request);

/* ---- reading ---- */

bool gateway_is_id(struct weir_slice text);
struct weir_slice gateway_log(char out[GATEWAY_LOG_BYTES], struct weir_slice owner,
                              struct weir_slice id);

/*
 * The map of a stream, to be freed by guard_free(); NULL when it has none. May wait for the disk.
 * WEIR_NOT_FOUND: there is no such stream of this owner.
 */
WEIR_MUST_CHECK enum weir_status gateway_map(struct gateway *g, struct weir_slice owner,
                                             struct weir_slice id, struct guard **out);

struct gateway_stats {
    uint64_t n_requests, n_streams, n_failed, n_redacted, n_blocked;
    unsigned n_open;
};
void gateway_stats(struct gateway *g, struct gateway_stats *out);
