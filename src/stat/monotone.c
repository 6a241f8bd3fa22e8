/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of order, and how autocorrelation weakens them. */
#include "stat/monotone.h"

#include <float.h>
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

double stat_kendall_exact(const double *x, const double *y, size_t n, double *scratch)
{
    if (n < 2 || n > STAT_EXACT_KENDALL) return NAN;
    struct stat_concordance c = stat_concordance(x, y, n, scratch);
    if (c.tied_x > 0 || c.tied_y > 0) return NAN;
    /* The share of all orders of i values that have k exchanges, up to the k that was seen, or as
     * many from the other end: the rarer side, where shares only grow and differences are safe. */
    size_t seen = (size_t)((c.pairs - fabs(c.score)) / 2);
    double *share = scratch, *sums = scratch + seen + 2, all = 0;
    memset(share, 0, (seen + 1) * sizeof *share);
    share[0] = 1;
    for (size_t i = 2; i <= n; i++) {
        sums[0] = 0;
        for (size_t k = 0; k <= seen; k++) sums[k + 1] = sums[k] + share[k];
        for (size_t k = 0; k <= seen; k++)
            share[k] = (sums[k + 1] - (k >= i ? sums[k + 1 - i] : 0)) / (double)i;
    }
    for (size_t k = 0; k <= seen; k++) all += share[k];
    return fmin(1, 2 * all);
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

/* The first power of two that holds the row twice: behind it are zeros, so no lag wraps around. */
static size_t transform_size(size_t n)
{
    size_t size = 1;
    while (size < 2 * n) size *= 2;
    return size;
}

size_t stat_mann_kendall_scratch(size_t n)
{
    size_t slope = stat_theil_sen_scratch(n) + 5 * n, lags = 2 * transform_size(n);
    return 2 * n + (slope > lags ? slope : lags);
}

/* The values without their Sen slope, in the first n of the scratch. */
static void detrend(const double *x, size_t n, double *scratch)
{
    double *order = scratch + n, *rest = scratch + 2 * n;
    for (size_t i = 0; i < n; i++) order[i] = (double)i;
    struct stat_line line = stat_theil_sen(order, x, n, rest);
    double least = INFINITY, most = -INFINITY, size = 0;
    for (size_t i = 0; i < n; i++) {
        scratch[i] = x[i] - line.slope * (double)i;
        least = fmin(least, scratch[i]);
        most = fmax(most, scratch[i]);
        size = fmax(size, fabs(x[i]));
    }
    /* Of a straight line rounding is left, which has no autocorrelation to speak of. */
    for (size_t i = 0; i < n && most - least <= 8 * DBL_EPSILON * size; i++) scratch[i] = least;
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

/* ---- all lags of the ranks at once ---- */

static void swap_bits(double *re, double *im, size_t size)
{
    for (size_t i = 1, j = 0; i < size; i++) {
        size_t bit = size / 2;
        for (; j & bit; bit /= 2) j ^= bit;
        j ^= bit;
        if (i >= j) continue;
        double a = re[i], b = im[i];
        re[i] = re[j];
        im[i] = im[j];
        re[j] = a;
        im[j] = b;
    }
}

/* The discrete Fourier transform, in place, of a power of two of values. */
static void transform(double *re, double *im, size_t size)
{
    swap_bits(re, im, size);
    for (size_t half = 1; half < size; half *= 2) {
        for (size_t k = 0; k < half; k++) {
            double angle = -M_PI * (double)k / (double)half, c = cos(angle), s = sin(angle);
            for (size_t i = k; i < size; i += 2 * half) {
                double a = re[i + half] * c - im[i + half] * s;
                double b = re[i + half] * s + im[i + half] * c;
                re[i + half] = re[i] - a;
                im[i + half] = im[i] - b;
                re[i] += a;
                im[i] += b;
            }
        }
    }
}

/* Sums of products of ranks, about their mean, that are 0, 1, 2… apart: as the transform of the
 * squares of the transform. They are in `sums`, which has room for twice the transform's size. */
static void rank_products(const double *ranks, size_t n, double *sums)
{
    size_t size = transform_size(n);
    double *im = sums + size;
    memset(sums, 0, 2 * size * sizeof *sums);
    for (size_t i = 0; i < n; i++) sums[i] = ranks[i] - ((double)n + 1) / 2;
    transform(sums, im, size);
    for (size_t i = 0; i < size; i++) {
        sums[i] = (sums[i] * sums[i] + im[i] * im[i]) / (double)size;
        im[i] = 0;
    }
    transform(sums, im, size);
}

struct stat_mann_kendall stat_mann_kendall_hamed_rao(const double *x, size_t n, double alpha,
                                                     double *scratch)
{
    struct stat_mann_kendall r = stat_mann_kendall(x, n, scratch);
    if (n < 3) return r;
    detrend(x, n, scratch);
    double *ranks = scratch + n;
    double *products = scratch + 2 * n, count = (double)n, sum = 0;
    stat_ranks(scratch, n, ranks, products);
    rank_products(ranks, n, products);
    double limit = stat_normal_quantile(1 - alpha / 2) / sqrt(count);
    for (size_t lag = 1; lag < n && products[0] > 0.1; lag++) {
        double rho = products[lag] / products[0], left = (double)(n - lag);
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
