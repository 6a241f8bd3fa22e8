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
