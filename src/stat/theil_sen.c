/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The median of the slopes of all pairs, without making them all.
 *
 * With z = y - s x, the slope of a pair is less than s exactly when the later point has the
 * smaller z: so as many slopes are below s as z, in the order of x, has exchanges, and merging
 * counts those in n log n. Likewise the pairs with a slope between lo and hi are the exchanges
 * between the order of z at lo and that at hi, and merging lists them, or every so manieth.
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
#include <stdint.h>
#include <string.h>

#include "stat/order.h"
#include "stat/relation.h"

enum {
    LIST_MAX = 1 << 15, /* slopes that are listed at most */
    SAMPLE = 1 << 12,
    MARGIN = 96, /* three standard deviations of the place of the median in a sample */
    MAX_ROUNDS = 256,
};

size_t stat_theil_sen_scratch(size_t n)
{
    return 7 * n + LIST_MAX;
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
    double *z, *z2, *place, *place2, *key, *key2; /* n each */
    double *list;
    size_t n_list;
};

static double z_of(const struct search *s, size_t i, double slope)
{
    return (s->y[i] - s->y0) - slope * (s->x[i] - s->x0);
}

/* ---- counting ---- */

static uint64_t merge_counting(const double *from, double *to, size_t half, size_t end)
{
    uint64_t count = 0;
    size_t i = 0, j = half, at = 0;
    while (i < half && j < end) {
        /* Without a branch: which side is next cannot be predicted. */
        double left = from[i], right = from[j];
        size_t is_right = right < left;
        count += (half - i) & (0 - is_right);
        to[at++] = is_right ? right : left;
        j += is_right;
        i += 1 - is_right;
    }
    memcpy(to + at, from + i, (half - i) * sizeof *to);
    at += half - i;
    memcpy(to + at, from + j, (end - j) * sizeof *to);
    return count;
}

static uint64_t slopes_below(struct search *s, double slope)
{
    double *a = s->z, *b = s->z2;
    uint64_t count = 0;
    for (size_t i = 0; i < s->n; i++) a[i] = z_of(s, i, slope);
    for (size_t run = 1; run < s->n; run *= 2) {
        for (size_t at = 0; at < s->n; at += 2 * run) {
            size_t left = s->n - at;
            count += merge_counting(a + at, b + at, left < run ? left : run,
                                    left < 2 * run ? left : 2 * run);
        }
        double *t = a;
        a = b;
        b = t;
    }
    return count;
}

/* ---- listing ---- */

static void list_slope(struct search *s, double p, double q)
{
    size_t i = (size_t)p, j = (size_t)q;
    double dx = s->x[j] - s->x[i];
    if (dx != 0 && s->n_list < LIST_MAX) s->list[s->n_list++] = (s->y[j] - s->y[i]) / dx;
}

/* One half behind the other, by key; `visit` exchanges in steps of `stride`. */
struct walk {
    uint64_t stride, next; /* how many exchanges are passed before the next is listed */
};

static void visit_exchanges(struct search *s, struct walk *w, const double *places, size_t n,
                            double other)
{
    while (w->next < n) {
        list_slope(s, places[w->next], other);
        w->next += w->stride;
    }
    w->next -= n;
}

static void merge_places(struct search *s, size_t at, size_t half, size_t end)
{
    const double *key = s->key + at, *place = s->place + at;
    double *key2 = s->key2 + at, *place2 = s->place2 + at;
    size_t i = 0, j = half, to = 0;
    while (i < half && j < end) {
        size_t is_right = key[j] < key[i];
        size_t from = is_right ? j : i;
        key2[to] = key[from];
        place2[to++] = place[from];
        j += is_right;
        i += 1 - is_right;
    }
    size_t rest = i < half ? i : j, n = i < half ? half - i : end - j;
    memcpy(key2 + to, key + rest, n * sizeof *key);
    memcpy(place2 + to, place + rest, n * sizeof *place);
}

static void merge_listing(struct search *s, struct walk *w, size_t at, size_t half, size_t end)
{
    const double *key = s->key + at, *place = s->place + at;
    double *key2 = s->key2 + at, *place2 = s->place2 + at;
    size_t i = 0, j = half;
    for (size_t to = 0; to < end; to++) {
        int take_left = j >= end || (i < half && key[i] <= key[j]);
        if (!take_left) visit_exchanges(s, w, place + i, half - i, place[j]);
        size_t from = take_left ? i++ : j++;
        key2[to] = key[from];
        place2[to] = place[from];
    }
}

/* Sorts places by key; with a walk, lists what is exchanged on the way. */
static void sort_by_key(struct search *s, struct walk *w)
{
    for (size_t run = 1; run < s->n; run *= 2) {
        for (size_t at = 0; at < s->n; at += 2 * run) {
            size_t left = s->n - at;
            size_t half = left < run ? left : run, end = left < 2 * run ? left : 2 * run;
            if (w) merge_listing(s, w, at, half, end);
            else merge_places(s, at, half, end);
        }
        double *t = s->key;
        s->key = s->key2;
        s->key2 = t;
        t = s->place;
        s->place = s->place2;
        s->place2 = t;
    }
}

/* Every stride-th slope of the interval. */
static void list_interval(struct search *s, uint64_t stride)
{
    s->n_list = 0;
    for (size_t i = 0; i < s->n; i++) {
        s->place[i] = (double)i;
        s->key[i] = z_of(s, i, s->lo);
    }
    sort_by_key(s, NULL);
    for (size_t i = 0; i < s->n; i++) {
        s->key[i] = z_of(s, (size_t)s->place[i], s->hi);
    }
    struct walk w = {.stride = stride, .next = stride / 2};
    sort_by_key(s, &w);
}

/* ---- searching ---- */

/* A bound counts when the median is on its side; else it bounds from the other one. */
static void try_bound(struct search *s, double slope)
{
    if (!(slope > s->lo && slope < s->hi)) return;
    uint64_t below = slopes_below(s, slope);
    if (below <= s->first) {
        s->lo = slope;
        s->below_lo = below;
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
                       .z = scratch,
                       .z2 = scratch + n,
                       .place = scratch + 2 * n,
                       .place2 = scratch + 3 * n,
                       .key = scratch + 4 * n,
                       .key2 = scratch + 5 * n,
                       .list = scratch + 6 * n};
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
