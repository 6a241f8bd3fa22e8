/* SPDX-License-Identifier: Apache-2.0 */
/* Mann-Whitney and Wilcoxon. */
#include "stat/rank_test.h"

#include <math.h>
#include <string.h>

#include "stat/dist.h"
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
    struct stat_mann_whitney r = {NAN, NAN, NAN, NAN};
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
    double off = fmax(fabs(r.u - pairs / 2) - 0.5, 0);
    r.p = stat_normal_two_sided(off / sqrt(variance));
    return r;
}

struct stat_wilcoxon stat_wilcoxon(const double *d, size_t n, double *scratch)
{
    struct stat_wilcoxon r = {NAN, NAN, 0};
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
    r.p = stat_normal_two_sided((r.w - all / 2) / sqrt(variance));
    return r;
}
