/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans that set two things beside each other. Which is subtracted from which:
 *
 *   two windows       the later less the earlier when one is "previous" or a change is asked for;
 *                     else the first named less the second; percent of the one subtracted
 *   weekend, weekday  the weekend less the weekdays, unless the words say otherwise
 *   days with, days without   the former less the latter
 */
#include "ask/build_impl.h"

/* ---- correlation ---- */

bool applies_correlate(const struct builder *b)
{
    const struct frame *f = &b->p->f;
    if (f->has_weekend && f->has_weekday && b->n_metrics == 1) return false;
    bool is_method =
        f->method == METHOD_PEARSON || f->method == METHOD_SPEARMAN || f->method == METHOD_KENDALL;
    return f->is_correlation || (is_method && b->n_metrics == 2);
}

bool build_correlate(struct builder *b)
{
    struct parse *p = b->p;
    struct plan *plan = b->plan;
    if (b->n_metrics != 2) {
        ask_refuse(p,
                   b->n_metrics < 2
                       ? "A correlation needs two metrics, and only %zu was recognised."
                       : "A correlation is between two metrics, and %zu were named.",
                   b->n_metrics);
        return false;
    }
    struct mention *x = b->metrics[0], *y = b->metrics[1];
    int lag = 0;
    if (p->f.lag_is_general) lag = p->f.lag;
    if (y->has_lag) lag = y->lag;
    if (x->has_lag) lag = -x->lag;
    if (lag < 0) {
        struct mention *other = x;
        x = y;
        y = other;
        lag = -lag;
    }
    if (x->metric == y->metric && lag == 0) {
        ask_refuse(p, "Both sides of this correlation are %s.", x->metric->title);
        return false;
    }
    if (x->has_quantity || y->has_quantity) {
        ask_refuse(p, "A threshold does not fit into a correlation.");
        return false;
    }
    plan->op = PLAN_CORRELATE;
    plan->subject = PLAN_OF_METRIC;
    plan->metric = x->metric;
    plan->with = y->metric;
    plan->lag = lag;
    x->is_used = y->is_used = true;
    b->used_lag = true;
    plan->method = p->f.method == METHOD_SPEARMAN || p->f.method == METHOD_KENDALL ? p->f.method
                                                                                   : METHOD_PEARSON;
    if (p->f.method == METHOD_DEFAULT) ask_note(p, "correlation by Pearson");
    return one_window(b) && all_where(b);
}

/* ---- comparison ---- */

static bool compares(const struct frame *f)
{
    return f->is_compare || f->is_difference || f->is_percent || f->is_change || f->has_than ||
           f->has_minus || f->is_ratio || f->is_trend;
}

static bool is_two_windows(const struct frame *f)
{
    if (f->n_windows == 2) return true;
    if (f->n_windows != 1) return false;
    if (f->implies_previous && f->windows[0].length > 0) return true;
    if (f->implies_previous && compares(f)) return true;
    if (f->windows[0].is_pair) return compares(f) || f->windows[0].days.last > 0;
    bool is_versus = f->is_compare || f->is_difference || f->has_than;
    return f->windows[0].is_previous && is_versus && f->windows[0].length > 0 && f->has_current;
}

static size_t count_scopes(const struct frame *f)
{
    return f->n_scopes - 1;
}

static bool has_other_scope(const struct frame *f)
{
    for (size_t i = 1; i < f->n_scopes; i++)
        if (f->scopes[i].is_other || f->scopes[i].is_not) return f->n_scopes > 2;
    return false;
}

bool applies_compare(const struct builder *b)
{
    const struct frame *f = &b->p->f;
    if (b->n_metrics == 0 && !b->sport && !b->lab) return false;
    if (f->has_weekend && f->has_weekday) return true;
    if (f->weekdays != 0 && f->weekdays_b != 0) return true;
    if (is_two_windows(f)) return true;
    if (f->is_on_off || has_other_scope(f)) return count_scopes(f) > 0;
    bool is_versus = f->is_compare || f->is_difference || f->has_than || f->has_minus;
    if (is_versus && f->is_percent && count_scopes(f) == 0) return false;
    return count_scopes(f) > 0 &&
           (is_versus || (f->is_change && f->n_windows == 0 && count_scopes(f) == 1));
}

/* The day a window begins, to tell the later from the earlier. */
static int32_t begin_of(const struct builder *b, const struct plan_window *w)
{
    if (w->last > 0) return b->p->data->today - (int32_t)w->skip - (int32_t)w->last + 1;
    return w->from == DAY_NONE ? b->p->data->first : w->from;
}

static void swap_windows(struct plan *plan)
{
    struct plan_window w = plan->window;
    plan->window = plan->window_b;
    plan->window_b = w;
}

/* The window of the same length that ends where this one begins. */
static struct plan_window window_before(const struct builder *b, const struct plan_window *w)
{
    if (w->last > 0)
        return (struct plan_window){
            .from = DAY_NONE, .to = DAY_NONE, .last = w->last, .skip = w->skip + w->last};
    int32_t to = w->to == DAY_NONE ? b->p->data->today : w->to;
    return (struct plan_window){.from = w->from - (to - w->from + 1), .to = w->from - 1};
}

static bool two_windows(struct builder *b)
{
    struct frame *f = &b->p->f;
    struct plan *plan = b->plan;
    struct window *first = &f->windows[0], *second = &f->windows[1];
    bool has_previous = false;
    if (f->n_windows == 2) {
        /* "the previous 30 days" beside "the last 30 days" are those before. */
        struct window *previous = second->is_previous ? second : first->is_previous ? first : NULL;
        struct window *other = previous == first ? second : first;
        if (previous && previous->days.skip == 0 && previous->days.last > 0) {
            uint32_t last = previous->days.last;
            previous->days = window_before(b, &other->days);
            if (previous->days.last > 0) previous->days.last = last;
            else previous->days.from = previous->days.to - (int32_t)last + 1;
        } else if (previous && previous->days.skip > 0 && other->days.last == 0) {
            uint32_t last = previous->days.last;
            previous->days = window_before(b, &other->days);
            previous->days.from = previous->days.to - (int32_t)last + 1;
        } else if (previous && previous->days.skip > 0) {
            previous->days.skip = other->days.skip + other->days.last;
        }
        has_previous = previous != NULL;
        plan->window = first->days;
        plan->window_b = second->days;
    } else if (first->is_pair) {
        plan->window = first->a;
        plan->window_b = first->b;
        bool a_is_previous = first->is_previous && plan->window.skip == 0 && plan->window.last > 0;
        if (a_is_previous) plan->window.skip = plan->window_b.skip + plan->window_b.last;
        has_previous = first->is_previous || plan->window_b.skip > 0;
        bool is_same = plan->window.last == plan->window_b.last &&
                       plan->window.skip == plan->window_b.skip && plan->window.last > 0;
        if (is_same) plan->window_b.skip += plan->window_b.last;
    } else {
        plan->window = first->days;
        if (first->is_previous) plan->window.skip = 0;
        plan->window_b = window_before(b, &plan->window);
        has_previous = true;
    }
    bool is_earlier = begin_of(b, &plan->window) < begin_of(b, &plan->window_b);
    bool is_later_less =
        has_previous || f->is_change || f->is_percent || f->is_trend || first->is_pair;
    if (f->has_minus) is_later_less = false;
    if (f->has_minus && f->n_windows == 2 && has_previous && f->minus_at == 0) is_later_less = true;
    if (is_later_less && is_earlier && !f->has_than) swap_windows(plan);
    return true;
}

/* Both sides of the weekend. */
static bool two_halves(struct builder *b)
{
    struct frame *f = &b->p->f;
    struct plan *plan = b->plan;
    uint32_t a = WEEKEND_SET, other = WEEKDAY_SET;
    if (f->weekdays != 0 && f->weekdays_b != 0) {
        a = f->weekdays;
        other = f->weekdays_b;
    } else {
        bool is_turned =
            f->weekday_first || (f->has_than && f->weekday_at < f->weekend_at && !f->has_minus);
        if (is_turned) {
            a = WEEKDAY_SET;
            other = WEEKEND_SET;
        }
        ask_note(b->p, is_turned ? "weekdays less weekends" : "weekends less weekdays");
    }
    if (!one_window(b)) return false;
    plan->window_b = plan->window;
    for (size_t s = 1; s < f->n_scopes; s++)
        if (!scope_where(b, s, &plan->where)) return false;
    plan->where_b = plan->where;
    return add_weekdays(b, a, &plan->where) && add_weekdays(b, other, &plan->where_b);
}

/* The opposite of one condition. */
static void negate(struct plan_where *where)
{
    for (size_t i = 0; i < where->n; i++)
        where->conditions[i].is_not = !where->conditions[i].is_not;
}

static bool is_complement(const struct frame *f, size_t s)
{
    if (f->scopes[s].is_other) return true;
    if (!f->scopes[s].is_not) return false;
    for (size_t i = 0; i < f->n_mentions; i++)
        if (f->mentions[i].scope == s) return false;
    return true;
}

/* A threshold alone on the second side is about the same metric: "under 7 hours versus over". */
static void inherit_metric(struct builder *b, size_t from, size_t to)
{
    struct frame *f = &b->p->f;
    struct mention *source = NULL;
    for (size_t i = 0; i < f->n_mentions; i++) {
        if (f->mentions[i].scope == to) return;
        if (f->mentions[i].scope == from) source = &f->mentions[i];
    }
    for (size_t k = 0; k < f->n_loose && source; k++) {
        if (f->loose[k].at == SIZE_MAX || f->loose_scope[k] != to || f->n_mentions == MAX_MENTIONS)
            continue;
        struct mention *m = &f->mentions[f->n_mentions++];
        *m = *source;
        m->scope = (uint8_t)to;
        m->quantity = f->loose[k];
        f->loose[k].at = SIZE_MAX;
    }
}

static bool two_groups(struct builder *b)
{
    struct frame *f = &b->p->f;
    struct plan *plan = b->plan;
    size_t n = count_scopes(f);
    if (!one_window(b) || n > 2) {
        if (!b->p->is_failed) ask_refuse(b->p, "More than two groups of days cannot be compared.");
        return false;
    }
    plan->window_b = plan->window;
    size_t first = 1, second = 2;
    bool is_turned = n == 2 && is_complement(f, 1);
    if (is_turned) {
        first = 2;
        second = 1;
    }
    if (n == 2) inherit_metric(b, first, second);
    if (!scope_where(b, first, &plan->where)) return false;
    if (n == 1 || is_complement(f, second)) {
        plan->where_b = plan->where;
        if (plan->where.n != 1) {
            ask_refuse(b->p, "The days other than those cannot be named by one condition.");
            return false;
        }
        negate(&plan->where_b);
    } else if (!scope_where(b, second, &plan->where_b)) {
        return false;
    }
    /* "days I don't run compared with days I run": with less without, unless minus says so. */
    bool is_off_first = plan->where.n == 1 && plan->where.conditions[0].is_not &&
                        plan->where_b.n == 1 && !plan->where_b.conditions[0].is_not &&
                        !f->has_minus && !f->has_than;
    if (is_off_first) {
        struct plan_where w = plan->where;
        plan->where = plan->where_b;
        plan->where_b = w;
    }
    uint32_t set = f->weekdays != 0 ? f->weekdays
                   : f->has_weekend ? WEEKEND_SET
                   : f->has_weekday ? WEEKDAY_SET
                                    : 0;
    return add_weekdays(b, set, &plan->where) && add_weekdays(b, set, &plan->where_b);
}

static bool set_result(struct builder *b)
{
    struct frame *f = &b->p->f;
    struct plan *plan = b->plan;
    if (f->is_ratio) plan->result = RESULT_RATIO;
    if (f->is_percent || f->is_share) plan->result = RESULT_PERCENT;
    if (plan->result != RESULT_DIFFERENCE) return true;
    switch (plan->subject) {
    case PLAN_OF_WORKOUTS:
        return plan->field == FIELD_SESSIONS || set_unit(b, field_unit(plan->field));
    case PLAN_OF_LAB: return set_unit(b, plan->analyte->unit);
    default: return set_unit(b, plan->metric->unit);
    }
}

bool build_compare(struct builder *b)
{
    struct frame *f = &b->p->f;
    struct plan *plan = b->plan;
    if (!set_subject(b)) return false;
    plan->op = PLAN_COMPARE;
    bool is_count = plan->subject == PLAN_OF_WORKOUTS;
    if (!one_stat(b, is_count ? STAT_SUM : STAT_MEAN, &plan->stat)) return false;
    if (f->sum_is_name && plan->stat == STAT_SUM) plan->stat = STAT_MEAN;
    if (f->has_most && f->n_stats == 0) {
        enum plan_pick pick;
        if (!most_pick(b, plan->metric, &pick)) return false;
        plan->stat = pick == PICK_MAX ? STAT_MAX : STAT_MIN;
    }
    bool is_halves = (f->has_weekend && f->has_weekday) || (f->weekdays != 0 && f->weekdays_b != 0);
    bool is_windows = !is_halves && is_two_windows(f);
    if (is_halves && !two_halves(b)) return false;
    if (is_windows) {
        struct plan_where *w = &plan->where;
        size_t n_windows = f->n_windows;
        if (!two_windows(b)) return false;
        f->n_windows = 0;
        if (!all_where(b)) return false;
        f->n_windows = n_windows;
        plan->where_b = *w;
    }
    if (!is_halves && !is_windows && !two_groups(b)) return false;
    if (b->metrics[0] && b->n_metrics > 0 && b->metrics[0]->has_quantity) {
        ask_refuse(b->p, "A threshold does not fit into this comparison.");
        return false;
    }
    return set_result(b);
}
