/* SPDX-License-Identifier: Apache-2.0 */
/* Nights from stages, against one that goes through them minute by minute. */
#include "data/night.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/slice.h"
#include "t.h"

enum { MAX_STAGES = 30, DAY = 20000, MINUTES = 3 * 1440 };

static uint64_t below(uint64_t n)
{
    return t_random() % n;
}

static struct fact stage(enum sleep_stage what, int from, int minutes, uint16_t source)
{
    return (struct fact){.at = (int64_t)DAY * DAY_SECONDS + from * 60,
                         .value = what,
                         .seconds = (uint32_t)minutes * 60,
                         .metric = FACTS_STAGE,
                         .source = source};
}

/* What counts in each minute, by asking every stage. */
static void paint(const struct fact *facts, size_t n, int8_t minutes[MINUTES])
{
    static const int8_t strength[] = {[STAGE_IN_BED] = 1, [STAGE_ASLEEP] = 2, [STAGE_AWAKE] = 3,
                                      [STAGE_LIGHT] = 4,  [STAGE_REM] = 5,    [STAGE_DEEP] = 6};
    memset(minutes, -1, MINUTES);
    for (int m = 0; m < MINUTES; m++) {
        int64_t at = (int64_t)DAY * DAY_SECONDS + m * 60;
        for (size_t i = 0; i < n; i++) {
            if (at < facts[i].at || at >= facts[i].at + facts[i].seconds) continue;
            int8_t what = (int8_t)facts[i].value;
            if (minutes[m] < 0 || strength[what] > strength[minutes[m]]) minutes[m] = what;
        }
    }
}

static double count(const int8_t minutes[MINUTES], const struct sleep *s, int from, int to)
{
    double n = 0;
    for (int m = 0; m < MINUTES; m++) {
        int64_t at = (int64_t)DAY * DAY_SECONDS + m * 60;
        if (at >= s->start.at && at < s->end.at && minutes[m] >= from && minutes[m] <= to) n++;
    }
    return n;
}

TEST(minutes_of_a_night_are_those_of_every_minute)
{
    for (int round = 0; round < 2000; round++) {
        struct fact facts[MAX_STAGES];
        size_t n = 1 + below(MAX_STAGES);
        for (size_t i = 0; i < n; i++)
            facts[i] = stage((enum sleep_stage)below(6), (int)below(2000), 1 + (int)below(200), 0);
        qsort(facts, n, sizeof *facts, fact_compare);
        int8_t minutes[MINUTES];
        paint(facts, n, minutes);
        struct rows out = {0};
        T_EQ(night_assemble(facts, n, DAY - 1, DAY + 3, &out), WEIR_OK);
        const struct sleep_row *rows = out.ptr;
        double asleep = 0, painted = 0;
        for (int m = 0; m < MINUTES; m++) painted += minutes[m] >= STAGE_ASLEEP;
        for (size_t i = 0; i < out.n; i++) {
            const struct sleep *s = &rows[i].sleep;
            if (!isnan(s->asleep)) asleep += s->asleep;
            if (!isnan(s->deep)) T_EQ(s->deep, count(minutes, s, STAGE_DEEP, STAGE_DEEP));
            if (!isnan(s->rem)) T_EQ(s->rem, count(minutes, s, STAGE_REM, STAGE_REM));
            if (!isnan(s->awake)) T_EQ(s->awake, count(minutes, s, STAGE_AWAKE, STAGE_AWAKE));
            /* Sleeps of one source lie apart. */
            if (i > 0) T_OK(s->start.at - rows[i - 1].sleep.end.at > 0);
        }
        T_EQ(asleep, painted);
        mem_free(out.ptr);
    }
}

TEST(a_gap_of_more_than_90_minutes_ends_a_sleep)
{
    struct rows out = {0};
    struct fact facts[] = {stage(STAGE_LIGHT, 0, 60, 0), stage(STAGE_LIGHT, 150, 60, 0),
                           stage(STAGE_LIGHT, 301, 60, 0)};
    T_EQ(night_assemble(facts, 3, DAY, DAY, &out), WEIR_OK);
    T_EQ(out.n, 2);
    mem_free(out.ptr);
}

TEST(stages_of_two_sources_are_two_sleeps_of_which_one_counts)
{
    static const enum source_class kinds[] = {SOURCE_PHONE, SOURCE_WATCH, SOURCE_WATCH};
    struct rows out = {0};
    struct fact facts[] = {stage(STAGE_ASLEEP, 0, 400, 0), stage(STAGE_ASLEEP, 0, 300, 1),
                           stage(STAGE_ASLEEP, 0, 350, 2)};
    qsort(facts, 3, sizeof *facts, fact_compare);
    T_EQ(night_assemble(facts, 3, DAY, DAY, &out), WEIR_OK);
    T_EQ(out.n, 3);
    size_t n = night_choose(out.ptr, out.n, kinds);
    const struct sleep_row *rows = out.ptr;
    T_EQ(n, 1);
    T_EQ(rows[0].source, 1);
    double values[NIGHT_N_VALUES];
    night_values(rows, n, values);
    T_EQ(values[NIGHT_ASLEEP], 300);
    T_OK(isnan(values[NIGHT_DEEP]));
    T_OK(isnan(values[NIGHT_NAP]));
    mem_free(out.ptr);
}

TEST(a_nap_is_short_and_in_daytime)
{
    static const struct {
        int from, minutes;
        bool is_nap;
    } cases[] = {{14 * 60, 30, true}, {9 * 60, 180, true},      {9 * 60, 181, false},
                 {8 * 60, 60, false}, {20 * 60, 61, false},     {23 * 60, 30, false},
                 {3 * 60, 60, false}, {19 * 60 + 30, 90, true}, {23 * 60 + 30, 60, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t at = (int64_t)DAY * DAY_SECONDS + cases[i].from * 60;
        struct sleep s = {
            .start = {at, 0}, .end = {at + cases[i].minutes * 60, 0}, .asleep = cases[i].minutes};
        if (night_is_nap(&s) != cases[i].is_nap) t_fail(__FILE__, __LINE__, "case %zu", i);
    }
}
