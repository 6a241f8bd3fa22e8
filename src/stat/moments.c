/* SPDX-License-Identifier: Apache-2.0 */
/* Sums, means and deviations. All sums are compensated; deviations are taken from the mean. */
#include "stat/moments.h"

#include <math.h>

void stat_add(struct stat_adder *a, double x)
{
    double t = a->sum + x;
    a->lost += fabs(a->sum) >= fabs(x) ? (a->sum - t) + x : (x - t) + a->sum;
    a->sum = t;
}

double stat_sum(const double *x, size_t n)
{
    struct stat_adder a = {0};
    for (size_t i = 0; i < n; i++) stat_add(&a, x[i]);
    return stat_total(&a);
}

double stat_mean(const double *x, size_t n)
{
    return n > 0 ? stat_sum(x, n) / (double)n : NAN;
}

double stat_variance(const double *x, size_t n)
{
    if (n < 2) return NAN;
    double mean = stat_mean(x, n);
    struct stat_adder square = {0}, rest = {0};
    for (size_t i = 0; i < n; i++) {
        double d = x[i] - mean;
        stat_add(&square, d * d);
        stat_add(&rest, d);
    }
    /* What the rounded mean leaves over is taken out again. */
    double left = stat_total(&rest);
    double v = (stat_total(&square) - left * left / (double)n) / (double)(n - 1);
    return v < 0 ? 0 : v;
}

double stat_sd(const double *x, size_t n)
{
    return sqrt(stat_variance(x, n));
}

double stat_cv(const double *x, size_t n)
{
    double mean = stat_mean(x, n);
    return mean != 0 ? 100 * stat_sd(x, n) / fabs(mean) : NAN;
}

double stat_min(const double *x, size_t n)
{
    double min = n > 0 ? x[0] : NAN;
    for (size_t i = 1; i < n; i++)
        if (x[i] < min) min = x[i];
    return min;
}

double stat_max(const double *x, size_t n)
{
    double max = n > 0 ? x[0] : NAN;
    for (size_t i = 1; i < n; i++)
        if (x[i] > max) max = x[i];
    return max;
}
