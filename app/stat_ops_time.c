/* SPDX-License-Identifier: Apache-2.0 */
/* Operations of weir stat on one row of days in their order. */
#include <math.h>
#include <string.h>

#include "stat/autocorr.h"
#include "stat/moments.h"
#include "stat/monotone.h"
#include "stat_inputs.h"

static void put_mann_kendall(struct call *c, struct stat_mann_kendall r, const char *const *names)
{
    const double values[] = {r.s, r.variance, r.inflation, r.inflation,     r.z,
                             r.p, r.tau,      r.lag1,      r.lag1_corrected};
    static const char *const all[] = {"S", "var_S", "correction",     "inflation",     "z",
                                      "p", "tau_a", "lag1_detrended", "lag1_corrected"};
    if (r.variance < 0) give_reason(c, "the corrected variance is below 0");
    begin(c);
    for (; *names; names++)
        for (size_t i = 0; i < sizeof all / sizeof *all; i++)
            if (strcmp(all[i], *names) == 0) put_member(c, *names, values[i]);
    end(c);
}

static void op_mann_kendall(struct call *c)
{
    struct row r = row_of(c, "x");
    struct stat_mann_kendall m = stat_mann_kendall(r.x, r.n, room(c, 5 * r.n));
    put_mann_kendall(c, m, (const char *const[]){"S", "var_S", "z", "p", "tau_a", NULL});
}

static void op_mann_kendall_ar1(struct call *c)
{
    struct row r = row_of(c, "x");
    scale_row(r);
    double *scratch = room(c, stat_mann_kendall_scratch(r.n));
    struct stat_mann_kendall m = stat_mann_kendall_ar1(r.x, r.n, scratch);
    if (r.n > 2 && m.variance > 0 && isnan(m.lag1))
        give_reason(c, "the values are a straight line, and nothing is left without it");
    put_mann_kendall(c, m,
                     (const char *const[]){"S", "lag1_detrended", "lag1_corrected", "inflation",
                                           "z", "p", NULL});
}

static void op_mann_kendall_hamed_rao(struct call *c)
{
    struct row r = row_of(c, "x");
    double alpha = number_in(c, "alpha", 0.05, 1e-12, 1);
    scale_row(r);
    double *scratch = room(c, stat_mann_kendall_scratch(r.n));
    put_mann_kendall(c, stat_mann_kendall_hamed_rao(r.x, r.n, alpha, scratch),
                     (const char *const[]){"S", "var_S", "correction", "z", "p", NULL});
}

static void op_autocorr_lag1(struct call *c)
{
    struct row r = row_with_gaps(c, "x");
    (void)row_of(c, "x");
    put(c, stat_lag1(r.x, r.n));
}

static void op_autocorrelation(struct call *c)
{
    struct row r = row_with_gaps(c, "x");
    (void)row_of(c, "x");
    put(c, stat_autocorrelation(r.x, r.n, whole_in(c, "lag", 1, 1, 1000000)));
}

static void op_effective_n(struct call *c)
{
    struct row r = row_with_gaps(c, "x"), known = row_of(c, "x");
    double lag1 = stat_lag1(r.x, r.n);
    begin(c);
    put_member(c, "lag1", lag1);
    put_member(c, "n_eff", isnan(lag1) ? NAN : stat_effective_n((double)known.n, lag1));
    end(c);
}

enum { LEAST_EFFECTIVE = 3 };
static const double most_lag1 = 0.9;

/* A group whose number of values is the effective one; on short rows r has a bias to take off. */
static struct stat_group effective_group(struct row r, struct row known, bool is_short)
{
    struct stat_group g = stat_group_of(known.x, known.n);
    double lag1 = stat_lag1(r.x, r.n);
    if (is_short) lag1 = stat_lag1_corrected(lag1, known.n, most_lag1);
    g.n = stat_effective_n(g.n, lag1);
    return g;
}

static void op_mean_ci_effective(struct call *c)
{
    struct row r = row_with_gaps(c, "x"), known = row_of(c, "x");
    double scale = scale_row(r);
    scale_row(known);
    struct stat_group g = effective_group(r, known, false);
    g.n = fmax(g.n, LEAST_EFFECTIVE);
    struct stat_interval i = stat_mean_interval(g, confidence(c));
    begin(c);
    put_member(c, "mean", g.mean / scale);
    put_member(c, "n_eff", known.n > 0 ? g.n : NAN);
    put_interval(c, "lo", "hi", (struct stat_interval){i.lo / scale, i.hi / scale});
    end(c);
}

static void op_welch_effective(struct call *c)
{
    struct row a = row_with_gaps(c, "a"), b = row_with_gaps(c, "b");
    struct row known_a = row_of(c, "a"), known_b = row_of(c, "b");
    double scale = scale_rows(c, a, b);
    scale_rows(c, known_a, known_b);
    center_rows(c, known_a, known_b);
    struct stat_group ga = effective_group(a, known_a, true),
                      gb = effective_group(b, known_b, true);
    struct stat_test t = stat_welch(ga, gb, confidence(c));
    bool has_df = ga.n > 1 && gb.n > 1;
    if (!has_df && known_a.n > 1 && known_b.n > 1)
        give_reason(c, "a group is worth no more than one independent value");
    begin(c);
    put_member(c, "diff", t.estimate / scale);
    put_member(c, "n_eff_a", ga.n);
    put_member(c, "n_eff_b", gb.n);
    put_member(c, "t", t.t);
    put_member(c, "df", has_df ? t.df : NAN);
    put_member(c, "p", has_df ? t.p : NAN);
    end(c);
}

/* ---- weeks ---- */

enum { WEEK_MOST = 1000 };

/* Which places of the week are in group b. */
static void read_positions(struct call *c, size_t week, bool is_b[WEEK_MOST])
{
    struct row positions = row_with_gaps(c, "group_b_positions");
    for (size_t i = 0; i < positions.n; i++) {
        double place = positions.x[i];
        if (place >= 0 && place < (double)week && place == floor(place)) is_b[(size_t)place] = true;
        else complain(c, "group_b_positions", "has to hold places of the week, from 0 on");
    }
}

/* The mean of group b less that of group a in one week; NAN without both. */
static double week_difference(const double *x, size_t week, const bool *is_b)
{
    double group[2][WEEK_MOST];
    size_t n[2] = {0};
    for (size_t i = 0; i < week; i++)
        if (!isnan(x[i])) group[is_b[i]][n[is_b[i]]++] = x[i];
    return stat_mean(group[1], n[1]) - stat_mean(group[0], n[0]);
}

static void op_week_contrast(struct call *c)
{
    struct row r = row_with_gaps(c, "x");
    bool is_b[WEEK_MOST] = {false};
    size_t week = whole_in(c, "week_length", 7, 2, WEEK_MOST), n = 0;
    double *diffs = room(c, r.n), scale = scale_row(r);
    center_rows(c, r, (struct row){NULL, 0});
    read_positions(c, week, is_b);
    for (size_t first = 0; first + week <= r.n; first += week) {
        diffs[n] = week_difference(r.x + first, week, is_b);
        if (!isnan(diffs[n])) n++;
    }
    struct stat_test t = stat_one_sample(stat_group_of(diffs, n), confidence(c));
    if (n < 2) give_reason(c, "there are fewer than 2 whole weeks with both groups");
    if (n >= 2 && !isfinite(t.t)) give_reason(c, "the weeks' differences are all equal");
    if (n >= 2 && isfinite(t.t)) c->reason[0] = '\0';
    begin(c);
    put_member(c, "n_weeks", (double)n);
    put_member(c, "mean_diff", t.estimate / scale);
    put_member(c, "t", t.t);
    put_member(c, "p", t.p);
    end(c);
}

/* ---- rolling means ---- */

/* Sums from the first place of each stretch up to here, or from here to its last. */
struct partial {
    struct stat_adder sum;
    double n;
};

static void add_known(struct partial *p, double x)
{
    if (isnan(x)) return;
    stat_add(&p->sum, x);
    p->n++;
}

static void sum_stretches(struct row r, size_t width, struct partial *heads, struct partial *tails)
{
    for (size_t first = 0; first < r.n; first += width) {
        size_t end = r.n - first < width ? r.n : first + width;
        struct partial head = {0}, tail = {0};
        for (size_t i = first; i < end; i++) {
            add_known(&head, r.x[i]);
            heads[i] = head;
        }
        for (size_t i = end; i-- > first;) {
            add_known(&tail, r.x[i]);
            tails[i] = tail;
        }
    }
}

/*
 * Every window is the tail of one stretch of its length and the head of the next: one addition
 * each, however wide it is, and nothing that is subtracted again.
 */
static void op_rolling_mean(struct call *c)
{
    struct row r = row_with_gaps(c, "x");
    if (!weir_json_get_str(c->inputs, "window")) complain(c, "window", "is missing");
    size_t width = whole_in(c, "window", 7, 1, 1000000000);
    double least = (double)whole_in(c, "min_periods", width, 0, 1000000000);
    double scale = scale_row(r), *means = room(c, r.n);
    struct partial *heads = (struct partial *)(void *)room(c, 3 * r.n);
    struct partial *tails = (struct partial *)(void *)room(c, 3 * r.n);
    sum_stretches(r, width, heads, tails);
    for (size_t i = 0; i < r.n; i++) {
        struct partial window = heads[i];
        if (i >= width && (i + 1) % width != 0) {
            const struct partial *tail = &tails[i + 1 - width];
            stat_add(&window.sum, tail->sum.sum);
            stat_add(&window.sum, tail->sum.lost);
            window.n += tail->n;
        }
        bool is_known = window.n > 0 && window.n >= least;
        means[i] = is_known ? stat_total(&window.sum) / window.n / scale : NAN;
        if (!is_known) give_reason(c, "null where a window has fewer than min_periods values");
    }
    put_row(c, means, r.n);
}

const struct stat_op stat_time_ops[] = {
    {"mann_kendall", "x", "S, var_S, z, p, tau_a", op_mann_kendall},
    {"mann_kendall_ar1", "x", "S, lag1_detrended, lag1_corrected, inflation, z, p",
     op_mann_kendall_ar1},
    {"mann_kendall_hamed_rao", "x, alpha 0.05", "S, var_S, correction, z, p",
     op_mann_kendall_hamed_rao},
    {"autocorr_lag1", "x", "autocorrelation of neighbours", op_autocorr_lag1},
    {"autocorrelation", "x, lag 1", "autocorrelation at a lag", op_autocorrelation},
    {"effective_n_mean", "x", "lag1, n_eff", op_effective_n},
    {"mean_ci_effective_n", "x, confidence 0.95", "mean, n_eff, lo, hi", op_mean_ci_effective},
    {"welch_effective_n", "a, b", "diff, n_eff_a, n_eff_b, t, df, p", op_welch_effective},
    {"week_paired_contrast", "x, group_b_positions, week_length 7", "n_weeks, mean_diff, t, p",
     op_week_contrast},
    {"rolling_mean", "x, window, min_periods window", "mean of each window", op_rolling_mean},
    {.name = NULL},
};
