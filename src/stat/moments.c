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
    static const double small = 0x1p-64;
    if (n == 0) return NAN;
    double sum = stat_sum(x, n);
    if (isfinite(sum)) return sum / (double)n;
    struct stat_adder a = {0};
    for (size_t i = 0; i < n; i++) stat_add(&a, x[i] * small);
    return stat_total(&a) / (double)n / small;
}

double stat_scale(const double *x, size_t n)
{
    double most = 0;
    int exponent;
    for (size_t i = 0; i < n; i++)
        if (fabs(x[i]) > most) most = fabs(x[i]);
    if (most == 0 || isinf(most) || (most > 1e-100 && most < 1e100)) return 1;
    frexp(most, &exponent);
    /* Neither it nor its inverse may overflow. */
    return ldexp(1, exponent < -1000 ? 1000 : exponent > 1000 ? -1000 : -exponent);
}

/* Of values that are multiplied by `scale` first. */
static double scaled_variance(const double *x, size_t n, double scale)
{
    if (n < 2) return NAN;
    if (stat_min(x, n) == stat_max(x, n)) return 0;
    double mean = stat_mean(x, n) * scale;
    struct stat_adder square = {0}, rest = {0};
    for (size_t i = 0; i < n; i++) {
        double d = x[i] * scale - mean;
        stat_add(&square, d * d);
        stat_add(&rest, d);
    }
    /* What the rounded mean leaves over is taken out again. */
    double left = stat_total(&rest);
    double v = (stat_total(&square) - left * left / (double)n) / (double)(n - 1);
    return v < 0 ? 0 : v;
}

double stat_variance(const double *x, size_t n)
{
    double scale = stat_scale(x, n);
    return scaled_variance(x, n, scale) / scale / scale;
}

double stat_sd(const double *x, size_t n)
{
    double scale = stat_scale(x, n);
    return sqrt(scaled_variance(x, n, scale)) / scale;
}

struct stat_shape stat_shape(const double *x, size_t n)
{
    double scale = stat_scale(x, n), mean = stat_mean(x, n) * scale, count = (double)n;
    double sd = sqrt(scaled_variance(x, n, scale) * (count - 1) / count);
    if (!(sd > 0)) return (struct stat_shape){NAN, NAN};
    struct stat_adder third = {0}, fourth = {0}, left = {0};
    for (size_t i = 0; i < n; i++) stat_add(&left, x[i] * scale - mean);
    double rest = stat_total(&left) / count; /* what rounding left of the mean */
    for (size_t i = 0; i < n; i++) {
        double z = (x[i] * scale - mean - rest) / sd;
        stat_add(&third, z * z * z);
        stat_add(&fourth, z * z * z * z);
    }
    return (struct stat_shape){stat_total(&third) / count, stat_total(&fourth) / count - 3};
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
