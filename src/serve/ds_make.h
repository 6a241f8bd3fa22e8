/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stream in the making: what PUT (ds_write.c) and the copying of what a fork inherits
 * (ds_fork.c) share.
 */
#pragma once

#include "io/loop.h"
#include "serve/ds.h"

/* A stream that is to be made. */
struct making {
    struct stream_create create;
    struct commit *commit;
    bool has_retried;
    struct weir_slice location;
    struct stream_delete expired;
    /* Forks. */
    struct exchange *ex;
    struct store *store;
    struct loop *loop;
    struct post post;
    struct offset fork_offset;
    struct weir_slice body;
    char *body_memory;
    struct copying *copying;
    bool is_long; /* more than a commit holds: made, and being copied */
    enum stream_outcome trouble;
    enum weir_status status;
    char type[STREAM_TYPE_BYTES]; /* as inherited */
    char expires[64];
};

/* Reads the source by a thread of the store's, and goes on with ds_give_create(). */
void ds_start_fork(struct exchange *ex, struct making *m);

/* Gives its commit to the store, and answers. */
void ds_give_create(struct exchange *ex, struct making *m);

/* Answers by create.outcome. */
void ds_answer_create(struct exchange *ex, const struct commit_result *result);

/*
 * Any thread: the events that it is to begin with, or go on with behind what it inherits, into
 * its commit. WEIR_BAD_REQUEST: it is not JSON; WEIR_TOO_LARGE; WEIR_NOMEM, WEIR_LIMIT.
 */
WEIR_MUST_CHECK enum weir_status ds_fill_created(struct making *m);
/* Answers for what that returned; says where the body is no JSON. */
void ds_refuse_body(struct exchange *ex, enum weir_status st, struct weir_slice body);
