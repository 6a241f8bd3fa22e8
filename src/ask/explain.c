/* SPDX-License-Identifier: Apache-2.0 */
/* What was understood, in words; refusals and notes. All texts are the arena's. */
#include <stdarg.h>
#include <stdio.h>

#include "ask/ask_impl.h"

enum { TEXT_BYTES = 480, MAX_UNKNOWN = 3 };

static const char *keep(struct arena *arena, const char *text)
{
    size_t len = strlen(text);
    char *p = arena_alloc(arena, len + 1);
    if (!p) return "";
    memcpy(p, text, len + 1);
    return p;
}

/* A text of ours in growth; what does not fit is cut off. */
struct line {
    char text[TEXT_BYTES];
    size_t len;
};

__attribute__((format(printf, 2, 3))) static void put(struct line *l, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(l->text + l->len, sizeof l->text - l->len, format, args);
    va_end(args);
    if (n < 0) return;
    size_t room = sizeof l->text - 1 - l->len;
    l->len += (size_t)n < room ? (size_t)n : room;
}

void ask_refuse(struct parse *p, const char *format, ...)
{
    char text[TEXT_BYTES];
    va_list args;
    if (p->is_failed) return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    p->is_failed = true;
    p->out->refusal = keep(p->arena, text);
}

void ask_note(struct parse *p, const char *format, ...)
{
    char text[TEXT_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    for (size_t i = 0; i < p->out->n_notes; i++)
        if (strcmp(p->out->notes[i], text) == 0) return;
    if (p->out->n_notes < ASK_NOTES) p->out->notes[p->out->n_notes++] = keep(p->arena, text);
}

/* ---- refusals ---- */

static void put_near(struct line *l, struct parse *p)
{
    if (p->data->n_metrics == 0) return;
    put(l, " There are data for ");
    for (size_t i = 0; i < p->data->n_metrics && i < 6; i++)
        put(l, "%s%s", i > 0 ? ", " : "", p->data->metrics[i]->title);
    put(l, p->data->n_metrics > 6 ? " and others." : ".");
}

void ask_refuse_unknown(struct parse *p)
{
    struct line l = {.len = 0};
    size_t n = 0;
    bool has_thing = p->f.n_mentions > 0;
    for (size_t i = 0; i < p->t->n && n < MAX_UNKNOWN; i++) {
        const struct token *t = &p->t->list[i];
        if (t->is_used) continue;
        put(&l, "%s\"%.*s\"", n > 0 ? ", " : "I do not understand ",
            (int)(t->text.len > 40 ? 40 : t->text.len), t->text.ptr);
        n++;
    }
    put(&l, has_thing ? " in this question." : ".");
    if (!has_thing) put_near(&l, p);
    ask_refuse(p, "%s", l.text);
}

const char *understood_so_far(struct parse *p)
{
    struct line l = {.len = 0};
    struct frame *f = &p->f;
    for (size_t i = 0; i < f->n_mentions; i++) {
        const struct mention *m = &f->mentions[i];
        const char *title = m->kind == M_METRIC     ? m->metric->title
                            : m->kind == M_ACTIVITY ? m->activity->title
                            : m->kind == M_ANALYTE  ? m->analyte->title
                            : m->kind == M_WORKOUT  ? "workouts"
                                                    : NULL;
        if (title) put(&l, "%s%s", l.len > 0 ? ", " : "", title);
    }
    if (f->n_windows > 0) put(&l, "%sa window of time", l.len > 0 ? ", " : "");
    if (f->n_loose > 0) put(&l, "%sa threshold", l.len > 0 ? ", " : "");
    return l.len > 0 ? keep(p->arena, l.text) : NULL;
}

/* ---- plans in words ---- */

static const char *const op_words[] = {
    [PLAN_AGGREGATE] = "",
    [PLAN_COUNT] = "number of ",
    [PLAN_LIST] = "list of ",
    [PLAN_EXTREME] = "",
    [PLAN_COMPARE] = "comparison of ",
    [PLAN_CHANGE] = "change of ",
    [PLAN_TREND] = "trend of ",
    [PLAN_CORRELATE] = "correlation of ",
    [PLAN_GROUP] = "",
    [PLAN_STREAK] = "streak of days of ",
    [PLAN_ROLLING] = "moving ",
    [PLAN_FIND] = "day of ",
    [PLAN_ANOMALY] = "unusual days of ",
    [PLAN_DISTRIBUTION] = "distribution of ",
};

static const char *const stat_words[] = {
    [STAT_MEAN] = "average",      [STAT_MEDIAN] = "median",
    [STAT_SUM] = "total",         [STAT_MIN] = "lowest",
    [STAT_MAX] = "highest",       [STAT_SD] = "standard deviation",
    [STAT_RANGE] = "range",       [STAT_CV] = "coefficient of variation",
    [STAT_QUANTILE] = "quantile", [STAT_COUNT] = "number",
    [STAT_FIRST] = "first",       [STAT_LAST] = "latest",
};

static const char *const field_words[] = {
    [FIELD_SESSIONS] = "sessions",
    [FIELD_MINUTES] = "duration",
    [FIELD_KM] = "distance",
    [FIELD_KCAL] = "calories",
    [FIELD_AVG_HR] = "average heart rate",
    [FIELD_MAX_HR] = "highest heart rate",
    [FIELD_STEPS] = "steps",
    [FIELD_ASCENT] = "ascent",
    [FIELD_PACE] = "pace",
    [FIELD_SPEED] = "speed",
};

static const char *const cmp_words[] = {
    [CMP_NONE] = "",       [CMP_LT] = "under",   [CMP_LE] = "at most",    [CMP_GT] = "over",
    [CMP_GE] = "at least", [CMP_EQ] = "exactly", [CMP_NE] = "other than", [CMP_BETWEEN] = "between",
};

static void put_having(struct line *l, const struct plan_having *h, const char *unit)
{
    if (h->cmp == CMP_NONE) return;
    put(l, " %s %.10g", cmp_words[h->cmp], h->value);
    if (h->cmp == CMP_BETWEEN) put(l, " and %.10g", h->value2);
    put(l, " %s", unit);
}

static void put_window(struct line *l, const struct plan_window *w)
{
    char from[DAY_TEXT_BYTES], to[DAY_TEXT_BYTES];
    if (w->last > 0) {
        put(l, w->last == 1 ? ", 1 day" : ", last %u days", (unsigned)w->last);
        if (w->skip > 0) put(l, " up to %u days ago", (unsigned)w->skip);
        return;
    }
    if (w->from != DAY_NONE) day_format(from, w->from);
    if (w->to != DAY_NONE) day_format(to, w->to);
    if (w->from == DAY_NONE && w->to == DAY_NONE) put(l, ", all days");
    else if (w->from == DAY_NONE) put(l, ", until %s", to);
    else if (w->to == DAY_NONE) put(l, ", since %s", from);
    else if (w->from == w->to) put(l, ", %s", from);
    else put(l, ", %s to %s", from, to);
}

static void put_condition(struct line *l, const struct plan_condition *c)
{
    put(l, c->is_not ? ", not " : ", ");
    switch (c->kind) {
    case WHERE_METRIC:
        put(l, "with %s", c->metric->title);
        put_having(l, &c->having, c->metric->unit);
        break;
    case WHERE_WORKOUT:
        put(l, "with %s", c->activity ? c->activity->title : "a workout");
        if (c->having.cmp != CMP_NONE) put_having(l, &c->having, field_words[c->field]);
        break;
    case WHERE_WEEKDAY:
        put(l, "on");
        for (unsigned i = 0; i < 7; i++)
            if (c->set & (1u << i)) put(l, " %.3s", day_weekday_name(i));
        break;
    case WHERE_MONTH: put(l, "in some months"); break;
    }
    if (c->shift != 0)
        put(l, " %d day%s %s", c->shift < 0 ? -c->shift : c->shift,
            c->shift * c->shift == 1 ? "" : "s", c->shift < 0 ? "before" : "after");
}

static void put_where(struct line *l, const struct plan_where *w)
{
    for (size_t i = 0; i < w->n; i++) put_condition(l, &w->conditions[i]);
}

static void put_subject(struct line *l, const struct plan *plan)
{
    switch (plan->subject) {
    case PLAN_OF_METRIC: put(l, "%s", plan->metric->title); break;
    case PLAN_OF_LAB:
        put(l, "%s", plan->analyte ? plan->analyte->title : "a laboratory test");
        break;
    case PLAN_OF_WORKOUTS:
        put(l, "%s of %s", field_words[plan->field],
            plan->activity ? plan->activity->title : "workouts");
        if (plan->newest > 0) put(l, " (newest %u)", (unsigned)plan->newest);
        break;
    }
}

static bool shows_stat(const struct plan *plan)
{
    return plan->op == PLAN_AGGREGATE || plan->op == PLAN_COMPARE || plan->op == PLAN_GROUP ||
           plan->op == PLAN_ROLLING;
}

const char *explain_plan(struct arena *arena, const struct plan *plan)
{
    struct line l = {.len = 0};
    if (plan->op == PLAN_EXTREME) put(&l, "%s ", plan->pick == PICK_MIN ? "lowest" : "highest");
    if (plan->op == PLAN_COUNT) put(&l, plan->as_share ? "share of " : "number of ");
    else put(&l, "%s", op_words[plan->op]);
    if (plan->op == PLAN_COUNT && plan->subject == PLAN_OF_METRIC) put(&l, "days with ");
    if (shows_stat(plan)) put(&l, "%s ", stat_words[plan->stat]);
    put_subject(&l, plan);
    put_having(&l, &plan->having, plan->subject == PLAN_OF_METRIC ? plan->metric->unit : "");
    if (plan->op == PLAN_CORRELATE) {
        put(&l, " with %s", plan->with->title);
        if (plan->lag != 0) put(&l, " %d day%s later", (int)plan->lag, plan->lag == 1 ? "" : "s");
    }
    put_where(&l, &plan->where);
    put_window(&l, &plan->window);
    if (plan->op == PLAN_COMPARE) {
        put(&l, "; less");
        put_where(&l, &plan->where_b);
        put_window(&l, &plan->window_b);
    }
    if (plan->unit) put(&l, ", in %s", plan->unit);
    return keep(arena, l.text);
}
