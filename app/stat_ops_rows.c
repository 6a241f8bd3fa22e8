/* SPDX-License-Identifier: Apache-2.0 */
/* Operations of weir stat on one row of values, whose order does not matter. */
#include <math.h>

#include "stat/change.h"
#include "stat/circular.h"
#include "stat/moments.h"
#include "stat/order.h"
#include "stat_inputs.h"

static void op_mean(struct call *c)
{
    struct row r = row_of(c, "x");
    put(c, stat_mean(r.x, r.n));
}

static void op_median(struct call *c)
{
    struct row r = row_of(c, "x");
    put(c, stat_median_in(r.x, r.n));
}

static double sd_with(struct row r, double ddof)
{
    double n = (double)r.n;
    if (!(n > ddof)) return NAN;
    return r.n == 1 ? 0 : stat_sd(r.x, r.n) * sqrt((n - 1) / (n - ddof));
}

static void op_sd(struct call *c)
{
    struct row r = row_of(c, "x");
    put(c, sd_with(r, number_in(c, "ddof", 1, 0, 1e9)));
}

static void op_moments(struct call *c)
{
    struct row r = row_of(c, "x");
    struct stat_shape shape = stat_shape(r.x, r.n);
    begin(c);
    put_member(c, "n", (double)r.n);
    put_member(c, "mean", stat_mean(r.x, r.n));
    put_member(c, "variance", stat_variance(r.x, r.n));
    put_member(c, "sd", stat_sd(r.x, r.n));
    put_member(c, "skewness", shape.skewness);
    put_member(c, "excess_kurtosis", shape.excess_kurtosis);
    put_member(c, "min", stat_min(r.x, r.n));
    put_member(c, "max", stat_max(r.x, r.n));
    end(c);
}

static void op_quantile(struct call *c)
{
    struct row r = row_of(c, "x");
    put(c, stat_quantile_in(r.x, r.n, probability(c, "p")));
}

static void op_mad(struct call *c)
{
    struct row r = row_of(c, "x");
    double center = stat_median_in(r.x, r.n);
    put(c, number_or(c, "scale", STAT_MAD_SCALE) * stat_mad_in(r.x, r.n, center));
}

static void op_sem(struct call *c)
{
    struct row r = row_of(c, "x");
    put(c, stat_sd(r.x, r.n) / sqrt((double)r.n));
}

static void op_cv(struct call *c)
{
    struct row r = row_of(c, "x");
    if (stat_mean(r.x, r.n) == 0) give_reason(c, "the mean is 0");
    put(c, stat_cv(r.x, r.n));
}

static void op_geometric_mean(struct call *c)
{
    struct row r = row_of(c, "x");
    bool is_positive = !(stat_min(r.x, r.n) <= 0);
    if (!is_positive) give_reason(c, "x has a value that is not above 0");
    for (size_t i = 0; i < r.n; i++) r.x[i] = log(r.x[i]);
    put(c, is_positive ? exp(stat_mean(r.x, r.n)) : NAN);
}

static void op_trimmed_mean(struct call *c)
{
    struct row r = row_of(c, "x");
    double share = number_or(c, "proportion", 0.1);
    if (!(share >= 0 && share < 0.5)) {
        complain(c, "proportion", "has to be from 0 to below 0.5");
        return;
    }
    put(c, stat_trimmed_mean_in(r.x, r.n, share));
}

static void op_mean_ignore_missing(struct call *c)
{
    struct row all = row_with_gaps(c, "x"), r = row_of(c, "x");
    begin(c);
    put_member(c, "mean", stat_mean(r.x, r.n));
    put_member(c, "n", (double)r.n);
    put_member(c, "n_missing", (double)(all.n - r.n));
    end(c);
}

static void op_mean_ci(struct call *c)
{
    struct row r = row_of(c, "x");
    double scale = scale_row(r);
    struct stat_group g = stat_group_of(r.x, r.n);
    struct stat_interval i = stat_mean_interval(g, confidence(c));
    begin(c);
    put_member(c, "mean", g.mean / scale);
    put_interval(c, "lo", "hi", (struct stat_interval){i.lo / scale, i.hi / scale});
    end(c);
}

/* Distances from a center in units of a spread; all NAN, with a reason, when that is 0. */
static void standardise(struct call *c, struct row r, struct stat_robust by)
{
    if (by.spread == 0) give_reason(c, "the deviation is 0");
    for (size_t i = 0; i < r.n; i++) r.x[i] = stat_robust_z(by, r.x[i]);
}

static void to_robust_z(struct call *c, struct row all, struct row r)
{
    standardise(c, all, stat_robust_in(copy_of(c, r), r.n));
}

static void op_robust_z(struct call *c)
{
    struct row all = row_with_gaps(c, "x"), r = row_of(c, "x");
    scale_row(all);
    scale_row(r);
    to_robust_z(c, all, r);
    put_row(c, all.x, all.n);
}

/* Tukey's fences: distances from the quarter that is nearer, in units of what is between them. */
static void mark_beyond_fences(struct call *c, struct row all, struct row r)
{
    double k = number_in(c, "threshold", 1.5, 0, 1e9);
    double q1 = stat_quantile_in(copy_of(c, r), r.n, 0.25);
    double q3 = stat_quantile_in(copy_of(c, r), r.n, 0.75), reach = k * (q3 - q1);
    for (size_t i = 0; i < all.n; i++)
        all.x[i] = all.x[i] < q1 - reach || all.x[i] > q3 + reach ? 1 : 0;
}

/* 1 for a value that stands out, else 0. */
static void mark_anomalies(struct call *c, struct row all, struct row r)
{
    static const char *const rules[] = {"robust_z", "z", "tukey", "iqr", NULL};
    size_t rule = word_of(c, "rule", rules);
    if (rule >= 2) {
        mark_beyond_fences(c, all, r);
        return;
    }
    double limit = number_in(c, "threshold", rule == 0 ? 3.5 : 3, 0, 1e9);
    if (rule == 0) to_robust_z(c, all, r);
    else standardise(c, all, (struct stat_robust){stat_mean(r.x, r.n), stat_sd(r.x, r.n)});
    for (size_t i = 0; i < all.n; i++) all.x[i] = fabs(all.x[i]) > limit ? 1 : 0;
}

static void op_anomalies(struct call *c)
{
    struct row all = row_with_gaps(c, "x"), r = row_of(c, "x");
    scale_row(all);
    scale_row(r);
    mark_anomalies(c, all, r);
    begin(c);
    weir_json_put_key(c->out, "indices");
    weir_json_put_begin_array(c->out);
    for (size_t i = 0; i < all.n; i++)
        if (all.x[i] > 0) weir_json_put_uint(c->out, (uint64_t)i);
    weir_json_put_end_array(c->out);
    end(c);
}

static void op_swc(struct call *c)
{
    struct row r = row_of(c, "x");
    put(c, stat_swc(stat_sd(r.x, r.n), number_in(c, "fraction", 0.2, 0, 1e9)));
}

static void op_circular(struct call *c)
{
    struct row r = row_of(c, "minutes");
    if (r.n > 1) give_reason(c, "the times cancel out");
    double mean = stat_circular_mean(r.x, r.n);
    if (!isnan(mean)) c->reason[0] = '\0';
    begin(c);
    put_member(c, "mean_minute", mean);
    put_member(c, "circular_sd_min", stat_circular_sd(r.x, r.n));
    end(c);
}

const struct stat_op stat_row_ops[] = {
    {"mean", "x", "mean", op_mean},
    {"median", "x", "median", op_median},
    {"sd", "x, ddof 1", "standard deviation", op_sd},
    {"moments", "x", "n, mean, variance, sd, skewness, excess_kurtosis, min, max", op_moments},
    {"quantile_type7", "x, p", "quantile, linear at place (n-1)p", op_quantile},
    {"mad", "x, scale 1.4826", "median distance from the median, scaled", op_mad},
    {"sem", "x", "standard error of the mean", op_sem},
    {"cv_percent", "x", "sd in percent of the mean", op_cv},
    {"geometric_mean", "x", "geometric mean", op_geometric_mean},
    {"trimmed_mean", "x, proportion 0.1", "mean without that share at each end", op_trimmed_mean},
    {"mean_ignore_missing", "x", "mean, n, n_missing", op_mean_ignore_missing},
    {"mean_ci_t", "x, confidence 0.95", "mean, lo, hi", op_mean_ci},
    {"robust_z", "x", "(x - median) / (1.4826 MAD) of each", op_robust_z},
    {"anomalies", "x, rule robust_z|z|tukey, threshold 3.5, 3, 1.5", "indices", op_anomalies},
    {"swc", "x, fraction 0.2", "smallest worthwhile change: fraction of the sd", op_swc},
    {"circular_clock_mean", "minutes", "mean_minute, circular_sd_min", op_circular},
    {.name = NULL},
};
