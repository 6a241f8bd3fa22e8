/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The days behind a claim as rows, one place for each day. They come from a plan that lists them,
 * so that windows, conditions and what is fit to be used mean here what they mean for the answer.
 * A day that was not over is left out where the metric is a sum of the day.
 */
#include <math.h>
#include <string.h>

#include "agent/finding.h"
#include "stat/circular.h"

enum {
    LEAST_OF_DEVICE = 5, /* days on each side of a change of device */
};
static const double least_agreement = 0.9; /* of the days with their side's device */

/* ---- values by day ---- */

/* What several sessions of a day come to. */
static bool adds_up(enum plan_field field)
{
    return field != FIELD_AVG_HR && field != FIELD_MAX_HR && field != FIELD_PACE &&
           field != FIELD_SPEED;
}

static void plan_days(struct plan *list, const struct rows_wish *wish)
{
    plan_init(list);
    list->op = PLAN_LIST;
    list->subject = wish->plan->subject;
    list->activity = wish->plan->activity;
    list->field = wish->plan->field;
    list->metric = wish->metric;
    if (wish->metric) list->subject = PLAN_OF_METRIC;
    list->window = *wish->window;
    if (wish->where) list->where = *wish->where;
    list->limit = PLAN_ROWS;
    list->descending = true; /* of too many the newest */
}

static void find_range(struct day_rows *out, const struct rows_wish *wish,
                       const struct plan_answer *days, int32_t first, int32_t newest)
{
    int32_t oldest_row = days->rows[0].day, newest_row = oldest_row;
    bool is_relative = wish->window->last > 0;
    /* Sessions are in the order of their moments, which is not always that of local days. */
    for (size_t i = 1; i < days->n_rows; i++) {
        int32_t day = days->rows[i].day;
        if (day < oldest_row) oldest_row = day;
        if (day > newest_row) newest_row = day;
    }
    out->from = wish->from;
    out->to = wish->to;
    if (!is_relative && wish->window->from == DAY_NONE) out->from = oldest_row;
    if (!is_relative && wish->window->to == DAY_NONE) out->to = newest_row;
    /* Before and behind all data there is nothing that could be missing. */
    if (first > oldest_row) first = oldest_row;
    if (newest < newest_row) newest = newest_row;
    if (out->from < first) out->from = first;
    if (out->to > newest) out->to = newest;
    if (newest_row - out->from >= PLAN_ROWS && out->from < oldest_row) out->from = oldest_row;
    out->n = (size_t)(out->to - out->from) + 1;
}

static void fill_values(struct day_rows *out, const struct plan_answer *days,
                        const struct rows_wish *wish)
{
    bool is_mean = !wish->metric && !adds_up(wish->plan->field);
    size_t n_same = 0;
    for (size_t i = 0; i < out->n; i++) out->x[i] = NAN;
    for (size_t i = 0; i < days->n_rows; i++) {
        int32_t day = days->rows[i].day;
        double value = days->rows[i].value;
        if (day < out->from || day > out->to || !isfinite(value)) continue;
        double *x = &out->x[day - out->from];
        n_same = isnan(*x) ? 0 : n_same + 1;
        if (isnan(*x)) *x = value;
        else if (!is_mean) *x += value;
        else *x += (value - *x) / (double)(n_same + 1);
    }
}

/* Takes out unfinished days of sums, and notes who measured the others. */
static void apply_series(struct day_rows *out, const struct series *s)
{
    bool is_sum = s->metric->daily == DAILY_SUM;
    for (size_t i = 0; i < s->n; i++) {
        if (s->days[i] < out->from || s->days[i] > out->to) continue;
        size_t at = (size_t)(s->days[i] - out->from);
        if (is_sum && s->quality[i] == QUALITY_PARTIAL) out->x[at] = NAN;
        if (!isnan(out->x[at]) && s->sources) out->sources[at] = s->sources[i];
    }
}

static void unroll(struct day_rows *out, double *known)
{
    size_t n = 0;
    for (size_t i = 0; i < out->n; i++)
        if (!isnan(out->x[i])) known[n++] = out->x[i];
    double center = stat_circular_mean(known, n);
    /* In whole minutes, so that values stay as short as they were. */
    center = isnan(center) ? STAT_DAY_MINUTES / 2 : round(center);
    out->shift = STAT_DAY_MINUTES / 2 - center;
    for (size_t i = 0; i < out->n; i++)
        if (!isnan(out->x[i])) out->x[i] = stat_circular_near(out->x[i], center) + out->shift;
}

static enum weir_status fill(struct day_rows *out, const struct rows_wish *wish,
                             const struct plan_answer *days, struct dataset *d, struct arena *arena)
{
    const struct series *s;
    out->x = arena_alloc(arena, out->n * sizeof *out->x);
    out->sources = arena_alloc(arena, out->n * sizeof *out->sources);
    double *known = arena_alloc(arena, out->n * sizeof *known);
    if (!out->x || !out->sources || !known) return arena->status;
    memset(out->sources, 0, out->n * sizeof *out->sources);
    fill_values(out, days, wish);
    if (wish->metric) {
        enum weir_status st = dataset_series(d, wish->metric, &s);
        if (st != WEIR_OK) return st;
        apply_series(out, s);
        if (wish->metric->daily == DAILY_CIRCULAR) unroll(out, known);
    }
    for (size_t i = 0; i < out->n; i++) out->n_known += isnan(out->x[i]) ? 0 : 1;
    return WEIR_OK;
}

enum weir_status rows_make(struct day_rows *out, const struct rows_wish *wish, struct dataset *d,
                           struct arena *arena)
{
    struct plan list;
    struct plan_answer days;
    int32_t first, newest;
    *out = (struct day_rows){0};
    plan_days(&list, wish);
    enum weir_status st = plan_run(&list, d, arena, &days);
    if (st == WEIR_OK) st = dataset_span(d, &first, &newest);
    if (st != WEIR_OK) return st;
    if (days.kind == VALUE_NONE || days.n_rows == 0) return WEIR_NOT_FOUND;
    find_range(out, wish, &days, first, newest);
    return fill(out, wish, &days, d, arena);
}

void rows_close(struct day_rows *r)
{
    size_t n = 0;
    for (size_t i = 0; i < r->n; i++) {
        if (isnan(r->x[i])) continue;
        r->sources[n] = r->sources[i];
        r->x[n++] = r->x[i];
    }
    r->n = n;
}

/* ---- devices ---- */

/* The source of most of the days from..to that say one; 0: none does. By voting. */
static uint16_t most_common(const struct day_rows *r, size_t from, size_t to)
{
    uint16_t best = 0;
    size_t votes = 0;
    for (size_t i = from; i < to; i++) {
        if (isnan(r->x[i]) || r->sources[i] == 0) continue;
        if (votes == 0) best = r->sources[i];
        votes += r->sources[i] == best ? 1 : (size_t)-1;
    }
    return best;
}

uint16_t rows_device(const struct day_rows *r)
{
    return most_common(r, 0, r->n);
}

/*
 * The cut that leaves most days with the device of their side. Somebody who wears two devices in
 * turn has no such cut, and changes nothing.
 */
size_t rows_device_change(const struct day_rows *r)
{
    uint16_t a = most_common(r, 0, r->n / 3), b = most_common(r, r->n - r->n / 3, r->n);
    size_t n = 0, n_b = 0, n_a_before = 0, n_b_before = 0, best = 0, at = 0, n_before = 0;
    bool is_fair = false;
    if (a == 0 || b == 0 || a == b) return 0;
    for (size_t i = 0; i < r->n; i++) {
        if (isnan(r->x[i])) continue;
        n++;
        n_b += r->sources[i] == b;
    }
    for (size_t i = 0; i < r->n; i++) {
        if (isnan(r->x[i])) continue;
        size_t agree = n_a_before + n_b - n_b_before;
        if (agree > best) {
            best = agree;
            at = i;
            is_fair = n_before >= LEAST_OF_DEVICE && n - n_before >= LEAST_OF_DEVICE;
        }
        n_a_before += r->sources[i] == a;
        n_b_before += r->sources[i] == b;
        n_before++;
    }
    return is_fair && (double)best >= least_agreement * (double)n ? at : 0;
}
