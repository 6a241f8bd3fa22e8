/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Findings as JSON, and what the gates need of them read back. A stored finding has all that its
 * verdict rests on, so that the same gates can judge it again without the person's data.
 */
#include "agent/finding.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "agent/agent_impl.h"
#include "base/slice.h"
#include "codec/json_member.h"

enum {
    FINDING_DAYS = 100000, /* most in a row, when it is read back */
    ENTRY_BYTES = 128,     /* of an entry's claim */
};

static const char *const kind_names[] = {"level", "trend",   "windows", "weekdays",
                                         "pair",  "anomaly", "value"};

const char *claim_kind_name(enum claim_kind k)
{
    return kind_names[k];
}

/* ---- workouts as metrics ---- */

#define FIELD(name_, title_, unit_, better_, max_)                                                 \
    {                                                                                              \
        .name = name_, .title = title_, .unit = unit_, .aliases = "", .group = "activity",         \
        .better = better_, .max = max_, .source = ""                                               \
    }

/* In the order of enum plan_field. Ranges are those of sessions that somebody could have done. */
static const struct metric fields[] = {
    FIELD("workout_sessions", "workout sessions", "sessions", BETTER_MORE, 50),
    FIELD("workout_minutes", "workout minutes", "min", BETTER_MORE, 2880),
    FIELD("workout_km", "workout distance", "km", BETTER_MORE, 1000),
    FIELD("workout_kcal", "workout energy", "kcal", BETTER_MORE, 20000),
    FIELD("workout_avg_hr", "average heart rate of workouts", "bpm", BETTER_UNKNOWN, 250),
    FIELD("workout_max_hr", "maximum heart rate of workouts", "bpm", BETTER_UNKNOWN, 250),
    FIELD("workout_steps", "workout steps", "steps", BETTER_MORE, 200000),
    FIELD("workout_ascent", "ascent of workouts", "meter", BETTER_MORE, 20000),
    FIELD("workout_pace", "pace of workouts", "min/km", BETTER_LESS, 120),
    FIELD("workout_speed", "speed of workouts", "km/h", BETTER_MORE, 120),
};

enum { N_FIELDS = sizeof fields / sizeof *fields };

const struct metric *claim_subject(const struct plan *plan)
{
    if (plan->subject == PLAN_OF_METRIC) return plan->metric;
    return plan->subject == PLAN_OF_WORKOUTS ? &fields[plan->field] : NULL;
}

const struct metric *claim_metric(struct dataset *d, struct weir_slice name)
{
    for (size_t i = 0; i < N_FIELDS; i++)
        if (weir_slice_is(name, fields[i].name)) return &fields[i];
    return dataset_find_metric(d, name);
}

/* ---- out ---- */

static void put_number(struct weir_buf *out, const char *key, double value)
{
    weir_json_put_key(out, key);
    weir_json_put_double(out, value);
}

static void put_true(struct weir_buf *out, const char *key)
{
    weir_json_put_key(out, key);
    weir_json_put_bool(out, true);
}

static void put_row(struct weir_buf *out, const char *key, const double *x, size_t n)
{
    weir_json_put_key(out, key);
    weir_json_put_begin_array(out);
    for (size_t i = 0; i < n; i++) weir_json_put_double(out, x[i]);
    weir_json_put_end_array(out);
}

void window_format(char out[WINDOW_TEXT_BYTES], int32_t from, int32_t to)
{
    char a[DAY_TEXT_BYTES], b[DAY_TEXT_BYTES];
    day_format(a, from);
    day_format(b, to);
    snprintf(out, WINDOW_TEXT_BYTES, "%s .. %s", a, b);
}

static void put_window(struct weir_buf *out, int32_t from, int32_t to)
{
    char text[WINDOW_TEXT_BYTES];
    if (from != DAY_NONE) window_format(text, from, to);
    member_str(out, "window", from != DAY_NONE ? text : NULL);
}

static void put_value(struct weir_buf *out, const struct entry *e)
{
    char day[DAY_TEXT_BYTES];
    if (e->date == DAY_NONE) {
        put_number(out, "value", e->value);
        return;
    }
    day_format(day, e->date);
    member_str(out, "value", day);
}

static void put_entry(struct weir_buf *out, const struct claim *c, const struct entry *e,
                      const char *source)
{
    char name[ENTRY_BYTES];
    snprintf(name, sizeof name, "%s.%s", c->id, e->name);
    weir_json_put_begin_object(out);
    member_str(out, "claim", name);
    put_value(out, e);
    member_str(out, "unit", e->unit && e->unit[0] ? e->unit : NULL);
    member_str(out, "source", source);
    weir_json_put_key(out, "n");
    weir_json_put_uint(out, e->n);
    put_window(out, e->from, e->to);
    if (c->metric) member_str(out, "metric", c->metric);
    weir_json_put_end_object(out);
}

static void put_days(struct weir_buf *out, const struct claim *c)
{
    const struct claim_days *d = &c->days;
    char from[DAY_TEXT_BYTES];
    weir_json_put_key(out, "days");
    if (c->kind == CLAIM_VALUE) {
        weir_json_put_null(out);
        return;
    }
    weir_json_put_begin_object(out);
    day_format(from, d->from);
    member_str(out, "from", from);
    put_row(out, "a", d->a, d->n_a);
    if (d->b) put_row(out, "b", d->b, d->n_b);
    put_number(out, "weekend", d->weekend);
    put_number(out, "device_change", (double)d->device_change);
    if (d->device_change_b > 0) put_number(out, "device_change_b", (double)d->device_change_b);
    if (c->kind == CLAIM_ANOMALY) put_number(out, "index", (double)d->index);
    if (c->kind == CLAIM_WINDOWS) {
        weir_json_put_key(out, "one_device");
        weir_json_put_bool(out, d->is_one_device);
    }
    if (d->shift != 0) put_number(out, "shift", d->shift);
    if (d->is_flipped) put_true(out, "flipped");
    weir_json_put_end_object(out);
}

void claim_put(struct weir_buf *out, const struct claim *c, const char *agent)
{
    weir_json_put_begin_object(out);
    member_str(out, "id", c->id);
    member_str(out, "claim", c->text);
    member_str(out, "kind", claim_kind_name(c->kind));
    member_str(out, "metric", c->metric);
    member_str(out, "metric_y", c->metric_y);
    put_number(out, "lag", c->lag);
    put_window(out, c->from, c->to);
    if (c->beside[0]) member_str(out, "beside", c->beside);
    if (c->is_causal) put_true(out, "causal");
    if (c->n_tests > 0) put_number(out, "n_tests", (double)c->n_tests);
    if (c->is_confirmed) put_true(out, "confirmed");
    weir_json_put_key(out, "plan");
    plan_put(out, c->plan);
    weir_json_put_key(out, "answer");
    plan_put_answer(out, c->plan, c->answer);
    put_days(out, c);
    weir_json_put_key(out, "entries");
    weir_json_put_begin_array(out);
    for (size_t i = 0; i < c->n_entries; i++) put_entry(out, c, &c->entries[i], agent);
    weir_json_put_end_array(out);
    weir_json_put_end_object(out);
}

/* ---- in ---- */

static enum weir_status read_row(struct days *out, const struct weir_json *list,
                                 struct arena *arena)
{
    size_t n = weir_json_count(list), i = 0;
    *out = (struct days){NULL, 0};
    if (n > FINDING_DAYS) return WEIR_INVALID;
    double *x = arena_alloc(arena, (n + 1) * sizeof *x);
    if (!x) return arena->status;
    for (const struct weir_json *v = weir_json_first(list); v; v = weir_json_next(v), i++) {
        x[i] = NAN;
        if (weir_json_type_of(v) != WEIR_JSON_NULL && !weir_json_double(v, &x[i]))
            return WEIR_INVALID;
    }
    *out = (struct days){x, n};
    return WEIR_OK;
}

static bool read_flag(const struct weir_json *object, const char *key)
{
    return weir_json_type_of(weir_json_get_str(object, key)) == WEIR_JSON_TRUE;
}

static int64_t read_count(const struct weir_json *object, const char *key)
{
    int64_t n = 0;
    bool is_count = weir_json_int64(weir_json_get_str(object, key), &n);
    return is_count && n > -FINDING_DAYS && n < FINDING_DAYS ? n : 0;
}

/* A place in a row of days. */
static size_t read_place(const struct weir_json *object, const char *key)
{
    int64_t n = read_count(object, key);
    return n > 0 ? (size_t)n : 0;
}

static enum weir_status read_days(struct claim_read *out, const struct weir_json *days,
                                  struct arena *arena)
{
    struct finding *f = &out->finding;
    enum weir_status st = read_row(&f->a, weir_json_get_str(days, "a"), arena);
    if (st == WEIR_OK) st = read_row(&f->b, weir_json_get_str(days, "b"), arena);
    if (st != WEIR_OK) return st;
    const struct weir_json *one = weir_json_get_str(days, "one_device");
    f->is_one_device = weir_json_type_of(one) != WEIR_JSON_FALSE;
    f->weekend = (uint32_t)read_count(days, "weekend") & 0x7F;
    f->device_change = read_place(days, "device_change");
    f->device_change_b = read_place(days, "device_change_b");
    f->index = read_place(days, "index");
    out->is_flipped = read_flag(days, "flipped");
    (void)weir_json_double(weir_json_get_str(days, "shift"), &out->shift);
    return WEIR_OK;
}

static bool read_kind(struct weir_slice name, enum claim_kind *out)
{
    for (size_t i = 0; i < N_CLAIM_KINDS; i++) {
        if (!weir_slice_is(name, kind_names[i])) continue;
        *out = (enum claim_kind)i;
        return true;
    }
    return false;
}

enum weir_status claim_read(struct claim_read *out, const struct weir_json *json, struct dataset *d,
                            struct arena *arena)
{
    *out = (struct claim_read){.id = agent_text(json, "id"), .claim = agent_text(json, "claim")};
    if (!read_kind(agent_text(json, "kind"), &out->kind)) return WEIR_INVALID;
    struct finding *f = &out->finding;
    f->kind = out->kind == CLAIM_VALUE ? FINDING_LEVEL : (enum finding_kind)out->kind;
    f->metric = claim_metric(d, agent_text(json, "metric"));
    f->metric_y = claim_metric(d, agent_text(json, "metric_y"));
    f->lag = (int)read_count(json, "lag");
    f->is_median = weir_slice_is(agent_text(weir_json_get_str(json, "plan"), "stat"), "median");
    out->is_causal = read_flag(json, "causal");
    out->is_confirmed = read_flag(json, "confirmed");
    out->n_tests = read_place(json, "n_tests");
    out->entries = weir_json_get_str(json, "entries");
    out->answer = weir_json_get_str(json, "answer");
    out->n = read_place(out->answer, "n");
    return read_days(out, weir_json_get_str(json, "days"), arena);
}
