/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cut.h"
#include "import/apple_impl.h"
#include "import/kinds.h"
#include "record.h"
#include "t.h"

#define HEAD                                                                                       \
    "<HealthData>\n"                                                                               \
    "<ExportDate value=\"2025-03-31 09:00:00 -0400\"/>\n"
#define EXPORTED "exported 2025-03-31T09:00:00-04:00\n"
#define TAIL     "</HealthData>"
#define WATCH                                                                                      \
    " sourceName=\"Zoë’s Watch\" device=\"&lt;&lt;HKDevice: 0x1&gt;, name:Apple Watch, "        \
    "hardware:Watch7,9&gt;\""
#define WHEN " startDate=\"2025-03-01 08:12:00 -0500\" endDate=\"2025-03-01 08:25:00 -0500\""
#define Q    "HKQuantityTypeIdentifier"

#define APPLE_IS(elements, want)                                                                   \
    RECORD_IS(&reader_apple, "export.xml", HEAD elements "\n" TAIL, EXPORTED want)

TEST(records_become_samples)
{
    APPLE_IS("<Record type=\"" Q "StepCount\"" WATCH " unit=\"count\"" WHEN " value=\"983\"/>",
             "sample steps 2025-03-01T08:12:00-05:00 +780 983 [Zoë’s Watch watch]\n");
    APPLE_IS("<Record type=\"" Q "HeartRate\" sourceName=\"A &amp; B\" unit=\"count/min\"" WHEN
             " value=\"61.5\"></Record>",
             "sample heart_rate 2025-03-01T08:12:00-05:00 +780 61.5 [A & B app]\n");
}

/* What a value of a type in a unit becomes, and of which metric. */
static void check_unit(const char *type, const char *unit, const char *value, const char *want)
{
    char input[1000];
    struct text got;
    snprintf(input, sizeof input,
             HEAD "<Record type=\"" Q "%s\" sourceName=\"S\" unit=\"%s\"" WHEN
                  " value=\"%s\"/>\n" TAIL,
             type, unit, value);
    got = record(&reader_apple, "export.xml", weir_slice_of(input));
    text_add_char(&got, 0);
    if (!strstr(got.ptr, want))
        t_fail(__FILE__, __LINE__, "%s %s %s: %s", type, unit, value, got.ptr);
    text_fini(&got);
}

TEST(units_become_those_of_the_catalogue)
{
    check_unit("BodyMass", "lb", "171.08", " 77.6005826596 [");
    check_unit("BodyMass", "kg", "78.3", " 78.3 [");
    check_unit("BodyMass", "st", "12", " 76.20351816 [");
    check_unit("BodyMass", "g", "78300", " 78.3 [");
    check_unit("BodyTemperature", "degF", "98.6", " 37 [");
    check_unit("BodyTemperature", "degC", "36.8", " 36.8 [");
    check_unit("BodyTemperature", "K", "310.15", " 37 [");
    check_unit("DistanceWalkingRunning", "mi", "1", " 1.609344 [");
    check_unit("DistanceWalkingRunning", "m", "1500", " 1.5 [");
    check_unit("DistanceCycling", "km", "12.5", "cycling_distance");
    check_unit("BloodGlucose", "mmol&lt;180.1558800000541&gt;/L", "5.5", " 99.085734 [");
    check_unit("BloodGlucose", "mg/dL", "99", " 99 [");
    check_unit("OxygenSaturation", "%", "0.97", " 97 [");
    check_unit("BodyFatPercentage", "%", "0.182", " 18.2 [");
    check_unit("ActiveEnergyBurned", "Cal", "1.5", " 1.5 [");
    check_unit("ActiveEnergyBurned", "kcal", "1.5", " 1.5 [");
    check_unit("ActiveEnergyBurned", "kJ", "4.184", " 1 [");
    check_unit("Height", "ft", "6", " 182.88 [");
    check_unit("Height", "m", "1.8", " 180 [");
    check_unit("Height", "in", "70", " 177.8 [");
    check_unit("WaistCircumference", "cm", "80", " 80 [");
    check_unit("FlightsClimbed", "count", "3", "floors");
    check_unit("RespiratoryRate", "count/min", "14.5", "respiratory_rate");
    check_unit("HeartRateVariabilitySDNN", "ms", "47", "hrv_sdnn");
    check_unit("VO2Max", "mL/min·kg", "43.1", " 43.1 [");
    check_unit("WalkingSpeed", "mi/hr", "3", " 4.828032 [");
    check_unit("WalkingSpeed", "km/hr", "5", " 5 [");
    check_unit("WalkingSpeed", "m/s", "1", " 3.6 [");
    check_unit("DietaryWater", "fl_oz_us", "10", " 295.735295625 [");
    check_unit("DietaryWater", "L", "1.5", " 1500 [");
    check_unit("DietaryCaffeine", "g", "0.1", " 100 [");
    check_unit("AppleExerciseTime", "min", "1", "active_minutes");
    check_unit("BodyMassIndex", "count", "22.5312", " 22.5312 [");
    check_unit("BloodPressureSystolic", "mmHg", "128", "systolic");
}

TEST(every_type_of_the_table_is_found_and_has_a_metric)
{
    static const char *const some[] = {
        "HKQuantityTypeIdentifierStepCount", "HKQuantityTypeIdentifierWalkingSpeed",
        "HKCategoryTypeIdentifierAppleStandHour", "HKQuantityTypeIdentifierBodyMassIndex"};
    for (size_t i = 0; i < sizeof some / sizeof *some; i++)
        T_OK(apple_type_find(weir_slice_of(some[i])).metric);
    T_EQ(apple_type_find(weir_slice_of("HKCategoryTypeIdentifierSleepAnalysis")).what, APPLE_SLEEP);
    T_EQ(apple_type_find(weir_slice_of("HKQuantityTypeIdentifierBodyMas")).what, APPLE_UNKNOWN);
    T_EQ(apple_type_find(weir_slice_of("")).what, APPLE_UNKNOWN);
}

TEST(what_was_typed_in_is_manual_and_a_zone_is_the_real_one)
{
    APPLE_IS("<Record type=\"" Q "BodyMass\" sourceName=\"Health\" unit=\"kg\"" WHEN
             " value=\"78\">\n<MetadataEntry key=\"HKWasUserEntered\" value=\"1\"/>\n</Record>",
             "sample weight 2025-03-01T08:12:00-05:00 +780 78 [Health manual]\n");
    APPLE_IS("<Record type=\"" Q "BodyMass\" sourceName=\"Health\" unit=\"kg\"" WHEN
             " value=\"78\">\n<MetadataEntry key=\"HKWasUserEntered\" value=\"0\"/>\n</Record>",
             "sample weight 2025-03-01T08:12:00-05:00 +780 78 [Health app]\n");
    APPLE_IS("<Record type=\"" Q "BodyMass\" sourceName=\"Health\" unit=\"kg\"" WHEN
             " value=\"78\">\n<MetadataEntry value=\"Asia/Tokyo\" key=\"HKTimeZone\"/>\n</Record>",
             "sample weight 2025-03-01T22:12:00+09:00 +780 78 [Health app]\n");
    APPLE_IS(
        "<Record type=\"" Q "BodyMass\" sourceName=\"Health\" unit=\"kg\"" WHEN
        " value=\"78\">\n<MetadataEntry key=\"HKTimeZone\" value=\"Mars/Olympus\"/>\n</Record>",
        "sample weight 2025-03-01T08:12:00-05:00 +780 78 [Health app]\n");
}

TEST(all_stages_of_sleep_are_known_in_words_and_numbers)
{
    static const struct {
        const char *value;
        enum sleep_stage stage;
    } cases[] = {
        {"HKCategoryValueSleepAnalysisInBed", STAGE_IN_BED},
        {"HKCategoryValueSleepAnalysisAsleep", STAGE_ASLEEP},
        {"HKCategoryValueSleepAnalysisAsleepUnspecified", STAGE_ASLEEP},
        {"HKCategoryValueSleepAnalysisAsleepCore", STAGE_LIGHT},
        {"HKCategoryValueSleepAnalysisAsleepDeep", STAGE_DEEP},
        {"HKCategoryValueSleepAnalysisAsleepREM", STAGE_REM},
        {"HKCategoryValueSleepAnalysisAwake", STAGE_AWAKE},
        {"0", STAGE_IN_BED},
        {"1", STAGE_ASLEEP},
        {"2", STAGE_AWAKE},
        {"3", STAGE_LIGHT},
        {"4", STAGE_DEEP},
        {"5", STAGE_REM},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        enum sleep_stage stage = STAGE_IN_BED;
        T_OK(apple_stage_find(weir_slice_of(cases[i].value), &stage));
        T_EQ(stage, cases[i].stage);
    }
    enum sleep_stage stage;
    T_OK(!apple_stage_find(weir_slice_of("HKCategoryValueSleepAnalysisDreaming"), &stage));
    T_OK(!apple_stage_find(weir_slice_of(""), &stage));
    APPLE_IS("<Record type=\"HKCategoryTypeIdentifierSleepAnalysis\"" WATCH WHEN
             " value=\"HKCategoryValueSleepAnalysisAsleepDeep\"/>",
             "stage deep 2025-03-01T08:12:00-05:00 +780 [Zoë’s Watch watch]\n");
}

TEST(hours_stood_count_and_idle_ones_do_not)
{
    APPLE_IS("<Record type=\"HKCategoryTypeIdentifierAppleStandHour\"" WATCH WHEN
             " value=\"HKCategoryValueAppleStandHourStood\"/>\n"
             "<Record type=\"HKCategoryTypeIdentifierAppleStandHour\"" WATCH WHEN
             " value=\"HKCategoryValueAppleStandHourIdle\"/>\n"
             "<Record type=\"HKCategoryTypeIdentifierMindfulSession\" sourceName=\"Calm\"" WHEN
             "/>",
             "sample stand_hours 2025-03-01T08:12:00-05:00 +780 1 [Zoë’s Watch watch]\n"
             "sample mindful_minutes 2025-03-01T08:12:00-05:00 +780 13 [Calm app]\n");
}

#define RUN                                                                                        \
    "<Workout workoutActivityType=\"HKWorkoutActivityTypeRunning\" duration=\"42\" "               \
    "durationUnit=\"min\""
#define RAN " startDate=\"2025-03-01 18:00:00 -0500\" endDate=\"2025-03-01 18:45:00 -0500\""

TEST(workouts_have_old_totals_or_new_statistics)
{
    APPLE_IS(
        RUN " totalDistance=\"5\" totalDistanceUnit=\"mi\" totalEnergyBurned=\"500\" "
            "totalEnergyBurnedUnit=\"kcal\" sourceName=\"Strava\"" RAN "/>",
        "workout run (Running) 2025-03-01 2025-03-01T18:00:00-05:00 min 42 km 8.04672 kcal 500 "
        "[Strava app]\n");
    APPLE_IS(RUN WATCH RAN
             ">\n<MetadataEntry key=\"HKElevationAscended\" value=\"418 cm\"/>\n"
             "<WorkoutStatistics type=\"" Q "DistanceWalkingRunning\" sum=\"7.1\" unit=\"km\"/>"
             "<WorkoutStatistics type=\"" Q "ActiveEnergyBurned\" sum=\"520\" unit=\"Cal\"/>"
             "<WorkoutStatistics type=\"" Q "StepCount\" sum=\"7000\" unit=\"count\"/>"
             "<WorkoutStatistics type=\"" Q "HeartRate\" average=\"141.5\" minimum=\"88\" "
             "maximum=\"172\" unit=\"count/min\"/>"
             "<WorkoutActivity><WorkoutStatistics type=\"" Q
             "DistanceWalkingRunning\" sum=\"7.1\" unit=\"km\"/></WorkoutActivity>\n</Workout>",
             "workout run (Running) 2025-03-01 2025-03-01T18:00:00-05:00 min 42 km 7.1 kcal 520 "
             "avg 141.5 max 172 steps 7000 up 4.18 [Zoë’s Watch watch]\n");
}

TEST(totals_of_zero_are_missing_and_unknown_sports_keep_their_name)
{
    APPLE_IS("<Workout workoutActivityType=\"HKWorkoutActivityTypeJaiAlai\" totalDistance=\"0\" "
             "totalDistanceUnit=\"km\" sourceName=\"S\"" RAN "/>",
             "workout other (JaiAlai) 2025-03-01 2025-03-01T18:00:00-05:00 min 45 [S app]\n");
}

TEST(days_of_the_export_and_later_are_partial)
{
    APPLE_IS("<ActivitySummary dateComponents=\"2025-03-30\" activeEnergyBurned=\"2092\" "
             "activeEnergyBurnedUnit=\"kJ\" appleExerciseTime=\"0\" appleStandHours=\"9\"/>\n"
             "<ActivitySummary dateComponents=\"2025-03-31\" activeEnergyBurned=\"50\" "
             "activeEnergyBurnedUnit=\"Cal\" appleExerciseTime=\"6\" appleStandHours=\"2\"/>\n"
             "<ActivitySummary dateComponents=\"2014-01-01\" activeEnergyBurned=\"0\" "
             "activeEnergyBurnedUnit=\"Cal\" appleExerciseTime=\"0\" appleStandHours=\"0\"/>",
             "day active_energy 2025-03-30 500 [Apple Health activity summary watch]\n"
             "day active_minutes 2025-03-30 0 [Apple Health activity summary watch]\n"
             "day stand_hours 2025-03-30 9 [Apple Health activity summary watch]\n"
             "day active_energy 2025-03-31 50 partial [Apple Health activity summary watch]\n"
             "day active_minutes 2025-03-31 6 partial [Apple Health activity summary watch]\n"
             "day stand_hours 2025-03-31 2 partial [Apple Health activity summary watch]\n"
             "ignored ActivitySummary of a day without a watch\n");
}

TEST(without_a_date_of_export_the_newest_summary_is_partial)
{
    RECORD_IS(&reader_apple, "export.xml",
              "<HealthData><ActivitySummary dateComponents=\"2025-03-30\" appleStandHours=\"9\"/>"
              "<ActivitySummary dateComponents=\"2025-03-28\" appleStandHours=\"7\"/>"
              "<ActivitySummary dateComponents=\"2025-03-29\" appleStandHours=\"8\"/></HealthData>",
              "day stand_hours 2025-03-28 7 [Apple Health activity summary watch]\n"
              "day stand_hours 2025-03-29 8 [Apple Health activity summary watch]\n"
              "day stand_hours 2025-03-30 9 partial [Apple Health activity summary watch]\n");
}

TEST(wrong_rows_are_refused_with_their_line_and_reading_goes_on)
{
    APPLE_IS(
        "<Record type=\"" Q "StepCount\" sourceName=\"S\" unit=\"count\"" WHEN " value=\"many\"/>\n"
        "<Record type=\"" Q "StepCount\" sourceName=\"S\" unit=\"count\"" WHEN "/>\n"
        "<Record type=\"" Q "StepCount\" sourceName=\"S\" unit=\"lb\"" WHEN " value=\"1\"/>\n"
        "<Record type=\"" Q "StepCount\" sourceName=\"S\" unit=\"count\" value=\"1\"/>\n"
        "<Record type=\"" Q "StepCount\" sourceName=\"S\" unit=\"count\" value=\"1\" "
        "startDate=\"yesterday\"/>\n"
        "<Record type=\"" Q "StepCount\" sourceName=\"S\" unit=\"count\" value=\"1\" "
        "startDate=\"2025-03-01 08:12:00 -0500\" endDate=\"2025-03-01 08:11:59 -0500\"/>\n"
        "<Record type=\"HKCategoryTypeIdentifierSleepAnalysis\" sourceName=\"S\"" WHEN
        " value=\"Snoring\"/>\n"
        "<ActivitySummary dateComponents=\"2025-02-30\"/>\n"
        "<Record type=\"" Q "StepCount\" sourceName=\"S\" unit=\"count\"" WHEN " value=\"7\"/>",
        "refused 3: value \"many\" is no number\n"
        "refused 4: there is no value\n"
        "refused 5: unit \"lb\" cannot be converted to steps, the unit of steps\n"
        "refused 6: there is no startDate\n"
        "refused 7: startDate \"yesterday\" is no time from 1900 to 2169\n"
        "refused 8: endDate \"2025-03-01 08:11:59 -0500\" is before the startDate\n"
        "refused 9: value \"Snoring\" is no stage of sleep\n"
        "refused 10: dateComponents \"2025-02-30\" is no date from 1900 to 2169\n"
        "sample steps 2025-03-01T08:12:00-05:00 +780 7 [S app]\n");
}

TEST(unknown_types_and_elements_are_ignored_by_name)
{
    APPLE_IS("<Record type=\"HKDataTypeSleepDurationGoal\" sourceName=\"S\"" WHEN "/>\n"
             "<ClinicalRecord type=\"HKClinicalTypeIdentifierLabResultRecord\"/>\n"
             "<Audiogram><SensitivityPoint/></Audiogram><Me a=\"b\"/>",
             "ignored HKDataTypeSleepDurationGoal\nignored ClinicalRecord\nignored Audiogram\n");
}

TEST(records_of_a_correlation_are_handed_over_like_others)
{
    APPLE_IS("<Correlation type=\"HKCorrelationTypeIdentifierBloodPressure\" sourceName=\"BP\"" WHEN
             ">\n<MetadataEntry key=\"HKWasUserEntered\" value=\"1\"/>\n<Record type=\"" Q
             "BloodPressureSystolic\" sourceName=\"BP\" unit=\"mmHg\"" WHEN
             " value=\"128\"/>\n</Correlation>\n<Record type=\"" Q
             "BloodPressureSystolic\" sourceName=\"BP\" unit=\"mmHg\"" WHEN " value=\"128\"/>",
             "sample systolic 2025-03-01T08:12:00-05:00 +780 128 [BP scale]\n"
             "sample systolic 2025-03-01T08:12:00-05:00 +780 128 [BP scale]\n");
}

TEST(exports_of_2022_with_a_second_start_and_a_broken_doctype_are_read)
{
    RECORD_IS(&reader_apple, "export.xml",
              "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE HealthData [\n"
              "<!ATTLIST VisionPrescription\n type CDATA #REQUIRED\n<!ELEMENT RightEye EMPTY>\n>\n"
              ">\n]>\n" HEAD "<Record type=\"" Q
              "StepCount\" sourceName=\"S\" unit=\"count\" startDate=\"2025-03-01 08:12:00 -0500\" "
              "startDate=\"2025-03-01 08:13:00 -0500\" value=\"7\"/>" TAIL,
              EXPORTED "sample steps 2025-03-01T08:12:00-05:00 +60 7 [S app]\n");
}

TEST(broken_files_end_with_an_error_that_has_the_line)
{
    RECORD_IS(&reader_apple, "export.xml", HEAD "<Record ",
              EXPORTED "error invalid_argument: line 3: it ends in the middle: it is truncated\n");
    RECORD_IS(&reader_apple, "export.xml", HEAD "</Record>",
              EXPORTED "error invalid_argument: line 3: </Record> stands where </HealthData> "
                       "should\n");
    RECORD_IS(&reader_apple, "export.xml", "<html/>",
              "error invalid_argument: line 1: the root element is <html>, not <HealthData>: this "
              "is no export of Apple Health\n");
    RECORD_IS(&reader_apple, "export.xml", "<HealthData/>",
              "error invalid_argument: the export is empty: <HealthData> has no elements\n");
    RECORD_IS(&reader_apple, "export.xml", HEAD "<Record type=\"&bomb;\"/>" TAIL,
              EXPORTED "error invalid_argument: line 3: it refers to an entity that is not one of "
                       "XML's own\n");
}

TEST(sources_have_a_class_whatever_their_address)
{
    static const struct {
        const char *name, *device;
        enum source_class kind;
    } cases[] = {
        {"Owner’s Apple Watch", ", name:Apple Watch, model:Watch, hardware:Watch6,2", SOURCE_WATCH},
        {"Strava", ", name:Apple Watch, hardware:Watch6,2", SOURCE_WATCH},
        {"Anna", ", name:iPhone, model:iPhone, hardware:iPhone14,2", SOURCE_PHONE},
        {"Owner’s iPhone", "", SOURCE_PHONE},
        {"Oura", "", SOURCE_WATCH},
        {"RingConn", "", SOURCE_WATCH},
        {"Spring Health", "", SOURCE_APP},
        {"Withings", "", SOURCE_SCALE},
        {"Scale", "", SOURCE_SCALE},
        {"MyFitnessPal", "", SOURCE_APP},
        {"Health", "", SOURCE_APP},
        {"", "", SOURCE_UNKNOWN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        T_EQ(apple_source_class(weir_slice_of(cases[i].name), weir_slice_of(cases[i].device)),
             cases[i].kind);
}

TEST(times_are_read_by_place_and_in_other_forms)
{
    struct apple_clock c = {0};
    struct moment m;
    T_OK(apple_moment(&c, weir_slice_of("2025-03-01 08:12:00 -0500"), &m));
    T_EQ(m.at, 1740834720);
    T_EQ(m.offset, -18000);
    T_OK(apple_moment(&c, weir_slice_of("1969-12-31 23:59:59 +0000"), &m));
    T_EQ(m.at, -1);
    T_OK(apple_moment(&c, weir_slice_of("2025-03-01 08:12:00 +0545"), &m));
    T_EQ(m.offset, 20700);
    T_OK(apple_moment(&c, weir_slice_of("2025-03-01T08:12:00Z"), &m));
    T_EQ(m.at, 1740816720);
    static const char *const wrong[] = {
        "",
        "2025-03-01",
        "2025-02-29 08:12:00 -0500",
        "2025-03-01 24:12:00 -0500",
        "2025-03-01 08:60:00 -0500",
        "2025-03-01 08:12:00 *0500",
        "2025-03-01 08:12:00 -0560",
        "1800-03-01 08:12:00 -0500",
        "9999-03-01 08:12:00 -0500",
        "2025-03-01 08:1a:00 -0500",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (apple_moment(&c, weir_slice_of(wrong[i]), &m))
            t_fail(__FILE__, __LINE__, "%s", wrong[i]);
}

/* ---- going on in the middle ---- */

struct got {
    size_t n;
    double sum;
    uint64_t last_line;
};

static enum weir_status count_sample(void *user, const struct sample *s)
{
    struct got *g = user;
    g->n++;
    g->sum += s->value;
    return WEIR_OK;
}

static enum weir_status count_value(void *user, const struct day_value *v)
{
    struct got *g = user;
    g->n++;
    g->sum += v->value * (v->is_partial ? 1000 : 1);
    return WEIR_OK;
}

static void count_refusal(void *user, uint64_t line, const char *reason)
{
    struct got *g = user;
    (void)reason;
    g->last_line = line;
}

TEST(an_import_goes_on_at_every_mark_as_if_nothing_had_happened)
{
    static const char input[] =
        HEAD "<Record type=\"" Q "StepCount\" sourceName=\"S\" unit=\"count\"" WHEN
             " value=\"1\"/>\n<Record type=\"" Q "StepCount\" sourceName=\"S\" unit=\"count\"" WHEN
             " value=\"10\">\n <MetadataEntry key=\"a\" value=\"b\"/>\n</Record>\n"
             "<ActivitySummary dateComponents=\"2025-03-31\" appleStandHours=\"2\"/>\n"
             "<Record type=\"" Q "StepCount\" sourceName=\"S\"/>\n" TAIL;
    size_t len = sizeof input - 1;
    for (size_t cut = 0; cut <= len; cut++) {
        struct got g = {0};
        struct reader_context c = {.sink = {.user = &g,
                                            .sample = count_sample,
                                            .day_value = count_value,
                                            .refuse = count_refusal}};
        struct reader *r;
        char note[READER_NOTE_BYTES];
        T_EQ(reader_apple.open(&r, &c), WEIR_OK);
        T_EQ(reader_apple.feed(r, (struct weir_slice){input, cut}), WEIR_OK);
        uint64_t mark = reader_apple.mark(r);
        reader_apple.note(r, note);
        struct got before = g;
        reader_apple.close(r);
        if (mark == 0) continue;
        c.note = weir_slice_of(note);
        T_EQ(reader_apple.resume(&r, &c, mark), WEIR_OK);
        T_EQ(reader_apple.feed(r, (struct weir_slice){input + mark, len - mark}), WEIR_OK);
        T_EQ(reader_apple.end(r), WEIR_OK);
        reader_apple.close(r);
        /* What was handed over between the mark and the cut comes twice at most. */
        T_OK(g.n >= 3 && g.sum >= 2011 && before.n <= 3);
        T_EQ(g.last_line, 8);
    }
}

TEST(the_head_of_a_file_tells_an_export)
{
    T_EQ(reader_apple.recognise(weir_slice_of("导出.xml"), weir_slice_of("<?xml?><HealthData>")),
         95);
    T_EQ(reader_apple.recognise(weir_slice_of("x"), weir_slice_of("<!DOCTYPE HealthData [")), 100);
    T_EQ(reader_apple.recognise(weir_slice_of("export.xml"), weir_slice_of("<html>")), 0);
    T_EQ(reader_apple.recognise(weir_slice_of("export.xml"), weir_slice_of("")), 0);
}

TEST(real_exports_are_read_without_a_refusal)
{
    static const struct {
        const char *path;
        size_t n_samples, n_days, n_workouts;
    } files[] = {{"exports/real/apple/dogsheep_export.xml", 2, 6, 1},
                 {"exports/real/apple/tdda_export6s3sample.xml", 15, 6, 1},
                 {"exports/invented/apple/export.xml", 829, 0, 6}};
    const char *samples = t_samples_dir();
    if (!samples) {
        t_skip("there are no samples here");
        return;
    }
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[1000];
        snprintf(path, sizeof path, "%s/%s", samples, files[i].path);
        struct text t = record(&reader_apple, "export.xml", t_read_file(path));
        T_EQ(record_count(&t, "sample "), files[i].n_samples);
        T_EQ(record_count(&t, "day "), files[i].n_days);
        T_EQ(record_count(&t, "workout "), files[i].n_workouts);
        T_EQ(record_count(&t, "refused "), 0);
        T_EQ(record_count(&t, "error "), 0);
        text_fini(&t);
    }
}
