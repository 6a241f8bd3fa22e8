/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Least squares for days that resemble the day before: y is a sum of columns and of noise whose
 * correlation is lag1 ^ (days between). The lag comes from the restricted likelihood, which knows
 * that the columns were fitted and is therefore not too small on short rows, as the plain
 * autocorrelation of residuals is. Days may be missing. Pure functions; any thread.
 */
#pragma once

#include <stddef.h>

enum { STAT_AR1_COLUMNS = 3 };

struct stat_ar1_rows {
    const double *day; /* rising; a step that is very long makes what follows independent */
    const double *y;
    const double *columns[STAT_AR1_COLUMNS];
    size_t n, n_columns;
};

struct stat_ar1 {
    double lag1;                                           /* from 0 up to `most` */
    double variance;                                       /* of a single day's noise */
    double coefficient[STAT_AR1_COLUMNS];                  /* generalised least squares */
    double covariance[STAT_AR1_COLUMNS][STAT_AR1_COLUMNS]; /* of the coefficients */
    double df;                                             /* rows less columns */
};

/* With a lag that is known. All NAN where there are too few rows, or columns that say the same. */
struct stat_ar1 stat_ar1_at(const struct stat_ar1_rows *rows, double lag1);

/* With the lag of the highest restricted likelihood, from 0 to `most` < 1. */
struct stat_ar1 stat_ar1_fit(const struct stat_ar1_rows *rows, double most);

/* Of the sum of the coefficients, each times its weight. */
double stat_ar1_se(const struct stat_ar1 *fit, const double weights[STAT_AR1_COLUMNS]);
