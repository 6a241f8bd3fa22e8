/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fitabase's tables of Fitbit data, as research shares them: days, hours, minutes, heart rates,
 * sleep by the minute, weights. Each row has the Id of a person. weir keeps one person's data in
 * one place, so a file with several is refused unless one of them is asked for; the rows of the
 * others are then counted and left. Times are those of the wall; slashed dates are month first.
 */
#include <math.h>

#include "base/slice.h"
#include "data/day.h"
#include "import/kinds.h"
#include "import/minutes.h"
#include "import/table_sleep.h"

enum { PERSON_BYTES = 64, HOUR = 3600, MINUTE = 60 };

#define PERSON                                                                                     \
    {                                                                                              \
        "Id", FIELD_PERSON, NULL, NULL                                                             \
    }

static const struct table_column day_columns[] = {
    PERSON,
    {"ActivityDate|ActivityDay", FIELD_DATE, NULL, NULL},
    {"TotalSteps|StepTotal", FIELD_NONE, "steps", NULL},
    {"TotalDistance", FIELD_NONE, "distance", "km"},
    {"VeryActiveMinutes", FIELD_NONE, "very_active_minutes", NULL},
    {"FairlyActiveMinutes", FIELD_DURATION, NULL, "min"},
    {"LightlyActiveMinutes", FIELD_VALUE, NULL, "min"},
    {"SedentaryMinutes", FIELD_NONE, "sedentary_minutes", NULL},
    {"Calories", FIELD_NONE, "total_energy", "kcal"},
    {"RestingHeartRate", FIELD_NONE, "resting_heart_rate", NULL},
    {"Floors", FIELD_NONE, "floors", NULL},
    {"TrackerDistance|LoggedActivitiesDistance|VeryActiveDistance|ModeratelyActiveDistance|"
     "LightActiveDistance|SedentaryActiveDistance|CaloriesBMR|MarginalCalories",
     FIELD_UNUSED, NULL, NULL},
};

static const struct table_column sleep_day_columns[] = {
    PERSON,
    {"SleepDay", FIELD_DATE, NULL, NULL},
    {"TotalSleepRecords", FIELD_UNUSED, NULL, NULL},
    {"TotalMinutesAsleep", FIELD_ASLEEP, NULL, "min"},
    {"TotalTimeInBed", FIELD_IN_BED, NULL, "min"},
    {"TotalTimeAwake", FIELD_AWAKE, NULL, "min"},
    {"TotalMinutesLight", FIELD_LIGHT, NULL, "min"},
    {"TotalMinutesDeep", FIELD_DEEP, NULL, "min"},
    {"TotalMinutesREM", FIELD_REM, NULL, "min"},
};

static const struct table_column hour_columns[] = {
    PERSON,
    {"ActivityHour", FIELD_START, NULL, NULL},
    {"StepTotal", FIELD_NONE, "steps", NULL},
    {"Calories", FIELD_NONE, "total_energy", "kcal"},
    {"TotalIntensity|AverageIntensity", FIELD_UNUSED, NULL, NULL},
};

static const struct table_column minute_columns[] = {
    PERSON,
    {"ActivityMinute", FIELD_START, NULL, NULL},
    {"Steps", FIELD_NONE, "steps", NULL},
    {"Calories", FIELD_NONE, "total_energy", "kcal"},
    {"Intensity|METs", FIELD_UNUSED, NULL, NULL},
};

static const struct table_column heart_columns[] = {
    PERSON,
    {"Time", FIELD_START, NULL, NULL},
    {"Value", FIELD_NONE, "heart_rate", NULL},
};

static const struct table_column night_columns[] = {
    PERSON,
    {"date", FIELD_START, NULL, NULL},
    {"value", FIELD_STAGE, NULL, NULL},
    {"logId", FIELD_KIND, NULL, NULL},
};

static const struct table_column weight_columns[] = {
    PERSON,
    {"Date", FIELD_START, NULL, NULL},
    {"WeightKg", FIELD_NONE, "weight", "kg"},
    {"WeightPounds", FIELD_UNUSED, NULL, NULL},
    {"Fat", FIELD_NONE, "body_fat", NULL},
    {"BMI", FIELD_NONE, "bmi", NULL},
    {"IsManualReport", FIELD_FLAG, NULL, NULL},
    {"LogId", FIELD_UNUSED, NULL, NULL},
};

struct state {
    char person[PERSON_BYTES]; /* whose rows are taken; "": the first row says */
    bool was_taken;            /* some row was of the person asked for */
    struct minutes heart;
    struct stage stage; /* the run of minutes that goes on; n_minutes 0: none */
    unsigned n_minutes;
};

/* ---- one person ---- */

static enum weir_status check_person(struct table *t, bool *is_taken)
{
    struct state *state = t->state;
    struct weir_slice id = table_cell(t, FIELD_PERSON);
    struct weir_slice wanted = t->context.person;
    *is_taken = false;
    if (id.len == 0 || id.len >= sizeof state->person) {
        table_refuse(t, "a row without the Id of its person");
        return WEIR_OK;
    }
    if (wanted.len > 0) {
        *is_taken = slice_eq(id, wanted);
        if (*is_taken) state->was_taken = true;
        if (!*is_taken) t->context.sink.ignore(t->context.sink.user, SLICE("rows of others"));
        return WEIR_OK;
    }
    if (state->person[0] == 0) memcpy(state->person, id.ptr, id.len);
    *is_taken = weir_slice_is(id, state->person);
    if (*is_taken) return WEIR_OK;
    return table_fail(t,
                      "line %llu: the file holds several people (%s, %.*s, ...); "
                      "say which one is meant with --person %s",
                      (unsigned long long)t->row.line, state->person, (int)id.len, id.ptr,
                      state->person);
}

typedef enum weir_status (*row_fn)(struct table *t);

static enum weir_status of_one(struct table *t, row_fn row)
{
    bool is_taken;
    t->dates = DATES_MONTH_FIRST;
    enum weir_status st = check_person(t, &is_taken);
    return st == WEIR_OK && is_taken ? row(t) : st;
}

/* ---- rows ---- */

/* Fitbit counts as active what is fairly or very active. */
static enum weir_status give_active(struct table *t, int32_t day, double fairly)
{
    double very;
    for (size_t i = 0; i < t->n_columns; i++) {
        const struct metric *m = t->columns[i].metric;
        if (!m || strcmp(m->name, "very_active_minutes") != 0 || !table_value(t, i, &very))
            continue;
        return table_day_value(t, metric_find(SLICE("active_minutes")), SLICE(""), day,
                               fairly + very);
    }
    return WEIR_OK;
}

static enum weir_status take_day(struct table *t)
{
    int32_t day = table_day(t, FIELD_DATE);
    if (day == DAY_NONE) return WEIR_OK;
    enum weir_status st = table_days(t, day, false);
    double fairly = table_number(t, FIELD_DURATION, NULL);
    if (st == WEIR_OK && !isnan(fairly)) st = give_active(t, day, fairly);
    double lightly = table_number(t, FIELD_VALUE, NULL);
    if (st == WEIR_OK && !isnan(lightly))
        st = table_day_value(t, NULL, SLICE("lightly active minutes"), day, lightly);
    return st;
}

static enum weir_status take_sleep_day(struct table *t)
{
    struct sleep s = {.day = table_day(t, FIELD_DATE)};
    if (s.day == DAY_NONE) return WEIR_OK;
    table_read_sleep(t, &s);
    return table_give_sleep_day(t, &s);
}

static enum weir_status take_samples(struct table *t, int64_t seconds)
{
    struct sample s = {.source = t->source};
    if (!table_moment(t, FIELD_START, &s.start)) return WEIR_OK;
    s.end = (struct moment){s.start.at + seconds, s.start.offset};
    for (size_t i = 0; i < t->n_columns; i++) {
        s.metric = t->columns[i].metric;
        if (!s.metric || !table_value(t, i, &s.value)) continue;
        enum weir_status st = t->context.sink.sample(t->context.sink.user, &s);
        if (st != WEIR_OK) return st;
    }
    return WEIR_OK;
}

static enum weir_status take_hour(struct table *t)
{
    return take_samples(t, HOUR);
}

static enum weir_status take_minute(struct table *t)
{
    return take_samples(t, MINUTE);
}

static enum weir_status take_weight(struct table *t)
{
    bool is_manual = false;
    (void)cell_yes_no(table_cell(t, FIELD_FLAG), &is_manual);
    t->source.kind = is_manual ? SOURCE_MANUAL : SOURCE_SCALE;
    return take_samples(t, 0);
}

static enum weir_status take_heart(struct table *t)
{
    struct state *state = t->state;
    struct sample s = {.metric = metric_find(SLICE("heart_rate")), .source = t->source};
    for (size_t i = 0; i < t->n_columns; i++) {
        if (t->columns[i].metric != s.metric) continue;
        if (!table_value(t, i, &s.value) || !table_moment(t, FIELD_START, &s.start)) return WEIR_OK;
        return minutes_add(&state->heart, &t->context.sink, &s);
    }
    return WEIR_OK;
}

static enum weir_status end_heart(struct table *t)
{
    struct state *state = t->state;
    struct sample like = {.metric = metric_find(SLICE("heart_rate")), .source = t->source};
    return minutes_end(&state->heart, &t->context.sink, &like);
}

/* ---- sleep by the minute: 1 asleep, 2 restless, 3 awake; runs become pieces of a night ---- */

static enum weir_status end_run(struct table *t)
{
    struct state *state = t->state;
    if (state->n_minutes == 0) return WEIR_OK;
    state->n_minutes = 0;
    return t->context.sink.stage(t->context.sink.user, &state->stage);
}

static enum weir_status take_night(struct table *t)
{
    static const enum sleep_stage stages[] = {STAGE_ASLEEP, STAGE_AWAKE, STAGE_AWAKE};
    struct state *state = t->state;
    struct moment at;
    double code = table_number(t, FIELD_STAGE, NULL);
    if (isnan(code) || !table_moment(t, FIELD_START, &at)) return WEIR_OK;
    if (code != 1 && code != 2 && code != 3) {
        table_refuse(t, "%g is no stage of sleep (1 asleep, 2 restless, 3 awake)", code);
        return WEIR_OK;
    }
    enum sleep_stage stage = stages[(int)code - 1];
    if (state->n_minutes > 0 && (state->stage.stage != stage || state->stage.end.at != at.at)) {
        enum weir_status st = end_run(t);
        if (st != WEIR_OK) return st;
    }
    if (state->n_minutes == 0)
        state->stage = (struct stage){.stage = stage, .start = at, .source = t->source};
    state->stage.end = (struct moment){at.at + MINUTE, at.offset};
    state->n_minutes++;
    return WEIR_OK;
}

/* ---- formats ---- */

static enum weir_status end(struct table *t)
{
    const struct state *state = t->state;
    char quoted[TABLE_QUOTE_BYTES];
    if (t->context.person.len > 0 && !state->was_taken && t->n_records > 0)
        table_refuse(t, "no row of the file is of person %s",
                     table_quote(quoted, t->context.person));
    enum weir_status st = end_heart(t);
    return st == WEIR_OK ? end_run(t) : st;
}

#define ROW(name)                                                                                  \
    static enum weir_status row_##name(struct table *t)                                            \
    {                                                                                              \
        return of_one(t, take_##name);                                                             \
    }
ROW(day)
ROW(sleep_day)
ROW(hour)
ROW(minute)
ROW(weight)
ROW(heart)
ROW(night)

#define FITABASE(list)                                                                             \
    .name = "Fitabase", .sure = 95, .columns = (list), .n_columns = sizeof(list) / sizeof *(list), \
    .source = "Fitbit", .source_class = SOURCE_WATCH, .state_bytes = sizeof(struct state),         \
    .end = end
#define WHOSE FIELD_BIT(FIELD_PERSON)

static const struct table_format formats[] = {
    {FITABASE(day_columns), .needs = WHOSE | FIELD_BIT(FIELD_DATE), .row = row_day},
    {FITABASE(sleep_day_columns), .needs = WHOSE | FIELD_BIT(FIELD_DATE) | FIELD_BIT(FIELD_ASLEEP),
     .row = row_sleep_day},
    {FITABASE(hour_columns), .needs = WHOSE | FIELD_BIT(FIELD_START), .row = row_hour},
    {FITABASE(minute_columns), .needs = WHOSE | FIELD_BIT(FIELD_START), .row = row_minute},
    {FITABASE(heart_columns), .needs = WHOSE | FIELD_BIT(FIELD_START), .metric = "heart_rate",
     .row = row_heart},
    {FITABASE(night_columns),
     .needs = WHOSE | FIELD_BIT(FIELD_START) | FIELD_BIT(FIELD_STAGE) | FIELD_BIT(FIELD_KIND),
     .row = row_night},
    {FITABASE(weight_columns), .needs = WHOSE | FIELD_BIT(FIELD_START), .metric = "weight",
     .row = row_weight},
};

TABLE_KIND(reader_fitabase, "fitabase", "Fitabase table of Fitbit data");
