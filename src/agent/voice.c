/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Amounts, dates and windows as a person would say them. Numbers are rounded, but never so far
 * that they leave their entry: what is 1 or more keeps to 0.05 or half a percent, what is less
 * keeps two digits.
 */
#include "agent/voice_impl.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "agent/finding.h"
#include "base/slice.h"
#include "data/day.h"

static const double rough_share = 0.015; /* minutes lose their decimals when it is as little */

enum { HOUR = 60, SAY_BYTES = 1024 };

void say(struct voice *v, const char *format, ...)
{
    char text[SAY_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    weir_buf_append_str(&v->out, text);
}

void voice_known(struct voice *v, struct weir_slice text)
{
    if (v->n_known < VOICE_KNOWN && text.len > 0) v->known[v->n_known++] = text;
}

/* ---- preferences ---- */

static void read_units(struct prefs *p, const struct weir_json *units)
{
    if (weir_slice_is(agent_text(units, "length"), "mi")) p->length = "mi";
    if (weir_slice_is(agent_text(units, "length"), "km")) p->length = "km";
    if (weir_slice_is(agent_text(units, "mass"), "lb")) p->mass = "lb";
    if (weir_slice_is(agent_text(units, "mass"), "kg")) p->mass = "kg";
    if (weir_slice_is(agent_text(units, "temperature"), "degF")) p->temperature = "degF";
    if (weir_slice_is(agent_text(units, "temperature"), "degC")) p->temperature = "degC";
}

void prefs_read(struct prefs *out, const struct weir_json *memory)
{
    *out = (struct prefs){0};
    for (const struct weir_json *m = weir_json_first(memory); m; m = weir_json_next(m)) {
        const struct weir_json *data = weir_json_get_str(m, "data");
        struct weir_slice style = agent_text(data, "style");
        if (!weir_slice_is(agent_text(m, "category"), "preference")) continue;
        read_units(out, weir_json_get_str(data, "units"));
        if (style.len == 0) continue;
        out->is_short = weir_slice_is(style, "short");
        out->is_detailed = weir_slice_is(style, "detailed");
    }
}

/* The unit that the person wants, and the value in it. */
static const char *preferred(const struct prefs *p, const char *unit, double *value)
{
    const char *wish = NULL;
    if (strcmp(unit, "km") == 0 || strcmp(unit, "mi") == 0) wish = p->length;
    else if (strcmp(unit, "kg") == 0 || strcmp(unit, "lb") == 0) wish = p->mass;
    else if (strcmp(unit, "degC") == 0 || strcmp(unit, "degF") == 0) wish = p->temperature;
    double converted;
    if (!wish || !unit_convert(unit, wish, *value, &converted)) return unit;
    *value = converted;
    return wish;
}

/* ---- amounts ---- */

static int decimals_of(double size)
{
    if (size >= 1000) return 0;
    if (size >= 1) return 1;
    if (size >= 0.1) return 2;
    return size >= 0.01 ? 3 : 5;
}

static void say_digits(struct voice *v, double x)
{
    digits_put(&v->out, x, decimals_of(fabs(x)));
}

static void say_duration(struct voice *v, double minutes)
{
    long all = lround(fabs(minutes));
    if (minutes < 0) weir_buf_append_char(&v->out, '-');
    if (all % HOUR == 0) say(v, "%ld h", all / HOUR);
    else say(v, "%ld h %ld min", all / HOUR, all % HOUR);
}

static bool is_counted(const char *unit)
{
    return strcmp(unit, "days") == 0 || strcmp(unit, "sessions") == 0 ||
           strcmp(unit, "results") == 0 || strcmp(unit, "steps") == 0 ||
           strcmp(unit, "floors") == 0 || strcmp(unit, "drinks") == 0 ||
           strcmp(unit, "points") == 0;
}

/* "kg/week" is "kg a week". */
static bool say_rate(struct voice *v, const char *unit)
{
    static const char *const times[] = {"/week", "/month", "/day", "/year"};
    size_t len = strlen(unit);
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        size_t n = strlen(times[i]);
        if (len <= n || strcmp(unit + len - n, times[i]) != 0) continue;
        if (unit[0] != '%') say(v, " %.*s", (int)(len - n), unit);
        say(v, " a %s", times[i] + 1);
        return true;
    }
    return false;
}

static void say_unit(struct voice *v, double value, const char *unit)
{
    static const char *const spelled[][2] = {
        {"degC", " °C"}, {"degF", " °F"}, {"meter", " m"}, {"%", "%"},
        {"r", ""},       {"tau", ""},     {"rho", ""},     {"ratio", " times"},
    };
    for (size_t i = 0; i < sizeof spelled / sizeof *spelled; i++) {
        if (strcmp(unit, spelled[i][0]) != 0) continue;
        weir_buf_append_str(&v->out, spelled[i][1]);
        return;
    }
    bool is_one = is_counted(unit) && value == 1;
    if (unit[0] && !say_rate(v, unit)) say(v, " %.*s", (int)(strlen(unit) - is_one), unit);
}

/* Nobody wants decimals of these where they say nothing. */
static bool is_rough_unit(const char *unit)
{
    static const char *const rough[] = {"min", "ms", "kcal", "steps", "ml", "mg"};
    for (size_t i = 0; i < sizeof rough / sizeof *rough; i++)
        if (strcmp(unit, rough[i]) == 0) return true;
    return false;
}

void say_amount(struct voice *v, double value, const char *unit)
{
    if (strcmp(unit, "clock") == 0) {
        clock_put(&v->out, value);
        return;
    }
    if (strcmp(unit, "min") == 0 && fabs(value) >= HOUR) {
        say_duration(v, value);
        return;
    }
    unit = preferred(&v->prefs, unit, &value);
    bool is_rough = is_rough_unit(unit);
    if (is_rough && fabs(value - round(value)) < rough_share * fabs(value)) value = round(value);
    say_digits(v, value);
    say_unit(v, value, unit);
}

void say_difference(struct voice *v, double value, const char *unit)
{
    struct prefs prefs = v->prefs;
    v->prefs.temperature = NULL; /* a difference has no freezing point */
    if (unit[0] == '%') {
        say_digits(v, fabs(value));
        say(v, " percentage points");
        if (unit[1]) say_rate(v, unit);
    } else {
        say_amount(v, fabs(value), unit);
    }
    v->prefs = prefs;
}

/* ---- days ---- */

void say_day(struct voice *v, int32_t day)
{
    struct civil c = day_to_civil(day);
    say(v, "%d %s %d", c.day, day_month_name((unsigned)c.month), c.year);
}

static bool is_month(int32_t from, int32_t to)
{
    struct civil c = day_to_civil(from);
    return c.day == 1 && to == day_month_last(c.year, c.month);
}

static bool is_year(int32_t from, int32_t to)
{
    struct civil c = day_to_civil(from);
    return c.day == 1 && c.month == 1 && to == day_from_civil(c.year, 12, 31);
}

/* What was said from here on needs no home. */
static void keep_from(struct voice *v, size_t from)
{
    size_t len = v->out.len - from;
    if (weir_buf_status(&v->out) != WEIR_OK || v->out.len <= from) return;
    char *copy = arena_alloc(v->arena, len);
    if (!copy) return;
    memcpy(copy, v->out.ptr + from, len);
    voice_known(v, slice_of(copy, len));
}

void say_span(struct voice *v, int32_t from, int32_t to)
{
    size_t at = v->out.len;
    if (from == DAY_NONE || to == DAY_NONE) return;
    struct civil c = day_to_civil(from);
    if (is_year(from, to)) {
        say(v, " in %d", c.year);
    } else if (is_month(from, to)) {
        say(v, " in %s %d", day_month_name((unsigned)c.month), c.year);
    } else if (from == to) {
        say(v, " on ");
        say_day(v, from);
    } else {
        struct civil end = day_to_civil(to);
        say(v, " from ");
        if (c.year == end.year) say(v, "%d %s", c.day, day_month_name((unsigned)c.month));
        else say_day(v, from);
        say(v, " to ");
        say_day(v, to);
    }
    keep_from(v, at);
}

/* Whether the person has counted the days: then so do we. */
static bool was_counted(const struct voice *v, uint32_t days)
{
    char text[32];
    int n = snprintf(text, sizeof text, "%u", (unsigned)days);
    return v->question.len > 0 && memmem(v->question.ptr, v->question.len, text, (size_t)n);
}

void say_window(struct voice *v, const struct told *t)
{
    const struct plan_window *w = &t->plan.window;
    size_t at = v->out.len;
    bool is_last =
        t->has_plan && !v->is_dated && w->last > 1 && w->skip == 0 && was_counted(v, w->last);
    if (!is_last) {
        say_span(v, t->from, t->to);
        return;
    }
    say(v, " over the last %u days", (unsigned)w->last);
    keep_from(v, at);
}

void say_loose_window(struct voice *v, const struct told *t)
{
    enum { WEEKS = 45, MONTHS = 200, NEAR = 7 };
    int32_t first, newest;
    bool is_counted_out = t->has_plan && t->plan.window.last > 1 && t->plan.window.skip == 0 &&
                          was_counted(v, t->plan.window.last);
    if (is_counted_out || v->is_dated || t->from == DAY_NONE) {
        say_window(v, t);
        return;
    }
    if (dataset_span(v->data, &first, &newest) != WEIR_OK || newest - t->to > NEAR) return;
    int32_t n = t->to - t->from + 1;
    if (n <= WEEKS) say(v, " in recent weeks");
    else if (n <= MONTHS) say(v, " in recent months");
}

/* ---- what it is about ---- */

static void workout_title(const struct plan *p, char out[VOICE_TITLE_BYTES])
{
    static const char *const of[] = {
        [FIELD_SESSIONS] = "%ss",
        [FIELD_MINUTES] = "%s time",
        [FIELD_KM] = "%s distance",
        [FIELD_KCAL] = "%s energy",
        [FIELD_AVG_HR] = "average heart rate in a %s",
        [FIELD_MAX_HR] = "maximum heart rate in a %s",
        [FIELD_STEPS] = "%s steps",
        [FIELD_ASCENT] = "%s ascent",
        [FIELD_PACE] = "%s pace",
        [FIELD_SPEED] = "%s speed",
    };
    const char *mark = strstr(of[p->field], "%s"),
               *name = p->activity ? p->activity->title : "workout";
    snprintf(out, VOICE_TITLE_BYTES, "%.*s%s%s", (int)(mark - of[p->field]), of[p->field], name,
             mark + 2);
}

void title_of(const struct told *t, char out[VOICE_TITLE_BYTES])
{
    const struct plan *p = &t->plan;
    struct weir_slice name = agent_text(t->finding, "metric");
    const struct metric *m = metric_find(name);
    const char *title = m ? m->title : "values";
    if (t->has_plan && p->subject == PLAN_OF_WORKOUTS) {
        workout_title(p, out);
        return;
    }
    if (t->has_plan && p->subject == PLAN_OF_METRIC) title = p->metric->title;
    if (t->has_plan && p->subject == PLAN_OF_LAB) title = p->analyte ? p->analyte->title : p->lab;
    snprintf(out, VOICE_TITLE_BYTES, "%s", title);
}

bool title_is_plural(const char *title)
{
    size_t len = strlen(title);
    return len > 1 && title[len - 1] == 's' && title[len - 2] != 's';
}

/* ---- conditions ---- */

static const char *compare_words(enum plan_compare cmp)
{
    static const char *const words[] = {"",         "below", "at most",    "above",
                                        "at least", "of",    "other than", "between"};
    return words[cmp];
}

/* The digits of a number as a text has them; empty when it does not. */
static struct weir_slice digits_in(struct weir_slice text, double value)
{
    char digits[32];
    size_t len = (size_t)snprintf(digits, sizeof digits, "%.10g", value);
    const char *at, *end = text.len > 0 ? text.ptr + text.len : NULL;
    struct weir_slice left = text;
    while (left.len > 0 && (at = memmem(left.ptr, left.len, digits, len))) {
        bool begins = at == text.ptr || !strchr("0123456789.,:", at[-1]);
        bool ends = at + len == end || !strchr("0123456789", at[len]);
        if (begins && ends) return slice_of(at, len);
        left = slice_of(at + 1, (size_t)(end - at) - 1);
    }
    return slice_of("", 0);
}

/* As the person has them, in the question or before: "and the week before" has no number. */
static struct weir_slice asked_digits(const struct voice *v, double value)
{
    struct weir_slice found = digits_in(v->question, value);
    for (size_t i = 0; i < v->n_known && found.len == 0; i++) found = digits_in(v->known[i], value);
    return found;
}

/* Minutes are not made hours, nor rounded, when the person said minutes: it is their number. */
static void say_limit(struct voice *v, double value, const char *unit)
{
    bool is_changed = strcmp(unit, "min") == 0 || strcmp(unit, "ms") == 0;
    struct weir_slice asked = is_changed ? asked_digits(v, value) : slice_of("", 0);
    if (asked.len > 0) say(v, "%.*s %s", (int)asked.len, asked.ptr, unit);
    else say_amount(v, value, unit);
}

/* "Steps of at least 10,000": what is counted is not named again. */
static void say_limits(struct voice *v, const struct plan_having *h, const char *unit)
{
    if (h->cmp == CMP_NONE) return;
    if (strcmp(unit, "steps") == 0) unit = "";
    say(v, " %s ", compare_words(h->cmp));
    say_limit(v, h->value, unit);
    if (h->cmp != CMP_BETWEEN) return;
    say(v, " and ");
    say_limit(v, h->value2, unit);
}

static const char *field_unit(enum plan_field field)
{
    static const char *const units[] = {"sessions", "min",   "km",    "kcal",   "bpm",
                                        "bpm",      "steps", "meter", "min/km", "km/h"};
    return units[field];
}

void say_having(struct voice *v, const struct told *t)
{
    const struct plan *p = &t->plan;
    const char *unit = p->subject == PLAN_OF_METRIC     ? p->metric->unit
                       : p->subject == PLAN_OF_WORKOUTS ? field_unit(p->field)
                       : p->analyte                     ? p->analyte->unit
                                                        : "";
    say_limits(v, &p->having, unit);
}

/* What stands between the names of a list: how many are still to come decides. */
static const char *list_mark(size_t n_said, size_t n_left)
{
    if (n_said == 0) return "";
    return n_left == 1 ? " and " : ", ";
}

static void say_weekdays(struct voice *v, uint32_t set, bool is_not)
{
    enum { WORKWEEK = 0x1F, WEEKEND = 0x60, ALL = 0x7F, WEEK = 7, MANY = 4 };
    if (is_not) set = ~set & ALL;
    if (set == WORKWEEK || set == WEEKEND) {
        say(v, " on %s", set == WORKWEEK ? "weekdays" : "weekends");
        return;
    }
    size_t n = (size_t)__builtin_popcount(set), n_said = 0;
    bool is_rest = n > MANY && n < WEEK;
    say(v, is_rest ? " on all days but " : " on ");
    if (is_rest) {
        set = ~set & ALL;
        n = WEEK - n;
    }
    for (unsigned i = 0; i < WEEK; i++) {
        if (!(set >> i & 1)) continue;
        say(v, "%s%ss", list_mark(n_said, n - n_said), day_weekday_name(i));
        n_said++;
    }
}

static void say_months(struct voice *v, uint32_t set, bool is_not)
{
    const char *before = is_not ? " outside of " : " in ";
    for (unsigned i = 1; i <= 12; i++) {
        if (!(set >> i & 1)) continue;
        say(v, "%s%s", before, day_month_name(i));
        before = " and ";
    }
}

static void say_days_of(struct voice *v, const struct plan_condition *c)
{
    const char *near = c->shift == 0  ? "on days with"
                       : c->shift < 0 ? "after days with"
                                      : "before days with";
    if (c->is_not)
        near = c->shift == 0  ? "on days without"
               : c->shift < 0 ? "after days without"
                              : "before days without";
    say(v, " %s ", near);
    if (c->kind == WHERE_METRIC) {
        say(v, "%s", c->metric->title);
        say_limits(v, &c->having, c->metric->unit);
        return;
    }
    say(v, "a %s", c->activity ? c->activity->title : "workout");
    if (c->field != FIELD_SESSIONS) say_limits(v, &c->having, field_unit(c->field));
}

void say_where(struct voice *v, const struct plan_where *where)
{
    for (size_t i = 0; i < where->n; i++) {
        const struct plan_condition *c = &where->conditions[i];
        if (c->kind == WHERE_WEEKDAY) say_weekdays(v, c->set, c->is_not);
        else if (c->kind == WHERE_MONTH) say_months(v, c->set, c->is_not);
        else say_days_of(v, c);
    }
}

/* ---- numbers of the sheet ---- */

static int32_t day_of_window(struct weir_slice window)
{
    enum { LEN = DAY_TEXT_BYTES - 1 };
    if (window.len < LEN) return DAY_NONE;
    int32_t first = day_parse(slice_of(window.ptr, LEN));
    int32_t last = day_parse(slice_of(window.ptr + window.len - LEN, LEN));
    return first == last ? first : DAY_NONE;
}

static struct sheet_number read_number(const struct weir_json *e)
{
    struct sheet_number n = {.n = NAN, .day = DAY_NONE};
    struct weir_slice unit = agent_text(e, "unit");
    n.is_here = weir_json_double(weir_json_get_str(e, "value"), &n.value);
    if (!weir_json_double(weir_json_get_str(e, "n"), &n.n)) n.n = NAN;
    snprintf(n.unit, sizeof n.unit, "%.*s", (int)(unit.len < 31 ? unit.len : 31),
             unit.ptr ? unit.ptr : "");
    n.day = day_of_window(agent_text(e, "window"));
    return n;
}

static const struct weir_json *entry_of(const struct voice *v, const struct told *t,
                                        const char *name)
{
    size_t len = strlen(name);
    for (const struct weir_json *e = weir_json_first(v->sheet); e; e = weir_json_next(e)) {
        struct weir_slice claim = agent_text(e, "claim");
        bool is_ours = claim.len == t->id.len + 1 + len && claim.ptr[t->id.len] == '.' &&
                       memcmp(claim.ptr, t->id.ptr, t->id.len) == 0;
        if (is_ours && memcmp(claim.ptr + t->id.len + 1, name, len) == 0) return e;
    }
    return NULL;
}

struct sheet_number number_of(const struct voice *v, const struct told *t, const char *name)
{
    const struct weir_json *e = entry_of(v, t, name);
    struct sheet_number n = {.n = NAN, .day = DAY_NONE};
    if (!e) return n;
    n = read_number(e);
    if (n.day == DAY_NONE) n.day = day_parse(agent_text(entry_of(v, t, "date"), "value"));
    return n;
}

struct sheet_number number_among(const struct voice *v, const struct told *t, const char *names)
{
    struct sheet_number n = {.n = NAN, .day = DAY_NONE};
    char name[32];
    size_t at = 0;
    for (struct weir_slice s = alias_next(names, &at); s.len > 0 && !n.is_here;
         s = alias_next(names, &at)) {
        snprintf(name, sizeof name, "%.*s", (int)s.len, s.ptr);
        n = number_of(v, t, name);
    }
    return n;
}

void say_number(struct voice *v, struct sheet_number n)
{
    say(v, "**");
    say_amount(v, n.value, n.unit);
    say(v, "**");
}

/* Times of day are early and late, and have no totals. */
bool told_is_clock(const struct told *t)
{
    return t->has_plan && t->plan.subject == PLAN_OF_METRIC &&
           t->plan.metric->daily == DAILY_CIRCULAR;
}

bool told_is(struct weir_slice a, const char *b)
{
    return weir_slice_is(a, b);
}
