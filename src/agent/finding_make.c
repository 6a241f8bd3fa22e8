/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a plan and its answer to claims. What is only counted or looked up is a value. A mean, a
 * trend, a difference and a correlation say something about a person beyond the days they are of,
 * and go through the gates with the days behind them.
 *
 * Where the question asks for the number by name, the number is brought beside the claim as a
 * value: "the correlation is 0.04" is true of these days whatever it means. A mean of too few days
 * is treated the same way.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "agent/finding.h"
#include "base/check.h"
#include "stat/circular.h"

enum {
    WEEK = 7,
    LEVEL_DAYS = 10,    /* the gates' own rule for a mean */
    WEEKEND_SET = 0x60, /* Saturday and Sunday, bit 0 is Monday */
    WORKWEEK_SET = 0x1F,
};
static const double level_share = 0.6; /* the gates' own, too */

struct maker {
    struct claims *out;
    const struct plan *plan;
    const struct plan_answer *answer;
    struct agent_case *c;
    struct claim_wish *wish;
};

static const char *metric_name(const struct plan *plan)
{
    if (plan->subject == PLAN_OF_LAB) return plan->analyte ? plan->analyte->name : NULL;
    return claim_subject(plan)->name;
}

/* A claim with all numbers of the answer, without days. */
static enum weir_status add(struct maker *m, enum claim_kind kind, struct claim **out)
{
    struct claim *c = arena_alloc(m->c->arena, sizeof *c);
    if (!c) return m->c->arena->status;
    CHECK(m->out->n < CLAIMS_OF_PLAN);
    *c = (struct claim){.kind = kind,
                        .plan = m->plan,
                        .answer = m->answer,
                        .metric = metric_name(m->plan),
                        .from = m->answer->from,
                        .to = m->answer->to,
                        .is_causal = m->wish->is_causal && kind == CLAIM_PAIR};
    snprintf(c->id, sizeof c->id, "%s-%03u", m->wish->id_head, m->wish->next_id++);
    m->out->list[m->out->n++] = *out = c;
    return entries_make(c, m->c->data, m->c->arena);
}

/* Words are made when days and numbers are there. */
static enum weir_status name(struct maker *m, struct claim *c)
{
    bool is_asked = m->wish->text && (c->kind == CLAIM_VALUE || c->kind == CLAIM_LEVEL);
    c->text = is_asked ? m->wish->text : claim_words(c, m->c->arena);
    return c->text ? WEIR_OK : WEIR_NOMEM;
}

static enum weir_status add_value(struct maker *m, struct claim **out)
{
    struct claim *c = NULL;
    enum weir_status st = add(m, CLAIM_VALUE, &c);
    if (out) *out = c;
    return st == WEIR_OK ? name(m, c) : st;
}

static enum weir_status rows_of(struct maker *m, struct day_rows *rows, bool is_b)
{
    const struct plan *p = m->plan;
    struct rows_wish wish = {.metric = p->subject == PLAN_OF_METRIC ? p->metric : NULL,
                             .plan = p,
                             .window = is_b ? &p->window_b : &p->window,
                             .where = is_b ? &p->where_b : &p->where,
                             .from = is_b ? m->answer->from_b : m->answer->from,
                             .to = is_b ? m->answer->to_b : m->answer->to};
    enum weir_status st = rows_make(rows, &wish, m->c->data, m->c->arena);
    /* Days that a condition leaves out are not missing. */
    if (st == WEIR_OK && wish.where->n > 0) rows_close(rows);
    return st;
}

static uint32_t weekend_from(int32_t day)
{
    uint32_t set = 0;
    for (int32_t i = 0; i < WEEK; i++)
        if (day_is_weekend(day + i)) set |= 1u << i;
    return set;
}

static void set_days(struct claim *c, const struct day_rows *rows)
{
    c->days = (struct claim_days){.from = rows->from,
                                  .a = rows->x,
                                  .n_a = rows->n,
                                  .weekend = weekend_from(rows->from),
                                  .device_change = rows_device_change(rows),
                                  .is_one_device = true,
                                  .shift = rows->shift};
}

/* ---- a mean ---- */

/* Zeros and what is hardly possible may be left out by the gates, so they do not count here. */
static bool is_enough(const struct plan *plan, const struct day_rows *rows)
{
    const struct metric *m = claim_subject(plan);
    bool is_clock = plan_is_clock(plan);
    size_t n = 0;
    for (size_t i = 0; i < rows->n; i++) {
        double x = rows->x[i];
        bool is_sure = is_clock || (x != 0 && x >= m->min && x <= m->max);
        n += !isnan(x) && is_sure ? 1 : 0;
    }
    return n >= LEVEL_DAYS && (double)n >= level_share * (double)rows->n &&
           rows_device_change(rows) == 0;
}

static enum weir_status make_level(struct maker *m)
{
    struct day_rows rows;
    struct claim *value = NULL, *level;
    bool is_short = m->answer->to - m->answer->from + 1 < LEVEL_DAYS || m->plan->newest > 0;
    enum weir_status st = is_short ? WEIR_NOT_FOUND : rows_of(m, &rows, false);
    if (st == WEIR_NOT_FOUND) return add_value(m, NULL);
    if (st == WEIR_OK && !is_enough(m->plan, &rows)) st = add_value(m, &value);
    if (st == WEIR_OK) st = add(m, CLAIM_LEVEL, &level);
    if (st != WEIR_OK) return st;
    set_days(level, &rows);
    if (value) memcpy(level->beside, value->id, sizeof level->beside);
    return name(m, level);
}

/* ---- trends ---- */

static double days_per(enum plan_per per)
{
    static const double days[] = {7, 1, 7, 30.436875, 365.2425};
    return days[per];
}

/* The number alone, when it was asked for. */
static enum weir_status make_beside(struct maker *m, struct claim **value)
{
    *value = NULL;
    return m->wish->wants_number ? add_value(m, value) : WEIR_OK;
}

static enum weir_status finish(struct maker *m, struct claim *c, const struct claim *value)
{
    if (value) memcpy(c->beside, value->id, sizeof c->beside);
    return name(m, c);
}

static enum weir_status make_trend(struct maker *m)
{
    struct day_rows rows;
    struct claim *value = NULL, *trend;
    enum weir_status st = rows_of(m, &rows, false);
    if (st == WEIR_NOT_FOUND) return add_value(m, NULL);
    if (st == WEIR_OK) st = make_beside(m, &value);
    if (st == WEIR_OK) st = add(m, CLAIM_TREND, &trend);
    if (st != WEIR_OK) return st;
    set_days(trend, &rows);
    entries_add_line(trend, m->answer->number / days_per(m->plan->per));
    return finish(m, trend, value);
}

/* ---- two groups ---- */

static bool is_set(const struct plan_where *where, uint32_t set)
{
    const struct plan_condition *c = &where->conditions[0];
    return where->n == 1 && c->kind == WHERE_WEEKDAY && !c->is_not && c->shift == 0 &&
           c->set == set;
}

static bool is_weekend_against_week(const struct plan *p, bool *weekend_is_b)
{
    *weekend_is_b = is_set(&p->where_b, WEEKEND_SET);
    bool is_same = p->window.from == p->window_b.from && p->window.to == p->window_b.to &&
                   p->window.last == p->window_b.last && p->window.skip == p->window_b.skip;
    return is_same && ((is_set(&p->where, WEEKEND_SET) && is_set(&p->where_b, WORKWEEK_SET)) ||
                       (is_set(&p->where, WORKWEEK_SET) && *weekend_is_b));
}

/* All days of the window, for both kinds of days are in it. */
static enum weir_status make_weekdays(struct maker *m, struct claim *value, bool is_flipped)
{
    struct day_rows rows;
    struct claim *c;
    struct rows_wish wish = {.metric = m->plan->subject == PLAN_OF_METRIC ? m->plan->metric : NULL,
                             .plan = m->plan,
                             .window = &m->plan->window,
                             .from = m->answer->from,
                             .to = m->answer->to};
    enum weir_status st = rows_make(&rows, &wish, m->c->data, m->c->arena);
    if (st == WEIR_OK) st = add(m, CLAIM_WEEKDAYS, &c);
    if (st != WEIR_OK) return st;
    set_days(c, &rows);
    c->days.is_flipped = is_flipped;
    return finish(m, c, value);
}

/* Days that are in both windows belong to the shorter one. */
static void part(struct day_rows *a, struct day_rows *b)
{
    struct day_rows *longer = a->n > b->n ? a : b, *shorter = longer == a ? b : a;
    for (int32_t day = shorter->from; day <= shorter->to; day++) {
        if (day < longer->from || day > longer->to) continue;
        double *x = &longer->x[day - longer->from];
        longer->n_known -= isnan(*x) ? 0 : 1;
        *x = NAN;
    }
}

/* The gates count the days of the week on from the first window to the second. */
static enum weir_status align(struct day_rows *a, const struct day_rows *b, struct arena *arena)
{
    size_t gap = (size_t)(((b->from - a->from - (int32_t)a->n) % WEEK + WEEK) % WEEK);
    if (gap == 0) return WEIR_OK;
    double *x = arena_alloc(arena, (a->n + gap) * sizeof *x);
    if (!x) return arena->status;
    memcpy(x, a->x, a->n * sizeof *x);
    for (size_t i = 0; i < gap; i++) x[a->n + i] = NAN;
    a->x = x;
    a->n += gap;
    return WEIR_OK;
}

/* Times of day of both groups about the same hour, also where midnight is between the two. */
static void share_shift(struct day_rows *a, const struct day_rows *b)
{
    double apart = a->shift - b->shift;
    double turn = round(apart / STAT_DAY_MINUTES) * STAT_DAY_MINUTES;
    for (size_t i = 0; i < a->n; i++) a->x[i] += turn - apart;
    a->shift = b->shift;
}

static enum weir_status make_groups(struct maker *m, struct claim *value)
{
    struct day_rows earlier, later;
    struct claim *c;
    const struct plan *p = m->plan;
    bool has_groups = p->where.n > 0 || p->where_b.n > 0;
    bool is_flipped = m->answer->from < m->answer->from_b;
    enum weir_status st = rows_of(m, &earlier, !is_flipped);
    if (st == WEIR_OK) st = rows_of(m, &later, is_flipped);
    if (st != WEIR_OK) return st;
    if (!has_groups) part(&earlier, &later);
    share_shift(&earlier, &later);
    uint16_t a = rows_device(&earlier), b = rows_device(&later);
    if (!has_groups) st = align(&earlier, &later, m->c->arena);
    if (st == WEIR_OK) st = add(m, CLAIM_WINDOWS, &c);
    if (st != WEIR_OK) return st;
    set_days(c, &earlier);
    c->days.device_change_b = rows_device_change(&later);
    c->days.b = later.x;
    c->days.n_b = later.n;
    c->days.is_one_device = a == b || a == 0 || b == 0;
    c->days.is_flipped = is_flipped;
    if (has_groups) c->days.weekend = 0;
    return finish(m, c, value);
}

static enum weir_status make_compare(struct maker *m)
{
    static const char *const effects[] = {"diff", "pct", "ratio", NULL};
    struct claim *value = NULL;
    bool is_flipped;
    bool is_level = m->plan->stat == STAT_MEAN || m->plan->stat == STAT_MEDIAN;
    bool needs_value = !is_level || !m->wish->needs_no_value;
    enum weir_status st = needs_value ? add_value(m, &value) : WEIR_OK;
    if (st != WEIR_OK || !is_level) return st;
    if (value && !m->wish->wants_number) entries_drop(value, effects);
    if (is_weekend_against_week(m->plan, &is_flipped)) st = make_weekdays(m, value, is_flipped);
    else st = make_groups(m, value);
    return st == WEIR_NOT_FOUND ? WEIR_OK : st;
}

/* ---- two metrics ---- */

/* The days that both rows have. */
static void cut_to(struct day_rows *r, int32_t from, int32_t to)
{
    r->x += from - r->from;
    r->sources += from - r->from;
    r->from = from;
    r->to = to;
    r->n = (size_t)(to - from) + 1;
}

static enum weir_status make_pair(struct maker *m)
{
    struct day_rows x, y;
    struct claim *value, *pair;
    struct rows_wish wish = {.metric = m->plan->with,
                             .plan = m->plan,
                             .window = &m->plan->window,
                             .from = m->answer->from,
                             .to = m->answer->to};
    struct rows_wish own = wish;
    own.metric = m->plan->subject == PLAN_OF_METRIC ? m->plan->metric : NULL;
    own.where = &m->plan->where;
    enum weir_status st = rows_make(&x, &own, m->c->data, m->c->arena);
    if (st == WEIR_OK) st = rows_make(&y, &wish, m->c->data, m->c->arena);
    int32_t from = x.from > y.from ? x.from : y.from, to = x.to < y.to ? x.to : y.to;
    if (st == WEIR_NOT_FOUND || (st == WEIR_OK && from > to)) return add_value(m, NULL);
    if (st == WEIR_OK) st = make_beside(m, &value);
    if (st == WEIR_OK) st = add(m, CLAIM_PAIR, &pair);
    if (st != WEIR_OK) return st;
    cut_to(&x, from, to);
    cut_to(&y, from, to);
    set_days(pair, &x);
    pair->days.b = y.x;
    pair->days.n_b = y.n;
    pair->days.device_change_b = rows_device_change(&y);
    pair->metric_y = m->plan->with->name;
    pair->lag = m->plan->lag;
    return finish(m, pair, value);
}

/* ---- days that stand out ---- */

static enum weir_status add_anomaly(struct maker *m, const struct day_rows *rows,
                                    const struct plan_row *row)
{
    struct claim *c;
    if (row->day < rows->from || row->day > rows->to) return WEIR_OK;
    enum weir_status st = add(m, CLAIM_ANOMALY, &c);
    if (st != WEIR_OK) return st;
    set_days(c, rows);
    c->days.index = (size_t)(row->day - rows->from);
    st = entries_of_day(c, row, m->c->arena);
    return st == WEIR_OK ? name(m, c) : st;
}

static enum weir_status make_anomalies(struct maker *m)
{
    struct day_rows rows;
    enum weir_status st = add_value(m, NULL);
    if (st != WEIR_OK || m->answer->n_rows == 0 || m->plan->where.n > 0) return st;
    st = rows_of(m, &rows, false);
    for (size_t i = 0; st == WEIR_OK && i < m->answer->n_rows && i < CLAIM_ANOMALIES; i++)
        st = add_anomaly(m, &rows, &m->answer->rows[i]);
    return st == WEIR_NOT_FOUND ? WEIR_OK : st;
}

enum weir_status claims_make(struct claims *out, const struct plan *plan,
                             const struct plan_answer *answer, struct agent_case *c,
                             struct claim_wish *wish)
{
    struct maker m = {out, plan, answer, c, wish};
    bool is_level = plan->stat == STAT_MEAN || plan->stat == STAT_MEDIAN;
    *out = (struct claims){0};
    if (!claim_subject(plan)) return add_value(&m, NULL);
    switch (plan->op) {
    case PLAN_AGGREGATE:
        if (plan->subject == PLAN_OF_METRIC && is_level) return make_level(&m);
        return add_value(&m, NULL);
    case PLAN_TREND: return make_trend(&m);
    case PLAN_COMPARE: return make_compare(&m);
    case PLAN_CORRELATE: return make_pair(&m);
    case PLAN_ANOMALY: return make_anomalies(&m);
    default: return add_value(&m, NULL);
    }
}
