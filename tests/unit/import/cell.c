/* SPDX-License-Identifier: Apache-2.0 */
#include "import/cell.h"

#include <math.h>

#include "data/day.h"
#include "t.h"

static double number(const char *text, enum number_style style)
{
    double out;
    return cell_number(weir_slice_of(text), style, &out) ? out : NAN;
}

#define IS(got, want) T_OK(fabs((got) - (want)) < 1e-12)

TEST(numbers_are_read_as_people_write_them)
{
    IS(number("42", NUMBERS_UNKNOWN), 42);
    IS(number(" -0.31 ", NUMBERS_UNKNOWN), -0.31);
    IS(number("6,904", NUMBERS_UNKNOWN), 6904);
    IS(number("1,234,567.5", NUMBERS_UNKNOWN), 1234567.5);
    IS(number("97 %", NUMBERS_UNKNOWN), 97);
    IS(number("96.5%", NUMBERS_UNKNOWN), 96.5);
    IS(number("70,5", NUMBERS_UNKNOWN), 70.5);
    IS(number("0,125", NUMBERS_UNKNOWN), 0.125);
    IS(number("1.234,5", NUMBERS_UNKNOWN), 1234.5);
    IS(number("1e3", NUMBERS_UNKNOWN), 1000);
    IS(number("52.26781177520752", NUMBERS_UNKNOWN), 52.26781177520752);
    IS(number("12 345", NUMBERS_UNKNOWN), 12345);
    IS(number("6'904", NUMBERS_UNKNOWN), 6904);
}

TEST(the_style_of_the_file_decides_where_a_number_does_not)
{
    IS(number("6,904", NUMBERS_COMMA), 6.904);
    IS(number("6.904", NUMBERS_COMMA), 6904);
    IS(number("6.904", NUMBERS_POINT), 6.904);
    IS(number("6.904", NUMBERS_UNKNOWN), 6.904);
    IS(number("70.5", NUMBERS_COMMA), 70.5);
    T_EQ(cell_style_of(weir_slice_of("70,5")), NUMBERS_COMMA);
    T_EQ(cell_style_of(weir_slice_of("70.5")), NUMBERS_POINT);
    T_EQ(cell_style_of(weir_slice_of("1,234,567")), NUMBERS_POINT);
    T_EQ(cell_style_of(weir_slice_of("6,904")), NUMBERS_UNKNOWN);
    T_EQ(cell_style_of(weir_slice_of("2025-03-01")), NUMBERS_UNKNOWN);
}

TEST(what_is_not_wholly_a_number_is_none)
{
    static const char *const wrong[] = {"",   "abc",  "12abc", "1,2,3", "1..2",      "--5",
                                        "1e", "0x1F", "inf",   "nan",   "1 2",       "6,90,4",
                                        "%",  "+",    "1-2",   ".",     "1,23,456.7"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (!isnan(number(wrong[i], NUMBERS_UNKNOWN)) && strcmp(wrong[i], "1 2") != 0)
            t_fail(__FILE__, __LINE__, "'%s' was read as a number", wrong[i]);
}

TEST(signs_for_nothing_are_missing_and_zero_is_not)
{
    static const char *const missing[] = {"",    "  ",  "--",   "-",  "None", "null",
                                          "NaN", "N/A", "n.a.", "NA", "#N/A"};
    for (size_t i = 0; i < sizeof missing / sizeof *missing; i++)
        T_OK(cell_is_missing(weir_slice_of(missing[i])));
    T_OK(!cell_is_missing(weir_slice_of("0")));
    T_OK(!cell_is_missing(weir_slice_of("-1")));
}

static double duration(const char *text, bool is_short)
{
    double out;
    return cell_duration(weir_slice_of(text), is_short, &out) ? out : NAN;
}

TEST(durations_are_minutes)
{
    IS(duration("00:42:00", false), 42);
    IS(duration("1:02:30", false), 62.5);
    IS(duration("01:42:00,5", false), 102 + 0.5 / 60);
    IS(duration("7:32", false), 452);
    IS(duration("5:30", true), 5.5);
    IS(duration("42:10.5", true), 42 + 10.5 / 60);
    IS(duration("7h 32m", false), 452);
    IS(duration("7 hr 32 min", false), 452);
    IS(duration("45 min", false), 45);
    IS(duration("90s", false), 1.5);
    IS(duration("PT7H32M", false), 452);
    T_OK(isnan(duration("7:60", false)));
    T_OK(isnan(duration("1:2:3:4", false)));
    T_OK(isnan(duration("7 furlongs", false)));
    T_OK(isnan(duration("45", false)));
    T_OK(isnan(duration(":30", false)));
}

static double clock_of(const char *text)
{
    double out;
    return cell_clock(weir_slice_of(text), &out) ? out : NAN;
}

TEST(times_of_day_are_minutes_after_midnight)
{
    IS(clock_of("23:36"), 1416);
    IS(clock_of("00:45"), 45);
    IS(clock_of("0:45"), 45);
    IS(clock_of("11:36 PM"), 1416);
    IS(clock_of("12:05 am"), 5);
    IS(clock_of("12:05 p.m."), 725);
    IS(clock_of("11 pm"), 1380);
    IS(clock_of("23:36:30"), 1416.5);
    IS(clock_of("2025-02-28T23:14:00-05:00"), 1394);
    T_OK(isnan(clock_of("24:10")));
    T_OK(isnan(clock_of("13:00 PM")));
    T_OK(isnan(clock_of("23")));
    T_OK(isnan(clock_of("2025-02-28")));
}

static bool is_day(const char *text, enum date_order order, int year, int month, int day)
{
    struct cell_time t;
    return cell_time(weir_slice_of(text), order, &t) && t.day == day_from_civil(year, month, day);
}

TEST(dates_are_read_in_the_forms_that_exports_have)
{
    static const char *const same[] = {"2025-03-01",
                                       "2025-03-01T23:14:00-05:00",
                                       "2025-03-01 23:14:00.000",
                                       "2025-03-01 0:00",
                                       "2025/03/01",
                                       "20250301",
                                       "2025.03.01",
                                       "01.03.2025",
                                       "1.3.2025 23:14",
                                       "1 Mar 2025",
                                       "01-Mar-2025",
                                       "March 1, 2025",
                                       "Mar 1 2025 11:14 PM",
                                       "1. März 2025",
                                       "Sat, Mar 1, 2025",
                                       "2025-03-01T23:14:00Z",
                                       "2025-03-01 23:14:00 -0500",
                                       "1st"};
    for (size_t i = 0; i + 1 < sizeof same / sizeof *same; i++)
        if (!is_day(same[i], DATES_UNKNOWN, 2025, 3, 1))
            t_fail(__FILE__, __LINE__, "'%s' was not read", same[i]);
    T_OK(is_day("03/01/25 05:00:00", DATES_MONTH_FIRST, 2025, 3, 1));
    T_OK(is_day("4/12/2016 12:00:00 AM", DATES_MONTH_FIRST, 2016, 4, 12));
    T_OK(is_day("25/03/2025", DATES_UNKNOWN, 2025, 3, 25));
    T_OK(is_day("03/25/2025", DATES_UNKNOWN, 2025, 3, 25));
    T_OK(is_day("05/05/2025", DATES_UNKNOWN, 2025, 5, 5));
}

TEST(a_date_that_may_be_two_says_so_and_one_that_proves_an_order_too)
{
    struct cell_time t;
    T_OK(cell_time(weir_slice_of("03/04/2025"), DATES_UNKNOWN, &t));
    T_OK(t.is_ambiguous);
    T_EQ(t.day, DAY_NONE);
    T_OK(cell_time(weir_slice_of("25/03/2025"), DATES_UNKNOWN, &t));
    T_EQ(t.proves, DATES_DAY_FIRST);
    T_OK(!cell_time(weir_slice_of("25/03/2025"), DATES_MONTH_FIRST, &t));
}

TEST(what_is_no_date_is_none)
{
    static const char *const wrong[] = {"",
                                        "2025-02-29",
                                        "31.02.2025",
                                        "2025-13-01",
                                        "hello",
                                        "12",
                                        "2025-03-01x",
                                        "2025-03-01 25:00",
                                        "1899-01-01",
                                        "2025-03-01T10:00+99:99x",
                                        "45000",
                                        "2025-03-01 10:00 furlong",
                                        "Mon 2025"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct cell_time t;
        if (cell_time(weir_slice_of(wrong[i]), DATES_UNKNOWN, &t))
            t_fail(__FILE__, __LINE__, "'%s' was read as a date", wrong[i]);
    }
}

TEST(a_moment_has_the_offset_of_its_text)
{
    struct cell_time t;
    T_OK(cell_time(weir_slice_of("2025-02-28T23:14:00-05:00"), DATES_UNKNOWN, &t));
    struct moment m = cell_moment(&t, NULL);
    T_EQ(m.at, 1740802440);
    T_EQ(m.offset, -5 * 3600);
}
