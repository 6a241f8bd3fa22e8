/* SPDX-License-Identifier: Apache-2.0 */
/* Autocorrelation, with gaps, and the number of independent values that it leaves. */
#include "stat/autocorr.h"

#include <math.h>

#include "stat/moments.h"

static double mean_of_known(const double *x, size_t n, size_t *n_known)
{
    struct stat_adder sum = {0};
    *n_known = 0;
    for (size_t i = 0; i < n; i++) {
        if (isnan(x[i])) continue;
        stat_add(&sum, x[i]);
        ++*n_known;
    }
    return stat_total(&sum) / (double)*n_known;
}

double stat_lag1(const double *x, size_t n)
{
    size_t n_known, n_pairs = 0;
    double mean = mean_of_known(x, n, &n_known);
    if (n_known < 3) return NAN;
    struct stat_adder squares = {0}, products = {0};
    for (size_t i = 0; i < n; i++) {
        if (isnan(x[i])) continue;
        stat_add(&squares, (x[i] - mean) * (x[i] - mean));
        if (i + 1 >= n || isnan(x[i + 1])) continue;
        stat_add(&products, (x[i] - mean) * (x[i + 1] - mean));
        n_pairs++;
    }
    if (n_pairs == 0 || !(stat_total(&squares) > 0)) return NAN;
    /* With gaps there are fewer neighbours than values less one: as if there were all of them. */
    double share = (double)(n_known - 1) / (double)n_pairs;
    return share * stat_total(&products) / stat_total(&squares);
}

double stat_lag1_corrected(double r, size_t n, double most)
{
    if (isnan(r) || r <= 0) return 0;
    double corrected = n > 4 ? ((double)n * r + 1) / ((double)n - 4) : most;
    return fmin(corrected, most);
}

double stat_effective_n(double n, double r)
{
    double clipped = fmax(r, 0);
    return n * (1 - clipped) / (1 + clipped);
}

double stat_effective_pairs(double n, double rx, double ry)
{
    return stat_effective_n(n, rx * ry);
}
