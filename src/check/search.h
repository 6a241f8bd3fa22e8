/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The investigator's search: looks through all of a person's days for what stands out, and keeps
 * what still stands on days that were not searched. docs/search.md says how, and how often it errs.
 *
 *   struct search_input input;
 *   struct search_result result;
 *   st = search_input_of(&input, dataset, &arena);            or fill it in by hand
 *   st = search_run(&result, &input, seed, &arena);
 *   search_put(&json, &result, false);
 *
 * 1. The older 60 % of the days are searched: every pair of metrics with lags -3 to 3, trends,
 *    weekdays, changes of level, single days. Every test that is tried is in the log.
 * 2. Benjamini and Hochberg over all of them, on p-values that know of autocorrelation.
 * 3. What is promising is ranked by strength and usefulness, and what says the same is folded.
 * 4. The best are tested again on the newer days alone, and go through the gates.
 *
 * The same input and seed give the same result, on every machine and with any number of threads.
 * Results point into the input and the arena. Any thread.
 */
#pragma once

#include <weir/buf.h>

#include "check/gates.h"
#include "data/dataset.h"

enum {
    SEARCH_METRICS = 64,            /* of one search; those with the fewest days are left out */
    SEARCH_DAYS = 1461,             /* four years; older days are left out */
    SEARCH_LAGS = 3,                /* days, to both sides */
    SEARCH_HYPOTHESES = 5,          /* that come out */
    SEARCH_ARENA_BYTES = 256 << 20, /* enough for an input of any allowed size */
};

/* A metric's days, all rows over the same ones. */
struct search_row {
    const struct metric *metric;
    const double *x;         /* n_days values; NAN: none */
    const uint16_t *sources; /* who measured each day, 0: not known; NULL: of none */
};

struct search_input {
    int32_t first_day;
    size_t n_days; /* up to SEARCH_DAYS */
    const struct search_row *rows;
    size_t n_rows;              /* up to SEARCH_METRICS */
    size_t n_metrics, span;     /* what there was before ceilings; 0: nothing was left out */
    const struct metric *focus; /* only what goes with it is tried; NULL: everything */
    bool (*is_aborted)(
        void *user); /* is asked now and then: end with WEIR_CANCELLED; NULL: never */
    void *user;
};

enum search_kind {
    SEARCH_PAIR,    /* y goes with x, `lag` days later */
    SEARCH_TREND,   /* x rises or falls */
    SEARCH_WEEKDAY, /* x differs on some days of the week */
    SEARCH_CHANGE,  /* the level of x changed on a day */
    SEARCH_ANOMALY, /* one day of x stands out */
    N_SEARCH_KINDS,
};
const char *search_kind_name(enum search_kind k); /* "pair" … */

/* What became of a test, from the least to the most. */
enum search_outcome {
    SEARCH_NOISE,       /* does not stand out among so many tests */
    SEARCH_SAME_THING,  /* x and y mean the same: their days agree almost wholly */
    SEARCH_FOLDED,      /* says what a stronger one says */
    SEARCH_PASSED_OVER, /* promising, but others were stronger or more useful */
    SEARCH_UNCONFIRMED, /* is not there on the newer days */
    SEARCH_REJECTED,    /* by the gates */
    SEARCH_REPORTED,    /* one of the hypotheses */
};
const char *search_outcome_name(enum search_outcome o); /* "noise", "same thing" … */

/* A test that was tried on the older days. */
struct search_test {
    uint8_t kind, outcome; /* enum search_kind, enum search_outcome */
    uint8_t x, y;          /* rows; y only of pairs */
    int16_t lag;           /* PAIR */
    uint8_t weekdays;      /* WEEKDAY: those tested against all others; bit 0 Monday … */
    bool is_of_all_days;   /* TREND, CHANGE: searched on all days, so it must be beyond doubt */
    uint16_t day;          /* CHANGE: the first of the new level; ANOMALY: the day; from 0 */
    uint16_t n;            /* days or pairs with values */
    float n_eff;           /* what they are worth */
    float effect;          /* PAIR: correlation; else in standard deviations */
    double statistic, p;   /* z or t; two-sided, corrected for autocorrelation */
    double q;              /* p, corrected for all tests */
};

/* What came out. */
struct hypothesis {
    enum search_kind kind;
    const struct metric *x, *y;     /* y: of pairs; of two days x is the earlier one */
    int lag;                        /* PAIR: y is this many days later, 0 to 3 */
    uint8_t weekdays;               /* WEEKDAY */
    int32_t day;                    /* CHANGE, ANOMALY; else DAY_NONE */
    const struct search_test *test; /* how it was found */
    double p_search, q_search;      /* on the older days; of one test, and of all of them */
    double p_confirm;               /* on the newer days, corrected for those looked at there */
    double estimate;                /* on the newer days: a correlation, or in x's unit */
    double size;                    /* the same in standard deviations, of pairs the correlation */
    size_t n_search, n_confirm;     /* days or pairs with values */
    double strength, usefulness;    /* 0 to 1; the rank follows their product */
    struct finding finding;         /* over all days, as the gates saw it */
    struct verdict gates;           /* what they said */
    enum verdict_name verdict;      /* VALIDATED only what was confirmed, too */
    const char *words;              /* one sentence */
};

struct search_count {
    size_t n_tried, n_promising, n_confirmed, n_reported;
};

struct search_result {
    const struct search_input *input;
    size_t cut; /* days before it were searched, those from it on confirm */
    const struct search_test *tests;
    size_t n_tests;
    struct search_count counts[N_SEARCH_KINDS];
    size_t n_skipped; /* tests that were not tried: too few days, a part and its whole */
    const struct hypothesis *hypotheses; /* best first */
    size_t n;                            /* up to SEARCH_HYPOTHESES; 0: nothing stands */
    const char *words;                   /* what was tried, and what came of it, in sentences */
};

/*
 * The rows of a dataset: good days only, the newest SEARCH_DAYS, times of day unrolled about their
 * mean. What the dataset's reading gives, WEIR_NOMEM, WEIR_LIMIT when the arena is too small.
 */
WEIR_MUST_CHECK enum weir_status search_input_of(struct search_input *out, struct dataset *d,
                                                 struct arena *arena);

/* WEIR_CANCELLED; WEIR_INVALID for an input beyond the ceilings or a row without metric or days;
 * WEIR_NOMEM, WEIR_LIMIT. */
WEIR_MUST_CHECK enum weir_status search_run(struct search_result *out,
                                            const struct search_input *input, uint64_t seed,
                                            struct arena *arena);

/* The result as a JSON object; `with_log`: with every test that was tried. */
void search_put(struct weir_buf *out, const struct search_result *r, bool with_log);
