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

static bool has_two_metrics(struct builder *b)
{
    struct parse *p = b->p;
    if (b->n_metrics < 2 && text_in(p, 0, "how well")) {
        ask_refuse(p,
                   "How well is a judgement: ask for a number, such as the length or the score.");
        return false;
    }
    if (b->n_metrics != 2) {
        ask_refuse(p,
                   b->n_metrics < 2
                       ? "A correlation needs two metrics, and only %zu was recognised."
                       : "A correlation is between two metrics, and %zu were named.",
                   b->n_metrics);
        return false;
    }
    return true;
}

bool build_correlate(struct builder *b)
{
    struct parse *p = b->p;
    struct plan *plan = b->plan;
    if (!has_two_metrics(b)) return false;
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

/* One window that stands for two: "the last 30 days compared with before". */
static bool implies_second(const struct frame *f)
{
    const struct window *w = &f->windows[0];
    bool is_versus = f->is_compare || f->is_difference || f->has_than;
    /* "how did my average weight change in the last 14 days": against the 14 before. */
    bool is_mean = f->n_stats == 1 && f->stats[0] == STAT_MEAN;
    if (w->length == 0) return false;
    if (is_mean && f->is_change && !f->has_per) return true;
    return w->is_previous && is_versus && f->has_current;
}

static bool is_two_windows(const struct frame *f)
{
    const struct window *w = &f->windows[0];
    if (f->n_windows == 2)
        return compares(f) || f->windows[0].is_previous || f->windows[1].is_previous;
    if (f->n_windows != 1) return false;
    if (f->than_days > 0) return true;
    if (f->implies_previous) return w->length > 0 || compares(f);
    if (w->is_pair) return compares(f) || w->days.last > 0;
    return implies_second(f);
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

/* "do I sleep more on days I run": than on others. */
static bool implies_others(const struct builder *b)
{
    const struct frame *f = &b->p->f;
    bool is_asked = f->asks_yes_no || f->asks_much || f->asks_many;
    return f->has_comparative && is_asked && count_scopes(f) == 1 && !f->scopes[1].is_other &&
           b->n_metrics > 0;
}

/* "less on Mondays": than on the other days of the week. */
static bool is_named_half(const struct frame *f)
{
    return f->weekdays != 0 && f->weekdays_b == 0 && !f->has_weekend && !f->has_weekday;
}

/* "how does my sleep differ on weekends": from the other days of the week. */
static bool implies_half(const struct frame *f)
{
    bool is_half = f->has_weekend != f->has_weekday && f->weekdays == 0;
    bool is_one = (is_half || is_named_half(f)) && f->n_scopes == 1;
    bool is_versus = f->is_difference || f->has_comparative;
    return is_one && is_versus && f->n_windows <= 1 && !f->implies_previous && !f->is_trend;
}

static bool is_two_halves(const struct builder *b)
{
    const struct frame *f = &b->p->f;
    /* Sessions are not compared so: there are more days in the one half. */
    if (implies_half(f) && b->n_metrics > 0) return true;
    return (f->has_weekend && f->has_weekday) || (f->weekdays != 0 && f->weekdays_b != 0);
}

static bool is_versus(const struct frame *f)
{
    return f->is_compare || f->is_difference || f->has_than || f->has_minus;
}

bool applies_compare(const struct builder *b)
{
    const struct frame *f = &b->p->f;
    bool has_thing = b->n_metrics > 0 || b->sport || b->lab;
    if (!has_thing) return false;
    if (is_two_halves(b) || is_two_windows(f)) return true;
    if (count_scopes(f) == 0) return false;
    if (f->is_on_off || has_other_scope(f) || implies_others(b) || is_versus(f)) return true;
    return f->is_change && f->n_windows == 0 && count_scopes(f) == 1;
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

/* "the previous 30 days" beside another window are those before it. */
static void settle_previous(const struct builder *b, struct window *previous,
                            const struct window *other)
{
    uint32_t last = previous->days.last;
    if (last == 0) return;
    previous->days = window_before(b, &other->days);
    if (previous->days.last > 0) previous->days.last = last;
    else previous->days.from = previous->days.to - (int32_t)last + 1;
}

/* Two that were named, one after the other; true when one is the time before the other. */
static bool named_windows(struct builder *b)
{
    struct frame *f = &b->p->f;
    struct window *first = &f->windows[0], *second = &f->windows[1];
    struct window *previous = second->is_previous ? second : first->is_previous ? first : NULL;
    if (previous) settle_previous(b, previous, previous == first ? second : first);
    b->plan->window = first->days;
    b->plan->window_b = second->days;
    return previous != NULL;
}

/* "between the previous 30 days and the last 30 days": two in one phrase. */
static bool paired_windows(struct builder *b)
{
    const struct window *w = &b->p->f.windows[0];
    struct plan_window *first = &b->plan->window, *second = &b->plan->window_b;
    *first = w->a;
    *second = w->b;
    bool is_first = w->is_previous && first->skip == 0 && first->last > 0;
    if (is_first) first->skip = second->skip + second->last;
    bool is_same = first->last > 0 && first->last == second->last && first->skip == second->skip;
    if (is_same) second->skip += second->last;
    return w->is_previous || second->skip > 0;
}

/* "the last 30 days compared with before". */
static bool implied_window(struct builder *b)
{
    const struct window *w = &b->p->f.windows[0];
    b->plan->window = w->days;
    if (w->is_previous) b->plan->window.skip = 0;
    b->plan->window_b = window_before(b, &b->plan->window);
    return true;
}

/* "more than last month": the days up to today less those. */
static bool against_now(struct builder *b)
{
    uint32_t n = b->p->f.than_days;
    b->plan->window = (struct plan_window){.from = DAY_NONE, .to = DAY_NONE, .last = n};
    b->plan->window_b = b->p->f.windows[0].days;
    ask_note(b->p, "the last %u days are compared with those", (unsigned)n);
    return true;
}

static void two_windows(struct builder *b)
{
    struct frame *f = &b->p->f;
    struct plan *plan = b->plan;
    bool is_pair = f->n_windows == 1 && f->windows[0].is_pair;
    bool has_previous = f->n_windows == 2  ? named_windows(b)
                        : f->than_days > 0 ? against_now(b)
                        : is_pair          ? paired_windows(b)
                                           : implied_window(b);
    bool is_earlier = begin_of(b, &plan->window) < begin_of(b, &plan->window_b);
    bool is_later_less = has_previous || f->is_change || f->is_percent || f->is_trend || is_pair;
    /* "A minus B" and "more in A than in B" say themselves which is subtracted. */
    if (is_later_less && is_earlier && !f->has_than && !f->has_minus) swap_windows(plan);
}

/* Whether anything is said of which days, which of them, or what to do with them. */
static bool asks_of_days(const struct frame *f)
{
    bool is_which = f->is_streak || f->is_correlation || f->is_list || f->asks_when ||
                    f->asks_which || f->has_most || f->rank > 0;
    return is_which || f->n_scopes > 1 || f->n_loose > 0 || f->n_stats > 0 || f->has_quantile ||
           f->has_group || said_weekdays(f) != 0;
}

bool windows_alone(struct builder *b)
{
    const struct frame *f = &b->p->f;
    if (f->n_windows == 0 || asks_of_days(f)) return false;
    if (is_two_windows(f)) {
        b->plan->op = PLAN_COMPARE;
        two_windows(b);
        return true;
    }
    b->plan->window = f->windows[0].days;
    return f->n_windows == 1;
}

/* Which days of the week are set against which. */
static void halves_of(struct builder *b, uint32_t *a, uint32_t *other)
{
    const struct frame *f = &b->p->f;
    if (f->weekdays != 0) {
        *a = f->weekdays;
        *other = is_named_half(f) ? (WEEKEND_SET | WEEKDAY_SET) & ~*a : f->weekdays_b;
        if (is_named_half(f)) ask_note(b->p, "compared with the other days of the week");
        return;
    }
    bool is_turned =
        f->weekday_first || !f->has_weekend ||
        (f->has_weekday && f->has_than && f->weekday_at < f->weekend_at && !f->has_minus);
    *a = is_turned ? WEEKDAY_SET : WEEKEND_SET;
    *other = is_turned ? WEEKEND_SET : WEEKDAY_SET;
    if (!f->is_ratio)
        ask_note(b->p, is_turned ? "weekdays less weekends" : "weekends less weekdays");
}

/* Both sides of the weekend. */
static bool two_halves(struct builder *b)
{
    struct frame *f = &b->p->f;
    struct plan *plan = b->plan;
    uint32_t a, other;
    halves_of(b, &a, &other);
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

/* The second group: another condition, or the days that do not meet the first. */
static bool second_group(struct builder *b, size_t n, size_t second)
{
    struct plan *plan = b->plan;
    if (n == 2 && !is_complement(&b->p->f, second)) return scope_where(b, second, &plan->where_b);
    if (plan->where.n != 1) {
        ask_refuse(b->p, "The days other than those cannot be named by one condition.");
        return false;
    }
    plan->where_b = plan->where;
    negate(&plan->where_b);
    return true;
}

/* "subtract A from B" is B less A. */
static bool says_from(const struct parse *p)
{
    const struct frame *f = &p->f;
    if (!f->has_minus || !text_in(p, f->minus_at, "subtract|subtracting|take away")) return false;
    for (size_t i = f->minus_at + 1; i < p->t->n; i++)
        if (text_in(p, i, "from|from my|from that")) return true;
    return false;
}

static void swap_groups(struct plan *plan)
{
    struct plan_where w = plan->where;
    plan->where = plan->where_b;
    plan->where_b = w;
}

/* "days I don't run compared with days I run": with less without, unless the words say so. */
static void put_with_first(const struct frame *f, struct plan *plan)
{
    bool is_plain = plan->where.n == 1 && plan->where_b.n == 1 && !f->has_minus && !f->has_than;
    if (!is_plain || !plan->where.conditions[0].is_not || plan->where_b.conditions[0].is_not)
        return;
    swap_groups(plan);
}

static bool two_groups(struct builder *b)
{
    struct frame *f = &b->p->f;
    struct plan *plan = b->plan;
    size_t n = count_scopes(f);
    if (n > 2) {
        ask_refuse(b->p, "More than two groups of days cannot be compared.");
        return false;
    }
    if (!one_window(b)) return false;
    plan->window_b = plan->window;
    bool is_turned = n == 2 && is_complement(f, 1);
    size_t first = is_turned ? 2 : 1, second = is_turned ? 1 : 2;
    if (n == 2) inherit_metric(b, first, second);
    if (!scope_where(b, first, &plan->where) || !second_group(b, n, second)) return false;
    put_with_first(f, plan);
    if (says_from(b->p)) swap_groups(plan);
    uint32_t set = said_weekdays(f);
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

static bool compare_stat(struct builder *b)
{
    struct frame *f = &b->p->f;
    struct plan *plan = b->plan;
    bool is_count = plan->subject == PLAN_OF_WORKOUTS;
    if (!one_stat(b, is_count ? STAT_SUM : STAT_MEAN, &plan->stat)) return false;
    if (f->sum_is_name && plan->stat == STAT_SUM) plan->stat = STAT_MEAN;
    bool is_default = f->n_stats == 0 && plan->stat == STAT_MEAN && !wants_mean(f) && !f->has_most;
    if (is_default && !is_count) ask_note(b->p, "the averages by day are compared");
    if (!f->has_most || f->n_stats > 0) return true;
    enum plan_pick pick;
    if (!most_pick(b, plan->metric, &pick)) return false;
    plan->stat = pick == PICK_MAX ? STAT_MAX : STAT_MIN;
    return true;
}

bool build_compare(struct builder *b)
{
    struct frame *f = &b->p->f;
    struct plan *plan = b->plan;
    if (!set_subject(b)) return false;
    plan->op = PLAN_COMPARE;
    if (b->n_metrics > 0 && b->metrics[0]->has_quantity) {
        ask_refuse(b->p, "A threshold does not fit into this comparison.");
        return false;
    }
    if (!compare_stat(b)) return false;
    if (is_two_halves(b)) return two_halves(b) && set_result(b);
    if (!is_two_windows(f)) return two_groups(b) && set_result(b);
    two_windows(b);
    if (!all_where(b)) return false;
    plan->where_b = plan->where;
    return set_result(b);
}
