/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Days by the civil calendar: the proleptic Gregorian one, in years that begin in March, so that
 * the leap day is the last of its year and months have a regular pattern.
 */
#include "data/day.h"

#include <stdio.h>

enum {
    ERA_DAYS = 146097, /* of 400 years */
    ERA_YEARS = 400,
    EPOCH = 719468, /* from 0000-03-01 to 1970-01-01 */
};

static bool is_leap(int year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static int month_days(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return days[month - 1] + (month == 2 && is_leap(year) ? 1 : 0);
}

static int32_t count_days(int year, int month, int day)
{
    int y = month <= 2 ? year - 1 : year;
    int era = (y >= 0 ? y : y - (ERA_YEARS - 1)) / ERA_YEARS;
    int year_of_era = y - era * ERA_YEARS;
    int day_of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
    int day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * ERA_DAYS + day_of_era - EPOCH;
}

int32_t day_from_civil(int year, int month, int day)
{
    if (year < 1 || year > 9999 || month < 1 || month > 12) return DAY_NONE;
    if (day < 1 || day > month_days(year, month)) return DAY_NONE;
    return count_days(year, month, day);
}

struct civil day_to_civil(int32_t day)
{
    int z = day + EPOCH;
    int era = (z >= 0 ? z : z - (ERA_DAYS - 1)) / ERA_DAYS;
    int day_of_era = z - era * ERA_DAYS;
    int year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int mp = (5 * day_of_year + 2) / 153;
    int month = mp < 10 ? mp + 3 : mp - 9;
    int year = year_of_era + era * ERA_YEARS + (month <= 2 ? 1 : 0);
    return (struct civil){year, month, day_of_year - (153 * mp + 2) / 5 + 1};
}

unsigned day_weekday(int32_t day)
{
    /* 1970-01-01 was a Thursday. */
    int w = (day % 7 + 7 + 3) % 7;
    return (unsigned)w;
}

bool day_is_weekend(int32_t day)
{
    return day_weekday(day) >= 5;
}

int32_t day_month_first(int year, int month)
{
    int months = year * 12 + (month - 1);
    return count_days(months / 12, months % 12 + 1, 1);
}

int32_t day_month_last(int year, int month)
{
    return day_month_first(year, month + 1) - 1;
}

void day_format(char out[DAY_TEXT_BYTES], int32_t day)
{
    struct civil c = day_to_civil(day < DAY_MIN ? DAY_MIN : day > DAY_MAX ? DAY_MAX : day);
    snprintf(out, DAY_TEXT_BYTES, "%04u-%02u-%02u", (unsigned)c.year % 10000u,
             (unsigned)c.month % 100u, (unsigned)c.day % 100u);
}

static int digits(const char *text, size_t n)
{
    int value = 0;
    for (size_t i = 0; i < n; i++) {
        if (text[i] < '0' || text[i] > '9') return -1;
        value = value * 10 + (text[i] - '0');
    }
    return value;
}

int32_t day_parse(struct weir_slice text)
{
    if (text.len != DAY_TEXT_BYTES - 1 || text.ptr[4] != '-' || text.ptr[7] != '-') return DAY_NONE;
    int32_t day =
        day_from_civil(digits(text.ptr, 4), digits(text.ptr + 5, 2), digits(text.ptr + 8, 2));
    return day < DAY_MIN || day > DAY_MAX ? DAY_NONE : day;
}

const char *day_weekday_name(unsigned weekday)
{
    static const char *const names[] = {"Monday", "Tuesday",  "Wednesday", "Thursday",
                                        "Friday", "Saturday", "Sunday"};
    return weekday < 7 ? names[weekday] : "";
}

const char *day_month_name(unsigned month)
{
    static const char *const names[] = {"January",   "February", "March",    "April",
                                        "May",       "June",     "July",     "August",
                                        "September", "October",  "November", "December"};
    return month >= 1 && month <= 12 ? names[month - 1] : "";
}

int32_t day_of_moment(int64_t seconds, int32_t offset)
{
    int64_t wall = seconds + offset;
    int64_t day = wall / DAY_SECONDS - (wall % DAY_SECONDS < 0 ? 1 : 0);
    return day < DAY_MIN || day > DAY_MAX ? DAY_NONE : (int32_t)day;
}
