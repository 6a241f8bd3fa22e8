/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of the houses that make devices, with the trap that each has. */
#include <stdio.h>

#include "import/kinds.h"
#include "record.h"
#include "t.h"

#define KIND_IS(kind, input) T_EQ_STR(weir_slice_of(record_kind("f", weir_slice_of(input))), kind)

/* ---- WHOOP ---- */

static const char whoop_cycles[] =
    "Cycle start time,Cycle end time,Cycle timezone,Recovery score %,Resting heart rate "
    "(bpm),Heart rate variability (ms),Skin temp (celsius),Blood oxygen %,Day Strain,Energy burned "
    "(cal),Max HR (bpm),Average HR (bpm),Sleep onset,Wake onset,Sleep performance %,Respiratory "
    "rate (rpm),Asleep duration (min),In bed duration (min),Light sleep duration (min),Deep (SWS) "
    "duration (min),REM duration (min),Awake duration (min),Sleep need (min),Sleep debt "
    "(min),Sleep efficiency %,Sleep consistency %\n";

TEST(an_unfinished_whoop_cycle_has_its_sleep_and_a_partial_strain)
{
    char input[2048];
    snprintf(input, sizeof input, "%s%s", whoop_cycles,
             "2025-03-29 23:11:00,,UTC-04:00,58,57,62,33.3,96.0,4.1,900,,,2025-03-29 "
             "23:11:00,2025-03-30 07:37:00,81,14.6,468,506,269,82,117,38,480,58,92,78\n"
             "2025-03-28 22:47:00,2025-03-29 23:11:00,UTC-04:00,,,,,,12.5,,,,,,,,,,,,,,,,,\n");
    KIND_IS("whoop", input);
    RECORD_IS(&reader_whoop, "f", input,
              "sleep 2025-03-30 2025-03-29T23:11:00-04:00 2025-03-30T07:37:00-04:00 asleep 468 "
              "in_bed 506 awake 38 light 269 deep 82 rem 117 efficiency 92 [WHOOP watch]\n"
              "day recovery_score 2025-03-30 58 [WHOOP watch]\n"
              "day resting_heart_rate 2025-03-30 57 [WHOOP watch]\n"
              "day hrv_rmssd 2025-03-30 62 [WHOOP watch]\n"
              "day skin_temperature 2025-03-30 33.3 [WHOOP watch]\n"
              "day blood_oxygen 2025-03-30 96 [WHOOP watch]\n"
              "day strain 2025-03-30 4.1 partial [WHOOP watch]\n"
              "day total_energy 2025-03-30 900 partial [WHOOP watch]\n"
              "day sleep_score 2025-03-30 81 [WHOOP watch]\n"
              "day respiratory_rate 2025-03-30 14.6 [WHOOP watch]\n"
              "day sleep_need 2025-03-30 480 [WHOOP watch]\n"
              "day sleep_debt 2025-03-30 58 [WHOOP watch]\n"
              "day sleep_consistency 2025-03-30 78 [WHOOP watch]\n"
              "day strain 2025-03-29 12.5 [WHOOP watch]\n");
}

TEST(whoop_naps_are_naps_and_the_night_of_the_clocks_has_its_length)
{
    const char *input =
        "Cycle start time,Cycle end time,Cycle timezone,Sleep onset,Wake onset,Asleep duration "
        "(min),In bed duration (min),Nap\n"
        "2025-03-08 22:49:00,2025-03-09 22:51:00,UTC-05:00,2025-03-08 22:49:00,2025-03-09 "
        "06:54:00,384,425,false\n"
        "2025-03-09 22:51:00,,UTC-04:00,2025-03-10 14:00:00,2025-03-10 14:30:00,25,30,true\n"
        "2025-03-09 22:51:00,,UTC-04:00,2025-03-10 14:00:00,2025-03-10 13:30:00,25,30,true\n"
        "2025-03-09 22:51:00,,UTC-04:00,,,,,false\n";
    KIND_IS("whoop", input);
    RECORD_IS(&reader_whoop, "f", input,
              "sleep 2025-03-09 2025-03-08T22:49:00-05:00 2025-03-09T06:54:00-04:00 asleep 384 "
              "in_bed 425 [WHOOP watch]\n"
              "nap 2025-03-10 2025-03-10T14:00:00-04:00 2025-03-10T14:30:00-04:00 asleep 25 in_bed "
              "30 [WHOOP watch]\n"
              "refused 4: a sleep that ends before it begins\n"
              "refused 5: a sleep without its onset or waking\n");
}

TEST(whoop_workouts_and_answers_are_read)
{
    RECORD_IS(
        &reader_whoop, "f",
        "Cycle start time,Cycle end time,Cycle timezone,Workout start time,Workout end "
        "time,Duration (min),Activity name,Activity Strain,Energy burned (cal),Max HR "
        "(bpm),Average HR (bpm),GPS enabled,Distance (meters),Altitude gain (meters)\n"
        "2025-03-02 23:00:00,2025-03-03 23:00:00,UTC+09:00,2025-03-03 18:00:00,2025-03-03 "
        "18:42:00,42,Running,11.2,520,171,148,true,7100,38\n"
        "2025-03-03 23:00:00,2025-03-04 23:00:00,UTCZ,2025-03-04 18:00:00,2025-03-04 "
        "18:30:00,30,Weightlifting,5.2,200,150,110,false,,\n",
        "ignored Activity Strain\nignored GPS enabled\n"
        "workout run (Running) 2025-03-03 2025-03-03T18:00:00+09:00 min 42 km 7.1 kcal 520 "
        "avg 148 max 171 up 38 [WHOOP watch]\n"
        "workout strength (Weightlifting) 2025-03-04 2025-03-04T18:00:00+00:00 min 30 kcal 200 "
        "avg 110 max 150 [WHOOP watch]\n");
    RECORD_IS(&reader_whoop, "f",
              "Cycle start time,Cycle end time,Cycle timezone,Question text,Answered yes,Notes\n"
              "2025-03-29 23:11:00,,UTC-04:00,Have any alcoholic drinks?,true,\n"
              "2025-03-29 00:03:00,,UTC-04:00,Have any alcoholic drinks?,false,\"two\nlines\"\n"
              "2025-03-28 00:03:00,,UTC-04:00,Have any alcoholic drinks?,maybe,\n",
              "own Have any alcoholic drinks? 2025-03-30 1 [WHOOP watch]\n"
              "own Have any alcoholic drinks? 2025-03-29 0 [WHOOP watch]\n"
              "refused 5: \"maybe\" is no answer to a question\n");
}

/* ---- Oura ---- */

TEST(oura_durations_are_seconds_and_fahrenheit_differences_have_no_zero)
{
    const char *input =
        "date,Sleep Score,Total Sleep Time,Awake Time,Bedtime Start,Bedtime End,Average Resting "
        "Heart Rate,Lowest Resting Heart Rate,Average HRV,Temperature Deviation (°F),Steps\n"
        "2025-03-01,91,25440,1680,2025-02-28T23:14:00-05:00,2025-03-01T06:46:00-05:00,64.25,60,47,"
        "0.9,0\n"
        "2025-03-02,None,,,,,None,,,None,7133\n";
    KIND_IS("oura", input);
    RECORD_IS(
        &reader_oura, "f", input,
        "ignored Average Resting Heart Rate\n"
        "sleep 2025-03-01 2025-02-28T23:14:00-05:00 2025-03-01T06:46:00-05:00 asleep 424 awake "
        "28 [Oura Ring watch]\n"
        "day sleep_score 2025-03-01 91 [Oura Ring watch]\n"
        "day resting_heart_rate 2025-03-01 60 [Oura Ring watch]\n"
        "day hrv_rmssd 2025-03-01 47 [Oura Ring watch]\n"
        "day temperature_deviation 2025-03-01 0.5 [Oura Ring watch]\n"
        "day steps 2025-03-01 0 [Oura Ring watch]\n"
        "day steps 2025-03-02 7133 [Oura Ring watch]\n");
}

TEST(oura_tables_with_the_names_of_its_api_know_naps)
{
    const char *input =
        "id;average_breath;average_hrv;awake_time;bedtime_end;bedtime_start;day;efficiency;lowest_"
        "heart_rate;total_sleep_duration;type\n"
        "a;14.125;47;1680;2025-03-01T06:46:00.000-05:00;2025-02-28T23:14:00.000-05:00;2025-03-01;"
        "94;"
        "60;25440;long_sleep\n"
        "b;;50;60;2025-03-01T14:30:00.000-05:00;2025-03-01T14:00:00.000-05:00;2025-03-01;80;70;"
        "1500;late_nap\n"
        "c;;50;60;2025-03-01T14:30:00.000-05:00;2025-03-01T14:00:00.000-05:00;2025-03-01;80;70;"
        "1500;deleted\n";
    KIND_IS("oura", input);
    RECORD_IS(
        &reader_oura, "f", input,
        "sleep 2025-03-01 2025-02-28T23:14:00-05:00 2025-03-01T06:46:00-05:00 asleep 424 awake "
        "28 efficiency 94 [Oura Ring watch]\n"
        "day respiratory_rate 2025-03-01 14.125 [Oura Ring watch]\n"
        "day hrv_rmssd 2025-03-01 47 [Oura Ring watch]\n"
        "day resting_heart_rate 2025-03-01 60 [Oura Ring watch]\n"
        "nap 2025-03-01 2025-03-01T14:00:00-05:00 2025-03-01T14:30:00-05:00 asleep 25 awake 1 "
        "efficiency 80 [Oura Ring watch]\n");
}

TEST(oura_trends_without_bedtimes_give_the_days_minutes)
{
    RECORD_IS(&reader_oura, "f",
              "date,Readiness Score,Total Sleep Duration,Average HRV\n2025-03-01,63,25440,47\n",
              "day sleep_minutes 2025-03-01 424 [Oura Ring watch]\n"
              "day readiness_score 2025-03-01 63 [Oura Ring watch]\n"
              "day hrv_rmssd 2025-03-01 47 [Oura Ring watch]\n");
}

/* ---- Garmin ---- */

TEST(garmin_activities_have_dashes_and_thousands)
{
    const char *input =
        "\xEF\xBB\xBF"
        "Activity Type,Date,Favorite,Title,Distance,Calories,Time,Avg HR,Max HR,Avg Run "
        "Cadence,Avg "
        "Pace,Elev Gain,Steps\n"
        "Running,2025-03-03 "
        "18:00:00,false,Evening,7.10,520,00:42:00,148,171,168,5:55,38,\"6,904\"\n"
        "Strength Training,2025-03-08 18:00:00,false,\"Gym, "
        "hard\",0.00,520,00:42:00,148,171,--,--,--,--\n"
        "Pool Swimming,2025-03-09 18:00:00,false,Laps,\"1,500\",300,00:30:00,--,--,--,--,--,--\n";
    KIND_IS("garmin", input);
    RECORD_IS(
        &reader_garmin, "f", input,
        "workout run (Running) 2025-03-03 2025-03-03T18:00:00-05:00 min 42 km 7.1 kcal 520 avg "
        "148 max 171 steps 6904 up 38 [Garmin watch]\n"
        "workout strength (Strength Training) 2025-03-08 2025-03-08T18:00:00-05:00 min 42 km 0 "
        "kcal 520 avg 148 max 171 [Garmin watch]\n"
        "workout swim (Pool Swimming) 2025-03-09 2025-03-09T18:00:00-04:00 min 30 km 1.5 kcal "
        "300 [Garmin watch]\n");
}

TEST(garmin_headers_and_activities_are_translated)
{
    const char *german =
        "Aktivitätstyp,Datum,Favorit,Titel,Distanz,Kalorien,Zeit,Ø Herzfrequenz,Maximale "
        "Herzfrequenz,Schritte\n"
        "Laufen,2025-03-03 18:00:00,false,Abend,\"7,10\",520,00:42:00,148,171,\"6.904\"\n";
    KIND_IS("garmin", german);
    RECORD_IS(
        &reader_garmin, "f", german,
        "workout run (Laufen) 2025-03-03 2025-03-03T18:00:00-05:00 min 42 km 7.1 kcal 520 avg "
        "148 max 171 steps 6904 [Garmin watch]\n");
    const char *french =
        "Type d'activité,Date,Favori,Titre,Distance,Calories,Durée,Fréquence cardiaque moyenne\n"
        "Course à pied,2025-03-03 18:00:00,false,Soir,\"7,10\",520,00:42:00,148\n";
    KIND_IS("garmin", french);
    RECORD_IS(&reader_garmin, "f", french,
              "workout run (Course à pied) 2025-03-03 2025-03-03T18:00:00-05:00 min 42 km 7.1 kcal "
              "520 avg 148 [Garmin watch]\n");
    const char *spanish =
        "Tipo de actividad,Fecha,Favorito,Título,Distancia,Calorías,Tiempo,FC media\n"
        "Ciclismo,2025-03-03 18:00:00,false,Tarde,\"20,5\",520,01:00:00,148\n";
    KIND_IS("garmin", spanish);
    RECORD_IS(
        &reader_garmin, "f", spanish,
        "workout bike (Ciclismo) 2025-03-03 2025-03-03T18:00:00-05:00 min 60 km 20.5 kcal 520 "
        "avg 148 [Garmin watch]\n");
}

TEST(garmin_miles_are_known_by_the_length_of_strides_or_by_word)
{
    RECORD_IS(
        &reader_garmin, "f",
        "Activity Type,Date,Favorite,Title,Distance,Calories,Time,Avg Stride Length,Steps,Elev "
        "Gain\n"
        "Walking,2025-03-01 18:00:00,false,a,2.00,100,00:40:00,--,--,100\n"
        "Running,2025-03-03 18:00:00,false,b,4.00,520,00:36:00,1.08,\"5,960\",--\n",
        "workout walk (Walking) 2025-03-01 2025-03-01T18:00:00-05:00 min 40 km 3.218688 kcal "
        "100 up 30.48 [Garmin watch]\n"
        "workout run (Running) 2025-03-03 2025-03-03T18:00:00-05:00 min 36 km 6.437376 kcal "
        "520 steps 5960 [Garmin watch]\n");
    RECORD_IS(&reader_garmin, "f",
              "Activity Type,Date,Favorite,Title,Distance (mi),Time\n"
              "Walking,2025-03-01 18:00:00,false,a,2.00,00:40:00\n",
              "workout walk (Walking) 2025-03-01 2025-03-01T18:00:00-05:00 min 40 km 3.218688 "
              "[Garmin watch]\n");
}

/* ---- Samsung ---- */

TEST(of_three_samsung_rows_a_day_one_counts)
{
    const char *input =
        "com.samsung.shealth.step_daily_trend,7011001,8\n"
        "binning_data,update_time,source_type,count,speed,distance,calorie,deviceuuid,day_time\n"
        "x,1740867200000,-2,11802,1.2,8497.4,472.08,dev0,1740787200000,\n"
        "x,1740867200000,0,9441,1.2,6798.0,377.66,dev0,1740787200000,\n"
        "x,1740867200000,5,11447,1.2,8242.5,457.92,dev0,1740787200000,\n"
        "x,1740867200000,-2,0,1.2,0,0,dev0,1740873600000,\n"
        "x,1740867200000,-2,5,1.2,0,0,dev0,soon,\n";
    KIND_IS("samsung", input);
    RECORD_IS(&reader_samsung, "f", input,
              "day steps 2025-03-01 11802 [Samsung Health watch]\n"
              "day distance 2025-03-01 8.4974 [Samsung Health watch]\n"
              "day active_energy 2025-03-01 472.08 [Samsung Health watch]\n"
              "day steps 2025-03-02 0 [Samsung Health watch]\n"
              "day distance 2025-03-02 0 [Samsung Health watch]\n"
              "day active_energy 2025-03-02 0 [Samsung Health watch]\n"
              "refused 7: \"soon\" is not a day\n");
}

TEST(samsung_sleep_is_utc_and_belongs_to_the_local_day_of_waking)
{
    RECORD_IS(&reader_samsung, "f",
              "com.samsung.shealth.sleep,7011001,5\n"
              "original_efficiency,sleep_duration,com.samsung.health.sleep.start_time,com.samsung."
              "health.sleep.end_time,com.samsung.health.sleep.time_offset,com.samsung.health.sleep."
              "datauuid,\n"
              ",384,2025-03-09 03:49:00.000,2025-03-09 10:54:00.000,UTC-0400,id,\n"
              ",400,2025-03-09 14:00:00.000,2025-03-09 21:30:00.000,UTC+0900,id,\n",
              "sleep 2025-03-09 2025-03-08T22:49:00-05:00 2025-03-09T06:54:00-04:00 asleep 384 "
              "[Samsung Health watch]\n"
              "sleep 2025-03-10 2025-03-09T23:00:00+09:00 2025-03-10T06:30:00+09:00 asleep 400 "
              "[Samsung Health watch]\n");
}

TEST(other_samsung_tables_are_read_or_known_and_left)
{
    RECORD_IS(
        &reader_samsung, "f",
        "com.samsung.shealth.tracker.heart_rate,1,2\n"
        "com.samsung.health.heart_rate.start_time,com.samsung.health.heart_rate.heart_rate,com."
        "samsung.health.heart_rate.end_time,com.samsung.health.heart_rate.time_offset\n"
        "2025-03-09 03:49:00.000,61.0,2025-03-09 03:49:00.000,UTC-0500,\n",
        "sample heart_rate 2025-03-08T22:49:00-05:00 61 [Samsung Health watch]\n");
    RECORD_IS(&reader_samsung, "f",
              "com.samsung.health.sleep_stage,1,2\n"
              "start_time,sleep_id,stage,time_offset,end_time\n"
              "2025-03-09 03:49:00.000,x,40003,UTC-0500,2025-03-09 03:59:00.000\n"
              "2025-03-09 03:49:00.000,x,40009,UTC-0500,2025-03-09 03:59:00.000\n",
              "stage deep 2025-03-08T22:49:00-05:00 +600 [Samsung Health watch]\n"
              "refused 4: 40009 is no stage of sleep (40001 to 40004)\n");
    RECORD_IS(
        &reader_samsung, "f",
        "com.samsung.shealth.exercise,1,2\n"
        "com.samsung.health.exercise.start_time,com.samsung.health.exercise.exercise_type,com."
        "samsung.health.exercise.duration,com.samsung.health.exercise.distance,com.samsung."
        "health.exercise.calorie,com.samsung.health.exercise.mean_heart_rate,com.samsung."
        "health.exercise.time_offset\n"
        "2025-03-09 23:00:00.000,1002,2520000,7100.0,520.5,0,UTC-0400\n",
        "workout run (run) 2025-03-09 2025-03-09T19:00:00-04:00 min 42 km 7.1 kcal 520.5 "
        "[Samsung Health watch]\n");
    const char *other = "com.samsung.shealth.badge,1,2\na,b\n1,2\n";
    KIND_IS("samsung", other);
    RECORD_IS(&reader_samsung, "f", other, "ignored com.samsung.shealth.badge\n");
}

/* ---- Fitbit ---- */

TEST(fitabase_days_are_of_one_person)
{
    const char *one =
        "Id,ActivityDate,TotalSteps,TotalDistance,VeryActiveMinutes,FairlyActiveMinutes,"
        "LightlyActiveMinutes,SedentaryMinutes,Calories\n"
        "1503960366,4/12/2016,13162,8.5,25,13,328,728,1985\n"
        "1503960366,4/13/2016,0,0,0,0,0,1440,0\n";
    KIND_IS("fitabase", one);
    RECORD_IS(&reader_fitabase, "f", one,
              "day steps 2016-04-12 13162 [Fitbit watch]\n"
              "day distance 2016-04-12 8.5 [Fitbit watch]\n"
              "day very_active_minutes 2016-04-12 25 [Fitbit watch]\n"
              "day sedentary_minutes 2016-04-12 728 [Fitbit watch]\n"
              "day total_energy 2016-04-12 1985 [Fitbit watch]\n"
              "day active_minutes 2016-04-12 38 [Fitbit watch]\n"
              "own lightly active minutes 2016-04-12 328 [Fitbit watch]\n"
              "day steps 2016-04-13 0 [Fitbit watch]\n"
              "day distance 2016-04-13 0 [Fitbit watch]\n"
              "day very_active_minutes 2016-04-13 0 [Fitbit watch]\n"
              "day sedentary_minutes 2016-04-13 1440 [Fitbit watch]\n"
              "day total_energy 2016-04-13 0 [Fitbit watch]\n"
              "day active_minutes 2016-04-13 0 [Fitbit watch]\n"
              "own lightly active minutes 2016-04-13 0 [Fitbit watch]\n");
    const char *two = "Id,SleepDay,TotalSleepRecords,TotalMinutesAsleep,TotalTimeInBed\n"
                      "1,4/12/2016 12:00:00 AM,1,327,346\n"
                      "2,4/12/2016 12:00:00 AM,1,400,420\n";
    KIND_IS("fitabase", two);
    RECORD_IS(&reader_fitabase, "f", two,
              "day sleep_minutes 2016-04-12 327 [Fitbit watch]\n"
              "day time_in_bed 2016-04-12 346 [Fitbit watch]\n"
              "error invalid_field: line 3: the file holds several people (1, 2, ...); say which "
              "one is meant with --person 1\n");
    struct reader_context says = {.person = weir_slice_of("2")};
    struct text got = record_with(&reader_fitabase, &says, weir_slice_of(two));
    T_EQ_STR(text_slice(&got), "ignored rows of others\n"
                               "day sleep_minutes 2016-04-12 400 [Fitbit watch]\n"
                               "day time_in_bed 2016-04-12 420 [Fitbit watch]\n");
    text_fini(&got);
}

TEST(fitabase_has_hours_seconds_nights_and_weights)
{
    RECORD_IS(
        &reader_fitabase, "f",
        "Id,ActivityHour,StepTotal\n1,4/12/2016 12:00:00 AM,373\n1,4/12/2016 1:00:00 PM,160\n",
        "sample steps 2016-04-12T00:00:00-04:00 +3600 373 [Fitbit watch]\n"
        "sample steps 2016-04-12T13:00:00-04:00 +3600 160 [Fitbit watch]\n");
    RECORD_IS(&reader_fitabase, "f",
              "Id,Time,Value\n1,4/12/2016 7:21:00 AM,97\n1,4/12/2016 7:21:05 AM,103\n"
              "1,4/12/2016 7:22:05 AM,90\n1,4/12/2016 7:22:15 AM,9000\n",
              "sample heart_rate 2016-04-12T07:21:00-04:00 100 [Fitbit watch]\n"
              "refused 5: Value: \"9000\" is not plausible (25 to 220 bpm)\n"
              "sample heart_rate 2016-04-12T07:22:00-04:00 90 [Fitbit watch]\n");
    RECORD_IS(&reader_fitabase, "f",
              "Id,date,value,logId\n1,4/12/2016 2:47:30 AM,3,1\n1,4/12/2016 2:48:30 AM,1,1\n"
              "1,4/12/2016 2:49:30 AM,1,1\n1,4/12/2016 2:59:30 AM,1,1\n",
              "stage awake 2016-04-12T02:47:30-04:00 +60 [Fitbit watch]\n"
              "stage asleep 2016-04-12T02:48:30-04:00 +120 [Fitbit watch]\n"
              "stage asleep 2016-04-12T02:59:30-04:00 +60 [Fitbit watch]\n");
    RECORD_IS(&reader_fitabase, "f",
              "Id,Date,WeightKg,WeightPounds,Fat,BMI,IsManualReport,LogId\n"
              "1,5/2/2016 11:59:59 PM,52.5,115.9,22,22.65,True,1462233599000\n",
              "sample weight 2016-05-02T23:59:59-04:00 52.5 [Fitbit manual]\n"
              "sample body_fat 2016-05-02T23:59:59-04:00 22 [Fitbit manual]\n"
              "sample bmi 2016-05-02T23:59:59-04:00 22.65 [Fitbit manual]\n");
}

TEST(fitbit_takeout_tables_are_known_by_their_columns)
{
    static const struct {
        const char *input, *want;
    } cases[] = {
        {"timestamp,rmssd,nremhr,entropy\n2025-03-01T00:00:00,41.5,55.1,2.8\n",
         "day hrv_rmssd 2025-03-01 41.5 [Fitbit watch]\n"},
        {"timestamp,average_value,lower_bound,upper_bound\n2025-03-01T00:00:00Z,96.1,93.0,98.2\n",
         "day blood_oxygen 2025-03-01 96.1 [Fitbit watch]\n"},
        {"sleep_log_entry_id,timestamp,overall_score,composition_score,resting_heart_rate\n"
         "1,2025-03-01T06:46:00Z,84,21,60\n",
         "day sleep_score 2025-03-01 84 [Fitbit watch]\n"
         "day resting_heart_rate 2025-03-01 60 [Fitbit watch]\n"},
        {"DATE,UPDATED_AT,STRESS_SCORE,STATUS,CALCULATION_FAILED\n"
         "2025-03-01T00:00:00,2025-03-02T00:00:00,78,READY,false\n"
         "2025-03-02T00:00:00,2025-03-02T00:00:00,0,NO_DATA,true\n",
         "ignored UPDATED_AT\nignored STATUS\n"
         "own stress management score 2025-03-01 78 [Fitbit watch]\n"},
        {"type,sleep_start,sleep_end,temperature_samples,nightly_temperature\n"
         "SKIN,2025-02-28T23:14,2025-03-01T06:46,452,33.41\n",
         "ignored type\nignored temperature_samples\n"
         "day skin_temperature 2025-03-01 33.41 [Fitbit watch]\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        KIND_IS("fitbit-csv", cases[i].input);
        RECORD_IS(&reader_fitbit_csv, "f", cases[i].input, cases[i].want);
    }
}

TEST(fitbit_readings_are_utc_and_details_are_left)
{
    RECORD_IS(&reader_fitbit_csv, "Minute SpO2 - 2025-03-01.csv",
              "timestamp,value\n2025-03-01T05:00:00Z,96.1\n2025-03-01T05:01:00Z,50.0\n",
              "sample blood_oxygen 2025-03-01T00:00:00-05:00 96.1 [Fitbit watch]\n");
    RECORD_IS(&reader_fitbit_csv, "heart_rate_2025-03-01.csv",
              "timestamp,beats per minute,data source\n2025-03-01T05:00:00Z,60.0,Charge 6\n"
              "2025-03-01T05:00:05Z,64.0,Charge 6\n",
              "sample heart_rate 2025-03-01T00:00:00-05:00 62 [Fitbit watch]\n");
    const char *details = "timestamp,rmssd,coverage,low_frequency,high_frequency\n"
                          "2025-03-01T00:05:00,41.5,0.9,100,200\n";
    KIND_IS("fitbit-csv", details);
    RECORD_IS(&reader_fitbit_csv, "f", details, "ignored heart rate variability by five minutes\n");
}
