/* SPDX-License-Identifier: Apache-2.0 */
#include "import/kinds.h"
#include "record.h"
#include "t.h"

#define PLAIN(input, want) RECORD_IS(&reader_plain, "table.csv", input, want)

TEST(a_row_a_day_gives_the_days_values)
{
    PLAIN("date,steps,weight_kg,bedtime\n"
          "2024-10-03,5518.0,70.5,23:36\n"
          "2024-10-04,0,,00:45\n",
          "day steps 2024-10-03 5518 [plain]\n"
          "day weight 2024-10-03 70.5 [plain]\n"
          "day bedtime 2024-10-03 1416 [plain]\n"
          "day steps 2024-10-04 0 [plain]\n"
          "day bedtime 2024-10-04 45 [plain]\n");
}

TEST(units_are_taken_from_headers_and_cells)
{
    PLAIN("Date,Weight (lb),sleep_hours,Distance (mi),Temperature Deviation (°F),hours slept x\n"
          "2025-03-01,100,7.5,1,1.8,\n",
          "day weight 2025-03-01 45.359237 [plain]\n"
          "day sleep_minutes 2025-03-01 450 [plain]\n"
          "day distance 2025-03-01 1.609344 [plain]\n"
          "day temperature_deviation 2025-03-01 1 [plain]\n");
    PLAIN("Date,Hours of sleep,REM sleep,weight,glucose mmol/L\n"
          "2025-03-01,7.5,1h 30m,165.3 lb,5\n",
          "day sleep_minutes 2025-03-01 450 [plain]\n"
          "day rem_sleep_minutes 2025-03-01 90 [plain]\n"
          "day weight 2025-03-01 74.978818761 [plain]\n"
          "day blood_glucose 2025-03-01 90.08 [plain]\n");
}

TEST(sleep_without_a_unit_is_in_hours_when_no_night_has_more_than_24)
{
    PLAIN("date,sleep,deep sleep,naps\n"
          "2025-03-01,7.5,1.25,0\n"
          "2025-03-02,6,,0.5\n"
          "2025-03-03,7:15,1:00,\n",
          "day sleep_minutes 2025-03-01 450 [plain]\n"
          "day deep_sleep_minutes 2025-03-01 75 [plain]\n"
          "day nap_minutes 2025-03-01 0 [plain]\n"
          "day sleep_minutes 2025-03-02 360 [plain]\n"
          "day nap_minutes 2025-03-02 30 [plain]\n"
          "day sleep_minutes 2025-03-03 435 [plain]\n"
          "day deep_sleep_minutes 2025-03-03 60 [plain]\n");
    PLAIN("date,sleep,naps\n2025-03-01,430,20\n2025-03-02,7,20\n",
          "day sleep_minutes 2025-03-01 430 [plain]\n"
          "day nap_minutes 2025-03-01 20 [plain]\n"
          "day sleep_minutes 2025-03-02 7 [plain]\n"
          "day nap_minutes 2025-03-02 20 [plain]\n");
}

TEST(a_column_without_a_name_is_no_harm_beside_others)
{
    PLAIN("date,steps,total\n2025-03-01,5000,3\n", "day steps 2025-03-01 5000 [plain]\n"
                                                   "own total 2025-03-01 3 [plain]\n");
    RECORD_IS(&reader_plain, "Steps.csv", ",Actual,Goal\n6/13/2025,\"9,876\",8000\n",
              "day steps 2025-06-13 9876 [plain]\n");
}

TEST(glasses_of_a_day_are_added_also_when_the_time_has_a_column_of_its_own)
{
    PLAIN("date,time,water (ml)\n2025-03-01,08:00,250\n2025-03-01,12:00,300\n",
          "sample water 2025-03-01T08:00:00-05:00 250 [plain]\n"
          "sample water 2025-03-01T12:00:00-05:00 300 [plain]\n");
    PLAIN("date,water (ml)\n3/4/2025 8:00 AM,250\n3/4/2025 12:00 PM,300\n3/14/2025 8:00 AM,1\n",
          "sample water 2025-03-04T08:00:00-05:00 250 [plain]\n"
          "sample water 2025-03-04T12:00:00-05:00 300 [plain]\n"
          "sample water 2025-03-14T08:00:00-04:00 1 [plain]\n");
}

TEST(shares_that_never_exceed_one_become_percent)
{
    PLAIN("date,sleep efficiency,spo2\n2025-03-01,0.5,98%\n2025-03-02,1,97%\n",
          "day sleep_efficiency 2025-03-01 50 [plain]\n"
          "day blood_oxygen 2025-03-01 98 [plain]\n"
          "day sleep_efficiency 2025-03-02 100 [plain]\n"
          "day blood_oxygen 2025-03-02 97 [plain]\n");
}

TEST(thousands_may_be_parted_by_any_blank_and_metres_are_no_minutes)
{
    PLAIN("date;pas;distance\n"
          "2025-03-01;12 345;5000 m\n"
          "2025-03-02;1\u202f234;4,5 km\n"
          "2025-03-03;9\u00a0876;3 mi\n"
          "2025-03-04;12 5;\n",
          "day steps 2025-03-01 12345 [plain]\n"
          "day distance 2025-03-01 5 [plain]\n"
          "day steps 2025-03-02 1234 [plain]\n"
          "day distance 2025-03-02 4.5 [plain]\n"
          "day steps 2025-03-03 9876 [plain]\n"
          "day distance 2025-03-03 4.828032 [plain]\n"
          "refused 5: pas: \"12 5\" is not a number\n");
}

TEST(missing_cells_are_missing_and_never_zero)
{
    PLAIN("date,steps,weight,hrv\n"
          "2025-03-01,--,None,\n"
          "2025-03-02,NaN,null,N/A\n",
          "");
}

TEST(unknown_columns_of_numbers_are_the_persons_own_and_notes_are_not)
{
    PLAIN("date,coffee cups,headache,notes,Weekday\n"
          "2025-03-01,2,no,slept badly,Sat\n"
          "2025-03-02,3,yes,fine,Sun\n",
          "ignored notes\n"
          "own coffee cups 2025-03-01 2 [plain]\n"
          "own headache 2025-03-01 0 [plain]\n"
          "own coffee cups 2025-03-02 3 [plain]\n"
          "own headache 2025-03-02 1 [plain]\n");
}

TEST(a_bad_row_is_refused_with_its_line_and_the_rest_is_read)
{
    PLAIN("date,steps,weight\n"
          "2025-03-01,12abc,70\n"
          "not a day,5,70\n"
          ",5,70\n"
          "2025-02-30,5,70\n"
          "2025-03-04,5\n"
          "2025-03-05,5,70,5\n"
          "2025-03-06,6,7000\n"
          "2025-03-07,7,71\n",
          "refused 2: steps: \"12abc\" is not a number\n"
          "day weight 2025-03-01 70 [plain]\n"
          "refused 3: date: \"not a day\" is not a date\n"
          "refused 4: date: there is no date\n"
          "refused 5: date: \"2025-02-30\" is not a date\n"
          "refused 6: 2 fields where the header has 3\n"
          "refused 7: 4 fields where the header has 3\n"
          "day steps 2025-03-06 6 [plain]\n"
          "refused 8: weight: \"7000\" is not plausible (20 to 400 kg)\n"
          "day steps 2025-03-07 7 [plain]\n"
          "day weight 2025-03-07 71 [plain]\n");
}

TEST(semicolons_bring_decimal_commas_and_points_for_thousands)
{
    PLAIN("\xEF\xBB\xBF"
          "Datum;steps;weight\r\n"
          "01.03.2025;11.802;70,5\r\n"
          "02.03.2025;7.133;70,6\r\n",
          "day steps 2025-03-01 11802 [plain]\n"
          "day weight 2025-03-01 70.5 [plain]\n"
          "day steps 2025-03-02 7133 [plain]\n"
          "day weight 2025-03-02 70.6 [plain]\n");
    PLAIN("date;steps;weight\n2025-03-01;11802;70.5\n",
          "day steps 2025-03-01 11802 [plain]\nday weight 2025-03-01 70.5 [plain]\n");
}

TEST(tables_that_programs_copy_from_telephones_are_known)
{
    PLAIN(
        "Date,Active Energy (kcal),Heart Rate [Avg] (count/min),Sleep Analysis [Asleep] (hr),Step "
        "Count (count),Walking + Running Distance (mi),Weight & Body Mass (lb),VO2 Max "
        "(ml/(kg·min))\n"
        "2025-03-01 00:00:00,472.5,71.5,7.5,11802,1,100,41\n",
        "day active_energy 2025-03-01 472.5 [plain]\nday heart_rate 2025-03-01 71.5 [plain]\n"
        "day sleep_minutes 2025-03-01 450 [plain]\nday steps 2025-03-01 11802 [plain]\n"
        "day distance 2025-03-01 1.609344 [plain]\nday weight 2025-03-01 45.359237 [plain]\n"
        "day vo2max 2025-03-01 41 [plain]\n");
    PLAIN("Date,Move Minutes count,Calories (kcal),Distance (m),Average heart rate (bpm),Max heart "
          "rate (bpm),Step count,Average weight (kg)\n"
          "2025-03-01,42,2200.5,8500,71,140,11802,77.6\n",
          "day active_minutes 2025-03-01 42 [plain]\nday total_energy 2025-03-01 2200.5 [plain]\n"
          "day distance 2025-03-01 8.5 [plain]\nday heart_rate 2025-03-01 71 [plain]\n"
          "day max_heart_rate 2025-03-01 140 [plain]\nday steps 2025-03-01 11802 [plain]\n"
          "day weight 2025-03-01 77.6 [plain]\n");
}

TEST(a_title_with_commas_does_not_hide_a_table_with_semicolons)
{
    PLAIN("Doe, Jane, born 1980\n\nDatum;Schritte;Gewicht\n01.03.2025;10.432;70,5\n",
          "day steps 2025-03-01 10432 [plain]\nday weight 2025-03-01 70.5 [plain]\n");
}

TEST(values_without_a_name_are_what_the_file_is_called)
{
    RECORD_IS(&reader_plain, "Resting heart rate - 2025-03.csv", "date,value\n2025-03-01,58\n",
              "day resting_heart_rate 2025-03-01 58 [plain]\n");
    RECORD_IS(&reader_plain, "export.csv", "date,value\n2025-03-01,58\n",
              "error invalid_field: column \"value\" does not say what it is; call it by what is "
              "measured, or the file (weight.csv)\n");
}

TEST(translated_headers_are_known)
{
    PLAIN(
        "Datum;Schritte;Gewicht (kg);Schlaf (Stunden);Ruhepuls\n01.03.2025;10.432;70,5;7,5;58\n",
        "day steps 2025-03-01 10432 [plain]\nday weight 2025-03-01 70.5 [plain]\n"
        "day sleep_minutes 2025-03-01 450 [plain]\nday resting_heart_rate 2025-03-01 58 [plain]\n");
    PLAIN("Date;Pas;POIDS (kg);Durée de sommeil\n31/03/2025;5000;70,5;7h 30min\n",
          "day steps 2025-03-31 5000 [plain]\nday weight 2025-03-31 70.5 [plain]\n"
          "day sleep_minutes 2025-03-31 450 [plain]\n");
}

TEST(a_table_that_cannot_be_read_is_left_to_the_reader_to_say_why)
{
    static const struct {
        const char *input, *want;
    } cases[] = {
        {"date,gr\xF6\xDF"
         "e\n2025-03-01,1\n",
         "error invalid_field: line 1: not UTF-8 (perhaps Latin-1 or Windows-1252); save the file "
         "as "
         "UTF-8\n"},
        {"date,steps\n2025-03-01,\"1\n",
         "error invalid_field: line 2: a quote that is never closed\n"},
        {"date,steps\n", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        T_EQ_STR(weir_slice_of(record_kind("x", weir_slice_of(cases[i].input))), "plain");
        PLAIN(cases[i].input, cases[i].want);
    }
    struct text wide = {0};
    text_printf(&wide, "date");
    for (unsigned i = 0; i < 10000; i++) text_printf(&wide, ",c%u", i);
    T_EQ_STR(weir_slice_of(record_kind("x", text_slice(&wide))), "plain");
    text_fini(&wide);
}

TEST(the_order_of_dates_is_learned_from_all_first_rows)
{
    PLAIN("date,steps\n03/04/2025,1\n25/04/2025,2\n",
          "day steps 2025-04-03 1 [plain]\nday steps 2025-04-25 2 [plain]\n");
    PLAIN("date,steps\n03/04/2025,1\n04/25/2025,2\n",
          "day steps 2025-03-04 1 [plain]\nday steps 2025-04-25 2 [plain]\n");
    PLAIN("date,steps\n03/04/2025,1\n04/04/2025,2\n",
          "error invalid_field: line 2: 03/04/2025 may be day first or month first, and no row "
          "says which; write dates as 2025-03-31, or import with --dates dmy or --dates mdy\n");
    PLAIN("date,steps\n13/04/2025,1\n04/13/2025,2\n",
          "error invalid_field: line 3 has its date month first, line 2 day first; write dates as "
          "2025-03-31\n");
}

TEST(what_the_person_says_of_dates_and_units_is_heard)
{
    struct reader_context says = {.dates = DATES_DAY_FIRST, .units = UNITS_IMPERIAL};
    struct text got =
        record_with(&reader_plain, &says, weir_slice_of("date,weight\n03/04/2025,100\n"));
    T_EQ_STR(text_slice(&got), "day weight 2025-04-03 45.359237 [plain]\n");
    text_fini(&got);
}

TEST(rows_with_times_are_measurements)
{
    PLAIN("timestamp,weight,systolic,steps\n"
          "2025-03-01 07:10:00,77.6,120,\n"
          "2025-03-01 21:00:00,78.1,,500\n",
          "sample weight 2025-03-01T07:10:00-05:00 77.6 [plain]\n"
          "sample systolic 2025-03-01T07:10:00-05:00 120 [plain]\n"
          "sample weight 2025-03-01T21:00:00-05:00 78.1 [plain]\n"
          "sample steps 2025-03-01T21:00:00-05:00 500 [plain]\n");
}

TEST(several_rows_of_a_day_are_counted_one_by_one)
{
    PLAIN("timestamp,steps,water\n2025-03-01 08:00,500,250\n2025-03-01 09:00,700,250\n",
          "sample steps 2025-03-01T08:00:00-05:00 500 [plain]\n"
          "sample water 2025-03-01T08:00:00-05:00 250 [plain]\n"
          "sample steps 2025-03-01T09:00:00-05:00 700 [plain]\n"
          "sample water 2025-03-01T09:00:00-05:00 250 [plain]\n");
}

TEST(one_row_a_value_is_read_by_its_metric_and_unit)
{
    PLAIN("date,metric,value,unit\n"
          "2025-03-01,weight,171,lb\n"
          "2025-03-01,Sleep,7.5,hours\n"
          "2025-03-01,mood swings,3,\n"
          "2025-03-01,weight,5,hours\n"
          "2025-03-01,ldl,3.4,mmol/L\n"
          "2025-03-01,,5,\n"
          "2025-03-02,steps,\"6,904\",\n",
          "day weight 2025-03-01 77.56429527 [plain]\n"
          "day sleep_minutes 2025-03-01 450 [plain]\n"
          "own mood swings 2025-03-01 3 [plain]\n"
          "refused 5: weight: \"hours\" is not a unit it is measured in\n"
          "lab ldl (ldl) 2025-03-01 131.478 mg/dL printed '3.4 mmol/L' range '' flag '' [plain]\n"
          "refused 7: a value without the name of its metric\n"
          "day steps 2025-03-02 6904 [plain]\n");
}

TEST(columns_of_words_are_notes_whatever_they_are_called)
{
    PLAIN("date,exercise,steps\n2025-03-01,Run,1\n2025-03-02,none,2\n2025-03-03,Yoga,3\n",
          "ignored exercise\n"
          "day steps 2025-03-01 1 [plain]\nday steps 2025-03-02 2 [plain]\n"
          "day steps 2025-03-03 3 [plain]\n");
}

TEST(a_pressure_of_two_numbers_is_two_values)
{
    PLAIN("date,Blood pressure,Water (oz)\n2025-03-01,120/80,64\n2025-03-02,12/8,\n"
          "2025-03-03,120/eighty,\n",
          "day systolic 2025-03-01 120 [plain]\nday diastolic 2025-03-01 80 [plain]\n"
          "day water 2025-03-01 1892.705892 [plain]\n"
          "refused 3: a blood pressure of 12/8 is not plausible\n"
          "refused 4: Blood pressure: \"120/eighty\" is not a number\n");
}

TEST(an_index_of_dates_without_a_name_is_the_date)
{
    const char *table = ",steps,weight\n2025-03-01,100,70\n";
    PLAIN(table, "day steps 2025-03-01 100 [plain]\nday weight 2025-03-01 70 [plain]\n");
    T_EQ_STR(weir_slice_of(record_kind("x", weir_slice_of(table))), "plain");
    T_EQ_STR(weir_slice_of(record_kind("x", weir_slice_of(",a,b\n1,2,3\n"))), "none");
}

TEST(a_table_without_a_date_is_not_known)
{
    static const char *const unknown[] = {"name,colour\nAda,red\n",
                                          "date,steps\nhello,1\n",
                                          "date\n2025-03-01\n",
                                          "just a text\nof some lines\n",
                                          "",
                                          "{\"date\": 1}",
                                          "\x7fOOPS\x02\x01"};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        T_EQ_STR(weir_slice_of(record_kind("x.csv", weir_slice_of(unknown[i]))), "none");
    T_EQ_STR(weir_slice_of(record_kind("x", weir_slice_of("date,steps\n2025-03-01,1\n"))), "plain");
    RECORD_IS(&reader_plain, "x", "name,colour\nAda,red\n",
              "error invalid_field: no header with the columns of a plain table\n");
}

TEST(the_tables_of_the_questions_are_read_without_a_refusal)
{
    static const char *const kinds[] = {"activities", "daily", "labs"};
    if (!t_samples_dir()) {
        t_skip("no samples here");
        return;
    }
    for (unsigned user = 1; user <= 6; user++)
        for (size_t k = 0; k < 3; k++) {
            struct text path = {0};
            text_printf(&path, "%s/questions/users/u%02u_%s.csv", t_samples_dir(), user, kinds[k]);
            text_add_char(&path, 0);
            struct weir_slice input = t_read_file(path.ptr);
            const char *kind = record_kind("table", input);
            T_EQ_STR(weir_slice_of(kind), k == 1 ? "plain" : kinds[k]);
            struct text got = record(reader_kind_find(kind), "table", input);
            T_OK(got.len > 0);
            T_EQ(record_count(&got, "refused"), 0);
            T_EQ(record_count(&got, "ignored"), 0);
            T_EQ(record_count(&got, "own"), 0);
            T_EQ(record_count(&got, "error"), 0);
            text_fini(&got);
            text_fini(&path);
        }
}
