/* SPDX-License-Identifier: Apache-2.0 */
/* Correlations and least squares. Sums are of distances from the means, and compensated. */
#include "stat/relation.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "stat/moments.h"

struct products {
    double xx, xy, yy; /* of values that are multiplied by the scales first */
    double mean_x, mean_y, scale_x, scale_y;
};

static struct products products_of(const double *x, const double *y, size_t n)
{
    struct products p = {.mean_x = stat_mean(x, n),
                         .mean_y = stat_mean(y, n),
                         .scale_x = stat_scale(x, n),
                         .scale_y = stat_scale(y, n)};
    double mean_x = p.mean_x * p.scale_x, mean_y = p.mean_y * p.scale_y;
    struct stat_adder xx = {0}, xy = {0}, yy = {0}, left_x = {0}, left_y = {0};
    for (size_t i = 0; i < n; i++) {
        double dx = x[i] * p.scale_x - mean_x, dy = y[i] * p.scale_y - mean_y;
        stat_add(&xx, dx * dx);
        stat_add(&xy, dx * dy);
        stat_add(&yy, dy * dy);
        stat_add(&left_x, dx);
        stat_add(&left_y, dy);
    }
    /* As in stat_variance(): what the rounded means leave over. */
    double rx = stat_total(&left_x), ry = stat_total(&left_y), m = (double)n;
    p.xx = stat_total(&xx) - rx * rx / m;
    p.xy = stat_total(&xy) - rx * ry / m;
    p.yy = stat_total(&yy) - ry * ry / m;
    return p;
}

/* A constant row whose mean is rounded has products that are dust, not zero. */
static int is_constant(const double *x, size_t n)
{
    return stat_min(x, n) == stat_max(x, n);
}

double stat_pearson(const double *x, const double *y, size_t n)
{
    if (n < 2 || is_constant(x, n) || is_constant(y, n)) return NAN;
    struct products p = products_of(x, y, n);
    /* One root of the product: rows on one line then give exactly 1. Two where it is too large or
     * too small for a double. */
    double squares = p.xx * p.yy;
    double r = p.xy / (isnormal(squares) ? sqrt(squares) : sqrt(p.xx) * sqrt(p.yy));
    return r > 1 ? 1 : r < -1 ? -1 : r;
}

struct stat_line stat_ols(const double *x, const double *y, size_t n)
{
    if (n < 2 || is_constant(x, n)) return (struct stat_line){NAN, NAN};
    struct products p = products_of(x, y, n);
    double slope = p.xy / p.xx * p.scale_x / p.scale_y;
    return (struct stat_line){slope, p.mean_y - slope * p.mean_x};
}

/* ---- ranks ---- */

/*
 * Sorts places by x, and equal ones by y when there is one, from the bottom up: runs of 1, 2, 4…
 * are merged from `a` to `b` and back. Returns whichever holds the result. Places are kept as
 * doubles, so that all memory is of one kind; they are exact up to 2^53.
 */
struct keys {
    const double *x, *y;
};

static int is_before(const struct keys *k, double a, double b)
{
    size_t i = (size_t)a, j = (size_t)b;
    if (k->x[i] != k->x[j] || !k->y) return k->x[i] <= k->x[j];
    return k->y[i] <= k->y[j];
}

static void merge_runs(const struct keys *k, const double *from, double *to, size_t half,
                       size_t end)
{
    size_t i = 0, j = half;
    for (size_t at = 0; at < end; at++) {
        int take_left = j >= end || (i < half && is_before(k, from[i], from[j]));
        to[at] = take_left ? from[i++] : from[j++];
    }
}

static double *sort_places(const struct keys *k, size_t n, double *a, double *b)
{
    for (size_t i = 0; i < n; i++) a[i] = (double)i;
    for (size_t run = 1; run < n; run *= 2) {
        for (size_t at = 0; at < n; at += 2 * run) {
            size_t end = n - at < 2 * run ? n - at : 2 * run;
            merge_runs(k, a + at, b + at, run < end ? run : end, end);
        }
        double *t = a;
        a = b;
        b = t;
    }
    return a;
}

void stat_ranks(const double *x, size_t n, double *ranks, double *scratch)
{
    struct keys k = {.x = x};
    const double *place = sort_places(&k, n, scratch, scratch + n);
    for (size_t i = 0; i < n;) {
        size_t end = i + 1;
        while (end < n && x[(size_t)place[end]] == x[(size_t)place[i]]) end++;
        double rank = (double)(i + 1 + end) / 2;
        for (; i < end; i++) ranks[(size_t)place[i]] = rank;
    }
}

double stat_spearman(const double *x, const double *y, size_t n, double *scratch)
{
    double *rx = scratch, *ry = scratch + n;
    stat_ranks(x, n, rx, scratch + 2 * n);
    stat_ranks(y, n, ry, scratch + 2 * n);
    return stat_pearson(rx, ry, n);
}

/* ---- Kendall, after Knight 1966 ---- */

/* Pairs within runs of equal values of a sorted row. */
static double tied_pairs(const double *sorted, size_t n)
{
    double pairs = 0;
    for (size_t i = 0; i < n;) {
        size_t end = i + 1;
        while (end < n && sorted[end] == sorted[i]) end++;
        double run = (double)(end - i);
        pairs += run * (run - 1) / 2;
        i = end;
    }
    return pairs;
}

/* Sorts y by merging and counts the exchanges; the result is in `a` or `b`. */
static double *sort_counting(double *a, double *b, size_t n, double *exchanges)
{
    uint64_t count = 0;
    for (size_t run = 1; run < n; run *= 2) {
        for (size_t at = 0; at < n; at += 2 * run) {
            size_t half = n - at < run ? n - at : run;
            size_t end = n - at < 2 * run ? n - at : 2 * run;
            const double *from = a + at;
            size_t i = 0, j = half;
            for (size_t to = 0; to < end; to++) {
                int take_left = j >= end || (i < half && from[i] <= from[j]);
                if (!take_left) count += half - i;
                b[at + to] = take_left ? from[i++] : from[j++];
            }
        }
        double *t = a;
        a = b;
        b = t;
    }
    *exchanges = (double)count;
    return a;
}

/* Pairs that are equal in x and in y, of rows that are sorted by both. */
static double tied_in_both(const double *x, const double *y, size_t n)
{
    double pairs = 0, run = 1;
    for (size_t i = 1; i <= n; i++) {
        if (i < n && x[i] == x[i - 1] && y[i] == y[i - 1]) {
            run++;
            continue;
        }
        pairs += run * (run - 1) / 2;
        run = 1;
    }
    return pairs;
}

struct stat_concordance stat_concordance(const double *x, const double *y, size_t n,
                                         double *scratch)
{
    struct keys k = {x, y};
    double *sx = scratch, *sy = scratch + n, *a = scratch + 2 * n, *b = scratch + 3 * n;
    const double *place = sort_places(&k, n, a, b);
    for (size_t i = 0; i < n; i++) {
        sx[i] = x[(size_t)place[i]];
        sy[i] = y[(size_t)place[i]];
    }
    struct stat_concordance c = {.pairs = (double)n * ((double)n - 1) / 2};
    double both = tied_in_both(sx, sy, n);
    c.tied_x = tied_pairs(sx, n);
    memcpy(a, sy, n * sizeof *a);
    double exchanges;
    c.tied_y = tied_pairs(sort_counting(a, b, n, &exchanges), n);
    c.score = c.pairs - c.tied_x - c.tied_y + both - 2 * exchanges;
    return c;
}

double stat_kendall(const double *x, const double *y, size_t n, double *scratch)
{
    if (n < 2) return NAN;
    struct stat_concordance c = stat_concordance(x, y, n, scratch);
    if (c.tied_x == c.pairs || c.tied_y == c.pairs) return NAN;
    /* One root of the product: rows in the same order then give exactly 1. */
    return c.score / sqrt((c.pairs - c.tied_x) * (c.pairs - c.tied_y));
}
