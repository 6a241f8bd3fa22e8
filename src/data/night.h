/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nights: sleeps from stages, and which sleeps of a day count. Private to src/data.
 *
 * A sleep belongs to the local day on which it ends. Sources are never added to one another:
 * each day has one, and all its values are of that one.
 *
 * Pure functions; any thread.
 */
#pragma once

#include "data/facts_impl.h"

/* By day, start, end, source; then those from files before those from stages. */
int sleep_compare(const void *a, const void *b);

/*
 * Puts sleeps together from stages (samples whose value is the stage, in order, each once), and
 * appends those that end on the days from … to, to `out` (of struct sleep_row).
 */
WEIR_MUST_CHECK enum weir_status night_assemble(const struct fact *stages, size_t n, int32_t from,
                                                int32_t to, struct rows *out);

/* A short sleep in daytime is a nap, whatever else it is called. */
bool night_is_nap(const struct sleep *s);

/* The metrics of a night. */
enum night_value {
    NIGHT_ASLEEP,
    NIGHT_DEEP,
    NIGHT_REM,
    NIGHT_LIGHT,
    NIGHT_AWAKE,
    NIGHT_IN_BED,
    NIGHT_BEDTIME,
    NIGHT_WAKE,
    NIGHT_EFFICIENCY,
    NIGHT_LATENCY,
    NIGHT_NAP,
    NIGHT_N_VALUES,
};
/* Their numbers as the catalogue has them, in that order; looked up once. */
const uint16_t *night_metrics(void);
bool night_is_metric(uint16_t metric);

/*
 * All sleeps of one day, of all sources: moves those that count to the front, in order, and
 * returns how many they are; all are of one source.
 */
size_t night_choose(struct sleep_row *rows, size_t n, const enum source_class *kinds);

/* The values of a day's sleeps that count; NAN: not known. */
void night_values(const struct sleep_row *rows, size_t n, double out[NIGHT_N_VALUES]);
