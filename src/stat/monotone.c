/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of order, and how autocorrelation weakens them. */
#include "stat/monotone.h"

#include <math.h>
#include <string.h>

#include "stat/autocorr.h"
#include "stat/dist.h"
#include "stat/order.h"

/* Sums over groups of equal values of t(t-1), t(t-1)(t-2) and t(t-1)(2t+5). */
struct ties {
    double two, three, weighted;
};

static struct ties count_ties(const double *x, size_t n, double *scratch)
{
    struct ties sums = {0};
    memcpy(scratch, x, n * sizeof *x);
    stat_sort_in(scratch, n);
    for (size_t i = 0; i < n;) {
        size_t end = i + 1;
        while (end < n && scratch[end] == scratch[i]) end++;
        double t = (double)(end - i);
        sums.two += t * (t - 1);
        sums.three += t * (t - 1) * (t - 2);
        sums.weighted += t * (t - 1) * (2 * t + 5);
        i = end;
    }
    return sums;
}

/* The variance of the score when there is no order. */
static double score_variance(double n, struct ties x, struct ties y)
{
    double v = (n * (n - 1) * (2 * n + 5) - x.weighted - y.weighted) / 18;
    v += x.two * y.two / (2 * n * (n - 1));
    if (n > 2) v += x.three * y.three / (9 * n * (n - 1) * (n - 2));
    return v;
}

double stat_kendall_p(const double *x, const double *y, size_t n, double *scratch)
{
    if (n < 2) return NAN;
    struct ties tx = count_ties(x, n, scratch), ty = count_ties(y, n, scratch);
    double variance = score_variance((double)n, tx, ty);
    struct stat_concordance c = stat_concordance(x, y, n, scratch);
    if (!(variance > 0) || c.tied_x == c.pairs || c.tied_y == c.pairs) return NAN;
    return stat_normal_two_sided(c.score / sqrt(variance));
}

static void judge(struct stat_mann_kendall *r)
{
    double step = r->s > 0 ? -1 : r->s < 0 ? 1 : 0;
    r->z = r->variance > 0 ? (r->s + step) / sqrt(r->variance) : NAN;
    r->p = stat_normal_two_sided(r->z);
}

struct stat_mann_kendall stat_mann_kendall(const double *x, size_t n, double *scratch)
{
    struct stat_mann_kendall r = {NAN, NAN, NAN, NAN, NAN, 1, NAN, NAN};
    if (n < 2) return r;
    double *order = scratch + 4 * n;
    for (size_t i = 0; i < n; i++) order[i] = (double)i;
    struct ties ties = count_ties(x, n, scratch);
    struct stat_concordance c = stat_concordance(order, x, n, scratch);
    r.s = c.score;
    r.tau = c.score / c.pairs;
    r.variance = score_variance((double)n, (struct ties){0}, ties);
    judge(&r);
    return r;
}

size_t stat_mann_kendall_scratch(size_t n)
{
    return 2 * n + stat_theil_sen_scratch(n) + 5 * n;
}

/* The values without their Sen slope, in the first n of the scratch. */
static void detrend(const double *x, size_t n, double *scratch)
{
    double *order = scratch + n, *rest = scratch + 2 * n;
    for (size_t i = 0; i < n; i++) order[i] = (double)i;
    struct stat_line line = stat_theil_sen(order, x, n, rest);
    for (size_t i = 0; i < n; i++) scratch[i] = x[i] - line.slope * (double)i;
}

struct stat_mann_kendall stat_mann_kendall_ar1(const double *x, size_t n, double *scratch)
{
    struct stat_mann_kendall r = stat_mann_kendall(x, n, scratch);
    if (n < 3) return r;
    detrend(x, n, scratch);
    r.lag1 = stat_lag1(scratch, n);
    r.lag1_corrected = stat_lag1_corrected(r.lag1, n, 0.95);
    r.inflation = (1 + r.lag1_corrected) / (1 - r.lag1_corrected);
    r.variance *= r.inflation;
    judge(&r);
    return r;
}

/* Autocorrelation of ranks at a lag; `ranks` are about their mean and have this sum of squares. */
static double rank_lag(const double *ranks, size_t n, size_t lag, double squares)
{
    double sum = 0;
    for (size_t i = 0; i + lag < n; i++) sum += ranks[i] * ranks[i + lag];
    return sum / squares;
}

struct stat_mann_kendall stat_mann_kendall_hamed_rao(const double *x, size_t n, double alpha,
                                                     double *scratch)
{
    struct stat_mann_kendall r = stat_mann_kendall(x, n, scratch);
    if (n < 3) return r;
    detrend(x, n, scratch);
    double *ranks = scratch + n;
    stat_ranks(scratch, n, ranks, scratch + 2 * n);
    double squares = 0, count = (double)n;
    for (size_t i = 0; i < n; i++) {
        ranks[i] -= (count + 1) / 2;
        squares += ranks[i] * ranks[i];
    }
    double limit = stat_normal_quantile(1 - alpha / 2) / sqrt(count), sum = 0;
    for (size_t lag = 1; lag < n && squares > 0; lag++) {
        double rho = rank_lag(ranks, n, lag, squares), left = (double)(n - lag);
        if (fabs(rho) > limit) sum += left * (left - 1) * (left - 2) * rho;
    }
    r.inflation = 1 + 2 * sum / (count * (count - 1) * (count - 2));
    r.variance *= r.inflation;
    judge(&r);
    return r;
}

struct stat_interval stat_sen_interval(const double *x, const double *y, size_t n,
                                       double confidence, double *scratch)
{
    if (n < 2) return (struct stat_interval){NAN, NAN};
    struct ties tx = count_ties(x, n, scratch), ty = count_ties(y, n, scratch);
    double count = (double)n, slopes = count * (count - 1) / 2 - tx.two / 2;
    double variance = (count * (count - 1) * (2 * count + 5) - tx.weighted - ty.weighted) / 18;
    double reach = stat_normal_quantile(0.5 + confidence / 2) * sqrt(variance);
    if (!(slopes > 0)) return (struct stat_interval){NAN, NAN};
    double low = fmax(rint((slopes - reach) / 2) - 1, 0);
    double high = fmin(rint((slopes + reach) / 2), slopes - 1);
    return (struct stat_interval){stat_slope_at(x, y, n, (size_t)low, scratch),
                                  stat_slope_at(x, y, n, (size_t)high, scratch)};
}
