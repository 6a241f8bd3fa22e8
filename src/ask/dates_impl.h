/* SPDX-License-Identifier: Apache-2.0 */
/* What dates.c and windows.c share: dates and named stretches in the words of a question. */
#pragma once

#include "ask/ask_impl.h"

/* A stretch of days that a date, a month or a year is; both ends belong to it. */
struct span {
    int32_t from, to;
};

/* A date, a month, a year, "yesterday", "the first week of May"; *end is the token behind it. */
bool dates_point(struct parse *p, size_t i, struct span *out, size_t *end);

/* "the first half of 2025", "the last 3 days of May". */
bool dates_part(struct parse *p, size_t i, struct span *out, size_t *end);

/* "3 May 2025", "May 3rd". */
bool dates_civil(struct parse *p, size_t i, struct span *out, size_t *end);

/* A whole number from `least` to `most`. */
bool dates_number(const struct parse *p, size_t i, uint32_t least, uint32_t most, uint32_t *out);

/* A number that is a year, and no quantity of anything. */
bool dates_year(const struct parse *p, size_t i, int *year);

/* A year behind a date; 0 when there is none. Returns the token behind it. */
size_t dates_year_behind(const struct parse *p, size_t i, int *year);

/* The calendar's week, month, quarter, year or weekend of today, or so many before it. */
struct span dates_calendar(int32_t today, int period, int back);

/* Days of an enum period: 7, 30, 365; of a weekend 0. */
uint32_t dates_period_days(int period);

size_t dates_skip_article(const struct parse *p, size_t i);
