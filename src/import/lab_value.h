/* SPDX-License-Identifier: Apache-2.0 */
/* One result of a laboratory, from the texts that a table has of it. */
#pragma once

#include "import/table.h"

struct lab_text {
    struct weir_slice name, value, unit, range, flag;
};

/* The catalogue's test, also for "LDL Cholesterol (calc)" and "Glucose, Serum"; NULL. */
const struct analyte *lab_find(struct weir_slice name);

/*
 * "<0.3" is a bound, "5.4 mmol/L" has its unit inside, "124 H" its flag. In the test's own unit;
 * where there is no way to it, or the test is not known, as printed under its name.
 */
WEIR_MUST_CHECK enum weir_status lab_give(struct table *t, const struct analyte *a,
                                          const struct lab_text *text, int32_t day);
