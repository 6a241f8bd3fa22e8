/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was said so far in a conversation, and the request that goes on with it: questions and
 * answers in pairs, the oldest left out where a request would become larger than a server takes.
 * Pure.
 */
#pragma once

#include <weir/json.h>

enum {
    DIALOGUE_PAIRS = 100,            /* more are forgotten, the oldest first */
    DIALOGUE_REQUEST_BYTES = 1 << 20 /* what POST /v1/turns takes */
};

/* Begins zeroed. Both messages of a pair, as JSON, with a comma behind each. */
struct dialogue {
    struct weir_buf pairs[DIALOGUE_PAIRS];
    size_t n;
    size_t n_forgotten;
};

void dialogue_fini(struct dialogue *d); /* may be used again */

/* WEIR_NOMEM, WEIR_LIMIT: it is not kept. */
WEIR_MUST_CHECK enum weir_status dialogue_add(struct dialogue *d, struct weir_slice question,
                                              struct weir_slice answer);

/*
 * Appends the body of a POST /v1/turns. *n_left_out: so many earlier questions did not go along.
 * WEIR_LIMIT: the question alone is too large.
 */
WEIR_MUST_CHECK enum weir_status dialogue_request(const struct dialogue *d,
                                                  struct weir_slice question, struct weir_buf *out,
                                                  size_t *n_left_out);
