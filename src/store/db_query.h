/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The words of somebody's query: cut as texts are, put into an expression for FTS5, and found again
 * in a text. A query never reaches FTS5 as it is.
 *
 * Private to src/store/db*.c. One thread at a time.
 */
#pragma once

#include <weir/buf.h>

#include "store/db_words.h"

/* Words, phrase by phrase. Masks have a bit for each word. */
struct db_query {
    struct weir_slice words[PASSAGE_MAX_WORDS]; /* in `bytes`, once db_query_read() is over */
    size_t n;
    uint32_t firsts, lasts; /* of phrases */
    bool is_prefix;         /* the very last word is a beginning */
    size_t ends[PASSAGE_MAX_WORDS];
    struct weir_buf bytes;
};

/* WEIR_INVALID: not UTF-8, or without a word; WEIR_LIMIT. db_query_fini() always. */
WEIR_MUST_CHECK enum weir_status db_query_read(struct db_query *q, const struct db_words *words,
                                               struct weir_slice text);
void db_query_fini(struct db_query *q);

/* What FTS5 is asked for. */
void db_query_put(struct weir_buf *out, const struct db_query *q, struct weir_slice owner,
                  bool is_any);

/* Where a text has phrases of the query: the first of them, rising, joined where they overlap. */
struct db_ranges {
    struct passage_range list[PASSAGE_MAX_RANGES];
    size_t n;
};
WEIR_MUST_CHECK enum weir_status db_query_find(const struct db_query *q,
                                               const struct db_words *words, struct weir_slice text,
                                               struct db_ranges *out);
