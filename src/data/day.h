/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Civil days. A day is a number: days since 1970-01-01 in the calendar of whoever lived it,
 * without any time zone. All arithmetic on dates in the project is arithmetic on these.
 *
 * Pure functions; any thread.
 */
#pragma once

#include <weir/types.h>

enum {
    DAY_NONE = INT32_MIN,
    DAY_MIN = -25567, /* 1900-01-01; what is earlier is an error of entry */
    DAY_MAX = 73048,  /* 2169-12-31 */
    DAY_TEXT_BYTES = 11,
    DAY_SECONDS = 86400,
};

struct civil {
    int year, month, day; /* month and day from 1 */
};

/* A date that exists, or DAY_NONE. */
int32_t day_from_civil(int year, int month, int day);
struct civil day_to_civil(int32_t day);

/* 0 Monday … 6 Sunday, as ISO 8601 counts less one. */
unsigned day_weekday(int32_t day);
bool day_is_weekend(int32_t day);

/* First and last day of a month, which may be out of 1..12 and is then carried over. */
int32_t day_month_first(int year, int month);
int32_t day_month_last(int year, int month);

/* "2025-03-09" and back; DAY_NONE when the text is anything else. */
void day_format(char out[DAY_TEXT_BYTES], int32_t day);
int32_t day_parse(struct weir_slice text);

/* "Monday"…, "January"…; the argument as above. */
const char *day_weekday_name(unsigned weekday);
const char *day_month_name(unsigned month);

/* The day in which a moment (Unix seconds) falls at an offset from UTC in seconds. */
int32_t day_of_moment(int64_t seconds, int32_t offset);
