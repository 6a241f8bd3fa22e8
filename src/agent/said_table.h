/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many patterns over few words. A pattern of said.h can only hold where each of its elements has a
 * word; a table knows which words those are, so that of a thousand patterns the few are found that
 * are worth a try.
 *
 * 1. said_table_new() of all patterns, once; it lives as long as the process.
 * 2. said_table_look() at a sentence.
 * 3. said_table_may() for each pattern, by its number.
 *
 * A table is read by any thread; a look is one thread's.
 */
#pragma once

#include "agent/said.h"

struct said_table;

enum { SAID_TABLE_ELEMENTS = 12000 }; /* of all patterns together */

struct said_look {
    uint32_t turn; /* counts sentences */
    uint32_t seen[SAID_TABLE_ELEMENTS];
};

/* NULL: there is no memory. Patterns are borrowed; NULL and those that begin with "!" always may.
 */
struct said_table *said_table_new(const char *const *patterns, size_t n);

void said_table_look(const struct said_table *t, const struct said *sentence,
                     struct said_look *look);
bool said_table_may(const struct said_table *t, const struct said_look *look, size_t pattern);
