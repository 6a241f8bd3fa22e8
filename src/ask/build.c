/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A frame to a plan. Which operation is meant follows from what was found, tried in the order of
 * the table at the end; each builder uses what it needs and marks it, and whatever is left over in
 * the end (a second metric, a threshold, a window) makes the question refused rather than half
 * answered.
 */
#include "ask/build_impl.h"

/* ---- what is spoken of ---- */

static bool is_verb(const struct parse *p, const struct mention *m)
{
    return is_at(p, m->at, S_DO) && !m->is_counted;
}

static void add_metric(struct builder *b, struct mention *m)
{
    if (b->n_metrics < MAX_MENTIONS) b->metrics[b->n_metrics++] = m;
}

/* "exercise" and "activity" are minutes of a day, or sessions when they are counted. */
static bool is_session_word(struct builder *b, const struct mention *m)
{
    const struct frame *f = &b->p->f;
    if (!is_at(b->p, m->at, S_WORKOUT) || m->has_quantity) return false;
    return f->counted == COUNT_TIMES || f->counted == COUNT_SESSIONS || f->asks_often ||
           f->newest > 0 || m->is_counted || m->scope > 0;
}

static void sort_mention(struct builder *b, struct mention *m)
{
    if (m->kind == M_METRIC && is_session_word(b, m)) m->kind = M_WORKOUT;
    if (m->scope != 0) return;
    switch (m->kind) {
    case M_METRIC: add_metric(b, m); break;
    case M_ANALYTE:
        m->is_used = b->lab && m->analyte == b->lab->analyte;
        if (!m->is_used) b->n_labs++;
        if (!b->lab) b->lab = m;
        break;
    case M_FIELD:
        if (!b->field) b->field = m;
        m->is_used = true;
        break;
    default:
        b->n_sports++;
        if (m->has_field && !b->field) b->field = m;
        if (!b->sport || (b->sport->kind == M_WORKOUT && m->kind == M_ACTIVITY)) b->sport = m;
        break;
    }
}

/* The same thing named twice is one: "weekend vs weekday steps … my steps". */
static void drop_repeated(struct builder *b)
{
    if (b->p->f.is_correlation && b->n_metrics == 2) return;
    for (size_t i = 1; i < b->n_metrics;) {
        bool is_same = false;
        for (size_t k = 0; k < i; k++)
            is_same = is_same || b->metrics[k]->metric == b->metrics[i]->metric;
        if (!is_same || b->metrics[i]->has_quantity) {
            i++;
            continue;
        }
        b->metrics[i]->is_used = true;
        b->n_metrics--;
        memmove(&b->metrics[i], &b->metrics[i + 1], (b->n_metrics - i) * sizeof b->metrics[0]);
    }
}

/* A metric that can be a property of a session: calories, distance, heart rate, minutes. */
static struct mention *soft_metric(struct builder *b)
{
    for (size_t i = 0; i < b->n_metrics; i++)
        if (b->metrics[i]->has_field) return b->metrics[i];
    return NULL;
}

static bool is_led_by(const struct parse *p, size_t i, enum symbol symbol)
{
    size_t at = i;
    while (at > 0 && (IS_ANY(p, at - 1, S_A, S_THE, S_SELF, S_DO))) at--;
    return at > 0 && is_at(p, at - 1, symbol);
}

/* Makes room for a scope before the one that is its opposite ("other days"), else at the end. */
static size_t insert_scope(struct frame *f, size_t token)
{
    size_t at = 1;
    while (at < f->n_scopes && !f->scopes[at].is_other && !f->scopes[at].is_not) at++;
    for (size_t k = f->n_scopes; k > at; k--) f->scopes[k] = f->scopes[k - 1];
    for (size_t k = 0; k < f->n_mentions; k++)
        if (f->mentions[k].scope >= at) f->mentions[k].scope++;
    f->scopes[at] = (struct scope){.at = token};
    f->n_scopes++;
    return at;
}

/* "what difference does running make (run days minus other days)": said twice. */
static bool is_named_in_scope(const struct frame *f, const struct mention *m)
{
    for (size_t i = 0; i < f->n_mentions; i++) {
        const struct mention *other = &f->mentions[i];
        bool is_sport = other->kind == M_ACTIVITY || other->kind == M_WORKOUT;
        bool is_same = is_sport && other->scope > 0 && other->activity == m->activity;
        if (is_same && !f->scopes[other->scope].is_not) return true;
    }
    return false;
}

static bool is_contrast(const struct frame *f)
{
    return f->is_on_off || f->is_difference || f->is_compare || f->has_than || f->is_correlation ||
           f->is_change || f->n_scopes > 1;
}

/* A sport beside a metric that no session has: the days of that sport are meant. */
static void sport_as_condition(struct builder *b)
{
    struct parse *p = b->p;
    struct frame *f = &p->f;
    struct mention *m = b->sport;
    bool is_led = is_led_by(p, m->at, S_WITH) || is_led_by(p, m->at, S_ON) ||
                  is_led_by(p, m->at, S_IN) || f->counted == COUNT_DAYS || f->is_streak;
    if ((!is_contrast(f) && !is_led) || f->n_scopes == MAX_SCOPES) return;
    if (is_named_in_scope(f, m)) m->is_used = true;
    else m->scope = (uint8_t)insert_scope(f, m->at);
    if (f->is_correlation && b->n_metrics == 1) {
        f->is_correlation = false;
        f->is_on_off = true;
    }
    b->sport = NULL;
    b->n_sports = 0;
}

static bool names_one_of(const struct metric *m, const char *const *names)
{
    for (; *names; names++)
        if (strcmp(m->name, *names) == 0) return true;
    return false;
}

/* "How many steps did I walk": walking is the verb here. */
static void drop_verb(struct builder *b)
{
    static const char *const walked[] = {"steps", "distance", "active_minutes", "floors", NULL};
    if (!b->sport || b->n_metrics == 0 || !is_verb(b->p, b->sport)) return;
    struct mention *m = b->metrics[0];
    for (size_t i = 1; i < b->n_metrics; i++) /* "sleep over 7 hours and walk over 10000 steps" */
        if (names_one_of(b->metrics[i]->metric, walked) && b->metrics[i]->at > b->sport->at)
            m = b->metrics[i];
    /* "how high did my stress climb" */
    bool is_climb =
        b->sport->activity && strcmp(b->sport->activity->name, "climb") == 0 && !m->has_field;
    if (is_climb) {
        b->sport->is_used = true;
        b->sport = NULL;
        b->n_sports = 0;
        return;
    }
    bool is_walked = names_one_of(m->metric, walked) && has_metric_data(b->p->data, m->metric);
    bool is_unit = m->is_unit && strcmp(m->metric->name, "steps") != 0; /* "kilometres walked" */
    if (!is_walked || is_unit) return;
    b->sport->is_used = true;
    b->sport = NULL;
    b->n_sports = 0;
}

/* "do I walk more on weekends": walking is counted in steps, and far more of it than in sessions.
 */
static void walk_as_steps(struct builder *b)
{
    const struct frame *f = &b->p->f;
    struct mention *m = b->sport;
    const struct metric *steps = metric_find(weir_slice_of("steps"));
    bool is_walk = m && m->activity && strcmp(m->activity->name, "walk") == 0 && !m->has_field &&
                   !m->has_quantity && is_verb(b->p, m);
    bool is_plain = b->n_metrics == 0 && !b->field && f->counted == COUNT_NOTHING && !f->asks_far &&
                    !f->asks_often && !f->unit;
    if (!is_walk || !is_plain || !f->has_comparative || !has_metric_data(b->p->data, steps)) return;
    m->kind = M_METRIC;
    m->metric = steps;
    b->sport = NULL;
    b->n_sports = 0;
    add_metric(b, m);
    ask_note(b->p, "walking read as steps");
}

static void sort_mentions(struct builder *b)
{
    struct frame *f = &b->p->f;
    for (size_t i = 0; i < f->n_mentions; i++) sort_mention(b, &f->mentions[i]);
    drop_repeated(b);
    drop_verb(b);
    walk_as_steps(b);
    if (!b->sport) return;
    if (b->n_metrics == 0) return;
    struct mention *soft = soft_metric(b);
    if (soft && b->n_metrics == 1 && !(f->counted == COUNT_DAYS && soft->has_quantity)) {
        b->field = soft;
        b->n_metrics = 0;
        soft->is_used = true;
        return;
    }
    sport_as_condition(b);
}

/* ---- windows and conditions ---- */

/* "in January and in March": two months that are no stretch. */
static bool is_apart(const struct window *w)
{
    bool is_dated = w->is_pair && w->days.from != DAY_NONE && w->b.from != DAY_NONE;
    return is_dated && (w->b.from > w->days.to || w->b.to < w->days.from);
}

bool one_window(struct builder *b)
{
    struct parse *p = b->p;
    struct frame *f = &p->f;
    if (f->n_windows > 1 || (f->n_windows == 1 && is_apart(&f->windows[0]))) {
        ask_refuse(
            p, "There are two windows of time here, and it is not clear what is to be done with "
               "both.");
        return false;
    }
    if (f->n_windows == 1) b->plan->window = f->windows[0].days;
    return true;
}

static bool add_condition(struct builder *b, struct plan_where *where, struct plan_condition c)
{
    if (where->n == PLAN_CONDITIONS) {
        ask_refuse(b->p, "There are more conditions than can be read at once.");
        return false;
    }
    where->conditions[where->n++] = c;
    return true;
}

/* The field of a session that a unit speaks of: "runs over 5 km". */
bool field_of_unit(const char *unit, enum plan_field *field)
{
    static const struct {
        const char *to;
        enum plan_field field;
    } rows[] = {{"min", FIELD_MINUTES}, {"km", FIELD_KM},       {"kcal", FIELD_KCAL},
                {"bpm", FIELD_AVG_HR},  {"min/km", FIELD_PACE}, {"km/h", FIELD_SPEED}};
    double ignored;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (!unit_convert(unit, rows[i].to, 1, &ignored)) continue;
        *field = rows[i].field;
        return true;
    }
    return false;
}

const char *field_unit(enum plan_field field)
{
    static const char *const units[] = {
        [FIELD_SESSIONS] = "",   [FIELD_MINUTES] = "min",  [FIELD_KM] = "km",
        [FIELD_KCAL] = "kcal",   [FIELD_AVG_HR] = "bpm",   [FIELD_MAX_HR] = "bpm",
        [FIELD_STEPS] = "steps", [FIELD_ASCENT] = "meter", [FIELD_PACE] = "min/km",
        [FIELD_SPEED] = "km/h"};
    return units[field];
}

static bool has_hours(const struct metric *m)
{
    static const char *const in_hours[] = {"sleep_minutes", "time_in_bed", NULL};
    return names_one_of(m, in_hours);
}

bool having_of(struct builder *b, const struct mention *m, struct plan_having *out)
{
    struct parse *p = b->p;
    bool took_hours;
    struct quantity q = m->quantity;
    bool is_by = text_is(p, m->at, "in bed by");
    if (q.is_bare) q.cmp = is_by ? CMP_LE : CMP_GE;
    if (q.is_bare && q.is_clock && !is_by) {
        ask_refuse(p, "Before or after that time of day?");
        return false;
    }
    if (!quantity_convert(&q, m->metric->unit, has_hours(m->metric), out, &took_hours)) {
        ask_refuse(p, "A threshold for %s is in %s, and this one is not.", m->metric->title,
                   m->metric->unit);
        return false;
    }
    if (took_hours) ask_note(p, "the threshold for %s read in hours", m->metric->title);
    if (q.is_bare && !is_by) ask_note(p, "the threshold read as \"at least\"");
    return true;
}

static bool workout_condition(struct builder *b, const struct mention *m, struct plan_condition *c)
{
    c->kind = WHERE_WORKOUT;
    c->activity = m->kind == M_ACTIVITY ? m->activity : NULL;
    bool is_any =
        m->has_quantity && !m->quantity.unit && m->quantity.value == 1 && m->quantity.cmp == CMP_GE;
    if (!m->has_quantity || is_any) return true;
    bool ignored;
    struct quantity q = m->quantity;
    if (q.is_bare) q.cmp = CMP_GE;
    if (!q.unit || !field_of_unit(q.unit, &c->field) ||
        !quantity_convert(&q, field_unit(c->field), false, &c->having, &ignored)) {
        ask_refuse(b->p, "It is not clear what the threshold of the workout is about.");
        return false;
    }
    return true;
}

/* "when I walked over 10k steps": walking is the verb there, too. */
static bool is_walking(const struct builder *b, const struct mention *m)
{
    const struct frame *f = &b->p->f;
    if (m->kind != M_ACTIVITY || m->has_quantity || !is_verb(b->p, m)) return false;
    for (size_t i = 0; i < f->n_mentions; i++) {
        const struct mention *other = &f->mentions[i];
        bool is_steps = other->kind == M_METRIC && strcmp(other->metric->name, "steps") == 0;
        if (is_steps && other->scope == m->scope && other->has_quantity) return true;
    }
    return false;
}

static bool mention_condition(struct builder *b, struct mention *m, const struct scope *s,
                              struct plan_where *where)
{
    struct plan_condition c = {.is_not = s->is_not, .shift = s->shift};
    m->is_used = true;
    if (m->kind == M_FIELD || is_walking(b, m)) return true;
    if (m->kind == M_ACTIVITY || m->kind == M_WORKOUT)
        return workout_condition(b, m, &c) && add_condition(b, where, c);
    if (m->kind == M_ANALYTE) {
        ask_refuse(b->p, "Laboratory results cannot be a condition.");
        return false;
    }
    c.kind = WHERE_METRIC;
    c.metric = m->metric;
    if (!m->has_quantity) {
        bool is_done = m->metric->daily == DAILY_SUM && strcmp(m->metric->group, "sleep") != 0;
        bool is_nap = strcmp(m->metric->name, "nap_minutes") == 0;
        if (!is_done && !is_nap) {
            ask_refuse(b->p, "The condition on %s lacks a threshold, such as \"over 8 hours\".",
                       m->metric->title);
            return false;
        }
        c.having = (struct plan_having){.cmp = CMP_GT};
        ask_note(b->p, "days with any %s", m->metric->title);
        return add_condition(b, where, c);
    }
    return having_of(b, m, &c.having) && add_condition(b, where, c);
}

/* All conditions of one scope. */
bool scope_where(struct builder *b, size_t scope, struct plan_where *where)
{
    struct frame *f = &b->p->f;
    size_t before = where->n;
    struct scope s = f->scopes[scope];
    if (f->has_lag && !f->is_correlation && !s.has_shift) {
        s.shift = -f->lag;
        f->scopes[scope].has_shift = true;
        b->used_lag = true;
    } else if (f->has_lag && s.has_shift) {
        b->used_lag = true;
    }
    for (size_t i = 0; i < f->n_mentions; i++)
        if (f->mentions[i].scope == scope && !mention_condition(b, &f->mentions[i], &s, where))
            return false;
    bool is_empty = where->n == before;
    if (is_empty && !s.is_other) {
        ask_refuse(b->p, "There is a condition here that could not be read.");
        return false;
    }
    return true;
}

bool add_weekdays(struct builder *b, uint32_t set, struct plan_where *where)
{
    if (set == 0) return true;
    return add_condition(b, where, (struct plan_condition){.kind = WHERE_WEEKDAY, .set = set});
}

uint32_t said_weekdays(const struct frame *f)
{
    if (f->weekdays != 0) return f->weekdays;
    return f->has_weekend ? WEEKEND_SET : f->has_weekday ? WEEKDAY_SET : 0;
}

/* All scopes as conditions of the one question, and weekdays. */
bool all_where(struct builder *b)
{
    struct frame *f = &b->p->f;
    for (size_t s = 1; s < f->n_scopes; s++) {
        bool is_rest = is_at(b->p, f->scopes[s].at, S_REST_DAY);
        if (f->scopes[s].is_other && f->n_scopes == 2 && !is_rest) {
            ask_refuse(b->p, "It is not clear other than which days are meant.");
            return false;
        }
        if (f->scopes[s].is_other && f->n_scopes == 2) {
            /* "on rest days": days without any workout. */
            struct plan_condition c = {.kind = WHERE_WORKOUT, .is_not = true};
            if (!add_condition(b, &b->plan->where, c)) return false;
            ask_note(b->p, "rest days read as days without a workout");
            continue;
        }
        if (!scope_where(b, s, &b->plan->where)) return false;
    }
    if (f->has_weekend && f->has_weekday) {
        ask_refuse(b->p, "Weekends and weekdays are both named, but not to be compared.");
        return false;
    }
    return add_weekdays(b, said_weekdays(f), &b->plan->where);
}

/* ---- units ---- */

/* The unit that was asked for, where the answer has the subject's own. */
bool set_unit(struct builder *b, const char *own)
{
    struct frame *f = &b->p->f;
    double ignored;
    if (!f->unit || strcmp(f->unit, own) == 0) return true;
    if (strcmp(own, "clock") == 0) return true;
    /* "how many points higher": whatever the unit is. */
    if (strcmp(f->unit, "points") == 0 && !f->unit_is_said) return true;
    if (b->plan->subject == PLAN_OF_LAB) {
        b->plan->unit = f->unit;
        return true;
    }
    if (!unit_convert(own, f->unit, 1, &ignored)) {
        ask_refuse(b->p, "The answer would be in %s, which cannot be given in %s.", own, f->unit);
        return false;
    }
    b->plan->unit = f->unit;
    return true;
}

/* ---- statistics ---- */

static bool has_stat(const struct frame *f, enum plan_stat stat)
{
    for (size_t i = 0; i < f->n_stats; i++)
        if (f->stats[i] == stat) return true;
    return false;
}

bool wants_mean(const struct frame *f)
{
    return has_stat(f, STAT_MEAN) || f->has_weak_mean || f->has_per_day;
}

/* The largest or the smallest: "best" by the metric. */
bool most_pick(struct builder *b, const struct metric *m, enum plan_pick *pick)
{
    struct frame *f = &b->p->f;
    enum metric_better better = m ? m->better : BETTER_MORE;
    switch (f->most) {
    case MOST_MIN:
    case MOST_SHORTEST:
    case MOST_EARLIEST: *pick = PICK_MIN; return true;
    case MOST_FASTEST:
    case MOST_SLOWEST: {
        bool is_pace = b->plan->field == FIELD_PACE;
        *pick = (f->most == MOST_FASTEST) == is_pace ? PICK_MIN : PICK_MAX;
        return true;
    }
    case MOST_BEST:
    case MOST_WORST:
        if (better == BETTER_UNKNOWN) {
            ask_refuse(b->p,
                       "Whether more or less of %s is better is not for the data to say: ask for "
                       "the highest or the lowest.",
                       m->title);
            return false;
        }
        *pick = (f->most == MOST_BEST) == (better == BETTER_MORE) ? PICK_MAX : PICK_MIN;
        ask_note(b->p, "\"%s\" read as the %s", f->most == MOST_BEST ? "best" : "worst",
                 *pick == PICK_MAX ? "highest" : "lowest");
        return true;
    default: *pick = PICK_MAX; return true;
    }
}

/* "total … on average", "the mean of … standard deviation": the narrower one is meant. */
static bool narrower_stat(const struct frame *f, enum plan_stat *out)
{
    bool has_mean = has_stat(f, STAT_MEAN), has_sum = has_stat(f, STAT_SUM);
    if (f->n_stats != 2 || (!has_mean && !has_sum)) return false;
    enum plan_stat other =
        f->stats[0] == STAT_MEAN || f->stats[0] == STAT_SUM ? f->stats[1] : f->stats[0];
    if (has_mean && has_sum) other = STAT_MEAN;
    *out = other;
    return has_sum || other == STAT_SD;
}

/* One statistic out of those that were named; false when they do not go together. */
bool one_stat(struct builder *b, enum plan_stat fallback, enum plan_stat *out)
{
    struct frame *f = &b->p->f;
    *out = fallback;
    if (f->has_quantile) {
        *out = STAT_QUANTILE;
        b->plan->quantile = f->quantile;
        return true;
    }
    if (f->n_stats == 0 && f->is_spread) {
        *out = STAT_SD;
        ask_note(b->p, "variability read as the standard deviation");
        return true;
    }
    if (f->n_stats == 0 && wants_mean(f)) *out = STAT_MEAN;
    if (f->n_stats > 0) *out = f->stats[0];
    if (f->n_stats <= 1 || narrower_stat(f, out)) return true;
    ask_refuse(b->p, "More than one statistic is asked for at once.");
    return false;
}

/* ---- what is left over ---- */

static bool is_all_used(struct builder *b)
{
    struct parse *p = b->p;
    struct frame *f = &p->f;
    for (size_t i = 0; i < f->n_mentions; i++) {
        struct mention *m = &f->mentions[i];
        struct weir_slice t = p->t->list[m->at].text;
        if (m->is_used) continue;
        ask_refuse(p, "\"%.*s\" does not fit into this question as it was understood.", (int)t.len,
                   t.ptr);
        return false;
    }
    for (size_t i = 0; i < f->n_loose; i++) {
        if (f->loose[i].at == SIZE_MAX) continue;
        ask_refuse(p, "It is not clear what the threshold is about.");
        return false;
    }
    if (f->has_lag && !b->used_lag) {
        ask_refuse(p, "It is not clear what is to be looked at some days later.");
        return false;
    }
    return true;
}

/* A field that is only a length ("duration") may stand beside a metric that is a time. */
static bool is_field_fit(struct builder *b)
{
    struct mention *m = b->field;
    if (!m || b->plan->subject == PLAN_OF_WORKOUTS || m->kind != M_FIELD) return true;
    bool is_length = text_in(b->p, m->at, "length|duration");
    bool is_time = b->plan->subject == PLAN_OF_METRIC && strcmp(b->plan->metric->unit, "min") == 0;
    bool is_harmless = (m->field == FIELD_MINUTES && (is_time || !is_length)) ||
                       IS_ANY(b->p, m->at, S_FILLER, S_UNIT, S_HOW_FAR);
    if (is_harmless) return true;
    struct weir_slice t = b->p->t->list[m->at].text;
    ask_refuse(b->p, "\"%.*s\" is known of workouts only.", (int)t.len, t.ptr);
    return false;
}

/* A ranking, or a place in one, that the plan does not have. */
static bool is_rank_ignored(const struct frame *f, const struct plan *plan)
{
    return (f->rank > 0 && plan->limit == 0) || (f->nth > 1 && plan->rank == 0);
}

static bool gives_number(const struct plan *plan)
{
    return plan->op == PLAN_COMPARE || plan->op == PLAN_TREND || plan->op == PLAN_CORRELATE ||
           plan->op == PLAN_CHANGE || plan->op == PLAN_COUNT;
}

/* "higher", "than", "difference" in a question whose plan compares nothing. */
static bool is_comparison_ignored(const struct builder *b)
{
    const struct frame *f = &b->p->f;
    const struct plan *plan = b->plan;
    bool is_said = f->has_comparative || f->has_than || f->is_difference;
    bool is_range = plan->op == PLAN_AGGREGATE && plan->stat == STAT_RANGE;
    bool compares = plan->op == PLAN_COMPARE || plan->op == PLAN_CHANGE || plan->op == PLAN_TREND ||
                    plan->op == PLAN_CORRELATE;
    return is_said && !compares && !is_range;
}

/* "in the evening" of what is known by the day; "at night" of what is not measured then. */
static bool is_part_ignored(const struct builder *b)
{
    const struct frame *f = &b->p->f;
    const struct metric *m = b->plan->subject == PLAN_OF_METRIC ? b->plan->metric : NULL;
    bool is_clock = m && strcmp(m->unit, "clock") == 0;
    bool is_nightly = m && (m->daily != DAILY_SUM || strcmp(m->group, "sleep") == 0);
    return (f->has_day_part && !is_clock) || (f->has_night_part && !is_nightly);
}

/* "on the first of each month": of a metric only the first value can be meant. */
static bool is_first_ignored(const struct builder *b)
{
    const struct plan *plan = b->plan;
    bool is_value = plan->op == PLAN_AGGREGATE && plan->subject == PLAN_OF_METRIC;
    return b->p->f.has_first && is_value && plan->stat != STAT_FIRST;
}

/* "only" with nothing that it could be restricted to. */
static bool is_only_ignored(const struct builder *b)
{
    const struct plan *plan = b->plan;
    bool is_whole = plan->where.n == 0 && b->p->f.n_windows == 0;
    return b->p->f.has_only && is_whole && plan->subject != PLAN_OF_WORKOUTS;
}

/* A word of meaning that the plan leaves out, in a sentence; NULL when there is none. */
static const char *what_word_is_ignored(const struct builder *b)
{
    const struct frame *f = &b->p->f;
    if (is_comparison_ignored(b)) return "It is not clear what is to be compared.";
    if (is_part_ignored(b))
        return "The values are those of whole days: parts of a day cannot be asked for.";
    if (f->is_list && f->has_most && b->plan->op == PLAN_AGGREGATE)
        return "It is not clear how many of them are to be listed.";
    bool is_name = f->n_stats == 1 && f->sum_is_name; /* "total steps" */
    if (f->rank > 0 && f->n_stats > 0 && b->plan->op == PLAN_EXTREME && !is_name)
        return "Statistics of the best or worst days cannot be asked for.";
    if (is_first_ignored(b)) return "It is not clear what the first is of.";
    return is_only_ignored(b) ? "It is not clear what this is restricted to." : NULL;
}

/* What was said and would be ignored, in a sentence; NULL when nothing is. */
static const char *what_is_ignored(const struct builder *b)
{
    const struct frame *f = &b->p->f;
    const struct plan *plan = b->plan;
    bool is_date = f->asks_when || f->asks_which;
    if (is_date && gives_number(plan))
        return "A date is asked for, and a number would be the answer.";
    if (f->has_group && plan->op != PLAN_GROUP) return "Grouping does not fit into this question.";
    if (is_rank_ignored(f, plan)) return "A ranking does not fit into this question.";
    bool is_newest = f->newest > 0 && plan->newest == 0 && plan->op != PLAN_FIND;
    if (is_newest) return "The number of sessions does not fit into this question.";
    return what_word_is_ignored(b);
}

/* "the highest steps per week": what is per week is a rate or a trend, or is not understood. */
static bool is_per_ignored(const struct builder *b)
{
    const struct plan *plan = b->plan;
    if (!b->p->f.has_per || plan->per != PER_NONE) return false;
    bool is_week =
        plan->op == PLAN_ROLLING || (plan->op == PLAN_AGGREGATE && plan->stat == STAT_MEAN);
    return !is_week;
}

typedef bool (*applies_fn)(const struct builder *b);
typedef bool (*build_fn)(struct builder *b);

static bool is_any(const struct builder *b)
{
    (void)b;
    return true;
}

static bool build_nothing(struct builder *b)
{
    const struct frame *f = &b->p->f;
    if (f->counted == COUNT_DAYS && f->n_scopes == 2 && f->scopes[1].is_not) {
        ask_refuse(b->p, "Days without it cannot be counted: ask on how many days there was any.");
        return false;
    }
    b->p->out->lacks_thing = f->n_mentions == 0 && windows_alone(b);
    ask_refuse(b->p, "%s",
               b->p->f.n_mentions > 0 ? "It is not clear what is asked about it."
                                      : "No metric, workout or laboratory test was recognised.");
    return false;
}

/* The first that applies. */
static const struct {
    applies_fn applies;
    build_fn build;
} rows[] = {
    {applies_correlate, build_correlate},
    {applies_streak, build_streak},
    {applies_compare, build_compare},
    {applies_shape, build_shape},
    {applies_trend, build_trend},
    {applies_rolling, build_rolling},
    {applies_group, build_group},
    {applies_lab, build_lab},
    {applies_workouts, build_workouts},
    {applies_count, build_count},
    {applies_find, build_find},
    {applies_extreme, build_extreme},
    {applies_change, build_change},
    {applies_aggregate, build_aggregate},
    {is_any, build_nothing},
};

/* "how many pounds was I": weight. */
static void imply_weight(struct builder *b)
{
    struct frame *f = &b->p->f;
    double ignored;
    if (!f->unit || !unit_convert(f->unit, "kg", 1, &ignored) || f->n_mentions == MAX_MENTIONS)
        return;
    if (strcmp(f->unit, "g") == 0) return;
    struct mention *m = &f->mentions[f->n_mentions++];
    *m = (struct mention){.kind = M_METRIC, .metric = metric_find(weir_slice_of("weight"))};
    add_metric(b, m);
    ask_note(b->p, "%s read as weight", f->unit);
}

/* "my longest night", "the length of my nights": sleep. */
static void imply_night(struct builder *b)
{
    struct frame *f = &b->p->f;
    bool is_length = f->asks_long || (b->field && b->field->field == FIELD_MINUTES) ||
                     (f->has_most && f->most >= MOST_BEST && f->most <= MOST_SHORTEST);
    bool has_night = false;
    for (size_t i = 0; i < b->p->t->n; i++) {
        const struct sense *s = sense_at(b->p, i, S_PERIOD);
        has_night = has_night || (s && s->arg == PERIOD_NIGHT);
    }
    if (!is_length || !has_night || f->n_mentions == MAX_MENTIONS) return;
    struct mention *m = &f->mentions[f->n_mentions++];
    *m = (struct mention){.kind = M_METRIC, .metric = metric_find(weir_slice_of("sleep_minutes"))};
    add_metric(b, m);
    ask_note(b->p, "nights read as sleep");
}

/* "how many nights over 8 hours": nights and hours are sleep. */
static void imply_sleep(struct builder *b)
{
    struct frame *f = &b->p->f;
    bool has_thing = b->n_metrics > 0 || b->sport || b->lab;
    if (!has_thing && (f->n_loose == 0 || f->loose[0].at == SIZE_MAX)) {
        imply_night(b);
        if (b->n_metrics == 0) imply_weight(b);
    }
    if (has_thing || f->n_loose == 0 || f->loose[0].at == SIZE_MAX || !f->loose[0].unit) return;
    double ignored;
    bool is_time = unit_convert(f->loose[0].unit, "min", 1, &ignored);
    if (!is_time || !f->counts_nights || f->n_mentions == MAX_MENTIONS) return;
    struct mention *m = &f->mentions[f->n_mentions++];
    *m = (struct mention){.kind = M_METRIC,
                          .at = f->loose[0].at,
                          .has_quantity = true,
                          .metric = metric_find(weir_slice_of("sleep_minutes")),
                          .quantity = f->loose[0]};
    f->loose[0].at = SIZE_MAX;
    add_metric(b, m);
    ask_note(b->p, "nights and hours read as sleep");
}

bool build_plan(struct parse *p)
{
    struct builder b = {.p = p, .plan = &p->out->plan};
    plan_init(b.plan);
    sort_mentions(&b);
    imply_sleep(&b);
    size_t k = 0;
    while (!rows[k].applies(&b)) k++;
    if (!rows[k].build(&b) || p->is_failed) return false;
    if (!is_all_used(&b) || !is_field_fit(&b)) return false;
    const char *ignored = what_is_ignored(&b);
    if (!ignored && is_per_ignored(&b))
        ignored = "It is not clear what is asked for by the week or month.";
    if (ignored) {
        ask_refuse(p, "%s", ignored);
        return false;
    }
    struct plan_error error;
    if (plan_check(b.plan, &error) != WEIR_OK) {
        ask_refuse(p, "The plan makes no sense: %s", error.text);
        return false;
    }
    return true;
}
