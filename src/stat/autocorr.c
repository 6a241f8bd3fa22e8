/* SPDX-License-Identifier: Apache-2.0 */
/* Autocorrelation, with gaps, and the number of independent values that it leaves. */
#include "stat/autocorr.h"

#include <math.h>
#include <stdbool.h>

#include "stat/moments.h"

struct known {
    double mean, rest; /* the mean, and what rounding left of it */
    size_t n;
    bool is_constant;
};

static struct known known_of(const double *x, size_t n, double scale)
{
    struct stat_adder sum = {0};
    struct known k = {.is_constant = true};
    double first = NAN;
    for (size_t i = 0; i < n; i++) {
        if (isnan(x[i])) continue;
        if (k.n++ == 0) first = x[i];
        k.is_constant = k.is_constant && x[i] == first;
        stat_add(&sum, x[i] * scale);
    }
    k.mean = stat_total(&sum) / (double)k.n;
    sum = (struct stat_adder){0};
    for (size_t i = 0; i < n; i++)
        if (!isnan(x[i])) stat_add(&sum, x[i] * scale - k.mean);
    k.rest = stat_total(&sum) / (double)k.n;
    return k;
}

double stat_autocorrelation(const double *x, size_t n, size_t lag)
{
    double scale = stat_scale(x, n);
    struct known known = known_of(x, n, scale);
    if (known.n < 2 || known.n - 2 < lag || known.is_constant) return NAN;
    struct stat_adder squares = {0}, products = {0};
    size_t n_pairs = 0;
    for (size_t i = 0; i < n; i++) {
        if (isnan(x[i])) continue;
        double d = x[i] * scale - known.mean - known.rest;
        stat_add(&squares, d * d);
        if (n - i <= lag || isnan(x[i + lag])) continue;
        stat_add(&products, d * (x[i + lag] * scale - known.mean - known.rest));
        n_pairs++;
    }
    if (n_pairs == 0) return NAN;
    /* With gaps there are fewer neighbours than values less the lag: as if there were all. */
    double share = (double)(known.n - lag) / (double)n_pairs;
    return share * stat_total(&products) / stat_total(&squares);
}

double stat_lag1(const double *x, size_t n)
{
    return stat_autocorrelation(x, n, 1);
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
