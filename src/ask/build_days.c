/* SPDX-License-Identifier: Apache-2.0 */
/* Plans about the days of one metric: statistics, counts, extremes, groups, streaks, trends. */
#include "ask/build_impl.h"

enum { MOST_ROLLING = 366, DEFAULT_ROLLING = 7 };

/* The first metric of the question is its subject. */
static bool set_metric(struct builder *b)
{
    if (b->n_metrics == 0) {
        ask_refuse(b->p, "No metric was recognised in this question.");
        return false;
    }
    b->plan->subject = PLAN_OF_METRIC;
    b->plan->metric = b->metrics[0]->metric;
    b->metrics[0]->is_used = true;
    return true;
}

bool set_subject(struct builder *b)
{
    if (b->n_metrics > 0) return set_metric(b);
    if (b->sport) return set_workouts(b);
    if (b->lab) {
        b->plan->subject = PLAN_OF_LAB;
        b->plan->analyte = b->lab->analyte;
        b->lab->is_used = true;
        return true;
    }
    return set_metric(b);
}

static const char *subject_unit(const struct builder *b)
{
    switch (b->plan->subject) {
    case PLAN_OF_WORKOUTS: return field_unit(b->plan->field);
    case PLAN_OF_LAB: return b->plan->analyte->unit;
    default: return b->plan->metric->unit;
    }
}

/* Everything that most builders want: subject, window, conditions, unit. */
static bool set_common(struct builder *b)
{
    return set_subject(b) && one_window(b) && all_where(b) && set_unit(b, subject_unit(b));
}

/* Thresholds on further metrics of a count are conditions on the same days. */
static bool rest_as_conditions(struct builder *b)
{
    for (size_t i = 1; i < b->n_metrics; i++) {
        struct mention *m = b->metrics[i];
        struct plan_where *w = &b->plan->where;
        if (!m->has_quantity || w->n == PLAN_CONDITIONS) continue;
        struct plan_condition c = {.kind = WHERE_METRIC, .metric = m->metric};
        if (!having_of(b, m, &c.having)) return false;
        w->conditions[w->n++] = c;
        m->is_used = true;
    }
    return true;
}

/* The metric with the threshold goes first: "days with a deep sleep reading over …". */
static void bring_threshold_first(struct builder *b)
{
    for (size_t i = 1; i < b->n_metrics; i++) {
        if (!b->metrics[i]->has_quantity || b->metrics[0]->has_quantity) continue;
        struct mention *m = b->metrics[i];
        b->metrics[i] = b->metrics[0];
        b->metrics[0] = m;
    }
}

/* A condition that speaks of the counted days themselves: "how many days when my sleep was …". */
static void scope_into_count(struct builder *b)
{
    struct frame *f = &b->p->f;
    if (b->n_metrics > 0 || f->n_scopes != 2 || f->scopes[1].is_not || f->scopes[1].shift != 0)
        return;
    for (size_t i = 0; i < f->n_mentions; i++) {
        struct mention *m = &f->mentions[i];
        if (m->scope != 1 || m->kind != M_METRIC || !m->has_quantity) continue;
        m->scope = 0;
        b->metrics[b->n_metrics++] = m;
    }
    bool is_empty = true;
    for (size_t i = 0; i < f->n_mentions; i++) is_empty = is_empty && f->mentions[i].scope != 1;
    if (is_empty) f->n_scopes = 1;
}

/* ---- counting ---- */

static bool is_counting(const struct builder *b)
{
    const struct frame *f = &b->p->f;
    return f->counted != COUNT_NOTHING || f->asks_often || f->is_share || f->asks_many;
}

static bool main_has_threshold(const struct builder *b)
{
    for (size_t i = 0; i < b->n_metrics; i++)
        if (b->metrics[i]->has_quantity) return true;
    return false;
}

static bool scope_has_threshold(const struct builder *b)
{
    const struct frame *f = &b->p->f;
    for (size_t i = 0; i < f->n_mentions; i++)
        if (f->mentions[i].scope > 0 && f->mentions[i].has_quantity) return true;
    return false;
}

bool applies_count(const struct builder *b)
{
    const struct frame *f = &b->p->f;
    if (b->lab || b->sport) return false;
    bool counts_days =
        f->counted == COUNT_DAYS || f->counted == COUNT_TIMES || f->asks_often || f->is_share;
    if (main_has_threshold(b) && (is_counting(b) || f->asks_yes_no) && !f->asks_when) return true;
    if (b->n_metrics == 0) return counts_days && scope_has_threshold(b);
    /* Coverage: "on how many days do I have a reading". */
    return f->counted == COUNT_DAYS || f->counted == COUNT_RESULTS ||
           (f->has_reading && f->asks_many && !f->unit) || (f->is_share && f->has_reading);
}

bool build_count(struct builder *b)
{
    struct frame *f = &b->p->f;
    struct plan *plan = b->plan;
    scope_into_count(b);
    bring_threshold_first(b);
    plan->op = PLAN_COUNT;
    if (!set_metric(b) || !one_window(b) || !all_where(b) || !rest_as_conditions(b)) return false;
    plan->as_share = f->is_share;
    if (f->has_per && !f->is_share) plan->per = f->per;
    if (!b->metrics[0]->has_quantity) {
        if (f->asks_yes_no || f->has_most || f->is_spread) {
            ask_refuse(b->p, "It is not clear which days are to be counted.");
            return false;
        }
        if (f->n_scopes == 1 && !f->has_reading && f->n_stats > 0 && f->counted != COUNT_DAYS) {
            ask_refuse(b->p, "A threshold is missing, such as \"over 8 hours\".");
            return false;
        }
        return true;
    }
    if (f->asks_yes_no) ask_note(b->p, "answered by the number of days");
    return having_of(b, b->metrics[0], &plan->having);
}

/* ---- finding ---- */

/* "when did I last sleep over 9 hours", "which days had more than 15000 steps". */
bool applies_find(const struct builder *b)
{
    const struct frame *f = &b->p->f;
    return main_has_threshold(b) &&
           (f->asks_when || f->asks_which || f->is_list || f->has_latest || f->has_first);
}

bool build_find(struct builder *b)
{
    struct frame *f = &b->p->f;
    struct plan *plan = b->plan;
    bring_threshold_first(b);
    bool is_one = f->asks_when || f->has_latest || f->has_first;
    plan->op = is_one ? PLAN_FIND : PLAN_LIST;
    if (!set_metric(b) || !one_window(b) || !all_where(b) || !rest_as_conditions(b)) return false;
    if (is_one) plan->pick = f->has_first && !f->has_latest ? PICK_FIRST : PICK_LAST;
    if (is_one && !f->has_first && !f->has_latest) ask_note(b->p, "the newest such day");
    return having_of(b, b->metrics[0], &plan->having);
}

/* ---- extremes ---- */

static bool wants_day(const struct frame *f)
{
    return f->asks_which || f->asks_when;
}

bool applies_extreme(const struct builder *b)
{
    const struct frame *f = &b->p->f;
    if (b->n_metrics == 0 || !f->has_most || b->lab) return false;
    if (f->most_is_weak && wants_mean(f)) return false;
    bool is_clock = strcmp(b->metrics[0]->metric->unit, "clock") == 0;
    bool is_time_order = f->most == MOST_LATEST || f->most == MOST_EARLIEST;
    if (is_time_order && !is_clock) return false;
    return true;
}

/* "most" of what goes round the clock: after midnight is late. */
static bool extreme_stat(struct builder *b, enum plan_pick pick)
{
    struct frame *f = &b->p->f;
    struct plan *plan = b->plan;
    bool is_value = f->n_stats == 0 || (f->n_stats == 1 && f->stats[0] == STAT_SUM);
    bool is_same = f->n_stats == 1 && f->stats[0] == (pick == PICK_MAX ? STAT_MAX : STAT_MIN);
    if (!is_value && !is_same) {
        ask_refuse(b->p, "\"%s\" and another statistic are asked for at once.",
                   pick == PICK_MAX ? "highest" : "lowest");
        return false;
    }
    plan->op = PLAN_AGGREGATE;
    plan->stat = pick == PICK_MAX ? STAT_MAX : STAT_MIN;
    return true;
}

bool build_extreme(struct builder *b)
{
    struct frame *f = &b->p->f;
    struct plan *plan = b->plan;
    enum plan_pick pick;
    if (f->most >= MOST_BEST && f->most <= MOST_WORST && (f->asks_many || f->asks_much)) {
        ask_refuse(b->p, "How much would be best is a question for advice.");
        return false;
    }
    if (!set_metric(b) || !most_pick(b, plan->metric, &pick)) return false;
    if (!one_window(b) || !all_where(b) || !set_unit(b, plan->metric->unit)) return false;
    bool is_habit = wants_day(f) && f->rank == 0 && f->asks_which &&
                    (f->has_weak_mean || (f->n_stats == 1 && f->stats[0] == STAT_MEAN));
    if (is_habit) {
        /* "on which day do I walk most on average": a day of the week. */
        plan->op = PLAN_GROUP;
        plan->group = GROUP_WEEKDAY;
        plan->pick = pick;
        ask_note(b->p, "read as the day of the week");
        return true;
    }
    if (wants_day(f) || f->rank > 0 || f->most >= MOST_BEST) {
        plan->op = PLAN_EXTREME;
        plan->pick = pick;
        plan->wants_date = wants_day(f) && f->rank == 0;
        plan->limit = f->rank;
        return true;
    }
    return extreme_stat(b, pick);
}

/* ---- groups ---- */

bool applies_group(const struct builder *b)
{
    const struct frame *f = &b->p->f;
    return f->has_group && (b->n_metrics > 0 || b->sport);
}

bool build_group(struct builder *b)
{
    struct frame *f = &b->p->f;
    struct plan *plan = b->plan;
    enum plan_stat fallback = STAT_MEAN;
    /* The weekday that is grouped by is no condition. */
    if (f->group == GROUP_WEEKDAY && !f->has_weekend) f->has_weekday = false;
    if (!set_subject(b)) return false;
    if (plan->subject == PLAN_OF_WORKOUTS) fallback = STAT_SUM;
    bool sums = plan->subject == PLAN_OF_METRIC && plan->metric->daily == DAILY_SUM &&
                f->group != GROUP_WEEKDAY && f->asks_many;
    if (sums) fallback = STAT_SUM;
    plan->op = PLAN_GROUP;
    plan->group = f->group;
    if (!one_window(b) || !all_where(b) || !set_unit(b, subject_unit(b))) return false;
    if (!one_stat(b, fallback, &plan->stat)) return false;
    if (f->has_most) return most_pick(b, plan->metric, &plan->pick);
    if (f->asks_which) {
        ask_refuse(b->p, "Which one of them is asked for: the highest or the lowest?");
        return false;
    }
    return true;
}

/* ---- streaks ---- */

bool applies_streak(const struct builder *b)
{
    return b->p->f.is_streak;
}

bool build_streak(struct builder *b)
{
    struct frame *f = &b->p->f;
    struct plan *plan = b->plan;
    scope_into_count(b);
    bring_threshold_first(b);
    plan->op = PLAN_STREAK;
    plan->pick = f->has_current || (f->has_latest && !f->has_most) ? PICK_LAST : PICK_MAX;
    if (f->has_most && f->most != MOST_MAX && f->most != MOST_LONGEST && f->most != MOST_BEST &&
        f->most != MOST_LATEST) {
        ask_refuse(b->p, "Only the longest or the current streak can be asked for.");
        return false;
    }
    if (b->n_metrics == 0 && b->sport) return set_workouts(b) && one_window(b) && all_where(b);
    if (!set_metric(b) || !one_window(b) || !all_where(b) || !rest_as_conditions(b)) return false;
    if (b->metrics[0]->has_quantity) return having_of(b, b->metrics[0], &plan->having);
    if (f->has_reading) return true;
    ask_refuse(b->p, "A threshold is missing: a streak of days with how much %s?",
               plan->metric->title);
    return false;
}

/* ---- moving averages ---- */

bool applies_rolling(const struct builder *b)
{
    return b->p->f.is_rolling && b->n_metrics > 0;
}

bool build_rolling(struct builder *b)
{
    struct frame *f = &b->p->f;
    struct plan *plan = b->plan;
    uint32_t days = f->rolling_days > 0 ? f->rolling_days : DEFAULT_ROLLING;
    if (f->rolling_days == 0 && f->n_windows == 1 && f->windows[0].days.last > 0) {
        days = f->windows[0].days.last;
        f->n_windows = 0;
    }
    if (f->rolling_days == 0 && f->has_per && f->per == PER_MONTH) days = 30;
    if (!set_common(b) || !one_stat(b, STAT_MEAN, &plan->stat)) return false;
    bool is_whole =
        plan->window.last == 0 && plan->window.from == DAY_NONE && plan->window.to == DAY_NONE;
    plan->op = PLAN_ROLLING;
    plan->days = days > MOST_ROLLING ? MOST_ROLLING : days;
    bool is_most = f->has_most && f->most != MOST_LATEST && f->most != MOST_EARLIEST;
    if (is_most) {
        plan->wants_date = f->asks_when || f->asks_which;
        return most_pick(b, plan->metric, &plan->pick);
    }
    plan->pick = PICK_LAST;
    if (!is_whole) return true;
    /* The current average over n days is the average of the last n. */
    plan->op = PLAN_AGGREGATE;
    plan->pick = PICK_NONE;
    plan->days = 0;
    plan->window.last = days;
    return true;
}

/* ---- trends ---- */

bool applies_trend(const struct builder *b)
{
    const struct frame *f = &b->p->f;
    if (b->n_metrics == 0 && !b->lab && !b->sport) return false;
    bool is_method = f->method == METHOD_OLS || f->method == METHOD_THEIL_SEN;
    return f->is_trend || is_method || (f->is_change && f->has_per && !f->is_percent);
}

bool build_trend(struct builder *b)
{
    struct frame *f = &b->p->f;
    struct plan *plan = b->plan;
    plan->op = PLAN_TREND;
    if (!set_common(b)) return false;
    bool is_sum = f->n_stats == 1 && f->stats[0] == STAT_SUM;
    if (f->has_most || (f->n_stats > 0 && !wants_mean(f) && !is_sum)) {
        ask_refuse(b->p, "A trend and another statistic are asked for at once.");
        return false;
    }
    plan->method = f->method == METHOD_THEIL_SEN ? METHOD_THEIL_SEN : METHOD_OLS;
    if (f->method == METHOD_DEFAULT) ask_note(b->p, "trend by least squares");
    plan->per = f->has_per ? f->per : f->has_per_day ? PER_DAY : PER_WEEK;
    return true;
}

/* ---- anomalies and distributions ---- */

bool applies_shape(const struct builder *b)
{
    const struct frame *f = &b->p->f;
    return (f->is_anomaly || f->is_distribution) && (b->n_metrics > 0 || b->sport || b->lab);
}

bool build_shape(struct builder *b)
{
    b->plan->op = b->p->f.is_anomaly ? PLAN_ANOMALY : PLAN_DISTRIBUTION;
    return set_common(b);
}

/* ---- change over a window ---- */

bool applies_change(const struct builder *b)
{
    return b->p->f.is_change && (b->n_metrics > 0 || b->lab) && b->p->f.n_windows <= 1;
}

bool build_change(struct builder *b)
{
    struct frame *f = &b->p->f;
    struct plan *plan = b->plan;
    plan->op = PLAN_CHANGE;
    if (!set_common(b)) return false;
    if (f->is_percent) {
        plan->result = RESULT_PERCENT;
        plan->unit = NULL;
    }
    ask_note(b->p, "change: the last value less the first of the window");
    if (f->direction < 0) ask_note(b->p, "a loss has a minus sign");
    return true;
}

/* ---- statistics ---- */

bool applies_aggregate(const struct builder *b)
{
    return b->n_metrics > 0;
}

/* Without a statistic the words of asking and the metric tell. */
static enum plan_stat default_stat(struct builder *b)
{
    struct frame *f = &b->p->f;
    const struct metric *m = b->plan->metric;
    bool is_clock = m->daily == DAILY_CIRCULAR;
    bool is_amount = f->asks_many || f->asks_much || f->asks_long || f->asks_far;
    if (f->has_first && !f->has_latest) return STAT_FIRST;
    if ((f->has_latest || (f->has_current && f->n_windows == 0)) && f->n_stats == 0)
        return STAT_LAST;
    if (is_amount && m->daily == DAILY_SUM && !f->is_present && !is_clock) {
        if (b->plan->window.last != 1) ask_note(b->p, "read as the total");
        return STAT_SUM;
    }
    bool is_plain = f->n_stats == 0 && !wants_mean(f) && !f->is_spread && f->n_windows == 0 &&
                    f->n_scopes == 1 && !is_clock && !f->has_quantile;
    if (is_plain && m->daily == DAILY_LAST) {
        ask_note(b->p, "read as the latest value");
        return STAT_LAST;
    }
    if (is_plain) ask_note(b->p, "read as the mean over all days");
    return STAT_MEAN;
}

bool build_aggregate(struct builder *b)
{
    struct frame *f = &b->p->f;
    struct plan *plan = b->plan;
    plan->op = PLAN_AGGREGATE;
    /* "what time do I sleep" is about going to bed. */
    struct mention *m = b->metrics[0];
    if ((f->asks_time || (f->asks_when && f->has_weak_mean)) &&
        strcmp(m->metric->name, "sleep_minutes") == 0) {
        m->metric = metric_find(weir_slice_of("bedtime"));
        ask_note(b->p, "read as bedtime");
    }
    if (!set_common(b)) return false;
    bool is_clock = plan->metric->daily == DAILY_CIRCULAR;
    if ((wants_day(f) && !is_clock) || (f->asks_time && !is_clock) || f->asks_which ||
        b->metrics[0]->has_quantity) {
        ask_refuse(b->p, "It is not clear what is asked about %s.", plan->metric->title);
        return false;
    }
    if (is_clock && (f->asks_long || f->asks_much || f->asks_far)) {
        ask_refuse(b->p, "%s is a time of day and not a length.", plan->metric->title);
        return false;
    }
    if (f->asks_yes_no && f->n_stats == 0 && !f->has_weak_mean && f->ask == S_NONE) {
        ask_refuse(b->p, "It is not clear which number would answer this.");
        return false;
    }
    if (f->is_share || f->is_percent || f->is_compare || f->is_ratio || f->has_minus ||
        f->has_than) {
        ask_refuse(b->p, "It is not clear what is to be compared.");
        return false;
    }
    if (f->has_per && plan->metric->daily == DAILY_SUM) {
        plan->stat = STAT_SUM;
        plan->per = f->per;
        return true;
    }
    if (f->has_per && f->n_stats + (f->has_weak_mean ? 1u : 0u) == 0) {
        ask_refuse(b->p, "It is not clear what is asked about %s.", plan->metric->title);
        return false;
    }
    return one_stat(b, default_stat(b), &plan->stat);
}
