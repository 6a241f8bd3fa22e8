/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One day that stands out from all others, judged by what is not moved by it. It is compared with
 * days of its own device only.
 */
#include <math.h>

#include "check/gates_impl.h"
#include "stat/moments.h"
#include "stat/order.h"

enum { LEAST_BASELINE = 14 };
static const double least_z = 3.5, fence = 3; /* Tukey's outer fence */
static const double mean_scale = 1.2533;      /* sqrt(pi / 2) */
static const double least_agreement = 0.5;    /* of the distance that another source saw */

struct anomaly {
    double *baseline; /* sorted, without the day in question */
    size_t n;
    double value, center, spread, z;
};

/* Of normal days their standard deviation. Where more than half of them are the same, the mean
 * distance tells what the median distance cannot, and of a constant the device's noise. */
static double spread_of(struct work *w, const struct anomaly *a)
{
    double *distances = work_row(w, a->n);
    for (size_t i = 0; i < a->n; i++) distances[i] = a->baseline[i];
    double spread = STAT_MAD_SCALE * stat_mad_in(distances, a->n, a->center);
    if (spread > 0) return spread;
    spread = mean_scale * stat_mean(distances, a->n);
    return spread > 0 || !w->finding->metric ? spread : w->finding->metric->device_noise;
}

static void prepare(struct work *w)
{
    struct anomaly *a = w->kind = work_room(w, 1, sizeof *a);
    struct days all = w->finding->a;
    size_t index = w->finding->index, change = w->finding->device_change;
    *a = (struct anomaly){.baseline = work_row(w, all.n), .value = NAN};
    for (size_t i = 0; i < all.n; i++) {
        bool is_same_device = (i < change) == (index < change);
        if (i == index) a->value = all.x[i];
        else if (isfinite(all.x[i]) && is_same_device) a->baseline[a->n++] = all.x[i];
    }
    stat_sort_in(a->baseline, a->n);
    a->center = stat_quantile_sorted(a->baseline, a->n, 0.5);
    a->spread = spread_of(w, a);
    a->z = a->spread > 0 ? (a->value - a->center) / a->spread : NAN;
    work_estimate(w, a->value - a->center, NAN);
}

static void sample_size(struct work *w, struct gate *g)
{
    const struct anomaly *a = w->kind;
    gate_number(g, "baseline_days", (double)a->n);
    gate_is(g, a->n >= LEAST_BASELINE && isfinite(a->value), "at least 14 days to compare with",
            a->n < LEAST_BASELINE ? "fewer than 14 days to compare with"
                                  : "there is no value on that day");
}

static void construct(struct work *w, struct gate *g)
{
    const struct anomaly *a = w->kind;
    const struct metric *m = w->finding->metric;
    bool is_not_worn = w->left_out[ROW_A].is_zero_not_worn && a->value == 0;
    gate_number(g, "value", a->value);
    gate_number(g, "possible_from", m ? m->min : NAN);
    gate_number(g, "possible_to", m ? m->max : NAN);
    gate_number(g, "not_worn", is_not_worn ? 1 : 0);
    gate_number(g, "device_change_at", (double)w->finding->device_change);
    gate_is(g, m && !value_is_implausible(m, a->value) && !is_not_worn,
            "the value is a possible one",
            !m            ? "the metric is not known"
            : is_not_worn ? "the device was not worn on that day"
                          : "the value is not a possible one: rather an error of entry");
}

static void effect(struct work *w, struct gate *g)
{
    const struct anomaly *a = w->kind;
    double noise = w->finding->metric->device_noise;
    gate_number(g, "median", a->center);
    gate_number(g, "robust_sd", a->spread);
    gate_number(g, "robust_z", a->z);
    gate_number(g, "least_z", least_z);
    gate_number(g, "device_noise", noise);
    gate_is(g, fabs(a->z) > least_z && fabs(a->value - a->center) > noise,
            "far outside of the usual spread, and more than the device's own error",
            "within the usual spread or the device's own error");
}

/* What another source saw on that day, from its own median; NAN: none, or too few days. */
static double other_distance(struct work *w)
{
    struct days other = w->finding->b;
    size_t index = w->finding->index, n = 0;
    double *x = work_row(w, other.n);
    if (index >= other.n) return NAN;
    for (size_t i = 0; i < other.n; i++)
        if (i != index && isfinite(other.x[i])) x[n++] = other.x[i];
    stat_sort_in(x, n);
    return n >= LEAST_BASELINE && isfinite(other.x[index])
               ? other.x[index] - stat_quantile_sorted(x, n, 0.5)
               : NAN;
}

static void subgroups(struct work *w, struct gate *g)
{
    const struct anomaly *a = w->kind;
    double here = a->value - a->center, there = other_distance(w);
    if (isnan(there)) {
        gate_skip(g, "no other source measured that day");
        return;
    }
    gate_number(g, "distance", here);
    gate_number(g, "distance_of_other_source", there);
    gate_number(g, "needed", least_agreement * here);
    gate_is(g, same_sign(here, there) && fabs(there) >= least_agreement * fabs(here),
            "the other source saw it, too", "the other source did not see it");
}

static void triangulation(struct work *w, struct gate *g)
{
    const struct anomaly *a = w->kind;
    double q1 = stat_quantile_sorted(a->baseline, a->n, 0.25);
    double q3 = stat_quantile_sorted(a->baseline, a->n, 0.75);
    double low = q1 - fence * (q3 - q1), high = q3 + fence * (q3 - q1);
    gate_number(g, "robust_z", a->z);
    gate_number(g, "fence_low", low);
    gate_number(g, "fence_high", high);
    gate_is(g, fabs(a->z) > least_z && (a->value < low || a->value > high),
            "robust z and Tukey's fence agree", "robust z and Tukey's fence do not agree");
}

const struct kind_rules anomaly_rules = {
    prepare, {sample_size, construct, effect, NULL, subgroups, triangulation, NULL}};
