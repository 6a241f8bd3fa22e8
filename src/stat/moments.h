/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moments of a sample. A result that is not defined is NAN, which callers must say in words.
 * Values are finite and none is missing; whoever has gaps leaves them out first.
 *
 * Pure functions; any thread.
 */
#pragma once

#include <stddef.h>

/*
 * A sum that is compensated after Neumaier: its error does not grow with n. Begin with a zeroed
 * struct; stat_total() at any time.
 */
struct stat_adder {
    double sum, lost;
};

void stat_add(struct stat_adder *a, double x);

static inline double stat_total(const struct stat_adder *a)
{
    return a->sum + a->lost;
}

/* The sum of nothing is 0, its mean NAN. A mean is right even where the sum is too large. */
double stat_sum(const double *x, size_t n);
double stat_mean(const double *x, size_t n);

/*
 * A power of two that brings values whose squares would be too large or too small near 1, and 1
 * for all others. Multiplying by it and dividing again is exact. NAN among the values is skipped.
 */
double stat_scale(const double *x, size_t n);

/* With n-1; NAN below two values. The variance of values that are all equal is exactly 0. The
 * deviation is right even where the variance is too large or too small for a double. */
double stat_variance(const double *x, size_t n);
double stat_sd(const double *x, size_t n);

/* Third and fourth moment about the mean, of values divided by their deviation (with n): 0 and 0
 * for a normal distribution. NAN where all values are equal. */
struct stat_shape {
    double skewness, excess_kurtosis;
};

struct stat_shape stat_shape(const double *x, size_t n);

/* Standard deviation in percent of the mean's size; NAN where that is 0. */
double stat_cv(const double *x, size_t n);

/* NAN of nothing. */
double stat_min(const double *x, size_t n);
double stat_max(const double *x, size_t n);
