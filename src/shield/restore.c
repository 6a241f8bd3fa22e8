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
 *
 * A backslash before the bracket is held with it: Markdown's "\[email\_1\]" is a placeholder as a
 * whole.
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
    return slice_of(r->held + r->n_open, r->n_held - r->n_open);
}

/* ---- JSON in the strings of JSON ---- */

/* A quote with so many backslashes before it begins or ends a string of its depth. */
static void take_quote(struct restorer *r)
{
    switch (r->n_slashes) {
    case 0:
        r->is_string = !r->is_string;
        r->is_begun = r->is_json = r->is_inner = r->is_innermost = false;
        break;
    case 1:
        r->is_inner = !r->is_inner;
        r->is_innermost = false;
        break;
    case 3: r->is_innermost = !r->is_innermost; break;
    default: break;
    }
}

static void follow_json(struct restorer *r, char c)
{
    bool is_blank = c == ' ' || c == '\\' || c == '"';
    if (r->is_string && !r->is_begun && !is_blank) {
        r->is_begun = true;
        r->is_json = c == '{' || c == '[';
    }
    if (c == '"') take_quote(r);
    r->n_slashes = c == '\\' ? r->n_slashes + 1 : 0;
}

static void put_escaped(const struct restorer *r, struct weir_slice value, struct weir_buf *out)
{
    struct weir_buf once;
    unsigned more = r->is_json && r->is_inner ? 1U + r->is_innermost : 0;
    weir_buf_init(&once, out->max);
    escape_json(more > 0 ? &once : out, value);
    for (; more > 0; more--) {
        struct weir_buf twice;
        weir_buf_init(&twice, out->max);
        escape_json(more > 1 ? &twice : out, weir_buf_slice(&once));
        if (once.status != WEIR_OK && out->status == WEIR_OK) out->status = once.status;
        weir_buf_fini(&once);
        once = twice;
    }
    weir_buf_fini(&once);
}

static void put_value(struct restorer *r, struct weir_slice value, struct weir_buf *out)
{
    enum restore_form form = r->form;
    if (form == RESTORE_PRIVATE && token_map_is_literal(r->tokens, inside_of(r)))
        form = RESTORE_NOT;
    /* The backslash goes with the one that closes. */
    struct weir_slice inside = inside_of(r);
    bool is_pair = inside.len > 0 && inside.ptr[inside.len - 1] == '\\';
    if (r->n_open == 2 && form != RESTORE_NOT && !is_pair) weir_buf_append_char(out, '\\');
    switch (form) {
    case RESTORE_PRIVATE:
    case RESTORE_TEXT: weir_buf_append_slice(out, value); break;
    case RESTORE_JSON: put_escaped(r, value, out); break;
    case RESTORE_NOT:
        weir_buf_append(out, r->held, r->n_held);
        weir_buf_append(out, "]", 1);
        break;
    }
    r->n_restored++;
    r->n_held = 0;
}

static void hold(struct restorer *r, const char *bytes, size_t n)
{
    memcpy(r->held, bytes, n);
    r->n_held = n;
    r->n_open = bytes[n - 1] == '[' ? n : 0;
}

static bool bears_slashes(const struct restorer *r)
{
    return r->form != RESTORE_JSON;
}

/* One more bracket: what is held is no placeholder, but for a backslash at its end. */
static void open_again(struct restorer *r, struct weir_buf *out)
{
    bool has_slash = bears_slashes(r) && r->held[r->n_held - 1] == '\\';
    if (has_slash) r->n_held--;
    let_out(r, out);
    if (has_slash) hold(r, "\\[", 2);
    else hold(r, "[", 1);
}

static void take_byte(struct restorer *r, char c, struct weir_buf *out)
{
    struct weir_slice value;
    if (c == '[') {
        open_again(r, out);
        return;
    }
    if (r->n_open == 0) {
        let_out(r, out);
        if (c == '\\') hold(r, "\\", 1);
        else weir_buf_append_char(out, c);
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

/* Lets out what is before the next bracket, and holds that; how far it came. */
static size_t pass_over(struct restorer *r, struct weir_slice piece, struct weir_buf *out)
{
    const char *open = memchr(piece.ptr, '[', piece.len);
    size_t end = open ? (size_t)(open - piece.ptr) : piece.len;
    /* An empty map has nothing to wait for. */
    bool is_waiting = token_map_count(r->tokens) > 0;
    bool has_slash = is_waiting && bears_slashes(r) && end > 0 && piece.ptr[end - 1] == '\\';
    weir_buf_append(out, piece.ptr, end - has_slash);
    if (!is_waiting && open) weir_buf_append_char(out, '[');
    if (is_waiting && open && has_slash) hold(r, "\\[", 2);
    else if (is_waiting && open) hold(r, "[", 1);
    else if (has_slash) hold(r, "\\", 1);
    return open ? end + 1 : end;
}

void restorer_feed(struct restorer *r, struct weir_slice piece, struct weir_buf *out)
{
    size_t at = 0, followed = 0;
    while (at < piece.len) {
        size_t next = at + 1;
        if (r->n_held > 0) take_byte(r, piece.ptr[at], out);
        else next = at + pass_over(r, slice_from(piece, at), out);
        at = next;
        for (; r->form == RESTORE_JSON && followed < at; followed++)
            follow_json(r, piece.ptr[followed]);
    }
}

void restorer_end(struct restorer *r, struct weir_buf *out)
{
    let_out(r, out);
}
