/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The numbers of a claim that an answer may use, by the names of docs/turns.md. What the plan's own
 * answer does not hold is asked of the data by a plan that differs in one word, so that units and
 * days are the same.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "agent/finding.h"
#include "stat/circular.h"
#include "stat/order.h"

enum { NAME_BYTES = 48 };

struct making {
    struct claim *c;
    struct dataset *d;
    struct arena *arena;
    enum weir_status st;
};

const struct entry *entry_find(const struct claim *claim, const char *name)
{
    for (size_t i = 0; i < claim->n_entries; i++)
        if (strcmp(claim->entries[i].name, name) == 0) return &claim->entries[i];
    return NULL;
}

static bool is_listed(const char *const *names, const char *name)
{
    while (*names && strcmp(*names, name) != 0) names++;
    return *names != NULL;
}

void entries_drop(struct claim *claim, const char *const *names)
{
    size_t n = 0;
    for (size_t i = 0; i < claim->n_entries; i++)
        if (!is_listed(names, claim->entries[i].name)) claim->entries[n++] = claim->entries[i];
    claim->n_entries = n;
}

/* A number is said once; one that is not defined is not said. */
static void add(struct claim *c, const char *name, double value, const char *unit, size_t n)
{
    if (!isfinite(value) || c->n_entries == CLAIM_ENTRIES || entry_find(c, name)) return;
    const char *shown = strcmp(unit, "minutes after midnight") == 0 ? "clock" : unit;
    c->entries[c->n_entries++] = (struct entry){name, value, shown, n, c->from, c->to, DAY_NONE};
}

static void add_date(struct claim *c)
{
    if (c->answer->date == DAY_NONE || c->n_entries == CLAIM_ENTRIES) return;
    c->entries[c->n_entries++] =
        (struct entry){"date", NAN, "date", c->answer->n, c->from, c->to, c->answer->date};
}

static void move_window(struct claim *c, const char *name, int32_t from, int32_t to)
{
    for (size_t i = 0; i < c->n_entries; i++) {
        if (strcmp(c->entries[i].name, name) != 0) continue;
        c->entries[i].from = from;
        c->entries[i].to = to;
    }
}

/* ---- other words of the same plan ---- */

static bool ask(struct making *m, const struct plan *plan, struct plan_answer *answer)
{
    if (m->st == WEIR_OK) m->st = plan_run(plan, m->d, m->arena, answer);
    return m->st == WEIR_OK && answer->kind == VALUE_NUMBER;
}

static const char *stat_name(enum plan_stat stat)
{
    static const char *const names[] = {"avg",   "median", "sum",      "min",   "max",   "sd",
                                        "range", "cv",     "quantile", "count", "first", "last"};
    return names[stat];
}

static void add_stat(struct making *m, enum plan_stat stat)
{
    struct plan plan = *m->c->plan;
    struct plan_answer a;
    plan.stat = stat;
    plan.per = PER_NONE;
    if (ask(m, &plan, &a)) add(m->c, stat_name(stat), a.number, a.unit, a.n);
}

static void add_result(struct making *m, enum plan_result result)
{
    static const char *const names[] = {"diff", "pct", "ratio"};
    struct plan plan = *m->c->plan;
    struct plan_answer a;
    plan.result = result;
    if (ask(m, &plan, &a)) add(m->c, names[result], a.number, a.unit, a.n);
}

/* ---- rows ---- */

/* "row.2025-03-04", "row.Tuesday" */
static const char *row_name(struct making *m, const struct plan_row *row)
{
    char day[DAY_TEXT_BYTES] = "", *name = arena_alloc(m->arena, NAME_BYTES);
    if (!name) {
        m->st = m->arena->status;
        return NULL;
    }
    if (row->day != DAY_NONE) day_format(day, row->day);
    const char *key = row->day != DAY_NONE ? day : row->key ? row->key : "";
    snprintf(name, NAME_BYTES, "row.%s", key);
    for (char *p = name; *p; p++)
        if (*p == ' ') *p = '_';
    return name;
}

/* The unit of a row's value: that of the subject. */
static const char *row_unit(struct making *m)
{
    struct plan plan = *m->c->plan;
    struct plan_answer a;
    plan.op = PLAN_AGGREGATE;
    plan.stat = STAT_MAX;
    plan.per = PER_NONE;
    plan.having.cmp = CMP_NONE;
    if (m->c->plan->op == PLAN_FIND) plan.window = (struct plan_window){DAY_NONE, DAY_NONE, 0, 0};
    return ask(m, &plan, &a) ? a.unit : "";
}

static void add_rows(struct making *m, const char *unit)
{
    const struct plan_answer *a = m->c->answer;
    for (size_t i = 0; i < a->n_rows && i < CLAIM_ROWS; i++) {
        const char *name = row_name(m, &a->rows[i]);
        if (!name) return;
        add(m->c, name, a->rows[i].value, unit, a->rows[i].n);
        if (a->rows[i].day != DAY_NONE) move_window(m->c, name, a->rows[i].day, a->rows[i].day);
    }
}

/* The row that was picked, which may be behind the last that is listed. */
static void add_picked(struct making *m, const char *unit)
{
    const struct plan_answer *a = m->c->answer;
    if (a->kind != VALUE_TEXT) return;
    for (size_t i = 0; i < a->n_rows; i++)
        if (a->rows[i].key && strcmp(a->rows[i].key, a->text) == 0)
            add(m->c, m->c->plan->pick == PICK_MIN ? "min" : "max", a->rows[i].value, unit,
                a->rows[i].n);
}

/* ---- operations ---- */

static void add_aggregate(struct making *m)
{
    const struct plan *p = m->c->plan;
    const struct plan_answer *a = m->c->answer;
    add(m->c, stat_name(p->stat), a->number, a->unit, a->n);
    add_date(m->c);
    if ((p->stat != STAT_MEAN && p->stat != STAT_MEDIAN) || a->n < 2) return;
    add_stat(m, STAT_SD);
    if (p->subject != PLAN_OF_METRIC || p->metric->daily == DAILY_CIRCULAR) return;
    add_stat(m, STAT_MIN);
    add_stat(m, STAT_MAX);
}

static void add_count(struct making *m)
{
    struct plan plan = *m->c->plan;
    struct plan_answer a;
    const struct plan_answer *own = m->c->answer;
    add(m->c, plan.as_share ? "share" : "count", own->number, own->unit, own->n);
    if (plan.having.cmp == CMP_NONE || plan.per != PER_NONE || plan.by_day) return;
    plan.as_share = !plan.as_share;
    if (ask(m, &plan, &a)) add(m->c, plan.as_share ? "share" : "count", a.number, a.unit, a.n);
}

static void add_compare(struct making *m)
{
    const struct plan_answer *a = m->c->answer;
    const struct plan_row *rows = a->rows;
    struct plan plan = *m->c->plan;
    struct plan_answer difference;
    plan.result = RESULT_DIFFERENCE;
    if (!ask(m, &plan, &difference)) return;
    const char *unit = plan_is_clock(&plan) && plan.stat != STAT_SD ? "clock" : difference.unit;
    add(m->c, "a", rows[0].value, unit, rows[0].n);
    add(m->c, "b", rows[1].value, unit, rows[1].n);
    move_window(m->c, "b", a->from_b, a->to_b);
    add(m->c, "diff", difference.number, difference.unit, difference.n);
    if (plan_is_clock(&plan)) return;
    add_result(m, RESULT_PERCENT);
    if (m->c->plan->result == RESULT_RATIO) add_result(m, RESULT_RATIO);
}

static void add_change(struct making *m)
{
    const struct plan_answer *a = m->c->answer;
    const char *unit = row_unit(m);
    add(m->c, "first", a->rows[0].value, unit, 1);
    add(m->c, "last", a->rows[1].value, unit, 1);
    move_window(m->c, "first", a->rows[0].day, a->rows[0].day);
    move_window(m->c, "last", a->rows[1].day, a->rows[1].day);
    add_result(m, RESULT_DIFFERENCE);
    if (!plan_is_clock(m->c->plan)) add_result(m, RESULT_PERCENT);
}

static void add_trend(struct making *m)
{
    struct plan plan = *m->c->plan;
    struct plan_answer a;
    add(m->c, "slope", m->c->answer->number, m->c->answer->unit, m->c->answer->n);
    plan.per = plan.per == PER_MONTH ? PER_WEEK : PER_MONTH;
    const char *name = plan.per == PER_MONTH ? "slope_month" : "slope_week";
    if (ask(m, &plan, &a)) add(m->c, name, a.number, a.unit, a.n);
}

/* The middle of the days and of their values, and the outer days. */
struct middle {
    double x, y, first, last;
    size_t n;
};

static struct middle middle_of(const struct claim_days *days)
{
    struct middle m = {.first = NAN, .last = NAN};
    for (size_t i = 0; i < days->n_a; i++) {
        if (isnan(days->a[i])) continue;
        m.n++;
        m.x += ((double)i - m.x) / (double)m.n;
        m.y += (days->a[i] - m.y) / (double)m.n;
        if (isnan(m.first)) m.first = (double)i;
        m.last = (double)i;
    }
    return m;
}

void entries_add_line(struct claim *claim, double slope_of_day)
{
    const struct plan *plan = claim->plan;
    const struct metric *metric = claim_subject(plan);
    struct middle m = middle_of(&claim->days);
    const char *unit = plan->unit ? plan->unit : metric->unit;
    add(claim, "change", slope_of_day * (m.last - m.first), plan_is_clock(plan) ? "min" : unit,
        m.n);
    if (plan_is_clock(plan) || !unit_convert(metric->unit, unit, m.y, &m.y)) return;
    add(claim, "from", m.y + slope_of_day * (m.first - m.x), unit, m.n);
    add(claim, "to", m.y + slope_of_day * (m.last - m.x), unit, m.n);
}

enum weir_status entries_of_day(struct claim *claim, const struct plan_row *row,
                                struct arena *arena)
{
    const char *unit = "";
    const struct claim_days *days = &claim->days;
    size_t n = 0;
    double *others = arena_alloc(arena, days->n_a * sizeof *others), usual = NAN;
    if (!others) return arena->status;
    for (size_t i = 0; i < claim->n_entries; i++)
        if (claim->entries[i].from == row->day) unit = claim->entries[i].unit;
    for (size_t i = 0; i < days->n_a; i++)
        if (!isnan(days->a[i]) && i != days->index) others[n++] = days->a[i] - days->shift;
    claim->n_entries = 0;
    add(claim, "value", row->value, unit, 1);
    move_window(claim, "value", row->day, row->day);
    usual = stat_median_in(others, n);
    bool is_clock = plan_is_clock(claim->plan);
    if (is_clock) usual = stat_circular_wrap(usual);
    if (is_clock || unit_convert(claim_subject(claim->plan)->unit, unit, usual, &usual))
        add(claim, "usual", usual, unit, n);
    return WEIR_OK;
}

static void add_correlation(struct making *m)
{
    add(m->c, "r", m->c->answer->number, "r", m->c->answer->n);
    if (m->c->plan->lag != 0) add(m->c, "lag", m->c->plan->lag, "days", m->c->answer->n);
}

static void add_extreme(struct making *m)
{
    const struct plan *p = m->c->plan;
    const struct plan_answer *a = m->c->answer;
    const char *name = p->op == PLAN_FIND      ? "value"
                       : p->op == PLAN_ROLLING ? stat_name(p->stat)
                       : p->pick == PICK_MIN   ? "min"
                                               : "max";
    const char *unit = a->kind == VALUE_NUMBER ? a->unit : row_unit(m);
    double value = a->n_rows > 0 ? a->rows[0].value : a->number;
    if (a->kind == VALUE_NUMBER) value = a->number;
    add(m->c, name, value, unit, a->n);
    add_date(m->c);
    if (a->n_rows > 1) add_rows(m, unit);
}

static void add_distribution(struct making *m)
{
    static const char *const names[][2] = {{"min", "min"}, {"25%", "q25"}, {"median", "median"},
                                           {"75%", "q75"}, {"max", "max"}, {"5%", "q05"},
                                           {"95%", "q95"}};
    const struct plan_answer *a = m->c->answer;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (size_t k = 0; k < a->n_rows; k++)
            if (a->rows[k].key && strcmp(a->rows[k].key, names[i][0]) == 0)
                add(m->c, names[i][1], a->rows[k].value, a->unit, a->n);
}

static void add_group(struct making *m)
{
    struct plan plan = *m->c->plan;
    struct plan_answer a;
    plan.op = PLAN_AGGREGATE;
    const char *unit = ask(m, &plan, &a) ? a.unit : "";
    add_picked(m, unit);
    if (unit[0]) add(m->c, stat_name(plan.stat), a.number, unit, a.n);
    add_rows(m, unit);
}

static void add_list(struct making *m)
{
    add(m->c, "count", m->c->answer->number, m->c->answer->unit, m->c->answer->n);
    if (m->c->answer->n_rows > 0) add_rows(m, row_unit(m));
}

enum weir_status entries_make(struct claim *claim, struct dataset *d, struct arena *arena)
{
    struct making m = {claim, d, arena, WEIR_OK};
    const struct plan_answer *a = claim->answer;
    switch (claim->plan->op) {
    case PLAN_AGGREGATE: add_aggregate(&m); break;
    case PLAN_COUNT: add_count(&m); break;
    case PLAN_LIST:
    case PLAN_ANOMALY: add_list(&m); break;
    case PLAN_EXTREME:
    case PLAN_FIND:
    case PLAN_ROLLING: add_extreme(&m); break;
    case PLAN_COMPARE: add_compare(&m); break;
    case PLAN_CHANGE: add_change(&m); break;
    case PLAN_TREND: add_trend(&m); break;
    case PLAN_CORRELATE: add_correlation(&m); break;
    case PLAN_GROUP: add_group(&m); break;
    case PLAN_STREAK:
        add(claim, "streak", a->number, a->unit, a->n);
        add_date(claim);
        break;
    case PLAN_DISTRIBUTION: add_distribution(&m); break;
    }
    return m.st;
}
