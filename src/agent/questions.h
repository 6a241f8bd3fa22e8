/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a question to the plans that answer it. The grammar (src/ask) reads one question into one
 * plan; here a question with several parts is taken apart, what one part leaves out is taken from
 * its neighbour, and a question that only names a metric gets what one would want to know of it.
 * Private to src/agent.
 */
#pragma once

#include "agent/agent.h"
#include "data/plan.h"

enum { QUESTION_PLANS = 8, QUESTION_PARTS = 8 };

struct asked {
    struct plan plan;
    const char *text;  /* in words, as the grammar has it; NULL: none */
    bool wants_number; /* not only whether */
    bool is_optional;  /* is left away when there are no data for it */
    bool needs_no_value;
};

struct questions {
    struct asked list[QUESTION_PLANS];
    size_t n;
    bool is_causal;
    const char *refusal;         /* when there are none; a sentence */
    struct weir_slice not_read;  /* a part that nothing was made of; empty: none */
    const struct metric *absent; /* was named, and there are no data for it */
    const struct metric *sought; /* what goes with it is asked, and has to be searched */
};

/* WEIR_OK also when nothing could be read. Memory is the arena's. */
WEIR_MUST_CHECK enum weir_status questions_read(struct questions *out, struct weir_slice question,
                                                struct agent_case *c);

/* ---- questions_words.c ---- */

/* Parts at "and", commas and ends of sentences; how many, at most QUESTION_PARTS. */
size_t words_split(struct weir_slice text, struct weir_slice parts[QUESTION_PARTS]);

bool words_ask_whether(struct weir_slice text);  /* "did my steps drop?" */
bool words_ask_why(struct weir_slice text);      /* affects, because, causes */
bool words_ask_meaning(struct weir_slice text);  /* what a word means, of nobody's data */
bool words_want_number(struct weir_slice text);  /* how much, give, report, the slope */
bool words_ask_relation(struct weir_slice text); /* whether one thing goes with another */
bool words_ask_change(struct weir_slice text);   /* went up, dropped, worse */
bool words_ask_number(struct weir_slice text);   /* a number, a date or an amount is spoken of */
bool words_count(struct weir_slice text);        /* has a number, in digits or in words */
bool words_have(struct weir_slice text, const char *words); /* one of "a|b|c", whole */

/* What is named in a text, in its order; of several names the longest. */
enum { MENTIONS = 4 };
struct mention {
    const struct metric *metrics[MENTIONS]; /* that have data */
    size_t n;
    const struct metric *absent; /* the first that has none; NULL */
    const struct analyte *analyte;
    const struct activity *activity;
    size_t n_other; /* words that are neither names nor general talk */
};
WEIR_MUST_CHECK enum weir_status words_mention(struct mention *out, struct weir_slice text,
                                               struct dataset *d);
