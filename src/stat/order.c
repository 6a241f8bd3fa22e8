/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Selection by quickselect with the median of three as its pivot. When the parts stay large for
 * too long, which no real data do, the rest is sorted by heap, so that nothing takes n squared.
 */
#include "stat/order.h"

#include <math.h>
#include <stdbool.h>

#include "stat/moments.h"

enum { SMALL = 16 };

static void swap(double *a, double *b)
{
    double t = *a;
    *a = *b;
    *b = t;
}

static void insertion_sort(double *x, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        double v = x[i];
        size_t j = i;
        for (; j > 0 && x[j - 1] > v; j--) x[j] = x[j - 1];
        x[j] = v;
    }
}

static void sift_down(double *x, size_t i, size_t n)
{
    double v = x[i];
    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && x[child + 1] > x[child]) child++;
        if (!(x[child] > v)) break;
        x[i] = x[child];
    }
    x[i] = v;
}

static void heap_sort(double *x, size_t n)
{
    for (size_t i = n / 2; i-- > 0;) sift_down(x, i, n);
    for (size_t end = n; end-- > 1;) {
        swap(&x[0], &x[end]);
        sift_down(x, 0, end);
    }
}

/* Puts the smallest of three first, the largest last, and returns the middle one. */
static double pivot_of(double *x, size_t n)
{
    double *a = &x[0], *b = &x[n / 2], *c = &x[n - 1];
    if (*b < *a) swap(a, b);
    if (*c < *b) swap(b, c);
    if (*b < *a) swap(a, b);
    return *b;
}

/* After it x[..low] <= pivot and x[high..] >= pivot, and what is between equals it. */
static void partition(double *x, size_t n, size_t *low, size_t *high)
{
    double pivot = pivot_of(x, n);
    size_t i = 0, j = n - 1;
    for (;;) {
        while (x[i] < pivot) i++;
        while (x[j] > pivot) j--;
        if (i >= j) break;
        swap(&x[i++], &x[j--]);
    }
    /* i and j met on the pivot, or passed each other. */
    *low = j + (i == j ? 0 : 1);
    *high = i == j ? i + 1 : i;
}

/* How many partings a healthy run of n values may take. */
static unsigned patience(size_t n)
{
    unsigned log = 0;
    for (; n > 1; n /= 2) log++;
    return 4 * log + 8;
}

double stat_select_in(double *x, size_t n, size_t k)
{
    double *base = x;
    size_t place = k;
    for (unsigned left = patience(n); n > SMALL; left--) {
        if (left == 0) {
            heap_sort(x, n);
            return base[place];
        }
        size_t low, high;
        partition(x, n, &low, &high);
        if (k < low) {
            n = low;
        } else if (k >= high) {
            x += high;
            n -= high;
            k -= high;
        } else {
            return base[place];
        }
    }
    insertion_sort(x, n);
    return base[place];
}

void stat_sort_in(double *x, size_t n)
{
    /* The larger part waits here; the smaller is done first, so the depth stays logarithmic. */
    struct {
        double *x;
        size_t n;
        unsigned left;
    } waiting[64];
    unsigned depth = 0, left = patience(n);
    for (;;) {
        while (n > SMALL && left > 0) {
            size_t low, high;
            left--;
            partition(x, n, &low, &high);
            double *right = x + high;
            size_t n_right = n - high;
            bool is_left_small = low < n_right;
            waiting[depth].x = is_left_small ? right : x;
            waiting[depth].left = left;
            waiting[depth++].n = is_left_small ? n_right : low;
            x = is_left_small ? x : right;
            n = is_left_small ? low : n_right;
        }
        if (n <= SMALL) insertion_sort(x, n);
        else heap_sort(x, n);
        if (depth == 0) return;
        x = waiting[--depth].x;
        n = waiting[depth].n;
        left = waiting[depth].left;
    }
}

/* Where a quantile lies: before which value, and how far behind it. */
static double place_of(size_t n, double p, size_t *k)
{
    double h = (double)(n - 1) * p;
    double whole = floor(h);
    *k = (size_t)whole;
    return h - whole;
}

/* Between two values, which may be so far apart that their distance is too large. */
static double between(double low, double high, double part)
{
    double step = high - low;
    return isinf(step) ? low * (1 - part) + high * part : low + part * step;
}

double stat_quantile_in(double *x, size_t n, double p)
{
    if (n == 0 || !(p >= 0 && p <= 1)) return NAN;
    size_t k;
    double part = place_of(n, p, &k);
    double low = stat_select_in(x, n, k);
    if (part == 0 || k + 1 == n) return low;
    double high = x[k + 1];
    for (size_t i = k + 2; i < n; i++)
        if (x[i] < high) high = x[i];
    return between(low, high, part);
}

double stat_quantile_sorted(const double *x, size_t n, double p)
{
    if (n == 0 || !(p >= 0 && p <= 1)) return NAN;
    size_t k;
    double part = place_of(n, p, &k);
    return part == 0 || k + 1 == n ? x[k] : between(x[k], x[k + 1], part);
}

double stat_median_in(double *x, size_t n)
{
    return stat_quantile_in(x, n, 0.5);
}

double stat_mad_in(double *x, size_t n, double center)
{
    for (size_t i = 0; i < n; i++) x[i] = fabs(x[i] - center);
    return stat_median_in(x, n);
}

struct stat_robust stat_robust_in(double *x, size_t n)
{
    double center = stat_median_in(x, n);
    return (struct stat_robust){center, STAT_MAD_SCALE * stat_mad_in(x, n, center)};
}

double stat_robust_z(struct stat_robust r, double x)
{
    return r.spread > 0 ? (x - r.center) / r.spread : NAN;
}

double stat_trimmed_mean_in(double *x, size_t n, double share)
{
    if (!(share >= 0 && share < 0.5)) return NAN;
    size_t cut = (size_t)(share * (double)n);
    stat_sort_in(x, n);
    return stat_mean(x + cut, n - 2 * cut);
}
