/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Showing what a search has found, whichever engine did: how many of one source, and where the
 * words are.
 *
 * 1. hits_init() with a query that was read.
 * 2. For each passage, the best first: hits_want() whether it is to be shown, then hits_show().
 * 3. hits_fini().
 *
 * One thread at a time.
 */
#pragma once

#include "store/db_query.h"

struct hits {
    const struct passage_query *query;
    const struct db_words *words;
    const struct db_query *parsed;
    passage_fn each;
    void *user;
    struct weir_buf sources; /* of what was wanted, each behind a byte that is its length */
    size_t n_shown;
};

void hits_init(struct hits *h, const struct passage_query *query, const struct db_words *words,
               const struct db_query *parsed);
void hits_fini(struct hits *h);

/* Whether there may be another passage of the id's source; it counts from now on. */
bool hits_want(struct hits *h, struct weir_slice id);

/* As many as were asked for have been shown. */
bool hits_are_enough(const struct hits *h);

/* Finds the words in title and text, and tells the one who searches. */
WEIR_MUST_CHECK enum weir_status hits_show(struct hits *h, struct passage_hit hit);
