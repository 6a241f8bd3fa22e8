/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exports of one invented person in the formats of several houses, against what that person
 * did (truth_daily.json). A file is found by its content alone, under a name that says nothing.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <weir/json.h>

#include "base/slice.h"
#include "data/day.h"
#include "import/kinds.h"
#include "record.h"
#include "t.h"

static struct weir_slice sample(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/exports/%s", t_samples_dir(), name);
    return t_read_file(path);
}

static struct text read_sample(const char *name, const char *kind)
{
    struct weir_slice input = sample(name);
    const char *file_name = strrchr(name, '/') + 1;
    T_OK(input.len > 0);
    T_EQ_STR(weir_slice_of(record_kind("file", input)), kind);
    T_EQ_STR(weir_slice_of(record_kind(file_name, input)), kind);
    struct text got = record(reader_kind_find(kind), file_name, input);
    T_EQ(record_count(&got, "refused"), 0);
    T_EQ(record_count(&got, "error"), 0);
    if (getenv("SHOW")) printf("== %s\n%.*s", name, (int)got.len, got.ptr);
    return got;
}

/* Checks each day of the truth: a line made of its date and a member's number is there. */
typedef void (*line_fn)(char line[256], const char *day, double value);

static void check_days(const struct text *got, const char *member, line_fn make)
{
    struct weir_json_doc *doc = weir_json_doc_new(0);
    const struct weir_json *truth = NULL;
    T_EQ(weir_json_parse(doc, sample("invented/truth_daily.json"), &truth, NULL), WEIR_OK);
    for (const struct weir_json *d = weir_json_first(truth); d; d = weir_json_next(d)) {
        char day[16];
        char line[256];
        double value;
        snprintf(day, sizeof day, "%.*s", (int)weir_json_key(d).len, weir_json_key(d).ptr);
        if (!weir_json_double(weir_json_get_str(d, member), &value)) continue;
        make(line, day, value);
        if (!record_has(got, line)) t_fail(__FILE__, __LINE__, "there is no '%s'", line);
    }
    weir_json_doc_free(doc);
}

#define LINE(name, ...)                                                                            \
    static void name(char line[256], const char *day, double value)                                \
    {                                                                                              \
        snprintf(line, 256, __VA_ARGS__);                                                          \
    }
LINE(whoop_rhr, "day resting_heart_rate %s %.12g [WHOOP watch]", day, value)
LINE(whoop_hrv, "day hrv_rmssd %s %.12g [WHOOP watch]", day, value)
LINE(oura_rhr, "day resting_heart_rate %s %.12g [Oura Ring watch]", day, value)
LINE(oura_hrv, "day hrv_rmssd %s %.12g [Oura Ring watch]", day, value)
LINE(oura_steps, "day steps %s %.12g [Oura Ring watch]", day, value)
LINE(samsung_steps, "day steps %s %.12g [Samsung Health watch]", day, value)

#define NEEDS_SAMPLES                                                                              \
    do {                                                                                           \
        if (!t_samples_dir()) {                                                                    \
            t_skip("no samples here");                                                             \
            return;                                                                                \
        }                                                                                          \
    } while (0)

TEST(whoop_cycles_are_the_truth)
{
    NEEDS_SAMPLES;
    struct text got = read_sample("invented/whoop/physiological_cycles.csv", "whoop");
    check_days(&got, "hrv", whoop_hrv);
    (void)whoop_rhr;
    text_fini(&got);
    got = read_sample("invented/whoop/sleeps.csv", "whoop");
    text_fini(&got);
    got = read_sample("invented/whoop/journal_entries.csv", "whoop");
    text_fini(&got);
}

TEST(oura_trends_are_the_truth)
{
    NEEDS_SAMPLES;
    struct text got = read_sample("invented/oura/oura_trends.csv", "oura");
    check_days(&got, "rhr", oura_rhr);
    check_days(&got, "hrv", oura_hrv);
    check_days(&got, "steps_watch", oura_steps);
    text_fini(&got);
}

TEST(samsung_tables_are_the_truth)
{
    NEEDS_SAMPLES;
    struct text got = read_sample(
        "invented/samsung/com.samsung.shealth.step_daily_trend.20250331090000.csv", "samsung");
    check_days(&got, "steps_watch", samsung_steps);
    text_fini(&got);
    got = read_sample("invented/samsung/com.samsung.shealth.sleep.20250331090000.csv", "samsung");
    text_fini(&got);
}

TEST(fitbit_takeout_is_the_truth)
{
    NEEDS_SAMPLES;
    struct text got = read_sample("invented/fitbit_takeout/heart_rate-2025-03-01.json", "fitbit");
    text_fini(&got);
    got = read_sample("invented/fitbit_takeout/steps-2025-03-01.json", "fitbit");
    text_fini(&got);
    got = read_sample("invented/fitbit_takeout/sleep-2025-03-01.json", "fitbit");
    text_fini(&got);
    got = read_sample("invented/fitbit_takeout/weight-2025-03-01.json", "fitbit");
    text_fini(&got);
    got = read_sample("invented/oura/api_v2_sleep.json", "oura-api");
    text_fini(&got);
    got = read_sample("real/fitbit_takeout/resting_heart_rate-2023-03-02.json", "fitbit");
    text_fini(&got);
    got = read_sample("real/garmin/garmin_connect_daily_summary.json", "garmin-connect");
    text_fini(&got);
    got = read_sample("real/garmin/garmin_connect_hrv.json", "garmin-connect");
    text_fini(&got);
    got = read_sample("real/garmin/garmin_connect_sleep.json", "garmin-connect");
    text_fini(&got);
}

TEST(garmin_activities_and_labs_are_read)
{
    NEEDS_SAMPLES;
    struct text got = read_sample("invented/garmin/Activities.csv", "garmin");
    text_fini(&got);
    got = read_sample("invented/labs/labs.csv", "labs");
    text_fini(&got);
}
