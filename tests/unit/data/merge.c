/* SPDX-License-Identifier: Apache-2.0 */
/* Daily values of samples, against one that goes through time minute by minute. */
#include "data/merge.h"

#include <math.h>
#include <stdlib.h>

#include "base/slice.h"
#include "t.h"

enum { N_SOURCES = 4, MAX_FACTS = 60, FIRST_DAY = 20000, N_DAYS = 3, MINUTES = N_DAYS * 1440 };

static const enum source_class kinds[N_SOURCES] = {SOURCE_WATCH, SOURCE_PHONE, SOURCE_APP,
                                                   SOURCE_PHONE};

static const struct metric *metric(const char *name)
{
    return metric_find(weir_slice_of(name));
}

static uint64_t below(uint64_t n)
{
    return t_random() % n;
}

static size_t random_facts(struct fact *facts)
{
    size_t n = 1 + below(MAX_FACTS);
    for (size_t i = 0; i < n; i++) {
        int32_t offset = (int32_t)below(3) * 3600;
        facts[i] = (struct fact){.at = (int64_t)FIRST_DAY * DAY_SECONDS + (int64_t)below(2880) * 60,
                                 .value = (double)below(50) * 60,
                                 .seconds = below(5) == 0 ? 0 : (uint32_t)(below(300) * 60),
                                 .offset = offset,
                                 .end_offset = offset,
                                 .source = (uint16_t)below(N_SOURCES)};
    }
    qsort(facts, n, sizeof *facts, fact_compare);
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || !fact_is_same(&facts[kept - 1], &facts[i])) facts[kept++] = facts[i];
    return kept;
}

static struct merge_input input(const char *name, const struct fact *facts, size_t n)
{
    return (struct merge_input){.metric = metric(name),
                                .facts = facts,
                                .n = n,
                                .kinds = kinds,
                                .n_sources = N_SOURCES,
                                .from = FIRST_DAY,
                                .to = FIRST_DAY + N_DAYS - 1};
}

static bool is_before(const struct fact *a, const struct fact *b)
{
    const struct metric *m = metric("steps");
    unsigned x = merge_rank(m, kinds[a->source]), y = merge_rank(m, kinds[b->source]);
    return x < y || (x == y && a->source < b->source);
}

static bool is_on(const struct fact *f, int64_t at)
{
    return at >= f->at && at < f->at + f->seconds;
}

/* In a pause of at most an hour of those of the same class that come before. */
static bool is_in_pause(const struct fact *facts, size_t n, const struct fact *f, int64_t at)
{
    int64_t last = INT64_MIN / 2, next = INT64_MAX / 2;
    for (size_t i = 0; i < n; i++) {
        const struct fact *o = &facts[i];
        if (o->seconds == 0 || kinds[o->source] != kinds[f->source] || o->source >= f->source)
            continue;
        int64_t end = o->at + o->seconds;
        if (end <= at && end > last) last = end;
        if (o->at > at && o->at < next) next = o->at;
    }
    return next - last <= 3600;
}

/* Whether somebody who is believed more has anything in this minute; at a point, also points. */
static bool is_taken(const struct fact *facts, size_t n, const struct fact *f, int64_t at)
{
    for (size_t i = 0; i < n; i++) {
        if (!is_before(&facts[i], f)) continue;
        if (is_on(&facts[i], at)) return true;
        if (f->seconds == 0 && facts[i].seconds == 0 && facts[i].at == at) return true;
    }
    return is_in_pause(facts, n, f, at);
}

static bool is_outdone(const struct fact *facts, size_t n, const struct fact *f)
{
    for (size_t i = 0; i < n; i++)
        if (facts[i].source == f->source && facts[i].at == f->at &&
            facts[i].seconds == f->seconds && facts[i].value > f->value)
            return true;
    return false;
}

static void add_slowly(const struct fact *facts, size_t n, double sums[N_DAYS], bool has[N_DAYS])
{
    for (size_t i = 0; i < n; i++) {
        const struct fact *f = &facts[i];
        if (is_outdone(facts, n, f)) continue;
        uint32_t minutes = f->seconds > 0 ? f->seconds / 60 : 1;
        for (uint32_t k = 0; k < minutes; k++) {
            int64_t at = f->at + (int64_t)k * 60;
            int64_t day = (at + f->offset) / DAY_SECONDS - FIRST_DAY;
            if (is_taken(facts, n, f, at) || day < 0 || day >= N_DAYS) continue;
            sums[day] += f->value / minutes;
            has[day] = true;
        }
    }
}

TEST(sums_are_those_of_every_minute)
{
    for (size_t round = 0; round < t_rounds(600); round++) {
        struct fact facts[MAX_FACTS];
        size_t n = random_facts(facts), n_days;
        double sums[N_DAYS] = {0};
        bool has[N_DAYS] = {false};
        add_slowly(facts, n, sums, has);
        struct merge_input in = input("steps", facts, n);
        struct merged_day days[MERGE_DAYS];
        T_EQ(merge_days(&in, days, &n_days), WEIR_OK);
        size_t k = 0;
        for (int32_t d = 0; d < N_DAYS; d++) {
            bool is_there = k < n_days && days[k].day == FIRST_DAY + d;
            T_EQ(is_there, has[d]);
            if (!is_there) continue;
            if (fabs(days[k].value - sums[d]) > 1e-6)
                t_fail(__FILE__, __LINE__, "round %zu, day %d: %f, not %f", round, d, days[k].value,
                       sums[d]);
            k++;
        }
        T_EQ(k, n_days);
    }
}

TEST(two_watches_worn_all_day_are_not_added)
{
    static const enum source_class both[] = {SOURCE_WATCH, SOURCE_WATCH};
    struct fact facts[400];
    size_t n = 0, n_days;
    double first = 0;
    for (int minute = 0; minute < 900; minute += 5) {
        int64_t at = (int64_t)FIRST_DAY * DAY_SECONDS + (360 + minute) * 60;
        /* A minute of each five by one, and all the time by the other. */
        facts[n++] = (struct fact){.at = at, .value = 40, .seconds = 60, .source = 0};
        facts[n++] = (struct fact){.at = at, .value = 41, .seconds = 300, .source = 1};
        first += 40;
    }
    /* The first one's battery is empty by nine in the evening. */
    int64_t evening = (int64_t)FIRST_DAY * DAY_SECONDS + (360 + 900) * 60;
    facts[n++] = (struct fact){.at = evening, .value = 500, .seconds = 600, .source = 1};
    struct merge_input in = input("steps", facts, n);
    in.kinds = both;
    in.n_sources = 2;
    struct merged_day days[MERGE_DAYS];
    T_EQ(merge_days(&in, days, &n_days), WEIR_OK);
    T_EQ(n_days, 1);
    /* Of the second one's last piece before, four minutes lie behind all that the first has. */
    T_OK(fabs(days[0].value - (first + 500 + 41 * 0.8)) < 1e-9);
}

TEST(what_lies_free_is_exact)
{
    struct fact facts[1000];
    double sum = 0;
    for (int i = 0; i < 1000; i++) {
        facts[i] = (struct fact){.at = (int64_t)FIRST_DAY * DAY_SECONDS + i * 60,
                                 .value = i % 100,
                                 .seconds = 60,
                                 .source = (uint16_t)(i % 2)};
        sum += facts[i].value;
    }
    struct merge_input in = input("steps", facts, 1000);
    struct merged_day days[MERGE_DAYS];
    size_t n;
    T_EQ(merge_days(&in, days, &n), WEIR_OK);
    T_EQ(n, 1);
    T_OK(days[0].value == sum);
}

/* All of a day in one sample, as services write it, on the day that has 25 hours. */
TEST(a_whole_day_on_which_clocks_change_is_not_shared_with_the_next)
{
    int64_t midnight = (int64_t)FIRST_DAY * DAY_SECONDS;
    struct fact facts[] = {
        {.at = midnight - 7200,
         .value = 5000,
         .seconds = 25 * 3600,
         .offset = 7200,
         .end_offset = 3600},
        /* Noon to noon, as clocks are changed in the second day's morning. */
        {.at = midnight + DAY_SECONDS + 10 * 3600,
         .value = 2500,
         .seconds = 25 * 3600,
         .offset = 7200,
         .end_offset = 3600,
         .source = 3},
    };
    struct merge_input in = input("steps", facts, 2);
    struct merged_day days[MERGE_DAYS];
    size_t n;
    T_EQ(merge_days(&in, days, &n), WEIR_OK);
    T_EQ(n, 3);
    T_OK(days[0].value == 5000);
    T_OK(fabs(days[1].value - 1200) < 1e-9);
    T_OK(fabs(days[2].value - 1300) < 1e-9);
}

TEST(an_error_of_entry_does_not_spoil_a_sum_but_is_shown_alone)
{
    int64_t midnight = (int64_t)FIRST_DAY * DAY_SECONDS;
    struct fact facts[] = {
        {.at = midnight + 60, .value = 8000, .seconds = 600},
        {.at = midnight + 120, .value = 1e9, .seconds = 60},
        {.at = midnight + 5000, .value = -500, .seconds = 60, .source = 1},
        {.at = midnight + DAY_SECONDS, .value = -1, .seconds = 60},
    };
    struct merge_input in = input("steps", facts, 4);
    struct merged_day days[MERGE_DAYS];
    size_t n;
    T_EQ(merge_days(&in, days, &n), WEIR_OK);
    T_EQ(n, 2);
    T_OK(days[0].value == 8000);
    T_OK(days[1].value == -1);
}

TEST(a_time_of_day_is_averaged_around_midnight)
{
    struct metric clock = *metric("bedtime");
    clock.group = "mind";
    struct fact facts[] = {
        {.at = (int64_t)FIRST_DAY * DAY_SECONDS, .value = 1430},
        {.at = (int64_t)FIRST_DAY * DAY_SECONDS + 60, .value = 20},
    };
    struct merge_input in = input("steps", facts, 2);
    in.metric = &clock;
    struct merged_day days[MERGE_DAYS];
    size_t n;
    T_EQ(merge_days(&in, days, &n), WEIR_OK);
    T_EQ(n, 1);
    T_OK(fabs(days[0].value - 5) < 1e-6);
}

TEST(every_class_has_a_rank_of_its_own_in_every_group)
{
    for (size_t i = 0; i < metric_count(); i++) {
        unsigned seen = 0;
        for (int kind = SOURCE_UNKNOWN; kind <= SOURCE_LAB; kind++)
            seen |= 1u << merge_rank(metric_at(i), (enum source_class)kind);
        T_EQ(seen, 127);
    }
    T_OK(merge_rank(metric("steps"), SOURCE_WATCH) < merge_rank(metric("steps"), SOURCE_PHONE));
    T_OK(merge_rank(metric("weight"), SOURCE_SCALE) < merge_rank(metric("weight"), SOURCE_MANUAL));
    T_OK(merge_rank(metric("water"), SOURCE_APP) < merge_rank(metric("water"), SOURCE_WATCH));
}
