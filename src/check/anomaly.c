/* SPDX-License-Identifier: Apache-2.0 */
/* One day that stands out from all others, judged by what is not moved by it. */
#include <math.h>

#include "check/gates_impl.h"
#include "stat/moments.h"
#include "stat/order.h"

enum { LEAST_BASELINE = 14 };
static const double least_z = 3.5, fence = 3; /* Tukey's outer fence */
static const double mean_scale = 1.2533;      /* sqrt(pi / 2) */

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
    *a = (struct anomaly){.baseline = work_row(w, all.n), .value = NAN};
    for (size_t i = 0; i < all.n; i++) {
        if (i == w->finding->index) a->value = all.x[i];
        else if (isfinite(all.x[i])) a->baseline[a->n++] = all.x[i];
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
            "fewer than 14 days to compare with, or no value");
}

static void construct(struct work *w, struct gate *g)
{
    const struct anomaly *a = w->kind;
    const struct metric *m = w->finding->metric;
    gate_number(g, "value", a->value);
    gate_is(g, m && a->value >= m->min && a->value <= m->max, "the value is a possible one",
            m ? "the value is not a possible one: rather an error of entry"
              : "the metric is not known");
}

static void effect(struct work *w, struct gate *g)
{
    const struct anomaly *a = w->kind;
    double noise = w->finding->metric->device_noise;
    gate_number(g, "median", a->center);
    gate_number(g, "robust_sd", a->spread);
    gate_number(g, "robust_z", a->z);
    gate_number(g, "device_noise", noise);
    gate_is(g, fabs(a->z) > least_z && fabs(a->value - a->center) > noise,
            "far outside of the usual spread, and more than the device's own error",
            "within the usual spread or the device's own error");
}

static void subgroups(struct work *w, struct gate *g)
{
    (void)w;
    gate_skip(g, "no other source measured that day");
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
