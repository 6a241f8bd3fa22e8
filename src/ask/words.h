/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A question as words: lower case, contractions taken apart ("what's" is "what is", "didn't" is
 * "did not"), numbers, dates and times of day recognised, what is glued together taken apart
 * ("8h", "7-day"), punctuation as marks. Nothing here knows what a word means.
 *
 * The texts are the arena's. Any thread.
 */
#pragma once

#include <weir/status.h>

#include "ask/ask.h"

enum word_kind {
    WORD_TEXT,
    WORD_NUMBER, /* "10k", "10,500", "7.5", "1st" */
    WORD_DATE,   /* "2025-03-09", "9.3.2025" */
    WORD_CLOCK,  /* "23:30", "11pm": minutes after midnight in `number` */
    WORD_MARK,   /* one of , : ; ? ( ) - / and the signs < > = + % & */
};

struct word {
    enum word_kind kind;
    struct weir_slice text; /* lower case; of a mark: the mark */
    double number;
    bool is_ordinal;   /* "1st" */
    bool is_ambiguous; /* "03/04/2025": nobody can know which is the month */
    bool is_owner;     /* had "'s": "yesterday's" */
    int32_t day;       /* WORD_DATE; DAY_NONE: no such day */
};

struct words {
    size_t n;
    struct word list[ASK_WORDS];
};

/* WEIR_TOO_LARGE: more than ASK_BYTES or ASK_WORDS. WEIR_NOMEM. */
WEIR_MUST_CHECK enum weir_status words_read(struct words *out, struct weir_slice question,
                                            struct arena *arena);
