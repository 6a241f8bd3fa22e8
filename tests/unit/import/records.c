/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON of the houses that make devices, with the trap that each has. */
#include "import/kinds.h"
#include "record.h"
#include "t.h"

#define KIND_IS(kind, input) T_EQ_STR(weir_slice_of(record_kind("f", weir_slice_of(input))), kind)

/* ---- Fitbit ---- */

TEST(fitbit_counts_are_utc_and_named_by_their_file)
{
    const char *input = "[{\"dateTime\": \"03/01/25 04:59:00\", \"value\": \"49\"},"
                        "{\"dateTime\": \"03/01/25 05:00:00\", \"value\": \"0\"},"
                        "{\"dateTime\": \"03/01/25 05:01:00\", \"value\": \"many\"},"
                        "{\"dateTime\": \"13/01/25 05:01:00\", \"value\": \"1\"}]";
    KIND_IS("fitbit", input);
    RECORD_IS(&reader_fitbit, "steps-2025-03-01.json", input,
              "sample steps 2025-02-28T23:59:00-05:00 +60 49 [Fitbit watch]\n"
              "sample steps 2025-03-01T00:00:00-05:00 +60 0 [Fitbit watch]\n"
              "refused 3: value is not a number\n"
              "refused 4: dateTime: \"13/01/25 05:01:00\" is not a date\n");
    RECORD_IS(&reader_fitbit, "distance-2025-03-01.json",
              "[{\"dateTime\": \"03/01/25 17:00:00\", \"value\": \"7430\"}]",
              "sample distance 2025-03-01T12:00:00-05:00 +60 0.0743 [Fitbit watch]\n");
    RECORD_IS(&reader_fitbit, "altitude-2025-03-01.json",
              "[{\"dateTime\": \"03/01/25 17:00:00\", \"value\": \"10\"}]", "ignored altitude\n");
    RECORD_IS(&reader_fitbit, "something.json",
              "[{\"dateTime\": \"03/01/25 17:00:00\", \"value\": \"10\"}]",
              "error invalid_field: counts of something that only the file's name would tell: it "
              "should begin with steps-, distance-, calories-, sedentary_minutes-, ...\n");
}

TEST(fitbit_active_minutes_of_two_files_are_added_and_days_are_local)
{
    RECORD_IS(&reader_fitbit, "moderately_active_minutes-2025-03-01.json",
              "[{\"dateTime\": \"03/01/25 00:00:00\", \"value\": \"13\"}]",
              "sample active_minutes 2025-03-01T00:00:00-05:00 +43200 13 [Fitbit watch]\n");
    RECORD_IS(&reader_fitbit, "very_active_minutes-2025-03-01.json",
              "[{\"dateTime\": \"03/01/25 00:00:00\", \"value\": \"25\"}]",
              "sample active_minutes 2025-03-01T12:00:00-05:00 +43200 25 [Fitbit watch]\n"
              "day very_active_minutes 2025-03-01 25 [Fitbit watch]\n");
    RECORD_IS(&reader_fitbit, "sedentary_minutes-2025-03-01.json",
              "[{\"dateTime\": \"03/01/25 00:00:00\", \"value\": \"700\"},"
              "{\"dateTime\": \"03/02/25 00:00:00\", \"value\": \"7000\"}]",
              "day sedentary_minutes 2025-03-01 700 [Fitbit watch]\n"
              "refused 2: 7000 minutes in a day\n");
}

TEST(fitbit_heart_rates_become_minutes_and_doubtful_ones_are_left)
{
    RECORD_IS(&reader_fitbit, "x.json",
              "[{\"dateTime\":\"03/01/25 05:00:00\",\"value\":{\"bpm\":70,\"confidence\":0}},"
              "{\"dateTime\":\"03/01/25 05:00:05\",\"value\":{\"bpm\":60,\"confidence\":2}},"
              "{\"dateTime\":\"03/01/25 05:00:10\",\"value\":{\"bpm\":63,\"confidence\":3}},"
              "{\"dateTime\":\"03/01/25 05:01:10\",\"value\":{\"bpm\":80,\"confidence\":3}}]",
              "ignored heart rates with confidence 0\n"
              "sample heart_rate 2025-03-01T00:00:00-05:00 61.5 [Fitbit watch]\n"
              "sample heart_rate 2025-03-01T00:01:00-05:00 80 [Fitbit watch]\n");
    RECORD_IS(
        &reader_fitbit, "x.json",
        "[{\"dateTime\":\"02/28/24 00:00:00\",\"value\":{\"date\":\"02/28/24\",\"value\":52.25,"
        "\"error\":6.7}},{\"dateTime\":\"02/29/24 00:00:00\",\"value\":{\"date\":null,"
        "\"value\":0.0,\"error\":0.0}}]",
        "day resting_heart_rate 2024-02-28 52.25 [Fitbit watch]\n");
}

TEST(fitbit_sleeps_are_of_the_wall_with_stages_or_without)
{
    RECORD_IS(
        &reader_fitbit, "x.json",
        "[{\"logId\":1,\"dateOfSleep\":\"2025-03-09\",\"startTime\":\"2025-03-08T22:49:00.000\","
        "\"endTime\":\"2025-03-09T06:54:00.000\",\"minutesAsleep\":384,\"minutesAwake\":41,"
        "\"timeInBed\":425,\"type\":\"stages\",\"mainSleep\":true,\"levels\":{\"summary\":{"
        "\"deep\":{\"minutes\":50},\"rem\":{\"minutes\":85},\"light\":{\"minutes\":249}}}},"
        "{\"logId\":2,\"dateOfSleep\":\"2025-03-09\",\"startTime\":\"2025-03-09T14:00:00.000\","
        "\"endTime\":\"2025-03-09T14:30:00.000\",\"minutesAsleep\":25,\"minutesAwake\":5,"
        "\"type\":\"classic\",\"mainSleep\":false,\"levels\":{\"summary\":{\"asleep\":{"
        "\"minutes\":25},\"restless\":{\"minutes\":5}}}},"
        "{\"logId\":3,\"dateOfSleep\":\"2025-03-09\",\"startTime\":\"2025-03-09T14:00:00.000\","
        "\"endTime\":\"never\"}]",
        "sleep 2025-03-09 2025-03-08T22:49:00-05:00 2025-03-09T06:54:00-04:00 asleep 384 in_bed "
        "425 awake 41 light 249 deep 50 rem 85 [Fitbit watch]\n"
        "nap 2025-03-09 2025-03-09T14:00:00-04:00 2025-03-09T14:30:00-04:00 asleep 25 awake 5 "
        "[Fitbit watch]\n"
        "refused 3: endTime: \"never\" is not a date\n");
}

TEST(fitbit_weights_are_in_the_unit_that_their_index_proves)
{
    RECORD_IS(
        &reader_fitbit, "x.json",
        "[{\"logId\":1,\"weight\":171.0,\"bmi\":24.1,\"date\":\"03/01/25\",\"time\":\"07:10:00\","
        "\"source\":\"API\"},"
        "{\"logId\":2,\"weight\":77.6,\"bmi\":24.1,\"fat\":21.5,\"date\":\"03/02/25\",\"time\":"
        "\"07:10:00\",\"source\":\"Aria\"},"
        "{\"logId\":3,\"weight\":12.0,\"bmi\":24.1,\"date\":\"03/03/25\",\"time\":\"07:10:00\"},"
        "{\"logId\":4,\"weight\":171.0,\"date\":\"03/04/25\",\"time\":\"07:10:00\"}]",
        "sample weight 2025-03-01T07:10:00-05:00 77.56429527 [Fitbit watch]\n"
        "sample bmi 2025-03-01T07:10:00-05:00 24.1 [Fitbit watch]\n"
        "sample weight 2025-03-02T07:10:00-05:00 77.6 [Fitbit scale]\n"
        "sample body_fat 2025-03-02T07:10:00-05:00 21.5 [Fitbit scale]\n"
        "sample bmi 2025-03-02T07:10:00-05:00 24.1 [Fitbit scale]\n"
        "sample weight 2025-03-03T07:10:00-05:00 76.20351816 [Fitbit watch]\n"
        "sample bmi 2025-03-03T07:10:00-05:00 24.1 [Fitbit watch]\n"
        "refused 4: weight 171: no bmi tells kilograms from pounds; say --units metric or "
        "--units imperial\n");
    struct reader_context says = {.units = UNITS_IMPERIAL};
    struct text got = record_with(
        &reader_fitbit, &says,
        weir_slice_of(
            "[{\"logId\":4,\"weight\":100.0,\"date\":\"03/04/25\",\"time\":\"07:10:00\"}]"));
    T_EQ_STR(text_slice(&got),
             "sample weight 2025-03-04T07:10:00-05:00 45.359237 [Fitbit watch]\n");
    text_fini(&got);
}

TEST(fitbit_exercises_are_workouts)
{
    RECORD_IS(
        &reader_fitbit, "exercise-0.json",
        "[{\"logId\":1,\"activityName\":\"Run\",\"averageHeartRate\":148,\"calories\":520,"
        "\"activeDuration\":2520000,\"steps\":6904,\"distance\":7.1,\"distanceUnit\":"
        "\"Kilometer\",\"startTime\":\"03/03/25 23:00:00\"}]",
        "workout run (Run) 2025-03-03 2025-03-03T18:00:00-05:00 min 42 km 7.1 kcal 520 avg 148 "
        "steps 6904 [Fitbit watch]\n");
}

/* ---- Oura ---- */

TEST(oura_nights_are_seconds_and_naps_are_naps)
{
    const char *input =
        "{\"data\":[{\"id\":\"a\",\"day\":\"2025-03-01\",\"type\":\"long_sleep\",\"bedtime_start\":"
        "\"2025-02-28T23:14:00-05:00\",\"bedtime_end\":\"2025-03-01T06:46:00-05:00\","
        "\"total_sleep_duration\":25440,\"deep_sleep_duration\":3660,\"average_hrv\":47,"
        "\"lowest_heart_rate\":60,\"efficiency\":94,\"readiness\":null},"
        "{\"id\":\"b\",\"day\":\"2025-03-01\",\"type\":\"late_nap\",\"bedtime_start\":"
        "\"2025-03-01T14:00:00-05:00\",\"bedtime_end\":\"2025-03-01T14:30:00-05:00\","
        "\"total_sleep_duration\":1500,\"average_hrv\":90,\"lowest_heart_rate\":99},"
        "{\"id\":\"c\",\"day\":\"2025-03-01\",\"type\":\"rest\",\"bedtime_start\":"
        "\"2025-03-01T14:00:00-05:00\",\"bedtime_end\":\"2025-03-01T14:30:00-05:00\","
        "\"total_sleep_duration\":0},"
        "{\"id\":\"d\"}],\"next_token\":null}";
    KIND_IS("oura-api", input);
    RECORD_IS(
        &reader_oura_api, "f", input,
        "sleep 2025-03-01 2025-02-28T23:14:00-05:00 2025-03-01T06:46:00-05:00 asleep 424 deep "
        "61 efficiency 94 [Oura Ring watch]\n"
        "day hrv_rmssd 2025-03-01 47 [Oura Ring watch]\n"
        "day resting_heart_rate 2025-03-01 60 [Oura Ring watch]\n"
        "nap 2025-03-01 2025-03-01T14:00:00-05:00 2025-03-01T14:30:00-05:00 asleep 25 [Oura "
        "Ring watch]\n"
        "refused 4: a record that is none of those known of Oura\n");
}

TEST(oura_days_scores_hearts_and_workouts_are_known_by_their_members)
{
    const char *input =
        "{\"daily_activity\":[{\"day\":\"2025-03-01\",\"steps\":11802,\"active_calories\":472,"
        "\"total_calories\":2400,\"equivalent_walking_distance\":8500,\"score\":80,"
        "\"high_activity_time\":600,\"medium_activity_time\":1800}],"
        "\"daily_sleep\":[{\"day\":\"2025-03-01\",\"score\":91,\"contributors\":{\"deep_sleep\":90}"
        "}],"
        "\"daily_readiness\":[{\"day\":\"2025-03-01\",\"score\":63,\"temperature_deviation\":-0.31,"
        "\"contributors\":{\"body_temperature\":90}}],"
        "\"daily_spo2\":[{\"day\":\"2025-03-01\",\"spo2_percentage\":{\"average\":97.1}}],"
        "\"heartrate\":[{\"bpm\":60,\"source\":\"awake\",\"timestamp\":\"2025-03-01T12:00:00+00:"
        "00\"},"
        "{\"bpm\":0,\"source\":\"awake\",\"timestamp\":\"2025-03-01T12:05:00+00:00\"}],"
        "\"workout\":[{\"activity\":\"running\",\"calories\":520.0,\"day\":\"2025-03-01\","
        "\"distance\":7100.0,\"start_datetime\":\"2025-03-01T18:00:00-05:00\",\"end_datetime\":"
        "\"2025-03-01T18:42:00-05:00\"}]}";
    KIND_IS("oura-api", input);
    RECORD_IS(&reader_oura_api, "f", input,
              "day steps 2025-03-01 11802 [Oura Ring watch]\n"
              "day activity_score 2025-03-01 80 [Oura Ring watch]\n"
              "day active_energy 2025-03-01 472 [Oura Ring watch]\n"
              "day total_energy 2025-03-01 2400 [Oura Ring watch]\n"
              "day distance 2025-03-01 8.5 [Oura Ring watch]\n"
              "day active_minutes 2025-03-01 40 [Oura Ring watch]\n"
              "day sleep_score 2025-03-01 91 [Oura Ring watch]\n"
              "day readiness_score 2025-03-01 63 [Oura Ring watch]\n"
              "day temperature_deviation 2025-03-01 -0.31 [Oura Ring watch]\n"
              "day blood_oxygen 2025-03-01 97.1 [Oura Ring watch]\n"
              "workout run (running) 2025-03-01 2025-03-01T18:00:00-05:00 min 42 km 7.1 kcal 520 "
              "[Oura Ring watch]\n"
              "sample heart_rate 2025-03-01T07:00:00-05:00 60 [Oura Ring watch]\n");
}

TEST(answers_of_the_oura_api_may_be_collected)
{
    const char *input = "{\"daily_sleep\":{\"data\":[{\"day\":\"2025-03-01\",\"score\":91,"
                        "\"contributors\":{\"deep_sleep\":90}}],\"next_token\":null},"
                        "\"vo2_max\":{\"data\":[{\"day\":\"2025-03-01\",\"vo2_max\":41}]}}";
    KIND_IS("oura-api", input);
    RECORD_IS(&reader_oura_api, "f", input,
              "day sleep_score 2025-03-01 91 [Oura Ring watch]\n"
              "day vo2max 2025-03-01 41 [Oura Ring watch]\n");
}

/* ---- Garmin ---- */

TEST(a_garmin_day_that_is_not_over_is_partial_and_minus_one_is_nothing)
{
    const char *input =
        "[{\"calendarDate\":\"2025-06-14\",\"totalSteps\":5459,\"totalDistanceMeters\":4471,"
        "\"wellnessEndTimeLocal\":\"2025-06-14T15:30:00.0\",\"moderateIntensityMinutes\":10,"
        "\"vigorousIntensityMinutes\":5,\"averageStressLevel\":-1,\"restingHeartRate\":null}]";
    KIND_IS("garmin-connect", input);
    RECORD_IS(&reader_garmin_connect, "f", input,
              "day steps 2025-06-14 5459 partial [Garmin watch]\n"
              "day distance 2025-06-14 4.471 partial [Garmin watch]\n"
              "day very_active_minutes 2025-06-14 5 partial [Garmin watch]\n"
              "day active_minutes 2025-06-14 15 partial [Garmin watch]\n");
}

TEST(garmin_nights_have_both_clocks_or_the_zone)
{
    const char *site =
        "[{\"dailySleepDTO\":{\"calendarDate\":\"2025-07-07\",\"sleepTimeSeconds\":24180,"
        "\"sleepStartTimestampGMT\":1751863648000,\"sleepEndTimestampGMT\":1751888248000,"
        "\"sleepStartTimestampLocal\":1751842048000,\"sleepEndTimestampLocal\":1751866648000,"
        "\"deepSleepSeconds\":5280,\"remSleepSeconds\":5460,\"sleepScores\":{\"overall\":{"
        "\"value\":"
        "83}}},\"restingHeartRate\":44},{\"dailySleepDTO\":{\"calendarDate\":\"2025-07-08\","
        "\"sleepStartTimestampGMT\":null}}]";
    KIND_IS("garmin-connect", site);
    RECORD_IS(
        &reader_garmin_connect, "f", site,
        "sleep 2025-07-07 2025-07-06T22:47:28-06:00 2025-07-07T05:37:28-06:00 asleep 403 deep "
        "88 rem 91 [Garmin watch]\n"
        "day sleep_score 2025-07-07 83 [Garmin watch]\n"
        "day resting_heart_rate 2025-07-07 44 [Garmin watch]\n");
    const char *takeout =
        "[{\"sleepStartTimestampGMT\":\"2025-03-09T03:49:00.0\",\"sleepEndTimestampGMT\":"
        "\"2025-03-09T10:54:00.0\",\"calendarDate\":\"2025-03-09\",\"deepSleepSeconds\":3000,"
        "\"lightSleepSeconds\":14940,\"remSleepSeconds\":5100,\"awakeSleepSeconds\":2460}]";
    KIND_IS("garmin-connect", takeout);
    RECORD_IS(
        &reader_garmin_connect, "f", takeout,
        "sleep 2025-03-09 2025-03-08T22:49:00-05:00 2025-03-09T06:54:00-04:00 asleep 384 awake "
        "41 light 249 deep 50 rem 85 [Garmin watch]\n");
}

TEST(garmin_takeout_days_and_activities_are_read)
{
    RECORD_IS(&reader_garmin_connect, "UDSFile_2025.json",
              "[{\"userProfilePK\":1,\"calendarDate\":{\"date\":\"Mar 1, 2025 12:00:00 AM\"},"
              "\"totalSteps\":11802,\"allDayStress\":{\"aggregatorList\":[{\"type\":\"AWAKE\","
              "\"averageStressLevel\":40},{\"type\":\"TOTAL\",\"averageStressLevel\":28}]}}]",
              "day steps 2025-03-01 11802 [Garmin watch]\n"
              "day stress_score 2025-03-01 28 [Garmin watch]\n");
    const char *all =
        "[{\"summarizedActivitiesExport\":[{\"activityId\":1,\"activityType\":\"running\","
        "\"beginTimestamp\":1741042800000,\"startTimeLocal\":1741024800000,\"duration\":2520000.0,"
        "\"distance\":710000.0,\"avgHr\":148,\"maxHr\":171,\"elevationGain\":3800.0}]}]";
    KIND_IS("garmin-connect", all);
    RECORD_IS(
        &reader_garmin_connect, "f", all,
        "workout run (running) 2025-03-03 2025-03-03T18:00:00-05:00 min 42 km 7.1 avg 148 max "
        "171 up 38 [Garmin watch]\n");
    RECORD_IS(
        &reader_garmin_connect, "f",
        "[{\"activityId\":1,\"activityType\":{\"typeKey\":\"lap_swimming\"},\"startTimeGMT\":"
        "\"2025-03-03 23:00:00\",\"startTimeLocal\":\"2025-03-03 18:00:00\",\"duration\":1800.0,"
        "\"distance\":1500.0,\"averageHR\":120.0,\"calories\":300.0,\"beginTimestamp\":1}]",
        "workout swim (lap_swimming) 2025-03-03 2025-03-03T18:00:00-05:00 min 30 km 1.5 kcal "
        "300 avg 120 [Garmin watch]\n");
}

TEST(other_json_is_not_known)
{
    static const char *const unknown[] = {"[]",
                                          "{}",
                                          "[1,2,3]",
                                          "{\"day\":\"2025-03-01\"}",
                                          "[{\"value\":1}]",
                                          "{\"steps\":[{\"a\":1}]}",
                                          "[{\"dateTime\":\"2025-03-01\",\"value\":\"1\"}]",
                                          "{\"data\":[]}",
                                          "[{\"broken\": "};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) KIND_IS("none", unknown[i]);
}

TEST(a_truncated_file_is_said_with_its_place)
{
    RECORD_IS(&reader_fitbit, "steps-x.json",
              "[{\"dateTime\": \"03/01/25 05:00:00\", \"value\": \"49\"},{\"dateTime\"",
              "sample steps 2025-03-01T00:00:00-05:00 +60 49 [Fitbit watch]\n"
              "error json_truncated: record 2, byte 61: the file ends inside it\n");
}
