/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Regular expressions whose time cannot run away: all ways through a pattern are followed at once,
 * byte by byte, so that a step costs at most the size of the pattern, and the steps of a whole
 * search are counted against a budget that grows with the text alone.
 *
 * Literals (UTF-8), ., classes ([a-z], [^0-9], \d \w \s and their opposites), groups, |, * + ?
 * {m,n}, ^ and $ (of lines), \b \B, (?i) at the beginning. No captures, no back references, no
 * look-around, no lazy forms: of the matches that begin first the longest counts, and empty ones do
 * not.
 *
 * A regex does not change once made; any number of threads may search with one.
 */
#pragma once

#include <weir/status.h>
#include <weir/types.h>

enum {
    REGEX_PATTERN_BYTES = 1024,
    REGEX_MAX_STEPS = 4000,    /* instructions of one pattern */
    REGEX_MAX_DEPTH = 32,      /* groups in groups */
    REGEX_MAX_REPEAT = 255,    /* of {m,n} */
    REGEX_SPAN_BYTES = 4096,   /* of one match */
    REGEX_WORK_PER_BYTE = 200, /* steps for each byte of a text */
    REGEX_ERROR_BYTES = 160,
};

struct regex;

/* WEIR_INVALID says in `error` what is wrong and where; WEIR_NOMEM. */
WEIR_MUST_CHECK enum weir_status regex_new(struct weir_slice pattern, struct regex **out,
                                           char error[REGEX_ERROR_BYTES]);
void regex_free(struct regex *re);

typedef void (*regex_match_fn)(void *user, size_t start, size_t end);

/* Calls `on_match` for each match in turn. WEIR_LIMIT: the budget was spent; WEIR_NOMEM. */
WEIR_MUST_CHECK enum weir_status regex_each(const struct regex *re, struct weir_slice text,
                                            regex_match_fn on_match, void *user);
