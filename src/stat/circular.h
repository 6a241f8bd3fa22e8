/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times of day, in minutes after midnight: 23:50 and 00:10 are twenty minutes apart, and midnight
 * is between them. Pure functions; any thread.
 */
#pragma once

#include <stddef.h>

#define STAT_DAY_MINUTES 1440.0

/* The direction of the sum of all clock hands, in [0, 1440). NAN of nothing, and where they point
 * away from each other so evenly that there is none. */
double stat_circular_mean(const double *minutes, size_t n);

/* sqrt(-2 ln R) in minutes; 0 when all are equal, NAN of nothing or without a direction. */
double stat_circular_sd(const double *minutes, size_t n);

/* The same time of day, as minutes within half a day of `center`: (center-720, center+720]. */
double stat_circular_near(double minutes, double center);

/* The same time of day, in [0, 1440). */
double stat_circular_wrap(double minutes);
