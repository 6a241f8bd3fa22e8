/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samsung Health's tables. Each has a line with its name before the header, and names of packages
 * before those of its columns. Times are UTC with the offset in a column of its own; the day of a
 * step trend is midnight UTC of the local date. Of the rows that a day has in the step trend only
 * that of source_type -2, all devices together, counts: adding them would count steps twice.
 *
 * The export has some seventy tables. Those that are not read here are known by their first line
 * and counted, so that a whole folder can be imported.
 */
#include <math.h>

#include "base/slice.h"
#include "data/day.h"
#include "import/kinds.h"
#include "import/table_sleep.h"
#include "import/table_workout.h"

enum { ALL_DEVICES = -2, MS = 1000 };

#define MAX_MS 6.2e12 /* the year 2166 */

/* Whose it is and when it was written: of no use, and not worth counting. */
#define HOUSEKEEPING                                                                               \
    {                                                                                              \
        "binning_data|update_time|create_time|modify_sh_ver|create_sh_ver|source_pkg_name|"        \
        "source|speed|deviceuuid|pkg_name|datauuid|custom|comment|client_data_id|client_data_ver|" \
        "tag_id|live_data|additional|location_data|vendor_id|sleep_id|mental_recovery|"            \
        "physical_recovery|movement_awakening|original_bed_time|original_wake_up_time",            \
            FIELD_UNUSED, NULL, NULL                                                               \
    }
#define MOMENTS                                                                                    \
    {"start_time", FIELD_START, NULL, NULL}, {"end_time", FIELD_END, NULL, NULL},                  \
        {"time_offset", FIELD_OFFSET, NULL, NULL}, HOUSEKEEPING

static const struct table_column trend_columns[] = {
    HOUSEKEEPING,
    {"day_time", FIELD_DATE, NULL, NULL},
    {"source_type", FIELD_KIND, NULL, NULL},
    {"count", FIELD_NONE, "steps", NULL},
    {"distance", FIELD_NONE, "distance", "meter"},
    {"calorie", FIELD_NONE, "active_energy", "kcal"},
};

static const struct table_column sleep_columns[] = {
    MOMENTS,
    {"sleep_duration", FIELD_ASLEEP, NULL, "min"},
    {"efficiency", FIELD_EFFICIENCY, NULL, NULL},
    {"original_efficiency", FIELD_UNUSED, NULL, NULL},
    {"sleep_score", FIELD_NONE, "sleep_score", NULL},
};

static const struct table_column stage_columns[] = {
    MOMENTS,
    {"stage", FIELD_STAGE, NULL, NULL},
};

static const struct table_column heart_columns[] = {
    MOMENTS,
    {"heart_rate", FIELD_NONE, "heart_rate", NULL},
};
static const struct table_column weight_columns[] = {
    MOMENTS,
    {"weight", FIELD_NONE, "weight", "kg"},
    {"body_fat", FIELD_NONE, "body_fat", NULL},
    {"skeletal_muscle_mass", FIELD_NONE, "muscle_mass", "kg"},
    {"height", FIELD_NONE, "height", "cm"},
};
static const struct table_column oxygen_columns[] = {
    MOMENTS,
    {"spo2", FIELD_NONE, "blood_oxygen", NULL},
};
static const struct table_column stress_columns[] = {
    MOMENTS,
    {"score", FIELD_NONE, "stress_score", NULL},
};
static const struct table_column pressure_columns[] = {
    MOMENTS,
    {"systolic", FIELD_NONE, "systolic", NULL},
    {"diastolic", FIELD_NONE, "diastolic", NULL},
};
static const struct table_column glucose_columns[] = {
    MOMENTS,
    {"glucose", FIELD_NONE, "blood_glucose", "mmol/L"},
};
static const struct table_column floor_columns[] = {
    MOMENTS,
    {"floor", FIELD_NONE, "floors", NULL},
};
static const struct table_column water_columns[] = {
    MOMENTS,
    {"amount", FIELD_NONE, "water", "ml"},
};
static const struct table_column breath_columns[] = {
    MOMENTS,
    {"average", FIELD_NONE, "respiratory_rate", NULL},
};

static const struct table_column exercise_columns[] = {
    MOMENTS,
    {"exercise_type", FIELD_ACTIVITY, NULL, NULL},
    {"exercise_custom_type|title", FIELD_TITLE, NULL, NULL},
    {"duration", FIELD_DURATION, NULL, NULL},
    {"distance", FIELD_DISTANCE, NULL, "meter"},
    {"calorie", FIELD_KCAL, NULL, "kcal"},
    {"mean_heart_rate", FIELD_AVG_HR, NULL, NULL},
    {"max_heart_rate", FIELD_MAX_HR, NULL, NULL},
    {"altitude_gain", FIELD_ASCENT, NULL, "meter"},
};

/* ---- times ---- */

/* The text is of UTC; the offset beside it says what the wall showed. */
static bool read_moment(struct table *t, enum table_field f, struct moment *out)
{
    struct cell_time time;
    struct weir_slice text = table_cell(t, f);
    struct weir_slice offset = table_cell(t, FIELD_OFFSET);
    char quoted[TABLE_QUOTE_BYTES];
    double ms;
    bool is_read = cell_time(text, DATES_UNKNOWN, &time) && time.day != DAY_NONE;
    if (is_read) out->at = (int64_t)time.day * DAY_SECONDS + (int64_t)floor(time.second);
    else if (text.len > 8 && cell_decimal(text, &ms) && fabs(ms) < MAX_MS) {
        out->at = (int64_t)floor(ms / MS);
        is_read = true;
    }
    if (!is_read) {
        table_refuse(t, "\"%s\" is not a time", table_quote(quoted, text));
        return false;
    }
    if (offset.len == 0) out->offset = zone_offset(t->context.zone, out->at);
    else if (!zone_parse_offset(offset, &out->offset)) {
        table_refuse(t, "\"%s\" is not an offset from UTC", table_quote(quoted, offset));
        return false;
    }
    return true;
}

/* "….20250331090000.csv": the file's name says when it was written, by the wall. */
static enum weir_status begin(struct table *t)
{
    struct weir_slice name = t->context.file_name;
    const char *stamp = NULL;
    size_t n = 0;
    for (size_t i = 0; i < name.len; i++) {
        n = name.ptr[i] >= '0' && name.ptr[i] <= '9' ? n + 1 : 0;
        if (n == 14) stamp = name.ptr + i - 13;
    }
    struct cell_time day;
    if (!stamp || !t->context.sink.exported) return WEIR_OK;
    if (!cell_time(slice_of(stamp, 8), DATES_UNKNOWN, &day)) return WEIR_OK;
    day.second = ((stamp[8] - '0') * 10 + stamp[9] - '0') * 3600;
    return t->context.sink.exported(t->context.sink.user, cell_moment(&day, t->context.zone));
}

/* ---- rows ---- */

static enum weir_status trend_row(struct table *t)
{
    double ms;
    char quoted[TABLE_QUOTE_BYTES];
    struct cell_time time;
    struct weir_slice text = table_cell(t, FIELD_DATE);
    if (table_number(t, FIELD_KIND, NULL) != ALL_DEVICES) return WEIR_OK;
    if (cell_decimal(text, &ms) && ms > 0 && ms < MAX_MS)
        return table_days(t, day_of_moment((int64_t)floor(ms / MS), 0), false);
    if (cell_time(text, DATES_UNKNOWN, &time) && time.day != DAY_NONE)
        return table_days(t, time.day, false);
    table_refuse(t, "\"%s\" is not a day", table_quote(quoted, text));
    return WEIR_OK;
}

static enum weir_status sleep_row(struct table *t)
{
    struct sleep s = {.is_nap = false};
    if (!read_moment(t, FIELD_START, &s.start) || !read_moment(t, FIELD_END, &s.end))
        return WEIR_OK;
    /* One offset is given for both. Where it is the zone's at waking, the zone knows that of
     * falling asleep, which differs in the night when the clocks change. */
    if (zone_offset(t->context.zone, s.end.at) == s.end.offset)
        s.start.offset = zone_offset(t->context.zone, s.start.at);
    s.day = day_of_moment(s.end.at, s.end.offset);
    table_read_sleep(t, &s);
    if (!table_has(t, FIELD_ASLEEP)) s.in_bed = (double)(s.end.at - s.start.at) / 60;
    enum weir_status st = table_give_sleep(t, &s);
    return st == WEIR_OK ? table_days(t, s.day, false) : st;
}

static enum weir_status stage_row(struct table *t)
{
    static const enum sleep_stage stages[] = {STAGE_AWAKE, STAGE_LIGHT, STAGE_DEEP, STAGE_REM};
    struct stage s = {.source = t->source};
    double code = table_number(t, FIELD_STAGE, NULL);
    if (isnan(code)) return WEIR_OK;
    if (code < 40001 || code > 40004 || code != floor(code)) {
        table_refuse(t, "%g is no stage of sleep (40001 to 40004)", code);
        return WEIR_OK;
    }
    if (!read_moment(t, FIELD_START, &s.start) || !read_moment(t, FIELD_END, &s.end))
        return WEIR_OK;
    s.stage = stages[(int)code - 40001];
    if (s.end.at > s.start.at) return t->context.sink.stage(t->context.sink.user, &s);
    table_refuse(t, "a piece of sleep that ends before it begins");
    return WEIR_OK;
}

static enum weir_status sample_row(struct table *t)
{
    struct sample s = {.source = t->source};
    if (!read_moment(t, FIELD_START, &s.start)) return WEIR_OK;
    s.end = s.start;
    if (table_cell(t, FIELD_END).len > 0 && !read_moment(t, FIELD_END, &s.end)) return WEIR_OK;
    if (s.end.at < s.start.at) s.end = s.start;
    for (size_t i = 0; i < t->n_columns; i++) {
        s.metric = t->columns[i].metric;
        if (!s.metric || !table_value(t, i, &s.value)) continue;
        enum weir_status st = t->context.sink.sample(t->context.sink.user, &s);
        if (st != WEIR_OK) return st;
    }
    return WEIR_OK;
}

/* Samsung's numbers for kinds of exercise, as its developer documentation lists them. */
static const struct {
    int code;
    const char *name;
} exercises[] = {
    {1001, "walk"},      {1002, "run"},          {2001, "golf"},   {3004, "basketball"},
    {4003, "soccer"},    {5001, "volleyball"},   {6001, "squash"}, {6002, "tennis"},
    {6003, "badminton"}, {6004, "table tennis"}, {7002, "boxing"}, {7003, "martial arts"},
    {8002, "dance"},     {9001, "pilates"},      {9002, "yoga"},   {10001, "stretching"},
    {10007, "strength"}, {11001, "skate"},       {11007, "bike"},  {13001, "hike"},
    {13002, "climb"},    {13004, "bike"},        {14001, "swim"},  {14006, "paddle"},
    {15001, "stairs"},   {15002, "strength"},    {15003, "bike"},  {15004, "rowing"},
    {15005, "run"},      {15006, "elliptical"},  {16001, "ski"},   {16002, "ski"},
};

static const char *exercise_name(double code)
{
    for (size_t i = 0; i < sizeof exercises / sizeof *exercises; i++)
        if (exercises[i].code == code) return exercises[i].name;
    return "other";
}

static enum weir_status exercise_row(struct table *t)
{
    struct workout w = {.source = t->source, .minutes = NAN};
    double code = table_number(t, FIELD_ACTIVITY, NULL);
    if (isnan(code) || !read_moment(t, FIELD_START, &w.start)) return WEIR_OK;
    w.day = day_of_moment(w.start.at, w.start.offset);
    w.activity = workout_activity(weir_slice_of(exercise_name(code)));
    w.label = table_cell(t, FIELD_TITLE);
    if (w.label.len == 0) w.label = weir_slice_of(w.activity->title);
    w.minutes = table_number(t, FIELD_DURATION, NULL) / (60.0 * MS);
    w.km = table_number(t, FIELD_DISTANCE, "km");
    w.kcal = table_number(t, FIELD_KCAL, "kcal");
    w.avg_hr = table_number(t, FIELD_AVG_HR, NULL);
    w.max_hr = table_number(t, FIELD_MAX_HR, NULL);
    w.ascent_m = table_number(t, FIELD_ASCENT, "meter");
    w.steps = NAN;
    /* A heart rate of nothing is none: phones write 0. */
    if (w.avg_hr == 0) w.avg_hr = NAN;
    if (w.max_hr == 0) w.max_hr = NAN;
    return table_give_workout(t, &w);
}

/* A table that is known by its first line and not read. */
static enum weir_status other_row(struct table *t)
{
    (void)t;
    return WEIR_OK;
}

#define SAMSUNG(line, list, take)                                                                  \
    .name = "Samsung Health", .sure = 100, .preamble = (line), .columns = (list),                  \
    .n_columns = sizeof(list) / sizeof *(list), .source = "Samsung Health",                        \
    .source_class = SOURCE_WATCH, .begin = begin, .row = (take)
#define FROM FIELD_BIT(FIELD_START)

static const struct table_format formats[] = {
    {SAMSUNG("com.samsung.shealth.step_daily_trend", trend_columns, trend_row),
     .needs = FIELD_BIT(FIELD_DATE) | FIELD_BIT(FIELD_KIND)},
    {SAMSUNG("com.samsung.shealth.sleep", sleep_columns, sleep_row),
     .needs = FROM | FIELD_BIT(FIELD_END)},
    {SAMSUNG("com.samsung.health.sleep", sleep_columns, sleep_row),
     .needs = FROM | FIELD_BIT(FIELD_END)},
    {SAMSUNG("com.samsung.health.sleep_stage", stage_columns, stage_row),
     .needs = FROM | FIELD_BIT(FIELD_END) | FIELD_BIT(FIELD_STAGE)},
    {SAMSUNG("com.samsung.shealth.tracker.heart_rate", heart_columns, sample_row), .needs = FROM},
    {SAMSUNG("com.samsung.health.heart_rate", heart_columns, sample_row), .needs = FROM},
    {SAMSUNG("com.samsung.health.weight", weight_columns, sample_row), .needs = FROM},
    {SAMSUNG("com.samsung.shealth.tracker.oxygen_saturation", oxygen_columns, sample_row),
     .needs = FROM},
    {SAMSUNG("com.samsung.health.oxygen_saturation", oxygen_columns, sample_row), .needs = FROM},
    {SAMSUNG("com.samsung.shealth.stress", stress_columns, sample_row), .needs = FROM},
    {SAMSUNG("com.samsung.shealth.blood_pressure", pressure_columns, sample_row), .needs = FROM},
    {SAMSUNG("com.samsung.health.blood_pressure", pressure_columns, sample_row), .needs = FROM},
    {SAMSUNG("com.samsung.health.blood_glucose", glucose_columns, sample_row), .needs = FROM},
    {SAMSUNG("com.samsung.health.floors_climbed", floor_columns, sample_row), .needs = FROM},
    {SAMSUNG("com.samsung.health.water_intake", water_columns, sample_row), .needs = FROM},
    {SAMSUNG("com.samsung.health.respiratory_rate", breath_columns, sample_row), .needs = FROM},
    {SAMSUNG("com.samsung.shealth.exercise", exercise_columns, exercise_row),
     .needs = FROM | FIELD_BIT(FIELD_ACTIVITY)},
    {SAMSUNG("com.samsung.health.exercise", exercise_columns, exercise_row),
     .needs = FROM | FIELD_BIT(FIELD_ACTIVITY)},
    {.name = "Samsung Health",
     .sure = 90,
     .preamble = "com.samsung.*",
     .is_left = true,
     .source = "Samsung Health",
     .row = other_row},
};

TABLE_KIND(reader_samsung, "samsung", "Samsung Health table");
