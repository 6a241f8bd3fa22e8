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

static bool is_most(const struct frame *f, enum super_kind a, enum super_kind b)
{
    return f->has_most && (f->most == a || f->most == b);
}

/* What of the sessions: the field that was named, the unit, the word of asking, "longest". */
/* The field that the words of asking speak of: "how far", "longest", "fastest". */
static enum plan_field asked_field(struct builder *b, bool is_weak)
{
    struct frame *f = &b->p->f;
    if (f->asks_far || is_most(f, MOST_FARTHEST, MOST_FARTHEST)) return FIELD_KM;
    if (is_most(f, MOST_FASTEST, MOST_SLOWEST)) return FIELD_PACE;
    bool is_long = is_most(f, MOST_LONGEST, MOST_SHORTEST);
    if (!f->asks_long && !is_weak && !is_long) return FIELD_SESSIONS;
    if (is_long && !b->field && !f->asks_long) ask_note(b->p, "the longest by its duration");
    return FIELD_MINUTES;
}

/* What of the sessions: the field that was named, the unit, the words of asking. */
static enum plan_field find_field(struct builder *b)
{
    struct frame *f = &b->p->f;
    const struct mention *m = b->field;
    enum plan_field field;
    bool is_weak = m && m->field == FIELD_MINUTES && is_at(b->p, m->at, S_FILLER);
    if (m && m->has_field && !is_weak) return m->field;
    if (f->unit && field_of_unit(f->unit, &field)) return field;
    return asked_field(b, is_weak);
}

bool set_workouts(struct builder *b)
{
    struct plan *plan = b->plan;
    enum plan_field field = find_field(b);
    if (b->n_sports > 1) {
        for (size_t i = 0; i < b->p->f.n_mentions; i++) {
            struct mention *m = &b->p->f.mentions[i];
            bool is_other =
                m->scope == 0 && m->kind == M_ACTIVITY && m->activity != b->sport->activity;
            if (!is_other && (m->kind == M_ACTIVITY || m->kind == M_WORKOUT) && m->scope == 0)
                m->is_used = true;
        }
    }
    if (field == FIELD_MAX_HR && !knows_max_hr(b)) {
        ask_refuse(b->p, "The sessions know only their average heart rate, not their highest.");
        return false;
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

/* Which of the mentions has the threshold; NULL. */
static struct mention *threshold_of(struct builder *b)
{
    if (b->sport->has_quantity) return b->sport;
    return b->field && b->field->has_quantity ? b->field : NULL;
}

/* "the heart rate of runs over 30 minutes": something else than the threshold is asked for. */
static bool names_field(const struct builder *b, const struct mention *threshold)
{
    const struct mention *m = b->field;
    return m && m != threshold && m->has_field && m != b->sport;
}

/* A threshold on the sessions themselves: "runs over 5 km". */
static bool session_threshold(struct builder *b)
{
    struct plan *plan = b->plan;
    struct frame *f = &b->p->f;
    struct mention *m = threshold_of(b);
    bool ignored;
    if (!m) return true;
    struct plan_condition c = {
        .kind = WHERE_WORKOUT, .activity = plan->activity, .field = FIELD_MINUTES};
    struct quantity q = m->quantity;
    if (q.is_bare) q.cmp = CMP_GE;
    bool has_field = m == b->field;
    if (has_field) c.field = m->field;
    bool is_known = has_field || (q.unit && field_of_unit(q.unit, &c.field));
    bool is_fit = is_known && quantity_convert(&q, field_unit(c.field), false, &c.having, &ignored);
    if (!is_fit || plan->where.n == PLAN_CONDITIONS) {
        ask_refuse(b->p, "It is not clear what the threshold of the workouts is about.");
        return false;
    }
    plan->where.conditions[plan->where.n++] = c;
    /* "how many runs over 5 km": the threshold's field is not what is asked for. */
    bool is_other = (has_field || !f->unit) && !f->asks_long && !f->asks_far;
    if (is_other && !names_field(b, m)) plan->field = FIELD_SESSIONS;
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
    if (f->counted == COUNT_DAYS) b->plan->by_day = true; /* "how many days did I run" */
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

/* Why the sessions cannot be ranked, in a sentence; NULL when they can. */
static const char *why_no_extreme(const struct builder *b)
{
    const struct frame *f = &b->p->f;
    if (b->plan->field == FIELD_SESSIONS)
        return "By what are the sessions to be compared: duration, distance, calories?";
    if (f->most == MOST_BEST || f->most == MOST_WORST)
        return "What makes a session the best one: duration, distance, calories?";
    if (f->has_both) return "The highest and the lowest are asked for at once.";
    bool is_other = f->n_stats > 1 || (f->n_stats == 1 && f->stats[0] == STAT_MEDIAN);
    return is_other ? "More than one statistic is asked for at once." : NULL;
}

static bool build_session_extreme(struct builder *b, bool wants_day)
{
    struct frame *f = &b->p->f;
    struct plan *plan = b->plan;
    enum plan_pick pick;
    const char *why = why_no_extreme(b);
    if (why) ask_refuse(b->p, "%s", why);
    if (why || !most_pick(b, NULL, &pick) || !set_unit(b, field_unit(plan->field))) return false;
    if (wants_day || f->rank > 0 || f->nth > 0) {
        plan->op = PLAN_EXTREME;
        plan->rank = f->nth;
        plan->pick = pick;
        plan->wants_date = wants_day && f->rank == 0;
        plan->limit = f->rank;
        return true;
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

static bool is_time_order(const struct frame *f)
{
    return is_most(f, MOST_LATEST, MOST_EARLIEST);
}

/* "when was my last run". */
static bool asks_session_day(const struct frame *f)
{
    if (f->has_most && !is_time_order(f)) return false;
    return f->asks_when || f->asks_which;
}

static bool build_session_day(struct builder *b)
{
    struct frame *f = &b->p->f;
    struct plan *plan = b->plan;
    bool is_first = f->has_first || is_most(f, MOST_EARLIEST, MOST_EARLIEST);
    plan->op = PLAN_FIND;
    plan->newest = 0;
    plan->field = FIELD_SESSIONS;
    plan->pick = is_first ? PICK_FIRST : PICK_LAST;
    return true;
}

/* "did I run last week", "total runs": their number, if anything. */
static bool build_bare_sessions(struct builder *b)
{
    struct frame *f = &b->p->f;
    bool is_sum = f->n_stats == 1 && f->stats[0] == STAT_SUM;
    if (has_symbol(b->p, S_LIST) && f->n_stats == 0 && !f->asks_yes_no) {
        b->plan->op = PLAN_LIST;
        return true;
    }
    if (is_sum || f->has_per || f->asks_yes_no) {
        ask_note(b->p, "read as the number of sessions");
        return build_session_count(b);
    }
    ask_refuse(b->p,
               "What of these workouts: their number, duration, distance, calories or heart rate?");
    return false;
}

/* "how many calories does running burn": nobody's in particular. */
static bool asks_in_general(const struct builder *b)
{
    const struct frame *f = &b->p->f;
    bool is_bare = f->n_windows == 0 && f->n_stats == 0 && f->ask != S_NONE;
    return is_bare && f->is_present && names_nobody(b);
}

/* A comparison that no production of comparing took. */
static bool compares_nothing(const struct frame *f)
{
    return f->is_compare || f->has_than || f->is_percent || f->is_share || f->is_change;
}

static bool build_session_stat(struct builder *b)
{
    struct frame *f = &b->p->f;
    struct plan *plan = b->plan;
    if (compares_nothing(f)) {
        ask_refuse(b->p, "It is not clear what is to be compared.");
        return false;
    }
    if (asks_in_general(b)) {
        ask_refuse(b->p, "Only questions about your own workouts can be answered.");
        return false;
    }
    plan->op = PLAN_AGGREGATE;
    enum plan_stat fallback = session_stat(b);
    if (!one_stat(b, fallback, &plan->stat) || !set_unit(b, field_unit(plan->field))) return false;
    if (f->has_per) {
        plan->per = f->per;
        plan->stat = STAT_SUM;
    }
    if (f->n_stats == 0 && fallback == STAT_SUM && !f->asks_many && !f->asks_far)
        ask_note(b->p, "read as the total");
    return true;
}

bool build_workouts(struct builder *b)
{
    struct frame *f = &b->p->f;
    if (!set_workouts(b) || !one_window(b) || !session_threshold(b) || !all_where(b)) return false;
    if (f->most_is_weak && wants_mean(f)) f->has_most = false; /* "how high on average" */
    if (asks_session_day(f)) return build_session_day(b);
    if (f->has_most && !is_time_order(f))
        return build_session_extreme(b, f->asks_when || f->asks_which);
    if (counts_sessions(b)) return build_session_count(b);
    if (b->plan->field == FIELD_SESSIONS) return build_bare_sessions(b);
    return build_session_stat(b);
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
    if (f->has_both) ask_refuse(b->p, "The highest and the lowest are asked for at once.");
    if (b->p->is_failed || !most_pick(b, NULL, &pick)) return false;
    bool is_date = f->asks_when || f->asks_which;
    plan->op = is_date || f->rank > 0 || f->nth > 0 ? PLAN_EXTREME : PLAN_AGGREGATE;
    plan->rank = f->nth;
    plan->stat = pick == PICK_MAX ? STAT_MAX : STAT_MIN;
    if (plan->op == PLAN_EXTREME) {
        plan->stat = STAT_MEAN;
        plan->pick = pick;
        plan->wants_date = is_date && f->rank == 0;
        plan->limit = f->rank;
    }
    return true;
}

static bool check_lab(struct builder *b)
{
    if (b->n_labs > 1) ask_refuse(b->p, "One laboratory test at a time can be asked for.");
    if (b->lab->has_quantity) ask_refuse(b->p, "Thresholds on laboratory results cannot be read.");
    return !b->p->is_failed;
}

static bool asks_lab_change(const struct frame *f)
{
    bool is_change =
        f->is_change || f->is_difference || f->is_percent || f->has_minus || f->is_compare;
    return is_change || (f->has_first && f->has_latest);
}

/* "how high was my last LDL" asks for the last one. */
static bool asks_lab_extreme(const struct frame *f)
{
    bool is_dated = f->has_latest || f->has_current || f->has_first;
    return f->has_most && !is_time_order(f) && !(f->most_is_weak && is_dated);
}

static bool build_lab_change(struct builder *b)
{
    b->plan->op = PLAN_CHANGE;
    if (b->p->f.is_percent) {
        b->plan->result = RESULT_PERCENT;
        b->plan->unit = NULL;
    }
    ask_note(b->p, "change: the latest result less the first");
    return true;
}

static bool build_lab_value(struct builder *b)
{
    struct frame *f = &b->p->f;
    bool is_said = f->n_stats > 0 || f->has_latest || f->has_first || f->has_current;
    b->plan->op = PLAN_AGGREGATE;
    if (!is_said && f->n_windows == 0 && asks_definition(b)) {
        ask_refuse(b->p, "What a word means is not in the data.");
        return false;
    }
    if (!is_said) ask_note(b->p, "read as the latest result");
    return one_stat(b, f->has_first && !f->has_latest ? STAT_FIRST : STAT_LAST, &b->plan->stat);
}

/* "when was my last LDL test", "how many tests". */
static bool build_lab_days(struct builder *b)
{
    struct frame *f = &b->p->f;
    struct plan *plan = b->plan;
    bool is_day = f->asks_when || f->asks_which;
    plan->op = is_day ? PLAN_FIND : PLAN_COUNT;
    plan->unit = NULL;
    if (is_day) plan->pick = f->has_first && !f->has_latest ? PICK_FIRST : PICK_LAST;
    return true;
}

bool build_lab(struct builder *b)
{
    struct frame *f = &b->p->f;
    if (!check_lab(b) || !set_subject(b)) return false;
    if (!one_window(b) || !all_where(b) || !set_unit(b, b->plan->analyte->unit)) return false;
    if (asks_lab_change(f)) return build_lab_change(b);
    if (asks_lab_extreme(f)) return build_lab_extreme(b);
    bool is_days = f->asks_when || f->asks_which || f->asks_many || f->asks_often;
    return is_days ? build_lab_days(b) : build_lab_value(b);
}
