/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of a line editor as rows for the live region of a screen, with its cursor: the first
 * behind a sign, the others below it. Of more rows than there is room for, those around the cursor
 * are shown. Pure but for the screen, which it only composes.
 */
#pragma once

#include "line_editor.h"
#include "term_screen.h"

/* `below` rows are yet to come under these. At least one row is shown. */
void line_rows_live(const struct line_editor *e, struct screen *screen, size_t most, size_t below);

/* The same text as rows that are committed. */
void line_rows_commit(struct weir_slice text, struct screen *screen);
