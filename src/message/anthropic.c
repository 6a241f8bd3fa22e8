/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Anthropic Messages dialect.
 *
 * The message is the one that message_start carries, changed by what follows:
 * every member the sender put there stays, known or not. Blocks are kept in a
 * list sorted by their index, and the message's content in the same order, so
 * blocks may begin and grow in any order.
 *
 * What is well-formed JSON but does not have the members its type needs is
 * noted and passed over; only an event that is not JSON at all ends the stream.
 */
#include "base/slice.h"
#include "message/message_impl.h"

enum block_kind { KIND_OTHER, KIND_TEXT, KIND_THINKING, KIND_TOOL };

struct anthropic_block {
    int64_t index;
    struct weir_json *node;
    enum block_kind kind;
    struct weir_json *text;      /* grows; NULL before the first delta */
    struct weir_json *citations; /* grows; NULL before the first delta */
    struct half half;
    struct tool_input input;
    bool input_is_linked;
    bool is_stopped;
};

static struct anthropic_block *blocks_of(const struct weir_message *m)
{
    return m->parts.ptr;
}

static size_t n_inputs(const struct weir_message *m)
{
    return m->parts.n;
}

static struct tool_input *input_at(const struct weir_message *m, size_t block)
{
    return &blocks_of(m)[block].input;
}

static bool is_object(const struct weir_json *v)
{
    return weir_json_type(v) == WEIR_JSON_OBJECT;
}

static bool text_is(const struct weir_json *v, const char *text)
{
    return weir_json_type(v) == WEIR_JSON_STRING && slice_eq(weir_json_text(v), slice_of_str(text));
}

static void note_malformed(struct weir_message *m)
{
    message_note(m, "malformed_event", "an event lacks what its type needs and was passed over");
}

/* ---- blocks ---- */

/* Position of the block with this index, or where it would be. */
static size_t block_position(const struct weir_message *m, int64_t index)
{
    size_t low = 0;
    size_t high = m->parts.n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (blocks_of(m)[middle].index < index) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* The block an event speaks of; NULL, with a note, when there is none. */
static struct anthropic_block *block_of_event(struct weir_message *m, const struct weir_json *data)
{
    int64_t index;
    if (!weir_json_int64(weir_json_get_str(data, "index"), &index)) {
        note_malformed(m);
        return NULL;
    }
    size_t i = block_position(m, index);
    if (i < m->parts.n && blocks_of(m)[i].index == index) return &blocks_of(m)[i];
    message_note(m, "unknown_index", "an event speaks of a block that was not begun");
    return NULL;
}

static size_t number_of(const struct weir_message *m, const struct anthropic_block *b)
{
    return (size_t)(b - blocks_of(m));
}

static bool ends_with_tool_use(struct weir_slice type)
{
    struct weir_slice end = SLICE("tool_use");
    return type.len >= end.len && slice_eq(slice_from(type, type.len - end.len), end);
}

static enum block_kind kind_of(const struct weir_json *block)
{
    const struct weir_json *type = weir_json_get_str(block, "type");
    if (text_is(type, "text")) return KIND_TEXT;
    if (text_is(type, "thinking")) return KIND_THINKING;
    if (ends_with_tool_use(weir_json_text(type))) return KIND_TOOL;
    return KIND_OTHER;
}

static void add_block(struct weir_message *m, int64_t index, struct weir_json *node)
{
    size_t at = block_position(m, index);
    enum weir_status st = weir_json_insert(m->doc, m->list, at, node);
    if (st != WEIR_OK) {
        message_fail(m, st);
        return;
    }
    if (!message_add_item(m, &m->parts, sizeof(struct anthropic_block))) return;
    struct anthropic_block *b = blocks_of(m) + at;
    memmove(b + 1, b, (m->parts.n - 1 - at) * sizeof *b);
    *b = (struct anthropic_block){.index = index, .node = node, .kind = kind_of(node)};
    if (b->kind != KIND_TOOL) return;
    b->input.state = WEIR_INPUT_OPEN;
    b->input.value = weir_json_get_str(node, "input");
}

static void stop_block(struct weir_message *m, struct anthropic_block *b)
{
    if (b->is_stopped) return;
    b->is_stopped = true;
    if (b->text) grow_text_end(m, b->text, &b->half);
    if (b->kind == KIND_TOOL) grow_input_end(m, &b->input, number_of(m, b));
}

/* The message ends: blocks that were not stopped are stopped by that. */
static void stop_blocks(struct weir_message *m)
{
    for (size_t i = 0; i < m->parts.n; i++) stop_block(m, &blocks_of(m)[i]);
}

/* ---- deltas ---- */

typedef void (*text_fn)(void *user, size_t block, struct weir_slice delta, struct weir_slice all);

static void grow_block_text(struct weir_message *m, struct anthropic_block *b, const char *member,
                            const struct weir_json *delta, text_fn tell)
{
    if (weir_json_type(delta) != WEIR_JSON_STRING) {
        note_malformed(m);
        return;
    }
    if (!b->text) b->text = grow_member(m, b->node, member);
    if (!b->text) return;
    struct weir_slice added = grow_text(m, b->text, &b->half, weir_json_text(delta));
    if (tell && message_is_open(m)) tell(m->user, number_of(m, b), added, weir_json_text(b->text));
}

static void text_delta(struct weir_message *m, struct anthropic_block *b,
                       const struct weir_json *delta)
{
    grow_block_text(m, b, "text", weir_json_get_str(delta, "text"), m->on.on_text);
}

static void thinking_delta(struct weir_message *m, struct anthropic_block *b,
                           const struct weir_json *delta)
{
    grow_block_text(m, b, "thinking", weir_json_get_str(delta, "thinking"), m->on.on_thinking);
}

static void signature_delta(struct weir_message *m, struct anthropic_block *b,
                            const struct weir_json *delta)
{
    const struct weir_json *signature = weir_json_get_str(delta, "signature");
    if (weir_json_type(signature) != WEIR_JSON_STRING) {
        note_malformed(m);
        return;
    }
    grow_set(m, b->node, SLICE("signature"), signature);
    if (m->on.on_signature && message_is_open(m))
        m->on.on_signature(m->user, number_of(m, b), weir_json_text(signature));
}

/* The block's list of citations, with those its start brought. */
static bool make_citations(struct weir_message *m, struct anthropic_block *b)
{
    const struct weir_json *old = weir_json_get_str(b->node, "citations");
    struct weir_json *list = weir_json_type(old) == WEIR_JSON_ARRAY
                                 ? weir_json_copy(m->doc, old)
                                 : weir_json_new(m->doc, WEIR_JSON_ARRAY);
    enum weir_status st = weir_json_set(m->doc, b->node, SLICE("citations"), list);
    message_fail(m, st);
    b->citations = st == WEIR_OK ? list : NULL;
    return st == WEIR_OK;
}

static void citations_delta(struct weir_message *m, struct anthropic_block *b,
                            const struct weir_json *delta)
{
    const struct weir_json *citation = weir_json_get_str(delta, "citation");
    if (!citation) {
        note_malformed(m);
        return;
    }
    if (!b->citations && !make_citations(m, b)) return;
    struct weir_json *kept = weir_json_copy(m->doc, citation);
    enum weir_status st = weir_json_push(m->doc, b->citations, kept);
    message_fail(m, st);
    if (st == WEIR_OK && m->on.on_citation && message_is_open(m))
        m->on.on_citation(m->user, number_of(m, b), kept);
}

/* The first value that arrives takes the place of the input that the start gave. */
static void link_input(struct weir_message *m, struct anthropic_block *b)
{
    struct weir_json *root = b->input.reader ? weir_json_reader_root(b->input.reader) : NULL;
    if (!root || b->input_is_linked) return;
    b->input_is_linked = true;
    message_fail(m, weir_json_set(m->doc, b->node, SLICE("input"), root));
}

static void input_json_delta(struct weir_message *m, struct anthropic_block *b,
                             const struct weir_json *delta)
{
    const struct weir_json *piece = weir_json_get_str(delta, "partial_json");
    if (weir_json_type(piece) != WEIR_JSON_STRING) {
        note_malformed(m);
        return;
    }
    grow_input(m, &b->input, weir_json_text(piece));
    link_input(m, b);
    if (m->on.on_input_json && message_is_open(m))
        m->on.on_input_json(m->user, number_of(m, b), weir_json_text(piece), b->input.value);
}

static const struct {
    const char *type;
    enum block_kind kind; /* of block that takes it */
    void (*take)(struct weir_message *m, struct anthropic_block *b, const struct weir_json *delta);
} delta_types[] = {
    {"text_delta", KIND_TEXT, text_delta},
    {"input_json_delta", KIND_TOOL, input_json_delta},
    {"thinking_delta", KIND_THINKING, thinking_delta},
    {"signature_delta", KIND_THINKING, signature_delta},
    {"citations_delta", KIND_TEXT, citations_delta},
};

/* ---- events ---- */

static void content_block_delta(struct weir_message *m, const struct weir_json *data)
{
    struct anthropic_block *b = block_of_event(m, data);
    const struct weir_json *delta = weir_json_get_str(data, "delta");
    if (!b) return;
    if (b->is_stopped) {
        message_note(m, "late_delta", "a block grew after its stop; that was passed over");
        return;
    }
    for (size_t i = 0; i < sizeof delta_types / sizeof *delta_types; i++) {
        if (!text_is(weir_json_get_str(delta, "type"), delta_types[i].type)) continue;
        if (delta_types[i].kind == b->kind) delta_types[i].take(m, b, delta);
        else
            message_note(m, "misplaced_delta",
                         "a delta does not fit its block and was passed over");
        return;
    }
    message_note(m, "unknown_delta", "a delta of unknown type was passed over");
}

static void content_block_start(struct weir_message *m, const struct weir_json *data)
{
    const struct weir_json *block = weir_json_get_str(data, "content_block");
    int64_t index;
    if (!weir_json_int64(weir_json_get_str(data, "index"), &index) || index < 0 ||
        !is_object(block)) {
        note_malformed(m);
        return;
    }
    size_t at = block_position(m, index);
    if (at < m->parts.n && blocks_of(m)[at].index == index) {
        message_note(m, "repeated_index",
                     "a block was begun twice; the second start was passed over");
        return;
    }
    struct weir_json *node = weir_json_copy(m->doc, block);
    add_block(m, index, node);
}

static void content_block_stop(struct weir_message *m, const struct weir_json *data)
{
    struct anthropic_block *b = block_of_event(m, data);
    if (!b || b->is_stopped) return;
    stop_block(m, b);
    if (m->on.on_content_block && message_is_open(m))
        m->on.on_content_block(m->user, number_of(m, b), b->node);
}

/* Blocks that the first event already carries are whole. */
static void add_given_blocks(struct weir_message *m, const struct weir_json *given)
{
    int64_t index = 0;
    for (; given && message_is_open(m); given = weir_json_next(given))
        add_block(m, index++, weir_json_copy(m->doc, given));
}

static void message_start(struct weir_message *m, const struct weir_json *data)
{
    const struct weir_json *message = weir_json_get_str(data, "message");
    if (m->value) {
        message_note(m, "repeated_message_start", "a second message_start was passed over");
        return;
    }
    if (!is_object(message)) {
        note_malformed(m);
        return;
    }
    struct weir_json *value = weir_json_copy(m->doc, message);
    struct weir_json *content = weir_json_new(m->doc, WEIR_JSON_ARRAY);
    enum weir_status st = weir_json_set(m->doc, value, SLICE("content"), content);
    if (st != WEIR_OK) {
        message_fail(m, st);
        return;
    }
    m->value = value;
    m->list = content;
    add_given_blocks(m, weir_json_first(weir_json_get_str(message, "content")));
}

static void message_delta(struct weir_message *m, const struct weir_json *data)
{
    const struct weir_json *member = weir_json_first(weir_json_get_str(data, "delta"));
    for (; member; member = weir_json_next(member)) {
        struct weir_slice key = weir_json_key(member);
        /* These two grow by events of their own. */
        if (slice_eq(key, SLICE("content")) || slice_eq(key, SLICE("usage"))) continue;
        grow_set(m, m->value, key, member);
    }
    grow_usage(m, weir_json_get_str(data, "usage"));
}

static void message_stop(struct weir_message *m, const struct weir_json *data)
{
    (void)data;
    stop_blocks(m);
    message_finish(m, WEIR_OUTCOME_MESSAGE);
}

static void ping(struct weir_message *m, const struct weir_json *data)
{
    (void)m;
    (void)data;
}

static void error_event(struct weir_message *m, const struct weir_json *data)
{
    const struct weir_json *error = weir_json_get_str(data, "error");
    stop_blocks(m);
    message_sender_failed(m, WEIR_STREAM_ERROR, error ? error : data, data);
}

static const struct event_type {
    const char *name;
    bool needs_message; /* means nothing before message_start */
    void (*take)(struct weir_message *m, const struct weir_json *data);
} event_types[] = {
    {"content_block_delta", true, content_block_delta},
    {"content_block_start", true, content_block_start},
    {"content_block_stop", true, content_block_stop},
    {"message_start", false, message_start},
    {"message_delta", true, message_delta},
    {"message_stop", true, message_stop},
    {"ping", false, ping},
    {"error", false, error_event},
};

static const struct event_type *find_event_type(struct weir_slice name)
{
    for (size_t i = 0; i < sizeof event_types / sizeof *event_types; i++)
        if (slice_eq(name, slice_of_str(event_types[i].name))) return &event_types[i];
    return NULL;
}

/* Data that are not JSON: fatal where JSON was due, a curiosity elsewhere. */
static void take_other_data(struct weir_message *m, const struct event_type *type)
{
    if (type && type->take == ping) return;
    if (!type) {
        message_note(m, "ignored_event", "an event that is not JSON was passed over");
        return;
    }
    stop_blocks(m);
    message_sender_failed(m, type->take == error_event ? WEIR_STREAM_ERROR : WEIR_BAD_EVENT, NULL,
                          NULL);
}

static void take_event(struct weir_message *m, const struct weir_sse_event *event,
                       const struct weir_json *data)
{
    const struct weir_json *named = weir_json_get_str(data, "type");
    bool has_name = weir_json_type(named) == WEIR_JSON_STRING;
    const struct event_type *type = find_event_type(has_name ? weir_json_text(named) : event->type);
    if (!data) take_other_data(m, type);
    else if (!type) message_note(m, "unknown_event", "an event of unknown type was passed over");
    else if (type->needs_message && !m->value)
        message_note(m, "before_message_start",
                     "an event came before message_start and was passed over");
    else type->take(m, data);
}

static void take_end(struct weir_message *m)
{
    stop_blocks(m);
    if (weir_json_type(weir_json_get_str(m->value, "stop_reason")) != WEIR_JSON_STRING) {
        message_finish(m, WEIR_OUTCOME_INCOMPLETE);
        return;
    }
    message_note(m, "no_message_stop",
                 "the input ended after the stop reason, without message_stop");
    message_finish(m, WEIR_OUTCOME_MESSAGE);
}

const struct dialect anthropic_dialect = {
    .take_event = take_event,
    .take_end = take_end,
    .n_inputs = n_inputs,
    .input_at = input_at,
};
