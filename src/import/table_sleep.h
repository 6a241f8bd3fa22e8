/* SPDX-License-Identifier: Apache-2.0 */
/* A row of a table as a sleep, from whichever of its fields the table has. */
#pragma once

#include "import/table.h"

/* The minutes and shares; moments, day and nap are the caller's. `unit` of its durations. */
void table_read_sleep(struct table *t, struct sleep *s);

/* Refuses what cannot be: an end before the start, a sleep of more than a day. */
WEIR_MUST_CHECK enum weir_status table_give_sleep(struct table *t, const struct sleep *s);

/* What cannot be with a sleep, as a reason; NULL: nothing. */
const char *sleep_fault(const struct sleep *s);

/* For a table that has no moments: its minutes as values of the day. */
WEIR_MUST_CHECK enum weir_status table_give_sleep_day(struct table *t, const struct sleep *s);
