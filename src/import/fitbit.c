/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fitbit's takeout in JSON. What each minute or day of it counts stands in the file's name alone
 * ("steps-2025-03-01.json"); heart rates, sleeps, weights and exercises are known by their members.
 *
 * Times: steps, heart rate and the other counts by the minute are UTC; sleeps and weights are of
 * the wall. Slashed dates are month first.
 *
 * Weights are in the unit of the account, and the file does not say which. The body mass index
 * beside them does: it is made of kilograms, so that the height that follows is a person's in one
 * unit only. Without it the person has to say (--units).
 */
#include <math.h>

#include "base/slice.h"
#include "data/day.h"
#include "import/json_file.h"
#include "import/kinds.h"
#include "import/minutes.h"
#include "import/table_workout.h"

enum { MINUTE = 60, HALF_DAY = 12 * 3600 };

struct state {
    struct minutes heart;
    bool was_ignored; /* a count that is not known was told of */
};

/* What a file counts, by how its name begins. */
struct count {
    const char *name;
    const char *metric; /* NULL: kept under its own name */
    const char *unit;
    bool is_day; /* a value a day, and else one a minute */
};

static const struct count counts[] = {
    {"steps", "steps", NULL, false},
    {"distance", "distance", "cm", false},
    {"calories", "total_energy", "kcal", false},
    {"sedentary_minutes", "sedentary_minutes", NULL, true},
    {"very_active_minutes", "very_active_minutes", NULL, true},
    {"moderately_active_minutes", NULL, NULL, true},
    {"lightly_active_minutes", NULL, NULL, true},
};

static const struct count *count_of(struct weir_slice file_name)
{
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        size_t len = strlen(counts[i].name);
        if (file_name.len > len && memcmp(file_name.ptr, counts[i].name, len) == 0 &&
            (file_name.ptr[len] == '-' || file_name.ptr[len] == '.' || file_name.ptr[len] == '_'))
            return &counts[i];
    }
    return NULL;
}

static bool read_utc(struct json_file *f, const struct weir_json *v, const char *path,
                     struct moment *out)
{
    struct cell_time t;
    if (!json_time(f, v, path, DATES_MONTH_FIRST, &t)) return false;
    out->at = (int64_t)t.day * DAY_SECONDS + (int64_t)floor(t.second);
    if (t.has_offset) out->at -= t.offset;
    out->offset = zone_offset(f->context.zone, out->at);
    return true;
}

/* ---- counts ---- */

/*
 * Active is what is moderately or very active, and each of the two has a file of its own. They are
 * laid into the two halves of the day, where they cannot be taken for the same minutes twice.
 */
static enum weir_status give_active(struct json_file *f, int32_t day, double minutes, bool is_very)
{
    int64_t wall = (int64_t)day * DAY_SECONDS + (is_very ? HALF_DAY : 0);
    struct sample s = {.metric = metric_find(SLICE("active_minutes")),
                       .start = zone_moment(f->context.zone, wall),
                       .end = zone_moment(f->context.zone, wall + HALF_DAY),
                       .value = minutes,
                       .source = f->source};
    return f->context.sink.sample(f->context.sink.user, &s);
}

static enum weir_status give_day_count(struct json_file *f, const struct count *c, int32_t day,
                                       double value)
{
    bool is_very = strcmp(c->name, "very_active_minutes") == 0;
    if (value < 0 || value > 1440) {
        json_refuse(f, "%g minutes in a day", value);
        return WEIR_OK;
    }
    if (strcmp(c->name, "lightly_active_minutes") == 0)
        return json_give_day(f, "lightly active minutes", day, value, false);
    enum weir_status st = WEIR_OK;
    if (is_very || !c->metric) st = give_active(f, day, value, is_very);
    if (st == WEIR_OK && c->metric) st = json_give_day(f, c->metric, day, value, false);
    return st;
}

static enum weir_status give_minute(struct json_file *f, const struct count *c,
                                    const struct weir_json *v)
{
    const struct json_metric m = {"value", c->metric, c->unit};
    struct sample s = {.metric = metric_find(weir_slice_of(c->metric)), .source = f->source};
    if (!json_value(f, v, &m, &s.value) || !read_utc(f, v, "dateTime", &s.start)) return WEIR_OK;
    s.end = (struct moment){s.start.at + MINUTE, s.start.offset};
    return f->context.sink.sample(f->context.sink.user, &s);
}

/* Counts of a takeout that are of no use here. */
static const char *const unused[] = {"altitude",          "time_in_heart_rate_zones",
                                     "swim_lengths_data", "water_logs",
                                     "food_logs",         "active_zone_minutes"};

static enum weir_status unknown_count(struct json_file *f)
{
    struct state *state = f->state;
    struct weir_slice name = f->context.file_name;
    for (size_t i = 0; i < sizeof unused / sizeof *unused; i++) {
        size_t len = strlen(unused[i]);
        if (name.len < len || memcmp(name.ptr, unused[i], len) != 0) continue;
        if (!state->was_ignored) json_ignore(f, unused[i]);
        state->was_ignored = true;
        return WEIR_OK;
    }
    return json_fail(f, "counts of something that only the file's name would tell: it should begin "
                        "with steps-, distance-, calories-, sedentary_minutes-, ...");
}

static enum weir_status count_row(struct json_file *f, const struct weir_json *v)
{
    struct cell_time t;
    const struct count *c = count_of(f->context.file_name);
    double value = json_number(v, "value");
    if (!c) return unknown_count(f);
    if (isnan(value)) {
        json_refuse(f, "value is not a number");
        return WEIR_OK;
    }
    if (!c->is_day) return give_minute(f, c, v);
    if (!json_time(f, v, "dateTime", DATES_MONTH_FIRST, &t)) return WEIR_OK;
    return give_day_count(f, c, t.day, value);
}

/* ---- heart ---- */

/* A reading without confidence is what a band shows that is not on an arm. */
static enum weir_status heart_row(struct json_file *f, const struct weir_json *v)
{
    struct state *state = f->state;
    const struct json_metric m = {"value.bpm", "heart_rate", NULL};
    struct sample s = {.metric = metric_find(SLICE("heart_rate")), .source = f->source};
    if (json_number(v, "value.confidence") == 0) {
        json_ignore(f, "heart rates with confidence 0");
        return WEIR_OK;
    }
    if (!json_value(f, v, &m, &s.value) || !read_utc(f, v, "dateTime", &s.start)) return WEIR_OK;
    return minutes_add(&state->heart, &f->context.sink, &s);
}

static enum weir_status end(struct json_file *f)
{
    struct state *state = f->state;
    struct sample like = {.metric = metric_find(SLICE("heart_rate")), .source = f->source};
    return minutes_end(&state->heart, &f->context.sink, &like);
}

/* Days without a value have a date that is null and a heart rate of 0. */
static enum weir_status resting_row(struct json_file *f, const struct weir_json *v)
{
    static const struct json_metric m = {"value.value", "resting_heart_rate", NULL};
    struct cell_time t;
    if (json_text(v, "value.date").len == 0 || json_number(v, "value.value") == 0) return WEIR_OK;
    if (!json_time(f, v, "value.date", DATES_MONTH_FIRST, &t)) return WEIR_OK;
    return json_give_days(f, v, &m, 1, t.day, false);
}

static enum weir_status uptake_row(struct json_file *f, const struct weir_json *v)
{
    static const struct json_metric m[] = {{"value.demographicVO2Max", "vo2max", NULL},
                                           {"value.runVO2Max", "vo2max", NULL}};
    struct cell_time t;
    if (!json_time(f, v, "dateTime", DATES_MONTH_FIRST, &t)) return WEIR_OK;
    return json_give_days(f, v, m, 2, t.day, false);
}

/* ---- sleep ---- */

static enum weir_status sleep_row(struct json_file *f, const struct weir_json *v)
{
    struct sleep s = {.source = f->source, .day = json_day(f, v, "dateOfSleep")};
    if (s.day == DAY_NONE || !json_moment(f, v, "startTime", &s.start) ||
        !json_moment(f, v, "endTime", &s.end))
        return WEIR_OK;
    const struct weir_json *main_sleep = json_at(v, "mainSleep");
    s.is_nap = main_sleep && weir_json_type_of(main_sleep) == WEIR_JSON_FALSE;
    s.asleep = json_number(v, "minutesAsleep");
    s.awake = json_number(v, "minutesAwake");
    s.in_bed = json_number(v, "timeInBed");
    s.efficiency = json_number(v, "efficiency");
    s.latency = json_number(v, "minutesToFallAsleep");
    /* A classic night knows asleep, restless and awake, and no stages. */
    s.deep = json_number(v, "levels.summary.deep.minutes");
    s.rem = json_number(v, "levels.summary.rem.minutes");
    s.light = json_number(v, "levels.summary.light.minutes");
    return json_give_sleep(f, &s);
}

/* ---- weight ---- */

/* The unit in which weight and index make somebody between 1.40 and 2.08 m; NULL: none does. */
static const char *unit_by_index(double weight, double bmi)
{
    static const struct {
        const char *unit;
        double kg;
    } units[] = {{"kg", 1}, {"lb", 0.45359237}, {"st", 6.35029318}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        double metres = sqrt(weight * units[i].kg / bmi);
        if (metres >= 1.40 && metres < 2.08) return units[i].unit;
    }
    return NULL;
}

static const char *unit_of(const struct json_file *f, double weight, double bmi)
{
    if (f->context.units == UNITS_METRIC) return "kg";
    if (f->context.units == UNITS_IMPERIAL) return "lb";
    return bmi > 0 ? unit_by_index(weight, bmi) : NULL;
}

static bool read_weighing(struct json_file *f, const struct weir_json *v, struct moment *out)
{
    struct cell_time t;
    double minutes;
    if (!json_time(f, v, "date", DATES_MONTH_FIRST, &t)) return false;
    if (!t.has_time && cell_clock(json_text(v, "time"), &minutes)) t.second = minutes * 60;
    *out = cell_moment(&t, f->context.zone);
    return true;
}

static enum weir_status give_sample(struct json_file *f, const struct weir_json *v,
                                    const struct json_metric *m, struct moment at)
{
    struct sample s = {.metric = metric_find(weir_slice_of(m->metric)),
                       .start = at,
                       .end = at,
                       .source = f->source};
    if (!json_value(f, v, m, &s.value)) return WEIR_OK;
    return f->context.sink.sample(f->context.sink.user, &s);
}

static enum weir_status weight_row(struct json_file *f, const struct weir_json *v)
{
    struct moment at;
    double weight = json_number(v, "weight");
    const char *unit = unit_of(f, weight, json_number(v, "bmi"));
    if (isnan(weight) || !read_weighing(f, v, &at)) return WEIR_OK;
    if (!unit) {
        json_refuse(f,
                    "weight %g: no bmi tells kilograms from pounds; say --units metric or "
                    "--units imperial",
                    weight);
        return WEIR_OK;
    }
    f->source.kind = weir_slice_is(json_text(v, "source"), "Aria") ? SOURCE_SCALE : SOURCE_WATCH;
    const struct json_metric metrics[] = {
        {"weight", "weight", unit}, {"fat", "body_fat", NULL}, {"bmi", "bmi", NULL}};
    enum weir_status st = WEIR_OK;
    for (size_t i = 0; i < 3 && st == WEIR_OK; i++) st = give_sample(f, v, &metrics[i], at);
    return st;
}

/* ---- exercise ---- */

static double in_km(const struct weir_json *v)
{
    double distance = json_number(v, "distance");
    struct weir_slice unit = json_text(v, "distanceUnit");
    if (weir_slice_is(unit, "Mile")) return distance * 1.609344;
    return weir_slice_is(unit, "Kilometer") ? distance : NAN;
}

static enum weir_status exercise_row(struct json_file *f, const struct weir_json *v)
{
    struct workout w = {.label = json_text(v, "activityName"), .source = f->source};
    if (w.label.len == 0 || !read_utc(f, v, "startTime", &w.start)) return WEIR_OK;
    w.day = day_of_moment(w.start.at, w.start.offset);
    w.activity = workout_activity(w.label);
    w.minutes = json_number(v, "activeDuration") / 60000;
    if (isnan(w.minutes)) w.minutes = json_number(v, "duration") / 60000;
    w.km = in_km(v);
    w.kcal = json_number(v, "calories");
    w.avg_hr = json_number(v, "averageHeartRate");
    w.max_hr = NAN;
    w.steps = json_number(v, "steps");
    w.ascent_m = NAN; /* in the unit of the account, which nothing tells */
    return json_give_workout(f, &w);
}

/* ---- the kind ---- */

/* Which function a record is for, and how sure its members make one that it is Fitbit's. */
static const struct {
    const char *members; /* all must be there */
    unsigned sure;
    enum weir_status (*row)(struct json_file *f, const struct weir_json *v);
} shapes[] = {
    {"dateTime|value.bpm", 95, heart_row},
    {"dateTime|value.error", 95, resting_row},
    {"dateTime|value.demographicVO2Max", 95, uptake_row},
    {"dateTime|value.runVO2Max", 95, uptake_row},
    {"dateOfSleep|startTime|endTime", 95, sleep_row},
    {"logId|weight|date", 95, weight_row},
    {"logId|activityName|startTime", 95, exercise_row},
    {"dateTime|value", 80, count_row},
};

static bool has_all(const struct weir_json *v, const char *members)
{
    size_t at = 0;
    for (struct weir_slice m = alias_next(members, &at); m.len > 0; m = alias_next(members, &at)) {
        char path[64];
        memcpy(path, m.ptr, m.len);
        path[m.len] = 0;
        if (!json_has(v, path)) return false;
    }
    return true;
}

/* "03/01/25 05:00:00": no other house writes its times so. */
static bool has_slashes(const struct weir_json *v)
{
    struct weir_slice t = json_text(v, "dateTime");
    return t.len >= 8 && t.ptr[2] == '/' && t.ptr[5] == '/';
}

static unsigned judge(const struct weir_json *v)
{
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        if (!has_all(v, shapes[i].members)) continue;
        return json_has(v, "dateTime") && !has_slashes(v) ? 0 : shapes[i].sure;
    }
    return 0;
}

static unsigned recognise(struct weir_slice file_name, struct weir_slice head)
{
    (void)file_name;
    return json_recognise(head, judge);
}

static enum weir_status row(struct json_file *f, const struct json_row *r)
{
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        if (has_all(r->value, shapes[i].members)) return shapes[i].row(f, r->value);
    json_refuse(f, "a record that is none of those known in a Fitbit takeout");
    return WEIR_OK;
}

static enum weir_status open(struct reader **out, const struct reader_context *c)
{
    static const struct json_format format = {.lists = "",
                                              .source = "Fitbit",
                                              .source_class = SOURCE_WATCH,
                                              .state_bytes = sizeof(struct state),
                                              .row = row,
                                              .end = end};
    return json_file_open(out, c, &format);
}

const struct reader_kind reader_fitbit = {
    .name = "fitbit",
    .title = "Fitbit takeout",
    .recognise = recognise,
    .open = open,
    .feed = json_file_feed,
    .end = json_file_end,
    .close = json_file_close,
    .records = json_file_records,
    .error = json_file_error,
};
