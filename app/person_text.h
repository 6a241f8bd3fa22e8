/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a server says of a person's turns and memory, in lines for people; `columns` is how wide the
 * screen is, 0: nothing is cut. Text of others is made harmless. The fact sheet of an answer that
 * has none, and lists with nothing in them, are one line that says so.
 *
 * All give WEIR_OK, WEIR_NOMEM or WEIR_LIMIT. Pure.
 */
#pragma once

#include <weir/json.h>

/* An array of Turns. */
WEIR_MUST_CHECK enum weir_status turns_text(struct weir_buf *out, const struct weir_json *turns,
                                            unsigned columns);

/* One Turn, with its question, its answer or error, and its fact sheet. */
WEIR_MUST_CHECK enum weir_status turn_text(struct weir_buf *out, const struct weir_json *turn,
                                           unsigned columns);

/* The fact sheet of a Turn's result. */
WEIR_MUST_CHECK enum weir_status facts_text(struct weir_buf *out, const struct weir_json *result,
                                            unsigned columns);

/* An array of entries of memory; one entry with all that there is of it. */
WEIR_MUST_CHECK enum weir_status memory_text(struct weir_buf *out, const struct weir_json *entries,
                                             unsigned columns);
WEIR_MUST_CHECK enum weir_status memory_entry_text(struct weir_buf *out,
                                                   const struct weir_json *entry, unsigned columns);

/* The question of a Turn: what was said last. */
struct weir_slice turn_question(const struct weir_json *turn);
