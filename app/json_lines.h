/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands that answer lines: a JSON object in, a JSON object out, one line each. What is common
 * to them: the reading, the "id" that an answer repeats, and lines that are no JSON.
 */
#pragma once

#include <weir/json.h>

enum { LINES_ERROR_BYTES = 160 };

/*
 * Writes the members of the answer, but for "id", to `out`. Or, when the line is wrong, says why
 * in `error` and returns false; what it wrote is thrown away.
 */
typedef bool (*lines_answer_fn)(void *user, const struct weir_json *line, struct weir_buf *out,
                                char error[LINES_ERROR_BYTES]);

/* Answers all lines of standard input. EXIT_FAILED when some were wrong. */
int lines_answer(lines_answer_fn answer, void *user);
