/* SPDX-License-Identifier: Apache-2.0 */
#include "import/table_workout.h"

#include <math.h>

#include "base/slice.h"
#include "data/day.h"

enum {
    MAX_MINUTES = 7 * 1440,
    MAX_KM = 2000,
    MAX_KCAL = 50000,
    MAX_HR = 300,
    MAX_STEPS = 500000,
    MAX_ASCENT = 50000, /* metres */
};

/* What the catalogue has no words for: other languages, and the spellings of exports. */
static const struct {
    const char *names, *activity;
} foreign[] = {
    {"laufen|laufbandtraining|course à pied|course sur tapis "
     "roulant|carrera|corsa|hardlopen|corrida|löpning|laufband|trailrunning|"
     "course sur tapis|carrera en cinta|indoor running|treadmill_running|trail_running|"
     "obstacle_run|track_running|virtual_run|jogging",
     "run"},
    {"gehen|walken|marche|marche à pied|caminata|caminar|camminata|wandelen|caminhada|spazieren|"
     "casual_walking|speed_walking|walking",
     "walk"},
    {"wandern|randonnée|randonnée pédestre|senderismo|escursionismo|hiking|rucking", "hike"},
    {"radfahren|ergometer|indoor-radfahren|vélo d'intérieur|ciclismo "
     "indoor|rennradfahren|mountainbiken|indoor radfahren|cyclisme|vélo|ciclismo|fietsen|"
     "cyclisme en salle|ciclismo en sala|cycling|road_biking|mountain_biking|indoor_cycling|"
     "gravel_cycling|virtual_ride|e_bike_fitness|spinning|assault bike",
     "bike"},
    {"schwimmen|schwimmbadschwimmen|freiwasserschwimmen|natation|natación|nuoto|zwemmen|natação|"
     "natation en piscine|natación en piscina|lap_swimming|open_water_swimming",
     "swim"},
    {"krafttraining|musculation|entrenamiento de fuerza|fuerza|allenamento di forza|"
     "krachttraining|strength_training|weightlifting|powerlifting|functional fitness",
     "strength"},
    {"rudern|aviron|remo|canottaggio|roeien|indoor_rowing|rower", "rowing"},
    {"crosstrainer|vélo elliptique|elíptica|ellittica", "elliptical"},
    {"fitness_equipment|indoor_cardio|cardio en salle|fitness|cardiotraining|cardio training",
     "cardio"},
    {"breathwork|meditation", "meditation"},
    {"resort_skiing_snowboarding|skifahren|ski alpin|esquí|ski_touring|cross_country_skiing",
     "ski"},
    {"stair_climbing|stairmaster|treppensteigen", "stairs"},
    {"klettern|escalade|escalada|rock_climbing|bouldering|indoor_climbing", "climb"},
};

const struct activity *workout_activity(struct weir_slice label)
{
    const struct activity *a = activity_find(cell_trim(label));
    for (size_t i = 0; !a && i < sizeof foreign / sizeof *foreign; i++) {
        size_t at = 0;
        struct weir_slice n = alias_next(foreign[i].names, &at);
        for (; n.len > 0 && !a; n = alias_next(foreign[i].names, &at))
            if (table_is_name(label, n)) a = activity_find(weir_slice_of(foreign[i].activity));
    }
    return a ? a : activity_find(SLICE("other"));
}

/* "17:45" beside a date, or a start that has its own. */
static bool read_start(struct table *t, struct workout *w)
{
    struct cell_time time = {.day = DAY_NONE};
    struct weir_slice start = table_cell(t, FIELD_START);
    double minutes;
    bool has_clock = start.len > 0 && !cell_time(start, t->dates, &time);
    if (has_clock && cell_clock(start, &minutes) && table_has(t, FIELD_DATE)) {
        if (!table_moment(t, FIELD_DATE, &w->start)) return false;
        w->day = day_of_moment(w->start.at, w->start.offset);
        time.day = w->day;
        time.second = minutes * 60;
        w->start = cell_moment(&time, t->context.zone);
        return true;
    }
    enum table_field f = start.len > 0 ? FIELD_START : FIELD_DATE;
    if (!table_has(t, f)) f = FIELD_START;
    if (!table_moment(t, f, &w->start)) return false;
    w->day = day_of_moment(w->start.at, w->start.offset);
    if (f == FIELD_DATE || table_cell(t, FIELD_DATE).len == 0) return true;
    w->day = table_day(t, FIELD_DATE);
    return w->day != DAY_NONE;
}

static const char *distance_unit(const struct table *t)
{
    return t->context.units == UNITS_IMPERIAL ? "mi" : "km";
}

static bool is_within(double value, double most)
{
    return isnan(value) || (value >= 0 && value <= most);
}

const char *workout_fault(const struct workout *w)
{
    if (!is_within(w->minutes, MAX_MINUTES)) return "a workout of more than a week, or of no time";
    if (!is_within(w->km, MAX_KM)) return "a workout over more than 2000 km";
    if (!is_within(w->kcal, MAX_KCAL)) return "a workout of more than 50,000 kcal";
    if (!is_within(w->avg_hr, MAX_HR) || !is_within(w->max_hr, MAX_HR))
        return "a workout with a heart rate above 300";
    if (!is_within(w->steps, MAX_STEPS)) return "a workout of more than 500,000 steps";
    return is_within(w->ascent_m, MAX_ASCENT) ? NULL : "a workout of more than 50 km uphill";
}

bool table_read_workout(struct table *t, struct workout *w)
{
    struct weir_slice label = table_cell(t, FIELD_ACTIVITY);
    *w = (struct workout){.label = label, .source = t->source, .minutes = NAN, .km = NAN};
    if (label.len == 0) {
        table_refuse(t, "a workout without the name of its activity");
        return false;
    }
    if (!read_start(t, w)) return false;
    size_t distance = t->at[FIELD_DISTANCE];
    if (distance != SIZE_MAX && !t->columns[distance].unit)
        t->columns[distance].unit = distance_unit(t);
    w->activity = workout_activity(label);
    w->minutes = table_minutes(t, FIELD_DURATION);
    w->km = table_number(t, FIELD_DISTANCE, "km");
    w->kcal = table_number(t, FIELD_KCAL, "kcal");
    w->avg_hr = table_number(t, FIELD_AVG_HR, NULL);
    w->max_hr = table_number(t, FIELD_MAX_HR, NULL);
    w->steps = table_number(t, FIELD_STEPS, NULL);
    w->ascent_m = table_number(t, FIELD_ASCENT, "meter");
    return true;
}

enum weir_status table_give_workout(struct table *t, const struct workout *w)
{
    const char *fault = workout_fault(w);
    if (!fault) return t->context.sink.workout(t->context.sink.user, w);
    table_refuse(t, "%s", fault);
    return WEIR_OK;
}

enum weir_status table_workout(struct table *t)
{
    struct workout w;
    return table_read_workout(t, &w) ? table_give_workout(t, &w) : WEIR_OK;
}
