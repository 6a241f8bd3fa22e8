/* SPDX-License-Identifier: Apache-2.0 */
/* How deltas join what is there already: text, tool input, usage. */
#include "base/slice.h"
#include "base/utf8.h"
#include "message/message_impl.h"

/* ---- halves ---- */

/* Cuts a first half at the end of *delta off and keeps it. */
static void keep_half(struct half *half, struct weir_slice *delta)
{
    uint32_t c;
    if (delta->len < HALF_BYTES) return;
    struct weir_slice tail = slice_from(*delta, delta->len - HALF_BYTES);
    if (!utf8_is_surrogate(tail, &c) || !utf16_is_high(c)) return;
    memcpy(half->bytes, tail.ptr, HALF_BYTES);
    half->n = HALF_BYTES;
    delta->len -= HALF_BYTES;
}

static struct weir_slice take_half(struct half *half)
{
    struct weir_slice s = slice_of(half->bytes, half->n);
    half->n = 0;
    return s;
}

/* The half that waited and the delta as one piece, in m->joined. */
static struct weir_slice join(struct weir_message *m, struct half *half, struct weir_slice delta)
{
    struct weir_slice first = take_half(half);
    char whole[UTF8_MAX_BYTES];
    uint32_t high;
    uint32_t low;
    if (utf8_is_surrogate(first, &high) && utf8_is_surrogate(delta, &low) && utf16_is_low(low)) {
        first = slice_of(whole, utf8_encode(whole, utf16_join(high, low)));
        delta = slice_from(delta, HALF_BYTES);
    }
    weir_buf_reset(&m->joined);
    weir_buf_append_slice(&m->joined, first);
    weir_buf_append_slice(&m->joined, delta);
    message_fail(m, weir_buf_status(&m->joined));
    return weir_buf_slice(&m->joined);
}

/* What a delta brings now: with the half that waited, without one that has to wait. */
static struct weir_slice take_piece(struct weir_message *m, struct half *half,
                                    struct weir_slice delta)
{
    if (half->n > 0 && delta.len > 0) delta = join(m, half, delta);
    keep_half(half, &delta);
    return delta;
}

/* ---- text ---- */

bool grow_begin(struct weir_message *m, struct text *t, struct weir_json *object, const char *key)
{
    if (!message_is_open(m)) return false;
    const struct weir_json *old = weir_json_get_str(object, key);
    bool has_text = weir_json_type_of(old) == WEIR_JSON_STRING;
    struct weir_slice text = has_text ? weir_json_text(old) : SLICE("");
    keep_half(&t->half, &text);
    struct weir_json *string = weir_json_new_string(m->doc, text);
    enum weir_status st = weir_json_set(m->doc, object, weir_slice_of(key), string);
    message_fail(m, st);
    t->string = st == WEIR_OK ? string : NULL;
    return st == WEIR_OK;
}

struct weir_slice grow_text(struct weir_message *m, struct text *t, struct weir_slice delta)
{
    if (!message_is_open(m)) return SLICE("");
    struct weir_slice piece = take_piece(m, &t->half, delta);
    message_fail(m, weir_json_append(m->doc, t->string, piece));
    return piece;
}

struct weir_slice grow_text_end(struct weir_message *m, struct text *t)
{
    struct weir_slice piece = take_half(&t->half);
    if (t->string) message_fail(m, weir_json_append(m->doc, t->string, piece));
    return piece;
}

/* ---- tool input ---- */

static void feed(struct weir_message *m, struct tool_input *input, struct weir_slice bytes)
{
    if (bytes.len == 0 || input->state != WEIR_INPUT_OPEN) return;
    if (!input->reader) input->reader = weir_json_reader_new(m->doc, m->max_depth);
    if (!input->reader) {
        message_fail(m, WEIR_NOMEM);
        return;
    }
    enum weir_status st = weir_json_reader_feed(input->reader, bytes.ptr, bytes.len);
    const struct weir_json *value = weir_json_reader_value(input->reader);
    if (value) input->value = value;
    if (st == WEIR_OK) return;
    input->state = WEIR_INPUT_INVALID;
    input->offset = weir_json_reader_offset(input->reader);
    if (st == WEIR_NOMEM || st == WEIR_LIMIT) message_fail(m, st);
}

struct weir_slice grow_input(struct weir_message *m, struct tool_input *input,
                             struct weir_slice delta)
{
    if (!message_is_open(m)) return SLICE("");
    struct weir_slice piece = take_piece(m, &input->half, delta);
    feed(m, input, piece);
    return piece;
}

static enum weir_input_state state_of(enum weir_status st)
{
    if (st == WEIR_OK) return WEIR_INPUT_COMPLETE;
    return st == WEIR_JSON_TRUNCATED ? WEIR_INPUT_TRUNCATED : WEIR_INPUT_INVALID;
}

void grow_input_end(struct weir_message *m, struct tool_input *input, size_t number, bool is_ended)
{
    if (input->state == WEIR_INPUT_NONE) return;
    feed(m, input, take_half(&input->half));
    if (input->state == WEIR_INPUT_OPEN) {
        /* Without a byte of input, only the sender's word tells none from not yet. */
        enum weir_status st = is_ended ? WEIR_OK : WEIR_JSON_TRUNCATED;
        if (input->reader) st = weir_json_reader_end(input->reader);
        input->state = state_of(st);
        if (input->reader) input->offset = weir_json_reader_offset(input->reader);
        if (input->reader && st == WEIR_OK) input->value = weir_json_reader_value(input->reader);
    }
    if (input->state == WEIR_INPUT_COMPLETE) input->offset = 0;
    if (input->state == WEIR_INPUT_TRUNCATED)
        note_input(m, "tool_input_truncated", "a tool's input ends too early; do not run it",
                   number, input->offset);
    if (input->state == WEIR_INPUT_INVALID)
        note_input(m, "tool_input_invalid", "a tool's input is not JSON; do not run it", number,
                   input->offset);
}

/* ---- members ---- */

void grow_set(struct weir_message *m, struct weir_json *object, struct weir_slice key,
              const struct weir_json *value)
{
    if (message_is_open(m)) message_fail(m, weir_json_update(m->doc, object, key, value));
}

void grow_keep(struct weir_message *m, struct weir_json *object, const struct weir_json *value)
{
    struct weir_slice key = weir_json_key(value);
    bool is_null = weir_json_type_of(value) == WEIR_JSON_NULL;
    if (!is_null || !weir_json_get(object, key)) grow_set(m, object, key, value);
}

struct weir_json *grow_container(struct weir_message *m, struct weir_json *object, const char *key,
                                 enum weir_json_type type)
{
    struct weir_json *found = weir_json_member(object, weir_slice_of(key));
    if (found && weir_json_type_of(found) == type) return found;
    struct weir_json *made = weir_json_new(m->doc, type);
    enum weir_status st = weir_json_set(m->doc, object, weir_slice_of(key), made);
    message_fail(m, st);
    return st == WEIR_OK ? made : NULL;
}

void grow_usage(struct weir_message *m, const struct weir_json *usage)
{
    if (weir_json_type_of(usage) != WEIR_JSON_OBJECT || !message_is_open(m)) return;
    if (!m->usage) m->usage = grow_container(m, m->value, "usage", WEIR_JSON_OBJECT);
    if (!m->usage) return;
    const struct weir_json *member = weir_json_first(usage);
    for (; member; member = weir_json_next(member))
        if (weir_json_type_of(member) != WEIR_JSON_NULL)
            grow_set(m, m->usage, weir_json_key(member), member);
}
