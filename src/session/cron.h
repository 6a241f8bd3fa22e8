/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Schedules in the manner of cron(8): "30 7 * * MON-FRI", five fields (minute, hour, day of the
 * month, month, day of the week), by the wall clock of a zone.
 *
 *   field    all by a star, or a list by commas of A, A-B; each with /N for every Nth of them.
 *            A/N goes on to the end of the field.
 *   names    JAN to DEC, SUN to SAT, in any case; a week begins with 0 or ends with 7
 *   words    @hourly @daily @midnight @weekly @monthly @yearly @annually
 *
 * If both the day of the month and that of the week are restricted, either will do. A field that
 * begins with a star, also with a step, is not restricted, and with it both have to fit.
 *
 * When clocks change. A schedule with a fixed hour runs once for each time that it names: a time
 * that is skipped is made up for at the end of the gap, one that is shown twice counts the first
 * time. One whose hour is "*" goes by what the clock shows: it leaves out what is skipped and runs
 * again in the hour that comes twice.
 *
 * Pure; any thread.
 */
#pragma once

#include "data/zone.h"

enum { CRON_WHY_BYTES = 160, CRON_TEXT_BYTES = 256 };

struct cron {
    uint64_t minutes; /* bits */
    uint32_t hours;
    uint32_t days; /* of the month, from bit 1 */
    uint32_t months;
    uint32_t weekdays; /* Sunday is bit 0 */
    bool has_any_hour, has_any_day, has_any_weekday;
};

/* False: `why` says which field is wrong and what can stand there. */
bool cron_parse(struct weir_slice text, struct cron *out, char why[CRON_WHY_BYTES]);

/*
 * The first moment behind `after` (Unix seconds) that it names. False: there is none within 40
 * years, such as that of 30 February.
 */
bool cron_next(const struct cron *c, const struct zone *zone, int64_t after, int64_t *out);
