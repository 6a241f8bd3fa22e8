/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trend: the change along a straight line over the days, by least squares that know of the
 * autocorrelation, for without that the standard error is too small.
 */
#include <math.h>

#include "check/gates_impl.h"
#include "stat/autocorr.h"
#include "stat/dist.h"
#include "stat/moments.h"
#include "stat/monotone.h"
#include "stat/rank_test.h"

enum { LEAST_DAYS = 21, LEAST_SPAN = 28, WEEK = 7 };
static const double least_auc = 0.6, level = 0.03;

struct trend {
    struct known days;
    struct stat_fit fit;
    double *residuals;      /* of the known days, about the line of least squares */
    double span, change;    /* days from the first to the last; change over them */
    double lag1, n_eff, sd; /* of the noise, that makes days worth less than they are */
    double se_change;       /* on the effective days */
    double strict_lag1, strict_se, strict_n_eff;
    double middle; /* of the days */
};

static double straight(const struct work *w, size_t i, double day)
{
    double middle = (double)w->finding->a.n / 2;
    return i == 0 ? 1 : (day - middle) / middle;
}

static void prepare(struct work *w)
{
    struct trend *t = w->kind = work_room(w, 1, sizeof *t);
    struct days all = w->finding->a;
    *t = (struct trend){.days = work_known(w, all)};
    const struct known *d = &t->days;
    t->fit = stat_fit_line(d->day, d->value, d->n, 0.95);
    t->residuals = work_row(w, d->n);
    for (size_t i = 0; i < d->n; i++) {
        double line = t->fit.line.intercept + t->fit.line.slope * d->day[i];
        t->residuals[i] = d->value[i] - line;
    }
    t->span = d->n > 0 ? d->day[d->n - 1] - d->day[0] : 0;
    struct noise noise = work_noise(w, t->days, 2, straight);
    double scale = t->span / ((double)all.n / 2);
    t->change = noise.fair.coefficient[1] * scale;
    t->se_change = sqrt(noise.fair.covariance[1][1]) * scale;
    t->strict_se = sqrt(noise.strict.covariance[1][1]) * scale;
    t->lag1 = noise.fair.lag1;
    t->strict_lag1 = noise.strict.lag1;
    t->n_eff = stat_effective_n((double)d->n, t->lag1);
    t->strict_n_eff = stat_effective_n((double)d->n, t->strict_lag1);
    t->middle = stat_mean(d->day, d->n);
    t->sd = sqrt(noise.fair.variance);
    work_estimate(w, t->change, 1.96 * t->strict_se);
}

static void sample_size(struct work *w, struct gate *g)
{
    const struct trend *t = w->kind;
    gate_number(g, "n", (double)t->days.n);
    gate_number(g, "span_days", t->span + 1);
    gate_is(g, t->days.n >= LEAST_DAYS && t->span + 1 >= LEAST_SPAN,
            "at least 21 days with values over at least 28",
            "fewer than 21 days with values, or over fewer than 28 days");
}

static void effect(struct work *w, struct gate *g)
{
    const struct trend *t = w->kind;
    double needed = fmax(1.96 * t->se_change, worthwhile(w->finding->metric, t->sd));
    gate_number(g, "change", t->change);
    gate_number(g, "se_on_effective_n", t->se_change);
    gate_number(g, "lag1", t->lag1);
    gate_number(g, "n_eff", t->n_eff);
    gate_number(g, "needed", needed);
    gate_is(g, fabs(t->change) > needed, "the change is larger than noise and worth speaking of",
            "the change is within noise or too small to matter");
}

/* The slope of the line with residuals drawn anew: the same days, so only xy changes. */
static double drawn_slope(void *user, const size_t *places)
{
    const struct trend *t = user;
    double middle = t->middle, xy = 0, xx = 0;
    for (size_t i = 0; i < t->days.n; i++) {
        double dx = t->days.day[i] - middle, e = t->residuals[places[i]];
        xy += dx * e;
        xx += dx * dx;
    }
    return t->fit.line.slope + xy / xx;
}

static void bootstrap(struct work *w, struct gate *g)
{
    struct trend *t = w->kind;
    struct stat_resampling how = {.random = &w->random,
                                  .n = t->days.n,
                                  .block = block_length(t->days.n, t->strict_lag1),
                                  .times = GATE_RESAMPLES,
                                  .confidence = 0.95,
                                  .places = work_room(w, t->days.n, sizeof(size_t)),
                                  .values = work_row(w, GATE_RESAMPLES)};
    struct stat_bootstrap b = stat_bootstrap(&how, drawn_slope, t);
    gate_number(g, "slope_lo", b.interval.lo);
    gate_number(g, "slope_hi", b.interval.hi);
    gate_number(g, "block_days", (double)how.block);
    gate_number(g, "resamples", (double)b.n);
    gate_is(g, same_sign(b.interval.lo, b.interval.hi), "the interval of the slope excludes zero",
            "the interval of the slope includes zero");
}

/* The slope of the days whose week is taken. */
static double slope_of_weeks(struct work *w, bool (*takes)(size_t week, size_t which), size_t which)
{
    const struct trend *t = w->kind;
    char *before = w->tip;
    struct known k = {work_row(w, t->days.n), work_row(w, t->days.n), 0};
    for (size_t i = 0; i < t->days.n; i++) {
        if (!takes((size_t)t->days.day[i] / WEEK, which)) continue;
        k.day[k.n] = t->days.day[i];
        k.value[k.n++] = t->days.value[i];
    }
    w->tip = before;
    return stat_ols(k.day, k.value, k.n).slope;
}

static bool takes_parity(size_t week, size_t which)
{
    return week % 2 == which;
}

static bool takes_others(size_t week, size_t which)
{
    return week != which;
}

static void subgroups(struct work *w, struct gate *g)
{
    const struct trend *t = w->kind;
    double slope = t->fit.line.slope;
    double odd = slope_of_weeks(w, takes_parity, 1), even = slope_of_weeks(w, takes_parity, 0);
    size_t n_weeks = w->finding->a.n / WEEK + 1, n_flips = 0;
    for (size_t week = 0; week < n_weeks; week++)
        if (!same_sign(slope, slope_of_weeks(w, takes_others, week))) n_flips++;
    gate_number(g, "slope_odd_weeks", odd);
    gate_number(g, "slope_even_weeks", even);
    gate_number(g, "weeks_that_flip_it", (double)n_flips);
    gate_is(g, same_sign(slope, odd) && same_sign(slope, even) && n_flips == 0,
            "odd and even weeks agree, and no single week decides",
            "odd and even weeks disagree, or a single week decides");
}

static void triangulation(struct work *w, struct gate *g)
{
    const struct trend *t = w->kind;
    size_t n = t->days.n;
    double *scratch = work_row(w, stat_mann_kendall_scratch(n));
    struct stat_line sen = stat_theil_sen(t->days.day, t->days.value, n, scratch);
    struct stat_mann_kendall mk = stat_mann_kendall(t->days.value, n, scratch);
    double lag1 = t->strict_lag1, unsure = sqrt(lag_unsure(lag1, n));
    double shrink = sqrt((1 - lag1) / (1 + lag1)) / unsure;
    double mk_p = stat_normal_two_sided(mk.z * shrink);
    double line_p =
        stat_t_two_sided(t->change / t->strict_se / unsure, fmax(1, t->strict_n_eff - 2));
    gate_number(g, "ols_slope", t->fit.line.slope);
    gate_number(g, "line_p", line_p);
    gate_number(g, "theil_sen_slope", sen.slope);
    gate_number(g, "mann_kendall_p", mk_p);
    gate_number(g, "strict_lag1", lag1);
    gate_number(g, "level", level);
    gate_is(g,
            same_sign(t->fit.line.slope, sen.slope) && same_sign(sen.slope, mk.s) &&
                line_p < level && mk_p < level,
            "least squares, Theil-Sen and Mann-Kendall agree",
            "least squares, Theil-Sen and Mann-Kendall do not agree");
}

static void discrimination(struct work *w, struct gate *g)
{
    const struct trend *t = w->kind;
    size_t third = t->days.n / 3;
    const double *last = t->days.value + t->days.n - third;
    struct stat_mann_whitney m =
        stat_mann_whitney(last, third, t->days.value, third, work_row(w, 8 * third + 8));
    double auc = t->change < 0 ? 1 - m.auc : m.auc;
    gate_number(g, "auc", auc);
    gate_number(g, "least_auc", least_auc);
    gate_is(g, auc >= least_auc, "the last third can be told from the first",
            "the last third can hardly be told from the first");
}

const struct kind_rules trend_rules = {prepare,
                                       {sample_size, construct_of_one_row, effect, bootstrap,
                                        subgroups, triangulation, discrimination}};
