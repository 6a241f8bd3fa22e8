/* SPDX-License-Identifier: Apache-2.0 */
/* Plans about the days of one metric: statistics, counts, extremes, groups, streaks, trends. */
#include "ask/build_impl.h"

enum { MOST_ROLLING = 366, DEFAULT_ROLLING = 7, WEEK = 7 };

/* "heart rate" and the like: what it was read as is worth saying. */
static void note_choice(struct parse *p, size_t i, const struct metric *m)
{
    struct weir_slice t = p->t->list[i].text;
    size_t n = 0;
    for (size_t k = 0; k < p->t->list[i].senses.n; k++)
        n += p->t->list[i].senses.list[k].symbol == S_METRIC ? 1 : 0;
    if (n > 1 && t.len > 0) ask_note(p, "\"%.*s\" read as %s", (int)t.len, t.ptr, m->title);
}

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
    note_choice(b->p, b->metrics[0]->at, b->plan->metric);
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

/* "on how many days do I have a reading", "how much data is there". */
static bool asks_coverage(const struct frame *f)
{
    if (f->counted == COUNT_DAYS || f->counted == COUNT_RESULTS) return true;
    if (!f->has_reading) return false;
    bool is_data = f->has_data_word && (f->asks_many || f->asks_much);
    return is_data || f->is_share || (f->asks_many && !f->unit);
}

bool applies_count(const struct builder *b)
{
    const struct frame *f = &b->p->f;
    if (b->lab || b->sport) return false;
    bool has_threshold = main_has_threshold(b) && !f->asks_when;
    if (has_threshold && (is_counting(b) || f->asks_yes_no)) return true;
    if (b->n_metrics > 0) return asks_coverage(f);
    bool counts_days =
        f->counted == COUNT_DAYS || f->counted == COUNT_TIMES || f->asks_often || f->is_share;
    return counts_days && scope_has_threshold(b);
}

static bool check_coverage(struct builder *b)
{
    struct frame *f = &b->p->f;
    bool is_other = f->asks_yes_no || f->has_most || f->is_spread || f->is_change || f->is_trend ||
                    f->is_compare || f->is_difference || f->has_than || f->has_comparative;
    bool is_vague =
        f->n_scopes == 1 && !f->has_reading && f->n_stats > 0 && f->counted != COUNT_DAYS;
    if (!is_other && !is_vague) return true;
    ask_refuse(b->p,
               "It is not clear which days are to be counted: a threshold is missing, such as "
               "\"over 8 hours\".");
    return false;
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
    if (!b->metrics[0]->has_quantity) return check_coverage(b);
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

/* A list shows the days that meet its conditions. */
static bool threshold_as_condition(struct builder *b)
{
    struct plan_where *where = &b->plan->where;
    struct plan_condition c = {.kind = WHERE_METRIC, .metric = b->plan->metric};
    if (where->n == PLAN_CONDITIONS || !having_of(b, b->metrics[0], &c.having)) return false;
    where->conditions[where->n++] = c;
    return true;
}

bool build_find(struct builder *b)
{
    struct frame *f = &b->p->f;
    struct plan *plan = b->plan;
    bring_threshold_first(b);
    bool is_dated = f->has_latest || f->has_first;
    bool is_one = f->asks_when || is_dated;
    plan->op = is_one ? PLAN_FIND : PLAN_LIST;
    if (!set_metric(b) || !one_window(b) || !all_where(b) || !rest_as_conditions(b)) return false;
    if (!is_one) return threshold_as_condition(b);
    plan->pick = f->has_first && !f->has_latest ? PICK_FIRST : PICK_LAST;
    if (!is_dated) ask_note(b->p, "the newest such day");
    return having_of(b, b->metrics[0], &plan->having);
}

/* ---- extremes ---- */

static bool wants_day(const struct frame *f)
{
    /* "my biggest step day, in steps" asks for the value. */
    return (f->asks_which || f->asks_when) && !f->unit_is_said;
}

bool applies_extreme(const struct builder *b)
{
    const struct frame *f = &b->p->f;
    if (b->n_metrics == 0 || !f->has_most || b->lab) return false;
    bool is_now = text_in(b->p, f->most_at + 1, "is|are"); /* "how high is": no extreme */
    if (f->most_is_weak && (wants_mean(f) || is_now)) return false;
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

/* "on which day do I walk most on average": a day of the week. */
static bool asks_habit(const struct frame *f)
{
    bool is_mean = f->has_weak_mean || (f->n_stats == 1 && f->stats[0] == STAT_MEAN);
    return f->asks_which && f->rank == 0 && is_mean;
}

/* "drop the most": a day's change is asked for, which is no value of a day. */
static bool asks_day_change(const struct builder *b)
{
    return b->p->f.is_change &&
           text_in(b->p, b->p->f.most_at, "most|least|biggest|largest|greatest");
}

static bool check_extreme(struct builder *b)
{
    struct frame *f = &b->p->f;
    bool is_best = f->most == MOST_BEST || f->most == MOST_WORST;
    bool is_advice = is_best && (f->asks_many || f->asks_much) && !has_symbol(b->p, S_SELF);
    if (is_advice) ask_refuse(b->p, "How much would be best is a question for advice.");
    if (f->has_both) ask_refuse(b->p, "The highest and the lowest are asked for at once.");
    if (asks_day_change(b))
        ask_refuse(b->p, "Changes from one day to the next cannot be asked for.");
    return !b->p->is_failed;
}

/* "the difference between my highest and lowest" */
static bool asks_range(const struct frame *f)
{
    return f->has_both && (f->is_difference || f->has_minus);
}

static bool build_range(struct builder *b)
{
    b->plan->op = PLAN_AGGREGATE;
    b->plan->stat = STAT_RANGE;
    return set_common(b);
}

bool build_extreme(struct builder *b)
{
    struct frame *f = &b->p->f;
    struct plan *plan = b->plan;
    enum plan_pick pick;
    if (asks_range(f)) return build_range(b);
    if (!check_extreme(b) || !set_metric(b) || !most_pick(b, plan->metric, &pick)) return false;
    if (!one_window(b) || !all_where(b) || !set_unit(b, plan->metric->unit)) return false;
    if (asks_habit(f)) {
        plan->op = PLAN_GROUP;
        plan->group = GROUP_WEEKDAY;
        plan->pick = pick;
        ask_note(b->p, "read as the day of the week");
        return true;
    }
    bool is_row = wants_day(f) || f->rank > 0 || f->nth > 0 || f->most >= MOST_BEST;
    if (!is_row) return extreme_stat(b, pick);
    plan->op = PLAN_EXTREME;
    plan->pick = pick;
    plan->wants_date = wants_day(f) && f->rank == 0;
    plan->limit = f->rank;
    plan->rank = f->nth;
    return true;
}

/* ---- groups ---- */

bool applies_group(const struct builder *b)
{
    const struct frame *f = &b->p->f;
    return f->has_group && (b->n_metrics > 0 || b->sport);
}

/* What adds up is summed in a month or a week, where an amount is asked for. */
static bool groups_sum(struct builder *b)
{
    struct frame *f = &b->p->f;
    const struct plan *plan = b->plan;
    bool adds_up = plan->subject == PLAN_OF_METRIC && plan->metric->daily == DAILY_SUM;
    if (!adds_up || f->group == GROUP_WEEKDAY) return false;
    if (f->asks_many) return true;
    bool is_most = f->has_most && text_in(b->p, f->most_at, "most|least|fewest");
    if (!is_most || wants_mean(f)) return false;
    if (f->n_stats == 0) ask_note(b->p, "\"most\" and \"least\" read of the totals");
    return true;
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
    if (groups_sum(b)) fallback = STAT_SUM;
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

static bool check_streak(struct builder *b)
{
    struct frame *f = &b->p->f;
    bool is_long = f->most == MOST_MAX || f->most == MOST_LONGEST || f->most == MOST_BEST ||
                   f->most == MOST_LATEST;
    if (!f->has_most || is_long) return true;
    ask_refuse(b->p, "Only the longest or the current streak can be asked for.");
    return false;
}

bool build_streak(struct builder *b)
{
    struct frame *f = &b->p->f;
    struct plan *plan = b->plan;
    scope_into_count(b);
    bring_threshold_first(b);
    plan->op = PLAN_STREAK;
    plan->pick = f->has_current || (f->has_latest && !f->has_most) ? PICK_LAST : PICK_MAX;
    if (!check_streak(b)) return false;
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

/* Over how many days; "a rolling average over the last 30 days" says it by its window. */
static uint32_t rolling_length(struct frame *f)
{
    bool is_now = f->n_windows == 1 && f->windows[0].days.last == 1 && f->windows[0].days.skip == 0;
    if (is_now) f->n_windows = 0; /* "as of today" */
    if (f->rolling_days > 0) return f->rolling_days;
    if (f->n_windows == 1 && f->windows[0].days.last > 0) {
        f->n_windows = 0;
        return f->windows[0].days.last;
    }
    return f->has_per && f->per == PER_MONTH ? 30 : DEFAULT_ROLLING;
}

bool build_rolling(struct builder *b)
{
    struct frame *f = &b->p->f;
    struct plan *plan = b->plan;
    uint32_t days = rolling_length(f);
    if (!set_common(b) || !one_stat(b, STAT_MEAN, &plan->stat)) return false;
    plan->op = PLAN_ROLLING;
    plan->days = days > MOST_ROLLING ? MOST_ROLLING : days;
    bool is_most = f->has_most && f->most != MOST_LATEST && f->most != MOST_EARLIEST;
    if (is_most) {
        plan->wants_date = f->asks_when || f->asks_which;
        return most_pick(b, plan->metric, &plan->pick);
    }
    plan->pick = PICK_LAST;
    if (f->n_windows > 0 && !f->windows[0].is_all) return true;
    /* The current average over n days is the average of the last n. */
    plan->op = PLAN_AGGREGATE;
    plan->pick = PICK_NONE;
    plan->days = 0;
    plan->window = (struct plan_window){.from = DAY_NONE, .to = DAY_NONE, .last = days};
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
    bool is_number = plan->subject == PLAN_OF_WORKOUTS && plan->field == FIELD_SESSIONS;
    if (is_number && !f->has_per && f->method == METHOD_DEFAULT) {
        ask_refuse(b->p,
                   "What of these workouts: ask for their pace, speed, distance or duration.");
        return false;
    }
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
    if (f->n_stats > 0 || f->has_most || f->has_quantile || f->is_spread) {
        ask_refuse(b->p,
                   "It is not clear what the change is between: name two windows to compare.");
        return false;
    }
    bool is_asked = f->ask != S_NONE || f->asks_yes_no || has_symbol(b->p, S_WHAT) ||
                    f->n_windows > 0 || f->direction == 0 || text_in(b->p, 0, "how|by");
    if (!is_asked) {
        ask_refuse(b->p, "It is not clear what is asked about it.");
        return false;
    }
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

/* "how many steps", "how far": an amount that adds up; of a habit ("do I") it is the usual one. */
static bool asks_amount(const struct frame *f, const struct metric *m)
{
    bool is_amount = f->asks_many || f->asks_much || f->asks_long || f->asks_far;
    return is_amount && m->daily == DAILY_SUM && !f->is_present;
}

/* Without a statistic the words of asking and the metric tell. */
static enum plan_stat default_stat(struct builder *b)
{
    struct frame *f = &b->p->f;
    const struct metric *m = b->plan->metric;
    if (f->has_first && !f->has_latest) return STAT_FIRST;
    if (f->has_latest || (f->has_current && f->n_windows == 0)) return STAT_LAST;
    if (asks_amount(f, m)) {
        if (b->plan->window.last != 1) ask_note(b->p, "read as the total");
        return STAT_SUM;
    }
    bool is_plain = f->n_windows == 0 && f->n_scopes == 1 && m->daily != DAILY_CIRCULAR;
    bool is_last = is_plain && m->daily == DAILY_LAST;
    b->p->out->is_default = is_plain && b->plan->where.n == 0;
    if (b->p->out->is_default)
        ask_note(b->p, is_last ? "read as the latest value" : "read as the mean over all days");
    return is_last ? STAT_LAST : STAT_MEAN;
}

/* What would be left unanswered, in a sentence; NULL when nothing is. */
static bool is_comparing(const struct frame *f)
{
    bool is_range = f->n_stats == 1 && f->stats[0] == STAT_RANGE; /* "highest minus lowest" */
    return !is_range && (f->is_share || f->is_percent || f->is_compare || f->is_ratio ||
                         f->has_minus || f->has_than);
}

/* "what is REM sleep", "how is stress measured": nobody's in particular. */
bool names_nobody(const struct builder *b)
{
    const struct parse *p = b->p;
    for (size_t i = 0; i < p->t->n; i++)
        if (IS_ANY(p, i, S_SELF) || text_in(p, i, "my|of my|in my|for my|on my|with my|at my"))
            return false;
    return true;
}

bool asks_definition(const struct builder *b)
{
    const struct parse *p = b->p;
    bool is_asking = has_symbol(p, S_WHAT) || text_in(p, 0, "how|how is|how does|how do");
    return is_asking && names_nobody(b);
}

static bool asks_moment(const struct frame *f)
{
    return f->asks_when || f->asks_time;
}

static bool asks_length(const struct frame *f)
{
    return f->asks_long || f->asks_much || f->asks_far;
}

static bool is_vague_yes_no(const struct frame *f)
{
    return f->asks_yes_no && f->ask == S_NONE && !f->has_weak_mean;
}

static bool is_bare_question(const struct builder *b)
{
    const struct frame *f = &b->p->f;
    return !wants_mean(f) && f->n_windows == 0 && f->n_scopes == 1 && f->ask == S_NONE;
}

static bool is_date_asked(const struct frame *f, bool is_clock)
{
    return f->asks_which || (!is_clock && asks_moment(f));
}

/* "at first and now" */
static bool asks_two_values(const struct frame *f)
{
    return f->has_first && (f->has_latest || f->has_current);
}

/* What would be left unanswered, in a sentence; NULL when nothing is. */
static const char *why_unclear(struct builder *b)
{
    struct frame *f = &b->p->f;
    bool is_clock = b->plan->metric->daily == DAILY_CIRCULAR;
    bool is_said = f->n_stats > 0 || f->is_spread || f->has_quantile;
    if (is_date_asked(f, is_clock) || b->metrics[0]->has_quantity)
        return "It is not clear what is asked about it.";
    if (is_comparing(f)) return "It is not clear what is to be compared.";
    if (asks_two_values(f) && !is_said) return "Two values are asked for at once.";
    if (is_said) return NULL;
    if (is_clock && asks_length(f)) return "That is a time of day and not a length.";
    if (is_bare_question(b) && asks_definition(b)) return "What a word means is not in the data.";
    return is_vague_yes_no(f) ? "It is not clear which number would answer this." : NULL;
}

/* "weekly average", "steps per week": true when one of them was meant. */
static bool set_per(struct builder *b)
{
    struct frame *f = &b->p->f;
    struct plan *plan = b->plan;
    if (!f->has_per) return false;
    bool is_mean = f->n_stats == 1 && f->stats[0] == STAT_MEAN;
    if (f->per_is_word && f->per == PER_WEEK && is_mean) {
        if (f->n_windows == 0) plan->window.last = WEEK;
        ask_note(b->p, "a weekly average read as that of the days of a week");
        plan->stat = STAT_MEAN;
        return true;
    }
    if (plan->metric->daily == DAILY_SUM) {
        plan->stat = STAT_SUM;
        plan->per = f->per;
        return true;
    }
    if (!wants_mean(f))
        ask_refuse(b->p, "It is not clear what is asked about %s.", plan->metric->title);
    return !wants_mean(f);
}

/* "what time do I sleep" is about going to bed. */
static void read_as_bedtime(struct builder *b)
{
    struct frame *f = &b->p->f;
    struct mention *m = b->metrics[0];
    bool is_time = f->asks_time || (f->asks_when && f->has_weak_mean);
    if (!is_time || strcmp(m->metric->name, "sleep_minutes") != 0) return;
    m->metric = metric_find(weir_slice_of("bedtime"));
    ask_note(b->p, "read as bedtime");
}

bool build_aggregate(struct builder *b)
{
    struct frame *f = &b->p->f;
    struct plan *plan = b->plan;
    plan->op = PLAN_AGGREGATE;
    read_as_bedtime(b);
    if (!set_common(b)) return false;
    const char *why = why_unclear(b);
    if (why) {
        ask_refuse(b->p, "%s", why);
        return false;
    }
    if (set_per(b)) return !b->p->is_failed;
    bool is_said = f->n_stats > 0 || wants_mean(f) || f->is_spread || f->has_quantile;
    return one_stat(b, is_said ? STAT_MEAN : default_stat(b), &plan->stat);
}
