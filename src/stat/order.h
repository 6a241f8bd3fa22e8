/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the order of values tells: quantiles, the median, the deviation from it.
 *
 * Functions with "_in" in their name put the values in another order and need no memory; the
 * caller gives a copy where that matters. NAN among the values is not allowed. Any thread.
 */
#pragma once

#include <stddef.h>

/* The k-th smallest (from 0) stands at x[k] afterwards, smaller ones before, larger ones behind;
 * it is returned. Expected time n, at worst n log n. */
double stat_select_in(double *x, size_t n, size_t k);

/* Rising. */
void stat_sort_in(double *x, size_t n);

/* Type 7, as R and NumPy: linear between the values around place (n-1)p. NAN of nothing. */
double stat_quantile_in(double *x, size_t n, double p);
double stat_median_in(double *x, size_t n);

/* The same of values that are sorted already. */
double stat_quantile_sorted(const double *x, size_t n, double p);

/* Median of the distances from `center`, as it is: times STAT_MAD_SCALE it estimates the standard
 * deviation of a normal sample. The values become those distances. */
#define STAT_MAD_SCALE 1.4826
double stat_mad_in(double *x, size_t n, double center);

/* The median, and the deviation of a normal sample that has this MAD: a value's robust z is its
 * distance from the one in units of the other. The values become distances. */
struct stat_robust {
    double center, spread;
};

struct stat_robust stat_robust_in(double *x, size_t n);

/* NAN for a value that is missing, and where the spread is 0: there is no unit then. */
double stat_robust_z(struct stat_robust r, double x);

/* The mean without floor(share n) values at each end; NAN of nothing and for a share that is not
 * from 0 to below 1/2. */
double stat_trimmed_mean_in(double *x, size_t n, double share);
