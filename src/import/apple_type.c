/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What Apple's identifiers mean in the catalogue: one table. A type that is not in it is counted
 * by its name and left out.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/slice.h"
#include "import/apple_impl.h"
#include "import/cell.h"

enum { UNIT_BYTES = 48 };

static const struct {
    const char *id;
    const char *metric;
    enum apple_what what;
} types[] = {
    /* By the identifier, for they are searched. */
    {"HKCategoryTypeIdentifierAppleStandHour", "stand_hours", APPLE_STAND},
    {"HKCategoryTypeIdentifierMindfulSession", "mindful_minutes", APPLE_SPAN},
    {"HKCategoryTypeIdentifierSleepAnalysis", NULL, APPLE_SLEEP},
    {"HKQuantityTypeIdentifierActiveEnergyBurned", "active_energy", APPLE_QUANTITY},
    {"HKQuantityTypeIdentifierAppleExerciseTime", "active_minutes", APPLE_QUANTITY},
    {"HKQuantityTypeIdentifierAppleSleepingWristTemperature", "skin_temperature", APPLE_QUANTITY},
    {"HKQuantityTypeIdentifierBasalEnergyBurned", "resting_energy", APPLE_QUANTITY},
    {"HKQuantityTypeIdentifierBloodGlucose", "blood_glucose", APPLE_QUANTITY},
    {"HKQuantityTypeIdentifierBloodPressureDiastolic", "diastolic", APPLE_QUANTITY},
    {"HKQuantityTypeIdentifierBloodPressureSystolic", "systolic", APPLE_QUANTITY},
    {"HKQuantityTypeIdentifierBodyFatPercentage", "body_fat", APPLE_QUANTITY},
    {"HKQuantityTypeIdentifierBodyMass", "weight", APPLE_QUANTITY},
    {"HKQuantityTypeIdentifierBodyMassIndex", "bmi", APPLE_QUANTITY},
    {"HKQuantityTypeIdentifierBodyTemperature", "body_temperature", APPLE_QUANTITY},
    {"HKQuantityTypeIdentifierDietaryCaffeine", "caffeine", APPLE_QUANTITY},
    {"HKQuantityTypeIdentifierDietaryCarbohydrates", "carbohydrates", APPLE_QUANTITY},
    {"HKQuantityTypeIdentifierDietaryEnergyConsumed", "dietary_energy", APPLE_QUANTITY},
    {"HKQuantityTypeIdentifierDietaryFatTotal", "dietary_fat", APPLE_QUANTITY},
    {"HKQuantityTypeIdentifierDietaryProtein", "protein", APPLE_QUANTITY},
    {"HKQuantityTypeIdentifierDietarySugar", "sugar", APPLE_QUANTITY},
    {"HKQuantityTypeIdentifierDietaryWater", "water", APPLE_QUANTITY},
    {"HKQuantityTypeIdentifierDistanceCycling", "cycling_distance", APPLE_QUANTITY},
    {"HKQuantityTypeIdentifierDistanceSwimming", "swimming_distance", APPLE_QUANTITY},
    {"HKQuantityTypeIdentifierDistanceWalkingRunning", "distance", APPLE_QUANTITY},
    {"HKQuantityTypeIdentifierFlightsClimbed", "floors", APPLE_QUANTITY},
    {"HKQuantityTypeIdentifierHeartRate", "heart_rate", APPLE_QUANTITY},
    {"HKQuantityTypeIdentifierHeartRateRecoveryOneMinute", "heart_rate_recovery", APPLE_QUANTITY},
    {"HKQuantityTypeIdentifierHeartRateVariabilitySDNN", "hrv_sdnn", APPLE_QUANTITY},
    {"HKQuantityTypeIdentifierHeight", "height", APPLE_QUANTITY},
    {"HKQuantityTypeIdentifierLeanBodyMass", "lean_mass", APPLE_QUANTITY},
    {"HKQuantityTypeIdentifierNumberOfAlcoholicBeverages", "alcohol", APPLE_QUANTITY},
    {"HKQuantityTypeIdentifierOxygenSaturation", "blood_oxygen", APPLE_QUANTITY},
    {"HKQuantityTypeIdentifierRespiratoryRate", "respiratory_rate", APPLE_QUANTITY},
    {"HKQuantityTypeIdentifierRestingHeartRate", "resting_heart_rate", APPLE_QUANTITY},
    {"HKQuantityTypeIdentifierStepCount", "steps", APPLE_QUANTITY},
    {"HKQuantityTypeIdentifierVO2Max", "vo2max", APPLE_QUANTITY},
    {"HKQuantityTypeIdentifierWaistCircumference", "waist", APPLE_QUANTITY},
    {"HKQuantityTypeIdentifierWalkingHeartRateAverage", "walking_heart_rate", APPLE_QUANTITY},
    {"HKQuantityTypeIdentifierWalkingSpeed", "walking_speed", APPLE_QUANTITY},
};

static int compare(struct weir_slice a, const char *b)
{
    size_t len = strlen(b);
    int order = memcmp(a.ptr, b, a.len < len ? a.len : len);
    return order != 0 ? order : (a.len > len) - (a.len < len);
}

struct apple_type apple_type_find(struct weir_slice id)
{
    size_t low = 0;
    size_t high = sizeof types / sizeof *types;
    while (id.len > 0 && low < high) {
        size_t i = (low + high) / 2;
        int order = compare(id, types[i].id);
        if (order == 0)
            return (struct apple_type){
                .what = types[i].what,
                .metric = types[i].metric ? metric_find(weir_slice_of(types[i].metric)) : NULL,
            };
        if (order < 0) high = i;
        else low = i + 1;
    }
    return (struct apple_type){.what = APPLE_UNKNOWN};
}

/* ---- units ---- */

/* Where HealthKit's spelling is not one of the catalogue's, or means another thing there. */
static const struct {
    const char *apple, *ours;
    double factor; /* ours = apple * factor */
} spellings[] = {
    {"%", "fraction", 1},
    {"m", "meter", 1},
    {"hr", "h", 1},
    {"Cal", "kcal", 1},
    {"cal", "kcal", 0.001},
    {"J", "kj", 0.001},
    {"mcg", "mg", 0.001},
    {"dL", "ml", 100},
    {"cL", "ml", 10},
    {"fl_oz_imp", "ml", 28.4130625},
    {"cup_imp", "ml", 284.130625},
    {"pt_us", "ml", 473.176473},
    {"pt_imp", "ml", 568.26125},
    {"km/hr", "km/h", 1},
    {"count/s", "bpm", 60},
    {"K", "degC", 1},
    {"mm", "cm", 0.1},
    {"cmAq", "mmHg", 0.735559},
};

static const double KELVIN = -273.15;

/* "mmol<180.1558800000541>/L": a molar unit with the mass of its substance. mg/dL = mmol/L * m/10.
 */
static bool molar_scale(const struct metric *m, struct weir_slice unit, struct apple_scale *out)
{
    static const char begin[] = "mmol<";
    static const char end[] = ">/L";
    size_t around = sizeof begin - 1 + sizeof end - 1;
    double mass;
    if (unit.len <= around || memcmp(unit.ptr, begin, sizeof begin - 1) != 0) return false;
    if (memcmp(unit.ptr + unit.len - (sizeof end - 1), end, sizeof end - 1) != 0) return false;
    if (!cell_decimal(slice_of(unit.ptr + sizeof begin - 1, unit.len - around), &mass))
        return false;
    double one;
    if (!unit_convert("mg/dL", m->unit, 1, &one)) return false;
    *out = (struct apple_scale){.factor = one * mass / 10};
    return true;
}

bool apple_scale_find(const struct metric *metric, struct weir_slice unit, struct apple_scale *out)
{
    char name[UNIT_BYTES];
    double zero;
    double many;
    double factor = 1;
    if (molar_scale(metric, unit, out)) return true;
    if (unit.len == 0 || unit.len >= sizeof name) return false;
    memcpy(name, unit.ptr, unit.len);
    name[unit.len] = 0;
    for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++) {
        if (strcmp(name, spellings[i].apple) != 0) continue;
        factor = spellings[i].factor;
        snprintf(name, sizeof name, "%s", spellings[i].ours);
        break;
    }
    bool is_kelvin = weir_slice_is(unit, "K");
    /* A power of two, so that where there is an offset little of the factor is lost beside it. */
    static const double large = 1 << 20;
    if (!unit_convert(name, metric->unit, 0, &zero) ||
        !unit_convert(name, metric->unit, large, &many))
        return false;
    *out = (struct apple_scale){.factor = (many - zero) / large * factor, .offset = zero};
    if (is_kelvin) out->offset += KELVIN * out->factor;
    return true;
}

/* ---- stages of sleep ---- */

bool apple_stage_find(struct weir_slice value, enum sleep_stage *out)
{
    static const char prefix[] = "HKCategoryValueSleepAnalysis";
    static const struct {
        const char *name, *number;
        enum sleep_stage stage;
    } stages[] = {
        {"InBed", "0", STAGE_IN_BED},
        {"Asleep", "1", STAGE_ASLEEP},
        {"AsleepUnspecified", "1", STAGE_ASLEEP},
        {"Awake", "2", STAGE_AWAKE},
        {"AsleepCore", "3", STAGE_LIGHT},
        {"AsleepDeep", "4", STAGE_DEEP},
        {"AsleepREM", "5", STAGE_REM},
    };
    if (value.len >= sizeof prefix - 1 && memcmp(value.ptr, prefix, sizeof prefix - 1) == 0)
        value = slice_from(value, sizeof prefix - 1);
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
        if (!weir_slice_is(value, stages[i].name) && !weir_slice_is(value, stages[i].number))
            continue;
        *out = stages[i].stage;
        return true;
    }
    return false;
}

/* ---- workouts ---- */

const struct activity *apple_activity_find(struct weir_slice type, struct weir_slice *label)
{
    static const char prefix[] = "HKWorkoutActivityType";
    if (type.len > sizeof prefix - 1 && memcmp(type.ptr, prefix, sizeof prefix - 1) == 0)
        type = slice_from(type, sizeof prefix - 1);
    *label = type;
    const struct activity *found = activity_find(type);
    return found ? found : activity_find(SLICE("other"));
}
