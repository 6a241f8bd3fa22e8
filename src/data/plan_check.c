/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a plan makes sense. These rules are about what the members say together; which members
 * there are and of what type is the parser's business. Every sentence says what would be right.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/slice.h"
#include "data/plan_impl.h"

void plan_init(struct plan *plan)
{
    *plan = (struct plan){.window = {.from = DAY_NONE, .to = DAY_NONE},
                          .window_b = {.from = DAY_NONE, .to = DAY_NONE}};
}

__attribute__((format(printf, 3, 4))) static enum weir_status refuse(struct plan_error *error,
                                                                     const char *path,
                                                                     const char *format, ...)
{
    va_list args;
    va_start(args, format);
    snprintf(error->path, sizeof error->path, "%s", path);
    vsnprintf(error->text, sizeof error->text, format, args);
    va_end(args);
    return WEIR_BAD_FIELD;
}

static bool is_day(int32_t day)
{
    return day == DAY_NONE || (day >= DAY_MIN && day <= DAY_MAX);
}

static enum weir_status check_window(const struct plan_window *w, const char *path,
                                     struct plan_error *error)
{
    bool has_ends = w->from != DAY_NONE || w->to != DAY_NONE;
    if (w->last > 0 && has_ends)
        return refuse(error, path, "takes last_days, or from and to, not both");
    if (w->last == 0 && w->skip > 0)
        return refuse(error, path, "skip_days goes with last_days: so many days before them");
    if (w->last > PLAN_LAST_DAYS || w->skip > PLAN_LAST_DAYS)
        return refuse(error, path, "is at most %d days", PLAN_LAST_DAYS);
    if (!is_day(w->from) || !is_day(w->to))
        return refuse(error, path, "has dates from 1900 to 2169");
    if (w->from != DAY_NONE && w->to != DAY_NONE && w->from > w->to)
        return refuse(error, path, "ends before it begins: from is the earlier date");
    return WEIR_OK;
}

static enum weir_status check_having(const struct plan_having *h, const char *path,
                                     struct plan_error *error)
{
    if ((unsigned)h->cmp > CMP_BETWEEN) return refuse(error, path, "has an unknown comparison");
    if (h->cmp == CMP_NONE) return WEIR_OK;
    if (!isfinite(h->value) || (h->cmp == CMP_BETWEEN && !isfinite(h->value2)))
        return refuse(error, path, "compares with a number");
    return WEIR_OK;
}

static enum weir_status check_condition(const struct plan_condition *c, const char *path,
                                        struct plan_error *error)
{
    if (c->shift > PLAN_LAST_DAYS || c->shift < -PLAN_LAST_DAYS)
        return refuse(error, path, "shift_days is at most %d", PLAN_LAST_DAYS);
    switch (c->kind) {
    case WHERE_METRIC:
        if (!c->metric) return refuse(error, path, "needs a metric");
        break;
    case WHERE_WORKOUT:
        if ((unsigned)c->field > FIELD_SPEED) return refuse(error, path, "has an unknown field");
        break;
    case WHERE_WEEKDAY:
        if (c->set == 0 || (c->set & ~(uint32_t)WEEKDAYS_ALL) != 0)
            return refuse(error, path, "needs days of the week");
        return WEIR_OK;
    case WHERE_MONTH:
        if (c->set == 0 || (c->set & ~(uint32_t)MONTHS_ALL) != 0)
            return refuse(error, path, "needs months");
        return WEIR_OK;
    default: return refuse(error, path, "is of an unknown kind");
    }
    return check_having(&c->having, path, error);
}

static enum weir_status check_where(const struct plan_where *w, const char *path,
                                    struct plan_error *error)
{
    if (w->n > PLAN_CONDITIONS)
        return refuse(error, path, "has at most %d conditions", PLAN_CONDITIONS);
    for (size_t i = 0; i < w->n; i++) {
        char place[48];
        snprintf(place, sizeof place, "%s[%zu]", path, i);
        enum weir_status st = check_condition(&w->conditions[i], place, error);
        if (st != WEIR_OK) return st;
    }
    return WEIR_OK;
}

static enum weir_status check_subject(const struct plan *p, struct plan_error *error)
{
    bool has_subject = p->subject == PLAN_OF_WORKOUTS ||
                       (p->subject == PLAN_OF_METRIC && p->metric) ||
                       (p->subject == PLAN_OF_LAB && (p->analyte || p->lab));
    if (!has_subject) return refuse(error, "", "needs one of metric, workouts and lab");
    if ((unsigned)p->field > FIELD_SPEED) return refuse(error, "field", "is not known");
    if ((unsigned)p->op > PLAN_DISTRIBUTION) return refuse(error, "op", "is not known");
    if ((unsigned)p->stat > STAT_LAST) return refuse(error, "stat", "is not known");
    return WEIR_OK;
}

/* A time of day is a point on a circle. */
static enum weir_status check_clock(const struct plan *p, struct plan_error *error)
{
    bool has_stat = p->op == PLAN_AGGREGATE || p->op == PLAN_COMPARE || p->op == PLAN_GROUP ||
                    p->op == PLAN_ROLLING;
    if (has_stat && (p->stat == STAT_SUM || p->stat == STAT_CV))
        return refuse(error, "stat", "%s has no meaning for a time of day; mean, median or sd do",
                      plan_stat_words[p->stat]);
    bool has_result = p->op == PLAN_COMPARE || p->op == PLAN_CHANGE;
    if (has_result && p->result != RESULT_DIFFERENCE)
        return refuse(error, "result", "of times of day is a difference, in minutes");
    return WEIR_OK;
}

static enum weir_status check_stat(const struct plan *p, struct plan_error *error)
{
    if (p->stat == STAT_QUANTILE && !(p->quantile >= 0 && p->quantile <= 1))
        return refuse(error, "quantile", "is a share from 0 to 1, as 0.9");
    bool is_rate = p->op == PLAN_COUNT ||
                   (p->op == PLAN_AGGREGATE && (p->stat == STAT_SUM || p->stat == STAT_COUNT));
    if (p->per != PER_NONE && p->op != PLAN_TREND && !is_rate)
        return refuse(error, "per", "goes with trend, count and the stats sum and count");
    if (p->per != PER_NONE && p->as_share) return refuse(error, "per", "does not go with share");
    if (p->by_day && p->subject != PLAN_OF_WORKOUTS)
        return refuse(error, "by_day", "goes with workouts: days of a metric are counted anyway");
    return WEIR_OK;
}

bool plan_is_same_window(const struct plan_window *a, const struct plan_window *b)
{
    return a->from == b->from && a->to == b->to && a->last == b->last && a->skip == b->skip;
}

/* Member by member: there may be anything between them. */
static bool is_same_condition(const struct plan_condition *a, const struct plan_condition *b)
{
    const struct plan_having *x = &a->having, *y = &b->having;
    bool is_same_test = x->cmp == y->cmp && (x->cmp == CMP_NONE || x->value == y->value) &&
                        (x->cmp != CMP_BETWEEN || x->value2 == y->value2);
    if (a->kind != b->kind || a->is_not != b->is_not || a->shift != b->shift) return false;
    if (a->kind == WHERE_WEEKDAY || a->kind == WHERE_MONTH) return a->set == b->set;
    if (a->kind == WHERE_METRIC) return a->metric == b->metric && is_same_test;
    return a->activity == b->activity && a->field == b->field && is_same_test;
}

bool plan_is_same_where(const struct plan_where *a, const struct plan_where *b)
{
    if (a->n != b->n) return false;
    for (size_t i = 0; i < a->n; i++)
        if (!is_same_condition(&a->conditions[i], &b->conditions[i])) return false;
    return true;
}

static enum weir_status check_compare(const struct plan *p, struct plan_error *error)
{
    enum weir_status st = check_window(&p->window_b, "b.window", error);
    if (st != WEIR_OK) return st;
    st = check_where(&p->where_b, "b.where", error);
    if (st != WEIR_OK) return st;
    if (plan_is_same_window(&p->window, &p->window_b) && plan_is_same_where(&p->where, &p->where_b))
        return refuse(error, "b",
                      "is the same as what it is compared with: it needs another "
                      "window, or another where");
    return WEIR_OK;
}

static enum weir_status check_correlate(const struct plan *p, struct plan_error *error)
{
    if (!p->with) return refuse(error, "with", "is needed: the other metric");
    if (p->lag > 366 || p->lag < -366) return refuse(error, "lag_days", "is at most 366");
    bool is_itself = p->subject == PLAN_OF_METRIC && p->with == p->metric && p->lag == 0;
    if (is_itself) return refuse(error, "with", "is the metric itself: it goes with itself always");
    if (p->subject == PLAN_OF_LAB)
        return refuse(error, "lab", "has too few days to go with a metric; trend or list show it");
    if (p->method == METHOD_OLS || p->method == METHOD_THEIL_SEN)
        return refuse(error, "method", "of correlate is pearson, spearman or kendall");
    return WEIR_OK;
}

static enum weir_status check_op(const struct plan *p, struct plan_error *error)
{
    switch (p->op) {
    case PLAN_COMPARE: return check_compare(p, error);
    case PLAN_CORRELATE: return check_correlate(p, error);
    case PLAN_TREND:
        if (p->method > METHOD_THEIL_SEN)
            return refuse(error, "method", "of trend is ols or theil_sen");
        return WEIR_OK;
    case PLAN_ROLLING:
        if (p->days < 2 || p->days > PLAN_ROLLING_DAYS)
            return refuse(error, "days", "is from 2 to %d", PLAN_ROLLING_DAYS);
        if (p->pick == PICK_FIRST) return refuse(error, "pick", "of rolling is max, min or last");
        return WEIR_OK;
    case PLAN_EXTREME:
    case PLAN_GROUP:
        if (p->pick == PICK_FIRST || p->pick == PICK_LAST)
            return refuse(error, "pick", "of %s is max or min", plan_op_words[p->op]);
        return WEIR_OK;
    case PLAN_FIND:
        if (p->pick == PICK_MAX || p->pick == PICK_MIN)
            return refuse(error, "pick", "of find is first or last");
        return WEIR_OK;
    case PLAN_STREAK:
        if (p->pick == PICK_MIN || p->pick == PICK_FIRST)
            return refuse(error, "pick", "of streak is longest or current");
        return WEIR_OK;
    case PLAN_ANOMALY:
        if (!(p->threshold >= 0 && p->threshold <= 1000))
            return refuse(error, "threshold", "is a distance in deviations, as 3.5");
        return WEIR_OK;
    default: return WEIR_OK;
    }
}

static bool unit_is_of_difference(const struct plan *p)
{
    bool has_stat = p->op == PLAN_AGGREGATE || p->op == PLAN_GROUP || p->op == PLAN_ROLLING;
    bool is_spread = has_stat && (p->stat == STAT_SD || p->stat == STAT_RANGE);
    return p->op == PLAN_COMPARE || p->op == PLAN_CHANGE || p->op == PLAN_TREND || is_spread;
}

static enum weir_status check_unit(const struct plan *p, struct plan_error *error)
{
    double out;
    char title[96];
    if (!p->unit) return WEIR_OK;
    if (plan_convert(p, p->unit, unit_is_of_difference(p), 1, &out)) return WEIR_OK;
    plan_subject_title(p, title, sizeof title);
    return refuse(error, "unit", "cannot be %.24s: %.60s is in %.24s", p->unit, title,
                  plan_subject_unit(p)[0] ? plan_subject_unit(p) : "no known unit");
}

enum weir_status plan_check(const struct plan *plan, struct plan_error *error)
{
    enum weir_status st = check_subject(plan, error);
    if (st == WEIR_OK) st = check_window(&plan->window, "window", error);
    if (st == WEIR_OK) st = check_where(&plan->where, "where", error);
    if (st == WEIR_OK) st = check_having(&plan->having, "having", error);
    if (st == WEIR_OK) st = check_stat(plan, error);
    if (st == WEIR_OK && plan_is_clock(plan)) st = check_clock(plan, error);
    if (st == WEIR_OK) st = check_op(plan, error);
    if (st == WEIR_OK) st = check_unit(plan, error);
    return st;
}
