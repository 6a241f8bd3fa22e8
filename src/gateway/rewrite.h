/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a gateway changes in a provider's answer, in two halves: the events are stored with
 * placeholders, each whole inside of one event, and get the values back on their way to a reader,
 * event by event. Pure.
 *
 * Storing:
 * 1. rewriter_new() with the map of the request.
 * 2. rewriter_event() for each event of the stream; `emit` is called for each that is to be stored.
 *    A piece of text is held back only from a "[" on that may begin a placeholder.
 * 3. rewriter_end() at the end of input: what was held comes out. rewriter_free().
 *
 * Reading: reveal_json() of each event's data, or of a whole answer.
 *
 * Thoughts keep their placeholders: a provider signs them, and refuses them when they come back
 * changed.
 */
#pragma once

#include "shield/restore.h"

enum wire { WIRE_ANTHROPIC, WIRE_OPENAI };

enum {
    REWRITE_PARTS = 128,           /* texts and arguments that may be under way at once */
    REWRITE_EVENT_BYTES = 2 << 20, /* of one event's data */
};

struct rewriter;

typedef void (*rewrite_fn)(void *user, struct weir_slice type, struct weir_slice data);

/* The map is borrowed. NULL: no memory. */
struct rewriter *rewriter_new(enum wire wire, const struct token_map *tokens, rewrite_fn emit,
                              void *user);
void rewriter_free(struct rewriter *r); /* NULL is allowed */

/* WEIR_LIMIT: too many parts, or an event that is too large; WEIR_UPSTREAM: its data are no JSON;
 * WEIR_NOMEM. */
WEIR_MUST_CHECK enum weir_status rewriter_event(struct rewriter *r, struct weir_slice type,
                                                struct weir_slice data);
WEIR_MUST_CHECK enum weir_status rewriter_end(struct rewriter *r);

/* Whether the stream has come to its end: message_stop, error or [DONE]. */
bool rewriter_has_ended(const struct rewriter *r);

/* The same JSON with the values in place of placeholders. WEIR_LIMIT, WEIR_NOMEM. */
WEIR_MUST_CHECK enum weir_status reveal_json(const struct token_map *tokens, struct weir_slice json,
                                             struct weir_buf *out);
