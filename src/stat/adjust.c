/* SPDX-License-Identifier: Apache-2.0 */
/* Adjusting p-values: each walks the sorted values once. */
#include "stat/adjust.h"

#include <math.h>
#include <string.h>

#include "stat/order.h"

/* The first place of a value: equal ones get the same in both kinds of walk. */
static size_t place_of(const double *sorted, size_t n, double value)
{
    size_t lo = 0, hi = n;
    while (lo < hi) {
        size_t middle = lo + (hi - lo) / 2;
        if (sorted[middle] < value) lo = middle + 1;
        else hi = middle;
    }
    return lo;
}

/* Puts back, for each value, what stands at its place in `by_place`. */
static void put_back(double *p, size_t n, const double *sorted, const double *by_place)
{
    for (size_t i = 0; i < n; i++) p[i] = by_place[place_of(sorted, n, p[i])];
}

static void adjust_up(double *p, size_t n, double factor, double *scratch)
{
    double *sorted = scratch, *out = scratch + n;
    memcpy(sorted, p, n * sizeof *p);
    stat_sort_in(sorted, n);
    double least = 1;
    for (size_t i = n; i-- > 0;) {
        least = fmin(least, sorted[i] * factor * (double)n / (double)(i + 1));
        out[i] = least;
    }
    put_back(p, n, sorted, out);
}

void stat_adjust_bh(double *p, size_t n, double *scratch)
{
    adjust_up(p, n, 1, scratch);
}

void stat_adjust_by(double *p, size_t n, double *scratch)
{
    double harmonic = 0;
    for (size_t i = 1; i <= n; i++) harmonic += 1 / (double)i;
    adjust_up(p, n, harmonic, scratch);
}

void stat_adjust_holm(double *p, size_t n, double *scratch)
{
    double *sorted = scratch, *out = scratch + n;
    memcpy(sorted, p, n * sizeof *p);
    stat_sort_in(sorted, n);
    double most = 0;
    for (size_t i = 0; i < n; i++) {
        most = fmax(most, fmin(1, sorted[i] * (double)(n - i)));
        out[i] = most;
    }
    put_back(p, n, sorted, out);
}
