/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The restorer. Its state is what it holds: nothing, or "[" and bytes that may still become a
 * placeholder of the map.
 *
 *   held      byte                        does
 *   nothing   [                           holds it
 *   nothing   other                       lets it out
 *   some      [                           lets the held out, holds the new one
 *   some      ] and the inside is known   lets the value out (or the placeholder, whole)
 *   some      one that may go on          holds it
 *   some      other                       lets all out
 */
#include "shield/restore.h"

#include <string.h>

#include "base/escape.h"
#include "base/slice.h"

void restorer_init(struct restorer *r, const struct token_map *tokens, enum restore_form form)
{
    *r = (struct restorer){.tokens = tokens, .form = form};
}

static void let_out(struct restorer *r, struct weir_buf *out)
{
    weir_buf_append(out, r->held, r->n_held);
    r->n_held = 0;
}

static struct weir_slice inside_of(const struct restorer *r)
{
    return slice_of(r->held + 1, r->n_held - 1);
}

static void put_value(struct restorer *r, struct weir_slice value, struct weir_buf *out)
{
    enum restore_form form = r->form;
    if (form == RESTORE_PRIVATE && token_map_is_literal(r->tokens, inside_of(r)))
        form = RESTORE_NOT;
    switch (form) {
    case RESTORE_PRIVATE:
    case RESTORE_TEXT: weir_buf_append_slice(out, value); break;
    case RESTORE_JSON: escape_json(out, value); break;
    case RESTORE_NOT:
        weir_buf_append(out, r->held, r->n_held);
        weir_buf_append(out, "]", 1);
        break;
    }
    r->n_restored++;
    r->n_held = 0;
}

static void take_byte(struct restorer *r, char c, struct weir_buf *out)
{
    struct weir_slice value;
    if (c == '[') {
        let_out(r, out);
        r->held[r->n_held++] = c;
        return;
    }
    if (c == ']' && token_map_value(r->tokens, inside_of(r), &value)) {
        put_value(r, value, out);
        return;
    }
    r->held[r->n_held++] = c;
    bool may_go_on = r->n_held < RESTORE_HELD_BYTES && token_map_may_begin(r->tokens, inside_of(r));
    if (!may_go_on) let_out(r, out);
}

void restorer_feed(struct restorer *r, struct weir_slice piece, struct weir_buf *out)
{
    size_t at = 0;
    while (at < piece.len) {
        if (r->n_held > 0) {
            take_byte(r, piece.ptr[at++], out);
            continue;
        }
        const char *open = memchr(piece.ptr + at, '[', piece.len - at);
        size_t place = open ? (size_t)(open - piece.ptr) : piece.len;
        weir_buf_append(out, piece.ptr + at, place - at);
        at = place;
        if (open) r->held[r->n_held++] = piece.ptr[at++];
        /* An empty map has nothing to wait for. */
        if (open && token_map_count(r->tokens) == 0) let_out(r, out);
    }
}

void restorer_end(struct restorer *r, struct weir_buf *out)
{
    let_out(r, out);
}
