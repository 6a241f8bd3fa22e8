/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Oura's API (v2) as JSON, as it answers ({"data": […]}) or as exports collect it ({"sleep": […],
 * "daily_activity": […]}), and the older export with summary_date. A record is known by its
 * members. Of the sleeps of a day one is the long one; the others are naps, and "rest" and
 * "deleted" are no sleep at all. Durations are seconds.
 */
#include <math.h>

#include "base/slice.h"
#include "data/day.h"
#include "import/json_file.h"
#include "import/kinds.h"
#include "import/minutes.h"
#include "import/table_workout.h"

#define LIST(list) (list), sizeof(list) / sizeof *(list)

struct state {
    struct minutes heart;
};

static double minutes_at(const struct weir_json *v, const char *path)
{
    return json_number(v, path) / 60;
}

/* ---- sleep ---- */

static const struct json_metric night[] = {
    {"average_hrv", "hrv_rmssd", NULL},
    {"lowest_heart_rate", "resting_heart_rate", NULL},
    {"average_breath", "respiratory_rate", NULL},
};

static enum weir_status sleep_row(struct json_file *f, const struct weir_json *v)
{
    struct weir_slice type = json_text(v, "type");
    struct sleep s = {.source = f->source};
    if (weir_slice_is(type, "deleted") || weir_slice_is(type, "rest")) return WEIR_OK;
    if (!json_moment(f, v, "bedtime_start", &s.start) || !json_moment(f, v, "bedtime_end", &s.end))
        return WEIR_OK;
    s.day = json_has(v, "day") ? json_day(f, v, "day") : day_of_moment(s.end.at, s.end.offset);
    if (s.day == DAY_NONE) return WEIR_OK;
    s.is_nap = type.len > 0 && !weir_slice_is(type, "long_sleep");
    s.asleep = minutes_at(v, "total_sleep_duration");
    s.in_bed = minutes_at(v, "time_in_bed");
    s.awake = minutes_at(v, "awake_time");
    s.light = minutes_at(v, "light_sleep_duration");
    s.deep = minutes_at(v, "deep_sleep_duration");
    s.rem = minutes_at(v, "rem_sleep_duration");
    s.latency = minutes_at(v, "latency");
    s.efficiency = json_number(v, "efficiency");
    enum weir_status st = json_give_sleep(f, &s);
    return st == WEIR_OK && !s.is_nap ? json_give_days(f, v, LIST(night), s.day, false) : st;
}

/* The older export: its day is that on which the night began. */
static const struct json_metric old_night[] = {
    {"rmssd", "hrv_rmssd", NULL},
    {"hr_lowest", "resting_heart_rate", NULL},
    {"breath_average", "respiratory_rate", NULL},
    {"temperature_delta", "temperature_deviation", NULL},
    {"score", "sleep_score", NULL},
};

static enum weir_status old_sleep_row(struct json_file *f, const struct weir_json *v)
{
    struct sleep s = {.source = f->source};
    if (!json_moment(f, v, "bedtime_start", &s.start) || !json_moment(f, v, "bedtime_end", &s.end))
        return WEIR_OK;
    s.day = day_of_moment(s.end.at, s.end.offset);
    s.is_nap = json_number(v, "is_longest") == 0;
    s.asleep = minutes_at(v, "total");
    s.in_bed = minutes_at(v, "duration");
    s.awake = minutes_at(v, "awake");
    s.light = minutes_at(v, "light");
    s.deep = minutes_at(v, "deep");
    s.rem = minutes_at(v, "rem");
    s.latency = minutes_at(v, "onset_latency");
    s.efficiency = json_number(v, "efficiency");
    enum weir_status st = json_give_sleep(f, &s);
    return st == WEIR_OK && !s.is_nap ? json_give_days(f, v, LIST(old_night), s.day, false) : st;
}

/* ---- days ---- */

static enum weir_status give_active(struct json_file *f, const struct weir_json *v, int32_t day)
{
    double active = minutes_at(v, "high_activity_time") + minutes_at(v, "medium_activity_time");
    return isnan(active) ? WEIR_OK : json_give_day(f, "active_minutes", day, active, false);
}

static enum weir_status activity_row(struct json_file *f, const struct weir_json *v)
{
    static const struct json_metric list[] = {
        {"steps", "steps", NULL},
        {"score", "activity_score", NULL},
        {"active_calories", "active_energy", "kcal"},
        {"total_calories", "total_energy", "kcal"},
        {"equivalent_walking_distance", "distance", "meter"},
        {"sedentary_time", "sedentary_minutes", "s"},
        {"cal_active", "active_energy", "kcal"},
        {"cal_total", "total_energy", "kcal"},
        {"daily_movement", "distance", "meter"},
    };
    int32_t day = json_day(f, v, json_has(v, "day") ? "day" : "summary_date");
    if (day == DAY_NONE) return WEIR_OK;
    enum weir_status st = json_give_days(f, v, LIST(list), day, false);
    return st == WEIR_OK ? give_active(f, v, day) : st;
}

static enum weir_status day_row(struct json_file *f, const struct weir_json *v,
                                const struct json_metric *list, size_t n)
{
    int32_t day = json_day(f, v, json_has(v, "day") ? "day" : "summary_date");
    return day == DAY_NONE ? WEIR_OK : json_give_days(f, v, list, n, day, false);
}

static enum weir_status readiness_row(struct json_file *f, const struct weir_json *v)
{
    static const struct json_metric list[] = {
        {"score", "readiness_score", NULL},
        {"temperature_deviation", "temperature_deviation", NULL},
    };
    return day_row(f, v, LIST(list));
}

static enum weir_status score_row(struct json_file *f, const struct weir_json *v)
{
    static const struct json_metric list[] = {{"score", "sleep_score", NULL}};
    return day_row(f, v, LIST(list));
}

static enum weir_status oxygen_row(struct json_file *f, const struct weir_json *v)
{
    static const struct json_metric list[] = {{"spo2_percentage.average", "blood_oxygen", NULL}};
    return day_row(f, v, LIST(list));
}

static enum weir_status uptake_row(struct json_file *f, const struct weir_json *v)
{
    static const struct json_metric list[] = {{"vo2_max", "vo2max", NULL}};
    return day_row(f, v, LIST(list));
}

static enum weir_status left_row(struct json_file *f, const struct weir_json *v)
{
    (void)v;
    json_ignore(f, "other records of Oura");
    return WEIR_OK;
}

/* ---- moments ---- */

static enum weir_status heart_row(struct json_file *f, const struct weir_json *v)
{
    static const struct json_metric m = {"bpm", "heart_rate", NULL};
    struct state *state = f->state;
    struct cell_time t;
    struct sample s = {.metric = metric_find(SLICE("heart_rate")), .source = f->source};
    if (!json_value(f, v, &m, &s.value) || !json_time(f, v, "timestamp", DATES_UNKNOWN, &t))
        return WEIR_OK;
    s.start = cell_moment(&t, f->context.zone);
    /* UTC, whatever the wall showed: the person's zone says. */
    if (t.has_offset && t.offset == 0) s.start.offset = zone_offset(f->context.zone, s.start.at);
    return minutes_add(&state->heart, &f->context.sink, &s);
}

static enum weir_status end(struct json_file *f)
{
    struct state *state = f->state;
    struct sample like = {.metric = metric_find(SLICE("heart_rate")), .source = f->source};
    return minutes_end(&state->heart, &f->context.sink, &like);
}

static enum weir_status workout_row(struct json_file *f, const struct weir_json *v)
{
    struct moment until;
    struct workout w = {.label = json_text(v, "activity"), .source = f->source};
    if (!json_moment(f, v, "start_datetime", &w.start) ||
        !json_moment(f, v, "end_datetime", &until))
        return WEIR_OK;
    w.day = json_has(v, "day") ? json_day(f, v, "day") : day_of_moment(w.start.at, w.start.offset);
    if (w.day == DAY_NONE) return WEIR_OK;
    if (until.at < w.start.at) {
        json_refuse(f, "a workout that ends before it begins");
        return WEIR_OK;
    }
    w.activity = workout_activity(w.label);
    w.minutes = (double)(until.at - w.start.at) / 60;
    w.kcal = json_number(v, "calories");
    w.km = json_number(v, "distance") / 1000;
    w.avg_hr = w.max_hr = w.steps = w.ascent_m = NAN;
    return json_give_workout(f, &w);
}

/* ---- the kind ---- */

static const struct {
    const char *members[4];
    enum weir_status (*row)(struct json_file *f, const struct weir_json *v);
} shapes[] = {
    {{"bedtime_start", "bedtime_end", "total_sleep_duration"}, sleep_row},
    {{"summary_date", "bedtime_start", "rmssd"}, old_sleep_row},
    {{"summary_date", "steps"}, activity_row},
    {{"summary_date", "score"}, readiness_row},
    {{"day", "steps", "active_calories"}, activity_row},
    {{"day", "contributors.body_temperature"}, readiness_row},
    {{"day", "contributors.resting_heart_rate"}, readiness_row},
    {{"day", "contributors", "temperature_trend_deviation"}, readiness_row},
    {{"day", "contributors.deep_sleep"}, score_row},
    {{"day", "contributors.total_sleep"}, score_row},
    {{"day", "spo2_percentage"}, oxygen_row},
    {{"day", "vo2_max"}, uptake_row},
    {{"bpm", "source", "timestamp"}, heart_row},
    {{"activity", "start_datetime", "end_datetime"}, workout_row},
    {{"day", "stress_high"}, left_row},
    {{"day", "vascular_age"}, left_row},
    {{"day", "optimal_bedtime"}, left_row},
    {{"day", "tag_type_code"}, left_row},
    {{"day", "contributors"}, left_row},
    {{"start_datetime", "heart_rate_variability"}, left_row},
};

enum { N_SHAPES = sizeof shapes / sizeof *shapes };

static size_t shape_of(const struct weir_json *v)
{
    for (size_t i = 0; i < N_SHAPES; i++) {
        size_t k = 0;
        while (k < 4 && shapes[i].members[k] && json_has(v, shapes[i].members[k])) k++;
        if (k == 4 || !shapes[i].members[k]) return i;
    }
    return N_SHAPES;
}

static unsigned judge(const struct weir_json *v)
{
    if (shape_of(v) < N_SHAPES) return 90;
    const struct weir_json *list = json_at(weir_json_first(v), "data");
    bool is_list = weir_json_type_of(list) == WEIR_JSON_ARRAY && weir_json_first(list);
    return is_list && shape_of(weir_json_first(list)) < N_SHAPES ? 90 : 0;
}

static unsigned recognise(struct weir_slice file_name, struct weir_slice head)
{
    (void)file_name;
    return json_recognise(head, judge);
}

static enum weir_status give(struct json_file *f, const struct weir_json *v)
{
    size_t shape = shape_of(v);
    if (shape < N_SHAPES) return shapes[shape].row(f, v);
    json_refuse(f, "a record that is none of those known of Oura");
    return WEIR_OK;
}

/* {"sleep": {"data": […]}, …}: answers of the API, collected under their names. */
static enum weir_status give_answers(struct json_file *f, const struct weir_json *v, bool *is_known)
{
    for (const struct weir_json *m = weir_json_first(v); m; m = weir_json_next(m)) {
        const struct weir_json *list = json_at(m, "data");
        if (weir_json_type_of(list) != WEIR_JSON_ARRAY) continue;
        *is_known = true;
        for (const struct weir_json *e = weir_json_first(list); e; e = weir_json_next(e)) {
            enum weir_status st = give(f, e);
            if (st != WEIR_OK) return st;
        }
    }
    return WEIR_OK;
}

static enum weir_status row(struct json_file *f, const struct json_row *r)
{
    bool is_known = r->had_lists; /* then it is only what was around them */
    if (shape_of(r->value) < N_SHAPES) return give(f, r->value);
    enum weir_status st = give_answers(f, r->value, &is_known);
    return st == WEIR_OK && !is_known ? give(f, r->value) : st;
}

static enum weir_status open(struct reader **out, const struct reader_context *c)
{
    static const struct json_format format = {
        .lists = "data|sleep|daily_sleep|daily_activity|daily_readiness|heartrate|heart_rate|"
                 "workout|workouts|daily_spo2|activity|readiness|vo2_max|sleep_periods",
        .source = "Oura Ring",
        .source_class = SOURCE_WATCH,
        .state_bytes = sizeof(struct state),
        .row = row,
        .end = end};
    return json_file_open(out, c, &format);
}

const struct reader_kind reader_oura_api = {
    .name = "oura-api",
    .title = "Oura records",
    .recognise = recognise,
    .open = open,
    .feed = json_file_feed,
    .end = json_file_end,
    .close = json_file_close,
    .records = json_file_records,
    .error = json_file_error,
};
