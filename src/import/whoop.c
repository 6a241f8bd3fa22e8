/* SPDX-License-Identifier: Apache-2.0 */
/*
 * WHOOP's export: physiological_cycles.csv, sleeps.csv, workouts.csv, journal_entries.csv. A
 * cycle runs from one sleep to the next and belongs to the day of waking. Times are those of the
 * wall at the cycle's offset ("UTC-04:00"). The newest cycle has no end: what is counted through
 * the day (strain, energy) is then partial, while its sleep and recovery are whole.
 */
#include <math.h>

#include "base/slice.h"
#include "data/day.h"
#include "import/kinds.h"
#include "import/table_sleep.h"
#include "import/table_workout.h"

enum { NIGHT_SECONDS = 6 * 3600 }; /* from a cycle's start that far on, it is its day */

#define CYCLE                                                                                      \
    {"Cycle start time", FIELD_START, NULL, NULL}, {"Cycle end time", FIELD_END, NULL, NULL},      \
    {                                                                                              \
        "Cycle timezone", FIELD_OFFSET, NULL, NULL                                                 \
    }
#define NIGHT                                                                                      \
    {"Sleep onset", FIELD_ONSET, NULL, NULL}, {"Wake onset", FIELD_WAKING, NULL, NULL},            \
        {"Asleep duration (min)", FIELD_ASLEEP, NULL, "min"},                                      \
        {"In bed duration (min)", FIELD_IN_BED, NULL, "min"},                                      \
        {"Light sleep duration (min)", FIELD_LIGHT, NULL, "min"},                                  \
        {"Deep (SWS) duration (min)", FIELD_DEEP, NULL, "min"},                                    \
        {"REM duration (min)", FIELD_REM, NULL, "min"},                                            \
        {"Awake duration (min)", FIELD_AWAKE, NULL, "min"},                                        \
        {"Sleep efficiency %", FIELD_EFFICIENCY, NULL, NULL},                                      \
        {"Sleep performance %", FIELD_NONE, "sleep_score", NULL},                                  \
        {"Respiratory rate (rpm)", FIELD_NONE, "respiratory_rate", NULL},                          \
        {"Sleep need (min)", FIELD_NONE, "sleep_need", NULL},                                      \
        {"Sleep debt (min)", FIELD_NONE, "sleep_debt", NULL},                                      \
    {                                                                                              \
        "Sleep consistency %", FIELD_NONE, "sleep_consistency", NULL                               \
    }

static const struct table_column cycle_columns[] = {
    CYCLE,
    NIGHT,
    {"Recovery score %", FIELD_NONE, "recovery_score", NULL},
    {"Resting heart rate (bpm)", FIELD_NONE, "resting_heart_rate", NULL},
    {"Heart rate variability (ms)", FIELD_NONE, "hrv_rmssd", NULL},
    {"Skin temp (celsius)", FIELD_NONE, "skin_temperature", "degC"},
    {"Skin temp (fahrenheit)", FIELD_NONE, "skin_temperature", "degF"},
    {"Blood oxygen %", FIELD_NONE, "blood_oxygen", NULL},
    {"Day Strain", FIELD_NONE, "strain", NULL},
    {"Energy burned (cal)", FIELD_NONE, "total_energy", "kcal"},
    {"Max HR (bpm)", FIELD_NONE, "max_heart_rate", NULL},
    {"Average HR (bpm)", FIELD_NONE, "heart_rate", NULL},
};

static const struct table_column sleep_columns[] = {
    CYCLE,
    NIGHT,
    {"Nap", FIELD_NAP, NULL, NULL},
};

static const struct table_column workout_columns[] = {
    {"Cycle start time", FIELD_UNUSED, NULL, NULL},
    {"Cycle end time", FIELD_UNUSED, NULL, NULL},
    {"Cycle timezone", FIELD_OFFSET, NULL, NULL},
    {"Workout start time", FIELD_START, NULL, NULL},
    {"Workout end time", FIELD_END, NULL, NULL},
    {"Duration (min)", FIELD_DURATION, NULL, "min"},
    {"Activity name", FIELD_ACTIVITY, NULL, NULL},
    {"Energy burned (cal)", FIELD_KCAL, NULL, "kcal"},
    {"Max HR (bpm)", FIELD_MAX_HR, NULL, NULL},
    {"Average HR (bpm)", FIELD_AVG_HR, NULL, NULL},
    {"Distance (meters)", FIELD_DISTANCE, NULL, "meter"},
    {"Altitude gain (meters)", FIELD_ASCENT, NULL, "meter"},
};

static const struct table_column journal_columns[] = {
    CYCLE,
    {"Question text", FIELD_NAME, NULL, NULL},
    {"Answered yes", FIELD_VALUE, NULL, NULL},
    {"Notes", FIELD_UNUSED, NULL, NULL},
};

/* A cycle without a sleep, and an answer, belong to the day behind the night that begins it. */
static int32_t day_of_cycle(struct table *t)
{
    struct moment start;
    if (!table_moment(t, FIELD_START, &start)) return DAY_NONE;
    return day_of_moment(start.at + NIGHT_SECONDS, start.offset);
}

static bool has_sleep(const struct table *t)
{
    return table_cell(t, FIELD_ONSET).len > 0 && table_cell(t, FIELD_WAKING).len > 0;
}

static double minutes_to(const struct sleep *s, struct moment end)
{
    return (double)(end.at - s->start.at) / 60;
}

/*
 * In the night when the clocks change, the cycle's offset is that of its beginning while waking is
 * at the new one: the minutes in bed tell.
 */
static void mind_the_clock(const struct table *t, struct sleep *s)
{
    struct moment end = zone_moment(t->context.zone, s->end.at + s->end.offset);
    if (zone_offset(t->context.zone, s->start.at) != s->start.offset) return;
    if (fabs(minutes_to(s, end) - s->in_bed) < fabs(minutes_to(s, s->end) - s->in_bed))
        s->end = end;
}

static bool read_night(struct table *t, struct sleep *s)
{
    if (!table_moment(t, FIELD_ONSET, &s->start) || !table_moment(t, FIELD_WAKING, &s->end))
        return false;
    table_read_sleep(t, s);
    mind_the_clock(t, s);
    s->day = day_of_moment(s->end.at, s->end.offset);
    return true;
}

/* Of a cycle that goes on, what grows through the day. */
static bool grows(const struct metric *m)
{
    static const char *const names[] = {"strain", "total_energy", "max_heart_rate", "heart_rate"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(m->name, names[i]) == 0) return true;
    return false;
}

static enum weir_status give_days(struct table *t, int32_t day)
{
    bool is_open = table_cell(t, FIELD_END).len == 0;
    for (size_t i = 0; i < t->n_columns; i++) {
        struct day_value v = {.metric = t->columns[i].metric, .day = day, .source = t->source};
        if (!v.metric || !table_value(t, i, &v.value)) continue;
        v.is_partial = is_open && grows(v.metric);
        enum weir_status st = t->context.sink.day_value(t->context.sink.user, &v);
        if (st != WEIR_OK) return st;
    }
    return WEIR_OK;
}

static enum weir_status cycle_row(struct table *t)
{
    struct sleep s = {.is_nap = false};
    if (!has_sleep(t)) {
        int32_t day = day_of_cycle(t);
        return day == DAY_NONE ? WEIR_OK : give_days(t, day);
    }
    if (!read_night(t, &s)) return WEIR_OK;
    enum weir_status st = table_give_sleep(t, &s);
    return st == WEIR_OK ? give_days(t, s.day) : st;
}

static enum weir_status sleep_row(struct table *t)
{
    struct sleep s = {.is_nap = false};
    if (!has_sleep(t)) {
        table_refuse(t, "a sleep without its onset or waking");
        return WEIR_OK;
    }
    (void)cell_yes_no(table_cell(t, FIELD_NAP), &s.is_nap);
    if (!read_night(t, &s)) return WEIR_OK;
    enum weir_status st = table_give_sleep(t, &s);
    return st == WEIR_OK && !s.is_nap ? give_days(t, s.day) : st;
}

/* Answers are the person's own metrics: 1 for yes, 0 for no. */
static enum weir_status journal_row(struct table *t)
{
    struct weir_slice question = table_cell(t, FIELD_NAME);
    struct weir_slice answer = table_cell(t, FIELD_VALUE);
    bool yes;
    int32_t day = day_of_cycle(t);
    if (day == DAY_NONE || answer.len == 0) return WEIR_OK;
    if (question.len == 0 || !cell_yes_no(answer, &yes)) {
        char quoted[TABLE_QUOTE_BYTES];
        table_refuse(t, "\"%s\" is no answer to a question", table_quote(quoted, answer));
        return WEIR_OK;
    }
    return table_day_value(t, NULL, question, day, yes ? 1 : 0);
}

#define COLUMNS(list) .columns = (list), .n_columns = sizeof(list) / sizeof *(list)
#define WHOOP         .sure = 95, .source = "WHOOP", .source_class = SOURCE_WATCH

static const struct table_format formats[] = {
    {.name = "WHOOP",
     WHOOP,
     .needs = FIELD_BIT(FIELD_START) | FIELD_BIT(FIELD_OFFSET) | FIELD_BIT(FIELD_WAKING) |
              FIELD_BIT(FIELD_NAP),
     COLUMNS(sleep_columns),
     .row = sleep_row},
    {.name = "WHOOP",
     WHOOP,
     .needs = FIELD_BIT(FIELD_START) | FIELD_BIT(FIELD_OFFSET) | FIELD_BIT(FIELD_WAKING),
     .metric = "recovery_score",
     COLUMNS(cycle_columns),
     .row = cycle_row},
    {.name = "WHOOP",
     WHOOP,
     .needs = FIELD_BIT(FIELD_START) | FIELD_BIT(FIELD_ACTIVITY) | FIELD_BIT(FIELD_OFFSET),
     COLUMNS(workout_columns),
     .row = table_workout},
    {.name = "WHOOP",
     WHOOP,
     .needs = FIELD_BIT(FIELD_START) | FIELD_BIT(FIELD_NAME) | FIELD_BIT(FIELD_VALUE),
     COLUMNS(journal_columns),
     .row = journal_row},
};

TABLE_KIND(reader_whoop, "whoop", "WHOOP export");
