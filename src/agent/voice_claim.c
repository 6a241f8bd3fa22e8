/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claims with their verdict. One that was validated is stated; one that is conditional is hedged
 * and says what speaks against it; one that was rejected is never stated, and that the data do not
 * show it is said, with the reason and without a number.
 */
#include "agent/voice_impl.h"

#include <math.h>
#include <stdio.h>

#include "base/slice.h"

static bool is_conditional(const struct told *t)
{
    return told_is(t->verdict, "conditional");
}

/* What stands behind a mark in the assessment, without its full stop; empty: nothing. */
static struct weir_slice behind(struct weir_slice line, const char *mark)
{
    const char *at = line.len > 0 ? memmem(line.ptr, line.len, mark, strlen(mark)) : NULL;
    if (!at) return (struct weir_slice){0};
    struct weir_slice rest = slice_from(line, (size_t)(at - line.ptr) + strlen(mark));
    while (rest.len > 0 && (rest.ptr[rest.len - 1] == '.' || rest.ptr[rest.len - 1] == ' '))
        rest.len--;
    return rest;
}

static struct weir_slice doubt_of(const struct told *t)
{
    return t->doubt.len > 0 ? t->doubt : behind(t->assessment, ", but ");
}

/* The doubt of an uncertain claim closes its sentence. */
static void say_doubt(struct voice *v, const struct told *t)
{
    struct weir_slice doubt = doubt_of(t);
    say(v, ". This is uncertain");
    if (doubt.len > 0) say(v, ": %.*s", (int)doubt.len, doubt.ptr);
    say(v, ".");
}

static void say_end_of(struct voice *v, const struct told *t)
{
    if (is_conditional(t)) say_doubt(v, t);
    else say(v, ".");
}

/* " (95% between 3.1 and 4.6 bpm)" would be for few; that it is an estimate is for all. */
static void say_about(struct voice *v, struct sheet_number n)
{
    say(v, "**about ");
    say_difference(v, n.value, n.unit);
    say(v, "**");
}

/* ---- by kind ---- */

static void say_level(struct voice *v, const struct told *t)
{
    say_value(v, t);
    if (!is_conditional(t)) return;
    struct weir_slice doubt = doubt_of(t);
    say(v, " That may not be typical of these days");
    if (doubt.len > 0) say(v, ": %.*s", (int)doubt.len, doubt.ptr);
    say(v, ".");
}

static void say_direction(struct voice *v, const struct told *t, bool is_down)
{
    char title[VOICE_TITLE_BYTES];
    bool is_maybe = is_conditional(t);
    title_of(t, title);
    if (told_is_clock(t))
        say(v, "Your %s %s %s", title, is_maybe ? "may have moved" : "moved",
            is_down ? "earlier" : "later");
    else if (is_maybe) say(v, "Your %s may have %s", title, is_down ? "fallen" : "risen");
    else say(v, "Your %s %s", title, is_down ? "fell" : "rose");
}

static void say_slope(struct voice *v, struct sheet_number slope, bool is_aside)
{
    if (!slope.is_here || (v->level > VOICE_FULL && is_aside)) return;
    say(v, is_aside ? " (about " : " by about ");
    say_difference(v, slope.value, slope.unit);
    if (!strchr(slope.unit, '/')) say(v, " a week");
    if (is_aside) say(v, ")");
}

static void say_trend(struct voice *v, const struct told *t)
{
    struct sheet_number change = number_of(v, t, "change");
    struct sheet_number slope = number_among(v, t, "slope|per_week");
    if (!change.is_here && !slope.is_here) return;
    say_direction(v, t, (change.is_here ? change.value : slope.value) < 0);
    if (change.is_here) {
        say(v, " by ");
        say_about(v, change);
    }
    if (t->has_plan) say_where(v, &t->plan.where);
    say_window(v, t);
    say_slope(v, slope, change.is_here);
    say_end_of(v, t);
}

static const char *more_word(const struct told *t, struct sheet_number d)
{
    bool is_more = d.value > 0;
    if (told_is_clock(t)) return is_more ? "later" : "earlier";
    if (strcmp(d.unit, "min") == 0) return is_more ? "longer" : "shorter";
    return is_more ? "higher" : "lower";
}

/* "7 h 40 min against 7 h 17 min" */
static void say_both(struct voice *v, struct sheet_number a, struct sheet_number b)
{
    if (!a.is_here || !b.is_here || v->level >= VOICE_BARE) return;
    say(v, " (");
    say_amount(v, a.value, a.unit);
    say(v, " against ");
    say_amount(v, b.value, b.unit);
    say(v, ")");
}

static void say_was(struct voice *v, const struct told *t, struct sheet_number d)
{
    char title[VOICE_TITLE_BYTES];
    title_of(t, title);
    say(v, "Your %s ", title);
    if (is_conditional(t)) say(v, "may have been ");
    else say(v, title_is_plural(title) ? "were " : "was ");
    say_about(v, d);
    say(v, " %s", more_word(t, d));
}

static void say_windows(struct voice *v, const struct told *t)
{
    struct sheet_number d = number_of(v, t, "diff");
    struct sheet_number a = number_among(v, t, "a|after"), b = number_among(v, t, "b|before");
    if (!d.is_here) return;
    say_was(v, t, d);
    if (t->has_plan) {
        say_group_of(v, t, false);
        say(v, " than");
        say_group_of(v, t, true);
    } else {
        say(v, " in the later days than in the earlier ones");
        say_window(v, t);
    }
    say_both(v, a, b);
    say_end_of(v, t);
}

/* Whether b is all days of the week that a is not, and has no short name of its own. */
static bool is_the_rest(const struct plan_where *a, const struct plan_where *b)
{
    enum { WORKWEEK = 0x1F, WEEKEND = 0x60, ALL = 0x7F };
    if (a->n != 1 || b->n != 1) return false;
    const struct plan_condition *of_a = &a->conditions[0], *of_b = &b->conditions[0];
    if (of_a->kind != WHERE_WEEKDAY || of_b->kind != WHERE_WEEKDAY) return false;
    uint32_t set_a = (of_a->is_not ? ~of_a->set : of_a->set) & ALL;
    uint32_t set_b = (of_b->is_not ? ~of_b->set : of_b->set) & ALL;
    return set_b == (~set_a & ALL) && set_b != WORKWEEK && set_b != WEEKEND;
}

static void say_weekdays(struct voice *v, const struct told *t)
{
    struct sheet_number d = number_of(v, t, "diff");
    struct sheet_number a = number_among(v, t, "weekend|a"), b = number_among(v, t, "weekday|b");
    if (!d.is_here) return;
    say_was(v, t, d);
    if (t->has_plan && t->plan.where.n > 0) {
        say_where(v, &t->plan.where);
        say(v, " than");
        if (is_the_rest(&t->plan.where, &t->plan.where_b)) say(v, " on other days");
        else say_where(v, &t->plan.where_b);
    } else {
        say(v, " on weekends than on weekdays");
    }
    say_window(v, t);
    say_both(v, a, b);
    say_end_of(v, t);
}

static const char *other_title(const struct told *t)
{
    if (t->has_plan && t->plan.with) return t->plan.with->title;
    const struct metric *m = metric_find(agent_text(t->finding, "metric_y"));
    return m ? m->title : "the other values";
}

static int lag_of(const struct told *t)
{
    int64_t lag = 0;
    if (t->has_plan) return t->plan.lag;
    return weir_json_int64(weir_json_get_str(t->finding, "lag"), &lag) ? (int)lag : 0;
}

static void say_pair(struct voice *v, const struct told *t)
{
    struct sheet_number r = number_of(v, t, "r");
    char title[VOICE_TITLE_BYTES];
    const char *tend = is_conditional(t) ? "may" : "tend to";
    int lag = lag_of(t);
    if (!r.is_here) return;
    title_of(t, title);
    if (lag == 0)
        say(v, "Your %s and your %s %s %s", title, other_title(t), tend,
            r.value > 0 ? "rise and fall together" : "move in opposite ways");
    else
        say(v, "Days with higher %s %s be %s by %s %s", title,
            is_conditional(t) ? "may" : "tend to", lag > 0 ? "followed" : "preceded",
            r.value > 0 ? "higher" : "lower", other_title(t));
    if (lag == 1 || lag == -1) say(v, lag > 0 ? " on the next day" : " on the day before");
    if (v->level < VOICE_BARE) {
        say(v, " (r = ");
        say_amount(v, r.value, "");
        say(v, ")");
    }
    say_window(v, t);
    say_end_of(v, t);
    if (v->level < VOICE_BARE && !v->prefs.is_short) say(v, " That is a relation, not a cause.");
}

static void say_anomaly(struct voice *v, const struct told *t)
{
    struct sheet_number x = number_of(v, t, "value"), usual = number_among(v, t, "usual|typical");
    char title[VOICE_TITLE_BYTES];
    if (!x.is_here) return;
    title_of(t, title);
    if (x.day != DAY_NONE) {
        say(v, "On ");
        say_day(v, x.day);
        say(v, " your %s", title);
    } else {
        say(v, "Your %s", title);
    }
    say(v, is_conditional(t) ? " may stand out: it was " : " stood out: it was ");
    say_number(v, x);
    if (usual.is_here && v->level < VOICE_BARE) {
        say(v, ", against a usual ");
        say_amount(v, usual.value, usual.unit);
    }
    say_end_of(v, t);
}

/* ---- not shown ---- */

static bool is_compared(const struct told *t)
{
    return t->has_plan && t->plan.op == PLAN_COMPARE &&
           (told_is(t->kind, "windows") || told_is(t->kind, "weekdays"));
}

/* What is not shown, as a clause behind "your data"; dates only where they need no home. */
static void say_not_shown(struct voice *v, const struct told *t, struct weir_slice what,
                          bool was_value)
{
    char title[VOICE_TITLE_BYTES];
    title_of(t, title);
    if (is_compared(t) && was_value) {
        say(v, "do not support a difference");
    } else if (is_compared(t) && v->is_dated) {
        say(v, "show no difference of your %s", title);
        say_group_of(v, t, false);
        say(v, " against");
        say_group_of(v, t, true);
    } else {
        if (what.len > 0) say(v, "%.*s", (int)what.len, what.ptr);
        else say(v, "do not give a clear answer about your %s", title);
        if (!was_value) say_loose_window(v, t);
    }
}

static void say_nothing(struct voice *v, const struct told *t, const struct told *value)
{
    struct weir_slice what = behind(t->assessment, "these days "), why = {0};
    const char *cut = what.len > 0 ? memmem(what.ptr, what.len, ", for ", 6) : NULL;
    if (cut) {
        why = slice_from(what, (size_t)(cut - what.ptr) + 6);
        what.len = (size_t)(cut - what.ptr);
    }
    say(v, value ? "But your data " : "Your data ");
    say_not_shown(v, t, what, value != NULL);
    if (why.len > 0) say(v, ": %.*s", (int)why.len, why.ptr);
    say(v, ".");
}

void say_against(struct voice *v, const struct told *t)
{
    struct sheet_number b = number_of(v, t, "b");
    if (!b.is_here) return;
    say(v, is_conditional(t) ? "Before that it may have been " : "Before that it was ");
    say_number(v, b);
    say_group_of(v, t, true);
    say(v, ".");
}

/* The numbers are said already: what they mean is left to say. */
static void say_beside(struct voice *v, const struct told *t)
{
    struct weir_slice doubt = doubt_of(t);
    bool is_level = told_is(t->kind, "level");
    if (!is_conditional(t)) {
        if (is_level) return;
        say(v, told_is(t->kind, "pair") ? "The two do go together: every check that applies was "
                                          "passed. That is a relation, not a cause."
                                        : "That is more than the usual ups and downs: every check "
                                          "that applies was passed.");
        return;
    }
    say(v, is_level ? "That may not be typical" : "Whether it means anything is uncertain");
    if (doubt.len > 0) say(v, ": %.*s", (int)doubt.len, doubt.ptr);
    say(v, ".");
}

void say_claim(struct voice *v, const struct told *t, const struct told *value)
{
    static const struct {
        const char *kind;
        void (*say)(struct voice *v, const struct told *t);
    } kinds[] = {{"value", say_value},     {"level", say_level}, {"trend", say_trend},
                 {"windows", say_windows}, {"pair", say_pair},   {"weekdays", say_weekdays},
                 {"anomaly", say_anomaly}};
    if (told_is(t->verdict, "rejected")) {
        say_nothing(v, t, value);
        return;
    }
    if (value) {
        say_beside(v, t);
        return;
    }
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (told_is(t->kind, kinds[i].kind)) kinds[i].say(v, t);
}
