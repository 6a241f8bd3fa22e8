/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Garmin Connect as JSON: what its site answers (days, nights, heart rate variability, lists of
 * activities) and what a request for all data brings (UDSFile, sleepData, summarizedActivities).
 * A record is known by its members. Numbers below zero say that nothing was measured.
 */
#include <math.h>

#include "base/slice.h"
#include "data/day.h"
#include "import/json_file.h"
#include "import/kinds.h"
#include "import/table_workout.h"

#define LIST(list) (list), sizeof(list) / sizeof *(list)

enum { MS = 1000 };

#define MAX_MS 6.2e12 /* the year 2166 */

/* "2025-03-01", or an object around a text in the older files. */
static int32_t calendar_day(struct json_file *f, const struct weir_json *v)
{
    if (json_has(v, "calendarDate.date")) return json_day(f, v, "calendarDate.date");
    return json_day(f, v, "calendarDate");
}

/* ---- days ---- */

static const struct json_metric day_metrics[] = {
    {"totalSteps", "steps", NULL},
    {"totalDistanceMeters", "distance", "meter"},
    {"activeKilocalories", "active_energy", "kcal"},
    {"bmrKilocalories", "resting_energy", "kcal"},
    {"totalKilocalories", "total_energy", "kcal"},
    {"restingHeartRate", "resting_heart_rate", NULL},
    {"minHeartRate", "min_heart_rate", NULL},
    {"maxHeartRate", "max_heart_rate", NULL},
    {"floorsAscended", "floors", NULL},
    {"averageStressLevel", "stress_score", NULL},
    {"bodyBatteryHighestValue", "body_battery", NULL},
    {"averageSpo2", "blood_oxygen", NULL},
    {"avgWakingRespirationValue", "respiratory_rate", NULL},
    {"respiration.avgWakingRespirationValue", "respiratory_rate", NULL},
    {"sedentarySeconds", "sedentary_minutes", "s"},
    {"vigorousIntensityMinutes", "very_active_minutes", NULL},
};

/* A day that was not over ends at another time than midnight. */
static bool is_partial(const struct weir_json *v)
{
    struct cell_time t;
    struct weir_slice end = json_text(v, "wellnessEndTimeLocal");
    return cell_time(end, DATES_UNKNOWN, &t) && t.second > 0;
}

/* The lists of all-day stress and body battery have one element for each of their sorts. */
static double listed(const struct weir_json *v, const char *path, const char *sort_key,
                     const char *sort, const char *value)
{
    const struct weir_json *list = json_at(v, path);
    for (const struct weir_json *m = weir_json_first(list); m; m = weir_json_next(m))
        if (weir_slice_is(json_text(m, sort_key), sort)) return json_number(m, value);
    return NAN;
}

static enum weir_status give_listed(struct json_file *f, const struct weir_json *v, int32_t day)
{
    double stress = listed(v, "allDayStress.aggregatorList", "type", "TOTAL", "averageStressLevel");
    double battery = listed(v, "bodyBattery.bodyBatteryStatList", "bodyBatteryStatType", "HIGHEST",
                            "statsValue");
    enum weir_status st = WEIR_OK;
    if (stress >= 0 && stress <= 100) st = json_give_day(f, "stress_score", day, stress, false);
    if (st == WEIR_OK && battery >= 0 && battery <= 100)
        st = json_give_day(f, "body_battery", day, battery, false);
    return st;
}

static enum weir_status day_row(struct json_file *f, const struct weir_json *v)
{
    int32_t day = calendar_day(f, v);
    bool is_open = is_partial(v);
    if (day == DAY_NONE) return WEIR_OK;
    enum weir_status st = json_give_days(f, v, LIST(day_metrics), day, is_open);
    double active =
        json_number(v, "moderateIntensityMinutes") + json_number(v, "vigorousIntensityMinutes");
    if (st == WEIR_OK && active >= 0 && active <= 1440)
        st = json_give_day(f, "active_minutes", day, active, is_open);
    return st == WEIR_OK ? give_listed(f, v, day) : st;
}

static enum weir_status hrv_row(struct json_file *f, const struct weir_json *v)
{
    static const struct json_metric list[] = {{"lastNightAvg", "hrv_rmssd", NULL}};
    const struct weir_json *summary = json_at(v, "hrvSummary");
    int32_t day = calendar_day(f, summary);
    return day == DAY_NONE ? WEIR_OK : json_give_days(f, summary, LIST(list), day, false);
}

/* ---- nights ---- */

/* Milliseconds since 1970, or a text; both of UTC, or of the wall where `is_wall`. */
static bool read_stamp(const struct weir_json *v, const char *path, int64_t *seconds)
{
    struct cell_time t;
    double ms = json_number(v, path);
    if (ms > 0 && ms < MAX_MS) {
        *seconds = (int64_t)floor(ms / MS);
        return true;
    }
    if (!cell_time(json_text(v, path), DATES_UNKNOWN, &t) || t.day == DAY_NONE) return false;
    *seconds = (int64_t)t.day * DAY_SECONDS + (int64_t)floor(t.second);
    return true;
}

/* What the wall shows beside UTC is the offset; without it, it is the zone's. */
static bool read_both(const struct json_file *f, const struct weir_json *v, const char *utc,
                      const char *wall, struct moment *out)
{
    int64_t shown;
    if (!read_stamp(v, utc, &out->at)) return false;
    out->offset = zone_offset(f->context.zone, out->at);
    if (read_stamp(v, wall, &shown) && shown - out->at > -DAY_SECONDS &&
        shown - out->at < DAY_SECONDS)
        out->offset = (int32_t)(shown - out->at);
    return true;
}

static double minutes_at(const struct weir_json *v, const char *path)
{
    return json_number(v, path) / 60;
}

static const struct json_metric night_metrics[] = {
    {"averageSpO2Value", "blood_oxygen", NULL},
    {"averageRespirationValue", "respiratory_rate", NULL},
    {"averageRespiration", "respiratory_rate", NULL},
    {"sleepScores.overall.value", "sleep_score", NULL},
    {"sleepScores.overallScore", "sleep_score", NULL},
    {"spo2SleepSummary.averageSPO2", "blood_oxygen", NULL},
};

static enum weir_status night_row(struct json_file *f, const struct weir_json *v)
{
    struct sleep s = {.source = f->source, .day = calendar_day(f, v)};
    if (s.day == DAY_NONE) return WEIR_OK;
    /* A night without a watch has a date and nothing else. */
    if (!json_has(v, "sleepStartTimestampGMT") || !json_has(v, "sleepEndTimestampGMT"))
        return WEIR_OK;
    if (!read_both(f, v, "sleepStartTimestampGMT", "sleepStartTimestampLocal", &s.start) ||
        !read_both(f, v, "sleepEndTimestampGMT", "sleepEndTimestampLocal", &s.end)) {
        json_refuse(f, "a night whose times cannot be read");
        return WEIR_OK;
    }
    s.light = minutes_at(v, "lightSleepSeconds");
    s.deep = minutes_at(v, "deepSleepSeconds");
    s.rem = minutes_at(v, "remSleepSeconds");
    s.awake = minutes_at(v, "awakeSleepSeconds");
    s.asleep = minutes_at(v, "sleepTimeSeconds");
    if (isnan(s.asleep)) s.asleep = s.light + s.deep + (isnan(s.rem) ? 0 : s.rem);
    s.in_bed = s.efficiency = s.latency = NAN;
    enum weir_status st = json_give_sleep(f, &s);
    return st == WEIR_OK ? json_give_days(f, v, LIST(night_metrics), s.day, false) : st;
}

static enum weir_status sleep_row(struct json_file *f, const struct weir_json *v)
{
    static const struct json_metric list[] = {
        {"restingHeartRate", "resting_heart_rate", NULL},
        {"avgOvernightHrv", "hrv_rmssd", NULL},
        {"avgSkinTempDeviationC", "temperature_deviation", "degC"},
    };
    const struct weir_json *night = json_at(v, "dailySleepDTO");
    enum weir_status st = night_row(f, night);
    if (st != WEIR_OK) return st;
    int32_t day = calendar_day(f, night);
    return day == DAY_NONE ? WEIR_OK : json_give_days(f, v, LIST(list), day, false);
}

/* ---- activities ---- */

static double positive(const struct weir_json *v, const char *path, double factor)
{
    double value = json_number(v, path);
    return value > 0 ? value * factor : NAN;
}

static struct weir_slice activity_label(const struct weir_json *v)
{
    struct weir_slice key = json_text(v, "activityType.typeKey");
    return key.len > 0 ? key : json_text(v, "activityType");
}

static enum weir_status give_workout(struct json_file *f, struct workout *w)
{
    w->activity = workout_activity(w->label);
    w->day = day_of_moment(w->start.at, w->start.offset);
    w->source = f->source;
    return json_give_workout(f, w);
}

/* As the site lists them: metres, seconds, kilocalories. */
static enum weir_status activity_row(struct json_file *f, const struct weir_json *v)
{
    struct workout w = {.label = activity_label(v)};
    int64_t wall;
    bool has_both = read_both(f, v, "startTimeGMT", "startTimeLocal", &w.start);
    if (!has_both && !read_stamp(v, "startTimeLocal", &wall)) {
        json_refuse(f, "an activity without its start");
        return WEIR_OK;
    }
    if (!has_both) w.start = zone_moment(f->context.zone, wall);
    w.minutes = positive(v, "duration", 1.0 / 60);
    w.km = json_number(v, "distance") / 1000;
    w.kcal = positive(v, "calories", 1);
    w.avg_hr = positive(v, "averageHR", 1);
    w.max_hr = positive(v, "maxHR", 1);
    w.steps = positive(v, "steps", 1);
    w.ascent_m = json_number(v, "elevationGain");
    return give_workout(f, &w);
}

/* As the request for all data brings them: centimetres, milliseconds; of energy no unit is said. */
static enum weir_status summarized_row(struct json_file *f, const struct weir_json *v)
{
    struct workout w = {.label = activity_label(v)};
    if (!read_both(f, v, "beginTimestamp", "startTimeLocal", &w.start) &&
        !read_both(f, v, "startTimeGmt", "startTimeLocal", &w.start)) {
        json_refuse(f, "an activity without its start");
        return WEIR_OK;
    }
    w.minutes = positive(v, "duration", 1.0 / (60 * MS));
    w.km = json_number(v, "distance") / 100000;
    w.kcal = NAN;
    w.avg_hr = positive(v, "avgHr", 1);
    w.max_hr = positive(v, "maxHr", 1);
    w.steps = positive(v, "steps", 1);
    w.ascent_m = json_number(v, "elevationGain") / 100;
    return give_workout(f, &w);
}

/* ---- the kind ---- */

static const struct {
    const char *members[4];
    enum weir_status (*row)(struct json_file *f, const struct weir_json *v);
} shapes[] = {
    {{"dailySleepDTO"}, sleep_row},
    {{"hrvSummary"}, hrv_row},
    {{"sleepStartTimestampGMT", "calendarDate"}, night_row},
    {{"calendarDate", "deepSleepSeconds"}, night_row},
    {{"calendarDate", "sleepWindowConfirmationType"}, night_row},
    {{"calendarDate", "totalSteps"}, day_row},
    {{"calendarDate", "wellnessStartTimeGmt"}, day_row},
    {{"calendarDate", "userProfilePK", "includesWellnessData"}, day_row},
    {{"activityId", "activityType", "beginTimestamp"}, summarized_row},
    {{"activityId", "activityType", "startTimeLocal"}, activity_row},
};

enum { N_SHAPES = sizeof shapes / sizeof *shapes };

static size_t shape_of(const struct weir_json *v, bool is_summarized)
{
    for (size_t i = 0; i < N_SHAPES; i++) {
        /* The site gives beginTimestamp too; only the list says what the units are. */
        if (shapes[i].row == summarized_row && !is_summarized) continue;
        size_t k = 0;
        while (k < 4 && shapes[i].members[k] && json_has(v, shapes[i].members[k])) k++;
        if (k == 4 || !shapes[i].members[k]) return i;
    }
    return N_SHAPES;
}

static unsigned judge(const struct weir_json *v)
{
    return shape_of(v, true) < N_SHAPES || json_at(v, "summarizedActivitiesExport") ? 90 : 0;
}

static unsigned recognise(struct weir_slice file_name, struct weir_slice head)
{
    (void)file_name;
    return json_recognise(head, judge);
}

static enum weir_status row(struct json_file *f, const struct json_row *r)
{
    size_t shape = shape_of(r->value, weir_slice_is(r->list, "summarizedActivitiesExport"));
    if (shape < N_SHAPES) return shapes[shape].row(f, r->value);
    if (r->had_lists) return WEIR_OK;
    json_refuse(f, "a record that is none of those known of Garmin Connect");
    return WEIR_OK;
}

static enum weir_status open(struct reader **out, const struct reader_context *c)
{
    static const struct json_format format = {
        .lists = "summarizedActivitiesExport|activityList|individualStats",
        .source = "Garmin",
        .source_class = SOURCE_WATCH,
        .row = row};
    return json_file_open(out, c, &format);
}

const struct reader_kind reader_garmin_connect = {
    .name = "garmin-connect",
    .title = "Garmin Connect records",
    .recognise = recognise,
    .open = open,
    .feed = json_file_feed,
    .end = json_file_end,
    .close = json_file_close,
    .records = json_file_records,
    .error = json_file_error,
};
