/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The median of the slopes of all pairs, without making them all.
 *
 * With z = y - s x, the slope of a pair is less than s exactly when the later point has the
 * smaller z: so as many slopes are below s as z, in the order of x, has exchanges, and sorting by
 * merging counts those in n log n. Likewise the pairs with a slope between lo and hi are the
 * exchanges between the order of z at lo and that at hi, and merging lists them, or every so
 * manieth. The order at lo is kept, so that every sort begins with what is nearly sorted, the more
 * so the narrower the interval is, and such merging is cheap: only what overlaps is touched.
 *
 * So: sample slopes evenly from the interval that has the median (at first: all), take two of
 * the sample that are almost surely below and above it, count what is below each, and go on with
 * the interval that is proven to hold it, until few enough slopes are left to list. The counts
 * decide; a bad sample costs a round. Slopes that many pairs share end it too: an interval that
 * is as narrow as rounding and holds the median is the answer.
 *
 * Rounding may put a pair whose slope is next to a bound on its wrong side. The bounds are set a
 * little off the slopes they are made of, so what is lost or won there is far from the median.
 */
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "stat/order.h"
#include "stat/relation.h"

enum {
    BLOCK = 16,         /* values that are sorted by insertion */
    LIST_MAX = 1 << 15, /* slopes that are listed at most */
    SAMPLE = 1 << 12,
    MARGIN = 64, /* two deviations of the place of the median in a sample */
    MAX_ROUNDS = 256,
};

size_t stat_theil_sen_scratch(size_t n)
{
    return 6 * n + LIST_MAX;
}

struct search {
    const double *x, *y;
    size_t n;
    uint64_t n_slopes;
    uint64_t first, second;      /* ranks of the two slopes that are wanted, from 0 */
    double x0, y0;               /* taken off, so that z is small and exact to more digits */
    double nudge;                /* a difference of slopes that no rounding of z can hide */
    double lo, hi;               /* the interval: slopes >= lo and < hi */
    uint64_t below_lo, below_hi; /* slopes below each */
    double *order;               /* places, by z at lo */
    double *place, *place2, *key, *key2; /* for sorting: n each */
    double *list;
    size_t n_list;
};

static double z_of(const struct search *s, size_t i, double slope)
{
    return (s->y[i] - s->y0) - slope * (s->x[i] - s->x0);
}

/* ---- sorting ---- */

/* What is listed of the exchanges: every stride-th, after `next` more. */
struct walk {
    uint64_t stride, next;
};

static void list_slope(struct search *s, double p, double q)
{
    size_t i = (size_t)p, j = (size_t)q;
    double dx = s->x[j] - s->x[i];
    if (dx != 0 && s->n_list < LIST_MAX) s->list[s->n_list++] = (s->y[j] - s->y[i]) / dx;
}

/* `other` changes places with each of these. */
static void visit_exchanges(struct search *s, struct walk *w, const double *places, size_t n,
                            double other)
{
    while (w->next < n) {
        list_slope(s, places[w->next], other);
        w->next += w->stride;
    }
    w->next -= n;
}

static uint64_t sort_block(struct search *s, struct walk *w, size_t at, size_t n)
{
    double *key = s->key + at, *place = s->place + at;
    uint64_t count = 0;
    for (size_t i = 1; i < n; i++) {
        double k = key[i], p = place[i];
        size_t j = i;
        for (; j > 0 && key[j - 1] > k; j--) {
            key[j] = key[j - 1];
            place[j] = place[j - 1];
        }
        key[j] = k;
        place[j] = p;
        count += i - j;
        if (w && i > j) visit_exchanges(s, w, place + j + 1, i - j, p);
    }
    return count;
}

/* The first of n sorted keys that is greater than k, or with `or_equal` not less. */
static size_t find_key(const double *key, size_t n, double k, bool or_equal)
{
    size_t low = 0;
    while (n > 0) {
        size_t half = n / 2;
        double v = key[low + half];
        if (v < k || (!or_equal && v == k)) {
            low += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    return low;
}

static void copy_run(const struct search *s, size_t to, size_t from, size_t n)
{
    memcpy(s->key2 + to, s->key + from, n * sizeof *s->key);
    memcpy(s->place2 + to, s->place + from, n * sizeof *s->place);
}

/* Where a merge stands: what is next of the left and of the right run, and of the result. */
struct merge {
    size_t i, j, to, half, last;
};

/* Which side is next cannot be predicted, so there is no branch in it. */
static uint64_t merge_counting(struct search *s, struct merge *m)
{
    const double *key = s->key, *place = s->place;
    double *key2 = s->key2, *place2 = s->place2;
    size_t i = m->i, j = m->j, to = m->to, half = m->half, last = m->last;
    uint64_t count = 0;
    while (i < half && j < last) {
        size_t is_right = key[j] < key[i];
        size_t from = is_right ? j : i;
        count += (half - i) & (0 - is_right);
        key2[to] = key[from];
        place2[to++] = place[from];
        j += is_right;
        i += 1 - is_right;
    }
    *m = (struct merge){i, j, to, half, last};
    return count;
}

static void merge_listing(struct search *s, struct walk *w, struct merge *m)
{
    while (m->i < m->half && m->j < m->last) {
        bool is_right = s->key[m->j] < s->key[m->i];
        if (is_right) visit_exchanges(s, w, s->place + m->i, m->half - m->i, s->place[m->j]);
        size_t from = is_right ? m->j++ : m->i++;
        s->key2[m->to] = s->key[from];
        s->place2[m->to++] = s->place[from];
    }
}

/* Merges [at, half) and [half, end); what is in order already at both ends is copied. */
static uint64_t merge_runs(struct search *s, struct walk *w, size_t at, size_t half, size_t end)
{
    const double *key = s->key;
    uint64_t count = 0;
    if (half >= end || key[half - 1] <= key[half]) {
        copy_run(s, at, at, end - at);
        return 0;
    }
    struct merge m = {.i = at + find_key(key + at, half - at, key[half], false),
                      .j = half,
                      .half = half,
                      .last = half + find_key(key + half, end - half, key[half - 1], true)};
    m.to = m.i;
    copy_run(s, at, at, m.i - at);
    copy_run(s, m.last, m.last, end - m.last);
    if (w) merge_listing(s, w, &m);
    else count = merge_counting(s, &m);
    if (m.i < half) copy_run(s, m.to, m.i, half - m.i);
    else copy_run(s, m.to, m.j, m.last - m.j);
    return count;
}

static void swap_rows(double **a, double **b)
{
    double *t = *a;
    *a = *b;
    *b = t;
}

/* From the order at lo to that at `slope`, in s->place; returns the exchanges on the way. */
static uint64_t sort_from_lo(struct search *s, double slope, struct walk *w)
{
    uint64_t count = 0;
    memcpy(s->place, s->order, s->n * sizeof *s->place);
    for (size_t i = 0; i < s->n; i++) s->key[i] = z_of(s, (size_t)s->place[i], slope);
    for (size_t at = 0; at < s->n; at += BLOCK)
        count += sort_block(s, w, at, s->n - at < BLOCK ? s->n - at : BLOCK);
    for (size_t run = BLOCK; run < s->n; run *= 2) {
        for (size_t at = 0; at < s->n; at += 2 * run) {
            size_t left = s->n - at;
            count += merge_runs(s, w, at, at + (left < run ? left : run),
                                at + (left < 2 * run ? left : 2 * run));
        }
        swap_rows(&s->key, &s->key2);
        swap_rows(&s->place, &s->place2);
    }
    return count;
}

/* Every stride-th slope of the interval. */
static void list_interval(struct search *s, uint64_t stride)
{
    struct walk w = {.stride = stride, .next = stride / 2};
    s->n_list = 0;
    (void)sort_from_lo(s, s->hi, &w);
}

/* ---- searching ---- */

/* A bound counts when the median is on its side; else it bounds from the other one. */
static void try_bound(struct search *s, double slope)
{
    if (!(slope > s->lo && slope < s->hi)) return;
    uint64_t below = s->below_lo + sort_from_lo(s, slope, NULL);
    if (below <= s->first) {
        s->lo = slope;
        s->below_lo = below;
        swap_rows(&s->order, &s->place);
    } else if (below > s->second) {
        s->hi = slope;
        s->below_hi = below;
    }
}

/* Pairs from all over, always the same ones. */
static void sample_all(struct search *s)
{
    uint64_t state = 88172645463325252U;
    s->n_list = 0;
    while (s->n_list < SAMPLE) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        size_t i = (size_t)((state & UINT32_MAX) * s->n >> 32);
        size_t j = (size_t)((state >> 32) * s->n >> 32);
        list_slope(s, (double)i, (double)j);
    }
}

static void narrow(struct search *s)
{
    uint64_t inside = s->below_hi - s->below_lo;
    if (inside == s->n_slopes) sample_all(s);
    else list_interval(s, inside / SAMPLE);
    if (s->n_list == 0) return;
    double part = (double)(s->first - s->below_lo) / (double)inside;
    size_t middle = (size_t)(part * (double)s->n_list);
    size_t low = middle > MARGIN ? middle - MARGIN : 0;
    size_t high = middle + MARGIN < s->n_list ? middle + MARGIN : s->n_list - 1;
    double a = stat_select_in(s->list, s->n_list, low);
    double b = stat_select_in(s->list, s->n_list, high);
    /* Off to the sides, so that pairs with these very slopes are inside. */
    try_bound(s, a - s->nudge);
    try_bound(s, b + s->nudge);
}

/* Bounds that no slope reaches, and the finest step between bounds. */
static void measure(struct search *s)
{
    double dx = INFINITY, low = s->y[0], high = s->y[0];
    for (size_t i = 1; i < s->n; i++) {
        double d = s->x[i] - s->x[i - 1];
        if (d > 0 && d < dx) dx = d;
        low = fmin(low, s->y[i]);
        high = fmax(high, s->y[i]);
    }
    double steepest = (high - low) / dx;
    s->hi = 2 * steepest + DBL_MIN;
    s->lo = -s->hi;
    s->nudge = 16 * DBL_EPSILON * steepest + DBL_MIN;
}

/* The median of what is listed of the interval, at the ranks that are wanted. */
static double select_listed(struct search *s)
{
    size_t k = (size_t)(s->first - s->below_lo), k2 = (size_t)(s->second - s->below_lo);
    if (s->n_list == 0) return s->lo / 2 + s->hi / 2;
    /* Rounding may have cost a pair at the edge. */
    if (k >= s->n_list) k = s->n_list - 1;
    if (k2 >= s->n_list) k2 = s->n_list - 1;
    double a = stat_select_in(s->list, s->n_list, k);
    double b = k2 == k ? a : stat_select_in(s->list, s->n_list, k2);
    return a / 2 + b / 2;
}

static double search_slope(struct search *s)
{
    measure(s);
    /* Below all slopes, z is in the order of x. */
    for (size_t i = 0; i < s->n; i++) s->order[i] = (double)i;
    s->below_hi = s->n_slopes;
    for (int round = 0; round < MAX_ROUNDS && s->below_hi - s->below_lo > LIST_MAX; round++) {
        uint64_t before = s->below_hi - s->below_lo;
        narrow(s);
        if (s->hi - s->lo <= 4 * s->nudge) {
            /* All that is left is one slope, shared by many: any of them will do. */
            list_interval(s, 1 + (s->below_hi - s->below_lo) / SAMPLE);
            return s->n_list > 0 ? stat_median_in(s->list, s->n_list) : s->lo / 2 + s->hi / 2;
        }
        if (s->below_hi - s->below_lo == before) try_bound(s, s->lo / 2 + s->hi / 2);
    }
    list_interval(s, 1);
    return select_listed(s);
}

static double select_of_all(struct search *s)
{
    for (size_t i = 0; i < s->n; i++)
        for (size_t j = i + 1; j < s->n; j++) list_slope(s, (double)i, (double)j);
    return select_listed(s);
}

static uint64_t pairs(uint64_t n)
{
    return n * (n - 1) / 2;
}

/* Equal x have no slope. Within them z must not count exchanges: y rises there, by order. */
static uint64_t count_slopes(const double *x, size_t n)
{
    uint64_t count = n > 0 ? pairs(n) : 0;
    for (size_t i = 0; i < n;) {
        size_t end = i + 1;
        while (end < n && x[end] == x[i]) end++;
        count -= pairs(end - i);
        i = end;
    }
    return count;
}

static double median_copy(const double *x, size_t n, double *scratch)
{
    memcpy(scratch, x, n * sizeof *x);
    return stat_median_in(scratch, n);
}

/* A copy of y in which equal x have rising y. */
static void order_ties(const double *x, const double *y, size_t n, double *out)
{
    memcpy(out, y, n * sizeof *y);
    for (size_t i = 0; i < n;) {
        size_t end = i + 1;
        while (end < n && x[end] == x[i]) end++;
        if (end - i > 1) stat_sort_in(out + i, end - i);
        i = end;
    }
}

/* The slopes at these ranks of all, from 0; their mean. */
static double slope_between(const double *x, const double *y, size_t n, const uint64_t rank[2],
                            double *scratch)
{
    struct search s = {.x = x,
                       .y = y,
                       .n = n,
                       .n_slopes = count_slopes(x, n),
                       .x0 = median_copy(x, n, scratch),
                       .y0 = median_copy(y, n, scratch),
                       .first = rank[0],
                       .second = rank[1],
                       .order = scratch,
                       .place = scratch + n,
                       .place2 = scratch + 2 * n,
                       .key = scratch + 3 * n,
                       .key2 = scratch + 4 * n,
                       .list = scratch + 5 * n};
    if (s.n_slopes <= LIST_MAX && pairs(n) <= 2 * (uint64_t)LIST_MAX) return select_of_all(&s);
    double *ordered = s.list + LIST_MAX;
    order_ties(x, y, n, ordered);
    s.y = ordered;
    return search_slope(&s);
}

struct stat_line stat_theil_sen(const double *x, const double *y, size_t n, double *scratch)
{
    uint64_t n_slopes = count_slopes(x, n);
    if (n_slopes == 0) return (struct stat_line){NAN, NAN};
    double slope = slope_between(x, y, n, (uint64_t[]){(n_slopes - 1) / 2, n_slopes / 2}, scratch);
    double middle_y = median_copy(y, n, scratch), middle_x = median_copy(x, n, scratch);
    return (struct stat_line){slope, middle_y - slope * middle_x};
}

double stat_slope_at(const double *x, const double *y, size_t n, size_t rank, double *scratch)
{
    if (rank >= count_slopes(x, n)) return NAN;
    return slope_between(x, y, n, (uint64_t[]){rank, rank}, scratch);
}
