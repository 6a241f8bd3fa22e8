/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How two rows of values go together. NAN when it is not defined: fewer values than it takes, or
 * a row that is constant. Pure functions; any thread. Memory that a function needs is given.
 */
#pragma once

#include <stddef.h>

/* From 2 pairs on. */
double stat_pearson(const double *x, const double *y, size_t n);

/* Pearson of the ranks; equal values share the mean of theirs. `scratch` has room for 4n. */
double stat_spearman(const double *x, const double *y, size_t n, double *scratch);

/* Pairs of points, and how many are tied; the score is those that rise less those that fall. */
struct stat_concordance {
    double score, pairs, tied_x, tied_y;
};

/* In n log n, for n of 2 and more. `scratch` has room for 4n. */
struct stat_concordance stat_concordance(const double *x, const double *y, size_t n,
                                         double *scratch);

/* tau-b, in n log n. `scratch` has room for 4n. */
double stat_kendall(const double *x, const double *y, size_t n, double *scratch);

/* The ranks from 1 on, equal values with the mean of theirs. `scratch` has room for 2n. */
void stat_ranks(const double *x, size_t n, double *ranks, double *scratch);

struct stat_line {
    double slope, intercept; /* NAN: x is constant */
};

/* Least squares. */
struct stat_line stat_ols(const double *x, const double *y, size_t n);

/*
 * Theil and Sen: the median of the slopes of all pairs whose x differ; the intercept is
 * median(y) - slope * median(x). Exact but for rounding, in about n log n: no sample decides the
 * result, only how soon it is found. x must rise or stay. `scratch` has room for
 * stat_theil_sen_scratch(n) values.
 */
struct stat_line stat_theil_sen(const double *x, const double *y, size_t n, double *scratch);
size_t stat_theil_sen_scratch(size_t n);

/* The slope of this rank among those of all pairs, from 0, in the same way; NAN beyond the last. */
double stat_slope_at(const double *x, const double *y, size_t n, size_t rank, double *scratch);
