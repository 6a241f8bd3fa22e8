/* SPDX-License-Identifier: Apache-2.0 */
/* Operations of weir stat on two rows that belong together, day by day. */
#include <math.h>
#include <stdlib.h>

#include "stat/autocorr.h"
#include "stat/monotone.h"
#include "stat/relation.h"
#include "stat_inputs.h"

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

static double kendall_p(struct call *c, struct row x, struct row y)
{
    static const char *const methods[] = {"asymptotic", "exact", NULL};
    if (word_of(c, "p_method", methods) == 0)
        return stat_kendall_p(x.x, y.x, x.n, room(c, 4 * x.n));
    if (x.n > STAT_EXACT_KENDALL) {
        complain(c, "p_method", "exact is for up to 150 pairs");
        return NAN;
    }
    return stat_kendall_exact(x.x, y.x, x.n, room(c, x.n * (x.n + 3)));
}

static void op_kendall(struct call *c)
{
    struct row x, y;
    size_t n = pairs_of(c, 0, &x, &y);
    double tau = stat_kendall(x.x, y.x, n, room(c, 4 * n)), p = kendall_p(c, x, y);
    if (!isnan(tau) && isnan(p)) give_reason(c, "an exact p needs values without ties");
    begin(c);
    put_member(c, "tau", tau);
    put_member(c, "p", p);
    put_member(c, "n", (double)n);
    end(c);
}

enum { LAG_MOST = 1000000 };

static void op_lagged_pearson(struct call *c)
{
    struct row x, y;
    double lag = number(c, "lag");
    if (!(fabs(lag) <= LAG_MOST) || lag != floor(lag)) {
        complain(c, "lag", "has to be a whole number of days");
        lag = 0;
    }
    size_t n = pairs_of(c, (long)lag, &x, &y);
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
    double lag_x = stat_lag1(x.x, n), lag_y = stat_lag1(y.x, n);
    double n_eff =
        isnan(lag_x) || isnan(lag_y) ? NAN : stat_effective_pairs((double)n, lag_x, lag_y);
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
    double unit = 1 / scale_row(y), per = scale_row(x);
    struct stat_fit fit = stat_fit_line(x.x, y.x, n, confidence(c));
    begin(c);
    put_member(c, "slope", fit.line.slope * unit * per);
    put_member(c, "intercept", fit.line.intercept * unit);
    put_member(c, "stderr", fit.stderr_slope * unit * per);
    put_member(c, "r2", fit.r2);
    put_member(c, "p", fit.p);
    put_member(c, "ci_lo", fit.interval.lo * unit * per);
    put_member(c, "ci_hi", fit.interval.hi * unit * per);
    end(c);
}

static int by_x(const void *a, const void *b)
{
    const double *p = a, *q = b;
    return p[0] != q[0] ? (p[0] > q[0]) - (p[0] < q[0]) : (p[1] > q[1]) - (p[1] < q[1]);
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
    double unit = 1 / scale_row(y), per = scale_row(x);
    double *scratch = room(c, stat_theil_sen_scratch(n));
    sort_pairs(c, x, y);
    struct stat_line line = stat_theil_sen(x.x, y.x, n, scratch);
    struct stat_interval i = stat_sen_interval(x.x, y.x, n, confidence(c), scratch);
    begin(c);
    put_member(c, "slope", line.slope * unit * per);
    put_member(c, "intercept", line.intercept * unit);
    put_member(c, "lo", i.lo * unit * per);
    put_member(c, "hi", i.hi * unit * per);
    end(c);
}

const struct stat_op stat_pair_ops[] = {
    {"pearson", "x, y, confidence 0.95", "r, p, n, ci_lo, ci_hi", op_pearson},
    {"spearman", "x, y", "rho, p, n", op_spearman},
    {"kendall_tau_b", "x, y, p_method asymptotic|exact", "tau, p, n", op_kendall},
    {"lagged_pearson", "x, y, lag: y so many days later", "r, p, n_pairs", op_lagged_pearson},
    {"pearson_effective_n", "x, y", "r, p_naive, n_eff, p_adjusted", op_pearson_effective_n},
    {"ols", "x, y, confidence 0.95", "slope, intercept, stderr, r2, p, ci_lo, ci_hi", op_ols},
    {"theil_sen", "x, y, confidence 0.95", "slope, intercept, lo, hi", op_theil_sen},
    {.name = NULL},
};
