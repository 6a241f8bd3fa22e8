/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns: one question and its answer each, as a durable workflow of nine steps. docs/turns.md has
 * the steps and what they bring; flow/flow.h what is durable about them.
 *
 * 1. turns_new() on an open store; turns_start() goes on with what an earlier process left.
 * 2. turn_draft_init() from a request, turn_draft_decide() inside a commit that is decided when its
 *    turn comes (store/store.h), turns_begin() when that is durable, turn_draft_fini().
 * 3. turns_cancel(), turn_trace(), turns_stats() at any time.
 * 4. turns_stop() lets steps reach their next persisted point; turns_free().
 *
 * What there is of a turn in the store:
 *   document "turn" ID          the Turn as clients see it, for ever. Owner: whose turn it is
 *   document "turn_slot" OWNER/N   while it is in flight: one of the owner's places
 *   document "turn_context" ID  what it was given beside its messages: memory, for ever
 *   documents "turn_request" and "turn_call" ID/SS/PP/KK  calls of models, for ever: call/calls.c
 *   document "shield_map" ID    sealed: what the placeholders in those stand for
 *   log "turns/ID"              its events, for an hour after its end
 *   and the documents of its run, see flow/flow.h.
 * A turn begins by one commit and ends by one commit: all of these agree at any instant.
 *
 * The state goes queued, running, then completed or failed, and never back.
 *
 * Any thread, but for turns_new() to turns_start() and turns_stop() to turns_free(): one.
 */
#pragma once

#include <weir/buf.h>
#include <weir/json.h>

#include "flow/flow.h"

struct turns;
struct models;        /* model/model.h */
struct shield_policy; /* shield/policy.h */
struct vault;         /* shield/vault.h */

enum {
    TURN_ID_LEN = 5 + 26,        /* "turn_" and a ULID */
    TURN_OWNER_BYTES = 64,       /* of an owner's name, with a NUL */
    TURN_KEEP_MS = 3600 * 1000,  /* events last so long after the end */
    TURN_RESULT_BYTES = 2 << 20, /* largest result */
    TURN_MAX_USER_TURNS = 1000,  /* for --user-turns */
    TURN_LOG_BYTES = 48,         /* of a log's name */
    TURNS_IN_FLIGHT = 100000,    /* of all users together; then WEIR_BUSY */
};

/* 0 or NULL in any field means its default. */
struct turns_options {
    unsigned user_turns;  /* 3: of one owner in flight */
    double cost_warn_usd; /* 0.50: cost_warning is sent when the sum passes this */
    double max_turn_usd;  /* no call begins when a turn has cost this: it fails; 0: no cap */
    unsigned pace_ms;     /* before each step, so that people can watch; 0: none */
    unsigned n_threads;   /* for steps: one for each processor */
    unsigned lease_ms;    /* of a node that is silent; 0: flow's own */
    const struct clock *clock;
    const struct trace *trace;
    /* Whom agents ask; NULL: they are on their own. Borrowed from turns_new() to turns_stop(); to
     * be freed before turns_free(), so that whoever waits for an answer is told. */
    struct models *models;
    /* What is done about private data in what they ask; either NULL: nothing. Borrowed. */
    const struct shield_policy *policy;
    const struct vault *vault;
};

WEIR_MUST_CHECK enum weir_status turns_new(struct turns **out, struct store *store,
                                           const struct turns_options *options);
WEIR_MUST_CHECK enum weir_status turns_start(struct turns *t);
/* No step begins any more; returns when none is under way, or after `grace_ms`. */
void turns_stop(struct turns *t, unsigned grace_ms);
void turns_free(struct turns *t); /* NULL is allowed */

/* ---- making one ---- */

/* Borrowed until turn_draft_init() returns. */
struct turn_request {
    struct weir_slice owner;
    struct weir_slice request_id;     /* for the error of a turn that fails */
    const struct weir_json *messages; /* [{"role","content"}…], checked by the caller */
    bool has_memory;                  /* context.include_memory */
    bool has_biomarkers;              /* context.include_biomarkers */
};

struct turn_draft {
    struct turns *turns;
    char id[TURN_ID_LEN + 1];
    char owner[TURN_OWNER_BYTES];
    struct weir_buf turn;  /* the Turn, queued: what is answered */
    struct weir_buf input; /* of its run, but for the place and the end */
    size_t input_len;      /* up to there */
    int64_t created_ms;
};

/* WEIR_BUSY: too many are in flight; WEIR_NOMEM, WEIR_LIMIT, WEIR_IO. turn_draft_fini() always. */
WEIR_MUST_CHECK enum weir_status turn_draft_init(struct turn_draft *d, struct turns *t,
                                                 const struct turn_request *request);
/* For a decide: puts all of a turn into the commit. WEIR_CONCURRENCY: the owner has no place. */
WEIR_MUST_CHECK enum weir_status turn_draft_decide(struct turn_draft *d, struct commit_view *view,
                                                   struct commit *c);
void turn_draft_fini(struct turn_draft *d);

/* Its commit is durable. What does not fit in now is taken up at the next start. */
void turns_begin(struct turns *t, struct weir_slice id);

/*
 * The prefix, a ULID and a NUL: ids of turns and of what people keep beside them rise together.
 * WEIR_IO, WEIR_LIMIT.
 */
WEIR_MUST_CHECK enum weir_status turns_next_id(struct turns *t, const char *prefix, char *out);

/* ---- looking at turns, and ending them ---- */

/* "turn_" and a ULID, as it is written. */
bool turn_is_id(struct weir_slice text);
struct weir_slice turn_log(char out[TURN_LOG_BYTES], struct weir_slice id);
/* The id of a log's turn; empty when it is no turn's log. */
struct weir_slice turn_of_log(struct weir_slice log);

static inline struct doc_key turn_key(struct weir_slice id)
{
    return (struct doc_key){{"turn", 4}, id};
}

/* What a Turn says of itself, as far as others need it. */
struct turn_state {
    enum turn_status { TURN_QUEUED, TURN_RUNNING, TURN_COMPLETED, TURN_FAILED } status;
    int64_t completed_ms; /* 0: not yet */
};
/* False when it is no Turn. */
bool turn_read_state(struct weir_slice turn, struct turn_state *out);
const char *turn_status_name(enum turn_status status);
static inline bool turn_has_ended(enum turn_status status)
{
    return status == TURN_COMPLETED || status == TURN_FAILED;
}

/*
 * It ends with the code `cancelled` as soon as its step can be aborted; `done` tells that this is
 * durable, or WEIR_NOT_FOUND: it is not in flight.
 */
void turns_cancel(struct turns *t, struct weir_slice id, commit_done_fn done, void *user);

/*
 * Everything that is known of how a turn came about, as JSON (docs/turns.md); brief: without what
 * went in and out of each step. May wait for the disk. WEIR_NOT_FOUND, WEIR_LIMIT.
 */
WEIR_MUST_CHECK enum weir_status turn_trace(struct store *store, struct weir_slice id,
                                            bool is_brief, struct weir_buf *out);

/*
 * Runs the steps of an ended turn again from `from` on (empty: from the first), each on what was
 * recorded before it, and writes what differs (docs/turns.md). Nothing is stored, and nobody is
 * told. May take as long as the turn. WEIR_NOT_FOUND: no such turn; WEIR_BAD_FIELD: no such step of
 * it; WEIR_CONFLICT: it has not ended.
 */
WEIR_MUST_CHECK enum weir_status turn_replay(struct turns *t, struct weir_slice id,
                                             struct weir_slice from, struct weir_buf *out);

/* Somebody's data have changed: what is in memory of them is read anew from now on. */
void turns_data_changed(struct turns *t);
/* Another node has put or removed a document; kind empty: any may have changed. Short. */
void turns_docs_changed(struct turns *t, struct weir_slice kind, struct weir_slice id);
/* As flow_drain(). */
bool turns_drain(struct turns *t, unsigned grace_ms);
/* As flow_is_giving(). */
bool turns_are_given(struct turns *t);

void turns_stats(struct turns *t, struct flow_stats *out);
