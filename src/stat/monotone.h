/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether something rises or falls, by order alone: Kendall's and Mann-Kendall's tests, and Sen's
 * interval of the slope. Undefined is NAN. `scratch` is memory that the caller gives. Any thread.
 */
#pragma once

#include <stddef.h>

#include "stat/infer.h"

/* Two-sided p of Kendall's tau-b by its normal approximation, with ties. `scratch`: 4n. */
double stat_kendall_p(const double *x, const double *y, size_t n, double *scratch);

/* The exact two-sided p of values without ties, for 2 to STAT_EXACT_KENDALL pairs; else NAN.
 * `scratch`: n (n + 3). */
enum { STAT_EXACT_KENDALL = 150 };
double stat_kendall_exact(const double *x, const double *y, size_t n, double *scratch);

struct stat_mann_kendall {
    double s, variance, z, p; /* two-sided, with continuity correction */
    double tau;               /* s of all pairs */
    double inflation;         /* what autocorrelation makes of the variance: 1 in the plain test */
    double lag1, lag1_corrected;
};

/* Of values in their order, without gaps. `scratch`: 5n. */
struct stat_mann_kendall stat_mann_kendall(const double *x, size_t n, double *scratch);

/*
 * The variance scaled for autocorrelation: by (1+r)/(1-r), r of the values without their Sen
 * slope; or as Hamed and Rao, by every lag of their ranks that is significant at `alpha`.
 * `scratch`: stat_mann_kendall_scratch(n).
 */
struct stat_mann_kendall stat_mann_kendall_ar1(const double *x, size_t n, double *scratch);
struct stat_mann_kendall stat_mann_kendall_hamed_rao(const double *x, size_t n, double alpha,
                                                     double *scratch);
size_t stat_mann_kendall_scratch(size_t n);

/* Sen's interval of the slope of stat_theil_sen(), with the same scratch. */
struct stat_interval stat_sen_interval(const double *x, const double *y, size_t n,
                                       double confidence, double *scratch);
