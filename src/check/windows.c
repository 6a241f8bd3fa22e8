/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two windows: the mean of the later days less that of the earlier ones. Both windows share one
 * autocorrelation, for each alone is too short to tell its own.
 */
#include <math.h>
#include <string.h>

#include "check/gates_impl.h"
#include "stat/autocorr.h"
#include "stat/dist.h"
#include "stat/moments.h"
#include "stat/rank_test.h"

enum { LEAST_DAYS = 10, LEAST_EFFECTIVE = 4, WEEK = 7 };
static const double least_auc = 0.6, level = 0.03;

struct windows {
    struct known a, b;
    struct stat_group ga, gb; /* with effective numbers */
    double lag1, difference, se, sd;
    struct stat_group strict_a, strict_b;
    double strict_lag1, unsure; /* and what its error adds to a variance */
};

/* The windows have means of their own and one noise; being far apart, they share nothing else. */
enum { FAR_APART = 1 << 20 };

static double window_of(const struct work *w, size_t i, double day)
{
    (void)w;
    return (day < FAR_APART) == (i == 0) ? 1 : 0;
}

static struct noise noise_of(struct work *w, struct known a, struct known b)
{
    size_t n = a.n + b.n;
    struct known both = {work_row(w, n), work_row(w, n), n};
    for (size_t i = 0; i < n; i++) {
        both.day[i] = i < a.n ? a.day[i] : FAR_APART + b.day[i - a.n];
        both.value[i] = i < a.n ? a.value[i] : b.value[i - a.n];
    }
    return work_noise(w, both, 2, window_of);
}

static struct stat_group effective(struct known k, double lag1)
{
    struct stat_group g = stat_group_of(k.value, k.n);
    g.n = stat_effective_n(g.n, lag1);
    return g;
}

static void prepare(struct work *w)
{
    struct windows *v = w->kind = work_room(w, 1, sizeof *v);
    const struct finding *f = w->finding;
    *v = (struct windows){.a = work_known(w, f->a), .b = work_known(w, f->b)};
    struct noise noise = noise_of(w, v->a, v->b);
    v->lag1 = noise.fair.lag1;
    v->strict_lag1 = noise.strict.lag1;
    v->ga = effective(v->a, v->lag1);
    v->gb = effective(v->b, v->lag1);
    v->strict_a = effective(v->a, v->strict_lag1);
    v->strict_b = effective(v->b, v->strict_lag1);
    v->unsure = lag_unsure(v->strict_lag1, v->a.n + v->b.n);
    v->strict_a.n /= v->unsure;
    v->strict_b.n /= v->unsure;
    v->difference = v->gb.mean - v->ga.mean;
    v->se = sqrt(variance_of_mean(v->a, &noise.fair) + variance_of_mean(v->b, &noise.fair));
    v->sd = sqrt(noise.fair.variance);
    struct stat_test t = stat_welch(v->strict_b, v->strict_a, 0.95);
    work_estimate(w, v->difference, t.interval.hi - t.estimate);
}

static void sample_size(struct work *w, struct gate *g)
{
    const struct windows *v = w->kind;
    gate_number(g, "n_a", (double)v->a.n);
    gate_number(g, "n_b", (double)v->b.n);
    gate_number(g, "n_eff_a", v->ga.n);
    gate_number(g, "n_eff_b", v->gb.n);
    gate_is(g,
            v->a.n >= LEAST_DAYS && v->b.n >= LEAST_DAYS && v->ga.n >= LEAST_EFFECTIVE &&
                v->gb.n >= LEAST_EFFECTIVE,
            "at least 10 days in each window, and 4 that are as good as independent",
            "too few days in one of the windows");
}

static void construct(struct work *w, struct gate *g)
{
    construct_of_row(w, g, ROW_A);
    if (g->status == GATE_PASSED) construct_of_row(w, g, ROW_B);
    gate_number(g, "one_device", w->finding->is_one_device ? 1 : 0);
    if (g->status == GATE_PASSED && !w->finding->is_one_device)
        gate_is(g, false, "", "the two windows were measured by different devices");
}

static void effect(struct work *w, struct gate *g)
{
    const struct windows *v = w->kind;
    double needed = fmax(1.96 * v->se, worthwhile(w->finding->metric, v->sd));
    gate_number(g, "difference", v->difference);
    gate_number(g, "se_on_effective_n", v->se);
    gate_number(g, "lag1", v->lag1);
    gate_number(g, "needed", needed);
    gate_is(g, fabs(v->difference) > needed,
            "the difference is larger than noise and worth speaking of",
            "the difference is within noise or too small to matter");
}

static double drawn_difference(void *user, const size_t *places)
{
    const struct windows *v = user;
    double a = 0, b = 0;
    for (size_t i = 0; i < v->a.n; i++) a += v->a.value[places[i]];
    for (size_t i = 0; i < v->b.n; i++) b += v->b.value[places[v->a.n + i]];
    return b / (double)v->b.n - a / (double)v->a.n;
}

static void bootstrap(struct work *w, struct gate *g)
{
    struct windows *v = w->kind;
    size_t shorter = v->a.n < v->b.n ? v->a.n : v->b.n;
    struct stat_resampling how = {.random = &w->random,
                                  .n = v->a.n,
                                  .n2 = v->b.n,
                                  .block = block_length(shorter, v->strict_lag1),
                                  .times = GATE_RESAMPLES,
                                  .confidence = 0.95,
                                  .places = work_room(w, v->a.n + v->b.n, sizeof(size_t)),
                                  .values = work_row(w, GATE_RESAMPLES)};
    struct stat_bootstrap b = stat_bootstrap(&how, drawn_difference, v);
    gate_number(g, "lo", b.interval.lo);
    gate_number(g, "hi", b.interval.hi);
    gate_number(g, "block_days", (double)how.block);
    gate_number(g, "resamples", (double)b.n);
    gate_is(g, same_sign(b.interval.lo, b.interval.hi), "the interval excludes zero",
            "the interval includes zero");
}

/* The mean of the days of a window that are weekend, or are not; NAN: none. */
static double part_mean(const struct work *w, struct known k, size_t first_place, bool is_weekend)
{
    struct stat_adder sum = {0};
    size_t n = 0;
    for (size_t i = 0; i < k.n; i++) {
        size_t place = ((size_t)k.day[i] + first_place) % WEEK;
        if (((w->finding->weekend >> place & 1) != 0) != is_weekend) continue;
        stat_add(&sum, k.value[i]);
        n++;
    }
    return n > 0 ? stat_total(&sum) / (double)n : NAN;
}

static void subgroups(struct work *w, struct gate *g)
{
    const struct windows *v = w->kind;
    size_t shift = w->finding->a.n % WEEK;
    double weekday = part_mean(w, v->b, shift, false) - part_mean(w, v->a, 0, false);
    double weekend = part_mean(w, v->b, shift, true) - part_mean(w, v->a, 0, true);
    gate_number(g, "difference_on_weekdays", weekday);
    gate_number(g, "difference_on_weekends", weekend);
    if (isnan(weekday) || isnan(weekend)) {
        gate_skip(g, "there are not both weekdays and weekends in each window");
        return;
    }
    gate_is(g, same_sign(v->difference, weekday) && same_sign(v->difference, weekend),
            "weekdays and weekends agree", "weekdays and weekends disagree");
}

struct shuffled {
    const double *all;
    size_t n, na, block;
};

/* The difference of means when blocks of neighbours fall into the windows at random. */
static double shuffled_difference(struct stat_random *random, const struct shuffled *s,
                                  size_t *order)
{
    size_t n_blocks = (s->n + s->block - 1) / s->block, at = 0;
    double a = 0, b = 0;
    for (size_t i = 0; i < n_blocks; i++) order[i] = i;
    for (size_t i = 0; i < n_blocks; i++) {
        size_t j = i + (size_t)stat_random_below(random, n_blocks - i), swap = order[i];
        order[i] = order[j];
        order[j] = swap;
        size_t first = order[i] * s->block;
        for (size_t k = first; k < first + s->block && k < s->n; k++, at++) {
            if (at < s->na) a += s->all[k];
            else b += s->all[k];
        }
    }
    return b / (double)(s->n - s->na) - a / (double)s->na;
}

static double block_permutation_p(struct work *w)
{
    const struct windows *v = w->kind;
    size_t n = v->a.n + v->b.n, n_as_far = 1;
    double *all = work_row(w, n);
    memcpy(all, v->a.value, v->a.n * sizeof *all);
    memcpy(all + v->a.n, v->b.value, v->b.n * sizeof *all);
    size_t shorter = v->a.n < v->b.n ? v->a.n : v->b.n;
    struct shuffled s = {all, n, v->a.n, block_length(shorter, v->strict_lag1)};
    size_t *order = work_room(w, n, sizeof *order);
    for (int i = 0; i < GATE_RESAMPLES; i++) {
        double d = shuffled_difference(&w->random, &s, order);
        if (fabs(d) >= fabs(v->difference) * (1 - 1e-12)) n_as_far++;
    }
    return (double)n_as_far / (GATE_RESAMPLES + 1);
}

/* Of Mann-Whitney, as if there were only the effective numbers of days. */
static double scaled_p(const struct windows *v, double p)
{
    double z = p < 1 ? stat_normal_quantile(p / 2) : 0, lag1 = v->strict_lag1;
    return stat_normal_two_sided(z * sqrt((1 - lag1) / (1 + lag1) / v->unsure));
}

static void triangulation(struct work *w, struct gate *g)
{
    const struct windows *v = w->kind;
    struct stat_test welch = stat_welch(v->strict_b, v->strict_a, 0.95);
    double *scratch = work_row(w, 4 * (v->a.n + v->b.n));
    struct stat_mann_whitney m = stat_mann_whitney(v->b.value, v->b.n, v->a.value, v->a.n, scratch);
    double ranks_p = scaled_p(v, m.p), permutation_p = block_permutation_p(w);
    gate_number(g, "welch_p", welch.p);
    gate_number(g, "mann_whitney_p", ranks_p);
    gate_number(g, "block_permutation_p", permutation_p);
    gate_number(g, "strict_lag1", v->strict_lag1);
    gate_number(g, "level", level);
    gate_is(g, welch.p < level && ranks_p < level && permutation_p < level,
            "Welch, Mann-Whitney and block permutation agree",
            "Welch, Mann-Whitney and block permutation do not agree");
}

static void discrimination(struct work *w, struct gate *g)
{
    const struct windows *v = w->kind;
    double *scratch = work_row(w, 4 * (v->a.n + v->b.n));
    double auc = stat_mann_whitney(v->b.value, v->b.n, v->a.value, v->a.n, scratch).auc;
    if (v->difference < 0) auc = 1 - auc;
    gate_number(g, "auc", auc);
    gate_number(g, "least_auc", least_auc);
    gate_is(g, auc >= least_auc, "a day can be told by its window",
            "a day can hardly be told by its window");
}

const struct kind_rules windows_rules = {
    prepare, {sample_size, construct, effect, bootstrap, subgroups, triangulation, discrimination}};
