/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Placeholders back to values, in a stream: a pure state machine.
 *
 * 1. restorer_init() with the conversation's map, which must stay as long as the restorer.
 * 2. restorer_feed() for each piece. What can no longer be part of a placeholder comes out at once;
 *    nothing but a backslash is held while no "[" is open that may begin one of this map, at most
 *    RESTORE_HELD_BYTES are.
 * 3. restorer_end() when the stream ends: what was held comes out as it is.
 *
 * No memory but the struct's and the output's. One thread at a time.
 */
#pragma once

#include "shield/token_map.h"

enum { RESTORE_HELD_BYTES = 2 * TOKEN_MAX_BYTES };

enum restore_form {
    RESTORE_TEXT, /* values as they are: text, Markdown */
    RESTORE_JSON, /* values escaped, as inside the strings of a JSON text: tool arguments. In a
                     string that is JSON itself they are escaped once more, two of these at most */
    RESTORE_NOT,  /* placeholders as they came, but never one in two pieces: for what is stored */
    RESTORE_PRIVATE, /* as text, but for those of token_map_is_literal(): to be redacted again */
};

struct restorer {
    const struct token_map *tokens;
    enum restore_form form;
    size_t n_restored; /* placeholders replaced so far */
    size_t n_held;
    size_t n_open; /* of the held: up to the bracket; 0: a backslash that may stand before one */
    char held[RESTORE_HELD_BYTES];
    /* RESTORE_JSON: which strings are open, one in the other. */
    size_t n_slashes; /* before the next byte */
    bool is_string, is_begun, is_json, is_inner, is_innermost;
};

void restorer_init(struct restorer *r, const struct token_map *tokens, enum restore_form form);
/* Appends to `out`, where a failure sticks. */
void restorer_feed(struct restorer *r, struct weir_slice piece, struct weir_buf *out);
void restorer_end(struct restorer *r, struct weir_buf *out);
