/* SPDX-License-Identifier: Apache-2.0 */
/* A mean: whether it describes the days it is of. */
#include <math.h>
#include <string.h>

#include "check/gates_impl.h"
#include "stat/autocorr.h"
#include "stat/dist.h"
#include "stat/moments.h"
#include "stat/order.h"

enum { LEAST_DAYS = 10, LEAST_FOR_CYCLE = 21, WEEK = 7 };
static const double least_share = 0.6, trimmed = 0.1, least_df = 1.5;
static const double median_scale = 1.2533; /* sqrt(pi / 2): what a median's error is of a mean's */

struct level {
    struct known days;
    double lag1, mean, median, n_eff, se;
    double *drawn; /* the days of a resample */
    double df;     /* of the interval: effective days less columns fitted */
};

/* The days go up and down with the week; that is no noise of a mean over whole weeks. */
static double weekly(const struct work *w, size_t i, double day)
{
    (void)w;
    double turn = 2 * M_PI * day / WEEK;
    return i == 0 ? 1 : i == 1 ? cos(turn) : sin(turn);
}

static void prepare(struct work *w)
{
    struct level *v = w->kind = work_room(w, 1, sizeof *v);
    *v = (struct level){.days = work_known(w, w->finding->a)};
    size_t n_columns = v->days.n >= LEAST_FOR_CYCLE ? 3 : 1;
    struct stat_ar1 noise = work_noise(w, v->days, n_columns, weekly).strict;
    v->lag1 = noise.lag1;
    v->n_eff = stat_effective_n((double)v->days.n, v->lag1);
    v->df = v->n_eff - (double)n_columns;
    v->mean = stat_mean(v->days.value, v->days.n);
    v->drawn = work_row(w, v->days.n);
    memcpy(v->drawn, v->days.value, v->days.n * sizeof *v->drawn);
    v->median = stat_median_in(v->drawn, v->days.n);
    v->se = sqrt(noise.variance / v->n_eff);
    double reach = stat_t_quantile(0.975, fmax(v->df, least_df)) * v->se;
    if (w->finding->is_median) work_estimate(w, v->median, median_scale * reach);
    else work_estimate(w, v->mean, reach);
}

static void sample_size(struct work *w, struct gate *g)
{
    const struct level *v = w->kind;
    double share = w->finding->a.n > 0 ? (double)v->days.n / (double)w->finding->a.n : 0;
    gate_number(g, "n", (double)v->days.n);
    gate_number(g, "share_of_window", share);
    gate_is(g, v->days.n >= LEAST_DAYS && share >= least_share,
            "at least 10 days and 60 % of the window have values",
            "fewer than 10 days, or less than 60 % of the window, have values");
}

static void effect(struct work *w, struct gate *g)
{
    gate_number(g, w->finding->is_median ? "median" : "mean", w->verdict->estimate);
    gate_number(g, "plus_minus", w->verdict->hi - w->verdict->estimate);
    gate_skip(g, "a mean is no effect; what it is uncertain by is given");
}

static double drawn_mean(void *user, const size_t *places)
{
    const struct level *v = user;
    double sum = 0;
    for (size_t i = 0; i < v->days.n; i++) sum += v->days.value[places[i]];
    return sum / (double)v->days.n;
}

static double drawn_median(void *user, const size_t *places)
{
    const struct level *v = user;
    for (size_t i = 0; i < v->days.n; i++) v->drawn[i] = v->days.value[places[i]];
    return stat_median_in(v->drawn, v->days.n);
}

static void bootstrap(struct work *w, struct gate *g)
{
    struct level *v = w->kind;
    struct stat_resampling how = {.random = &w->random,
                                  .n = v->days.n,
                                  .block = block_length(v->days.n, v->lag1),
                                  .times = GATE_RESAMPLES,
                                  .confidence = 0.95,
                                  .places = work_room(w, v->days.n, sizeof(size_t)),
                                  .values = work_row(w, GATE_RESAMPLES)};
    struct stat_bootstrap b =
        stat_bootstrap(&how, w->finding->is_median ? drawn_median : drawn_mean, v);
    gate_number(g, "lag1", v->lag1);
    gate_number(g, "n_eff", v->n_eff);
    gate_number(g, "t_lo", w->verdict->lo);
    gate_number(g, "t_hi", w->verdict->hi);
    gate_number(g, "block_lo", b.interval.lo);
    gate_number(g, "block_hi", b.interval.hi);
    gate_is(g, v->df >= 1 && isfinite(b.interval.lo),
            "the interval rests on enough days that are as good as independent",
            "the days resemble each other too much for an interval");
}

static void subgroups(struct work *w, struct gate *g)
{
    const struct level *v = w->kind;
    size_t half = v->days.n / 2;
    double first = stat_mean(v->days.value, half);
    double second = stat_mean(v->days.value + half, v->days.n - half);
    /* Each half has half of the effective days, so their difference has twice the error. */
    double allowed = 2 * 2 * v->se;
    gate_number(g, "first_half", first);
    gate_number(g, "second_half", second);
    gate_number(g, "allowed", allowed);
    gate_is(g, fabs(first - second) <= allowed, "both halves of the window agree",
            "the halves of the window differ: the mean hides a change");
}

static void triangulation(struct work *w, struct gate *g)
{
    const struct level *v = w->kind;
    size_t n = v->days.n, cut = (size_t)(trimmed * (double)n);
    double *sorted = work_row(w, n);
    for (size_t i = 0; i < n; i++) sorted[i] = v->days.value[i];
    stat_sort_in(sorted, n);
    double middle = stat_mean(sorted + cut, n - 2 * cut), mean = v->mean;
    gate_number(g, "mean", mean);
    gate_number(g, "median", v->median);
    gate_number(g, "trimmed_mean", middle);
    gate_number(g, "se", v->se);
    gate_is(g, fabs(mean - v->median) <= v->se && fabs(mean - middle) <= v->se,
            "mean, median and trimmed mean agree",
            "mean, median and trimmed mean differ: a few days weigh heavily");
}

const struct kind_rules level_rules = {
    prepare,
    {sample_size, construct_of_one_row, effect, bootstrap, subgroups, triangulation, NULL}};
