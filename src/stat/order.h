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
