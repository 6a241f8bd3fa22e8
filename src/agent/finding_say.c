/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of a claim in a sentence: what an agent says while it works, and its summary. */
#include <stdio.h>
#include <string.h>

#include "agent/finding.h"

enum { SHOWN_ROWS = 3 };

struct saying {
    struct weir_buf *out;
    const struct claim *c;
    bool is_brief;
};

static void text(const struct saying *s, const char *words)
{
    weir_buf_append_str(s->out, words);
}

static void entry(const struct saying *s, const char *name)
{
    const struct entry *e = entry_find(s->c, name);
    if (e) amount_put(s->out, e->value, e->unit);
}

static void first_entry(const struct saying *s)
{
    const struct entry *e = s->c->n_entries > 0 ? &s->c->entries[0] : NULL;
    if (e && e->date == DAY_NONE) amount_put(s->out, e->value, e->unit);
}

static void capital(struct weir_buf *out, size_t at)
{
    if (out->len > at && out->ptr[at] >= 'a' && out->ptr[at] <= 'z')
        out->ptr[at] = (char)(out->ptr[at] - 'a' + 'A');
}

/* "Average sleep from … to …: ", or briefly "Average: ". */
static void begin(const struct saying *s, const char *head)
{
    size_t at = s->out->len;
    char title[PLAN_TITLE_BYTES];
    plan_subject_title(s->c->plan, title, sizeof title);
    /* "average average heart rate" is said once. */
    bool is_in_title = head[0] && strncmp(title, head, strlen(head)) == 0;
    if (s->is_brief || !is_in_title) text(s, head);
    if (!s->is_brief) {
        if (head[0] && !is_in_title) text(s, " ");
        text(s, title);
        if (s->c->from != DAY_NONE) text(s, " ");
        if (s->c->from != DAY_NONE) span_put(s->out, s->c->from, s->c->to);
    }
    capital(s->out, at);
    if (s->out->len > at) text(s, ": ");
}

static void days(const struct saying *s)
{
    static const char *const counted[] = {"days", "sessions", "results"};
    amount_put(s->out, (double)s->c->answer->n, counted[s->c->plan->subject]);
}

/* At the end of a sentence that has not said it before. */
static void days_at_end(const struct saying *s)
{
    if (s->is_brief) return;
    text(s, ", ");
    days(s);
}

static void day(const struct saying *s, const char *head, int32_t date)
{
    char name[DAY_TEXT_BYTES];
    if (date == DAY_NONE) return;
    day_format(name, date);
    weir_buf_printf(s->out, "%s%s", head, name);
}

/* ---- operations ---- */

static void say_aggregate(const struct saying *s)
{
    static const char *const heads[] = {
        "average",  "median",       "total",       "lowest",    "highest", "standard deviation of",
        "range of", "variation of", "quantile of", "number of", "first",   "latest"};
    const char *head = heads[s->c->plan->stat];
    bool is_named = s->c->plan->stat <= STAT_MAX || s->c->plan->stat >= STAT_FIRST;
    begin(s, s->is_brief && !is_named ? "" : head);
    first_entry(s);
    day(s, " on ", s->c->answer->date);
    if (entry_find(s->c, "sd") && s->c->plan->stat <= STAT_MEDIAN) {
        text(s, ", standard deviation ");
        entry(s, "sd");
    }
    days_at_end(s);
}

static void say_count(const struct saying *s)
{
    const struct entry *e = entry_find(s->c, s->c->plan->as_share ? "share" : "count");
    bool has_condition = s->c->plan->having.cmp != CMP_NONE;
    bool is_plain = has_condition && !s->c->plan->as_share && s->c->plan->per == PER_NONE;
    begin(s, "");
    if (e) amount_put(s->out, e->value, is_plain ? "" : e->unit);
    if (!has_condition) return;
    text(s, " of ");
    days(s);
    text(s, " meet the condition");
}

static void say_compare(const struct saying *s)
{
    const struct plan_answer *a = s->c->answer;
    bool is_same = a->from == a->from_b && a->to == a->to_b;
    begin(s, "");
    entry(s, "a");
    text(s, is_same ? " on the one kind of days, " : ", against ");
    entry(s, "b");
    text(s, is_same ? " on the other" : " ");
    if (!is_same) span_put(s->out, a->from_b, a->to_b);
    if (!entry_find(s->c, "diff")) return;
    text(s, "; the difference is ");
    entry(s, "diff");
}

static void say_change(const struct saying *s)
{
    const struct plan_row *rows = s->c->answer->rows;
    begin(s, "");
    entry(s, "first");
    day(s, " on ", rows[0].day);
    text(s, ", ");
    entry(s, "last");
    day(s, " on ", rows[1].day);
    text(s, "; the change is ");
    entry(s, "diff");
}

static void say_trend(const struct saying *s)
{
    begin(s, s->is_brief ? "trend" : "trend of");
    entry(s, "slope");
    days_at_end(s);
}

static void say_correlation(const struct saying *s)
{
    int lag = s->c->plan->lag < 0 ? -s->c->plan->lag : s->c->plan->lag;
    if (!s->is_brief) {
        size_t at = s->out->len;
        subject_put(s->out, s->c->plan);
        capital(s->out, at);
        weir_buf_printf(s->out, " with %s", s->c->plan->with->title);
        if (lag > 0) text(s, " ");
        if (lag > 0) amount_put(s->out, lag, "days");
        if (lag > 0) text(s, s->c->plan->lag < 0 ? " earlier" : " later");
        text(s, " ");
        span_put(s->out, s->c->from, s->c->to);
        text(s, ": ");
    }
    text(s, "r = ");
    entry(s, "r");
    days_at_end(s);
}

/* Rows go into the answer; here the first are enough. */
static void say_rows(const struct saying *s)
{
    const struct claim *c = s->c;
    size_t n = 0;
    begin(s, "");
    if (c->answer->kind == VALUE_TEXT) {
        weir_buf_printf(s->out, "%s, ", c->answer->text);
        first_entry(s);
        return;
    }
    for (size_t i = 0; i < c->n_entries && n < SHOWN_ROWS; i++, n++) {
        const struct entry *e = &c->entries[i];
        if (n > 0) text(s, ", ");
        bool is_row = strncmp(e->name, "row.", 4) == 0;
        if (is_row) weir_buf_printf(s->out, "%s ", e->name + 4);
        amount_put(s->out, e->value, e->unit);
        if (!is_row && c->plan->op == PLAN_ANOMALY)
            text(s, e->value == 1 ? " that stands out" : " that stand out");
        if (!is_row && c->plan->op == PLAN_GROUP) text(s, " in all");
    }
}

static void say_found(const struct saying *s)
{
    const struct plan *p = s->c->plan;
    begin(s, p->op == PLAN_STREAK && s->is_brief ? "streak"
             : p->op == PLAN_STREAK              ? "streak of days with"
             : p->op == PLAN_ROLLING             ? s->is_brief ? "" : "moving average of"
             : p->op == PLAN_FIND                ? ""
             : p->pick == PICK_MIN               ? "lowest"
                                                 : "highest");
    first_entry(s);
    day(s, p->op == PLAN_STREAK ? " from " : " on ", s->c->answer->date);
}

static void say_anomaly(const struct saying *s)
{
    const struct entry *e = entry_find(s->c, "value");
    size_t at = s->out->len;
    if (!e) return;
    subject_put(s->out, s->c->plan);
    capital(s->out, at);
    text(s, " ");
    span_put(s->out, e->from, e->to);
    text(s, ": ");
    entry(s, "value");
    text(s, ", usually ");
    entry(s, "usual");
}

static void say_op(const struct saying *s)
{
    switch (s->c->plan->op) {
    case PLAN_AGGREGATE: say_aggregate(s); return;
    case PLAN_COUNT: say_count(s); return;
    case PLAN_COMPARE: say_compare(s); return;
    case PLAN_CHANGE: say_change(s); return;
    case PLAN_TREND: say_trend(s); return;
    case PLAN_CORRELATE: say_correlation(s); return;
    case PLAN_EXTREME:
    case PLAN_STREAK:
    case PLAN_ROLLING:
    case PLAN_FIND: say_found(s); return;
    default: say_rows(s); return;
    }
}

void claim_say(struct weir_buf *out, const struct claim *claim, bool is_brief)
{
    struct saying s = {out, claim, is_brief};
    if (claim->kind == CLAIM_ANOMALY) say_anomaly(&s);
    else say_op(&s);
    weir_buf_append_str(out, ". ");
}
