/* SPDX-License-Identifier: Apache-2.0 */
/* A person's facts through the store to daily values. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/slice.h"
#include "data/series.h"
#include "t.h"

enum { HOUR = 3600, MINUTE = 60 };

static const struct source watch = {{"Watch", 5}, SOURCE_WATCH};
static const struct source phone = {{"Phone", 5}, SOURCE_PHONE};
static const struct source band = {{"Band", 4}, SOURCE_WATCH};

struct bench {
    struct store *store;
    struct facts *facts;
    struct fact_sink sink;
    struct dataset *data;
};

static struct store *open_store(const char *name)
{
    char folder[512];
    snprintf(folder, sizeof folder, "%s/%s", t_temp_dir(), name);
    struct store *s = NULL;
    struct store_error error;
    static const struct store_options quick = {.durability = STORE_DURABLE_NORMAL};
    T_EQ(store_open(&s, folder, &quick, &error), WEIR_OK);
    return s;
}

static struct bench begin(void)
{
    struct bench b = {.store = open_store("store")};
    T_EQ(facts_open(&b.facts, b.store, SLICE("ann")), WEIR_OK);
    b.sink = facts_sink(b.facts);
    return b;
}

static void flush(struct bench *b)
{
    T_EQ(facts_flush(b->facts, NULL), WEIR_OK);
    dataset_free(b->data);
    T_EQ(dataset_open(&b->data, b->store, SLICE("ann")), WEIR_OK);
}

static void finish(struct bench *b)
{
    dataset_free(b->data);
    facts_close(b->facts);
    store_close(b->store);
}

static const struct metric *metric(const char *name)
{
    const struct metric *m = metric_find(weir_slice_of(name));
    T_OK(m);
    return m;
}

/* "2025-03-09 06:54" at an offset of so many hours. */
static struct moment at(const char *text, double hours)
{
    int32_t day = day_parse(slice_of(text, 10));
    int64_t minutes = strtol(text + 11, NULL, 10) * 60 + strtol(text + 14, NULL, 10);
    int32_t offset = (int32_t)(hours * HOUR);
    return (struct moment){(int64_t)day * DAY_SECONDS + minutes * MINUTE - offset, offset};
}

static void sample(struct bench *b, const char *name, struct source source, struct moment start,
                   int minutes, double value)
{
    struct moment end = {start.at + minutes * MINUTE, start.offset};
    struct sample s = {metric(name), start, end, value, source};
    T_EQ(b->sink.sample(b->sink.user, &s), WEIR_OK);
}

static void give(struct bench *b, const char *name, struct source source, const char *day,
                 double value)
{
    struct day_value v = {.metric = metric(name),
                          .day = day_parse(weir_slice_of(day)),
                          .value = value,
                          .source = source};
    T_EQ(b->sink.day_value(b->sink.user, &v), WEIR_OK);
}

static const struct series *series(struct bench *b, const char *name)
{
    const struct series *s = NULL;
    enum weir_status st = dataset_series(b->data, metric(name), &s);
    return st == WEIR_OK ? s : NULL;
}

/* NAN when the day has no value. */
static double value(struct bench *b, const char *name, const char *day)
{
    const struct series *s = series(b, name);
    int32_t number = day_parse(weir_slice_of(day));
    for (size_t i = 0; s && i < s->n; i++)
        if (s->days[i] == number) return s->values[i];
    return NAN;
}

static int quality(struct bench *b, const char *name, const char *day)
{
    const struct series *s = series(b, name);
    int32_t number = day_parse(weir_slice_of(day));
    for (size_t i = 0; s && i < s->n; i++)
        if (s->days[i] == number) return s->quality[i];
    return -1;
}

#define T_VALUE(b, name, day, want)                                                                \
    do {                                                                                           \
        double got_ = value(b, name, day);                                                         \
        if (!(got_ == (want)) && !(isnan(got_) && isnan((double)(want))))                          \
            t_fail(__FILE__, __LINE__, "%s on %s is %.17g, not %.17g", name, day, got_,            \
                   (double)(want));                                                                \
    } while (0)

TEST(overlapping_sources_are_merged_and_not_added)
{
    struct bench b = begin();
    sample(&b, "steps", watch, at("2025-03-01 08:00", -5), 10, 983);
    sample(&b, "steps", phone, at("2025-03-01 08:00", -5), 10, 943); /* wholly covered */
    sample(&b, "steps", phone, at("2025-03-01 20:30", -5), 12, 204); /* wholly free */
    sample(&b, "steps", phone, at("2025-03-01 20:30", -5), 12, 204); /* twice */
    sample(&b, "steps", watch, at("2025-03-01 12:00", -5), 10, 100);
    sample(&b, "steps", phone, at("2025-03-01 12:05", -5), 10, 50); /* half covered */
    sample(&b, "steps", watch, at("2025-03-01 15:00", -5), 0, 7);
    sample(&b, "steps", phone, at("2025-03-01 12:06", -5), 0, 9); /* a moment that is covered */
    flush(&b);
    T_VALUE(&b, "steps", "2025-03-01", 983 + 204 + 100 + 25 + 7);
    struct facts_summary sum;
    facts_summary(b.facts, &sum);
    T_EQ(sum.n_facts, 8);
    T_EQ(sum.n_new, 7);
    T_EQ(sum.n_duplicates, 1);
    T_EQ(sum.n_days_changed, 1);
    finish(&b);
}

TEST(joining_what_is_there_writes_nothing)
{
    struct bench b = begin();
    struct store_stats before, after;
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 5000; i++)
            sample(&b, "heart_rate", watch, (struct moment){1700000000 + (int64_t)i * 977, 3600}, 0,
                   60 + i % 40);
        give(&b, "steps", watch, "2025-01-01", 100);
        store_stats(b.store, &before);
        flush(&b);
        store_stats(b.store, &after);
        if (round > 0) T_EQ(after.n_commits, before.n_commits);
    }
    struct facts_summary sum;
    facts_summary(b.facts, &sum);
    T_EQ(sum.n_new, 5001);
    T_EQ(sum.n_duplicates, 10002);
    finish(&b);
}

TEST(a_sample_over_midnight_is_shared_between_days)
{
    struct bench b = begin();
    sample(&b, "steps", watch, at("2025-03-31 23:30", 2), 60, 600);
    flush(&b);
    T_VALUE(&b, "steps", "2025-03-31", 300);
    T_VALUE(&b, "steps", "2025-04-01", 300);
    finish(&b);
}

TEST(a_days_value_of_a_better_source_wins_over_samples)
{
    struct bench b = begin();
    sample(&b, "steps", phone, at("2025-03-01 08:00", 0), 10, 943);
    give(&b, "steps", band, "2025-03-01", 5000);
    sample(&b, "steps", watch, at("2025-03-02 08:00", 0), 10, 100);
    give(&b, "steps", band, "2025-03-02", 5000);
    flush(&b);
    T_VALUE(&b, "steps", "2025-03-01", 5000);
    T_VALUE(&b, "steps", "2025-03-02", 100);
    T_VALUE(&b, "steps", "2025-03-03", NAN);
    finish(&b);
}

TEST(the_day_of_the_export_is_partial_until_a_later_one)
{
    struct bench b = begin();
    T_EQ(b.sink.exported(b.sink.user, at("2025-03-02 09:00", -5)), WEIR_OK);
    sample(&b, "steps", watch, at("2025-03-01 08:00", -5), 10, 983);
    sample(&b, "steps", watch, at("2025-03-02 08:00", -5), 10, 20);
    flush(&b);
    T_EQ(quality(&b, "steps", "2025-03-01"), QUALITY_GOOD);
    T_EQ(quality(&b, "steps", "2025-03-02"), QUALITY_PARTIAL);
    facts_next_file(b.facts);
    T_EQ(b.sink.exported(b.sink.user, at("2025-03-04 09:00", -5)), WEIR_OK);
    sample(&b, "steps", watch, at("2025-03-03 08:00", -5), 10, 30);
    flush(&b);
    T_EQ(quality(&b, "steps", "2025-03-02"), QUALITY_GOOD);
    T_EQ(quality(&b, "steps", "2025-03-03"), QUALITY_GOOD);
    sample(&b, "steps", watch, at("2025-03-04 08:00", -5), 10, 30);
    flush(&b);
    T_EQ(quality(&b, "steps", "2025-03-04"), QUALITY_PARTIAL);
    /* A file that does not say when it was made goes on where the last one ended. */
    facts_next_file(b.facts);
    sample(&b, "steps", watch, at("2025-03-04 18:00", -5), 10, 40);
    sample(&b, "steps", watch, at("2025-03-07 08:00", -5), 10, 50);
    flush(&b);
    T_EQ(quality(&b, "steps", "2025-03-04"), QUALITY_GOOD);
    T_EQ(quality(&b, "steps", "2025-03-07"), QUALITY_GOOD);
    finish(&b);
}

TEST(zero_steps_of_a_device_that_says_nothing_else_are_not_worn)
{
    struct bench b = begin();
    give(&b, "steps", band, "2025-03-01", 0);
    give(&b, "total_energy", band, "2025-03-01", 1800);
    give(&b, "steps", band, "2025-03-02", 0);
    give(&b, "resting_heart_rate", band, "2025-03-02", 58);
    give(&b, "steps", band, "2025-03-03", 400000);
    flush(&b);
    T_EQ(quality(&b, "steps", "2025-03-01"), QUALITY_NOT_WORN);
    T_EQ(quality(&b, "total_energy", "2025-03-01"), QUALITY_NOT_WORN);
    T_EQ(quality(&b, "steps", "2025-03-02"), QUALITY_GOOD);
    T_EQ(quality(&b, "steps", "2025-03-03"), QUALITY_IMPLAUSIBLE);
    finish(&b);
}

TEST(total_energy_follows_from_its_parts_while_nobody_measured_it)
{
    struct bench b = begin();
    give(&b, "active_energy", watch, "2025-03-01", 500);
    give(&b, "resting_energy", watch, "2025-03-01", 1600);
    give(&b, "active_energy", watch, "2025-03-02", 500);
    flush(&b);
    T_VALUE(&b, "total_energy", "2025-03-01", 2100);
    T_VALUE(&b, "total_energy", "2025-03-02", NAN);
    give(&b, "total_energy", watch, "2025-03-03", 2500);
    flush(&b);
    T_VALUE(&b, "total_energy", "2025-03-01", NAN);
    T_VALUE(&b, "total_energy", "2025-03-03", 2500);
    finish(&b);
}

TEST(a_metric_of_ones_own_is_kept_by_its_name)
{
    struct bench b = begin();
    struct day_value v = {
        .name = SLICE(" Morning  Pages"), .day = 20000, .value = 3, .source = phone};
    T_EQ(b.sink.day_value(b.sink.user, &v), WEIR_OK);
    v.name = SLICE("morning_pages");
    v.day++;
    T_EQ(b.sink.day_value(b.sink.user, &v), WEIR_OK);
    flush(&b);
    const struct metric *m = dataset_find_metric(b.data, SLICE("morning pages"));
    const struct series *s = NULL;
    T_OK(m);
    T_EQ(dataset_series(b.data, m, &s), WEIR_OK);
    T_EQ(s->n, 2);
    finish(&b);
}

/* ---- sleep ---- */

static void stage(struct bench *b, enum sleep_stage what, struct source source, struct moment start,
                  struct moment end)
{
    struct stage s = {what, start, end, source};
    T_EQ(b->sink.stage(b->sink.user, &s), WEIR_OK);
}

TEST(the_night_of_9_march_2025_in_new_york_has_the_minutes_that_passed)
{
    struct bench b = begin();
    /* 22:49 to 06:54 by the wall, an hour less by any other clock. */
    stage(&b, STAGE_LIGHT, watch, at("2025-03-08 22:49", -5), at("2025-03-09 01:00", -5));
    stage(&b, STAGE_DEEP, watch, at("2025-03-09 01:00", -5), at("2025-03-09 01:50", -5));
    stage(&b, STAGE_AWAKE, watch, at("2025-03-09 01:50", -5), at("2025-03-09 03:31", -4));
    stage(&b, STAGE_REM, watch, at("2025-03-09 03:31", -4), at("2025-03-09 04:56", -4));
    stage(&b, STAGE_LIGHT, watch, at("2025-03-09 04:56", -4), at("2025-03-09 06:54", -4));
    stage(&b, STAGE_IN_BED, phone, at("2025-03-08 22:39", -5), at("2025-03-09 07:00", -4));
    flush(&b);
    T_VALUE(&b, "sleep_minutes", "2025-03-09", 131 + 50 + 85 + 118);
    T_VALUE(&b, "deep_sleep_minutes", "2025-03-09", 50);
    T_VALUE(&b, "rem_sleep_minutes", "2025-03-09", 85);
    T_VALUE(&b, "awake_minutes", "2025-03-09", 41);
    T_VALUE(&b, "time_in_bed", "2025-03-09", 425);
    T_VALUE(&b, "bedtime", "2025-03-09", 22 * 60 + 49);
    T_VALUE(&b, "wake_time", "2025-03-09", 6 * 60 + 54);
    T_VALUE(&b, "sleep_minutes", "2025-03-08", NAN);
    T_VALUE(&b, "nap_minutes", "2025-03-09", NAN);
    const struct sleep *sleeps;
    size_t n;
    T_EQ(dataset_sleeps(b.data, &sleeps, &n), WEIR_OK);
    T_EQ(n, 1);
    T_EQ(sleeps[0].end.at, at("2025-03-09 06:54", -4).at);
    T_EQ_STR(sleeps[0].source.name, "Watch");
    finish(&b);
}

TEST(the_night_of_26_october_2025_in_berlin_has_an_hour_more)
{
    struct bench b = begin();
    stage(&b, STAGE_ASLEEP, phone, at("2025-10-25 23:00", 2), at("2025-10-26 07:00", 1));
    sample(&b, "steps", watch, at("2025-10-26 02:30", 2), 10, 100);
    sample(&b, "steps", watch, at("2025-10-26 02:30", 1), 10, 50); /* the same by the wall */
    flush(&b);
    T_VALUE(&b, "sleep_minutes", "2025-10-26", 9 * 60);
    T_VALUE(&b, "bedtime", "2025-10-26", 23 * 60);
    T_VALUE(&b, "wake_time", "2025-10-26", 7 * 60);
    T_VALUE(&b, "steps", "2025-10-26", 150);
    finish(&b);
}

/* Leaves at 17:00 and arrives at 10:00 of the same day: it has 41 hours. */
TEST(a_flight_from_tokyo_to_san_francisco_lives_a_day_twice)
{
    struct bench b = begin();
    stage(&b, STAGE_LIGHT, watch, at("2025-05-10 23:00", 9), at("2025-05-11 06:00", 9));
    sample(&b, "steps", watch, at("2025-05-11 09:00", 9), 60, 4000);
    sample(&b, "steps", phone, at("2025-05-11 09:00", 9), 60, 3900);
    /* Over the ocean by the clock of home, awake by that of San Francisco. */
    stage(&b, STAGE_LIGHT, watch, at("2025-05-11 20:00", 9), at("2025-05-11 09:00", -7));
    sample(&b, "steps", watch, at("2025-05-11 09:30", -7), 60, 3000);
    /* By the wall the same hour as in Tokyo, and yet nothing is covered. */
    sample(&b, "steps", phone, at("2025-05-11 12:00", -7), 60, 500);
    stage(&b, STAGE_LIGHT, watch, at("2025-05-11 22:00", -7), at("2025-05-12 05:00", -7));
    flush(&b);
    T_VALUE(&b, "steps", "2025-05-11", 7500);
    T_VALUE(&b, "steps", "2025-05-10", NAN);
    T_VALUE(&b, "steps", "2025-05-12", NAN);
    T_VALUE(&b, "sleep_minutes", "2025-05-11", 7 * 60 + 5 * 60);
    T_VALUE(&b, "bedtime", "2025-05-11", 23 * 60);
    T_VALUE(&b, "wake_time", "2025-05-11", 6 * 60);
    T_VALUE(&b, "sleep_minutes", "2025-05-12", 7 * 60);
    const struct sleep *sleeps;
    size_t n;
    T_EQ(dataset_sleeps(b.data, &sleeps, &n), WEIR_OK);
    T_EQ(n, 3);
    finish(&b);
}

TEST(a_nap_is_no_part_of_the_night)
{
    struct bench b = begin();
    stage(&b, STAGE_LIGHT, watch, at("2025-03-14 23:30", -4), at("2025-03-15 06:30", -4));
    stage(&b, STAGE_LIGHT, watch, at("2025-03-15 14:10", -4), at("2025-03-15 14:38", -4));
    struct sleep nap = {.start = at("2025-03-16 14:10", -4),
                        .end = at("2025-03-16 14:42", -4),
                        .day = day_parse(SLICE("2025-03-16")),
                        .asleep = 28,
                        .in_bed = 32,
                        .awake = NAN,
                        .light = NAN,
                        .deep = NAN,
                        .rem = NAN,
                        .efficiency = 88,
                        .latency = NAN,
                        .source = band};
    T_EQ(b.sink.sleep(b.sink.user, &nap), WEIR_OK);
    flush(&b);
    T_VALUE(&b, "sleep_minutes", "2025-03-15", 420);
    T_VALUE(&b, "nap_minutes", "2025-03-15", 28);
    T_VALUE(&b, "sleep_minutes", "2025-03-16", NAN);
    T_VALUE(&b, "nap_minutes", "2025-03-16", 28);
    finish(&b);
}

TEST(a_sleep_that_two_files_tell_is_one)
{
    struct bench b = begin();
    struct sleep s = {.start = at("2025-03-14 23:10", -4),
                      .end = at("2025-03-15 06:42", -4),
                      .day = day_parse(SLICE("2025-03-15")),
                      .asleep = 400,
                      .in_bed = NAN,
                      .awake = 20,
                      .light = NAN,
                      .deep = 60,
                      .rem = 90,
                      .efficiency = NAN,
                      .latency = NAN,
                      .source = band};
    T_EQ(b.sink.sleep(b.sink.user, &s), WEIR_OK);
    s.deep = s.rem = NAN;
    s.latency = 7;
    T_EQ(b.sink.sleep(b.sink.user, &s), WEIR_OK);
    s.source = phone; /* knows no stages */
    s.asleep = 500;
    T_EQ(b.sink.sleep(b.sink.user, &s), WEIR_OK);
    flush(&b);
    T_VALUE(&b, "sleep_minutes", "2025-03-15", 400);
    T_VALUE(&b, "deep_sleep_minutes", "2025-03-15", 60);
    T_VALUE(&b, "sleep_latency", "2025-03-15", 7);
    finish(&b);
}

TEST(in_bed_alone_says_nothing_of_sleep)
{
    struct bench b = begin();
    stage(&b, STAGE_IN_BED, phone, at("2025-03-14 23:30", -4), at("2025-03-15 06:30", -4));
    flush(&b);
    T_VALUE(&b, "time_in_bed", "2025-03-15", 420);
    T_VALUE(&b, "sleep_minutes", "2025-03-15", NAN);
    T_VALUE(&b, "bedtime", "2025-03-15", NAN);
    finish(&b);
}

TEST(stages_of_one_source_that_overlap_count_once)
{
    struct bench b = begin();
    stage(&b, STAGE_IN_BED, watch, at("2025-03-14 23:00", 0), at("2025-03-15 07:00", 0));
    stage(&b, STAGE_ASLEEP, watch, at("2025-03-14 23:30", 0), at("2025-03-15 06:30", 0));
    stage(&b, STAGE_DEEP, watch, at("2025-03-15 01:00", 0), at("2025-03-15 02:00", 0));
    stage(&b, STAGE_AWAKE, watch, at("2025-03-15 03:00", 0), at("2025-03-15 03:10", 0));
    flush(&b);
    T_VALUE(&b, "sleep_minutes", "2025-03-15", 410);
    T_VALUE(&b, "deep_sleep_minutes", "2025-03-15", 60);
    T_VALUE(&b, "awake_minutes", "2025-03-15", 10);
    T_VALUE(&b, "time_in_bed", "2025-03-15", 480);
    T_VALUE(&b, "bedtime", "2025-03-15", 23 * 60 + 30);
    finish(&b);
}

/* ---- other rules ---- */

TEST(weight_is_the_newest_of_the_scale_and_pressure_the_mean)
{
    struct bench b = begin();
    static const struct source scale = {{"Scale", 5}, SOURCE_SCALE};
    static const struct source typed = {{"Health", 6}, SOURCE_MANUAL};
    sample(&b, "weight", scale, at("2025-03-01 07:00", 0), 0, 78.2);
    sample(&b, "weight", scale, at("2025-03-01 08:00", 0), 0, 78.1);
    sample(&b, "weight", scale, at("2025-03-01 09:00", 0), 0, 781); /* an error of entry */
    sample(&b, "weight", typed, at("2025-03-01 20:00", 0), 0, 80);
    sample(&b, "weight", typed, at("2025-03-02 20:00", 0), 0, 79.5);
    sample(&b, "systolic", scale, at("2025-03-01 07:00", 0), 0, 120);
    sample(&b, "systolic", scale, at("2025-03-01 07:00", 0), 0, 120); /* the same reading */
    sample(&b, "systolic", scale, at("2025-03-01 19:00", 0), 0, 130);
    flush(&b);
    T_VALUE(&b, "weight", "2025-03-01", 78.1);
    T_VALUE(&b, "weight", "2025-03-02", 79.5);
    T_VALUE(&b, "systolic", "2025-03-01", 125);
    finish(&b);
}

TEST(names_that_differ_by_blanks_are_one_source)
{
    struct bench b = begin();
    static const struct source wide = {{"Ann\xC2\xA0Watch ", 11}, SOURCE_WATCH};
    static const struct source plain = {{"Ann Watch", 9}, SOURCE_WATCH};
    sample(&b, "steps", wide, at("2025-03-01 07:00", 0), 10, 100);
    sample(&b, "steps", plain, at("2025-03-01 07:00", 0), 10, 100);
    flush(&b);
    T_VALUE(&b, "steps", "2025-03-01", 100);
    finish(&b);
}

TEST(facts_that_cannot_be_kept_are_refused)
{
    struct bench b = begin();
    struct sample s = {metric("steps"), at("2025-03-01 07:00", 0), at("2025-03-01 06:00", 0), 1,
                       watch};
    T_EQ(b.sink.sample(b.sink.user, &s), WEIR_OK);
    s.end = at("2025-03-01 08:00", 0);
    s.value = NAN;
    T_EQ(b.sink.sample(b.sink.user, &s), WEIR_OK);
    s.value = 1;
    s.end.at += 40LL * DAY_SECONDS;
    T_EQ(b.sink.sample(b.sink.user, &s), WEIR_OK);
    s.start.at = s.end.at = INT64_MIN;
    T_EQ(b.sink.sample(b.sink.user, &s), WEIR_OK);
    struct day_value v = {.metric = metric("steps"), .day = DAY_NONE, .source = watch};
    T_EQ(b.sink.day_value(b.sink.user, &v), WEIR_OK);
    struct facts_summary sum;
    facts_summary(b.facts, &sum);
    T_EQ(sum.n_refused, 5);
    T_EQ(sum.n_facts, 0);
    flush(&b);
    finish(&b);
}

TEST(workouts_and_labs_come_back_as_they_were)
{
    struct bench b = begin();
    struct workout w = {.activity = activity_find(SLICE("run")),
                        .label = SLICE("Morning Run"),
                        .start = at("2025-03-01 07:00", -5),
                        .day = day_parse(SLICE("2025-03-01")),
                        .minutes = 31.5,
                        .km = 5.02,
                        .kcal = NAN,
                        .avg_hr = 151,
                        .max_hr = NAN,
                        .steps = NAN,
                        .ascent_m = 12,
                        .source = watch};
    T_EQ(b.sink.workout(b.sink.user, &w), WEIR_OK);
    w.kcal = 310;
    T_EQ(b.sink.workout(b.sink.user, &w), WEIR_OK);
    w.source = phone; /* the telephone saw the same run */
    w.start.at += 60;
    T_EQ(b.sink.workout(b.sink.user, &w), WEIR_OK);
    struct lab l = {.analyte = analyte_find(SLICE("ldl")),
                    .label = SLICE("LDL-C"),
                    .day = 20000,
                    .value = 104.4,
                    .comparator = '<',
                    .printed = SLICE("2.7 mmol/L"),
                    .unit = SLICE("mg/dL"),
                    .range = SLICE("<3.0"),
                    .source = {SLICE("Lab"), SOURCE_LAB}};
    T_EQ(b.sink.lab(b.sink.user, &l), WEIR_OK);
    l.label = SLICE("LDL cholesterol"); /* from another file */
    T_EQ(b.sink.lab(b.sink.user, &l), WEIR_OK);
    flush(&b);
    const struct workout *ws;
    const struct lab *ls;
    size_t n;
    T_EQ(dataset_workouts(b.data, &ws, &n), WEIR_OK);
    T_EQ(n, 1);
    T_OK(n > 0 && ws[0].kcal == 310 && ws[0].km == 5.02 && isnan(ws[0].max_hr));
    T_OK(n > 0 && ws[0].activity == w.activity);
    T_EQ_STR(ws[0].label, "Morning Run");
    T_EQ(dataset_labs(b.data, &ls, &n), WEIR_OK);
    T_EQ(n, 1);
    T_OK(n > 0 && ls[0].value == 104.4 && ls[0].comparator == '<');
    T_EQ_STR(ls[0].printed, "2.7 mmol/L");
    finish(&b);
}

TEST(extremes_that_nobody_gave_follow_from_samples)
{
    struct bench b = begin();
    sample(&b, "heart_rate", watch, at("2025-03-01 07:00", 0), 0, 60);
    sample(&b, "heart_rate", watch, at("2025-03-01 08:00", 0), 0, 172);
    sample(&b, "heart_rate", watch, at("2025-03-01 09:00", 0), 0, 48);
    sample(&b, "heart_rate", phone, at("2025-03-01 09:00", 0), 0, 190);
    sample(&b, "heart_rate", watch, at("2025-03-02 08:00", 0), 0, 150);
    give(&b, "max_heart_rate", band, "2025-03-02", 155);
    flush(&b);
    T_VALUE(&b, "max_heart_rate", "2025-03-01", 172);
    T_VALUE(&b, "min_heart_rate", "2025-03-01", 48);
    T_VALUE(&b, "max_heart_rate", "2025-03-02", 155);
    T_OK(fabs(value(&b, "heart_rate", "2025-03-01") - 280.0 / 3) < 1e-9);
    finish(&b);
}

/* Ten years of many columns are more than a commit may have. */
TEST(a_wide_table_is_written_in_several_commits)
{
    struct bench b = begin();
    struct store_stats before, after;
    store_stats(b.store, &before);
    for (int column = 0; column < 120; column++) {
        char name[16];
        snprintf(name, sizeof name, "column %d", column);
        for (int day = 0; day < 2000; day++) {
            struct day_value v = {.name = weir_slice_of(name),
                                  .day = 15000 + day,
                                  .value = 1.0 / (day + 3),
                                  .source = phone};
            T_EQ(b.sink.day_value(b.sink.user, &v), WEIR_OK);
        }
    }
    flush(&b);
    store_stats(b.store, &after);
    T_OK(after.n_commits > before.n_commits + 1);
    const struct metric *const *metrics;
    const struct series *s = NULL;
    size_t n;
    T_EQ(dataset_metrics(b.data, &metrics, &n), WEIR_OK);
    T_EQ(n, 120);
    T_EQ(dataset_series(b.data, dataset_find_metric(b.data, SLICE("column 77")), &s), WEIR_OK);
    T_EQ(s ? s->n : 0, 2000);
    finish(&b);
}

TEST(there_is_a_ceiling_on_metrics_of_ones_own_over_all_imports)
{
    struct bench b = begin();
    for (int i = 0; i < 1100; i++) {
        if (i % 400 == 399) {
            flush(&b);
            facts_close(b.facts);
            T_EQ(facts_open(&b.facts, b.store, SLICE("ann")), WEIR_OK);
            b.sink = facts_sink(b.facts);
        }
        char name[16];
        snprintf(name, sizeof name, "n%d", i);
        struct day_value v = {
            .name = weir_slice_of(name), .day = 20000, .value = i, .source = phone};
        T_EQ(b.sink.day_value(b.sink.user, &v), WEIR_OK);
    }
    flush(&b);
    const struct metric *const *metrics;
    size_t n;
    T_EQ(dataset_metrics(b.data, &metrics, &n), WEIR_OK);
    T_EQ(n, 1000);
    finish(&b);
}

TEST(a_day_with_more_samples_than_a_document_holds_keeps_the_first)
{
    struct bench b = begin();
    enum { N = 260000 };
    struct moment when = at("2025-03-09 00:00", 0);
    for (int i = 0; i < N; i++) {
        struct moment m = {when.at + i / 4, 0};
        struct sample s = {metric("heart_rate"), m, m, 60 + i / 7e4, watch};
        T_EQ(b.sink.sample(b.sink.user, &s), WEIR_OK);
    }
    flush(&b);
    struct facts_summary sum;
    facts_summary(b.facts, &sum);
    T_OK(sum.n_refused > 0 && sum.n_new > 100000);
    T_EQ(sum.n_new + sum.n_refused, N);
    T_EQ(sum.n_duplicates, 0);
    const struct series *s;
    T_EQ(dataset_series(b.data, metric("heart_rate"), &s), WEIR_OK);
    T_EQ(s->n, 1);
    finish(&b);
}

TEST(of_several_values_of_a_day_the_whole_and_possible_one_counts)
{
    struct bench b = begin();
    struct day_value v = {.metric = metric("steps"),
                          .day = day_parse(SLICE("2025-03-01")),
                          .value = 900,
                          .is_partial = true,
                          .source = watch};
    T_EQ(b.sink.day_value(b.sink.user, &v), WEIR_OK);
    v.source = phone;
    v.is_partial = false;
    v.value = 800; /* less believed, but whole */
    T_EQ(b.sink.day_value(b.sink.user, &v), WEIR_OK);
    give(&b, "steps", watch, "2025-03-02", 500000);
    give(&b, "steps", phone, "2025-03-02", 5000);
    give(&b, "steps", watch, "2025-03-03", 100);
    give(&b, "steps", watch, "2025-03-03", 120); /* the service has counted again */
    give(&b, "steps", watch, "2025-03-04", 50);
    give(&b, "steps", band, "2025-03-04", 40); /* of one class: by name */
    flush(&b);
    T_VALUE(&b, "steps", "2025-03-01", 800);
    T_VALUE(&b, "steps", "2025-03-02", 5000);
    T_VALUE(&b, "steps", "2025-03-03", 120);
    T_VALUE(&b, "steps", "2025-03-04", 40);
    finish(&b);
}

TEST(somebody_without_facts_has_an_empty_dataset)
{
    struct bench b = begin();
    flush(&b);
    int32_t first, newest;
    const struct metric *const *metrics;
    const struct sleep *sleeps;
    size_t n;
    T_EQ(dataset_metrics(b.data, &metrics, &n), WEIR_OK);
    T_EQ(n, 0);
    T_EQ(dataset_sleeps(b.data, &sleeps, &n), WEIR_OK);
    T_EQ(n, 0);
    T_EQ(dataset_span(b.data, &first, &newest), WEIR_NOT_FOUND);
    struct facts *f = NULL;
    T_EQ(facts_open(&f, b.store, SLICE("")), WEIR_INVALID);
    T_EQ(facts_open(&f, b.store, SLICE("a/b")), WEIR_INVALID);
    finish(&b);
}

TEST(people_do_not_see_each_others_facts)
{
    struct bench b = begin();
    struct facts *other = NULL;
    T_EQ(facts_open(&other, b.store, SLICE("an")), WEIR_OK);
    struct fact_sink sink = facts_sink(other);
    struct day_value v = {.metric = metric("steps"), .day = 20000, .value = 7, .source = watch};
    T_EQ(sink.day_value(sink.user, &v), WEIR_OK);
    T_EQ(facts_flush(other, NULL), WEIR_OK);
    facts_close(other);
    give(&b, "weight", watch, "2025-03-01", 70);
    flush(&b);
    T_OK(!series(&b, "steps"));
    T_OK(series(&b, "weight"));
    finish(&b);
}

TEST(two_imports_in_turn_for_one_person_do_not_lose_facts)
{
    struct bench b = begin();
    struct facts *other = NULL;
    T_EQ(facts_open(&other, b.store, SLICE("ann")), WEIR_OK);
    struct fact_sink sink = facts_sink(other);
    struct day_value v = {.metric = metric("steps"), .day = 20000, .value = 7, .source = band};
    T_EQ(sink.day_value(sink.user, &v), WEIR_OK);
    give(&b, "steps", watch, "2025-03-01", 1000);
    flush(&b);
    T_EQ(facts_flush(other, NULL), WEIR_OK);
    facts_close(other);
    /* A dataset that was opened before hears of the new source when it needs it. */
    T_EQ(series(&b, "steps")->n, 2);
    give(&b, "steps", phone, "2025-03-02", 10);
    flush(&b);
    T_EQ(series(&b, "steps")->n, 3);
    finish(&b);
}
