/* SPDX-License-Identifier: Apache-2.0 */
/* A row of a table as a workout, from whichever of its fields the table has. */
#pragma once

#include "import/table.h"

WEIR_MUST_CHECK enum weir_status table_workout(struct table *t);

/* The two halves of it, for a format that finds out more in between. False: refused. */
bool table_read_workout(struct table *t, struct workout *w);
WEIR_MUST_CHECK enum weir_status table_give_workout(struct table *t, const struct workout *w);

/* What cannot be with a workout, as a reason; NULL: nothing. */
const char *workout_fault(const struct workout *w);

/* The kind of workout a text names; the catalogue's "other" when it is none that is known. */
const struct activity *workout_activity(struct weir_slice label);
