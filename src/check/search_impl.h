/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the search share: rows made ready for testing, the tests, the ranking. */
#pragma once

#include "check/gates_impl.h"
#include "check/search.h"

/* The days that are searched, those that confirm, and both. */
enum search_part { PART_OLDER, PART_NEWER, PART_WHOLE, N_PARTS };

/* Noise that resembles itself a day before, and how to take that off: a value less `keep` times the
 * one before it, which lies so many days back, and all of it times `scale`. */
enum { NOISE_GAP = 30 }; /* days after which nothing is left */
struct whitening {
    double lag1;
    double keep[NOISE_GAP + 1], scale[NOISE_GAP + 1];
};

/* One metric on one part of the days; all but `raw` are about the part alone. */
struct piece {
    const double *raw; /* NAN: no value */
    size_t n;          /* days of the part */
    size_t n_known;
    double *level;          /* without the usual course of a week; NAN: no value */
    double *quick;          /* about 0, without the week and without slow drift; 0: no value */
    double *known;          /* 1 where there is a value, else 0 */
    struct whitening noise; /* of the quick values */
    struct stat_ar1 line;   /* of the level about a straight line, in parts of the span */
};

struct search_work {
    const struct search_input *input;
    struct arena *arena;
    struct search_result *result;
    uint64_t seed;
    size_t cut;
    unsigned first_weekday;
    struct piece *pieces[N_PARTS]; /* of each row */
    uint8_t twin[SEARCH_METRICS];  /* the first row that means the same */
    struct search_test *tests;
    size_t n_tests;
    double share[N_SEARCH_KINDS]; /* of the errors allowed */
    double *scratch; /* SCRATCH_ROWS rows of all days; whoever calls another one gives it up */
};

enum { SCRATCH_ROWS = 8 };

enum { LEAST_NEWER = 20 }; /* days with values, to confirm */

/* A test's result on some days. */
struct tried {
    double effect; /* correlation, or in standard deviations */
    double amount; /* the same in the unit of the values; of a correlation itself */
    double statistic, p;
    size_t n;
    double n_eff;
};

/* ---- search_rows.c ---- */
WEIR_MUST_CHECK enum weir_status search_prepare(struct search_work *w);

/* The values of a row without NAN, with their days: two rows of scratch. */
struct known known_of(double *scratch, const double *x, size_t n);

/* ---- search_tests.c: on the older days ---- */
struct tried try_pair(const struct piece *x, const struct piece *y, int lag);
struct tried try_trend(const struct piece *x);
struct tried try_weekdays(struct search_work *w, enum search_part part, size_t row, uint8_t days);
struct tried try_change(struct search_work *w, const struct piece *x, size_t *day);
struct tried try_anomaly(struct search_work *w, size_t row, size_t *day);

/* Whether the direction that was found is there on the newer days: one-sided p. */
struct tried confirm(struct search_work *w, const struct search_test *t);

/* ---- search_rank.c ---- */

/* Something that a person does, and could do otherwise. */
bool search_is_lever(const struct metric *m);

/* How much a person gains by knowing it, from 0 to 1. */
double search_usefulness(const struct search_work *w, const struct search_test *t);
double search_strength(enum search_kind kind, double size);

/* Whether two tests say the same of the same thing. */
bool search_says_the_same(const struct search_work *w, const struct search_test *a,
                          const struct search_test *b);

/* Whether the one metric is part of the other, computed from it, or both have something in common
 * by the way they are made. */
bool metrics_share(const struct metric *a, const struct metric *b);

/* ---- search.c ---- */

/* Whether it stands without any other days: none of all tests of such a search, where nothing is,
 * does so in more than one of twenty. */
bool search_is_beyond_doubt(const struct search_work *w, const struct search_test *t);

/* ---- search_words.c: memory is the arena's; WEIR_NOMEM, WEIR_LIMIT ---- */
WEIR_MUST_CHECK enum weir_status search_say(struct search_work *w, struct hypothesis *h);
WEIR_MUST_CHECK enum weir_status search_say_all(struct search_work *w);
