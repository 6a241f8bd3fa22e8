/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Oura's tables: the trends of its web site (one row a day, durations in seconds) and the single
 * tables of its newer export, whose columns have the names of the API. Resting heart rate is the
 * lowest of the night, as the ring's own app shows it.
 */
#include <math.h>

#include "base/slice.h"
#include "data/day.h"
#include "import/kinds.h"
#include "import/table_sleep.h"

static const struct table_column columns[] = {
    {"date", FIELD_DATE, NULL, NULL},
    {"day", FIELD_DATE, NULL, NULL},
    {"Bedtime Start", FIELD_START, NULL, NULL},
    {"Bedtime End", FIELD_END, NULL, NULL},
    {"type", FIELD_KIND, NULL, NULL},
    {"Total Sleep Time|Total Sleep Duration", FIELD_ASLEEP, NULL, "s"},
    {"Total Bedtime|time_in_bed", FIELD_IN_BED, NULL, "s"},
    {"Awake Time", FIELD_AWAKE, NULL, "s"},
    {"REM Sleep Time|REM Sleep Duration", FIELD_REM, NULL, "s"},
    {"Light Sleep Time|Light Sleep Duration", FIELD_LIGHT, NULL, "s"},
    {"Deep Sleep Time|Deep Sleep Duration", FIELD_DEEP, NULL, "s"},
    {"Sleep Efficiency|efficiency", FIELD_EFFICIENCY, NULL, NULL},
    {"Sleep Latency|latency", FIELD_LATENCY, NULL, "s"},
    {"Sleep Score", FIELD_NONE, "sleep_score", NULL},
    {"Readiness Score", FIELD_NONE, "readiness_score", NULL},
    {"Activity Score", FIELD_NONE, "activity_score", NULL},
    {"Lowest Resting Heart Rate|lowest_heart_rate", FIELD_NONE, "resting_heart_rate", NULL},
    {"Average HRV", FIELD_NONE, "hrv_rmssd", NULL},
    {"Temperature Deviation|Temperature Deviation (°C)|Temperature Deviation (C)", FIELD_NONE,
     "temperature_deviation", "degC"},
    {"Respiratory Rate|average_breath", FIELD_NONE, "respiratory_rate", NULL},
    {"Steps", FIELD_NONE, "steps", NULL},
    {"Equivalent Walking Distance", FIELD_NONE, "distance", "meter"},
    {"Activity Burn|active_calories", FIELD_NONE, "active_energy", "kcal"},
    {"Total Burn|total_calories", FIELD_NONE, "total_energy", "kcal"},
    {"Average SpO2|SpO2|spo2_percentage", FIELD_NONE, "blood_oxygen", NULL},
    {"VO2 Max", FIELD_NONE, "vo2max", NULL},
    {"id|timestamp", FIELD_UNUSED, NULL, NULL},
};

/* A nap has no say in the values of the day: those are of the long sleep. */
static bool is_nap(const struct table *t)
{
    struct weir_slice kind = table_cell(t, FIELD_KIND);
    return kind.len > 0 && !weir_slice_is(kind, "long_sleep");
}

static enum weir_status row(struct table *t)
{
    struct weir_slice kind = table_cell(t, FIELD_KIND);
    struct sleep s = {.day = table_day(t, FIELD_DATE), .is_nap = is_nap(t)};
    if (s.day == DAY_NONE || weir_slice_is(kind, "deleted")) return WEIR_OK;
    table_read_sleep(t, &s);
    bool has_moments = table_cell(t, FIELD_START).len > 0 && table_cell(t, FIELD_END).len > 0;
    enum weir_status st = WEIR_OK;
    if (has_moments) {
        if (!table_moment(t, FIELD_START, &s.start) || !table_moment(t, FIELD_END, &s.end))
            return WEIR_OK;
        if (!isnan(s.asleep)) st = table_give_sleep(t, &s);
    } else if (!s.is_nap) {
        st = table_give_sleep_day(t, &s);
    }
    return st == WEIR_OK && !s.is_nap ? table_days(t, s.day, false) : st;
}

#define OURA                                                                                       \
    .name = "Oura", .sure = 90, .columns = columns, .n_columns = sizeof columns / sizeof *columns, \
    .source = "Oura Ring", .source_class = SOURCE_WATCH, .row = row

/* Any of these is Oura's alone; steps with a date would not be. */
static const struct table_format formats[] = {
    {OURA, .needs = FIELD_BIT(FIELD_DATE) | FIELD_BIT(FIELD_START) | FIELD_BIT(FIELD_ASLEEP)},
    {OURA, .needs = FIELD_BIT(FIELD_DATE), .metric = "readiness_score"},
    {OURA, .needs = FIELD_BIT(FIELD_DATE), .metric = "activity_score"},
    {OURA, .needs = FIELD_BIT(FIELD_DATE) | FIELD_BIT(FIELD_ASLEEP), .metric = "hrv_rmssd"},
};

TABLE_KIND(reader_oura, "oura", "Oura trends");
