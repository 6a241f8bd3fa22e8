/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Markdown that is shown while it arrives. What cannot change any more is committed, row by row;
 * what still can, the unfinished block, is drawn anew each time by markdown_pending(). All rows
 * that are ever committed are the same however the text was cut into pieces.
 *
 * 1. markdown_new() with the size of the screen and a function that takes committed rows.
 * 2. markdown_feed() with pieces as they come, any bytes; then markdown_pending() for the rest.
 * 3. markdown_end() commits the rest; the next text may follow.
 * 4. markdown_free().
 *
 * Known: paragraphs, headings, lists within lists, quotes, fenced and indented code, tables,
 * rules; emphasis, code, links. What is held back has a ceiling: a long paragraph is committed
 * row by row once it is larger than the screen or MARKDOWN_HOLD_BYTES, a long table row by row
 * from then on with the columns it has. HTML is shown as it stands.
 *
 * Rows are cleaned, wrapped to the columns, and carry their own escape sequences. One thread at a
 * time; callbacks may not call back.
 */
#pragma once

#include <weir/status.h>

enum {
    MARKDOWN_HOLD_BYTES = 4096,  /* of an unfinished paragraph or line */
    MARKDOWN_TABLE_BYTES = 8192, /* of an unfinished table */
};

struct markdown;

/* A row without its line end; borrowed until the function returns. */
typedef void (*markdown_row_fn)(void *user, struct weir_slice row);

/* NULL when there is no memory. */
struct markdown *markdown_new(unsigned columns, unsigned rows, markdown_row_fn commit, void *user);
void markdown_free(struct markdown *m);

/* The screen has another size from now on. */
void markdown_resize(struct markdown *m, unsigned columns, unsigned rows);

/* WEIR_OK, or WEIR_NOMEM: something is missing in what was shown. */
WEIR_MUST_CHECK enum weir_status markdown_feed(struct markdown *m, struct weir_slice text);
WEIR_MUST_CHECK enum weir_status markdown_end(struct markdown *m);

/* The rows of the unfinished block, as they would be if the text ended here. */
WEIR_MUST_CHECK enum weir_status markdown_pending(struct markdown *m, markdown_row_fn row,
                                                  void *user);

/* Forgets what has not been committed. */
void markdown_drop(struct markdown *m);
