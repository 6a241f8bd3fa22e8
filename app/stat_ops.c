/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operations of weir stat. An operation is a row of the table at the end: it takes its inputs
 * by name and writes its result. What is not defined is written as null.
 */
#include "stat_ops.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "command.h"
#include "stat/adjust.h"
#include "stat/autocorr.h"
#include "stat/circular.h"
#include "stat/dist.h"
#include "stat/infer.h"
#include "stat/moments.h"
#include "stat/monotone.h"
#include "stat/order.h"
#include "stat/rank_test.h"
#include "stat/relation.h"
#include "stat/resample.h"

enum { RESAMPLES = 10000 };

/* ---- inputs ---- */

struct row {
    double *x; /* NAN: missing */
    size_t n;
};

/* The first complaint counts. */
static void complain(struct call *c, const char *name, const char *text)
{
    if (c->complaint[0] == '\0')
        snprintf(c->complaint, sizeof c->complaint, "inputs.%s %s", name, text);
}

static double *room(struct call *c, size_t n)
{
    double *x = arena_alloc(&c->arena, (n + 1) * sizeof *x);
    if (!x) {
        fputs("weir stat: no memory\n", stderr);
        exit(EXIT_FAILED);
    }
    return x;
}

static double number_or(struct call *c, const char *name, double otherwise)
{
    double x = otherwise;
    const struct weir_json *v = weir_json_get_str(c->inputs, name);
    if (v && !weir_json_double(v, &x)) complain(c, name, "has to be a number");
    return x;
}

static double number(struct call *c, const char *name)
{
    if (!weir_json_get_str(c->inputs, name)) complain(c, name, "is missing");
    return number_or(c, name, NAN);
}

/* With its gaps. */
static struct row row_with_gaps(struct call *c, const char *name)
{
    const struct weir_json *list = weir_json_get_str(c->inputs, name);
    struct row r = {NULL, 0};
    if (weir_json_type_of(list) != WEIR_JSON_ARRAY) {
        complain(c, name, "has to be a list of numbers");
        r.x = room(c, 0);
        return r;
    }
    r.x = room(c, weir_json_count(list));
    for (const struct weir_json *v = weir_json_first(list); v; v = weir_json_next(v)) {
        bool is_missing = weir_json_type_of(v) == WEIR_JSON_NULL;
        r.x[r.n] = NAN;
        if (!is_missing && !weir_json_double(v, &r.x[r.n]))
            complain(c, name, "has a member that is neither a number nor null");
        r.n++;
    }
    return r;
}

/* Without them. */
static struct row row_of(struct call *c, const char *name)
{
    struct row r = row_with_gaps(c, name);
    size_t n = 0;
    for (size_t i = 0; i < r.n; i++)
        if (!isnan(r.x[i])) r.x[n++] = r.x[i];
    r.n = n;
    return r;
}

/* x on day t and y on day t+lag, where both are known. */
static size_t pairs_of(struct call *c, int lag, struct row *x, struct row *y)
{
    *x = row_with_gaps(c, "x");
    *y = row_with_gaps(c, "y");
    size_t n = 0;
    struct row px = {room(c, x->n), 0}, py = {room(c, x->n), 0};
    for (size_t i = 0; i < x->n; i++) {
        long j = (long)i + lag;
        if (j < 0 || (size_t)j >= y->n || isnan(x->x[i]) || isnan(y->x[j])) continue;
        px.x[n] = x->x[i];
        py.x[n++] = y->x[j];
    }
    px.n = py.n = n;
    *x = px;
    *y = py;
    return n;
}

static double *copy_of(struct call *c, struct row r)
{
    double *x = room(c, r.n);
    memcpy(x, r.x, r.n * sizeof *x);
    return x;
}

/* ---- results ---- */

static void put(struct call *c, double x)
{
    weir_json_put_double(c->out, x);
}

static void put_member(struct call *c, const char *name, double x)
{
    weir_json_put_key(c->out, name);
    put(c, x);
}

static void begin(struct call *c)
{
    weir_json_put_begin_object(c->out);
}

static void end(struct call *c)
{
    weir_json_put_end_object(c->out);
}

static void put_row(struct call *c, const double *x, size_t n)
{
    weir_json_put_begin_array(c->out);
    for (size_t i = 0; i < n; i++) put(c, x[i]);
    weir_json_put_end_array(c->out);
}

static void put_interval(struct call *c, const char *lo, const char *hi, struct stat_interval i)
{
    put_member(c, lo, i.lo);
    put_member(c, hi, i.hi);
}

static double confidence(struct call *c)
{
    double level = number_or(c, "confidence", 0.95);
    if (!(level > 0 && level < 1)) complain(c, "confidence", "has to be between 0 and 1");
    return level;
}

/* ---- one row ---- */

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

static void op_sd(struct call *c)
{
    struct row r = row_of(c, "x");
    double n = (double)r.n, ddof = number_or(c, "ddof", 1);
    double squares = r.n > 1 ? stat_variance(r.x, r.n) * (n - 1) : r.n == 1 ? 0 : NAN;
    put(c, n > ddof ? sqrt(squares / (n - ddof)) : NAN);
}

static void op_quantile(struct call *c)
{
    struct row r = row_of(c, "x");
    double p = number(c, "p");
    if (!(p >= 0 && p <= 1)) complain(c, "p", "has to be from 0 to 1");
    else put(c, stat_quantile_in(r.x, r.n, p));
}

static double median_of(struct call *c, struct row r)
{
    return stat_median_in(copy_of(c, r), r.n);
}

static double mad_of(struct call *c, struct row r)
{
    return stat_mad_in(copy_of(c, r), r.n, median_of(c, r));
}

static void op_mad(struct call *c)
{
    struct row r = row_of(c, "x");
    put(c, number_or(c, "scale", STAT_MAD_SCALE) * mad_of(c, r));
}

static void op_sem(struct call *c)
{
    struct row r = row_of(c, "x");
    put(c, stat_sd(r.x, r.n) / sqrt((double)r.n));
}

static void op_cv(struct call *c)
{
    struct row r = row_of(c, "x");
    put(c, stat_cv(r.x, r.n));
}

static void op_geometric_mean(struct call *c)
{
    struct row r = row_of(c, "x");
    bool is_positive = true;
    for (size_t i = 0; i < r.n; i++) {
        is_positive = is_positive && r.x[i] > 0;
        r.x[i] = log(r.x[i]);
    }
    put(c, is_positive ? exp(stat_mean(r.x, r.n)) : NAN);
}

static void op_trimmed_mean(struct call *c)
{
    struct row r = row_of(c, "x");
    double share = number_or(c, "proportion", 0.1);
    size_t cut = share >= 0 && share < 0.5 ? (size_t)(share * (double)r.n) : r.n;
    stat_sort_in(r.x, r.n);
    put(c, 2 * cut < r.n ? stat_mean(r.x + cut, r.n - 2 * cut) : NAN);
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
    struct stat_group g = stat_group_of(r.x, r.n);
    begin(c);
    put_member(c, "mean", g.mean);
    put_interval(c, "lo", "hi", stat_mean_interval(g, confidence(c)));
    end(c);
}

static void op_robust_z(struct call *c)
{
    struct row all = row_with_gaps(c, "x"), r = row_of(c, "x");
    double center = median_of(c, r), spread = STAT_MAD_SCALE * mad_of(c, r);
    for (size_t i = 0; i < all.n; i++) all.x[i] = spread > 0 ? (all.x[i] - center) / spread : NAN;
    put_row(c, all.x, all.n);
}

/* Bounds outside of which a value is an anomaly. */
static struct stat_interval anomaly_bounds(struct call *c, struct row r)
{
    struct weir_slice rule = weir_json_text(weir_json_get_str(c->inputs, "rule"));
    double center, reach;
    if (weir_slice_is(rule, "tukey")) {
        double k = number_or(c, "threshold", 1.5);
        double q1 = stat_quantile_in(copy_of(c, r), r.n, 0.25);
        double q3 = stat_quantile_in(copy_of(c, r), r.n, 0.75);
        return (struct stat_interval){q1 - k * (q3 - q1), q3 + k * (q3 - q1)};
    }
    if (weir_slice_is(rule, "z")) {
        center = stat_mean(r.x, r.n);
        reach = number_or(c, "threshold", 3) * stat_sd(r.x, r.n);
    } else {
        if (!weir_slice_is(rule, "robust_z")) complain(c, "rule", "has to be robust_z, z or tukey");
        center = median_of(c, r);
        reach = number_or(c, "threshold", 3.5) * STAT_MAD_SCALE * mad_of(c, r);
    }
    return (struct stat_interval){center - reach, center + reach};
}

static void op_anomalies(struct call *c)
{
    struct row all = row_with_gaps(c, "x"), r = row_of(c, "x");
    struct stat_interval bounds = anomaly_bounds(c, r);
    bool is_flat = !(bounds.hi > bounds.lo);
    begin(c);
    weir_json_put_key(c->out, "indices");
    weir_json_put_begin_array(c->out);
    for (size_t i = 0; i < all.n && !is_flat; i++)
        if (all.x[i] < bounds.lo || all.x[i] > bounds.hi) weir_json_put_uint(c->out, (uint64_t)i);
    weir_json_put_end_array(c->out);
    end(c);
}

static void op_swc(struct call *c)
{
    struct row r = row_of(c, "x");
    put(c, number_or(c, "fraction", 0.2) * stat_sd(r.x, r.n));
}

static void op_circular(struct call *c)
{
    struct row r = row_of(c, "minutes");
    begin(c);
    put_member(c, "mean_minute", stat_circular_mean(r.x, r.n));
    put_member(c, "circular_sd_min", stat_circular_sd(r.x, r.n));
    end(c);
}

static void op_rolling_mean(struct call *c)
{
    struct row r = row_with_gaps(c, "x");
    double window = number(c, "window"), least = number_or(c, "min_periods", window);
    double *means = room(c, r.n);
    if (!(window >= 1)) complain(c, "window", "has to be 1 or more");
    size_t width = window >= 1 && window < 1e9 ? (size_t)window : 1;
    for (size_t i = 0; i < r.n; i++) {
        size_t first = i + 1 > width ? i + 1 - width : 0, n = 0;
        double *known = room(c, width);
        for (size_t j = first; j <= i; j++)
            if (!isnan(r.x[j])) known[n++] = r.x[j];
        means[i] = n > 0 && (double)n >= least ? stat_mean(known, n) : NAN;
    }
    put_row(c, means, r.n);
}

/* ---- distributions and single numbers ---- */

static void op_t_p(struct call *c)
{
    put(c, stat_t_two_sided(number(c, "t"), number(c, "df")));
}

static void op_normal_p(struct call *c)
{
    put(c, stat_normal_two_sided(number(c, "z")));
}

static void op_t_quantile(struct call *c)
{
    put(c, stat_t_quantile(number(c, "p"), number(c, "df")));
}

static void op_normal_quantile(struct call *c)
{
    put(c, stat_normal_quantile(number(c, "p")));
}

static void op_beta(struct call *c)
{
    put(c, stat_beta(number(c, "x"), number(c, "a"), number(c, "b")));
}

static void op_f_p(struct call *c)
{
    put(c, stat_f_upper(number(c, "f"), number(c, "df1"), number(c, "df2")));
}

static void op_mdc95(struct call *c)
{
    double sem = number(c, "sd") * sqrt(1 - number(c, "icc"));
    begin(c);
    put_member(c, "sem", sem);
    put_member(c, "mdc", 1.96 * M_SQRT2 * sem);
    end(c);
}

static void op_rcv(struct call *c)
{
    double cv = hypot(number(c, "cv_analytical"), number(c, "cv_within"));
    put(c, M_SQRT2 * number_or(c, "z", 1.96) * cv);
}

static void op_percent_change(struct call *c)
{
    double from = number(c, "from"), to = number(c, "to");
    put(c, from != 0 ? 100 * (to - from) / from : NAN);
}

static void op_trace_number(struct call *c)
{
    struct row ledger = row_of(c, "ledger");
    double value = number(c, "value");
    double rel = number_or(c, "rel", 0.02), abs = number_or(c, "abs", 0.05);
    bool has_home = false;
    for (size_t i = 0; i < ledger.n; i++) {
        double off = fabs(value - ledger.x[i]);
        has_home = has_home || off <= abs || off <= rel * fabs(ledger.x[i]);
    }
    weir_json_put_bool(c->out, has_home);
}

/* ---- two rows ---- */

static void op_pearson(struct call *c)
{
    struct row x, y;
    size_t n = pairs_of(c, 0, &x, &y);
    double r = stat_pearson(x.x, y.x, n);
    begin(c);
    put_member(c, "r", r);
    put_member(c, "p", stat_correlation_p(r, (double)n));
    put_member(c, "n", (double)n);
    put_interval(c, "ci_lo", "ci_hi", stat_correlation_interval(r, (double)n, confidence(c)));
    end(c);
}

static void op_spearman(struct call *c)
{
    struct row x, y;
    size_t n = pairs_of(c, 0, &x, &y);
    double rho = stat_spearman(x.x, y.x, n, room(c, 4 * n));
    begin(c);
    put_member(c, "rho", rho);
    put_member(c, "p", stat_correlation_p(rho, (double)n));
    put_member(c, "n", (double)n);
    end(c);
}

static void op_kendall(struct call *c)
{
    struct row x, y;
    size_t n = pairs_of(c, 0, &x, &y);
    begin(c);
    put_member(c, "tau", stat_kendall(x.x, y.x, n, room(c, 4 * n)));
    put_member(c, "p", stat_kendall_p(x.x, y.x, n, room(c, 4 * n)));
    put_member(c, "n", (double)n);
    end(c);
}

static void op_lagged_pearson(struct call *c)
{
    struct row x, y;
    double lag = number(c, "lag");
    size_t n = pairs_of(c, fabs(lag) < 1e6 ? (int)lag : 0, &x, &y);
    double r = stat_pearson(x.x, y.x, n);
    begin(c);
    put_member(c, "r", r);
    put_member(c, "p", stat_correlation_p(r, (double)n));
    put_member(c, "n_pairs", (double)n);
    end(c);
}

static void op_pearson_effective_n(struct call *c)
{
    struct row x, y;
    size_t n = pairs_of(c, 0, &x, &y);
    double r = stat_pearson(x.x, y.x, n);
    double n_eff = stat_effective_pairs((double)n, stat_lag1(x.x, n), stat_lag1(y.x, n));
    begin(c);
    put_member(c, "r", r);
    put_member(c, "p_naive", stat_correlation_p(r, (double)n));
    put_member(c, "n_eff", n_eff);
    put_member(c, "p_adjusted", stat_correlation_p(r, n_eff));
    end(c);
}

static void op_ols(struct call *c)
{
    struct row x, y;
    size_t n = pairs_of(c, 0, &x, &y);
    struct stat_fit fit = stat_fit_line(x.x, y.x, n, confidence(c));
    begin(c);
    put_member(c, "slope", fit.line.slope);
    put_member(c, "intercept", fit.line.intercept);
    put_member(c, "stderr", fit.stderr_slope);
    put_member(c, "r2", fit.r2);
    put_member(c, "p", fit.p);
    put_interval(c, "ci_lo", "ci_hi", fit.interval);
    end(c);
}

static int by_x(const void *a, const void *b)
{
    const double *p = a, *q = b;
    return (p[0] > q[0]) - (p[0] < q[0]);
}

/* Theil and Sen want x to rise. */
static void sort_pairs(struct call *c, struct row x, struct row y)
{
    double *both = room(c, 2 * x.n);
    for (size_t i = 0; i < x.n; i++) {
        both[2 * i] = x.x[i];
        both[2 * i + 1] = y.x[i];
    }
    qsort(both, x.n, 2 * sizeof *both, by_x);
    for (size_t i = 0; i < x.n; i++) {
        x.x[i] = both[2 * i];
        y.x[i] = both[2 * i + 1];
    }
}

static void op_theil_sen(struct call *c)
{
    struct row x, y;
    size_t n = pairs_of(c, 0, &x, &y);
    double *scratch = room(c, stat_theil_sen_scratch(n));
    sort_pairs(c, x, y);
    struct stat_line line = stat_theil_sen(x.x, y.x, n, scratch);
    begin(c);
    put_member(c, "slope", line.slope);
    put_member(c, "intercept", line.intercept);
    put_interval(c, "lo", "hi", stat_sen_interval(x.x, y.x, n, confidence(c), scratch));
    end(c);
}

/* ---- rows in time ---- */

static void put_mann_kendall(struct call *c, struct stat_mann_kendall r, const char *const *names)
{
    const double values[] = {r.s, r.variance, r.inflation, r.z,
                             r.p, r.tau,      r.lag1,      r.lag1_corrected};
    static const char *const all[] = {"S", "var_S", "correction",     "z",
                                      "p", "tau_a", "lag1_detrended", "lag1_corrected"};
    begin(c);
    for (; *names; names++) {
        const char *as = strcmp(*names, "inflation") == 0 ? "correction" : *names;
        for (size_t i = 0; i < sizeof all / sizeof *all; i++)
            if (strcmp(all[i], as) == 0) put_member(c, *names, values[i]);
    }
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
    double *scratch = room(c, stat_mann_kendall_scratch(r.n));
    put_mann_kendall(c, stat_mann_kendall_ar1(r.x, r.n, scratch),
                     (const char *const[]){"S", "lag1_detrended", "lag1_corrected", "inflation",
                                           "z", "p", NULL});
}

static void op_mann_kendall_hamed_rao(struct call *c)
{
    struct row r = row_of(c, "x");
    double *scratch = room(c, stat_mann_kendall_scratch(r.n));
    put_mann_kendall(c, stat_mann_kendall_hamed_rao(r.x, r.n, number_or(c, "alpha", 0.05), scratch),
                     (const char *const[]){"S", "var_S", "correction", "z", "p", NULL});
}

static void op_autocorr(struct call *c)
{
    struct row r = row_with_gaps(c, "x");
    put(c, stat_lag1(r.x, r.n));
}

static void op_effective_n(struct call *c)
{
    struct row r = row_with_gaps(c, "x"), known = row_of(c, "x");
    double lag1 = stat_lag1(r.x, r.n);
    begin(c);
    put_member(c, "lag1", lag1);
    put_member(c, "n_eff", stat_effective_n((double)known.n, lag1));
    end(c);
}

enum { LEAST_EFFECTIVE = 3 };
static const double most_lag1 = 0.9;

/* A group whose number of values is the effective one; on short rows r has a bias to take off. */
static struct stat_group effective_group(struct call *c, const char *name, bool is_short)
{
    struct row r = row_with_gaps(c, name), known = row_of(c, name);
    struct stat_group g = stat_group_of(known.x, known.n);
    double lag1 = stat_lag1(r.x, r.n);
    if (is_short) lag1 = stat_lag1_corrected(lag1, known.n, most_lag1);
    g.n = stat_effective_n(g.n, lag1);
    return g;
}

static void op_mean_ci_effective(struct call *c)
{
    struct stat_group g = effective_group(c, "x", false);
    g.n = fmax(g.n, LEAST_EFFECTIVE);
    begin(c);
    put_member(c, "mean", g.mean);
    put_member(c, "n_eff", g.n);
    put_interval(c, "lo", "hi", stat_mean_interval(g, confidence(c)));
    end(c);
}

static void op_welch_effective(struct call *c)
{
    struct stat_group a = effective_group(c, "a", true), b = effective_group(c, "b", true);
    struct stat_test t = stat_welch(a, b, confidence(c));
    begin(c);
    put_member(c, "diff", t.estimate);
    put_member(c, "n_eff_a", a.n);
    put_member(c, "n_eff_b", b.n);
    put_member(c, "t", t.t);
    put_member(c, "df", t.df);
    put_member(c, "p", t.p);
    end(c);
}

/* Whether a place of the week is in group b. */
static bool is_in(struct row positions, size_t place)
{
    for (size_t i = 0; i < positions.n; i++)
        if (positions.x[i] == (double)place) return true;
    return false;
}

static void op_week_contrast(struct call *c)
{
    struct row r = row_with_gaps(c, "x"), positions = row_of(c, "group_b_positions");
    double length = number_or(c, "week_length", 7);
    size_t week = length >= 2 && length < 1000 ? (size_t)length : 7, n = 0;
    double *diffs = room(c, r.n);
    for (size_t first = 0; first + week <= r.n; first += week) {
        double sum[2] = {0}, count[2] = {0};
        for (size_t i = 0; i < week; i++) {
            if (isnan(r.x[first + i])) continue;
            bool is_b = is_in(positions, i);
            sum[is_b] += r.x[first + i];
            count[is_b]++;
        }
        if (count[0] > 0 && count[1] > 0) diffs[n++] = sum[1] / count[1] - sum[0] / count[0];
    }
    struct stat_test t = stat_one_sample(stat_group_of(diffs, n), confidence(c));
    begin(c);
    put_member(c, "n_weeks", (double)n);
    put_member(c, "mean_diff", t.estimate);
    put_member(c, "t", t.t);
    put_member(c, "p", t.p);
    end(c);
}

/* ---- two groups ---- */

static void op_welch(struct call *c)
{
    struct row a = row_of(c, "a"), b = row_of(c, "b");
    struct stat_test t =
        stat_welch(stat_group_of(a.x, a.n), stat_group_of(b.x, b.n), confidence(c));
    begin(c);
    put_member(c, "diff", t.estimate);
    put_member(c, "t", t.t);
    put_member(c, "df", t.df);
    put_member(c, "p", t.p);
    put_interval(c, "ci_lo", "ci_hi", t.interval);
    end(c);
}

static void op_paired_t(struct call *c)
{
    struct row d = row_of(c, "d");
    struct stat_test t = stat_one_sample(stat_group_of(d.x, d.n), confidence(c));
    begin(c);
    put_member(c, "mean", t.estimate);
    put_member(c, "t", t.t);
    put_member(c, "df", t.df);
    put_member(c, "p", t.p);
    put_interval(c, "ci_lo", "ci_hi", t.interval);
    end(c);
}

static void op_mann_whitney(struct call *c)
{
    struct row a = row_of(c, "a"), b = row_of(c, "b");
    struct stat_mann_whitney m = stat_mann_whitney(a.x, a.n, b.x, b.n, room(c, 4 * (a.n + b.n)));
    begin(c);
    put_member(c, "U_a", m.u);
    put_member(c, "p", m.p);
    put_member(c, "auc", m.auc);
    put_member(c, "cliffs_delta", m.delta);
    end(c);
}

static void op_effect_size(struct call *c)
{
    struct row a = row_of(c, "a"), b = row_of(c, "b");
    struct stat_group ga = stat_group_of(a.x, a.n), gb = stat_group_of(b.x, b.n);
    begin(c);
    put_member(c, "cohen_d", stat_cohen_d(ga, gb));
    put_member(c, "hedges_g", stat_hedges_g(ga, gb));
    end(c);
}

static void op_wilcoxon(struct call *c)
{
    struct row d = row_of(c, "d");
    struct stat_wilcoxon w = stat_wilcoxon(d.x, d.n, room(c, 5 * d.n));
    begin(c);
    put_member(c, "W_min", w.w);
    put_member(c, "p", w.p);
    end(c);
}

static void op_auc(struct call *c)
{
    struct row score = row_with_gaps(c, "score"), label = row_with_gaps(c, "label");
    double *a = room(c, score.n), *b = room(c, score.n);
    size_t na = 0, nb = 0;
    for (size_t i = 0; i < score.n && i < label.n; i++) {
        if (isnan(score.x[i]) || isnan(label.x[i])) continue;
        if (label.x[i] > 0) a[na++] = score.x[i];
        else b[nb++] = score.x[i];
    }
    put(c, stat_mann_whitney(a, na, b, nb, room(c, 4 * (na + nb))).auc);
}

/* The same inputs give the same draws. */
static struct stat_random random_of(struct call *c)
{
    return stat_random_of((uint64_t)number_or(c, "seed", 1), 0);
}

static void op_permutation(struct call *c)
{
    struct row a = row_of(c, "a"), b = row_of(c, "b");
    struct stat_random random = random_of(c);
    struct stat_permutation p = stat_permutation(&random, a.x, a.n, b.x, b.n, room(c, a.n + b.n));
    begin(c);
    put_member(c, "diff", p.difference);
    put_member(c, "p", p.p);
    put_member(c, "n_permutations", (double)p.n);
    weir_json_put_key(c->out, "is_exact");
    weir_json_put_bool(c->out, p.is_exact);
    end(c);
}

struct sample {
    struct row x, y;
    double *drawn_x, *drawn_y;
};

static double drawn_mean(void *user, const size_t *places)
{
    struct sample *s = user;
    for (size_t i = 0; i < s->x.n; i++) s->drawn_x[i] = s->x.x[places[i]];
    return stat_mean(s->drawn_x, s->x.n);
}

static double drawn_median(void *user, const size_t *places)
{
    struct sample *s = user;
    (void)drawn_mean(user, places);
    return stat_median_in(s->drawn_x, s->x.n);
}

static double drawn_difference(void *user, const size_t *places)
{
    struct sample *s = user;
    double mean = drawn_mean(user, places);
    for (size_t i = 0; i < s->y.n; i++) s->drawn_y[i] = s->y.x[places[s->x.n + i]];
    return mean - stat_mean(s->drawn_y, s->y.n);
}

static double drawn_pearson(void *user, const size_t *places)
{
    struct sample *s = user;
    for (size_t i = 0; i < s->x.n; i++) {
        s->drawn_x[i] = s->x.x[places[i]];
        s->drawn_y[i] = s->y.x[places[i]];
    }
    return stat_pearson(s->drawn_x, s->drawn_y, s->x.n);
}

static const struct {
    const char *name;
    stat_of_places_fn function;
    bool has_groups, has_pairs;
} bootstraps[] = {
    {"mean", drawn_mean, false, false},
    {"median", drawn_median, false, false},
    {"mean_difference", drawn_difference, true, false},
    {"pearson_r", drawn_pearson, false, true},
};

static void op_bootstrap(struct call *c)
{
    struct weir_slice name = weir_json_text(weir_json_get_str(c->inputs, "statistic"));
    size_t kind = 0, n_kinds = sizeof bootstraps / sizeof *bootstraps;
    while (kind < n_kinds && !weir_slice_is(name, bootstraps[kind].name)) kind++;
    if (kind == n_kinds) {
        complain(c, "statistic", "has to be mean, median, mean_difference or pearson_r");
        return;
    }
    struct sample s = {0};
    if (bootstraps[kind].has_pairs) pairs_of(c, 0, &s.x, &s.y);
    else s.x = row_of(c, bootstraps[kind].has_groups ? "a" : "x");
    if (bootstraps[kind].has_groups) s.y = row_of(c, "b");
    s.drawn_x = room(c, s.x.n);
    s.drawn_y = room(c, s.y.n);
    double least = number_or(c, "min_iterations", RESAMPLES);
    struct stat_random random = random_of(c);
    struct stat_resampling how = {.random = &random,
                                  .n = s.x.n,
                                  .n2 = bootstraps[kind].has_groups ? s.y.n : 0,
                                  .block = (size_t)fmax(number_or(c, "block", 1), 1),
                                  .times =
                                      least > RESAMPLES && least < 1e6 ? (size_t)least : RESAMPLES,
                                  .confidence = confidence(c)};
    how.places = (size_t *)(void *)room(c, how.n + how.n2);
    how.values = room(c, how.times);
    struct stat_bootstrap b = stat_bootstrap(&how, bootstraps[kind].function, &s);
    begin(c);
    put_interval(c, "ci_low", "ci_high", b.interval);
    put_member(c, "boot_median", b.median);
    put_member(c, "n_resamples", (double)b.n);
    end(c);
}

/* ---- many tests ---- */

static void adjust_with(struct call *c, void (*adjust)(double *, size_t, double *))
{
    struct row p = row_of(c, "p");
    adjust(p.x, p.n, room(c, 2 * p.n));
    put_row(c, p.x, p.n);
}

static void op_bh(struct call *c)
{
    adjust_with(c, stat_adjust_bh);
}

static void op_by(struct call *c)
{
    adjust_with(c, stat_adjust_by);
}

static void op_holm(struct call *c)
{
    adjust_with(c, stat_adjust_holm);
}

/* ---- the table ---- */

static const struct {
    const char *name;
    void (*run)(struct call *c);
} ops[] = {
    {"mean", op_mean},
    {"median", op_median},
    {"sd", op_sd},
    {"quantile_type7", op_quantile},
    {"mad", op_mad},
    {"sem", op_sem},
    {"cv_percent", op_cv},
    {"geometric_mean", op_geometric_mean},
    {"trimmed_mean", op_trimmed_mean},
    {"mean_ignore_missing", op_mean_ignore_missing},
    {"mean_ci_t", op_mean_ci},
    {"t_two_sided_p", op_t_p},
    {"normal_two_sided_p", op_normal_p},
    {"t_quantile", op_t_quantile},
    {"normal_quantile", op_normal_quantile},
    {"f_upper_p", op_f_p},
    {"regularised_incomplete_beta", op_beta},
    {"pearson", op_pearson},
    {"spearman", op_spearman},
    {"kendall_tau_b", op_kendall},
    {"lagged_pearson", op_lagged_pearson},
    {"pearson_effective_n", op_pearson_effective_n},
    {"ols", op_ols},
    {"theil_sen", op_theil_sen},
    {"mann_kendall", op_mann_kendall},
    {"mann_kendall_ar1", op_mann_kendall_ar1},
    {"mann_kendall_hamed_rao", op_mann_kendall_hamed_rao},
    {"welch_t", op_welch},
    {"welch_effective_n", op_welch_effective},
    {"paired_t", op_paired_t},
    {"mann_whitney", op_mann_whitney},
    {"effect_size", op_effect_size},
    {"wilcoxon_signed_rank", op_wilcoxon},
    {"permutation_mean_diff_exact", op_permutation},
    {"bootstrap_ci_range", op_bootstrap},
    {"auc", op_auc},
    {"bh_adjust", op_bh},
    {"benjamini_yekutieli_adjust", op_by},
    {"holm_adjust", op_holm},
    {"autocorr_lag1", op_autocorr},
    {"effective_n_mean", op_effective_n},
    {"mean_ci_effective_n", op_mean_ci_effective},
    {"week_paired_contrast", op_week_contrast},
    {"robust_z", op_robust_z},
    {"anomalies", op_anomalies},
    {"mdc95", op_mdc95},
    {"swc", op_swc},
    {"rcv_percent", op_rcv},
    {"circular_clock_mean", op_circular},
    {"rolling_mean", op_rolling_mean},
    {"percent_change", op_percent_change},
    {"trace_number", op_trace_number},
};

enum { N_OPS = sizeof ops / sizeof *ops };

const char *stat_op_name(size_t i)
{
    return i < N_OPS ? ops[i].name : NULL;
}

void stat_op_run(struct call *c, struct weir_slice name)
{
    for (size_t i = 0; i < N_OPS; i++) {
        if (!weir_slice_is(name, ops[i].name)) continue;
        ops[i].run(c);
        return;
    }
    snprintf(c->complaint, sizeof c->complaint, "there is no such op; weir stat --ops lists them");
}
