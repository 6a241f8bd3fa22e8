/* SPDX-License-Identifier: Apache-2.0 */
/* Days by weekday, month and the like; runs of days; moving windows. */
#include <math.h>
#include <stdio.h>

#include "data/plan_impl.h"
#include "stat/circular.h"
#include "stat/moments.h"
#include "stat/order.h"

/* ---- groups ---- */

/* Groups are numbered so that the next one in time is the next number. */
static int32_t group_of(enum plan_group group, int32_t day)
{
    struct civil c = day_to_civil(day);
    switch (group) {
    case GROUP_WEEKDAY: return (int32_t)day_weekday(day);
    case GROUP_WEEKEND: return day_is_weekend(day) ? 1 : 0;
    case GROUP_MONTH: return c.year * 12 + c.month - 1;
    case GROUP_WEEK: return (day - (int32_t)day_weekday(day) + 3) / 7; /* its Thursday, in weeks */
    case GROUP_YEAR: return c.year;
    }
    return 0;
}

/* ISO 8601: the week is of the year that its Thursday is in. */
static const char *week_name(struct run *r, int32_t week)
{
    int32_t thursday = week * 7;
    int year = day_to_civil(thursday).year;
    return run_text(r, "%04d-W%02d", year, (thursday - day_from_civil(year, 1, 1)) / 7 + 1);
}

static const char *group_name(struct run *r, int32_t number)
{
    switch (r->plan->group) {
    case GROUP_WEEKDAY: return day_weekday_name((unsigned)number);
    case GROUP_WEEKEND: return number ? "weekend" : "weekday";
    case GROUP_MONTH: return run_text(r, "%04d-%02d", number / 12, number % 12 + 1);
    case GROUP_WEEK: return week_name(r, number);
    case GROUP_YEAR: return run_text(r, "%04d", number);
    }
    return "";
}

struct buckets {
    int32_t first;
    size_t n;
    size_t *ends;      /* behind the last value of each */
    double *values;    /* by bucket, in the order of days within */
    bool *has_unknown; /* there was something, and how much is not known: that is not 0 */
};

/* Where nothing is something: no run in a month is a sum of 0. */
static bool counts_none(const struct plan *plan)
{
    return plan->subject == PLAN_OF_WORKOUTS &&
           (plan->stat == STAT_SUM || plan->stat == STAT_COUNT);
}

static bool range_of(struct run *r, const struct points *p, struct buckets *b)
{
    enum plan_group group = r->plan->group;
    int32_t last = 0;
    b->first = 0;
    if (group == GROUP_WEEKDAY) last = 6;
    else if (group == GROUP_WEEKEND) last = 1;
    else {
        int32_t from = r->out->from > r->first ? r->out->from : r->first;
        int32_t to = r->out->to < r->last ? r->out->to : r->last;
        bool is_all = counts_none(r->plan);
        b->first = group_of(group, is_all ? from : p->days[0]);
        last = group_of(group, is_all ? to : p->days[p->n - 1]);
    }
    b->n = (size_t)(last - b->first) + 1;
    if (b->n <= PLAN_ROWS) return true;
    return run_refuse(r, "that would be %zu rows; %d is the most: ask for a shorter window", b->n,
                      PLAN_ROWS);
}

static bool fill_buckets(struct run *r, const struct points *p, struct buckets *b)
{
    if (!range_of(r, p, b)) return false;
    b->ends = run_alloc(r, (b->n + 1) * sizeof *b->ends);
    b->values = run_alloc(r, p->n * sizeof *b->values);
    b->has_unknown = run_alloc(r, b->n);
    if (!b->ends || !b->values || !b->has_unknown) return false;
    memset(b->ends, 0, (b->n + 1) * sizeof *b->ends);
    memset(b->has_unknown, 0, b->n);
    enum plan_group group = r->plan->group;
    for (size_t i = 0; i < r->n_unknown; i++) {
        int32_t at = group_of(group, r->unknown_days[i]) - b->first;
        if (at >= 0 && (size_t)at < b->n) b->has_unknown[at] = true;
    }
    for (size_t i = 0; i < p->n; i++) b->ends[group_of(group, p->days[i]) - b->first + 1]++;
    for (size_t i = 1; i <= b->n; i++) b->ends[i] += b->ends[i - 1];
    /* ends[k] is where bucket k begins, until it was filled and is where it ends. */
    for (size_t i = 0; i < p->n; i++)
        b->values[b->ends[group_of(group, p->days[i]) - b->first]++] = p->values[i];
    return true;
}

static bool is_better(enum plan_pick pick, double a, double b)
{
    return pick == PICK_MIN ? a < b : a > b;
}

static void answer_group(struct run *r, const struct plan_row *best)
{
    static const char *const units[] = {"weekday", "weekend", "month", "week", "year"};
    r->out->kind = VALUE_TEXT;
    r->out->text = best->key;
    r->out->unit = units[r->plan->group];
}

/* A row for each group that has values, its number in `value` as run_stat() gave it. */
static const struct plan_row *put_groups(struct run *r, const struct buckets *b)
{
    struct plan_row *rows = run_rows(r, b->n);
    const struct plan_row *best = NULL;
    size_t n = 0, at = 0;
    for (size_t i = 0; rows && i < b->n; i++) {
        const double *values = b->values + at;
        size_t len = b->ends[i] - at;
        at = b->ends[i];
        if (len == 0 && (!counts_none(r->plan) || b->has_unknown[i])) continue;
        double value = run_stat(r, values, len);
        rows[n] = (struct plan_row){DAY_NONE, group_name(r, b->first + (int32_t)i), value, len, 0};
        bool is_best = !best || is_better(r->plan->pick, value, best->value);
        if (isfinite(value) && is_best) best = &rows[n];
        n++;
    }
    r->out->n_rows = n;
    return best;
}

static void show_rows(struct run *r)
{
    struct plan_row *rows = run_alloc(r, r->out->n_rows * sizeof *rows);
    for (size_t i = 0; rows && i < r->out->n_rows; i++) {
        rows[i] = r->out->rows[i];
        rows[i].value = run_stat_shown(r, rows[i].value);
    }
    if (rows) r->out->rows = rows;
}

void run_group(struct run *r, const struct points *p)
{
    struct buckets b;
    /* Zeros may be listed, but none of them is the most or the least. */
    bool is_fact = counts_none(r->plan) && r->n_unknown == 0 && r->plan->pick == PICK_NONE;
    if (p->n == 0 && !is_fact) {
        run_refuse_empty(r);
        return;
    }
    if (!fill_buckets(r, p, &b)) return;
    const struct plan_row *best = put_groups(r, &b);
    if (r->plan->pick == PICK_NONE) run_answer_stat(r, run_stat(r, p->values, p->n));
    else if (best) answer_group(r, best);
    show_rows(r);
}

/* ---- streaks ---- */

struct streak {
    int32_t first, last;
};

static int32_t length_of(const struct streak *s)
{
    return s->first == DAY_NONE ? 0 : s->last - s->first + 1;
}

/* An unfinished day that has not reached it yet does not end what is current. */
static bool is_waiting(const struct run *r, const struct streak *current)
{
    return r->partial_day != DAY_NONE && r->partial_day == r->out->to &&
           current->last == r->partial_day - 1;
}

static void answer_streak(struct run *r, const struct streak *s)
{
    int32_t length = length_of(s);
    run_answer(r, length, NUMBER_PLAIN);
    r->out->unit = "days";
    if (length == 0) return;
    struct plan_row *rows = run_rows(r, 2);
    if (!rows) return;
    rows[0] = (struct plan_row){.day = s->first, .key = "first", .value = NAN};
    rows[1] = (struct plan_row){.day = s->last, .key = "last", .value = NAN};
    r->out->date = s->first;
}

void run_streak(struct run *r, const struct points *p)
{
    struct streak best = {DAY_NONE, DAY_NONE}, current = {DAY_NONE, DAY_NONE};
    struct plan_having having = run_own_having(r);
    if (p->n == 0 && r->plan->subject != PLAN_OF_WORKOUTS) {
        run_refuse_empty(r);
        return;
    }
    for (size_t i = 0; i < p->n; i++) {
        int32_t day = p->days[i];
        if (!having_holds(&having, p->values[i]) || day == current.last) continue;
        if (current.last == DAY_NONE || day != current.last + 1) current.first = day;
        current.last = day;
        if (length_of(&current) > length_of(&best)) best = current;
    }
    if (r->plan->pick != PICK_LAST) {
        answer_streak(r, &best);
        return;
    }
    bool is_running = current.last == r->out->to || is_waiting(r, &current);
    if (is_running && current.last != r->out->to)
        run_note(r, "the newest day is unfinished and not counted yet");
    answer_streak(r, is_running ? &current : &(struct streak){DAY_NONE, DAY_NONE});
}

/* ---- moving windows ---- */

/*
 * What is kept of the values within the window, so that a step costs little however long the window
 * is: sums of their distances from the mean of all, and themselves in order. Sums are longer than
 * the values, for they are added to and taken from many times.
 */
struct rolling {
    const struct points *p;
    size_t begin, end;
    size_t needed; /* fewer values are not enough to speak for the window */
    double center;
    long double sum, squares, east, north;
    double *sorted; /* end - begin of them */
};

static size_t place_in(const double *sorted, size_t n, double v)
{
    size_t low = 0;
    while (n > 0) {
        size_t half = n / 2;
        if (sorted[low + half] < v) {
            low += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    return low;
}

static void add_sums(struct run *r, struct rolling *w, double v, long double sign)
{
    long double d = (long double)v - w->center;
    w->sum += sign * d;
    w->squares += sign * d * d;
    if (!r->is_clock) return;
    double angle = v / STAT_DAY_MINUTES * 6.283185307179586476925;
    w->east += sign * cos(angle);
    w->north += sign * sin(angle);
}

static void take_in(struct run *r, struct rolling *w)
{
    size_t n = w->end - w->begin;
    double v = w->p->values[w->end++];
    size_t at = place_in(w->sorted, n, v);
    memmove(w->sorted + at + 1, w->sorted + at, (n - at) * sizeof v);
    w->sorted[at] = v;
    add_sums(r, w, v, 1);
}

static void leave_out(struct run *r, struct rolling *w)
{
    size_t n = w->end - w->begin;
    double v = w->p->values[w->begin++];
    size_t at = place_in(w->sorted, n, v);
    memmove(w->sorted + at, w->sorted + at + 1, (n - at - 1) * sizeof v);
    add_sums(r, w, v, -1);
}

static void move_to(struct run *r, struct rolling *w, int32_t day)
{
    int32_t from = day - (int32_t)r->plan->days + 1;
    while (w->begin < w->end && w->p->days[w->begin] < from) leave_out(r, w);
    while (w->end < w->p->n && w->p->days[w->end] <= day) take_in(r, w);
}

static double moving_sd(const struct rolling *w, size_t n)
{
    long double left = w->squares - w->sum * w->sum / (long double)n;
    return n < 2 ? NAN : left > 0 ? sqrt((double)(left / (long double)(n - 1))) : 0;
}

static double moving_mean(const struct run *r, const struct rolling *w, size_t n)
{
    double turn = 6.283185307179586476925;
    if (!r->is_clock) return w->center + (double)(w->sum / (long double)n);
    double minutes = atan2((double)w->north, (double)w->east) / turn * STAT_DAY_MINUTES;
    return stat_circular_near(minutes, r->center);
}

static double value_of(const struct run *r, const struct rolling *w)
{
    size_t n = w->end - w->begin;
    if (n < w->needed) return NAN;
    switch (r->plan->stat) {
    case STAT_MEAN: return moving_mean(r, w, n);
    case STAT_MEDIAN: return stat_quantile_sorted(w->sorted, n, 0.5);
    case STAT_SUM: return (double)(w->sum + (long double)n * w->center);
    case STAT_MIN: return w->sorted[0];
    case STAT_MAX: return w->sorted[n - 1];
    case STAT_SD: return moving_sd(w, n);
    case STAT_RANGE: return w->sorted[n - 1] - w->sorted[0];
    case STAT_CV: return 100 * moving_sd(w, n) / fabs(moving_mean(r, w, n));
    case STAT_QUANTILE: return stat_quantile_sorted(w->sorted, n, r->plan->quantile);
    case STAT_COUNT: return (double)n;
    case STAT_FIRST: return w->p->values[w->begin];
    case STAT_LAST: return w->p->values[w->end - 1];
    }
    return NAN;
}

/* Half of the days; of sums of workouts none, for there a day without one is a fact. */
static size_t needed_of(const struct plan *plan)
{
    if (plan->subject == PLAN_OF_WORKOUTS && plan->stat == STAT_SUM) return 0;
    if (plan->subject != PLAN_OF_METRIC || plan->pick == PICK_LAST) return 1;
    return (plan->days + 1) / 2;
}

static void answer_rolling(struct run *r, const struct plan_row *best)
{
    if (!best) {
        run_refuse(r, "no %u days in a row have enough values", (unsigned)r->plan->days);
        return;
    }
    run_answer_stat(r, best->value);
    r->out->date = best->day;
    r->out->n = best->n;
    if (!r->plan->wants_date || r->out->kind != VALUE_NUMBER) return;
    r->out->kind = VALUE_DATE;
    r->out->unit = "date";
    r->out->clock = NULL;
}

/* All moving values as rows, as run_stat() gave them; returns the one that is wanted. */
static const struct plan_row *put_moving(struct run *r, const struct points *p, int32_t begin,
                                         int32_t to)
{
    struct rolling w = {.p = p,
                        .needed = needed_of(r->plan),
                        .center = p->n > 0 ? stat_mean(p->values, p->n) : 0,
                        .sorted = run_alloc(r, p->n * sizeof *w.sorted)};
    struct plan_row *rows = run_rows(r, (size_t)(to - begin) + 1);
    const struct plan_row *best = NULL;
    bool is_newest = r->plan->pick == PICK_NONE || r->plan->pick == PICK_LAST;
    size_t n = 0;
    for (int32_t day = begin; rows && w.sorted && day <= to; day++) {
        move_to(r, &w, day);
        double value = value_of(r, &w);
        if (!isfinite(value)) continue;
        rows[n] = (struct plan_row){.day = day, .value = value, .n = w.end - w.begin};
        if (!best || is_newest || is_better(r->plan->pick, value, best->value)) best = &rows[n];
        n++;
    }
    r->out->n_rows = n;
    return best;
}

void run_rolling(struct run *r, const struct points *p)
{
    int32_t from = r->out->from > r->first ? r->out->from : r->first;
    int32_t to = r->out->to < r->last ? r->out->to : r->last;
    int32_t begin = r->plan->pick == PICK_LAST ? to : from + (int32_t)r->plan->days - 1;
    if (begin > to) {
        run_refuse(r, "the window is shorter than %u days", (unsigned)r->plan->days);
        return;
    }
    const struct plan_row *best = put_moving(r, p, begin, to);
    size_t n = r->out->n_rows;
    answer_rolling(r, best);
    if (best && r->plan->pick != PICK_NONE) {
        r->out->rows = best;
        r->out->n_rows = 1;
    } else if (n > PLAN_ROWS) {
        r->out->rows += n - PLAN_ROWS;
        r->out->n_rows = PLAN_ROWS;
        run_note(r, "the newest %d of %zu rows are shown", PLAN_ROWS, n);
    }
    show_rows(r);
}
