/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables in a Fitbit takeout: daily heart rate variability, oxygen, breathing, temperature,
 * scores. Their timestamps stand for the day ("2025-03-01T00:00:00Z" is that day wherever one
 * lives). Fitbit's stress score is high when there is little stress, so that it is kept under its
 * own name and not as the stress of others.
 */
#include <math.h>

#include "base/slice.h"
#include "data/day.h"
#include "import/kinds.h"
#include "import/minutes.h"
#include "import/table_sleep.h"

static const struct table_column hrv_columns[] = {
    {"timestamp", FIELD_DATE, NULL, NULL},
    {"rmssd", FIELD_NONE, "hrv_rmssd", NULL},
    {"nremhr", FIELD_VALUE, NULL, NULL},
    {"entropy", FIELD_UNUSED, NULL, NULL},
};
static const struct table_column oxygen_columns[] = {
    {"timestamp", FIELD_DATE, NULL, NULL},
    {"average_value", FIELD_NONE, "blood_oxygen", NULL},
    {"lower_bound", FIELD_RANGE, NULL, NULL},
    {"upper_bound", FIELD_FLAG, NULL, NULL},
};
static const struct table_column breath_columns[] = {
    {"timestamp", FIELD_DATE, NULL, NULL},
    {"daily_respiratory_rate|full_sleep_breathing_rate", FIELD_NONE, "respiratory_rate", NULL},
};
static const struct table_column score_columns[] = {
    {"timestamp", FIELD_DATE, NULL, NULL},
    {"sleep_log_entry_id", FIELD_NAME, NULL, NULL},
    {"overall_score", FIELD_NONE, "sleep_score", NULL},
    {"resting_heart_rate", FIELD_NONE, "resting_heart_rate", NULL},
    {"composition_score|revitalization_score|duration_score|deep_sleep_in_minutes|restlessness",
     FIELD_UNUSED, NULL, NULL},
};
static const struct table_column stress_columns[] = {
    {"DATE", FIELD_DATE, NULL, NULL},
    {"STRESS_SCORE", FIELD_VALUE, NULL, NULL},
    {"CALCULATION_FAILED", FIELD_FLAG, NULL, NULL},
};
static const struct table_column temperature_columns[] = {
    {"sleep_end", FIELD_DATE, NULL, NULL},
    {"sleep_start", FIELD_START, NULL, NULL},
    {"nightly_temperature", FIELD_NONE, "skin_temperature", "degC"},
};
static const struct table_column readiness_columns[] = {
    {"date", FIELD_DATE, NULL, NULL},
    {"readiness_score_value", FIELD_NONE, "readiness_score", NULL},
};

/* Tables of which the daily ones say what matters, or which say nothing here. */
static const struct table_column detail_columns[] = {
    {"timestamp", FIELD_DATE, NULL, NULL},
    {"rmssd", FIELD_VALUE, NULL, NULL},
    {"coverage", FIELD_RANGE, NULL, NULL},
};
static const struct table_column zone_columns[] = {
    {"date_time", FIELD_DATE, NULL, NULL},
    {"heart_zone_id", FIELD_KIND, NULL, NULL},
    {"total_minutes", FIELD_VALUE, NULL, NULL},
};

/* By the minute; that it is oxygen stands in the name of the file alone. */
static const struct table_column minute_columns[] = {
    {"timestamp", FIELD_START, NULL, NULL},
    {"value", FIELD_NONE, "blood_oxygen", NULL},
};

/* The newer half of a takeout: a row a reading, in UTC, with the device's name. */
static const struct table_column reading_columns[] = {
    {"timestamp", FIELD_START, NULL, NULL},
    {"beats per minute", FIELD_NONE, "heart_rate", NULL},
    {"steps", FIELD_NONE, "steps", NULL},
    {"data source", FIELD_TITLE, NULL, NULL},
};

struct state {
    struct minutes heart;
};

static bool read_reading(struct table *t, struct sample *s)
{
    for (size_t i = 0; i < t->n_columns; i++) {
        s->metric = t->columns[i].metric;
        if (!s->metric || !table_value(t, i, &s->value)) continue;
        if (!table_moment(t, FIELD_START, &s->start)) return false;
        s->start.offset = zone_offset(t->context.zone, s->start.at);
        return true;
    }
    return false;
}

/* Fitbit writes 50 % where it could not measure. */
static enum weir_status minute_row(struct table *t)
{
    struct sample s = {.source = t->source};
    if (!read_reading(t, &s) || s.value <= 50) return WEIR_OK;
    s.end = s.start;
    return t->context.sink.sample(t->context.sink.user, &s);
}

static enum weir_status reading_row(struct table *t)
{
    struct state *state = t->state;
    struct sample s = {.source = t->source};
    if (!read_reading(t, &s)) return WEIR_OK;
    if (strcmp(s.metric->name, "heart_rate") == 0)
        return minutes_add(&state->heart, &t->context.sink, &s);
    s.end = (struct moment){s.start.at + 60, s.start.offset};
    return t->context.sink.sample(t->context.sink.user, &s);
}

static enum weir_status reading_end(struct table *t)
{
    struct state *state = t->state;
    struct sample like = {.metric = metric_find(SLICE("heart_rate")), .source = t->source};
    return minutes_end(&state->heart, &t->context.sink, &like);
}

static enum weir_status left_row(struct table *t)
{
    (void)t;
    return WEIR_OK;
}

static enum weir_status day_row(struct table *t)
{
    int32_t day = table_day(t, FIELD_DATE);
    return day == DAY_NONE ? WEIR_OK : table_days(t, day, false);
}

static enum weir_status stress_row(struct table *t)
{
    bool has_failed = false;
    int32_t day = table_day(t, FIELD_DATE);
    (void)cell_yes_no(table_cell(t, FIELD_FLAG), &has_failed);
    double score = table_number(t, FIELD_VALUE, NULL);
    if (day == DAY_NONE || isnan(score) || has_failed || score == 0) return WEIR_OK;
    return table_day_value(t, NULL, SLICE("stress management score"), day, score);
}

#define FITBIT(list)                                                                               \
    .name = "Fitbit", .sure = 95, .columns = (list), .n_columns = sizeof(list) / sizeof *(list),   \
    .source = "Fitbit", .source_class = SOURCE_WATCH
#define DAY FIELD_BIT(FIELD_DATE)
#define LEFT(list, title)                                                                          \
    .name = (title), .sure = 95, .columns = (list), .n_columns = sizeof(list) / sizeof *(list),    \
    .source = "Fitbit", .is_left = true, .row = left_row

static const struct table_format formats[] = {
    {FITBIT(hrv_columns), .needs = DAY | FIELD_BIT(FIELD_VALUE), .metric = "hrv_rmssd",
     .row = day_row},
    {FITBIT(oxygen_columns), .needs = DAY | FIELD_BIT(FIELD_RANGE) | FIELD_BIT(FIELD_FLAG),
     .metric = "blood_oxygen", .row = day_row},
    {FITBIT(breath_columns), .needs = DAY, .metric = "respiratory_rate", .row = day_row},
    {FITBIT(score_columns), .needs = DAY | FIELD_BIT(FIELD_NAME), .metric = "sleep_score",
     .row = day_row},
    {FITBIT(stress_columns), .needs = DAY | FIELD_BIT(FIELD_VALUE) | FIELD_BIT(FIELD_FLAG),
     .row = stress_row},
    {FITBIT(temperature_columns), .needs = DAY | FIELD_BIT(FIELD_START),
     .metric = "skin_temperature", .row = day_row},
    {LEFT(detail_columns, "heart rate variability by five minutes"),
     .needs = DAY | FIELD_BIT(FIELD_VALUE) | FIELD_BIT(FIELD_RANGE)},
    {LEFT(zone_columns, "minutes in heart rate zones"),
     .needs = DAY | FIELD_BIT(FIELD_VALUE) | FIELD_BIT(FIELD_KIND)},
    {FITBIT(minute_columns), .needs = FIELD_BIT(FIELD_START), .metric = "blood_oxygen",
     .file = "SpO2", .row = minute_row},
    {FITBIT(reading_columns), .needs = FIELD_BIT(FIELD_START) | FIELD_BIT(FIELD_TITLE),
     .state_bytes = sizeof(struct state), .row = reading_row, .end = reading_end},
    {FITBIT(readiness_columns), .needs = DAY, .metric = "readiness_score", .row = day_row},
};

TABLE_KIND(reader_fitbit_csv, "fitbit-csv", "Fitbit takeout table");
