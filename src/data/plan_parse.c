/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From JSON to a plan. The form is docs/plan.schema.json; every complaint has the path of the
 * member, what is wrong and what was expected. Names are looked up in the catalogue and among the
 * person's own metrics and results; thresholds are converted to the metric's unit here, so that a
 * plan has one unit only.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/slice.h"
#include "data/nearest.h"
#include "data/plan_impl.h"

struct parser {
    struct dataset *d;
    struct plan *plan;
    struct plan_error *error;
    enum weir_status st;
    char prefix[64]; /* path of the object that is read */
};

enum { SHOWN_BYTES = 40 }; /* of a wrong word, in a complaint */

__attribute__((format(printf, 3, 4))) static bool fail(struct parser *p, const char *member,
                                                       const char *format, ...)
{
    va_list args;
    const char *dot = p->prefix[0] && member[0] && member[0] != '[' ? "." : "";
    va_start(args, format);
    snprintf(p->error->path, sizeof p->error->path, "%s%s%s", p->prefix, dot, member);
    vsnprintf(p->error->text, sizeof p->error->text, format, args);
    va_end(args);
    p->st = WEIR_BAD_FIELD;
    return false;
}

/* What was written, for a complaint: cut where it is long, and without control characters. */
struct shown {
    char text[SHOWN_BYTES + 4];
};

static struct shown show(struct weir_slice s)
{
    struct shown out = {{0}};
    size_t len = s.len < SHOWN_BYTES ? s.len : SHOWN_BYTES;
    for (size_t i = 0; i < len; i++) out.text[i] = (unsigned char)s.ptr[i] < 32 ? '?' : s.ptr[i];
    /* A character that was cut in two is left out. */
    while (s.len > SHOWN_BYTES && len > 0 && ((unsigned char)s.ptr[len] & 0xC0) == 0x80)
        out.text[--len] = '\0';
    if (s.len > SHOWN_BYTES) snprintf(out.text + len, 4, "...");
    return out;
}

/* ---- plain members ---- */

static bool read_bool(struct parser *p, const struct weir_json *object, const char *member,
                      bool *out)
{
    const struct weir_json *v = weir_json_get_str(object, member);
    if (!v) return true;
    enum weir_json_type type = weir_json_type_of(v);
    if (type != WEIR_JSON_TRUE && type != WEIR_JSON_FALSE)
        return fail(p, member, "is true or false");
    *out = type == WEIR_JSON_TRUE;
    return true;
}

static bool read_int(struct parser *p, const struct weir_json *object, const char *member,
                     const int32_t range[2], int32_t *out)
{
    int64_t n;
    const struct weir_json *v = weir_json_get_str(object, member);
    if (!v) return true;
    if (!weir_json_int64(v, &n) || n < range[0] || n > range[1])
        return fail(p, member, "is a whole number from %d to %d", range[0], range[1]);
    *out = (int32_t)n;
    return true;
}

static bool read_count(struct parser *p, const struct weir_json *object, const char *member,
                       uint32_t most, uint32_t *out)
{
    int32_t n = (int32_t)*out;
    const int32_t range[] = {1, (int32_t)most};
    if (!read_int(p, object, member, range, &n)) return false;
    *out = (uint32_t)n;
    return true;
}

static bool read_number(struct parser *p, const struct weir_json *object, const char *member,
                        double *out)
{
    const struct weir_json *v = weir_json_get_str(object, member);
    if (!v || weir_json_double(v, out)) return true;
    return fail(p, member, "is a number");
}

static void list_words(char *out, size_t cap, const char *const *words)
{
    size_t len = 0;
    out[0] = '\0';
    for (int i = 0; words[i] && len < cap; i++)
        if (words[i][0])
            len += (size_t)snprintf(out + len, cap - len, "%s%s", len > 0 ? ", " : "", words[i]);
}

static bool read_word(struct parser *p, const struct weir_json *object, const char *member,
                      const char *const *words, int *out)
{
    char list[160];
    const struct weir_json *v = weir_json_get_str(object, member);
    if (!v) return true;
    struct weir_slice word = weir_json_text(v);
    int found = weir_json_type_of(v) == WEIR_JSON_STRING ? plan_word_find(words, word) : -1;
    if (found >= 0) {
        *out = found;
        return true;
    }
    list_words(list, sizeof list, words);
    return fail(p, member, "is one of %s", list);
}

/* ---- which members there are ---- */

static bool unknown_member(struct parser *p, struct weir_slice key, struct nearest *near)
{
    struct shown name = show(key);
    if (near->name) return fail(p, name.text, "is not known; did you mean \"%s\"?", near->name);
    return fail(p, name.text, "is not known");
}

static bool check_members(struct parser *p, const struct weir_json *object,
                          const char *const *known)
{
    for (const struct weir_json *v = weir_json_first(object); v; v = weir_json_next(v)) {
        struct nearest near;
        nearest_begin(&near, weir_json_key(v));
        if (plan_word_find(known, weir_json_key(v)) >= 0) continue;
        for (int i = 0; known[i]; i++) nearest_offer(&near, weir_slice_of(known[i]), known[i]);
        return unknown_member(p, weir_json_key(v), &near);
    }
    return true;
}

static const struct plan_member *find_member(struct weir_slice key, struct nearest *near)
{
    nearest_begin(near, key);
    for (const struct plan_member *m = plan_members; m->name; m++) {
        if (weir_slice_is(key, m->name)) return m;
        nearest_offer(near, weir_slice_of(m->name), m->name);
    }
    return NULL;
}

static bool check_plan_members(struct parser *p, const struct weir_json *object)
{
    for (const struct weir_json *v = weir_json_first(object); v; v = weir_json_next(v)) {
        struct nearest near;
        const struct plan_member *m = find_member(weir_json_key(v), &near);
        if (!m) return unknown_member(p, weir_json_key(v), &near);
        if (!(m->ops >> p->plan->op & 1))
            return fail(p, m->name, "has no meaning for the op \"%s\"", plan_op_words[p->plan->op]);
    }
    return true;
}

static bool is_object(struct parser *p, const struct weir_json *v, const char *member)
{
    if (weir_json_type_of(v) == WEIR_JSON_OBJECT) return true;
    return fail(p, member, "is an object, in braces");
}

/* ---- names ---- */

static void offer_aliases(struct nearest *near, const char *name, const char *aliases)
{
    size_t at = 0;
    nearest_offer(near, weir_slice_of(name), name);
    for (struct weir_slice a = alias_next(aliases, &at); a.len > 0; a = alias_next(aliases, &at))
        nearest_offer(near, a, name);
}

static bool unknown_metric(struct parser *p, const char *member, struct weir_slice name)
{
    struct nearest near;
    const struct metric *const *own;
    size_t n = 0;
    nearest_begin(&near, name);
    for (size_t i = 0; i < metric_count(); i++)
        offer_aliases(&near, metric_at(i)->name, metric_at(i)->aliases);
    if (p->d && dataset_metrics(p->d, &own, &n) == WEIR_OK)
        for (size_t i = 0; i < n; i++)
            nearest_offer(&near, weir_slice_of(own[i]->name), own[i]->name);
    struct shown s = show(name);
    if (near.name)
        return fail(p, member, "\"%s\" is no metric; did you mean \"%s\"?", s.text, near.name);
    return fail(p, member, "\"%s\" is no metric, such as steps, sleep_minutes or weight", s.text);
}

static bool read_metric(struct parser *p, const struct weir_json *object, const char *member,
                        const struct metric **out)
{
    const struct weir_json *v = weir_json_get_str(object, member);
    if (weir_json_type_of(v) != WEIR_JSON_STRING)
        return fail(p, member, "is the name of a metric, as \"steps\"");
    struct weir_slice name = weir_json_text(v);
    *out = p->d ? dataset_find_metric(p->d, name) : metric_find(name);
    return *out ? true : unknown_metric(p, member, name);
}

static bool read_activity(struct parser *p, const struct weir_json *object, const char *member,
                          const struct activity **out)
{
    const struct weir_json *v = weir_json_get_str(object, member);
    struct weir_slice name = weir_json_text(v);
    *out = NULL;
    if (weir_json_type_of(v) != WEIR_JSON_STRING)
        return fail(p, member, "is a kind of workout, as \"run\", or \"any\"");
    if (weir_slice_is(name, "any")) return true;
    *out = activity_find(name);
    if (*out) return true;
    struct nearest near;
    nearest_begin(&near, name);
    for (size_t i = 0; i < activity_count(); i++)
        offer_aliases(&near, activity_at(i)->name, activity_at(i)->aliases);
    struct shown s = show(name);
    if (near.name)
        return fail(p, member, "\"%s\" is no kind of workout; did you mean \"%s\"?", s.text,
                    near.name);
    return fail(p, member, "\"%s\" is no kind of workout, such as run, walk or yoga, or \"any\"",
                s.text);
}

/* A result that the catalogue does not know, by what the person's reports call it. */
static const char *find_label(struct dataset *d, struct weir_slice name)
{
    const struct lab *labs;
    size_t n = 0;
    if (!d || dataset_labs(d, &labs, &n) != WEIR_OK) return NULL;
    for (size_t i = 0; i < n; i++) {
        struct weir_slice label = labs[i].label;
        if (labs[i].analyte || label.len != name.len || label.len == 0) continue;
        /* The dataset keeps its texts with a NUL behind them. */
        if (strncasecmp(label.ptr, name.ptr, name.len) == 0) return label.ptr;
    }
    return NULL;
}

static bool read_lab(struct parser *p, const struct weir_json *object)
{
    const struct weir_json *v = weir_json_get_str(object, "lab");
    struct weir_slice name = weir_json_text(v);
    if (weir_json_type_of(v) != WEIR_JSON_STRING)
        return fail(p, "lab", "is the name of a laboratory test, as \"ldl\"");
    p->plan->analyte = analyte_find(name);
    if (!p->plan->analyte) p->plan->lab = find_label(p->d, name);
    if (p->plan->analyte || p->plan->lab) return true;
    struct nearest near;
    nearest_begin(&near, name);
    for (size_t i = 0; i < analyte_count(); i++)
        offer_aliases(&near, analyte_at(i)->name, analyte_at(i)->aliases);
    struct shown s = show(name);
    if (near.name)
        return fail(p, "lab", "\"%s\" is no laboratory test; did you mean \"%s\"?", s.text,
                    near.name);
    return fail(p, "lab", "\"%s\" is no laboratory test that is known or in the data", s.text);
}

static bool read_subject(struct parser *p, const struct weir_json *object)
{
    bool has_metric = weir_json_get_str(object, "metric"),
         has_workouts = weir_json_get_str(object, "workouts"),
         has_lab = weir_json_get_str(object, "lab");
    if (has_metric + has_workouts + has_lab != 1)
        return fail(p, "", "needs one of metric, workouts and lab");
    p->plan->subject = has_metric ? PLAN_OF_METRIC : has_workouts ? PLAN_OF_WORKOUTS : PLAN_OF_LAB;
    if (weir_json_get_str(object, "field") && !has_workouts)
        return fail(p, "field", "goes with workouts");
    if (has_metric) return read_metric(p, object, "metric", &p->plan->metric);
    if (has_lab) return read_lab(p, object);
    int field = p->plan->op == PLAN_COUNT || p->plan->op == PLAN_STREAK || p->plan->op == PLAN_FIND
                    ? FIELD_SESSIONS
                    : FIELD_MINUTES;
    if (!read_activity(p, object, "workouts", &p->plan->activity)) return false;
    if (!read_word(p, object, "field", plan_field_words, &field)) return false;
    p->plan->field = (enum plan_field)field;
    return true;
}

/* ---- windows ---- */

static bool read_day(struct parser *p, const struct weir_json *object, const char *member,
                     int32_t *out)
{
    const struct weir_json *v = weir_json_get_str(object, member);
    if (!v) return true;
    *out = weir_json_type_of(v) == WEIR_JSON_STRING ? day_parse(weir_json_text(v)) : DAY_NONE;
    return *out != DAY_NONE ? true : fail(p, member, "is a date, as \"2025-03-09\"");
}

static bool read_window(struct parser *p, const struct weir_json *object, struct plan_window *out)
{
    const struct weir_json *v = weir_json_get_str(object, "window");
    char prefix[sizeof p->prefix];
    int32_t skip = 0;
    const int32_t range[] = {0, PLAN_LAST_DAYS};
    if (!v) return true;
    if (!is_object(p, v, "window")) return false;
    memcpy(prefix, p->prefix, sizeof prefix);
    snprintf(p->prefix, sizeof p->prefix, "%s%swindow", prefix[0] ? "b" : "", prefix[0] ? "." : "");
    *out = (struct plan_window){.from = DAY_NONE, .to = DAY_NONE};
    if (!check_members(p, v, plan_window_members) || !read_day(p, v, "from", &out->from) ||
        !read_day(p, v, "to", &out->to) ||
        !read_count(p, v, "last_days", PLAN_LAST_DAYS, &out->last) ||
        !read_int(p, v, "skip_days", range, &skip))
        return false;
    out->skip = (uint32_t)skip;
    if (weir_json_get_str(v, "skip_days") && out->last == 0)
        return fail(p, "skip_days", "goes with last_days: so many days before them");
    memcpy(p->prefix, prefix, sizeof prefix);
    return true;
}

/* ---- thresholds ---- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* "23:05" as minutes after midnight. */
static bool read_clock(struct weir_slice t, double *out)
{
    if (t.len != 5 || t.ptr[2] != ':' || !is_digit(t.ptr[0]) || !is_digit(t.ptr[1]) ||
        !is_digit(t.ptr[3]) || !is_digit(t.ptr[4]))
        return false;
    int hour = (t.ptr[0] - '0') * 10 + t.ptr[1] - '0',
        minute = (t.ptr[3] - '0') * 10 + t.ptr[4] - '0';
    *out = hour * 60 + minute;
    return hour < 24 && minute < 60;
}

/* One number of a threshold, in the unit of what it is compared with. */
static bool read_value(struct parser *p, const struct plan *of, const struct weir_json *v,
                       const struct weir_json *unit, double *out)
{
    bool is_clock = plan_is_clock(of);
    if (is_clock && weir_json_type_of(v) == WEIR_JSON_STRING && read_clock(weir_json_text(v), out))
        return true;
    double given;
    if (!weir_json_double(v, &given))
        return fail(p, "value",
                    is_clock ? "is a time, as \"23:00\", or minutes after midnight"
                             : "is a number, or with cmp \"between\" two in brackets");
    *out = given;
    if (!unit) return true;
    if (weir_json_type_of(unit) != WEIR_JSON_STRING) return fail(p, "unit", "is text, as \"h\"");
    if (plan_convert_in(of, weir_json_text(unit), given, out)) return true;
    const char *own = plan_subject_unit(of);
    return fail(p, "unit", "is none that can become %s", own[0] ? own : "a plain number");
}

static bool read_two_values(struct parser *p, const struct plan *of, const struct weir_json *v,
                            const struct weir_json *unit, struct plan_having *out)
{
    if (weir_json_type_of(v) != WEIR_JSON_ARRAY || weir_json_count(v) != 2)
        return fail(p, "value", "is two numbers in brackets for \"between\", as [1, 5]");
    const struct weir_json *first = weir_json_first(v);
    if (!read_value(p, of, first, unit, &out->value) ||
        !read_value(p, of, weir_json_next(first), unit, &out->value2))
        return false;
    if (out->value > out->value2 && !plan_is_clock(of))
        return fail(p, "value", "has the smaller number first");
    return true;
}

static bool read_having(struct parser *p, const struct weir_json *object, const struct plan *of,
                        struct plan_having *out)
{
    const struct weir_json *value = weir_json_get_str(object, "value");
    const struct weir_json *unit = weir_json_get_str(object, "unit");
    int cmp = CMP_NONE;
    if (!read_word(p, object, "cmp", plan_compare_words, &cmp)) return false;
    out->cmp = (enum plan_compare)cmp;
    if (cmp == CMP_NONE && (value || unit))
        return fail(p, "cmp", "is needed with value: <, <=, >, >=, =, != or between");
    if (cmp == CMP_NONE) return true;
    if (!value) return fail(p, "value", "is needed with cmp");
    if (cmp == CMP_BETWEEN) return read_two_values(p, of, value, unit, out);
    return read_value(p, of, value, unit, &out->value);
}

/* ---- conditions ---- */

static int weekday_find(struct weir_slice name)
{
    for (unsigned i = 0; i < 7; i++)
        if (strlen(day_weekday_name(i)) == name.len &&
            strncasecmp(day_weekday_name(i), name.ptr, name.len) == 0)
            return (int)i;
    return -1;
}

static int month_find(const struct weir_json *v)
{
    int64_t n;
    struct weir_slice name = weir_json_text(v);
    if (weir_json_int64(v, &n)) return n >= 1 && n <= 12 ? (int)n : -1;
    if (weir_json_type_of(v) != WEIR_JSON_STRING) return -1;
    for (unsigned i = 1; i <= 12; i++)
        if (strlen(day_month_name(i)) == name.len &&
            strncasecmp(day_month_name(i), name.ptr, name.len) == 0)
            return (int)i;
    return -1;
}

static bool read_weekdays(struct parser *p, const struct weir_json *v, uint32_t *set)
{
    static const char expected[] =
        "is \"weekend\", \"workweek\" or days in brackets, as [\"Monday\", \"Friday\"]";
    struct weir_slice word = weir_json_text(v);
    bool is_text = weir_json_type_of(v) == WEIR_JSON_STRING;
    if (is_text && weir_slice_is(word, "weekend")) *set = WEEKDAYS_WEEKEND;
    else if (is_text && weir_slice_is(word, "workweek")) *set = WEEKDAYS_WORK;
    if (*set != 0) return true;
    if (weir_json_type_of(v) != WEIR_JSON_ARRAY || weir_json_count(v) == 0)
        return fail(p, "weekdays", expected);
    for (const struct weir_json *day = weir_json_first(v); day; day = weir_json_next(day)) {
        bool is_name = weir_json_type_of(day) == WEIR_JSON_STRING;
        int found = is_name ? weekday_find(weir_json_text(day)) : -1;
        if (found < 0) return fail(p, "weekdays", expected);
        *set |= 1U << found;
    }
    return true;
}

static bool read_months(struct parser *p, const struct weir_json *v, uint32_t *set)
{
    static const char expected[] = "is months in brackets, as [\"June\", \"July\"] or [6, 7]";
    if (weir_json_type_of(v) != WEIR_JSON_ARRAY || weir_json_count(v) == 0)
        return fail(p, "months", expected);
    for (const struct weir_json *month = weir_json_first(v); month; month = weir_json_next(month)) {
        int found = month_find(month);
        if (found < 0) return fail(p, "months", expected);
        *set |= 1U << found;
    }
    return true;
}

static bool only_of(struct parser *p, const struct weir_json *object, const char *kind,
                    const char *const *members)
{
    for (; *members; members++)
        if (weir_json_get_str(object, *members))
            return fail(p, *members, "does not go with %s", kind);
    return true;
}

static bool read_condition_on_metric(struct parser *p, const struct weir_json *v,
                                     struct plan_condition *c)
{
    static const char *const others[] = {"field", NULL};
    struct plan of = {.subject = PLAN_OF_METRIC};
    c->kind = WHERE_METRIC;
    if (!only_of(p, v, "metric", others) || !read_metric(p, v, "metric", &c->metric)) return false;
    of.metric = c->metric;
    return read_having(p, v, &of, &c->having);
}

static bool read_condition_on_workout(struct parser *p, const struct weir_json *v,
                                      struct plan_condition *c)
{
    int field = FIELD_SESSIONS;
    c->kind = WHERE_WORKOUT;
    if (!read_activity(p, v, "workout", &c->activity) ||
        !read_word(p, v, "field", plan_field_words, &field))
        return false;
    c->field = (enum plan_field)field;
    struct plan of = {.subject = PLAN_OF_WORKOUTS, .field = c->field};
    return read_having(p, v, &of, &c->having);
}

static bool read_condition_kind(struct parser *p, const struct weir_json *v,
                                struct plan_condition *c)
{
    static const char *const others[] = {"field", "cmp", "value", "unit", NULL};
    const struct weir_json *metric = weir_json_get_str(v, "metric"),
                           *workout = weir_json_get_str(v, "workout"),
                           *weekdays = weir_json_get_str(v, "weekdays"),
                           *months = weir_json_get_str(v, "months");
    if (!!metric + !!workout + !!weekdays + !!months != 1)
        return fail(p, "", "needs one of metric, workout, weekdays and months");
    if (metric) return read_condition_on_metric(p, v, c);
    if (workout) return read_condition_on_workout(p, v, c);
    c->kind = weekdays ? WHERE_WEEKDAY : WHERE_MONTH;
    if (!only_of(p, v, weekdays ? "weekdays" : "months", others)) return false;
    return weekdays ? read_weekdays(p, weekdays, &c->set) : read_months(p, months, &c->set);
}

static bool read_condition(struct parser *p, const struct weir_json *v, struct plan_condition *c)
{
    const int32_t range[] = {-PLAN_LAST_DAYS, PLAN_LAST_DAYS};
    *c = (struct plan_condition){0};
    return is_object(p, v, "") && check_members(p, v, plan_condition_members) &&
           read_bool(p, v, "not", &c->is_not) && read_int(p, v, "shift_days", range, &c->shift) &&
           read_condition_kind(p, v, c);
}

static bool read_where(struct parser *p, const struct weir_json *object, struct plan_where *out)
{
    const struct weir_json *list = weir_json_get_str(object, "where");
    char prefix[sizeof p->prefix];
    if (!list) return true;
    if (weir_json_type_of(list) != WEIR_JSON_ARRAY || weir_json_count(list) > PLAN_CONDITIONS)
        return fail(p, "where", "is a list of up to %d conditions, in brackets", PLAN_CONDITIONS);
    out->n = 0;
    memcpy(prefix, p->prefix, sizeof prefix);
    for (const struct weir_json *v = weir_json_first(list); v; v = weir_json_next(v)) {
        snprintf(p->prefix, sizeof p->prefix, "%swhere[%zu]", prefix[0] ? "b." : "", out->n);
        if (!read_condition(p, v, &out->conditions[out->n])) return false;
        out->n++;
    }
    memcpy(p->prefix, prefix, sizeof prefix);
    return true;
}

/* ---- the rest ---- */

static bool read_own_having(struct parser *p, const struct weir_json *object)
{
    const struct weir_json *v = weir_json_get_str(object, "having");
    if (!v) return true;
    if (!is_object(p, v, "having")) return false;
    snprintf(p->prefix, sizeof p->prefix, "having");
    if (!check_members(p, v, plan_having_members)) return false;
    if (!weir_json_get_str(v, "cmp"))
        return fail(p, "cmp", "is needed: <, <=, >, >=, =, != or between");
    if (!read_having(p, v, p->plan, &p->plan->having)) return false;
    p->prefix[0] = '\0';
    return true;
}

/* Group b is like group a but for what it names. */
static bool read_b(struct parser *p, const struct weir_json *object)
{
    const struct weir_json *v = weir_json_get_str(object, "b");
    if (p->plan->op != PLAN_COMPARE) return true;
    if (!v) return fail(p, "b", "is needed: the window or the where to compare with");
    if (!is_object(p, v, "b")) return false;
    p->plan->window_b = p->plan->window;
    p->plan->where_b = p->plan->where;
    snprintf(p->prefix, sizeof p->prefix, "b");
    if (!check_members(p, v, plan_b_members) || !read_window(p, v, &p->plan->window_b) ||
        !read_where(p, v, &p->plan->where_b))
        return false;
    p->prefix[0] = '\0';
    return true;
}

static bool read_unit(struct parser *p, const struct weir_json *object)
{
    const struct weir_json *v = weir_json_get_str(object, "unit");
    if (!v) return true;
    const struct unit *u =
        weir_json_type_of(v) == WEIR_JSON_STRING ? unit_find(weir_json_text(v)) : NULL;
    if (!u) return fail(p, "unit", "is no unit that is known, such as h, mi, lb or mmol/L");
    p->plan->unit = u->name;
    return true;
}

static bool read_words(struct parser *p, const struct weir_json *object)
{
    struct plan *plan = p->plan;
    int stat = STAT_MEAN, pick = PICK_NONE, result = RESULT_DIFFERENCE, group = GROUP_WEEKDAY,
        method = METHOD_DEFAULT, per = PER_NONE, order = 0, answer = 0;
    bool is_streak = plan->op == PLAN_STREAK;
    if (!read_word(p, object, "stat", plan_stat_words, &stat) ||
        !read_word(p, object, "pick", is_streak ? plan_streak_words : plan_pick_words, &pick) ||
        !read_word(p, object, "result", plan_result_words, &result) ||
        !read_word(p, object, "by", plan_group_words, &group) ||
        !read_word(p, object, "method", plan_method_words, &method) ||
        !read_word(p, object, "per", plan_per_words, &per) ||
        !read_word(p, object, "sort", plan_order_words, &order) ||
        !read_word(p, object, "answer", plan_answer_words, &answer))
        return false;
    plan->stat = (enum plan_stat)stat;
    plan->pick = (enum plan_pick)pick;
    plan->result = (enum plan_result)result;
    plan->group = (enum plan_group)group;
    plan->method = (enum plan_method)method;
    plan->per = (enum plan_per)per;
    plan->by_value = order == 1;
    plan->wants_date = answer == 1;
    return true;
}

/* Numbers that need another member, or are needed by one. */
static bool read_needed_numbers(struct parser *p, const struct weir_json *object)
{
    const struct plan *plan = p->plan;
    bool has_quantile = weir_json_get_str(object, "quantile");
    if (plan->stat == STAT_QUANTILE && !has_quantile)
        return fail(p, "quantile", "is needed with the stat \"quantile\": a share, as 0.9");
    if (has_quantile && plan->stat != STAT_QUANTILE)
        return fail(p, "quantile", "goes with the stat \"quantile\"");
    if (plan->op == PLAN_ANOMALY && weir_json_get_str(object, "threshold") && plan->threshold <= 0)
        return fail(p, "threshold", "is more than 0, as 3.5");
    return true;
}

static bool read_numbers(struct parser *p, const struct weir_json *object)
{
    struct plan *plan = p->plan;
    const int32_t lags[] = {-366, 366};
    plan->days = plan->op == PLAN_ROLLING ? 7 : 0;
    if (!read_number(p, object, "quantile", &plan->quantile) ||
        !read_number(p, object, "threshold", &plan->threshold) ||
        !read_count(p, object, "newest", 1 << 20, &plan->newest) ||
        !read_count(p, object, "limit", PLAN_ROWS, &plan->limit) ||
        !read_count(p, object, "rank", PLAN_ROWS, &plan->rank) ||
        !read_count(p, object, "days", PLAN_ROLLING_DAYS, &plan->days) ||
        !read_int(p, object, "lag_days", lags, &plan->lag) ||
        !read_bool(p, object, "share", &plan->as_share) ||
        !read_bool(p, object, "by_day", &plan->by_day) ||
        !read_bool(p, object, "descending", &plan->descending))
        return false;
    return read_needed_numbers(p, object);
}

static bool read_needed(struct parser *p, const struct weir_json *object)
{
    if (p->plan->op == PLAN_GROUP && !weir_json_get_str(object, "by"))
        return fail(p, "by", "is needed: weekday, weekend, month, week or year");
    if (p->plan->op != PLAN_CORRELATE) return true;
    if (!weir_json_get_str(object, "with")) return fail(p, "with", "is needed: the other metric");
    return read_metric(p, object, "with", &p->plan->with);
}

static bool read_op(struct parser *p, const struct weir_json *object)
{
    char list[160];
    int op = -1;
    if (!weir_json_get_str(object, "op")) {
        list_words(list, sizeof list, plan_op_words);
        return fail(p, "op", "is needed: one of %s", list);
    }
    if (!read_word(p, object, "op", plan_op_words, &op)) return false;
    p->plan->op = (enum plan_op)op;
    return true;
}

static bool read_plan(struct parser *p, const struct weir_json *json)
{
    if (weir_json_type_of(json) != WEIR_JSON_OBJECT)
        return fail(p, "", "is an object, as {\"op\":\"aggregate\",\"metric\":\"steps\"}");
    return read_op(p, json) && check_plan_members(p, json) && read_subject(p, json) &&
           read_words(p, json) && read_numbers(p, json) && read_needed(p, json) &&
           read_window(p, json, &p->plan->window) && read_where(p, json, &p->plan->where) &&
           read_own_having(p, json) && read_b(p, json) && read_unit(p, json);
}

enum weir_status plan_parse(struct plan *out, const struct weir_json *json, struct dataset *d,
                            struct plan_error *error)
{
    plan_init(out);
    *error = (struct plan_error){{0}, {0}};
    struct parser p = {.d = d, .plan = out, .error = error};
    if (!read_plan(&p, json)) return p.st;
    return plan_check(out, error);
}
