/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of this folder know of each other.
 *
 *   gateway.c   the gateway's life, what a crash has cut, reading
 *   forward.c   one request on its way, and its answer
 *   failure.c   errors in the forms of both APIs
 *   rewrite.c, reveal.c   what is changed in answers
 */
#pragma once

#include <pthread.h>

#include "base/list.h"
#include "base/ulid.h"
#include "gateway/gateway.h"
#include "gateway/rewrite.h"

enum { GATEWAY_MAGIC = 0x67617465, GATEWAY_ERROR_BYTES = 2048 };
enum { HTTP_OK = 200, HTTP_BAD_GATEWAY = 502 };

struct gateway {
    unsigned magic;
    struct store *store;
    struct gateway_options options;

    pthread_mutex_t lock; /* over all below */
    pthread_cond_t is_idle;
    unsigned n_open;  /* requests that are not over, or whose commits are not */
    struct list open; /* those of them that were sent */
    bool is_stopping;
    struct ulid_source ids;
    struct gateway_stats stats;
};

struct gateway *gateway_checked(struct gateway *g);

static inline enum wire wire_of(enum model_type type)
{
    return type == MODEL_ANTHROPIC ? WIRE_ANTHROPIC : WIRE_OPENAI;
}

/* The event that a stream begins with, but for its id. */
WEIR_MUST_CHECK enum weir_status gateway_put_first(struct weir_buf *out, struct gateway *g,
                                                   enum model_type type, const struct guard *guard,
                                                   struct weir_slice log);

/* Marks a stream that has not ended: "gateway_open" OWNER/ID, its log's name but for "gateway/". */
struct doc_key gateway_open_key(struct weir_slice log);
/* Its body. */
void gateway_put_open(struct weir_buf *out, const struct gateway *g, enum model_type type);

/* ---- forward.c ---- */

/* With the lock: its upstream call, if it has one, is to end soon. */
void forward_abort_locked(struct list_node *node);

/* ---- failure.c ---- */

/* {"type":"error","error":{"type","message"}}, or {"error":{"message","type","param","code"}}. */
void failure_put(struct weir_buf *out, enum model_type type, int http_status, const char *message);
/* The frame of the last event of a stream that broke. */
WEIR_MUST_CHECK enum weir_status failure_put_frame(struct weir_buf *out, enum model_type type,
                                                   const char *message);
