/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of tables share with each other: the header, and learning from the first rows. */
#pragma once

#include "import/table.h"

/* Says what each column of a header is to a format. */
WEIR_MUST_CHECK enum weir_status table_bind(struct table *t, const struct table_format *f,
                                            const struct csv_row *header);

/* Whether a format knows a column of this name for the field. */
bool table_has_field(const struct table_format *f, enum table_field field, struct weir_slice name);

/* Whether the format has all it needs. */
bool table_is_bound(const struct table *t, const struct table_format *f);

/* Keeps the row at hand until enough is known; then hands over all that wait. */
WEIR_MUST_CHECK enum weir_status table_learn_row(struct table *t);
WEIR_MUST_CHECK enum weir_status table_learned(struct table *t);

WEIR_MUST_CHECK enum weir_status table_row_at_hand(struct table *t);
