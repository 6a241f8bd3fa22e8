/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is done about an answer that verify_text() has found fault with.
 *
 * 1. verify_offence() names each number without a home, for whoever is to write the answer again.
 * 2. verify_strip() takes the sentences out that hold such numbers, when asking again was in vain.
 * 3. verify_unhedged() finds what is stated as certain though its home is conditional.
 *
 * All three know Markdown: a list item, a row of a table, a heading, a line of code go as a whole
 * where they are one sentence; what introduced only what is gone goes as well. Pure over bytes;
 * any thread. Memory is the arena's.
 */
#pragma once

#include <weir/buf.h>

#include "check/verify.h"

enum {
    STRIP_ROUNDS = 16,         /* what is left is verified again; then nothing is left */
    STRIP_OFFENCE_BYTES = 120, /* of the number and its unit as they are quoted */
};

struct stripped {
    struct weir_slice text;     /* what is left; may be empty */
    struct weir_slice *removed; /* sentences, in the order in which they went */
    size_t n_removed;
};

/* In what is left every number has a home or needs none. WEIR_LIMIT, WEIR_NOMEM. */
WEIR_MUST_CHECK enum weir_status verify_strip(struct stripped *out,
                                              const struct verify_input *input,
                                              struct arena *arena);

/* One line: "47 bpm" has no home in the fact sheet (line 2). */
void verify_offence(struct weir_buf *out, struct weir_slice text, const struct verified *v);

/*
 * Sentences that have a number whose home is conditional, in a paragraph or list item without a
 * word of doubt; of tables and headings, in an answer without one. WEIR_LIMIT, WEIR_NOMEM.
 */
struct unhedged {
    struct weir_slice *sentences;
    size_t n;
};
WEIR_MUST_CHECK enum weir_status verify_unhedged(struct unhedged *out, struct weir_slice text,
                                                 const struct verify_result *result,
                                                 struct arena *arena);
