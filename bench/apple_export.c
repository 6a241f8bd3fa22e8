/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench-apple-export SIZE: writes an export.xml of about that many bytes ("50M", "1G") that is
 * invented, but has the shape of a real one: grouped by type, rising in time, a watch and a phone
 * that both count steps, a new device address in every record, metadata in some of them, beats
 * inside of heart rate variability, nights of stages, workouts with statistics, a summary for each
 * day. The same size gives the same bytes.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DAY_S = 86400, LAST_DAY = 20178 /* 2025-03-31 */, MAX_DAYS = 40000 };

static uint64_t state;
static uint64_t written;
static FILE *out;

static uint32_t draw(uint32_t below)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((state >> 33) % below);
}

/* The same records for a day of a type, however long the export is. */
static void seed(unsigned type, int day)
{
    state = (uint64_t)type * UINT64_C(0x9E3779B97F4A7C15) + (uint64_t)day * 7919 + 1;
    for (int i = 0; i < 4; i++) (void)draw(2);
}

static void put(const char *text)
{
    size_t len = strlen(text);
    fwrite(text, 1, len, out);
    written += len;
}

static void put_u(uint64_t n)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%llu", (unsigned long long)n);
    put(digits);
}

/* Days since 1970 to a date (Howard Hinnant's days algorithm, in our own words). */
static void put_date(int64_t day)
{
    int64_t z = day + 719468;
    int64_t era = z / 146097;
    int64_t doe = z - era * 146097;
    int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    int64_t mp = (5 * doy + 2) / 153;
    int64_t month = mp < 10 ? mp + 3 : mp - 9;
    char text[16];
    snprintf(text, sizeof text, "%04d-%02d-%02d", (int)(yoe + era * 400 + (month <= 2)), (int)month,
             (int)(doy - (153 * mp + 2) / 5 + 1));
    put(text);
}

/* `local` counts seconds on the wall clock since 1970. */
static void put_time(const char *attribute, int64_t local)
{
    int64_t day = local / DAY_S;
    int s = (int)(local % DAY_S);
    char text[24];
    put(attribute);
    put_date(day);
    snprintf(text, sizeof text, " %02d:%02d:%02d -0500\"", s / 3600, s / 60 % 60, s % 60);
    put(text);
}

struct device {
    const char *name, *model, *hardware, *software;
};
static const struct device watch = {"Owner’s Apple Watch", "Apple Watch", "Watch6,2", "9.6"};
static const struct device phone = {"Owner’s iPhone", "iPhone", "iPhone14,2", "17.1.1"};

static void put_source(const struct device *d)
{
    char address[24];
    put(" sourceName=\"");
    put(d->name);
    put("\" sourceVersion=\"");
    put(d->software);
    snprintf(address, sizeof address, "%x%05x", 0x2800 + draw(0x1000), draw(0x100000));
    put("\" device=\"&lt;&lt;HKDevice: 0x");
    put(address);
    put("&gt;, name:");
    put(d->model);
    put(", manufacturer:Apple Inc., model:");
    put(d->model);
    put(", hardware:");
    put(d->hardware);
    put(", software:");
    put(d->software);
    put("&gt;\"");
}

static void put_record(const char *type, const struct device *d, const char *unit, int64_t start,
                       int64_t end, const char *value, bool is_open)
{
    put(" <Record type=\"");
    put(type);
    put("\"");
    put_source(d);
    if (unit) {
        put(" unit=\"");
        put(unit);
        put("\"");
    }
    put_time(" creationDate=\"", end + 30);
    put_time(" startDate=\"", start);
    put_time(" endDate=\"", end);
    put(" value=\"");
    put(value);
    put(is_open ? "\">\n" : "\"/>\n");
}

static void format(char value[24], uint32_t thousandths)
{
    snprintf(value, 24, "%u.%03u", thousandths / 1000, thousandths % 1000);
}

/* ---- the types, a day at a time ---- */

static void heart_rate(int64_t day)
{
    char value[24];
    for (int64_t t = draw(300); t < DAY_S - 600; t += 200 + draw(200)) {
        snprintf(value, sizeof value, "%u", 52 + draw(60));
        put_record("HKQuantityTypeIdentifierHeartRate", &watch, "count/min", day + t, day + t,
                   value, true);
        put("  <MetadataEntry key=\"HKMetadataKeyHeartRateMotionContext\" value=\"0\"/>\n"
            " </Record>\n");
    }
}

static void steps(int64_t day)
{
    char value[24];
    for (int64_t t = 7 * 3600; t < 23 * 3600; t += 700 + draw(1500)) {
        uint32_t n = 20 + draw(400);
        snprintf(value, sizeof value, "%u", n);
        put_record("HKQuantityTypeIdentifierStepCount", &watch, "count", day + t, day + t + 420,
                   value, false);
        snprintf(value, sizeof value, "%u", n * 9 / 10);
        if (draw(3) > 0)
            put_record("HKQuantityTypeIdentifierStepCount", &phone, "count", day + t + 7,
                       day + t + 410, value, false);
    }
}

static void distance(int64_t day)
{
    char value[24];
    for (int64_t t = 7 * 3600; t < 23 * 3600; t += 700 + draw(1500)) {
        format(value, draw(400));
        put_record("HKQuantityTypeIdentifierDistanceWalkingRunning", draw(2) ? &watch : &phone,
                   "km", day + t, day + t + 420, value, false);
    }
}

static void energy(int64_t day)
{
    char value[24];
    for (int64_t t = 6 * 3600; t < 23 * 3600; t += 150 + draw(60)) {
        format(value, draw(4000));
        put_record("HKQuantityTypeIdentifierActiveEnergyBurned", &watch, "Cal", day + t,
                   day + t + 60, value, false);
    }
}

static void basal(int64_t day)
{
    char value[24];
    for (int64_t t = 0; t < DAY_S - 900; t += 800 + draw(200)) {
        format(value, 14000 + draw(3000));
        put_record("HKQuantityTypeIdentifierBasalEnergyBurned", &watch, "Cal", day + t,
                   day + t + 790, value, false);
    }
}

static void effort(int64_t day)
{
    char value[24];
    for (int64_t t = 0; t < DAY_S - 900; t += 900 + draw(900)) {
        format(value, draw(9000));
        put_record("HKQuantityTypeIdentifierPhysicalEffort", &watch, "kcal/hr·kg", day + t,
                   day + t + 300, value, false);
    }
}

static void variability(int64_t day)
{
    char value[64];
    for (int i = 0; i < 4; i++) {
        int64_t t = day + i * 6 * 3600 + draw(3600);
        format(value, 25000 + draw(60000));
        put_record("HKQuantityTypeIdentifierHeartRateVariabilitySDNN", &watch, "ms", t, t + 60,
                   value, true);
        put("  <HeartRateVariabilityMetadataList>\n");
        for (int beat = 0; beat < 40; beat++) {
            snprintf(value, sizeof value, "%u\" time=\"7:%02d:%02u,%02u PM\"/>\n", 55 + draw(30),
                     beat, draw(60), draw(100));
            put("   <InstantaneousBeatsPerMinute bpm=\"");
            put(value);
        }
        put("  </HeartRateVariabilityMetadataList>\n </Record>\n");
    }
}

static void once_a_day(int64_t day)
{
    char value[24];
    snprintf(value, sizeof value, "%u", 50 + draw(15));
    put_record("HKQuantityTypeIdentifierRestingHeartRate", &watch, "count/min", day + 60,
               day + 20 * 3600, value, false);
    format(value, 940 + draw(60));
    put_record("HKQuantityTypeIdentifierOxygenSaturation", &watch, "%", day + 7200, day + 7200,
               value, false);
    format(value, 160000 + draw(15000));
    put_record("HKQuantityTypeIdentifierBodyMass", &phone, "lb", day + 25000, day + 25000, value,
               true);
    put("  <MetadataEntry key=\"HKWasUserEntered\" value=\"1\"/>\n </Record>\n");
}

static void sleep(int64_t day)
{
    static const char *const stages[] = {
        "HKCategoryValueSleepAnalysisAsleepCore", "HKCategoryValueSleepAnalysisAsleepDeep",
        "HKCategoryValueSleepAnalysisAsleepCore", "HKCategoryValueSleepAnalysisAsleepREM",
        "HKCategoryValueSleepAnalysisAwake"};
    int64_t t = day - 3600 + draw(5000);
    int64_t end = day + 6 * 3600 + draw(5000);
    put_record("HKCategoryTypeIdentifierSleepAnalysis", &phone, NULL, t, end,
               "HKCategoryValueSleepAnalysisInBed", false);
    for (int i = 0; t < end; i++) {
        int64_t next = t + 300 + draw(2400);
        if (next > end) next = end;
        put_record("HKCategoryTypeIdentifierSleepAnalysis", &watch, NULL, t, next, stages[i % 5],
                   true);
        put("  <MetadataEntry key=\"HKTimeZone\" value=\"America/New_York\"/>\n </Record>\n");
        t = next;
    }
}

static void put_statistics(const char *type, int64_t start, const char *amount, const char *unit)
{
    put("  <WorkoutStatistics type=\"");
    put(type);
    put("\"");
    put_time(" startDate=\"", start);
    put_time(" endDate=\"", start + 2400);
    put(amount);
    put(" unit=\"");
    put(unit);
    put("\"/>\n");
}

static void workout(int64_t day)
{
    if (draw(3) > 0) return;
    int64_t t = day + 17 * 3600 + draw(7200);
    put(" <Workout workoutActivityType=\"HKWorkoutActivityTypeRunning\" duration=\"40\" "
        "durationUnit=\"min\"");
    put_source(&watch);
    put_time(" creationDate=\"", t + 2500);
    put_time(" startDate=\"", t);
    put_time(" endDate=\"", t + 2400);
    put(">\n  <MetadataEntry key=\"HKIndoorWorkout\" value=\"0\"/>\n"
        "  <MetadataEntry key=\"HKTimeZone\" value=\"America/New_York\"/>\n"
        "  <MetadataEntry key=\"HKElevationAscended\" value=\"4180 cm\"/>\n");
    put_statistics("HKQuantityTypeIdentifierDistanceWalkingRunning", t, " sum=\"6.61\"", "km");
    put_statistics("HKQuantityTypeIdentifierActiveEnergyBurned", t, " sum=\"480.2\"", "Cal");
    put_statistics("HKQuantityTypeIdentifierHeartRate", t,
                   " average=\"141.4\" minimum=\"88\" maximum=\"172\"", "count/min");
    put(" </Workout>\n");
}

static void summary(int64_t day)
{
    put(" <ActivitySummary dateComponents=\"");
    put_date(day / DAY_S);
    put("\" activeEnergyBurned=\"");
    put_u(200 + draw(700));
    put("\" activeEnergyBurnedGoal=\"500\" activeEnergyBurnedUnit=\"Cal\" appleMoveTime=\"0\" "
        "appleMoveTimeGoal=\"0\" appleExerciseTime=\"");
    put_u(draw(90));
    put("\" appleExerciseTimeGoal=\"30\" appleStandHours=\"");
    put_u(6 + draw(10));
    put("\" appleStandHoursGoal=\"12\"/>\n");
}

static void (*const types[])(int64_t day) = {once_a_day,  heart_rate, steps,  distance,
                                             energy,      basal,      effort, sleep,
                                             variability, workout,    summary};

enum { N_TYPES = sizeof types / sizeof *types };

static uint64_t parse_size(const char *text)
{
    char *end;
    uint64_t n = strtoull(text, &end, 10);
    if (strcmp(end, "K") == 0) n *= 1000;
    else if (strcmp(end, "M") == 0) n *= 1000 * 1000;
    else if (strcmp(end, "G") == 0) n *= 1000 * 1000 * 1000;
    else if (*end != 0) n = 0;
    return n;
}

static void put_days(int n_days)
{
    for (unsigned type = 0; type < N_TYPES; type++) {
        for (int day = LAST_DAY - n_days; day < LAST_DAY; day++) {
            seed(type, day);
            types[type]((int64_t)day * DAY_S);
        }
    }
}

int main(int argc, char **argv)
{
    enum { MEASURED_DAYS = 20 };
    uint64_t size = argc == 2 ? parse_size(argv[1]) : 0;
    if (size == 0) {
        fputs("usage: bench-apple-export SIZE >export.xml   (SIZE as 50M or 1G)\n", stderr);
        return 2;
    }
    out = fopen("/dev/null", "w");
    if (!out) return 1;
    put_days(MEASURED_DAYS);
    fclose(out);
    uint64_t n_days = size * MEASURED_DAYS / written;
    if (n_days < 1) n_days = 1;
    if (n_days > MAX_DAYS) n_days = MAX_DAYS;
    out = stdout;
    put("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE HealthData [\n"
        "<!-- HealthKit Export Version: 14 -->\n"
        "<!ELEMENT HealthData (ExportDate,Me,(Record|Correlation|Workout|ActivitySummary)*)>\n"
        "<!ATTLIST HealthData\n  locale CDATA #REQUIRED\n>\n]>\n<HealthData locale=\"en_US\">\n "
        "<ExportDate");
    put_time(" value=\"", (int64_t)LAST_DAY * DAY_S + 9 * 3600);
    put("/>\n <Me HKCharacteristicTypeIdentifierDateOfBirth=\"1985-06-01\"/>\n");
    put_days((int)n_days);
    put("</HealthData>\n");
    return fflush(stdout) == 0 ? 0 : 1;
}
