/* SPDX-License-Identifier: Apache-2.0 */
/* Bootstrap by places, and permutations of two groups. */
#include "stat/resample.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "stat/dist.h"
#include "stat/moments.h"
#include "stat/order.h"

/* Blocks begin anywhere that leaves them whole; the last one is cut to fit. */
static size_t draw_start(const struct stat_resampling *how, size_t n, size_t block)
{
    if (how->is_aligned) return block * (size_t)stat_random_below(how->random, n / block);
    return (size_t)stat_random_below(how->random, n - block + 1);
}

static void draw_places(const struct stat_resampling *how, size_t *places, size_t n)
{
    size_t block = how->block < 1 ? 1 : how->block > n ? n : how->block;
    for (size_t i = 0; i < n; i++) {
        bool is_new = i % block == 0;
        places[i] = is_new ? draw_start(how, n, block) : places[i - 1] + 1;
    }
}

struct stat_bootstrap stat_bootstrap(const struct stat_resampling *how, stat_of_places_fn statistic,
                                     void *user)
{
    struct stat_bootstrap b = {{NAN, NAN}, NAN, 0};
    if (how->n == 0) return b;
    for (size_t i = 0; i < how->times; i++) {
        draw_places(how, how->places, how->n);
        if (how->n2 > 0) draw_places(how, how->places + how->n, how->n2);
        double value = statistic(user, how->places);
        if (!isnan(value)) how->values[b.n++] = value;
    }
    stat_sort_in(how->values, b.n);
    double tail = (1 - how->confidence) / 2;
    b.interval.lo = stat_quantile_sorted(how->values, b.n, tail);
    b.interval.hi = stat_quantile_sorted(how->values, b.n, 1 - tail);
    b.median = stat_quantile_sorted(how->values, b.n, 0.5);
    return b;
}

/* ---- the corrected interval ---- */

void stat_jackknife_add(struct stat_jackknife *j, const double *left_out, size_t n)
{
    double mean = stat_mean(left_out, n), count = (double)n;
    struct stat_adder squares = {0}, cubes = {0};
    for (size_t i = 0; i < n; i++) {
        double u = (count - 1) / count * (mean - left_out[i]);
        stat_add(&squares, u * u);
        stat_add(&cubes, u * u * u);
    }
    j->squares += stat_total(&squares);
    j->cubes += stat_total(&cubes);
}

double stat_acceleration(const struct stat_jackknife *j)
{
    return j->squares > 0 ? j->cubes / (6 * j->squares * sqrt(j->squares)) : 0;
}

/* The share of the bootstrap that is really below what the plain percentile calls p. */
static double corrected_share(double bias, double acceleration, double p)
{
    double z = bias + stat_normal_quantile(p);
    return stat_normal_upper(-(bias + z / (1 - acceleration * z)));
}

struct stat_interval stat_bca(const struct stat_resampling *how, size_t n_values, double seen,
                              double acceleration)
{
    double below = 0, tail = (1 - how->confidence) / 2;
    for (size_t i = 0; i < n_values; i++)
        below += how->values[i] < seen ? 1 : how->values[i] == seen ? 0.5 : 0;
    double bias = stat_normal_quantile(below / (double)n_values);
    if (!isfinite(bias)) return (struct stat_interval){NAN, NAN};
    double low = corrected_share(bias, acceleration, tail);
    double high = corrected_share(bias, acceleration, 1 - tail);
    return (struct stat_interval){stat_quantile_sorted(how->values, n_values, low),
                                  stat_quantile_sorted(how->values, n_values, high)};
}

/* ---- permutations ---- */

/* All values less the first one, so that a large offset costs no digits. The chosen part is the
 * smaller group: how far its sum is off says how far the means are apart. */
struct division {
    double *all; /* the smaller group, then the other */
    size_t chosen, n;
    double expected;  /* sum of the chosen part */
    double threshold; /* a sum that is as far off as the one seen */
    size_t n_tried, n_as_far;
};

static void look_at(struct division *d, double sum)
{
    d->n_tried++;
    if (fabs(sum - d->expected) >= d->threshold) d->n_as_far++;
}

/*
 * Sums that are equal on paper differ by rounding: of the values, as they are read, and of the
 * sums. That is forgiven, but never a difference that matters among values far from 0.
 */
static double rounding_of(const struct division *d, double first)
{
    double largest = 0, distance = 0, count = (double)d->n;
    for (size_t i = 0; i < d->n; i++) {
        largest = fmax(largest, fabs(d->all[i] + first));
        distance += fabs(d->all[i]);
    }
    return fmin(count * DBL_EPSILON * largest, 1e-6 * distance / count) + 1e-13 * distance;
}

static void prepare(struct division *d, double *all, size_t chosen, size_t n)
{
    double first = all[0];
    *d = (struct division){.all = all, .chosen = chosen, .n = n};
    for (size_t i = 0; i < n; i++) all[i] -= first;
    d->expected = stat_sum(all, n) * (double)chosen / (double)n;
    d->threshold = fabs(stat_sum(all, chosen) - d->expected) - rounding_of(d, first);
}

static double combinations(size_t n, size_t k)
{
    double c = 1;
    for (size_t i = 1; i <= k; i++) c = c * (double)(n - k + i) / (double)i;
    return rint(c);
}

/* All ways to choose some of n, in order of their places; `chosen` has room for them. */
static void try_all(struct division *d, size_t *chosen)
{
    for (size_t i = 0; i < d->chosen; i++) chosen[i] = i;
    for (;;) {
        double sum = 0;
        for (size_t i = 0; i < d->chosen; i++) sum += d->all[chosen[i]];
        look_at(d, sum);
        size_t at = d->chosen;
        while (at > 0 && chosen[at - 1] == d->n - d->chosen + at - 1) at--;
        if (at == 0) return;
        chosen[at - 1]++;
        for (size_t i = at; i < d->chosen; i++) chosen[i] = chosen[i - 1] + 1;
    }
}

static void try_some(struct division *d, struct stat_random *random, size_t times)
{
    for (size_t t = 0; t < times; t++) {
        double sum = 0;
        for (size_t i = 0; i < d->chosen; i++) {
            size_t j = i + (size_t)stat_random_below(random, d->n - i);
            double swap = d->all[i];
            d->all[i] = d->all[j];
            d->all[j] = swap;
            sum += d->all[i];
        }
        look_at(d, sum);
    }
}

enum { MOST_CHOSEN = 16, DRAWN = 10000 };

/* Groups of 12 and 12 have almost as many divisions as are tried: more than that never fit. */
static bool can_try_all(size_t n, size_t chosen)
{
    return chosen <= MOST_CHOSEN && combinations(n, chosen) <= STAT_EXACT_PERMUTATIONS;
}

struct stat_permutation stat_permutation(struct stat_random *random, const double *a, size_t na,
                                         const double *b, size_t nb, double *scratch)
{
    struct stat_permutation r = {.difference = NAN, .p = NAN};
    if (na == 0 || nb == 0) return r;
    size_t n_small = na <= nb ? na : nb, n_large = na + nb - n_small;
    memcpy(scratch, na <= nb ? a : b, n_small * sizeof *a);
    memcpy(scratch + n_small, na <= nb ? b : a, n_large * sizeof *a);
    struct division d;
    prepare(&d, scratch, n_small, na + nb);
    r.difference = stat_mean(scratch, n_small) - stat_mean(scratch + n_small, n_large);
    if (na > nb) r.difference = -r.difference;
    r.is_exact = can_try_all(d.n, n_small);
    if (r.is_exact) {
        size_t chosen[MOST_CHOSEN];
        try_all(&d, chosen);
        r.p = (double)d.n_as_far / (double)d.n_tried;
    } else {
        try_some(&d, random, DRAWN);
        r.p = ((double)d.n_as_far + 1) / ((double)d.n_tried + 1);
    }
    r.n = d.n_tried;
    return r;
}
