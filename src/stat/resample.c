/* SPDX-License-Identifier: Apache-2.0 */
/* Bootstrap by places, and permutations of two groups. */
#include "stat/resample.h"

#include <math.h>
#include <string.h>

#include "stat/moments.h"
#include "stat/order.h"

/* Blocks begin anywhere that leaves them whole; the last one is cut to fit. */
static void draw_places(const struct stat_resampling *how, size_t *places, size_t n, size_t first)
{
    size_t block = how->block < 1 ? 1 : how->block > n ? n : how->block;
    for (size_t i = 0; i < n; i++) {
        bool is_new = i % block == 0;
        places[i] = is_new ? first + (size_t)stat_random_below(how->random, n - block + 1)
                           : places[i - 1] + 1;
    }
}

struct stat_bootstrap stat_bootstrap(const struct stat_resampling *how, stat_of_places_fn statistic,
                                     void *user)
{
    struct stat_bootstrap b = {{NAN, NAN}, NAN, 0};
    if (how->n == 0) return b;
    for (size_t i = 0; i < how->times; i++) {
        draw_places(how, how->places, how->n, 0);
        if (how->n2 > 0) draw_places(how, how->places + how->n, how->n2, 0);
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

/* ---- permutations ---- */

struct division {
    double *all; /* a, then b */
    size_t na, n;
    double sum;       /* of all */
    double threshold; /* a sum of a that is as far off as the one seen */
    size_t n_tried, n_as_far;
};

/* A division is as far off when the sum of its first part is as far from what is expected. */
static void look_at(struct division *d, double sum_a)
{
    double expected = d->sum * (double)d->na / (double)d->n;
    d->n_tried++;
    if (fabs(sum_a - expected) >= d->threshold) d->n_as_far++;
}

static double combinations(size_t n, size_t k)
{
    double c = 1;
    for (size_t i = 1; i <= k; i++) c = c * (double)(n - k + i) / (double)i;
    return rint(c);
}

/* All ways to choose na of n, in order of their places; `chosen` has room for na. */
static void try_all(struct division *d, size_t *chosen)
{
    for (size_t i = 0; i < d->na; i++) chosen[i] = i;
    for (;;) {
        double sum = 0;
        for (size_t i = 0; i < d->na; i++) sum += d->all[chosen[i]];
        look_at(d, sum);
        size_t at = d->na;
        while (at > 0 && chosen[at - 1] == d->n - d->na + at - 1) at--;
        if (at == 0) return;
        chosen[at - 1]++;
        for (size_t i = at; i < d->na; i++) chosen[i] = chosen[i - 1] + 1;
    }
}

static void try_some(struct division *d, struct stat_random *random, size_t times)
{
    for (size_t t = 0; t < times; t++) {
        double sum = 0;
        for (size_t i = 0; i < d->na; i++) {
            size_t j = i + (size_t)stat_random_below(random, d->n - i);
            double swap = d->all[i];
            d->all[i] = d->all[j];
            d->all[j] = swap;
            sum += d->all[i];
        }
        look_at(d, sum);
    }
}

enum { MOST_CHOSEN = 32, DRAWN = 10000 };

struct stat_permutation stat_permutation(struct stat_random *random, const double *a, size_t na,
                                         const double *b, size_t nb, double *scratch)
{
    struct stat_permutation r = {.difference = NAN, .p = NAN};
    if (na == 0 || nb == 0) return r;
    memcpy(scratch, a, na * sizeof *a);
    memcpy(scratch + na, b, nb * sizeof *b);
    r.difference = stat_mean(a, na) - stat_mean(b, nb);
    struct division d = {.all = scratch, .na = na, .n = na + nb, .sum = stat_sum(scratch, na + nb)};
    double seen = fabs(stat_sum(a, na) - d.sum * (double)na / (double)d.n);
    d.threshold = seen * (1 - 1e-12); /* equal ones may differ by rounding */
    r.is_exact = na <= MOST_CHOSEN && combinations(d.n, na) <= STAT_EXACT_PERMUTATIONS;
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
