/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the library's stream parsers over an input in a given cutting, and writes
 * down all that happened and all that can be asked at the end. Two cuttings of
 * one input must give the same transcript, byte for byte.
 */
#pragma once

#include <weir/message.h>

#include "cut.h"
#include "text.h"

/* One line for each event, comment and retry, then the end:
 *     event 'message' 'hello' '7'
 *     end ok id '7' retry 100 pending
 */
void transcript_sse(struct text *out, struct weir_slice input, struct cut *cut,
                    const struct weir_sse_limits *limits);

/*
 * One line for each callback, then outcome, message, error, notes and the inputs
 * of all tool blocks up to block 7. Free the stream yourself with the variant
 * that takes one.
 */
void transcript_message(struct text *out, enum weir_dialect dialect, struct weir_slice input,
                        struct cut *cut, const struct weir_message_limits *limits);

/* The handlers behind it; `user` is a struct text. */
extern const struct weir_message_handlers transcript_handlers;

/* A value as compact JSON text by the library's writer; NULL as "-". */
void transcript_value(struct text *out, const struct weir_json *v);

/*
 * Same tree: keys in any order. Numbers must have the same source text, or, when
 * not exact, the same double.
 */
bool transcript_same(const struct weir_json *a, const struct weir_json *b, bool is_exact);
