/* SPDX-License-Identifier: Apache-2.0 */
/* What the kinds of findings share: the work on one of them, and small statistics of days. */
#pragma once

#include "check/gates.h"
#include "stat/ar1.h"
#include "stat/infer.h"
#include "stat/random.h"
#include "stat/resample.h"

/* A row of values with the days they are of. */
struct known {
    double *day, *value;
    size_t n;
};

/* What was left out of a row before anything was computed. */
struct left_out {
    size_t n, n_implausible, n_not_worn; /* days with values, and those of them that are out */
    bool is_zero_not_worn;               /* a zero says that nobody wore the device */
};

struct work {
    const struct finding *finding; /* without what was left out */
    struct left_out left_out[2];   /* of its rows a and b */
    struct arena *arena;
    struct stat_random random;
    struct verdict *verdict;
    char *tip, *end; /* memory, taken at once before the work begins */
    void *kind;      /* what the kind's own functions keep */
};

/* A kind of finding: how it is prepared, and each gate. NULL: skipped. */
struct kind_rules {
    void (*prepare)(struct work *w);
    void (*gates[N_GATES])(struct work *w, struct gate *g);
};

extern const struct kind_rules level_rules, trend_rules, windows_rules, weekdays_rules, pair_rules,
    anomaly_rules;

/* Memory out of what was taken: it cannot fail. A kind may take WORK_ROWS rows of all the days. */
enum { WORK_ROWS = 128 };
void *work_room(struct work *w, size_t n, size_t size);
double *work_row(struct work *w, size_t n);

struct known work_known(struct work *w, struct days days);

/* Decisions. The sentence has to be constant. */
void gate_is(struct gate *g, bool is_passed, const char *passed, const char *failed);
void gate_skip(struct gate *g, const char *why);
void gate_number(struct gate *g, const char *name, double value);

/* The verdict's estimate with an interval of `reach` to both sides. */
void work_estimate(struct work *w, double estimate, double reach);

/* The noise of days. Its lag-1 comes from the restricted likelihood, which has no bias of the first
 * order, and is 0 where there is none. What the gates ask of a number of days or of a standard
 * error goes with (1 + lag) / (1 - lag): of a lag that errs to both sides, that is too large on
 * average. `fair` has that bias taken off; who must not be fooled by a lag that came out too small
 * takes `strict`. */
struct noise {
    struct stat_ar1 fair, strict;
};

/* By how much the error of an estimated lag raises (1 + lag) / (1 - lag) on average, to the second
 * order: the variance of the estimate is (1 - lag^2) / n. */
double lag_unsure(double lag1, size_t n);

/* About a sum of columns, each of which `column` gives for a day, the first one being 1. Values
 * are counted from the first one, so that what is constant is exactly 0. */
struct noise work_noise(struct work *w, struct known k, size_t n_columns,
                        double (*column)(const struct work *w, size_t i, double day));

/* About their mean alone. */
struct noise noise_about_mean(struct work *w, struct known k);

/* The variance of the mean of days with gaps whose noise this is. */
double variance_of_mean(struct known k, const struct stat_ar1 *noise);

/* The smallest change worth speaking of: the catalogue's, at most half a standard deviation. */
double worthwhile(const struct metric *m, double sd);

/* Neighbours to be drawn together for so many days with this autocorrelation. */
size_t block_length(size_t n, double lag1);

bool same_sign(double a, double b);

/* Whether the metric of row a or b is known, its values are plausible and one device measured
 * them. What is left out is counted. */
enum work_row_name { ROW_A, ROW_B };
void construct_of_row(const struct work *w, struct gate *g, enum work_row_name which);

/* Outside of what the catalogue says can be; a time of day may be counted on past midnight, to be
 * near the others. A metric that is not known has no limits. */
bool value_is_implausible(const struct metric *m, double value);

/* For a finding that is about one row of days. */
void construct_of_one_row(struct work *w, struct gate *g);

/* Whether the one is part of the other or computed from it, or both are parts of one thing. */
bool are_related(const struct metric *a, const struct metric *b);
