/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers plans. The values that a plan is about come from plan_gather.c; here they become one
 * number, a date or a list, with its unit, and what a reader has to know is noted. What cannot be
 * answered gets a reason and no number.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/slice.h"
#include "data/plan_impl.h"
#include "stat/circular.h"
#include "stat/moments.h"
#include "stat/order.h"

enum {
    NOTE_BYTES = 240,
    LIST_DEFAULT = 100,
    EXTREME_DEFAULT = 1,
};

/* ---- memory and words ---- */

void *run_alloc(struct run *r, size_t size)
{
    void *p = arena_alloc(r->arena, size > 0 ? size : 1);
    if (!p) r->st = r->arena->status;
    return p;
}

__attribute__((format(printf, 2, 0))) static char *text_of(struct run *r, const char *format,
                                                           va_list args)
{
    char text[NOTE_BYTES];
    int len = vsnprintf(text, sizeof text, format, args);
    size_t n = len < 0 ? 0 : (size_t)len < sizeof text ? (size_t)len : sizeof text - 1;
    char *copy = run_alloc(r, n + 1);
    if (copy) memcpy(copy, text, n);
    if (copy) copy[n] = '\0';
    return copy;
}

char *run_text(struct run *r, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = text_of(r, format, args);
    va_end(args);
    return text;
}

void run_note(struct run *r, const char *format, ...)
{
    va_list args;
    if (r->out->n_notes == PLAN_NOTES) return;
    va_start(args, format);
    char *text = text_of(r, format, args);
    va_end(args);
    if (text) r->out->notes[r->out->n_notes++] = text;
}

bool run_refuse(struct run *r, const char *format, ...)
{
    va_list args;
    if (r->out->reason) return false;
    va_start(args, format);
    r->out->reason = text_of(r, format, args);
    va_end(args);
    return false;
}

bool run_refuse_empty(struct run *r)
{
    char title[96], from[DAY_TEXT_BYTES], to[DAY_TEXT_BYTES];
    const char *when = r->plan->where.n > 0 ? " on days that meet the conditions" : "";
    plan_subject_title(r->plan, title, sizeof title);
    day_format(from, r->out->from);
    day_format(to, r->out->to);
    if (r->n_unknown > 0)
        return run_refuse(r, "none of the %zu sessions from %s to %s says its %s", r->n_unknown,
                          from, to, plan_field_words[r->plan->field]);
    if (r->out->from == r->out->to)
        return run_refuse(r, "no data for %s on %s%s", title, from, when);
    return run_refuse(r, "no data for %s from %s to %s%s", title, from, to, when);
}

static void note_left_out(struct run *r)
{
    if (r->n_partial > 0)
        run_note(r, "%zu unfinished %s left out", r->n_partial,
                 r->n_partial == 1 ? "day was" : "days were");
    if (r->n_not_worn > 0)
        run_note(r, "%zu %s left out on which the device was not worn", r->n_not_worn,
                 r->n_not_worn == 1 ? "day was" : "days were");
    if (r->n_implausible > 0)
        run_note(r, "%zu %s left out whose value is not plausible", r->n_implausible,
                 r->n_implausible == 1 ? "day was" : "days were");
    if (r->n_unknown > 0 && !r->out->reason)
        run_note(r, "%zu %s left out that %s no %s", r->n_unknown,
                 r->n_unknown == 1 ? "session was" : "sessions were",
                 r->n_unknown == 1 ? "has" : "have", plan_field_words[r->plan->field]);
}

/* ---- numbers ---- */

static double linear_stat(const struct plan *plan, double *copy, size_t n)
{
    switch (plan->stat) {
    case STAT_MEAN: return stat_mean(copy, n);
    case STAT_MEDIAN: return stat_median_in(copy, n);
    case STAT_SUM: return stat_sum(copy, n);
    case STAT_MIN: return stat_min(copy, n);
    case STAT_MAX: return stat_max(copy, n);
    case STAT_SD: return stat_sd(copy, n);
    case STAT_RANGE: return stat_max(copy, n) - stat_min(copy, n);
    case STAT_CV: return stat_cv(copy, n);
    case STAT_QUANTILE: return stat_quantile_in(copy, n, plan->quantile);
    case STAT_COUNT: return (double)n;
    case STAT_FIRST: return n > 0 ? copy[0] : NAN;
    case STAT_LAST: return n > 0 ? copy[n - 1] : NAN;
    }
    return NAN;
}

double run_stat(struct run *r, const double *values, size_t n)
{
    const struct plan *plan = r->plan;
    if (r->is_clock && plan->stat == STAT_MEAN) {
        double mean = stat_circular_mean(values, n);
        return isnan(mean) ? NAN : stat_circular_near(mean, r->center);
    }
    double *copy = run_alloc(r, n * sizeof *copy);
    if (!copy) return NAN;
    memcpy(copy, values, n * sizeof *copy);
    return linear_stat(plan, copy, n);
}

/* What kind of number a statistic of the subject's values is. */
static enum number_kind kind_of_stat(enum plan_stat stat)
{
    if (stat == STAT_SD || stat == STAT_RANGE) return NUMBER_DIFFERENCE;
    if (stat == STAT_CV) return NUMBER_PERCENT;
    return stat == STAT_COUNT ? NUMBER_PLAIN : NUMBER_VALUE;
}

static const char *unit_of_counts(const struct plan *plan)
{
    static const char *const units[] = {"days", "sessions", "results"};
    return plan->by_day ? units[PLAN_OF_METRIC] : units[plan->subject];
}

static const char *unit_of_values(struct run *r)
{
    bool is_unknown_lab = r->plan->subject == PLAN_OF_LAB && !r->plan->analyte;
    if (r->plan->unit) return r->plan->unit;
    if (is_unknown_lab)
        return run_text(r, "%.*s", (int)r->lab_unit.len, r->lab_unit.len ? r->lab_unit.ptr : "");
    return plan_subject_unit(r->plan);
}

double run_days_per(enum plan_per per)
{
    static const double days[] = {7, 1, 7, 30.436875, 365.2425};
    return days[per];
}

static const char *unit_of(struct run *r, enum number_kind kind)
{
    const char *of_difference = r->is_clock && !r->plan->unit ? "min" : unit_of_values(r);
    static const char *const lengths[] = {"week", "day", "week", "month", "year"};
    switch (kind) {
    case NUMBER_VALUE: return r->is_clock ? "minutes after midnight" : unit_of_values(r);
    case NUMBER_DIFFERENCE: return of_difference;
    case NUMBER_SLOPE: return run_text(r, "%s/%s", of_difference, lengths[r->plan->per]);
    case NUMBER_PERCENT: return "%";
    case NUMBER_PLAIN: return unit_of_counts(r->plan);
    }
    return "";
}

static double convert(struct run *r, double value, enum number_kind kind)
{
    bool is_difference = kind == NUMBER_DIFFERENCE || kind == NUMBER_SLOPE;
    double out = value;
    if (r->plan->unit && (is_difference || kind == NUMBER_VALUE))
        (void)plan_convert(r->plan, r->plan->unit, is_difference, value, &out);
    if (r->is_clock && kind == NUMBER_VALUE) out = stat_circular_wrap(out);
    return out;
}

static const char *clock_text(struct run *r, double minutes)
{
    int m = (int)lround(minutes) % (24 * 60);
    return run_text(r, "%02d:%02d", m / 60, m % 60);
}

static void refuse_undefined(struct run *r)
{
    if (r->out->n < 2) run_refuse(r, "that needs two values at least; there is %zu", r->out->n);
    else if (r->is_clock) run_refuse(r, "the times are spread around the clock and have no mean");
    else
        run_refuse(r,
                   "it is not defined for these values: they are all the same, or their mean is 0");
}

void run_answer(struct run *r, double number, enum number_kind kind)
{
    if (r->st != WEIR_OK) return;
    if (!isfinite(number)) {
        refuse_undefined(r);
        return;
    }
    r->out->kind = VALUE_NUMBER;
    r->out->number = convert(r, number, kind);
    r->out->unit = unit_of(r, kind);
    if (r->is_clock && kind == NUMBER_VALUE) r->out->clock = clock_text(r, r->out->number);
}

double run_shown(struct run *r, double value)
{
    return convert(r, value, NUMBER_VALUE);
}

void run_answer_stat(struct run *r, double number)
{
    run_answer(r, number, kind_of_stat(r->plan->stat));
}

double run_stat_shown(struct run *r, double value)
{
    return convert(r, value, kind_of_stat(r->plan->stat));
}

struct plan_row *run_rows(struct run *r, size_t n)
{
    struct plan_row *rows = run_alloc(r, n * sizeof *rows);
    if (!rows) return NULL;
    for (size_t i = 0; i < n; i++) rows[i] = (struct plan_row){.day = DAY_NONE, .value = NAN};
    r->out->rows = rows;
    r->out->n_rows = n;
    return rows;
}

/* ---- one number ---- */

/* The rate in a time; the window counts as far as there are data. */
static double rate_of(const struct run *r, double number)
{
    int32_t from = r->out->from > r->first ? r->out->from : r->first;
    int32_t to = r->out->to < r->last ? r->out->to : r->last;
    if (r->plan->per == PER_NONE) return number;
    return number / ((double)(to - from + 1) / run_days_per(r->plan->per));
}

static void name_rate(struct run *r)
{
    if (r->plan->per == PER_NONE || r->out->kind != VALUE_NUMBER) return;
    r->out->unit = run_text(r, "%s/%s", r->out->unit, plan_per_words[r->plan->per]);
}

/* The day that a statistic is of, where it is of one. */
static void date_stat(struct run *r, const struct points *p)
{
    size_t at = 0;
    enum plan_stat stat = r->plan->stat;
    bool has_day = stat == STAT_MIN || stat == STAT_MAX || stat == STAT_FIRST || stat == STAT_LAST;
    if (!has_day || p->n == 0) return;
    if (stat == STAT_LAST) at = p->n - 1;
    for (size_t i = 1; i < p->n; i++)
        if (stat == STAT_MIN ? p->values[i] < p->values[at]
                             : stat == STAT_MAX && p->values[i] > p->values[at])
            at = i;
    r->out->date = p->days[at];
}

static void run_aggregate(struct run *r, const struct points *p)
{
    enum plan_stat stat = r->plan->stat;
    bool is_of_none = stat == STAT_SUM || stat == STAT_COUNT;
    if (p->n == 0 && (!is_of_none || r->n_unknown > 0)) {
        run_refuse_empty(r);
        return;
    }
    if (p->n == 0) run_note(r, "there is nothing to count in this window");
    run_answer(r, rate_of(r, run_stat(r, p->values, p->n)), kind_of_stat(stat));
    name_rate(r);
    date_stat(r, p);
}

struct plan_having run_own_having(const struct run *r)
{
    struct plan_having h = r->plan->having;
    if (!r->is_clock) return h;
    h.value = stat_circular_near(h.value, r->center);
    h.value2 = stat_circular_near(h.value2, r->center);
    return h;
}

static void run_count(struct run *r, const struct points *p)
{
    size_t n = 0;
    struct plan_having having = run_own_having(r);
    int32_t last = DAY_NONE;
    for (size_t i = 0; i < p->n; i++) {
        if (!having_holds(&having, p->values[i])) continue;
        /* By day, the second session of a day is counted with the first. */
        if (!r->plan->by_day || p->days[i] != last) n++;
        last = p->days[i];
    }
    if (p->n == 0 && (r->plan->as_share || r->n_unknown > 0)) {
        run_refuse_empty(r);
        return;
    }
    if (r->plan->as_share) {
        run_answer(r, 100 * (double)n / (double)p->n, NUMBER_PERCENT);
        return;
    }
    if (p->n == 0 && having.cmp != CMP_NONE) run_note(r, "there are no values in this window");
    run_answer(r, rate_of(r, (double)n), NUMBER_PLAIN);
    name_rate(r);
}

static void run_find(struct run *r, const struct points *p)
{
    struct plan_having having = run_own_having(r);
    bool is_last = r->plan->pick == PICK_LAST;
    if (p->n == 0) {
        run_refuse_empty(r);
        return;
    }
    for (size_t k = 0; k < p->n; k++) {
        size_t i = is_last ? p->n - 1 - k : k;
        if (!having_holds(&having, p->values[i])) continue;
        struct plan_row *row = run_rows(r, 1);
        if (!row) return;
        *row = (struct plan_row){.day = p->days[i], .value = run_shown(r, p->values[i]), .n = 1};
        r->out->kind = VALUE_DATE;
        r->out->date = p->days[i];
        r->out->unit = "date";
        return;
    }
    run_refuse(r, "none of the %zu %s meets the condition", p->n, unit_of_counts(r->plan));
}

/* ---- lists ---- */

struct place {
    double value;
    size_t at;
};

/* Equal values stay in the order of their days, whichever way the values go. */
static int compare_rising(const void *pa, const void *pb)
{
    const struct place *a = pa, *b = pb;
    if (a->value != b->value) return a->value < b->value ? -1 : 1;
    return (a->at > b->at) - (a->at < b->at);
}

static int compare_falling(const void *pa, const void *pb)
{
    const struct place *a = pa, *b = pb;
    if (a->value != b->value) return a->value > b->value ? -1 : 1;
    return (a->at > b->at) - (a->at < b->at);
}

static struct place *places_by_value(struct run *r, const struct points *p, bool is_falling)
{
    struct place *places = run_alloc(r, p->n * sizeof *places);
    if (!places) return NULL;
    for (size_t i = 0; i < p->n; i++) places[i] = (struct place){p->values[i], i};
    qsort(places, p->n, sizeof *places, is_falling ? compare_falling : compare_rising);
    return places;
}

/* Of workouts of any kind, rows say which. */
static const char *kind_at(struct run *r, size_t at)
{
    if (r->plan->subject != PLAN_OF_WORKOUTS || r->plan->activity) return NULL;
    const struct workout *w = r->sessions[at];
    if (w->activity) return w->activity->title;
    return run_text(r, "%.*s", (int)w->label.len, w->label.len > 0 ? w->label.ptr : "");
}

/* From the place `first` on, at most `limit`. */
static void put_points(struct run *r, const struct points *p, const struct place *places,
                       size_t first, size_t limit)
{
    size_t n = p->n - first < limit ? p->n - first : limit;
    struct plan_row *rows = run_rows(r, n);
    bool is_back = !places && r->plan->op == PLAN_LIST && r->plan->descending;
    for (size_t i = 0; rows && i < n; i++) {
        size_t at = places ? places[first + i].at : is_back ? p->n - 1 - i : i;
        rows[i] = (struct plan_row){.day = p->days[at], .key = kind_at(r, at), .n = 1};
        rows[i].value = run_shown(r, p->values[at]);
    }
}

static void run_list(struct run *r, const struct points *p)
{
    size_t limit = r->plan->limit > 0 ? r->plan->limit : LIST_DEFAULT;
    const struct place *places = NULL;
    if (p->n == 0) {
        run_refuse_empty(r);
        return;
    }
    if (r->plan->by_value && !(places = places_by_value(r, p, r->plan->descending))) return;
    put_points(r, p, places, 0, limit);
    if (p->n > limit) run_note(r, "the first %zu of %zu are shown", limit, p->n);
    run_answer(r, (double)p->n, NUMBER_PLAIN);
}

static void note_ties(struct run *r, const struct place *places, size_t n, size_t at)
{
    size_t same = 0;
    for (size_t i = 0; i < n; i++) same += places[i].value == places[at].value;
    if (same > 1 && at == 0) run_note(r, "%zu have this value; the earliest is given", same);
    else if (same > 1) run_note(r, "%zu have this value, and each counts for itself", same);
}

static void run_extreme(struct run *r, const struct points *p)
{
    size_t limit = r->plan->limit > 0 ? r->plan->limit : EXTREME_DEFAULT;
    size_t at = r->plan->rank > 0 ? r->plan->rank - 1 : 0;
    if (p->n <= at) {
        if (p->n == 0) run_refuse_empty(r);
        else run_refuse(r, "there %s only %zu", p->n == 1 ? "is" : "are", p->n);
        return;
    }
    const struct place *places = places_by_value(r, p, r->plan->pick != PICK_MIN);
    if (!places) return;
    put_points(r, p, places, at, limit);
    if (limit == 1) note_ties(r, places, p->n, at);
    run_answer(r, places[at].value, NUMBER_VALUE);
    r->out->date = p->days[places[at].at];
    if (!r->plan->wants_date || r->out->kind != VALUE_NUMBER) return;
    r->out->kind = VALUE_DATE;
    r->out->unit = "date";
    r->out->clock = NULL;
}

/* ---- two numbers ---- */

static void answer_result(struct run *r, double a, double b, enum number_kind kind)
{
    double difference = a - b;
    if (r->is_clock && kind == NUMBER_VALUE) difference = stat_circular_near(difference, 0);
    if (r->plan->result == RESULT_DIFFERENCE) {
        run_answer(r, difference, kind == NUMBER_VALUE ? NUMBER_DIFFERENCE : kind);
        return;
    }
    if (b == 0) {
        run_refuse(r, "what it is compared with is 0, so there is no %s",
                   plan_result_words[r->plan->result]);
        return;
    }
    bool is_percent = r->plan->result == RESULT_PERCENT;
    /* A ratio of temperatures depends on the scale: it is taken in the unit that is shown. */
    a = convert(r, a, kind);
    b = convert(r, b, kind);
    run_answer(r, is_percent ? 100 * (a - b) / fabs(b) : a / b, NUMBER_PERCENT);
    if (!is_percent) r->out->unit = "ratio";
}

static void run_change(struct run *r, const struct points *p)
{
    if (p->n < 2) {
        if (p->n == 0) run_refuse_empty(r);
        else run_refuse(r, "a change needs two values; there is one");
        return;
    }
    struct plan_row *rows = run_rows(r, 2);
    if (!rows) return;
    size_t last = p->n - 1;
    rows[0] = (struct plan_row){p->days[0], "first", run_shown(r, p->values[0]), 1, 0};
    rows[1] = (struct plan_row){p->days[last], "last", run_shown(r, p->values[last]), 1, 0};
    answer_result(r, p->values[last], p->values[0], NUMBER_VALUE);
    r->out->date = p->days[last];
}

static void run_compare(struct run *r, const struct points *a)
{
    struct points b;
    const struct plan *plan = r->plan;
    bool is_of_none = plan->stat == STAT_SUM || plan->stat == STAT_COUNT;
    run_resolve(r, &plan->window_b, &r->out->from_b, &r->out->to_b);
    if (!run_gather(r, &plan->window_b, &plan->where_b, &b)) return;
    if ((a->n == 0 || b.n == 0) && (!is_of_none || r->n_unknown > 0)) {
        char from[DAY_TEXT_BYTES], to[DAY_TEXT_BYTES], title[96];
        day_format(from, a->n == 0 ? r->out->from : r->out->from_b);
        day_format(to, a->n == 0 ? r->out->to : r->out->to_b);
        plan_subject_title(plan, title, sizeof title);
        run_refuse(r, "no data for %s in the %s group (%s to %s)", title,
                   a->n == 0 ? "first" : "second", from, to);
        return;
    }
    enum number_kind kind = kind_of_stat(plan->stat);
    double x = run_stat(r, a->values, a->n), y = run_stat(r, b.values, b.n);
    struct plan_row *rows = run_rows(r, 2);
    if (!rows) return;
    rows[0] = (struct plan_row){DAY_NONE, "a", convert(r, x, kind), a->n, 0};
    rows[1] = (struct plan_row){DAY_NONE, "b", convert(r, y, kind), b.n, 0};
    r->out->n = a->n + b.n;
    answer_result(r, x, y, kind);
}

/* ---- the run ---- */

static bool drops_partial(const struct plan *p)
{
    switch (p->op) {
    case PLAN_AGGREGATE:
    case PLAN_COMPARE:
    case PLAN_GROUP:
    case PLAN_ROLLING:
        return p->stat != STAT_SUM && p->stat != STAT_MAX && p->stat != STAT_COUNT &&
               p->stat != STAT_FIRST && p->stat != STAT_LAST;
    case PLAN_COUNT:
    case PLAN_FIND:
        return p->having.cmp != CMP_NONE && p->having.cmp != CMP_GT && p->having.cmp != CMP_GE;
    case PLAN_EXTREME: return p->pick == PICK_MIN;
    case PLAN_LIST:
    case PLAN_STREAK: return false;
    default: return true;
    }
}

static void run_op(struct run *r, const struct points *p)
{
    switch (r->plan->op) {
    case PLAN_AGGREGATE: run_aggregate(r, p); return;
    case PLAN_COUNT: run_count(r, p); return;
    case PLAN_LIST: run_list(r, p); return;
    case PLAN_EXTREME: run_extreme(r, p); return;
    case PLAN_COMPARE: run_compare(r, p); return;
    case PLAN_CHANGE: run_change(r, p); return;
    case PLAN_FIND: run_find(r, p); return;
    case PLAN_TREND: run_trend(r, p); return;
    case PLAN_CORRELATE: run_correlate(r, p); return;
    case PLAN_GROUP: run_group(r, p); return;
    case PLAN_STREAK: run_streak(r, p); return;
    case PLAN_ROLLING: run_rolling(r, p); return;
    case PLAN_ANOMALY: run_anomaly(r, p); return;
    case PLAN_DISTRIBUTION: run_distribution(r, p); return;
    }
}

/* The latest moving value needs no more than its own days. */
static struct plan_window window_of(const struct run *r)
{
    struct plan_window w = r->plan->window;
    int32_t from, to;
    if (r->plan->op != PLAN_ROLLING || r->plan->pick != PICK_LAST) return w;
    run_resolve(r, &w, &from, &to);
    return (struct plan_window){.from = to - (int32_t)r->plan->days + 1, .to = to};
}

static void run_whole(struct run *r)
{
    struct points p;
    struct plan_window window = window_of(r);
    bool is_gathered = run_gather(r, &window, &r->plan->where, &p);
    run_resolve(r, &window, &r->out->from, &r->out->to);
    r->out->n = p.n;
    if (is_gathered) run_op(r, &p);
    note_left_out(r);
}

/* What an answer that is none may not have. */
static void clear_value(struct plan_answer *out)
{
    out->kind = VALUE_NONE;
    out->number = NAN;
    out->date = DAY_NONE;
    out->text = out->clock = out->unit = NULL;
    out->rows = NULL;
    out->n_rows = 0;
}

enum weir_status plan_run(const struct plan *plan, struct dataset *d, struct arena *arena,
                          struct plan_answer *out)
{
    struct plan_error error;
    *out = (struct plan_answer){.number = NAN,
                                .date = DAY_NONE,
                                .from = DAY_NONE,
                                .to = DAY_NONE,
                                .from_b = DAY_NONE,
                                .to_b = DAY_NONE};
    enum weir_status st = plan_check(plan, &error);
    if (st != WEIR_OK) return st;
    struct run r = {.plan = plan, .d = d, .arena = arena, .out = out, .partial_day = DAY_NONE};
    st = dataset_span(d, &r.first, &r.newest);
    r.last = r.newest;
    r.is_clock = plan_is_clock(plan);
    r.drops_partial = drops_partial(plan);
    if (st == WEIR_OK) run_whole(&r);
    else if (st == WEIR_NOT_FOUND) run_refuse(&r, "there are no data yet");
    else return st;
    if (r.st != WEIR_OK) return r.st;
    if (out->kind == VALUE_NONE && !out->reason) run_refuse(&r, "there is no answer");
    if (out->reason) clear_value(out);
    return r.st;
}
