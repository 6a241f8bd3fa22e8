/* SPDX-License-Identifier: Apache-2.0 */
/* Plain tables of workouts: "date,start,activity,duration_min,distance_km,avg_hr,calories". */
#include "base/slice.h"
#include "data/day.h"
#include "import/kinds.h"
#include "import/table_workout.h"

static const struct table_column columns[] = {
    {"date|datum|fecha|data|day|activity date|workout date", FIELD_DATE, NULL, NULL},
    {"start|start time|started|begin|begin time|start date|startzeit|beginn|time of day|started at",
     FIELD_START, NULL, NULL},
    {"activity|sport|workout|activity type|exercise|workout type|sport type|aktivität|"
     "sportart|actividad|activité|type",
     FIELD_ACTIVITY, NULL, NULL},
    {"duration|duration min|duration minutes|minutes|mins|elapsed time|moving time|dauer|dauer min|"
     "duración|durée|length|total time|time",
     FIELD_DURATION, NULL, "min"},
    {"duration s|duration sec|duration seconds|seconds|duration in seconds", FIELD_DURATION, NULL,
     "s"},
    {"duration h|duration hours|hours", FIELD_DURATION, NULL, "h"},
    {"distance km|km|kilometers|kilometres|distanz km|distance in km", FIELD_DISTANCE, NULL, "km"},
    {"distance mi|miles|distance miles|distance in miles", FIELD_DISTANCE, NULL, "mi"},
    {"distance m|meters|metres|distance meters|distance metres|distance in meters", FIELD_DISTANCE,
     NULL, "meter"},
    {"distance|distanz|strecke|distancia|distanza", FIELD_DISTANCE, NULL, NULL},
    {"calories|kcal|energy|active calories|calories kcal|energy kcal|kalorien|calorías|calories "
     "burned|active energy",
     FIELD_KCAL, NULL, "kcal"},
    {"avg hr|average hr|avg heart rate|average heart rate|heart rate|hr|mean hr|avg bpm|hr avg|"
     "heart rate avg|Ø herzfrequenz|durchschnittliche herzfrequenz",
     FIELD_AVG_HR, NULL, NULL},
    {"max hr|maximum hr|max heart rate|maximum heart rate|max bpm|hr max|maximale herzfrequenz",
     FIELD_MAX_HR, NULL, NULL},
    {"steps|schritte|pasos|pas|step count", FIELD_STEPS, NULL, NULL},
    {"ascent|elevation gain|elev gain|ascent m|elevation|climb|elevation gain m|total ascent",
     FIELD_ASCENT, NULL, NULL},
    {"ascent ft|elevation gain ft|elev gain ft", FIELD_ASCENT, NULL, "ft"},
    {"title|name|notes|description|comment", FIELD_TITLE, NULL, NULL},
};

/*
 * Strava's activities.csv: seconds, kilometres (the first of its two distances), and UTC. Its
 * header alone does not say so, but no other has an Activity ID with an Activity Date.
 */
static const struct table_column strava_columns[] = {
    {"Activity ID", FIELD_PERSON, NULL, NULL},        {"Activity Date", FIELD_START, NULL, NULL},
    {"Activity Type", FIELD_ACTIVITY, NULL, NULL},    {"Activity Name", FIELD_TITLE, NULL, NULL},
    {"Moving Time", FIELD_DURATION, NULL, "s"},       {"Elapsed Time", FIELD_DURATION, NULL, "s"},
    {"Distance", FIELD_DISTANCE, NULL, "km"},         {"Calories", FIELD_KCAL, NULL, "kcal"},
    {"Average Heart Rate", FIELD_AVG_HR, NULL, NULL}, {"Max Heart Rate", FIELD_MAX_HR, NULL, NULL},
    {"Elevation Gain", FIELD_ASCENT, NULL, "meter"},  {"Total Steps", FIELD_STEPS, NULL, NULL},
};

static enum weir_status strava_row(struct table *t)
{
    struct workout w;
    if (!table_read_workout(t, &w)) return WEIR_OK;
    w.start.at += w.start.offset;
    w.start.offset = zone_offset(t->context.zone, w.start.at);
    w.day = day_of_moment(w.start.at, w.start.offset);
    return table_give_workout(t, &w);
}

#define NEEDS (FIELD_BIT(FIELD_ACTIVITY) | FIELD_BIT(FIELD_DURATION))

/* A date, or a start that has one, must be there. */
static const struct table_format formats[] = {
    {.name = "activities",
     .sure = 90,
     .needs = NEEDS | FIELD_BIT(FIELD_START) | FIELD_BIT(FIELD_PERSON),
     .columns = strava_columns,
     .n_columns = sizeof strava_columns / sizeof *strava_columns,
     .source = "Strava",
     .source_class = SOURCE_APP,
     .row = strava_row},
    {.name = "activities",
     .sure = 55,
     .needs = NEEDS | FIELD_BIT(FIELD_DATE),
     .columns = columns,
     .n_columns = sizeof columns / sizeof *columns,
     .source = "activities",
     .looks_ahead = true,
     .row = table_workout},
    {.name = "activities",
     .sure = 55,
     .needs = NEEDS | FIELD_BIT(FIELD_START),
     .columns = columns,
     .n_columns = sizeof columns / sizeof *columns,
     .source = "activities",
     .looks_ahead = true,
     .row = table_workout},
};

TABLE_KIND(reader_activities, "activities", "table of workouts");
