/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is kept of the calls of models that a run has made, and finding it again: see calls.c.
 *
 * Any thread.
 */
#pragma once

#include "flow/flow.h"
#include "model/model.h"

enum {
    CALLS = 100, /* of one part of a step */
    CALL_ID_BYTES = FLOW_ID_BYTES + 12,
    CALL_HASH_BYTES = 65,
    CALL_NAME_BYTES = 48, /* of an agent, of what it is for */
};

struct call_place {
    unsigned step;   /* its number */
    unsigned part;   /* of the step, from 0 */
    unsigned number; /* in the order of asking, from 0 */
};

struct call {
    struct call_place at;
    enum model_role role;
    char agent[CALL_NAME_BYTES]; /* whose thoughts it is; empty: nobody's */
    char purpose[CALL_NAME_BYTES];
    char hash[CALL_HASH_BYTES]; /* of the request */
    int64_t began_ms, ended_ms;
    double earlier_usd; /* what was asked in its place before, and was of no use, has cost */
};

extern const char call_kind[], call_request_kind[];
struct doc_key call_key(char out[CALL_ID_BYTES], const char *kind, struct weir_slice run,
                        struct call_place at);
void call_hash(char out[CALL_HASH_BYTES], struct weir_slice request);
void call_put(struct weir_buf *out, const struct call *call, const struct model_answer *answer);

/* One that is in the store. */
struct call_found {
    struct call_found *next;
    struct call call;
    struct model_answer answer;
    const struct weir_json *json; /* the answer */
    struct weir_json_doc *doc;
    struct weir_buf content;
};
void call_found_free(struct call_found *f); /* NULL is allowed */
/* From what call_put() wrote. WEIR_CORRUPT, WEIR_NOMEM, WEIR_LIMIT. */
WEIR_MUST_CHECK enum weir_status call_read(struct weir_slice body, struct call_found **out);
/* WEIR_NOT_FOUND, WEIR_CORRUPT, WEIR_NOMEM, WEIR_LIMIT; what the store says. */
WEIR_MUST_CHECK enum weir_status call_find(struct store *store, struct weir_slice run,
                                           struct call_place at, struct call_found **out);
/*
 * Those of a step, or of all steps when it is 0, in order. `each` takes it over, and returns
 * WEIR_OK to go on.
 */
typedef enum weir_status (*call_fn)(void *user, struct call_found *f);
WEIR_MUST_CHECK enum weir_status calls_each(struct store *store, struct weir_slice run,
                                            unsigned step, call_fn each, void *user);
