/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mann-Whitney and Wilcoxon. The exact tests count sums of ranks: twice the ranks, which are whole
 * numbers even with ties. Counts are sums of what is positive, so they keep their digits.
 */
#include "stat/rank_test.h"

#include <math.h>
#include <string.h>

#include "stat/dist.h"
#include "stat/moments.h"
#include "stat/order.h"
#include "stat/relation.h"

/* The sum of t^3 - t over groups of equal values; the values are sorted by it. */
static double tie_term_in(double *x, size_t n)
{
    double sum = 0;
    stat_sort_in(x, n);
    for (size_t i = 0; i < n;) {
        size_t end = i + 1;
        while (end < n && x[end] == x[i]) end++;
        double t = (double)(end - i);
        sum += t * t * t - t;
        i = end;
    }
    return sum;
}

struct stat_mann_whitney stat_mann_whitney(const double *a, size_t na, const double *b, size_t nb,
                                           double *scratch)
{
    struct stat_mann_whitney r = {NAN, NAN, NAN, NAN, NAN};
    if (na == 0 || nb == 0) return r;
    size_t n = na + nb;
    double *all = scratch, *ranks = scratch + n, *rest = scratch + 2 * n;
    memcpy(all, a, na * sizeof *all);
    memcpy(all + na, b, nb * sizeof *all);
    stat_ranks(all, n, ranks, rest);
    double sum = 0;
    for (size_t i = 0; i < na; i++) sum += ranks[i];
    double pairs = (double)na * (double)nb, count = (double)n;
    r.u = sum - (double)na * ((double)na + 1) / 2;
    r.auc = r.u / pairs;
    r.delta = 2 * r.auc - 1;
    double ties = tie_term_in(all, n) / (count * (count - 1));
    double variance = pairs / 12 * (count + 1 - ties);
    if (!(variance > 0)) return r;
    double off = fabs(r.u - pairs / 2), sd = sqrt(variance);
    r.p = stat_normal_two_sided(fmax(off - 0.5, 0) / sd);
    r.p_uncorrected = stat_normal_two_sided(off / sd);
    return r;
}

struct stat_wilcoxon stat_wilcoxon(const double *d, size_t n, double *scratch)
{
    struct stat_wilcoxon r = {NAN, NAN, NAN, 0};
    double *sizes = scratch, *ranks = scratch + n, *rest = scratch + 2 * n;
    double *signs = scratch + 4 * n;
    for (size_t i = 0; i < n; i++) {
        if (d[i] == 0) continue;
        signs[r.n] = d[i];
        sizes[r.n++] = fabs(d[i]);
    }
    if (r.n == 0) return r;
    stat_ranks(sizes, r.n, ranks, rest);
    double up = 0, m = (double)r.n, all = m * (m + 1) / 2;
    for (size_t i = 0; i < r.n; i++)
        if (signs[i] > 0) up += ranks[i];
    r.w = fmin(up, all - up);
    double variance = m * (m + 1) * (2 * m + 1) / 24 - tie_term_in(sizes, r.n) / 48;
    double off = fabs(r.w - all / 2), sd = sqrt(variance);
    r.p = stat_normal_two_sided(off / sd);
    r.p_corrected = stat_normal_two_sided(fmax(off - 0.5, 0) / sd);
    return r;
}

/* ---- exact tests ---- */

/* The mean of the sums is in the middle of `width` + 1; how many lie as far from it as `seen`. */
static double share_as_far(const double *counts, size_t width, double mean, double seen)
{
    double far = 0, all = 0;
    for (size_t s = 0; s <= width; s++) {
        all += counts[s];
        if (fabs((double)s - mean) >= fabs(seen - mean)) far += counts[s];
    }
    return far / all;
}

size_t stat_mann_whitney_exact_scratch(size_t na, size_t nb)
{
    size_t n = na + nb, chosen = na < nb ? na : nb;
    return 4 * n + (chosen + 1) * (n * (n + 1) + 1);
}

double stat_mann_whitney_exact(const double *a, size_t na, const double *b, size_t nb,
                               double *scratch)
{
    size_t n = na + nb, chosen = na < nb ? na : nb, width = n * (n + 1);
    if (chosen == 0 || n > STAT_EXACT_MANN_WHITNEY) return NAN;
    double *all = scratch, *ranks = scratch + n, *rest = scratch + 2 * n, *counts = scratch + 4 * n;
    memcpy(all, na < nb ? a : b, chosen * sizeof *all);
    memcpy(all + chosen, na < nb ? b : a, (n - chosen) * sizeof *all);
    if (stat_min(all, n) == stat_max(all, n)) return NAN;
    stat_ranks(all, n, ranks, rest);
    double seen = 0;
    for (size_t i = 0; i < chosen; i++) seen += 2 * ranks[i];
    /* counts[k][s]: ways to take k of the values so far whose ranks sum up to s. */
    memset(counts, 0, (chosen + 1) * (width + 1) * sizeof *counts);
    counts[0] = 1;
    for (size_t i = 0; i < n; i++) {
        size_t rank = (size_t)(2 * ranks[i]);
        for (size_t k = i + 1 < chosen ? i + 1 : chosen; k > 0; k--) {
            double *to = counts + k * (width + 1) + rank;
            const double *from = counts + (k - 1) * (width + 1);
            for (size_t s = 0; s + rank <= width; s++) to[s] += from[s];
        }
    }
    return share_as_far(counts + chosen * (width + 1), width, (double)(chosen * (n + 1)), seen);
}

size_t stat_wilcoxon_exact_scratch(size_t n)
{
    return 5 * n + n * (n + 1) + 1;
}

double stat_wilcoxon_exact(const double *d, size_t n, double *scratch)
{
    if (n > STAT_EXACT_WILCOXON) return NAN;
    struct stat_wilcoxon w = stat_wilcoxon(d, n, scratch);
    if (w.n == 0) return NAN;
    double *sizes = scratch, *ranks = scratch + n, *rest = scratch + 2 * n;
    double *counts = scratch + 5 * n;
    size_t m = 0, width = w.n * (w.n + 1);
    for (size_t i = 0; i < n; i++)
        if (d[i] != 0) sizes[m++] = fabs(d[i]);
    stat_ranks(sizes, m, ranks, rest);
    /* counts[s]: the share of all signs whose positive ranks sum up to s. */
    memset(counts, 0, (width + 1) * sizeof *counts);
    counts[0] = 1;
    for (size_t i = 0; i < m; i++) {
        size_t rank = (size_t)(2 * ranks[i]);
        for (size_t s = width + 1; s-- > 0;)
            counts[s] = (counts[s] + (s >= rank ? counts[s - rank] : 0)) / 2;
    }
    return share_as_far(counts, width, (double)width / 2, 2 * w.w);
}
