/* SPDX-License-Identifier: Apache-2.0 */
/* Trends, correlations, days that stand out, and how values are spread. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/slice.h"
#include "data/plan_impl.h"
#include "stat/moments.h"
#include "stat/order.h"
#include "stat/relation.h"

enum { FEWEST = 3, FEWEST_ANOMALY = 5, ANOMALY_DEFAULT = 20, MAX_BINS = 20 };

static bool has_enough(struct run *r, size_t n, size_t fewest, const char *what)
{
    if (n == 0) return run_refuse_empty(r);
    if (n >= fewest) return true;
    return run_refuse(r, "%s needs %zu values at least; there %s %zu", what, fewest,
                      n == 1 ? "is" : "are", n);
}

/* ---- trend ---- */

void run_trend(struct run *r, const struct points *p)
{
    bool is_robust = r->plan->method == METHOD_THEIL_SEN;
    if (!has_enough(r, p->n, FEWEST, "a trend")) return;
    double *x = run_alloc(r, p->n * sizeof *x);
    double *scratch = is_robust ? run_alloc(r, stat_theil_sen_scratch(p->n) * sizeof *x) : x;
    if (!x || !scratch) return;
    for (size_t i = 0; i < p->n; i++) x[i] = (double)p->days[i];
    struct stat_line line =
        is_robust ? stat_theil_sen(x, p->values, p->n, scratch) : stat_ols(x, p->values, p->n);
    if (isnan(line.slope)) {
        run_refuse(r, "a trend needs values of more than one day");
        return;
    }
    run_answer(r, line.slope * run_days_per(r->plan->per), NUMBER_SLOPE);
}

/* ---- correlation ---- */

/* One value for each day: sessions of one day are added. */
static void join_days(struct points *p)
{
    size_t n = 0;
    for (size_t i = 0; i < p->n; i++) {
        if (n > 0 && p->days[n - 1] == p->days[i]) {
            p->values[n - 1] += p->values[i];
            continue;
        }
        p->days[n] = p->days[i];
        p->values[n++] = p->values[i];
    }
    p->n = n;
}

/* x of a day with y of the day that is `lag` later; both end up at the front of their rows. */
static size_t join_pairs(struct points *x, struct points *y, int32_t lag)
{
    size_t n = 0;
    for (size_t i = 0, j = 0; i < x->n && j < y->n;) {
        int32_t wanted = x->days[i] + lag;
        if (y->days[j] < wanted) {
            j++;
        } else if (y->days[j] > wanted) {
            i++;
        } else {
            x->values[n] = x->values[i++];
            y->values[n++] = y->values[j++];
        }
    }
    return n;
}

static bool is_listed(const char *list, const char *name)
{
    size_t at = 0;
    for (struct weir_slice s = alias_next(list, &at); s.len > 0; s = alias_next(list, &at))
        if (weir_slice_is(s, name)) return true;
    return false;
}

static void note_relation(struct run *r, const struct metric *a, const struct metric *b)
{
    if (!a->of || !is_listed(a->of, b->name)) return;
    run_note(r,
             a->relation == METRIC_PART_OF ? "%s is part of %s, so they go together by themselves"
                                           : "%s is computed from %s, so they go together by "
                                             "themselves",
             a->title, b->title);
}

static double correlation(struct run *r, const double *x, const double *y, size_t n)
{
    double *scratch = run_alloc(r, 4 * n * sizeof *scratch);
    if (!scratch) return NAN;
    if (r->plan->method == METHOD_SPEARMAN) return stat_spearman(x, y, n, scratch);
    if (r->plan->method == METHOD_KENDALL) return stat_kendall(x, y, n, scratch);
    return stat_pearson(x, y, n);
}

void run_correlate(struct run *r, const struct points *p)
{
    struct points x = *p, y;
    int32_t from = r->out->from > r->first ? r->out->from : r->first;
    int32_t to = r->out->to < r->last ? r->out->to : r->last;
    if (!run_gather_metric(r, r->plan->with, from, to, &y)) return;
    if (p->n == 0) {
        run_refuse_empty(r);
        return;
    }
    join_days(&x);
    size_t n = join_pairs(&x, &y, r->plan->lag);
    r->out->n = n;
    if (n < FEWEST) {
        run_refuse(r, "a correlation needs %d days with both values; there %s %zu", FEWEST,
                   n == 1 ? "is" : "are", n);
        return;
    }
    double value = correlation(r, x.values, y.values, n);
    if (isnan(value)) {
        run_refuse(r, "one of the two is the same on all days, so nothing goes with it");
        return;
    }
    run_answer(r, value, NUMBER_PLAIN);
    r->out->unit = r->plan->method == METHOD_KENDALL ? "tau" : "r";
    if (r->plan->subject != PLAN_OF_METRIC) return;
    note_relation(r, r->plan->metric, r->plan->with);
    note_relation(r, r->plan->with, r->plan->metric);
}

/* ---- days that stand out ---- */

static int compare_z(const void *pa, const void *pb)
{
    const struct plan_row *a = pa, *b = pb;
    double x = fabs(a->z), y = fabs(b->z);
    if (x != y) return x > y ? -1 : 1;
    return (a->day > b->day) - (a->day < b->day);
}

void run_anomaly(struct run *r, const struct points *p)
{
    double limit = r->plan->threshold > 0 ? r->plan->threshold : 3.5;
    size_t most = r->plan->limit > 0 ? r->plan->limit : ANOMALY_DEFAULT, n = 0;
    if (!has_enough(r, p->n, FEWEST_ANOMALY, "to tell what stands out")) return;
    double *copy = run_alloc(r, p->n * sizeof *copy);
    struct plan_row *rows = run_rows(r, p->n);
    if (!copy || !rows) return;
    memcpy(copy, p->values, p->n * sizeof *copy);
    double center = stat_median_in(copy, p->n);
    double scale = STAT_MAD_SCALE * stat_mad_in(copy, p->n, center);
    if (!(scale > 0)) {
        run_refuse(r, "more than half of the values are the same, so there is no measure of far");
        return;
    }
    for (size_t i = 0; i < p->n; i++) {
        double z = (p->values[i] - center) / scale;
        if (fabs(z) <= limit) continue;
        rows[n++] = (struct plan_row){p->days[i], NULL, run_shown(r, p->values[i]), 1, z};
    }
    qsort(rows, n, sizeof *rows, compare_z);
    r->out->n_rows = n < most ? n : most;
    if (n > most) run_note(r, "the %zu that stand out most are shown, of %zu", most, n);
    run_answer(r, (double)n, NUMBER_PLAIN);
}

/* ---- spread ---- */

/* A width of 1, 2 or 5 times a power of ten that gives about ten bins. */
static double bin_width(double range)
{
    double rough = range / 10, power = pow(10, floor(log10(rough)));
    double part = rough / power;
    return power * (part < 1.5 ? 1 : part < 3.5 ? 2 : part < 7.5 ? 5 : 10);
}

static size_t put_bins(struct run *r, const double *sorted, size_t n, struct plan_row *rows)
{
    double width = bin_width(sorted[n - 1] - sorted[0]);
    double low = floor(sorted[0] / width) * width;
    size_t n_rows = 0;
    for (size_t i = 0; i < n && n_rows < MAX_BINS; n_rows++) {
        double high = low + width;
        size_t begin = i;
        while (i < n && (sorted[i] < high || n_rows == MAX_BINS - 1)) i++;
        rows[n_rows] =
            (struct plan_row){DAY_NONE, run_text(r, "from %.6g", low), NAN, i - begin, 0};
        rows[n_rows].value = low;
        low = high;
    }
    return n_rows;
}

void run_distribution(struct run *r, const struct points *p)
{
    static const struct {
        const char *key;
        double at;
    } marks[] = {{"min", 0},    {"5%", 0.05},  {"25%", 0.25}, {"median", 0.5},
                 {"75%", 0.75}, {"95%", 0.95}, {"max", 1}};
    enum { N_MARKS = sizeof marks / sizeof *marks };
    if (!has_enough(r, p->n, 2, "a distribution")) return;
    double *sorted = run_alloc(r, p->n * sizeof *sorted);
    struct plan_row *rows = run_rows(r, N_MARKS + MAX_BINS);
    if (!sorted || !rows) return;
    memcpy(sorted, p->values, p->n * sizeof *sorted);
    stat_sort_in(sorted, p->n);
    double median = stat_quantile_sorted(sorted, p->n, 0.5);
    for (size_t i = 0; i < N_MARKS; i++) {
        double value = stat_quantile_sorted(sorted, p->n, marks[i].at);
        rows[i] = (struct plan_row){DAY_NONE, marks[i].key, run_shown(r, value), p->n, 0};
    }
    r->out->n_rows = N_MARKS;
    /* Bins are round in the unit that is shown; times of day have none. */
    if (!r->is_clock && sorted[0] < sorted[p->n - 1]) {
        for (size_t i = 0; i < p->n; i++) sorted[i] = run_shown(r, sorted[i]);
        r->out->n_rows += put_bins(r, sorted, p->n, rows + N_MARKS);
    }
    run_answer(r, median, NUMBER_VALUE);
}
