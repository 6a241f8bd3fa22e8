/* SPDX-License-Identifier: Apache-2.0 */
/* How deltas join what is there already: text, tool input, usage. */
#include "base/slice.h"
#include "base/utf8.h"
#include "message/message_impl.h"

/* ---- text ---- */

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

void grow_text_end(struct weir_message *m, struct weir_json *string, struct half *half)
{
    size_t n = half->n;
    half->n = 0;
    if (n > 0) message_fail(m, weir_json_append(m->doc, string, slice_of(half->bytes, n)));
}

struct weir_slice grow_text(struct weir_message *m, struct weir_json *string, struct half *half,
                            struct weir_slice delta)
{
    size_t len = weir_json_text(string).len;
    if (delta.len > 0) grow_text_end(m, string, half);
    keep_half(half, &delta);
    message_fail(m, weir_json_append(m->doc, string, delta));
    return slice_from(weir_json_text(string), len);
}

struct weir_json *grow_member(struct weir_message *m, struct weir_json *object, const char *key)
{
    const struct weir_json *old = weir_json_get_str(object, key);
    struct weir_slice text =
        weir_json_type(old) == WEIR_JSON_STRING ? weir_json_text(old) : SLICE("");
    struct weir_json *string = weir_json_new_string(m->doc, text);
    enum weir_status st = weir_json_set(m->doc, object, slice_of_str(key), string);
    message_fail(m, st);
    return st == WEIR_OK ? string : NULL;
}

/* ---- tool input ---- */

static void feed(struct weir_message *m, struct tool_input *input, struct weir_slice bytes)
{
    enum weir_status st = weir_json_reader_feed(input->reader, bytes.ptr, bytes.len);
    struct weir_json *root = weir_json_reader_root(input->reader);
    if (root) input->value = root;
    if (st == WEIR_OK) return;
    input->state = WEIR_INPUT_INVALID;
    input->offset = weir_json_reader_offset(input->reader);
    if (st == WEIR_NOMEM || st == WEIR_LIMIT) message_fail(m, st);
}

/* Feeds the half that waits, joined to the other one if *delta begins with it. */
static void feed_half(struct weir_message *m, struct tool_input *input, struct weir_slice *delta)
{
    struct weir_slice half = slice_of(input->half.bytes, input->half.n);
    char joined[UTF8_MAX_BYTES];
    uint32_t high;
    uint32_t low;
    input->half.n = 0;
    if (utf8_is_surrogate(half, &high) && utf8_is_surrogate(*delta, &low) && utf16_is_low(low)) {
        half = slice_of(joined, utf8_encode(joined, utf16_join(high, low)));
        *delta = slice_from(*delta, HALF_BYTES);
    }
    feed(m, input, half);
}

void grow_input(struct weir_message *m, struct tool_input *input, struct weir_slice delta)
{
    if (delta.len == 0 || input->state != WEIR_INPUT_OPEN) return;
    if (!input->reader) input->reader = weir_json_reader_new(m->doc, m->max_depth);
    if (!input->reader) {
        message_fail(m, WEIR_NOMEM);
        return;
    }
    if (input->half.n > 0) feed_half(m, input, &delta);
    keep_half(&input->half, &delta);
    if (input->state == WEIR_INPUT_OPEN) feed(m, input, delta);
}

void grow_input_end(struct weir_message *m, struct tool_input *input, size_t block)
{
    struct weir_slice nothing = {"", 0};
    if (input->half.n > 0) feed_half(m, input, &nothing);
    if (input->state == WEIR_INPUT_OPEN) {
        enum weir_status st = input->reader ? weir_json_reader_end(input->reader) : WEIR_OK;
        input->state = st == WEIR_OK               ? WEIR_INPUT_COMPLETE
                       : st == WEIR_JSON_TRUNCATED ? WEIR_INPUT_TRUNCATED
                                                   : WEIR_INPUT_INVALID;
        if (st != WEIR_OK) input->offset = weir_json_reader_offset(input->reader);
        else if (input->reader) input->value = weir_json_reader_root(input->reader);
    }
    if (input->state == WEIR_INPUT_TRUNCATED)
        message_note_at(m, "tool_input_truncated", "a tool's input ends too early; do not run it",
                        block, input->offset);
    if (input->state == WEIR_INPUT_INVALID)
        message_note_at(m, "tool_input_invalid", "a tool's input is not JSON; do not run it", block,
                        input->offset);
}

/* ---- members ---- */

void grow_set(struct weir_message *m, struct weir_json *object, struct weir_slice key,
              const struct weir_json *value)
{
    message_fail(m, weir_json_update(m->doc, object, key, value));
}

static bool make_usage(struct weir_message *m)
{
    const struct weir_json *old = weir_json_get_str(m->value, "usage");
    struct weir_json *usage = weir_json_type(old) == WEIR_JSON_OBJECT
                                  ? weir_json_copy(m->doc, old)
                                  : weir_json_new(m->doc, WEIR_JSON_OBJECT);
    enum weir_status st = weir_json_set(m->doc, m->value, SLICE("usage"), usage);
    message_fail(m, st);
    m->usage = st == WEIR_OK ? usage : NULL;
    return st == WEIR_OK;
}

void grow_usage(struct weir_message *m, const struct weir_json *usage)
{
    if (weir_json_type(usage) != WEIR_JSON_OBJECT) return;
    if (!m->usage && !make_usage(m)) return;
    const struct weir_json *member = weir_json_first(usage);
    for (; member; member = weir_json_next(member))
        if (weir_json_type(member) != WEIR_JSON_NULL)
            grow_set(m, m->usage, weir_json_key(member), member);
}
