/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans and answers as JSON. A plan is written so that plan_parse() makes the same plan of it:
 * members in the order of the schema, those with their default left out.
 */
#include <math.h>
#include <stdio.h>

#include "codec/json_member.h"
#include "data/plan_impl.h"

/* ---- plans ---- */

static void put_count(struct weir_buf *out, const char *key, uint32_t n)
{
    if (n == 0) return;
    weir_json_put_key(out, key);
    weir_json_put_uint(out, n);
}

static void put_word(struct weir_buf *out, const char *key, const char *const *words,
                     unsigned value)
{
    if (words[value][0]) member_str(out, key, words[value]);
}

static void put_flag(struct weir_buf *out, const char *key, bool is_set)
{
    if (!is_set) return;
    weir_json_put_key(out, key);
    weir_json_put_bool(out, true);
}

static void put_day(struct weir_buf *out, const char *key, int32_t day)
{
    char text[DAY_TEXT_BYTES];
    if (day == DAY_NONE) return;
    day_format(text, day);
    member_str(out, key, text);
}

static void put_window(struct weir_buf *out, const struct plan_window *w)
{
    weir_json_put_key(out, "window");
    weir_json_put_begin_object(out);
    put_day(out, "from", w->from);
    put_day(out, "to", w->to);
    put_count(out, "last_days", w->last);
    put_count(out, "skip_days", w->skip);
    weir_json_put_end_object(out);
}

static bool is_open(const struct plan_window *w)
{
    return w->from == DAY_NONE && w->to == DAY_NONE && w->last == 0;
}

static void put_value(struct weir_buf *out, double value, bool is_clock)
{
    char text[16];
    bool is_minute = value >= 0 && value < 24 * 60 && value == floor(value);
    if (!is_clock || !is_minute) {
        weir_json_put_double(out, value);
        return;
    }
    snprintf(text, sizeof text, "%02d:%02d", (int)value / 60, (int)value % 60);
    weir_json_put_str(out, text);
}

static void put_having(struct weir_buf *out, const struct plan_having *h, bool is_clock)
{
    if (h->cmp == CMP_NONE) return;
    member_str(out, "cmp", plan_compare_words[h->cmp]);
    weir_json_put_key(out, "value");
    if (h->cmp == CMP_BETWEEN) weir_json_put_begin_array(out);
    put_value(out, h->value, is_clock);
    if (h->cmp != CMP_BETWEEN) return;
    put_value(out, h->value2, is_clock);
    weir_json_put_end_array(out);
}

static void put_weekdays(struct weir_buf *out, uint32_t set)
{
    weir_json_put_key(out, "weekdays");
    if (set == WEEKDAYS_WEEKEND || set == WEEKDAYS_WORK) {
        weir_json_put_str(out, set == WEEKDAYS_WORK ? "workweek" : "weekend");
        return;
    }
    weir_json_put_begin_array(out);
    for (unsigned i = 0; i < 7; i++)
        if (set >> i & 1) weir_json_put_str(out, day_weekday_name(i));
    weir_json_put_end_array(out);
}

static void put_months(struct weir_buf *out, uint32_t set)
{
    weir_json_put_key(out, "months");
    weir_json_put_begin_array(out);
    for (unsigned i = 1; i <= 12; i++)
        if (set >> i & 1) weir_json_put_str(out, day_month_name(i));
    weir_json_put_end_array(out);
}

static void put_condition(struct weir_buf *out, const struct plan_condition *c)
{
    weir_json_put_begin_object(out);
    switch (c->kind) {
    case WHERE_METRIC:
        member_str(out, "metric", c->metric->name);
        put_having(out, &c->having, c->metric->daily == DAILY_CIRCULAR);
        break;
    case WHERE_WORKOUT:
        member_str(out, "workout", c->activity ? c->activity->name : "any");
        if (c->field != FIELD_SESSIONS) member_str(out, "field", plan_field_words[c->field]);
        put_having(out, &c->having, false);
        break;
    case WHERE_WEEKDAY: put_weekdays(out, c->set); break;
    case WHERE_MONTH: put_months(out, c->set); break;
    }
    if (c->shift != 0) {
        weir_json_put_key(out, "shift_days");
        weir_json_put_int(out, c->shift);
    }
    put_flag(out, "not", c->is_not);
    weir_json_put_end_object(out);
}

static void put_where(struct weir_buf *out, const struct plan_where *where)
{
    weir_json_put_key(out, "where");
    weir_json_put_begin_array(out);
    for (size_t i = 0; i < where->n; i++) put_condition(out, &where->conditions[i]);
    weir_json_put_end_array(out);
}

static void put_subject(struct weir_buf *out, const struct plan *p)
{
    if (p->subject == PLAN_OF_METRIC) {
        member_str(out, "metric", p->metric->name);
    } else if (p->subject == PLAN_OF_LAB) {
        member_str(out, "lab", p->analyte ? p->analyte->name : p->lab);
    } else {
        member_str(out, "workouts", p->activity ? p->activity->name : "any");
        member_str(out, "field", plan_field_words[p->field]);
    }
}

static bool is_for(const char *member, enum plan_op op)
{
    for (const struct plan_member *m = plan_members; m->name; m++)
        if (strcmp(m->name, member) == 0) return m->ops >> op & 1;
    return false;
}

static void put_stat(struct weir_buf *out, const struct plan *p)
{
    if (!is_for("stat", p->op)) return;
    member_str(out, "stat", plan_stat_words[p->stat]);
    if (p->stat != STAT_QUANTILE) return;
    weir_json_put_key(out, "quantile");
    weir_json_put_double(out, p->quantile);
}

static void put_own_having(struct weir_buf *out, const struct plan *p)
{
    if (p->having.cmp == CMP_NONE || !is_for("having", p->op)) return;
    weir_json_put_key(out, "having");
    weir_json_put_begin_object(out);
    put_having(out, &p->having, plan_is_clock(p));
    weir_json_put_end_object(out);
}

static void put_b(struct weir_buf *out, const struct plan *p)
{
    if (p->op != PLAN_COMPARE) return;
    weir_json_put_key(out, "b");
    weir_json_put_begin_object(out);
    if (!plan_is_same_window(&p->window, &p->window_b)) put_window(out, &p->window_b);
    if (!plan_is_same_where(&p->where, &p->where_b)) put_where(out, &p->where_b);
    weir_json_put_end_object(out);
}

static void put_choices(struct weir_buf *out, const struct plan *p)
{
    bool is_streak = p->op == PLAN_STREAK;
    if (is_for("pick", p->op))
        put_word(out, "pick", is_streak ? plan_streak_words : plan_pick_words, p->pick);
    if (is_for("answer", p->op) && p->wants_date) member_str(out, "answer", "date");
    if (p->op == PLAN_EXTREME) put_count(out, "rank", p->rank);
    if (is_for("limit", p->op)) put_count(out, "limit", p->limit);
    if (p->op == PLAN_LIST && p->by_value) member_str(out, "sort", "value");
    if (p->op == PLAN_LIST) put_flag(out, "descending", p->descending);
    if (p->op == PLAN_ROLLING) put_count(out, "days", p->days);
    if (p->op == PLAN_GROUP) member_str(out, "by", plan_group_words[p->group]);
    if (is_for("result", p->op) && p->result != RESULT_DIFFERENCE)
        member_str(out, "result", plan_result_words[p->result]);
}

static void put_relation(struct weir_buf *out, const struct plan *p)
{
    if (p->op == PLAN_CORRELATE) member_str(out, "with", p->with->name);
    if (p->op == PLAN_CORRELATE && p->lag != 0) {
        weir_json_put_key(out, "lag_days");
        weir_json_put_int(out, p->lag);
    }
    if (is_for("method", p->op)) put_word(out, "method", plan_method_words, p->method);
    if (is_for("per", p->op)) put_word(out, "per", plan_per_words, p->per);
    if (p->op == PLAN_ANOMALY && p->threshold > 0) {
        weir_json_put_key(out, "threshold");
        weir_json_put_double(out, p->threshold);
    }
}

void plan_put(struct weir_buf *out, const struct plan *p)
{
    weir_json_put_begin_object(out);
    member_str(out, "op", plan_op_words[p->op]);
    put_subject(out, p);
    put_stat(out, p);
    if (!is_open(&p->window)) put_window(out, &p->window);
    if (p->where.n > 0) put_where(out, &p->where);
    put_count(out, "newest", p->newest);
    put_own_having(out, p);
    if (p->op == PLAN_COUNT) put_flag(out, "share", p->as_share);
    if (p->op == PLAN_COUNT) put_flag(out, "by_day", p->by_day);
    put_choices(out, p);
    put_b(out, p);
    put_relation(out, p);
    if (p->unit && is_for("unit", p->op)) member_str(out, "unit", p->unit);
    weir_json_put_end_object(out);
}

/* ---- answers ---- */

static void put_span(struct weir_buf *out, const char *key, int32_t from, int32_t to)
{
    if (from == DAY_NONE) return;
    weir_json_put_key(out, key);
    weir_json_put_begin_object(out);
    put_day(out, "from", from);
    put_day(out, "to", to);
    weir_json_put_end_object(out);
}

static void put_row(struct weir_buf *out, const struct plan_row *row)
{
    weir_json_put_begin_object(out);
    if (row->key) member_str(out, "key", row->key);
    put_day(out, "date", row->day);
    if (!isnan(row->value)) {
        weir_json_put_key(out, "value");
        weir_json_put_double(out, row->value);
    }
    if (row->key && row->n > 0) {
        weir_json_put_key(out, "n");
        weir_json_put_uint(out, row->n);
    }
    if (row->z != 0) {
        weir_json_put_key(out, "z");
        weir_json_put_double(out, row->z);
    }
    weir_json_put_end_object(out);
}

static void put_rows(struct weir_buf *out, const struct plan_answer *a)
{
    if (a->n_rows == 0) return;
    weir_json_put_key(out, "rows");
    weir_json_put_begin_array(out);
    for (size_t i = 0; i < a->n_rows; i++) put_row(out, &a->rows[i]);
    weir_json_put_end_array(out);
}

static void put_answer_value(struct weir_buf *out, const struct plan_answer *a)
{
    char day[DAY_TEXT_BYTES];
    weir_json_put_key(out, "value");
    if (a->kind == VALUE_NUMBER) weir_json_put_double(out, a->number);
    else if (a->kind == VALUE_TEXT) weir_json_put_str(out, a->text);
    else {
        day_format(day, a->date);
        weir_json_put_str(out, day);
    }
    member_str(out, "unit", a->unit);
    if (a->clock) member_str(out, "clock", a->clock);
    put_day(out, "date", a->date);
}

static void put_notes(struct weir_buf *out, const struct plan_answer *a)
{
    if (a->n_notes == 0) return;
    weir_json_put_key(out, "notes");
    weir_json_put_begin_array(out);
    for (size_t i = 0; i < a->n_notes; i++) weir_json_put_str(out, a->notes[i]);
    weir_json_put_end_array(out);
}

void plan_put_answer(struct weir_buf *out, const struct plan *plan, const struct plan_answer *a)
{
    weir_json_put_begin_object(out);
    if (a->kind == VALUE_NONE) member_str(out, "unanswerable", a->reason);
    weir_json_put_key(out, "plan");
    plan_put(out, plan);
    if (a->kind != VALUE_NONE) {
        put_answer_value(out, a);
        weir_json_put_key(out, "n");
        weir_json_put_uint(out, a->n);
    }
    put_span(out, "window", a->from, a->to);
    put_span(out, "window_b", a->from_b, a->to_b);
    put_rows(out, a);
    put_notes(out, a);
    weir_json_put_end_object(out);
}
