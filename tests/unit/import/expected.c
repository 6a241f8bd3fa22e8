/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The invented export against its truth, day by day, through the whole of it: reader, store,
 * merging, nights, series.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <weir/json.h>

#include "base/slice.h"
#include "data/series.h"
#include "import/import.h"
#include "t.h"

static const struct {
    const char *key, *metric;
    double tolerance;
} columns[] = {
    {"steps", "steps", 1e-9},
    {"resting_heart_rate", "resting_heart_rate", 1e-9},
    {"hrv_sdnn", "hrv_sdnn", 1e-9},
    {"sleep_minutes", "sleep_minutes", 1e-9},
    {"deep", "deep_sleep_minutes", 1e-9},
    {"rem", "rem_sleep_minutes", 1e-9},
    {"awake", "awake_minutes", 1e-9},
    {"weight_kg", "weight", 0.05},
};

/* The value of a day, or NAN. */
static double value_on(struct dataset *d, const char *metric, int32_t day)
{
    const struct series *s;
    enum weir_status st = dataset_series(d, metric_find(weir_slice_of(metric)), &s);
    if (st != WEIR_OK) return NAN;
    for (size_t i = 0; i < s->n; i++)
        if (s->days[i] == day) return s->values[i];
    return NAN;
}

static void check_value(struct dataset *d, const char *date, const char *metric, double want,
                        double tolerance)
{
    double got = value_on(d, metric, day_parse(weir_slice_of(date)));
    if (isnan(want) ? isnan(got) : fabs(got - want) <= tolerance) return;
    t_fail(__FILE__, __LINE__, "%s on %s is %.10g, not %.10g", metric, date, got, want);
}

/* "2025-02-28 23:14:00 -0500": minutes after midnight. */
static double clock_of(const struct weir_json *time)
{
    struct weir_slice s = weir_json_text(time);
    if (s.len < 16) return NAN;
    return (s.ptr[11] - '0') * 600 + (s.ptr[12] - '0') * 60 + (s.ptr[14] - '0') * 10 +
           (s.ptr[15] - '0');
}

static void check_day(struct dataset *d, const struct weir_json *day)
{
    char date[DAY_TEXT_BYTES] = {0};
    memcpy(date, weir_json_key(day).ptr, DAY_TEXT_BYTES - 1);
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        const struct weir_json *v = weir_json_get_str(day, columns[i].key);
        double want = NAN;
        (void)weir_json_double(v, &want);
        if (v) check_value(d, date, columns[i].metric, want, columns[i].tolerance);
    }
    check_value(d, date, "bedtime", clock_of(weir_json_get_str(day, "sleep_start")), 1e-9);
    check_value(d, date, "wake_time", clock_of(weir_json_get_str(day, "sleep_end")), 1e-9);
    const struct weir_json *systolic = weir_json_first(weir_json_get_str(day, "bp"));
    double want;
    if (!weir_json_double(systolic, &want)) return;
    check_value(d, date, "systolic", want, 1e-9);
    if (weir_json_double(weir_json_next(systolic), &want))
        check_value(d, date, "diastolic", want, 1e-9);
}

static enum weir_status import(struct store *store, const char *path)
{
    static struct import_summary summary;
    struct import_error error;
    const struct import_options o = {
        .user = SLICE("anna"), .paths = &path, .n_paths = 1, .zone = "UTC", .clock = &clock_system};
    enum weir_status st = import_run(store, &o, &summary, &error);
    if (st != WEIR_OK) t_fail(__FILE__, __LINE__, "%s", error.text);
    return st;
}

/* ---- traps of an export, each with what has to come of it ---- */

#define AT(s, e) " startDate=\"" s "\" endDate=\"" e "\""
#define QUANTITY(type, source, unit, at, value)                                                    \
    "<Record type=\"HKQuantityTypeIdentifier" type "\" sourceName=\"" source "\" unit=\"" unit     \
    "\"" at " value=\"" value "\"/>\n"
#define SLEEP(source, at, value, inside)                                                           \
    "<Record type=\"HKCategoryTypeIdentifierSleepAnalysis\" sourceName=\"" source "\"" at          \
    " value=\"HKCategoryValueSleepAnalysis" value "\">" inside "</Record>\n"
#define WATCH "Anna’s Apple\u00a0Watch"
#define PHONE "Anna’s iPhone"
#define NOON  AT("2025-11-05 12:00:00 +0100", "2025-11-05 12:10:00 +0100")
#define SEVEN AT("2025-11-05 07:00:00 +0100", "2025-11-05 07:00:00 +0100")

static const char traps[] = "<HealthData><ExportDate value=\"2025-11-06 18:00:00 +0100\"/>\n"
    /* The night on which clocks go back in Berlin has nine hours. */
    SLEEP(WATCH, AT("2025-10-25 23:30:00 +0200", "2025-10-26 07:30:00 +0100"), "AsleepUnspecified",
          "")
    /* As it was before stages: in bed, and asleep. */
    SLEEP("AutoSleep", AT("2025-10-26 23:00:00 +0100", "2025-10-27 07:00:00 +0100"), "InBed", "")
        SLEEP("AutoSleep", AT("2025-10-26 23:20:00 +0100", "2025-10-27 06:50:00 +0100"), "Asleep",
              "")
    /* A night in Tokyo, in the export of a phone that is in Berlin again. */
    SLEEP(WATCH, AT("2025-11-03 15:00:00 +0100", "2025-11-03 23:00:00 +0100"), "AsleepCore",
          "<MetadataEntry key=\"HKTimeZone\" value=\"Asia/Tokyo\"/>")
    /* Watch and phone at once, the phone alone, and the same once more. */
    QUANTITY("StepCount", WATCH, "count",
             AT("2025-11-05 10:00:00 +0100", "2025-11-05 10:10:00 +0100"),
             "1000") QUANTITY("StepCount", PHONE, "count",
                              AT("2025-11-05 10:01:00 +0100", "2025-11-05 10:09:00 +0100"), "950")
        QUANTITY("StepCount", PHONE, "count", NOON, "300")
            QUANTITY("StepCount", PHONE, "count", NOON, "300")
                QUANTITY("BodyMass", "Health", "st", SEVEN, "12")
                    QUANTITY("BodyTemperature", "Kinsa", "degF", SEVEN, "98.6") QUANTITY(
                        "BloodGlucose", "OneTouch", "mmol&lt;180.1558800000541&gt;/L", SEVEN, "5.5")
                        QUANTITY("OxygenSaturation", WATCH, "%", SEVEN, "0.97")
                            QUANTITY("StepCount", PHONE, "count",
                                     AT("2025-11-06 12:00:00 +0100", "2025-11-06 12:10:00 +0100"),
                                     "50") "</HealthData>\n";

static const struct {
    const char *metric, *date;
    double want;
} outcomes[] = {
    {"sleep_minutes", "2025-10-26", 540},
    {"bedtime", "2025-10-26", 1410},
    {"wake_time", "2025-10-26", 450},
    {"sleep_minutes", "2025-10-27", 450},
    {"time_in_bed", "2025-10-27", 480},
    {"sleep_minutes", "2025-11-04", 480},
    {"bedtime", "2025-11-04", 1380},
    {"wake_time", "2025-11-04", 420},
    {"sleep_minutes", "2025-11-03", NAN},
    {"steps", "2025-11-05", 1300},
    {"steps", "2025-11-06", 50},
    {"steps", "2025-11-04", NAN},
    {"weight", "2025-11-05", 76.20351816},
    {"body_temperature", "2025-11-05", 37},
    {"blood_glucose", "2025-11-05", 99.08573},
    {"blood_oxygen", "2025-11-05", 97},
};

static void check_workouts(struct dataset *d)
{
    const struct workout *workouts;
    size_t n = 0;
    T_EQ(dataset_workouts(d, &workouts, &n), WEIR_OK);
    T_EQ(n, 6);
    for (size_t i = 0; i < n; i++) {
        T_EQ_STR(weir_slice_of(workouts[i].activity->name), "run");
        T_OK(workouts[i].km == 7.1 && workouts[i].kcal == 520 && workouts[i].minutes == 42);
    }
}

TEST(the_invented_export_gives_the_expected_days_exactly_once_and_twice)
{
    const char *samples = t_samples_dir();
    char path[1000];
    struct store *store;
    struct store_error error;
    const struct weir_json *truth;
    if (!samples) {
        t_skip("there are no samples here");
        return;
    }
    snprintf(path, sizeof path, "%s/exports/invented/apple/expected.json", samples);
    struct weir_json_doc *json = weir_json_doc_new(0);
    T_EQ(weir_json_parse(json, t_read_file(path), &truth, NULL), WEIR_OK);
    snprintf(path, sizeof path, "%s/exports/invented/apple/export.xml", samples);
    T_EQ(store_open(&store, t_temp_dir(),
                    &(struct store_options){.durability = STORE_DURABLE_NORMAL}, &error),
         WEIR_OK);
    for (int time = 0; time < 2; time++) {
        struct dataset *d;
        T_EQ(import(store, path), WEIR_OK);
        T_EQ(dataset_open(&d, store, SLICE("anna")), WEIR_OK);
        const struct weir_json *day = weir_json_first(weir_json_get_str(truth, "days"));
        for (; day; day = weir_json_next(day)) check_day(d, day);
        check_workouts(d);
        dataset_free(d);
    }
    store_close(store);
    weir_json_doc_free(json);
}

TEST(traps_of_an_apple_export_come_out_right)
{
    char path[1000];
    char folder[1000];
    struct store *store;
    struct store_error error;
    struct dataset *d;
    const struct series *steps;
    snprintf(path, sizeof path, "%s/export.xml", t_temp_dir());
    snprintf(folder, sizeof folder, "%s/store", t_temp_dir());
    FILE *f = fopen(path, "wb");
    T_OK(f && fwrite(traps, 1, sizeof traps - 1, f) == sizeof traps - 1);
    if (f) fclose(f);
    T_EQ(store_open(&store, folder, &(struct store_options){.durability = STORE_DURABLE_NORMAL},
                    &error),
         WEIR_OK);
    T_EQ(import(store, path), WEIR_OK);
    T_EQ(dataset_open(&d, store, SLICE("anna")), WEIR_OK);
    for (size_t i = 0; i < sizeof outcomes / sizeof *outcomes; i++)
        check_value(d, outcomes[i].date, outcomes[i].metric, outcomes[i].want, 1e-5);
    T_EQ(dataset_series(d, metric_find(SLICE("steps")), &steps), WEIR_OK);
    T_EQ(steps->quality[steps->n - 1], QUALITY_PARTIAL);
    T_EQ(steps->quality[0], QUALITY_GOOD);
    dataset_free(d);
    store_close(store);
}
