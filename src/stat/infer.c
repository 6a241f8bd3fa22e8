/* SPDX-License-Identifier: Apache-2.0 */
/* Tests and intervals by t and normal theory. */
#include "stat/infer.h"

#include <math.h>

#include "stat/dist.h"
#include "stat/moments.h"

struct stat_group stat_group_of(const double *x, size_t n)
{
    return (struct stat_group){stat_mean(x, n), stat_variance(x, n), (double)n};
}

static struct stat_interval around(double center, double se, double df, double confidence)
{
    double reach = stat_t_quantile(0.5 + confidence / 2, df) * se;
    return (struct stat_interval){center - reach, center + reach};
}

struct stat_interval stat_mean_interval(struct stat_group g, double confidence)
{
    return around(g.mean, sqrt(g.variance / g.n), g.n - 1, confidence);
}

static struct stat_test test_of(double estimate, double se, double df, double confidence)
{
    double t = estimate / se;
    return (struct stat_test){estimate, t, df, stat_t_two_sided(t, df),
                              around(estimate, se, df, confidence)};
}

struct stat_test stat_one_sample(struct stat_group g, double confidence)
{
    return test_of(g.mean, sqrt(g.variance / g.n), g.n - 1, confidence);
}

struct stat_test stat_welch(struct stat_group a, struct stat_group b, double confidence)
{
    double va = a.variance / a.n, vb = b.variance / b.n, v = va + vb;
    double df = v * v / (va * va / (a.n - 1) + vb * vb / (b.n - 1));
    return test_of(a.mean - b.mean, sqrt(v), df, confidence);
}

double stat_cohen_d(struct stat_group a, struct stat_group b)
{
    double df = a.n + b.n - 2;
    double pooled = ((a.n - 1) * a.variance + (b.n - 1) * b.variance) / df;
    return (a.mean - b.mean) / sqrt(pooled);
}

double stat_hedges_g(struct stat_group a, struct stat_group b)
{
    double df = a.n + b.n - 2;
    return stat_cohen_d(a, b) * (1 - 3 / (4 * df - 1));
}

double stat_correlation_p(double r, double n)
{
    if (!(n > 2) || isnan(r)) return NAN;
    double left = (1 - r) * (1 + r);
    return left <= 0 ? 0 : stat_t_two_sided(r * sqrt((n - 2) / left), n - 2);
}

struct stat_interval stat_correlation_interval(double r, double n, double confidence)
{
    double reach = stat_normal_quantile(0.5 + confidence / 2) / sqrt(n - 3);
    if (!(n > 3)) return (struct stat_interval){NAN, NAN};
    return (struct stat_interval){tanh(atanh(r) - reach), tanh(atanh(r) + reach)};
}

/* Sum of squared distances from the line: what it leaves unexplained. The line goes through the
 * means; the intercept may be far away and inexact. */
static double residual_squares(const double *x, const double *y, size_t n, double slope)
{
    struct stat_adder sum = {0};
    double mean_x = stat_mean(x, n), mean_y = stat_mean(y, n);
    for (size_t i = 0; i < n; i++) {
        double e = (y[i] - mean_y) - slope * (x[i] - mean_x);
        stat_add(&sum, e * e);
    }
    return stat_total(&sum);
}

struct stat_fit stat_fit_line(const double *x, const double *y, size_t n, double confidence)
{
    struct stat_fit fit = {.line = stat_ols(x, y, n),
                           .stderr_slope = NAN,
                           .r2 = NAN,
                           .p = NAN,
                           .interval = {NAN, NAN}};
    if (n < 3 || isnan(fit.line.slope)) return fit;
    double df = (double)n - 2;
    double spread = stat_variance(x, n) * ((double)n - 1);
    double total = stat_variance(y, n) * ((double)n - 1);
    double left = residual_squares(x, y, n, fit.line.slope);
    fit.stderr_slope = sqrt(left / df / spread);
    fit.r2 = total > 0 ? 1 - left / total : NAN;
    fit.p = stat_t_two_sided(fit.line.slope / fit.stderr_slope, df);
    fit.interval = around(fit.line.slope, fit.stderr_slope, df, confidence);
    return fit;
}
