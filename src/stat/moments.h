/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moments of a sample. A result that is not defined is NAN, which callers must say in words.
 *
 * Pure functions; any thread.
 */
#pragma once

#include <stddef.h>

/* Compensated: the error does not grow with n. The mean of nothing is NAN. */
double stat_sum(const double *x, size_t n);
double stat_mean(const double *x, size_t n);
