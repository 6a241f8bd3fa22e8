/* SPDX-License-Identifier: Apache-2.0 */
/* Plans about workouts and laboratory results. */
#include <math.h>

#include "ask/build_impl.h"

/* ---- workouts ---- */

/* Whether any of these sessions knows its highest heart rate. */
static bool knows_max_hr(const struct builder *b)
{
    const struct ask_data *d = b->p->data;
    for (size_t i = 0; i < d->n_workouts; i++)
        if (!isnan(d->workouts[i].max_hr)) return true;
    return false;
}

/* What of the sessions: the field that was named, the unit, the word of asking, "longest". */
static bool find_field(struct builder *b, enum plan_field *field)
{
    struct frame *f = &b->p->f;
    const struct mention *m = b->field;
    bool is_weak = m && (m->field == FIELD_MINUTES) && is_at(b->p, m->at, S_FILLER);
    if (m && m->has_field && !is_weak) {
        *field = m->field;
        return true;
    }
    if (f->unit && field_of_unit(f->unit, field)) return true;
    if (f->asks_far || (f->has_most && f->most == MOST_FARTHEST)) {
        *field = FIELD_KM;
        return true;
    }
    if (f->has_most && (f->most == MOST_FASTEST || f->most == MOST_SLOWEST)) {
        *field = FIELD_PACE;
        return true;
    }
    bool is_long = f->has_most && (f->most == MOST_LONGEST || f->most == MOST_SHORTEST);
    if (f->asks_long || is_weak || is_long) {
        *field = FIELD_MINUTES;
        if (is_long && !m && !f->asks_long) ask_note(b->p, "the longest by its duration");
        return true;
    }
    return false;
}

bool set_workouts(struct builder *b)
{
    struct plan *plan = b->plan;
    enum plan_field field = FIELD_SESSIONS;
    if (b->n_sports > 1) {
        for (size_t i = 0; i < b->p->f.n_mentions; i++) {
            struct mention *m = &b->p->f.mentions[i];
            bool is_other =
                m->scope == 0 && m->kind == M_ACTIVITY && m->activity != b->sport->activity;
            if (!is_other && (m->kind == M_ACTIVITY || m->kind == M_WORKOUT) && m->scope == 0)
                m->is_used = true;
        }
    }
    find_field(b, &field);
    if (field == FIELD_MAX_HR && !knows_max_hr(b)) {
        field = FIELD_AVG_HR;
        ask_note(b->p, "the sessions know only their average heart rate");
    }
    plan->subject = PLAN_OF_WORKOUTS;
    plan->activity = b->sport->kind == M_ACTIVITY ? b->sport->activity : NULL;
    plan->field = field;
    plan->newest = b->p->f.newest;
    b->sport->is_used = true;
    return true;
}

bool applies_workouts(const struct builder *b)
{
    return b->sport != NULL && b->n_metrics == 0;
}

/* A threshold on the sessions themselves: "runs over 5 km". */
static bool session_threshold(struct builder *b)
{
    struct plan *plan = b->plan;
    struct mention *m = b->sport->has_quantity               ? b->sport
                        : b->field && b->field->has_quantity ? b->field
                                                             : NULL;
    if (!m) return true;
    bool ignored;
    struct plan_condition c = {.kind = WHERE_WORKOUT, .activity = plan->activity};
    struct quantity q = m->quantity;
    if (q.is_bare) q.cmp = CMP_GE;
    bool has_field = m == b->field;
    c.field = has_field ? b->field->field : FIELD_MINUTES;
    if (!has_field && (!q.unit || !field_of_unit(q.unit, &c.field))) {
        ask_refuse(b->p, "It is not clear what the threshold of the workouts is about.");
        return false;
    }
    if (!quantity_convert(&q, field_unit(c.field), false, &c.having, &ignored)) {
        ask_refuse(b->p, "The threshold does not fit the workouts.");
        return false;
    }
    if (plan->where.n == PLAN_CONDITIONS) return false;
    plan->where.conditions[plan->where.n++] = c;
    /* "how many runs over 5 km": the threshold's field is not what is asked for. */
    if (has_field || !b->p->f.unit) {
        if (!b->p->f.asks_long && !b->p->f.asks_far) plan->field = FIELD_SESSIONS;
    }
    return true;
}

static bool counts_sessions(const struct builder *b)
{
    const struct frame *f = &b->p->f;
    if (f->counted == COUNT_SESSIONS || f->counted == COUNT_TIMES || f->asks_often) return true;
    return b->plan->field == FIELD_SESSIONS &&
           (f->asks_many || f->asks_much || f->counted == COUNT_DAYS);
}

static bool build_session_count(struct builder *b)
{
    struct frame *f = &b->p->f;
    b->plan->op = PLAN_COUNT;
    b->plan->field = FIELD_SESSIONS;
    if (f->has_per) b->plan->per = f->per;
    if (wants_mean(f) && !f->has_per && !f->has_per_day && f->n_stats > 0) {
        ask_refuse(b->p, "An average number of sessions needs a span, such as \"per week\".");
        return false;
    }
    if (f->is_share) {
        ask_refuse(b->p, "Shares can be asked of days with a metric, not of workouts.");
        return false;
    }
    return true;
}

static bool build_session_extreme(struct builder *b, bool wants_day)
{
    struct frame *f = &b->p->f;
    struct plan *plan = b->plan;
    enum plan_pick pick;
    if (plan->field == FIELD_SESSIONS) {
        ask_refuse(b->p, "By what are the sessions to be compared: duration, distance, calories?");
        return false;
    }
    if (f->most == MOST_BEST || f->most == MOST_WORST) {
        ask_refuse(b->p, "What makes a session the best one: duration, distance, calories?");
        return false;
    }
    if (!most_pick(b, NULL, &pick) || !set_unit(b, field_unit(plan->field))) return false;
    if (wants_day || f->rank > 0) {
        plan->op = PLAN_EXTREME;
        plan->pick = pick;
        plan->wants_date = wants_day && f->rank == 0;
        plan->limit = f->rank;
        return true;
    }
    if (f->n_stats > 1 || (f->n_stats == 1 && f->stats[0] == STAT_MEDIAN)) {
        ask_refuse(b->p, "More than one statistic is asked for at once.");
        return false;
    }
    plan->op = PLAN_AGGREGATE;
    plan->stat = pick == PICK_MAX ? STAT_MAX : STAT_MIN;
    return true;
}

static enum plan_stat session_stat(const struct builder *b)
{
    const struct frame *f = &b->p->f;
    enum plan_field field = b->plan->field;
    bool is_rate = field == FIELD_AVG_HR || field == FIELD_MAX_HR || field == FIELD_PACE ||
                   field == FIELD_SPEED;
    if (is_rate || f->newest > 0) return STAT_MEAN;
    bool is_amount = f->asks_many || f->asks_much || f->asks_far || f->asks_long;
    if (is_amount && f->is_present && !f->unit) return STAT_MEAN;
    return STAT_SUM;
}

bool build_workouts(struct builder *b)
{
    struct frame *f = &b->p->f;
    struct plan *plan = b->plan;
    if (!set_workouts(b) || !one_window(b) || !session_threshold(b) || !all_where(b)) return false;
    bool is_order = f->has_most && (f->most == MOST_LATEST || f->most == MOST_EARLIEST);
    bool is_newest = f->newest == 1 || f->has_latest || f->has_first || is_order;
    if (f->asks_when || (f->asks_which && (is_newest || !f->has_most))) {
        if (!f->has_most || is_order) {
            plan->op = PLAN_FIND;
            plan->newest = 0;
            plan->field = FIELD_SESSIONS;
            plan->pick =
                f->has_first || (is_order && f->most == MOST_EARLIEST) ? PICK_FIRST : PICK_LAST;
            return true;
        }
    }
    if (f->has_most && !is_order) return build_session_extreme(b, f->asks_when || f->asks_which);
    if (counts_sessions(b)) return build_session_count(b);
    if (plan->field == FIELD_SESSIONS) {
        bool is_count = f->n_stats == 1 && f->stats[0] == STAT_SUM;
        if (is_count || f->has_per || f->asks_yes_no) {
            plan->op = PLAN_COUNT;
            plan->per = f->has_per ? f->per : PER_NONE;
            ask_note(b->p, "read as the number of sessions");
            return true;
        }
        ask_refuse(b->p,
                   "What of these workouts: their number, duration, distance, calories or heart "
                   "rate?");
        return false;
    }
    if (f->is_compare || f->has_than || f->is_percent || f->is_share || f->is_change) {
        ask_refuse(b->p, "It is not clear what is to be compared.");
        return false;
    }
    plan->op = PLAN_AGGREGATE;
    enum plan_stat fallback = session_stat(b);
    if (f->has_per) plan->per = f->per;
    if (!one_stat(b, fallback, &plan->stat) || !set_unit(b, field_unit(plan->field))) return false;
    if (f->has_per) plan->stat = STAT_SUM;
    if (f->n_stats == 0 && fallback == STAT_SUM && !f->asks_many && !f->asks_far)
        ask_note(b->p, "read as the total");
    return true;
}

/* ---- laboratory results ---- */

bool applies_lab(const struct builder *b)
{
    return b->lab != NULL && b->n_metrics == 0 && !b->sport;
}

static bool build_lab_extreme(struct builder *b)
{
    struct frame *f = &b->p->f;
    struct plan *plan = b->plan;
    enum plan_pick pick;
    if (f->most == MOST_BEST || f->most == MOST_WORST) {
        ask_refuse(b->p,
                   "Whether more or less is better is not for the data to say: ask for the highest "
                   "or the lowest.");
        return false;
    }
    if (!most_pick(b, NULL, &pick)) return false;
    bool is_date = f->asks_when || f->asks_which;
    plan->op = is_date || f->rank > 0 ? PLAN_EXTREME : PLAN_AGGREGATE;
    plan->stat = pick == PICK_MAX ? STAT_MAX : STAT_MIN;
    if (plan->op == PLAN_EXTREME) {
        plan->stat = STAT_MEAN;
        plan->pick = pick;
        plan->wants_date = is_date && f->rank == 0;
        plan->limit = f->rank;
    }
    return true;
}

bool build_lab(struct builder *b)
{
    struct frame *f = &b->p->f;
    struct plan *plan = b->plan;
    plan->subject = PLAN_OF_LAB;
    plan->analyte = b->lab->analyte;
    b->lab->is_used = true;
    if (b->n_labs > 1 || b->lab->has_quantity) {
        ask_refuse(b->p, b->n_labs > 1 ? "One laboratory test at a time can be asked for."
                                       : "Thresholds on laboratory results cannot be read.");
        return false;
    }
    if (!one_window(b) || !all_where(b) || !set_unit(b, plan->analyte->unit)) return false;
    bool is_order = f->has_most && (f->most == MOST_LATEST || f->most == MOST_EARLIEST);
    bool is_change =
        f->is_change || f->is_difference || f->is_percent || f->has_minus || f->is_compare;
    if (is_change || (f->has_first && f->has_latest)) {
        plan->op = PLAN_CHANGE;
        if (f->is_percent) {
            plan->result = RESULT_PERCENT;
            plan->unit = NULL;
        }
        ask_note(b->p, "change: the latest result less the first");
        return true;
    }
    bool is_weak = f->most_is_weak && (f->has_latest || f->has_current || f->has_first);
    if (f->has_most && !is_order && !is_weak) return build_lab_extreme(b);
    if (f->asks_when || f->asks_which) {
        plan->op = PLAN_FIND;
        plan->pick = f->has_first && !f->has_latest ? PICK_FIRST : PICK_LAST;
        return true;
    }
    if (f->asks_many || f->asks_often) {
        plan->op = PLAN_COUNT;
        plan->unit = NULL;
        return true;
    }
    plan->op = PLAN_AGGREGATE;
    enum plan_stat fallback = f->has_first && !f->has_latest ? STAT_FIRST : STAT_LAST;
    if (f->n_stats == 0 && !f->has_latest && !f->has_first && !f->has_current)
        ask_note(b->p, "read as the latest result");
    return one_stat(b, fallback, &plan->stat);
}
