/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers that claim nothing about other days, said by the operation of the plan behind them. */
#include "agent/voice_impl.h"

#include <math.h>
#include <stdio.h>

#include "base/slice.h"
#include "data/day.h"

static const char *counted(const struct told *t)
{
    static const char *const words[] = {"days with data", "sessions", "results"};
    return words[t->plan.subject];
}

/* " (87 days with data)": how many values it rests on. */
static void say_n(struct voice *v, const struct told *t, struct sheet_number n)
{
    if (v->level >= VOICE_LEAN || v->prefs.is_short || !(n.n > 1)) return;
    say(v, " (");
    say_amount(v, n.n, "");
    say(v, " %s)", counted(t));
}

/* The window, then the conditions. */
static void say_when(struct voice *v, const struct told *t)
{
    say_where(v, &t->plan.where);
    say_window(v, t);
}

static void say_on(struct voice *v, int32_t day)
{
    if (day == DAY_NONE) return;
    say(v, " on ");
    say_day(v, day);
}

/* ---- one number ---- */

static void say_sessions(struct voice *v, const struct told *t, struct sheet_number n)
{
    const char *name = t->plan.activity ? t->plan.activity->title : "workout";
    say(v, "You logged **");
    say_amount(v, n.value, "");
    say(v, "** %s%s", name, n.value == 1 ? "" : " sessions");
    say_when(v, t);
    say(v, ".");
}

static void say_mean(struct voice *v, const struct told *t, struct sheet_number n)
{
    char title[VOICE_TITLE_BYTES];
    title_of(t, title);
    say(v, told_is_clock(t) ? "Your %s was, on average, " : "Your %s averaged ", title);
    say_number(v, n);
    say_when(v, t);
    say_n(v, t, n);
    say(v, ".");
}

/* Times of day are early and late, runs are short and long, all else is low and high. */
static const char *end_word(const struct told *t, bool is_low, const char *unit)
{
    const struct plan *p = &t->plan;
    bool is_long = p->subject == PLAN_OF_WORKOUTS
                       ? p->field == FIELD_MINUTES || p->field == FIELD_KM
                       : p->subject == PLAN_OF_METRIC && strcmp(p->metric->unit, "min") == 0 &&
                             strcmp(p->metric->group, "sleep") == 0;
    if (told_is_clock(t) || strcmp(unit, "clock") == 0) return is_low ? "earliest" : "latest";
    if (is_long) return is_low ? "shortest" : "longest";
    return is_low ? "lowest" : "highest";
}

static void say_end(struct voice *v, const struct told *t, struct sheet_number n)
{
    const char *word = end_word(t, t->plan.stat == STAT_MIN, n.unit);
    char title[VOICE_TITLE_BYTES];
    title_of(t, title);
    say(v, "Your %s %s%s was ", word, title, title_is_plural(title) ? " value" : "");
    say_number(v, n);
    if (n.day != DAY_NONE) say(v, ",");
    say_on(v, n.day);
    if (n.day == DAY_NONE) say_when(v, t);
    say(v, ".");
}

static void say_newest(struct voice *v, const struct told *t, struct sheet_number n)
{
    char title[VOICE_TITLE_BYTES];
    title_of(t, title);
    bool is_plural = title_is_plural(title);
    say(v, "Your %s %s%s was ", t->plan.stat == STAT_FIRST ? "first" : "latest", title,
        is_plural ? " value" : "");
    say_number(v, n);
    if (n.day != DAY_NONE) say(v, ",");
    say_on(v, n.day);
    say(v, ".");
}

static void say_stat(struct voice *v, const struct told *t, struct sheet_number n)
{
    static const char *const heads[] = {
        [STAT_MEDIAN] = "The median of your %s was ",
        [STAT_SUM] = "Your %s came to ",
        [STAT_SD] = "The standard deviation of your %s was ",
        [STAT_RANGE] = "The distance between the lowest and the highest %s was ",
        [STAT_CV] = "The coefficient of variation of your %s was ",
        [STAT_QUANTILE] = "That percentile of your %s was ",
        [STAT_COUNT] = "The number of values of your %s was ",
    };
    char title[VOICE_TITLE_BYTES], head[2 * VOICE_TITLE_BYTES];
    title_of(t, title);
    const char *form = heads[t->plan.stat], *mark = strstr(form, "%s");
    snprintf(head, sizeof head, "%.*s%s%s", (int)(mark - form), form, title, mark + 2);
    say(v, "%s", head);
    say_number(v, n);
    if (t->plan.stat == STAT_SUM && n.day == DAY_NONE) say(v, " in total");
    say_when(v, t);
    say_n(v, t, n);
    say(v, ".");
}

static void say_aggregate(struct voice *v, const struct told *t)
{
    static const char names[] = "avg|median|sum|min|max|sd|range|cv|quantile|count|first|last";
    static const char *const own[] = {"avg",   "median", "sum",      "min",   "max",   "sd",
                                      "range", "cv",     "quantile", "count", "first", "last"};
    struct sheet_number n = number_of(v, t, own[t->plan.stat]);
    if (!n.is_here) n = number_among(v, t, names);
    if (!n.is_here) return;
    bool is_sessions = t->plan.subject == PLAN_OF_WORKOUTS && t->plan.field == FIELD_SESSIONS;
    if (is_sessions && (t->plan.stat == STAT_SUM || t->plan.stat == STAT_COUNT) &&
        t->plan.per == PER_NONE)
        say_sessions(v, t, n);
    else if (t->plan.stat == STAT_MEAN) say_mean(v, t, n);
    else if (t->plan.stat == STAT_MIN || t->plan.stat == STAT_MAX) say_end(v, t, n);
    else if (t->plan.stat == STAT_FIRST || t->plan.stat == STAT_LAST) say_newest(v, t, n);
    else say_stat(v, t, n);
}

/* ---- counts ---- */

static void say_matching(struct voice *v, const struct told *t)
{
    char title[VOICE_TITLE_BYTES];
    title_of(t, title);
    say(v, " with %s", title);
    if (t->plan.having.cmp == CMP_NONE) say(v, " recorded");
    say_having(v, t);
}

static void say_of_lab(struct voice *v, const struct told *t)
{
    char title[VOICE_TITLE_BYTES];
    title_of(t, title);
    say(v, " of your %s", title);
}

static void say_share(struct voice *v, const struct told *t, struct sheet_number share)
{
    struct sheet_number n = number_of(v, t, "count");
    say(v, "Days");
    say_matching(v, t);
    say(v, " made up ");
    say_number(v, share);
    say(v, " of your %s", t->plan.subject == PLAN_OF_METRIC ? "days" : counted(t));
    say_when(v, t);
    if (n.is_here && v->level == VOICE_FULL && n.n > 0) {
        say(v, " (");
        say_amount(v, n.value, "");
        say(v, " of ");
        say_amount(v, n.n, "");
        say(v, ")");
    }
    say(v, ".");
}

static void say_count(struct voice *v, const struct told *t)
{
    struct sheet_number n = number_of(v, t, "count"), share = number_of(v, t, "share");
    if (t->plan.as_share && share.is_here) {
        say_share(v, t, share);
        return;
    }
    if (!n.is_here) return;
    bool has_limit = t->plan.having.cmp != CMP_NONE;
    if (t->plan.subject == PLAN_OF_WORKOUTS && !t->plan.by_day && !has_limit) {
        say_sessions(v, t, n);
        return;
    }
    say(v, "There %s ", n.value == 1 ? "was" : "were");
    say_number(v, n);
    if (t->plan.subject == PLAN_OF_LAB && !has_limit) say_of_lab(v, t);
    else say_matching(v, t);
    say_when(v, t);
    if (has_limit && n.n > n.value && v->level == VOICE_FULL && !v->prefs.is_short) {
        say(v, ", out of ");
        say_amount(v, n.n, "");
        say(v, " %s", counted(t));
    }
    say(v, ".");
}

static void say_streak(struct voice *v, const struct told *t)
{
    struct sheet_number n = number_of(v, t, "streak");
    if (!n.is_here) return;
    say(v, "Your %s streak of days", t->plan.pick == PICK_LAST ? "current" : "longest");
    say_matching(v, t);
    say(v, " %s ", t->plan.pick == PICK_LAST ? "is" : "was");
    say_number(v, n);
    if (t->plan.pick != PICK_LAST) say_when(v, t);
    say(v, ".");
}

/* ---- rows ---- */

/* "2025-03-04" and "2025-03" for people; other keys as they are. */
static void say_key(struct voice *v, struct weir_slice key)
{
    char text[64];
    int32_t day = day_parse(key);
    snprintf(text, sizeof text, "%.*s", (int)key.len, key.ptr);
    if (day != DAY_NONE) {
        say_day(v, day);
        return;
    }
    snprintf(text, sizeof text, "%.*s-01", (int)key.len, key.ptr);
    day = key.len == 7 ? day_parse(weir_slice_of(text)) : DAY_NONE;
    if (day != DAY_NONE) {
        struct civil c = day_to_civil(day);
        say(v, "%s %d", day_month_name((unsigned)c.month), c.year);
        return;
    }
    for (size_t i = 0; i < key.len; i++)
        weir_buf_append_char(&v->out, key.ptr[i] == '_' ? ' ' : key.ptr[i]);
}

static bool is_row(const struct told *t, struct weir_slice claim)
{
    return claim.len > t->id.len + 5 && memcmp(claim.ptr, t->id.ptr, t->id.len) == 0 &&
           memcmp(claim.ptr + t->id.len, ".row.", 5) == 0;
}

static size_t say_rows(struct voice *v, const struct told *t)
{
    size_t n = 0;
    for (const struct weir_json *e = weir_json_first(v->sheet); e; e = weir_json_next(e)) {
        struct weir_slice claim = agent_text(e, "claim");
        if (!is_row(t, claim)) continue;
        if (n++ >= VOICE_ROWS) continue;
        char name[96];
        snprintf(name, sizeof name, "%.*s", (int)(claim.len - t->id.len - 1),
                 claim.ptr + t->id.len + 1);
        struct sheet_number row = number_of(v, t, name);
        if (!row.is_here) continue;
        say(v, "\n- ");
        say_key(v, slice_from(claim, t->id.len + 5));
        say(v, ": ");
        say_amount(v, row.value, row.unit);
    }
    return n;
}

static void say_table(struct voice *v, const struct told *t, const char *head)
{
    char title[VOICE_TITLE_BYTES];
    size_t before = v->out.len;
    title_of(t, title);
    say(v, "%s %s", head, title);
    say_when(v, t);
    say(v, ":\n");
    size_t n = say_rows(v, t);
    if (n == 0) v->out.len = before;
    else if (n > VOICE_ROWS) say(v, "\n\nThere are more; these are the first of them.");
}

static void say_list(struct voice *v, const struct told *t)
{
    struct sheet_number n = number_of(v, t, "count");
    char title[VOICE_TITLE_BYTES];
    title_of(t, title);
    if (t->plan.op == PLAN_ANOMALY && n.is_here && n.value == 0) {
        say(v, "No day stands out in your %s", title);
        say_when(v, t);
        say(v, ".");
        return;
    }
    say_table(v, t, t->plan.op == PLAN_ANOMALY ? "These days stand out in your" : "Your");
}

/* What the number of the best group is, before it. */
static const char *number_word(enum plan_stat stat)
{
    if (stat == STAT_MEAN) return "with an average of";
    if (stat == STAT_MEDIAN) return "with a median of";
    return stat == STAT_SUM ? "with a total of" : "at";
}

static void say_group(struct voice *v, const struct told *t)
{
    struct sheet_number n = number_among(v, t, "max|min");
    struct weir_slice which = agent_text(t->answer, "value");
    char title[VOICE_TITLE_BYTES];
    title_of(t, title);
    if (t->plan.pick == PICK_NONE || !n.is_here || which.len == 0) {
        say_table(v, t, t->plan.stat == STAT_SUM ? "Your total" : "Your");
        return;
    }
    const char *word = end_word(t, t->plan.pick == PICK_MIN, n.unit);
    say(v, "Your %s %s %s %s **", title, title_is_plural(title) ? "were" : "was", word,
        t->plan.group == GROUP_WEEKDAY || t->plan.group == GROUP_WEEKEND ? "on" : "in");
    say_key(v, which);
    if (t->plan.group == GROUP_WEEKDAY) say(v, "s");
    say(v, "**, %s ", told_is_clock(t) ? "at" : number_word(t->plan.stat));
    say_number(v, n);
    say_when(v, t);
    say(v, ".");
}

/* ---- days ---- */

static void say_extreme(struct voice *v, const struct told *t)
{
    struct sheet_number n = number_among(v, t, "max|min|value");
    char title[VOICE_TITLE_BYTES];
    if (!n.is_here) return;
    if (t->plan.limit > 1) {
        say_table(v, t, t->plan.pick == PICK_MIN ? "Your lowest" : "Your highest");
        return;
    }
    title_of(t, title);
    const char *word = end_word(t, t->plan.pick == PICK_MIN, n.unit);
    if (t->plan.rank > 1) say(v, "The value of your %s in that place was ", title);
    else say(v, "Your %s %s%s was ", word, title, title_is_plural(title) ? " value" : "");
    say_number(v, n);
    say(v, n.day != DAY_NONE ? "," : "");
    say_on(v, n.day);
    if (n.day == DAY_NONE) say_when(v, t);
    say(v, ".");
}

static void say_found(struct voice *v, const struct told *t)
{
    struct sheet_number n = number_of(v, t, "value");
    if (!n.is_here) return;
    say(v, "The %s day", t->plan.pick == PICK_LAST ? "last" : "first");
    say_matching(v, t);
    say(v, " was");
    if (n.day != DAY_NONE) {
        say(v, " **");
        say_day(v, n.day);
        say(v, "**, with");
    }
    say(v, " ");
    say_amount(v, n.value, n.unit);
    say(v, ".");
}

static void say_rolling(struct voice *v, const struct told *t)
{
    struct sheet_number n = number_among(v, t, "avg|median|sum|min|max|sd");
    char title[VOICE_TITLE_BYTES];
    if (!n.is_here) return;
    title_of(t, title);
    say(v, "The moving %s of your %s %s ", t->plan.stat == STAT_SUM ? "total" : "average", title,
        t->plan.pick == PICK_MAX   ? "was at its highest at"
        : t->plan.pick == PICK_MIN ? "was at its lowest at"
                                   : "now stands at");
    say_number(v, n);
    say(v, ".");
}

static void say_distribution(struct voice *v, const struct told *t)
{
    struct sheet_number low = number_of(v, t, "q25"), high = number_of(v, t, "q75");
    struct sheet_number min = number_of(v, t, "min"), max = number_of(v, t, "max");
    struct sheet_number median = number_of(v, t, "median");
    char title[VOICE_TITLE_BYTES];
    if (!low.is_here || !high.is_here) return;
    title_of(t, title);
    say(v, "The middle of your days had %s between ", title);
    say_number(v, low);
    say(v, " and ");
    say_number(v, high);
    say_when(v, t);
    if (median.is_here && v->level == VOICE_FULL) {
        say(v, ", with a median of ");
        say_amount(v, median.value, median.unit);
    }
    if (min.is_here && max.is_here && v->level == VOICE_FULL) {
        say(v, " and a range from ");
        say_amount(v, min.value, min.unit);
        say(v, " to ");
        say_amount(v, max.value, max.unit);
    }
    say(v, ".");
}

/* ---- two numbers ---- */

/* The other days of the week than the first group has. */
static bool is_rest_of_week(const struct plan_where *own, const struct plan_where *other)
{
    enum { ALL = 0x7F };
    const struct plan_condition *a = &own->conditions[0], *b = &other->conditions[0];
    return own->n == 1 && other->n == 1 && a->kind == WHERE_WEEKDAY && b->kind == WHERE_WEEKDAY &&
           !a->is_not && !b->is_not && (a->set ^ b->set) == ALL &&
           __builtin_popcount(b->set) < __builtin_popcount(a->set) &&
           __builtin_popcount(b->set) != 2;
}

void say_group_of(struct voice *v, const struct told *t, bool is_b)
{
    const struct plan_where *own = is_b ? &t->plan.where_b : &t->plan.where;
    const struct plan_where *other = is_b ? &t->plan.where : &t->plan.where_b;
    bool has_windows = t->from != t->from_b || t->to != t->to_b;
    bool is_rest = own->n == 0 ? other->n > 0 : is_rest_of_week(own, other);
    if (is_rest) say(v, " on the other days");
    else if (own->n > 0) say_where(v, own);
    if (has_windows) say_span(v, is_b ? t->from_b : t->from, is_b ? t->to_b : t->to);
}

/* "which is 12% more": the difference as it was asked for. */
static void say_effect(struct voice *v, const struct told *t)
{
    enum plan_result result = t->plan.result;
    struct sheet_number d = number_among(v, t,
                                         result == RESULT_PERCENT ? "pct"
                                         : result == RESULT_RATIO ? "ratio"
                                                                  : "diff");
    if (!d.is_here || v->level == VOICE_BARE) return;
    if (result == RESULT_RATIO) {
        say(v, ", a ratio of ");
        say_amount(v, d.value, "");
        return;
    }
    if (d.value == 0) {
        say(v, ", which is the same");
        return;
    }
    say(v, ", which is ");
    if (result == RESULT_PERCENT) say_amount(v, fabs(d.value), "%");
    else say_difference(v, d.value, d.unit);
    if (told_is_clock(t)) say(v, d.value < 0 ? " earlier" : " later");
    else say(v, d.value < 0 ? " less" : " more");
}

static const char *compared_verb(const struct told *t, const char *title)
{
    if (t->plan.stat == STAT_MEAN) return told_is_clock(t) ? "was, on average," : "averaged";
    if (t->plan.stat == STAT_SUM) return "came to";
    return title_is_plural(title) ? "were" : "was";
}

static void say_compare(struct voice *v, const struct told *t)
{
    struct sheet_number a = number_of(v, t, "a"), b = number_of(v, t, "b");
    char title[VOICE_TITLE_BYTES];
    title_of(t, title);
    if (!a.is_here || !b.is_here) return;
    bool is_end = t->plan.stat == STAT_MIN || t->plan.stat == STAT_MAX;
    say(v, "Your %s%s%s %s ", is_end ? end_word(t, t->plan.stat == STAT_MIN, a.unit) : "",
        is_end                        ? " "
        : t->plan.stat == STAT_MEDIAN ? "median "
                                      : "",
        title, compared_verb(t, title));
    say_number(v, a);
    say_group_of(v, t, false);
    say(v, " and ");
    say_number(v, b);
    say_group_of(v, t, true);
    say_effect(v, t);
    say(v, ".");
}

static void say_change(struct voice *v, const struct told *t)
{
    struct sheet_number first = number_of(v, t, "first"), last = number_of(v, t, "last");
    struct sheet_number d = number_among(v, t, t->plan.result == RESULT_PERCENT ? "pct" : "diff");
    char title[VOICE_TITLE_BYTES];
    title_of(t, title);
    if (!first.is_here || !last.is_here) return;
    say(v, "Your %s went from ", title);
    say_number(v, first);
    say_on(v, first.day);
    say(v, " to ");
    say_number(v, last);
    say_on(v, last.day);
    if (d.is_here && v->level < VOICE_BARE) {
        say(v, d.value < 0 ? ", down by " : d.value > 0 ? ", up by " : ", a change of ");
        if (t->plan.result == RESULT_PERCENT) say_amount(v, fabs(d.value), "%");
        else say_difference(v, d.value, d.unit);
    }
    say(v, ".");
}

static void say_trend(struct voice *v, const struct told *t)
{
    struct sheet_number n = number_of(v, t, "slope");
    char title[VOICE_TITLE_BYTES];
    title_of(t, title);
    if (!n.is_here) return;
    say(v, "A line through your %s has a slope of ", title);
    say_number(v, n);
    say_when(v, t);
    say_n(v, t, n);
    say(v, ".");
}

static void say_correlation(struct voice *v, const struct told *t)
{
    struct sheet_number n = number_of(v, t, "r");
    char title[VOICE_TITLE_BYTES];
    title_of(t, title);
    if (!n.is_here) return;
    say(v, "The correlation of your %s with your %s", title, t->plan.with->title);
    if (t->plan.lag == 1) say(v, " on the next day");
    else if (t->plan.lag == -1) say(v, " on the day before");
    else if (t->plan.lag != 0) say(v, " some days %s", t->plan.lag > 0 ? "later" : "earlier");
    say(v, " was ");
    say_number(v, n);
    say_when(v, t);
    say_n(v, t, n);
    say(v, ".");
}

void say_value(struct voice *v, const struct told *t)
{
    static void (*const by_op[])(struct voice * v, const struct told *t) = {
        [PLAN_AGGREGATE] = say_aggregate, [PLAN_COUNT] = say_count,
        [PLAN_LIST] = say_list,           [PLAN_EXTREME] = say_extreme,
        [PLAN_COMPARE] = say_compare,     [PLAN_CHANGE] = say_change,
        [PLAN_TREND] = say_trend,         [PLAN_CORRELATE] = say_correlation,
        [PLAN_GROUP] = say_group,         [PLAN_STREAK] = say_streak,
        [PLAN_ROLLING] = say_rolling,     [PLAN_FIND] = say_found,
        [PLAN_ANOMALY] = say_list,        [PLAN_DISTRIBUTION] = say_distribution,
    };
    if (t->has_plan) by_op[t->plan.op](v, t);
}
