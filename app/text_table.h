/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table in plain text: columns as wide as what stands in them, the last one as wide as is left.
 * Where less than TEXT_TABLE_LAST columns are left for it, it goes to a line of its own below.
 *
 * 1. text_table_init() with the titles.
 * 2. text_table_cell() for each cell, row by row. Text of others is made harmless.
 * 3. text_table_put(), then text_table_fini().
 *
 * Pure. One thread at a time.
 */
#pragma once

#include <weir/buf.h>

enum { TEXT_TABLE_COLUMNS = 8, TEXT_TABLE_LAST = 12 };

struct text_column {
    const char *title;
    bool is_right; /* numbers */
};

struct text_table {
    const struct text_column *columns;
    size_t n_columns;
    size_t n_cells;
    unsigned widths[TEXT_TABLE_COLUMNS];
    struct weir_buf cells; /* each with a NUL behind it */
};

/* The columns are borrowed until the end. */
void text_table_init(struct text_table *t, const struct text_column *columns, size_t n_columns);
void text_table_fini(struct text_table *t);

void text_table_cell(struct text_table *t, struct weir_slice text);

/* Appends the lines; `columns` is how wide the screen is, 0: nothing is cut. WEIR_NOMEM, _LIMIT. */
WEIR_MUST_CHECK enum weir_status text_table_put(const struct text_table *t, struct weir_buf *out,
                                                unsigned columns);
