/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Days resemble the days before them: how much, and how many independent days that leaves. Rows
 * may have gaps, which are NAN. Pure functions; any thread.
 */
#pragma once

#include <stddef.h>

/* Autocorrelation at a lag of 1 or more, about the common mean; NAN below lag + 2 values, for a
 * constant, or where no two values are so far apart. */
double stat_autocorrelation(const double *x, size_t n, size_t lag);
double stat_lag1(const double *x, size_t n);

/* Its bias on short rows taken off: (n r + 1) / (n - 4) where r > 0, from 0 up to `most`. */
double stat_lag1_corrected(double r, size_t n, double most);

/* n (1 - r) / (1 + r), with r clipped at 0: never more than n. */
double stat_effective_n(double n, double r);

/* The same for pairs of rows with autocorrelations rx and ry. */
double stat_effective_pairs(double n, double rx, double ry);
