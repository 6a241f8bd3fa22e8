/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of JSON, and texts of others, on standard output. */
#pragma once

#include <weir/json.h>

enum { OUTPUT_LINE_MAX_BYTES = 1 << 30 };

/*
 * Writes the buffer and a line end, and empties it. Keeps the first failure. Characters that are
 * not seen, and make a terminal show something else, are written as \u202e and the like, which is
 * the same in JSON.
 */
void output_line(struct weir_buf *line);

/* What a server answered, on one line; false, with a complaint, when it is no JSON. */
WEIR_MUST_CHECK bool output_json(struct weir_slice json);

/*
 * Writes what a server said, made harmless for terminals and on one line; with blanks behind it up
 * to so many columns.
 */
void output_label(struct weir_slice text, unsigned columns);

/*
 * At the start of the program: control characters in what goes to standard error by stdio, which
 * arguments, the environment and names of files may have brought, become question marks. Tabs, line
 * ends, returns and the clearing of a line (ESC [ K), with which progress is shown, do not.
 */
void output_guard_errors(void);

/* On standard error, what an argument may have brought, made harmless and on one line. */
void output_complaint(const char *text);

/* Sends what is buffered on its way now; false when any output was lost. */
bool output_flush(void);

/* Why output was lost, as an errno; 0: none was. */
int output_error(void);

/* Flushes at the end of the program; false, with a message, when any output was lost. */
bool output_finish(void);
