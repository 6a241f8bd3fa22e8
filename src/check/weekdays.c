/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Weekend against weekday: one difference for each whole week. Weeks are nearly independent of
 * each other, and what is slow cancels inside them.
 */
#include <math.h>

#include "check/gates_impl.h"
#include "stat/autocorr.h"
#include "stat/moments.h"
#include "stat/rank_test.h"

enum { WEEK = 7, LEAST_WEEKS = 4 };
static const double least_auc = 0.6, level = 0.05;

struct weekdays {
    double *differences; /* of the weeks that have both */
    size_t n;
    double *weekend, *weekday; /* all values */
    size_t n_weekend, n_weekday;
    double mean; /* of the differences */
    double lag1, contrast, se, sd;
};

static bool is_weekend(const struct work *w, size_t day)
{
    return (w->finding->weekend >> day % WEEK & 1) != 0;
}

static double weekend_of(const struct work *w, size_t i, double day)
{
    return i == 0 || is_weekend(w, (size_t)day) ? 1 : 0;
}

static void take_week(struct weekdays *v, const struct finding *f, size_t first)
{
    double sum[2] = {0};
    size_t count[2] = {0};
    for (size_t i = 0; i < WEEK; i++) {
        double x = f->a.x[first + i];
        if (!isfinite(x)) continue;
        bool which = (f->weekend >> i & 1) != 0;
        sum[which] += x;
        count[which]++;
        if (which) v->weekend[v->n_weekend++] = x;
        else v->weekday[v->n_weekday++] = x;
    }
    if (count[0] > 0 && count[1] > 0)
        v->differences[v->n++] = sum[1] / (double)count[1] - sum[0] / (double)count[0];
}

static void prepare(struct work *w)
{
    struct weekdays *v = w->kind = work_room(w, 1, sizeof *v);
    const struct finding *f = w->finding;
    *v = (struct weekdays){.differences = work_row(w, f->a.n),
                           .weekend = work_row(w, f->a.n),
                           .weekday = work_row(w, f->a.n)};
    for (size_t first = 0; first + WEEK <= f->a.n; first += WEEK) take_week(v, f, first);
    /* Here a higher lag makes the error smaller, so that there is nothing to be strict about. */
    struct stat_ar1 noise = work_noise(w, work_known(w, f->a), 2, weekend_of).strict;
    v->mean = stat_mean(v->differences, v->n);
    v->lag1 = noise.lag1;
    v->contrast = noise.coefficient[1];
    v->se = sqrt(noise.covariance[1][1]);
    v->sd = sqrt(noise.variance);
    work_estimate(w, v->contrast, 1.96 * v->se);
}

static void sample_size(struct work *w, struct gate *g)
{
    const struct weekdays *v = w->kind;
    gate_number(g, "whole_weeks", (double)v->n);
    gate_is(g, v->n >= LEAST_WEEKS, "at least four whole weeks", "fewer than four whole weeks");
}

static void effect(struct work *w, struct gate *g)
{
    const struct weekdays *v = w->kind;
    double needed = fmax(1.96 * v->se, worthwhile(w->finding->metric, v->sd));
    gate_number(g, "mean_weekly_difference", v->mean);
    gate_number(g, "difference", v->contrast);
    gate_number(g, "se", v->se);
    gate_number(g, "lag1", v->lag1);
    gate_number(g, "needed", needed);
    gate_is(g, fabs(v->contrast) > needed,
            "the difference is larger than noise and worth speaking of",
            "the difference is within noise or too small to matter");
}

static double drawn_mean(void *user, const size_t *places)
{
    const struct weekdays *v = user;
    double sum = 0;
    for (size_t i = 0; i < v->n; i++) sum += v->differences[places[i]];
    return sum / (double)v->n;
}

static void bootstrap(struct work *w, struct gate *g)
{
    struct weekdays *v = w->kind;
    struct stat_resampling how = {.random = &w->random,
                                  .n = v->n,
                                  .times = GATE_RESAMPLES,
                                  .confidence = 0.95,
                                  .places = work_room(w, v->n, sizeof(size_t)),
                                  .values = work_row(w, GATE_RESAMPLES)};
    struct stat_bootstrap b = stat_bootstrap(&how, drawn_mean, v);
    gate_number(g, "lo", b.interval.lo);
    gate_number(g, "hi", b.interval.hi);
    gate_number(g, "resamples", (double)b.n);
    gate_is(g, same_sign(b.interval.lo, b.interval.hi), "the interval over weeks excludes zero",
            "the interval over weeks includes zero");
}

static void subgroups(struct work *w, struct gate *g)
{
    const struct weekdays *v = w->kind;
    size_t half = v->n / 2;
    double first = stat_mean(v->differences, half);
    double second = stat_mean(v->differences + half, v->n - half);
    gate_number(g, "first_half", first);
    gate_number(g, "second_half", second);
    gate_is(g, same_sign(first, second), "both halves of the weeks agree",
            "the halves of the weeks disagree");
}

static void triangulation(struct work *w, struct gate *g)
{
    const struct weekdays *v = w->kind;
    struct stat_test t = stat_one_sample(stat_group_of(v->differences, v->n), 0.95);
    struct stat_wilcoxon r = stat_wilcoxon(v->differences, v->n, work_row(w, 5 * v->n));
    gate_number(g, "paired_t_p", t.p);
    gate_number(g, "signed_rank_p", r.p);
    gate_number(g, "level", level);
    gate_is(g, t.p < level && r.p < level, "paired t and signed rank agree",
            "paired t and signed rank do not agree");
}

static void discrimination(struct work *w, struct gate *g)
{
    const struct weekdays *v = w->kind;
    double *scratch = work_row(w, 4 * (v->n_weekend + v->n_weekday));
    double auc = stat_mann_whitney(v->weekend, v->n_weekend, v->weekday, v->n_weekday, scratch).auc;
    if (v->contrast < 0) auc = 1 - auc;
    gate_number(g, "auc", auc);
    gate_number(g, "least_auc", least_auc);
    gate_is(g, auc >= least_auc, "a weekend day can be told from a weekday",
            "a weekend day can hardly be told from a weekday");
}

const struct kind_rules weekdays_rules = {prepare,
                                          {sample_size, construct_of_one_row, effect, bootstrap,
                                           subgroups, triangulation, discrimination}};
