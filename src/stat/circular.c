/* SPDX-License-Identifier: Apache-2.0 */
/* Means and deviations on the clock's face. */
#include "stat/circular.h"

#include <math.h>

#include "stat/moments.h"

static const double TURN = 6.283185307179586476925;

/* A resultant below this, of clock hands of length one, is rounding and points nowhere. */
static const double NOWHERE = 1e-9;

/* The mean of the hands; its length is 1 when all agree. */
static void resultant(const double *minutes, size_t n, double *east, double *north)
{
    struct stat_adder x = {0}, y = {0};
    for (size_t i = 0; i < n; i++) {
        double angle = fmod(minutes[i], STAT_DAY_MINUTES) / STAT_DAY_MINUTES * TURN;
        stat_add(&x, cos(angle));
        stat_add(&y, sin(angle));
    }
    *east = stat_total(&x) / (double)n;
    *north = stat_total(&y) / (double)n;
}

double stat_circular_wrap(double minutes)
{
    double m = fmod(minutes, STAT_DAY_MINUTES);
    if (m < 0) m += STAT_DAY_MINUTES;
    return m < STAT_DAY_MINUTES ? m : 0; /* a tiny negative one becomes a whole day */
}

double stat_circular_near(double minutes, double center)
{
    double ahead = stat_circular_wrap(minutes - center);
    return center + (ahead > STAT_DAY_MINUTES / 2 ? ahead - STAT_DAY_MINUTES : ahead);
}

double stat_circular_mean(const double *minutes, size_t n)
{
    if (n == 0) return NAN;
    double east, north;
    resultant(minutes, n, &east, &north);
    if (hypot(east, north) < NOWHERE) return NAN;
    return stat_circular_wrap(atan2(north, east) / TURN * STAT_DAY_MINUTES);
}

double stat_circular_sd(const double *minutes, size_t n)
{
    double mean = stat_circular_mean(minutes, n);
    if (isnan(mean)) return NAN;
    /* R is 1 - 2 mean(sin^2(half the distance from the mean)): near 1 only the second term has
     * digits. */
    struct stat_adder squares = {0};
    for (size_t i = 0; i < n; i++) {
        double half =
            sin((stat_circular_near(minutes[i], mean) - mean) / STAT_DAY_MINUTES * TURN / 2);
        stat_add(&squares, half * half);
    }
    return sqrt(-2 * log1p(-2 * stat_total(&squares) / (double)n)) / TURN * STAT_DAY_MINUTES;
}
