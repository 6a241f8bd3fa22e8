/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two metrics that go together, or the one some days before the other. Pairs are made by day; the
 * number of them that counts follows from the autocorrelations of both.
 */
#include <math.h>
#include <string.h>

#include "check/gates_impl.h"
#include "stat/autocorr.h"
#include "stat/dist.h"
#include "stat/moments.h"
#include "stat/monotone.h"
#include "stat/order.h"
#include "stat/rank_test.h"

enum { LEAST_PAIRS = 20, LEAST_EFFECTIVE = 12, WEEK = 7 };
static const double least_r = 0.2, least_auc = 0.6, level = 0.03;

struct pair {
    double *x, *y, *day;
    size_t n;
    double lag1_x, lag1_y, n_eff, r;
    double strict_lag1, strict_n_eff; /* the root of the product of both; and with it */
};

static void make_pairs(struct work *w, struct pair *p)
{
    struct days a = w->finding->a, b = w->finding->b;
    *p = (struct pair){.x = work_row(w, a.n), .y = work_row(w, a.n), .day = work_row(w, a.n)};
    for (size_t i = 0; i < a.n; i++) {
        long j = (long)i + w->finding->lag;
        if (j < 0 || (size_t)j >= b.n || !isfinite(a.x[i]) || !isfinite(b.x[j])) continue;
        p->day[p->n] = (double)i;
        p->x[p->n] = a.x[i];
        p->y[p->n++] = b.x[j];
    }
}

static void prepare(struct work *w)
{
    struct pair *p = w->kind = work_room(w, 1, sizeof *p);
    make_pairs(w, p);
    struct noise x = noise_about_mean(w, work_known(w, w->finding->a));
    struct noise y = noise_about_mean(w, work_known(w, w->finding->b));
    p->lag1_x = x.fair.lag1;
    p->lag1_y = y.fair.lag1;
    p->n_eff = stat_effective_pairs((double)p->n, p->lag1_x, p->lag1_y);
    p->strict_lag1 = sqrt(x.strict.lag1 * y.strict.lag1);
    p->strict_n_eff = stat_effective_pairs((double)p->n, x.strict.lag1, y.strict.lag1);
    p->r = stat_pearson(p->x, p->y, p->n);
    struct stat_interval i = stat_correlation_interval(p->r, p->strict_n_eff, 0.95);
    w->verdict->estimate = p->r;
    w->verdict->lo = i.lo;
    w->verdict->hi = i.hi;
}

static void sample_size(struct work *w, struct gate *g)
{
    const struct pair *p = w->kind;
    gate_number(g, "pairs", (double)p->n);
    gate_number(g, "lag1_x", p->lag1_x);
    gate_number(g, "lag1_y", p->lag1_y);
    gate_number(g, "n_eff", p->n_eff);
    gate_is(g, p->n >= LEAST_PAIRS && p->n_eff >= LEAST_EFFECTIVE,
            "at least 20 pairs of days, and 12 that are as good as independent",
            "too few pairs of days");
}

/* Whether `whole` is among what `m` is made of. */
static bool is_made_of(const struct metric *m, const struct metric *whole)
{
    size_t at = 0;
    if (!m->of) return false;
    for (struct weir_slice s = alias_next(m->of, &at); s.len > 0; s = alias_next(m->of, &at))
        if (weir_slice_is(s, whole->name)) return true;
    return false;
}

bool are_related(const struct metric *a, const struct metric *b)
{
    bool share_a_whole = a->of && b->of && a->relation == METRIC_PART_OF &&
                         b->relation == METRIC_PART_OF && strcmp(a->of, b->of) == 0;
    return a == b || is_made_of(a, b) || is_made_of(b, a) || share_a_whole;
}

static void construct(struct work *w, struct gate *g)
{
    const struct metric *a = w->finding->metric, *b = w->finding->metric_y;
    /* Yesterday's part says much of today's whole; only a metric's own past is another thing. */
    bool is_tautology = a && b && are_related(a, b) && (a != b || w->finding->lag == 0);
    construct_of_row(w, g, ROW_A);
    if (g->status == GATE_PASSED) construct_of_row(w, g, ROW_B);
    gate_number(g, "same_thing", is_tautology ? 1 : 0);
    if (g->status == GATE_PASSED && is_tautology)
        gate_is(g, false, "", "the one is part of the other or computed from it");
}

static double effective_p(double r, double n_eff)
{
    return stat_normal_two_sided(atanh(r) * sqrt(n_eff - 3));
}

static void effect(struct work *w, struct gate *g)
{
    const struct pair *p = w->kind;
    double z = atanh(p->r) * sqrt(p->n_eff - 3);
    gate_number(g, "r", p->r);
    gate_number(g, "fisher_z", z);
    gate_number(g, "n_eff", p->n_eff);
    gate_number(g, "least_r", least_r);
    gate_is(g, fabs(z) > 1.96 && fabs(p->r) >= least_r,
            "the correlation is larger than noise and worth speaking of",
            "the correlation is within noise or too weak to matter");
}

struct drawn {
    const struct pair *pair;
    double *x, *y;
};

static double drawn_r(void *user, const size_t *places)
{
    struct drawn *d = user;
    size_t n = d->pair->n;
    double sx = 0, sy = 0, xx = 0, yy = 0, xy = 0;
    for (size_t i = 0; i < n; i++) {
        double x = d->x[places[i]], y = d->y[places[i]];
        sx += x;
        sy += y;
        xx += x * x;
        yy += y * y;
        xy += x * y;
    }
    double count = (double)n, vx = xx - sx * sx / count, vy = yy - sy * sy / count;
    return vx > 0 && vy > 0 ? (xy - sx * sy / count) / sqrt(vx * vy) : NAN;
}

/* About their mean, so that plain sums of squares lose nothing. */
static double *centered(struct work *w, const double *x, size_t n)
{
    double *out = work_row(w, n), mean = stat_mean(x, n);
    for (size_t i = 0; i < n; i++) out[i] = x[i] - mean;
    return out;
}

static void bootstrap(struct work *w, struct gate *g)
{
    const struct pair *p = w->kind;
    struct drawn d = {p, centered(w, p->x, p->n), centered(w, p->y, p->n)};
    struct stat_resampling how = {.random = &w->random,
                                  .n = p->n,
                                  .block = block_length(p->n, p->strict_lag1),
                                  .times = GATE_RESAMPLES,
                                  .confidence = 0.95,
                                  .places = work_room(w, p->n, sizeof(size_t)),
                                  .values = work_row(w, GATE_RESAMPLES)};
    struct stat_bootstrap b = stat_bootstrap(&how, drawn_r, &d);
    gate_number(g, "lo", b.interval.lo);
    gate_number(g, "hi", b.interval.hi);
    gate_number(g, "block_days", (double)how.block);
    gate_number(g, "resamples", (double)b.n);
    gate_is(g, same_sign(b.interval.lo, b.interval.hi),
            "the interval over blocks of pairs excludes zero",
            "the interval over blocks of pairs includes zero");
}

/* Without its straight line over the days. */
static double *detrended(struct work *w, const double *x)
{
    const struct pair *p = w->kind;
    struct stat_line line = stat_ols(p->day, x, p->n);
    double *out = work_row(w, p->n);
    for (size_t i = 0; i < p->n; i++) out[i] = x[i] - line.slope * p->day[i];
    return out;
}

static void subgroups(struct work *w, struct gate *g)
{
    const struct pair *p = w->kind;
    size_t half = p->n / 2;
    double first = stat_pearson(p->x, p->y, half);
    double second = stat_pearson(p->x + half, p->y + half, p->n - half);
    double without = stat_pearson(detrended(w, p->x), detrended(w, p->y), p->n);
    gate_number(g, "r_first_half", first);
    gate_number(g, "r_second_half", second);
    gate_number(g, "r_detrended", without);
    gate_is(g, same_sign(p->r, first) && same_sign(p->r, second) && same_sign(p->r, without),
            "both halves agree, and it is not a common trend",
            "the halves disagree, or it is a common trend");
}

static void triangulation(struct work *w, struct gate *g)
{
    const struct pair *p = w->kind;
    double *scratch = work_row(w, 4 * p->n);
    double rho = stat_spearman(p->x, p->y, p->n, scratch);
    double tau = stat_kendall(p->x, p->y, p->n, scratch);
    double kendall_z = stat_normal_quantile(stat_kendall_p(p->x, p->y, p->n, scratch) / 2) *
                       sqrt(p->strict_n_eff / (double)p->n);
    double pearson_p = effective_p(p->r, p->strict_n_eff);
    double spearman_p = effective_p(rho, p->strict_n_eff);
    double kendall_p = stat_normal_two_sided(kendall_z);
    gate_number(g, "pearson_p", pearson_p);
    gate_number(g, "spearman_rho", rho);
    gate_number(g, "spearman_p", spearman_p);
    gate_number(g, "kendall_tau", tau);
    gate_number(g, "kendall_p", kendall_p);
    gate_number(g, "strict_n_eff", p->strict_n_eff);
    gate_number(g, "level", level);
    gate_is(g,
            same_sign(p->r, rho) && same_sign(p->r, tau) && pearson_p < level &&
                spearman_p < level && kendall_p < level,
            "Pearson, Spearman and Kendall agree", "Pearson, Spearman and Kendall do not agree");
}

/* Limits of the lower and upper third of x, of all weeks but one. */
static struct stat_interval thirds_without(struct work *w, size_t week)
{
    const struct pair *p = w->kind;
    char *before = w->tip;
    double *x = work_row(w, p->n);
    size_t n = 0;
    for (size_t i = 0; i < p->n; i++)
        if ((size_t)p->day[i] / WEEK != week) x[n++] = p->x[i];
    w->tip = before;
    stat_sort_in(x, n);
    return (struct stat_interval){stat_quantile_sorted(x, n, 1.0 / 3),
                                  stat_quantile_sorted(x, n, 2.0 / 3)};
}

static void discrimination(struct work *w, struct gate *g)
{
    const struct pair *p = w->kind;
    double *high = work_row(w, p->n), *low = work_row(w, p->n);
    size_t n_high = 0, n_low = 0, week = SIZE_MAX;
    struct stat_interval thirds = {NAN, NAN};
    for (size_t i = 0; i < p->n; i++) {
        size_t this_week = (size_t)p->day[i] / WEEK;
        if (this_week != week) thirds = thirds_without(w, week = this_week);
        if (p->x[i] >= thirds.hi) high[n_high++] = p->y[i];
        else if (p->x[i] <= thirds.lo) low[n_low++] = p->y[i];
    }
    double auc = stat_mann_whitney(high, n_high, low, n_low, work_row(w, 4 * p->n)).auc;
    if (p->r < 0) auc = 1 - auc;
    gate_number(g, "auc", auc);
    gate_number(g, "least_auc", least_auc);
    gate_is(g, auc >= least_auc, "days with much of the one can be told by the other",
            "days with much of the one can hardly be told by the other");
}

const struct kind_rules pair_rules = {
    prepare, {sample_size, construct, effect, bootstrap, subgroups, triangulation, discrimination}};
