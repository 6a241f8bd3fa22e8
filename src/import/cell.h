/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cells: what a short text in somebody's table says. Numbers with thousands marks and percent
 * signs, durations, times of day, dates in the orders people write them.
 *
 * Pure functions; any thread.
 */
#pragma once

#include "import/reader.h"

/* Which of 6,904 and 6.904 is nearly seven. UNKNOWN: a comma is for thousands if it can be. */
enum number_style { NUMBERS_UNKNOWN, NUMBERS_POINT, NUMBERS_COMMA };

/* The text without blanks around it, no-break ones included. */
struct weir_slice cell_trim(struct weir_slice s);

/* "", "-", "--", "None", "null", "NaN", "N/A", "n.a.", "#N/A", "?": nothing was measured. */
bool cell_is_missing(struct weir_slice text);

/* "6,904", "-0.31", "70,5", "97 %", "1e3". False when it is anything else. */
bool cell_number(struct weir_slice text, enum number_style style, double *out);

/* What a number by itself proves of the style its file is written in. */
enum number_style cell_style_of(struct weir_slice text);

/* A plain decimal number with a point and perhaps an exponent, to the nearest double. */
bool cell_decimal(struct weir_slice s, double *out);

/*
 * Minutes of "00:42:00", "7h 32m", "1 h 5 min", "45 min", "PT7H32M". Two parts ("7:32") are hours
 * and minutes, or minutes and seconds when `is_short`.
 */
bool cell_duration(struct weir_slice text, bool is_short, double *minutes);

/* Minutes after midnight of "23:36", "11:36 PM", "23:36:30", or of a date with a time. */
bool cell_clock(struct weir_slice text, double *minutes);

/* "true", "yes", "1", "y", "ja", …; false when it is neither yes nor no. */
bool cell_yes_no(struct weir_slice text, bool *yes);

/* A date, with a time and an offset where the text has them. */
struct cell_time {
    int32_t day;
    double second; /* of the day */
    int32_t offset;
    bool has_time, has_offset;
    bool is_ambiguous; /* 03/04/2025, and no order was given: `day` is DAY_NONE */
    enum date_order proves;
};

/*
 * "2025-03-01", "2025-03-01T23:14:00.000-05:00", "2025-03-01 0:00", "3/1/2025 12:00:00 AM",
 * "01.03.2025", "03/01/25 05:00:00", "1 Mar 2025", "March 1, 2025", "20250301", "2025/03/01".
 */
bool cell_time(struct weir_slice text, enum date_order order, struct cell_time *out);

/* The moment, in the zone when the text has no offset of its own. */
struct moment cell_moment(const struct cell_time *t, const struct zone *zone);
