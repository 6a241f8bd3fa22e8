/* SPDX-License-Identifier: Apache-2.0 */
/* Least squares with autocorrelated noise: whitened rows, and the restricted likelihood. */
#include "stat/ar1.h"

#include <math.h>
#include <stdbool.h>

enum { K = STAT_AR1_COLUMNS, SEARCH_STEPS = 20 };

/* Sums over whitened rows: columns with columns, and with y. */
struct sums {
    double xx[K][K], xy[K], yy;
    double log_det; /* of the rows' correlations */
};

static struct sums whiten(const struct stat_ar1_rows *r, double lag1)
{
    struct sums s = {0};
    double once = sqrt(1 - lag1 * lag1), log_once = log(1 - lag1 * lag1);
    for (size_t i = 0; i < r->n; i++) {
        double step = i > 0 ? r->day[i] - r->day[i - 1] : INFINITY, keep = lag1, scale = once;
        if (step == 1) {
            s.log_det += log_once;
        } else {
            keep = i > 0 && lag1 > 0 ? pow(lag1, step) : 0;
            scale = sqrt(1 - keep * keep);
            s.log_det += log(1 - keep * keep);
        }
        double x[K], y = (r->y[i] - (i > 0 ? keep * r->y[i - 1] : 0)) / scale;
        for (size_t k = 0; k < r->n_columns; k++) {
            double before = i > 0 ? keep * r->columns[k][i - 1] : 0;
            x[k] = (r->columns[k][i] - before) / scale;
            s.xy[k] += x[k] * y;
            for (size_t j = 0; j <= k; j++) s.xx[k][j] += x[k] * x[j];
        }
        s.yy += y * y;
    }
    return s;
}

/* The lower triangle of the root of a, in place; false: a is not positive enough. */
static bool root_of(double a[K][K], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double before = a[i][i];
        for (size_t j = 0; j <= i; j++) {
            for (size_t k = 0; k < j; k++) a[i][j] -= a[i][k] * a[j][k];
            if (j < i) a[i][j] /= a[j][j];
        }
        if (!(a[i][i] > 1e-12 * before)) return false;
        a[i][i] = sqrt(a[i][i]);
    }
    return true;
}

/* The inverse of a lower triangle, in place. */
static void invert_root(double l[K][K], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < i; j++) {
            double sum = 0;
            for (size_t k = j; k < i; k++) sum -= l[i][k] * l[k][j];
            l[i][j] = sum / l[i][i];
        }
        l[i][i] = 1 / l[i][i];
    }
}

/* Also minus twice the logarithm of the restricted likelihood, but for a constant. */
static struct stat_ar1 solve(const struct stat_ar1_rows *r, double lag1, double *badness)
{
    size_t n = r->n_columns;
    struct sums s = whiten(r, lag1);
    struct stat_ar1 fit = {.lag1 = NAN, .variance = NAN, .df = (double)r->n - (double)n};
    *badness = INFINITY;
    if (!(fit.df > 0) || !root_of(s.xx, n)) return fit;
    double log_det = s.log_det, left = s.yy, z[K];
    for (size_t i = 0; i < n; i++) log_det += 2 * log(s.xx[i][i]);
    invert_root(s.xx, n);
    for (size_t i = 0; i < n; i++) {
        z[i] = 0;
        for (size_t j = 0; j <= i; j++) z[i] += s.xx[i][j] * s.xy[j];
        left -= z[i] * z[i];
    }
    fit.lag1 = lag1;
    fit.variance = fmax(left, 0) / fit.df;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = i; k < n; k++) fit.coefficient[i] += s.xx[k][i] * z[k];
        for (size_t j = 0; j < n; j++)
            for (size_t k = i > j ? i : j; k < n; k++)
                fit.covariance[i][j] += fit.variance * s.xx[k][i] * s.xx[k][j];
    }
    if (fit.variance > 1e-20 * s.yy) *badness = fit.df * log(fit.variance) + log_det;
    return fit;
}

static struct stat_ar1 undefined(void)
{
    struct stat_ar1 fit = {.lag1 = NAN, .variance = NAN, .df = NAN};
    for (size_t i = 0; i < K; i++) {
        fit.coefficient[i] = NAN;
        for (size_t j = 0; j < K; j++) fit.covariance[i][j] = NAN;
    }
    return fit;
}

struct stat_ar1 stat_ar1_at(const struct stat_ar1_rows *rows, double lag1)
{
    double badness;
    struct stat_ar1 fit = solve(rows, lag1, &badness);
    return isnan(fit.lag1) ? undefined() : fit;
}

/* The likelihood has one peak on all rows that matter: the middle third is kept, again and again.
 */
struct stat_ar1 stat_ar1_fit(const struct stat_ar1_rows *rows, double most)
{
    const double golden = 0.6180339887498949;
    double lo = 0, hi = most, a = hi - golden * (hi - lo), b = lo + golden * (hi - lo), bad_a,
           bad_b;
    solve(rows, a, &bad_a);
    solve(rows, b, &bad_b);
    for (int i = 0; i < SEARCH_STEPS; i++) {
        bool is_lower = bad_a <= bad_b;
        if (is_lower) hi = b, b = a, bad_b = bad_a, a = hi - golden * (hi - lo);
        else lo = a, a = b, bad_a = bad_b, b = lo + golden * (hi - lo);
        solve(rows, is_lower ? a : b, is_lower ? &bad_a : &bad_b);
    }
    double bad_at_0, bad_here, here = (lo + hi) / 2;
    solve(rows, 0, &bad_at_0);
    solve(rows, here, &bad_here);
    return stat_ar1_at(rows, bad_at_0 <= bad_here || isinf(bad_here) ? 0 : here);
}

double stat_ar1_se(const struct stat_ar1 *fit, const double weights[STAT_AR1_COLUMNS])
{
    double variance = 0;
    for (size_t i = 0; i < K; i++)
        for (size_t j = 0; j < K; j++)
            if (weights[i] != 0 && weights[j] != 0)
                variance += weights[i] * weights[j] * fit->covariance[i][j];
    return sqrt(variance);
}
