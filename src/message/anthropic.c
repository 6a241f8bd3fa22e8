/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Anthropic Messages dialect.
 *
 * The message is the one that message_start carries, changed by what follows:
 * every member the sender put there stays, known or not. Blocks may begin and
 * grow in any order; content lists them by their index.
 *
 * What is well-formed JSON but does not have the members its type needs is
 * noted and passed over; only an event that is not JSON at all ends the stream.
 */
#include "base/slice.h"
#include "message/message_impl.h"

enum block_kind { KIND_OTHER, KIND_TEXT, KIND_THINKING, KIND_TOOL, KIND_COMPACTION };

struct anthropic_block {
    struct weir_json *node;
    enum block_kind kind;
    struct text text;            /* of text and thinking */
    struct weir_json *citations; /* grows; NULL before the first delta */
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

static struct tool_input *input_at(const struct weir_message *m, size_t number)
{
    return &blocks_of(m)[number].input;
}

static const struct weir_json *block_at(const struct weir_message *m, size_t number)
{
    return blocks_of(m)[number].node;
}

static size_t number_of(const struct weir_message *m, const struct anthropic_block *b)
{
    return (size_t)(b - blocks_of(m));
}

static bool is_object(const struct weir_json *v)
{
    return weir_json_type_of(v) == WEIR_JSON_OBJECT;
}

static bool text_is(const struct weir_json *v, struct weir_slice text)
{
    return weir_json_type_of(v) == WEIR_JSON_STRING && slice_eq(weir_json_text(v), text);
}

static void note_malformed(struct weir_message *m)
{
    note(m, "malformed_event", "an event lacks what its type needs and was passed over");
}

/* ---- blocks ---- */

/* The block an event speaks of; NULL, with a note, when there is none. */
static struct anthropic_block *block_of_event(struct weir_message *m, const struct weir_json *data)
{
    int64_t index;
    size_t number;
    if (!weir_json_int64(weir_json_get_str(data, "index"), &index)) {
        note_malformed(m);
        return NULL;
    }
    if (part_find(m, index, &number)) return &blocks_of(m)[number];
    note(m, "unknown_index", "an event speaks of a block that was not begun");
    return NULL;
}

static bool ends_with_tool_use(struct weir_slice type)
{
    struct weir_slice end = SLICE("tool_use");
    return type.len >= end.len && slice_eq(slice_from(type, type.len - end.len), end);
}

static enum block_kind kind_of(const struct weir_json *block)
{
    const struct weir_json *type = weir_json_get_str(block, "type");
    if (text_is(type, SLICE("text"))) return KIND_TEXT;
    if (text_is(type, SLICE("thinking"))) return KIND_THINKING;
    if (text_is(type, SLICE("compaction"))) return KIND_COMPACTION;
    return ends_with_tool_use(weir_json_text(type)) ? KIND_TOOL : KIND_OTHER;
}

static struct anthropic_block *add_block(struct weir_message *m, int64_t index,
                                         const struct weir_json *block)
{
    struct weir_json *node = weir_json_copy(m->doc, block);
    struct anthropic_block *b = part_add(m, index, node, sizeof *b);
    if (!b) return NULL;
    b->node = node;
    b->kind = kind_of(node);
    if (b->kind == KIND_TOOL) {
        b->input.state = WEIR_INPUT_OPEN;
        b->input.value = weir_json_get_str(node, "input");
    }
    return b;
}

typedef void (*text_fn)(void *user, size_t block, struct weir_slice delta, struct weir_slice all);

static void tell_text(struct weir_message *m, struct anthropic_block *b, struct weir_slice added)
{
    text_fn tell = b->kind == KIND_THINKING ? m->on.on_thinking : m->on.on_text;
    if (tell && message_is_open(m))
        tell(m->user, number_of(m, b), added, weir_json_text(b->text.string));
}

/* A tool that takes no input is called with an empty object. */
static void give_input(struct weir_message *m, struct anthropic_block *b)
{
    if (b->input.state != WEIR_INPUT_COMPLETE || b->input.value) return;
    struct weir_json *input = weir_json_new(m->doc, WEIR_JSON_OBJECT);
    message_fail(m, weir_json_set(m->doc, b->node, SLICE("input"), input));
    b->input.value = input;
}

/* The first value that arrives takes the place of the input that the start gave. */
static void link_input(struct weir_message *m, struct anthropic_block *b)
{
    struct weir_json *root = b->input.reader ? weir_json_reader_root(b->input.reader) : NULL;
    if (!root || b->input_is_linked) return;
    b->input_is_linked = true;
    message_fail(m, weir_json_set(m->doc, b->node, SLICE("input"), root));
}

/* is_ended: by the sender, and not by the end of its stream. */
static void stop_block(struct weir_message *m, struct anthropic_block *b, bool is_ended)
{
    if (b->is_stopped) return;
    b->is_stopped = true;
    struct weir_slice added = grow_text_end(m, &b->text);
    if (added.len > 0) tell_text(m, b, added);
    grow_input_end(m, &b->input, number_of(m, b), is_ended);
    link_input(m, b);
    give_input(m, b);
    if (is_ended && m->on.on_content_block && message_is_open(m))
        m->on.on_content_block(m->user, number_of(m, b), b->node);
}

/* The message ends: blocks that were not stopped are stopped by that. */
static void stop_blocks(struct weir_message *m, bool is_ended)
{
    for (size_t i = 0; i < m->parts.n; i++) stop_block(m, &blocks_of(m)[i], is_ended);
}

static void close_blocks(struct weir_message *m)
{
    stop_blocks(m, false);
}

/* ---- deltas: each takes the one member that its type is about ---- */

static void grow_block(struct weir_message *m, struct anthropic_block *b, const char *member,
                       const struct weir_json *delta)
{
    if (!b->text.string && !grow_begin(m, &b->text, b->node, member)) return;
    tell_text(m, b, grow_text(m, &b->text, weir_json_text(delta)));
}

static void text_delta(struct weir_message *m, struct anthropic_block *b,
                       const struct weir_json *text)
{
    grow_block(m, b, "text", text);
}

static void thinking_delta(struct weir_message *m, struct anthropic_block *b,
                           const struct weir_json *thinking)
{
    grow_block(m, b, "thinking", thinking);
}

static void signature_delta(struct weir_message *m, struct anthropic_block *b,
                            const struct weir_json *signature)
{
    grow_set(m, b->node, SLICE("signature"), signature);
    if (m->on.on_signature && message_is_open(m))
        m->on.on_signature(m->user, number_of(m, b), weir_json_text(signature));
}

static void citations_delta(struct weir_message *m, struct anthropic_block *b,
                            const struct weir_json *citation)
{
    /* With those that the block's start brought. */
    if (!b->citations) b->citations = grow_container(m, b->node, "citations", WEIR_JSON_ARRAY);
    if (!b->citations) return;
    struct weir_json *kept = weir_json_copy(m->doc, citation);
    message_fail(m, weir_json_push(m->doc, b->citations, kept));
    if (m->on.on_citation && message_is_open(m)) m->on.on_citation(m->user, number_of(m, b), kept);
}

static void input_json_delta(struct weir_message *m, struct anthropic_block *b,
                             const struct weir_json *partial_json)
{
    struct weir_slice added = grow_input(m, &b->input, weir_json_text(partial_json));
    link_input(m, b);
    if (m->on.on_input_json && message_is_open(m))
        m->on.on_input_json(m->user, number_of(m, b), added, b->input.value);
}

/* Brings the block's final value at once; null says that the compaction failed. */
static void compaction_delta(struct weir_message *m, struct anthropic_block *b,
                             const struct weir_json *delta)
{
    for (const struct weir_json *x = weir_json_first(delta); x; x = weir_json_next(x))
        if (!slice_eq(weir_json_key(x), SLICE("type"))) grow_set(m, b->node, weir_json_key(x), x);
}

static const struct delta_type {
    struct weir_slice name;
    enum block_kind kind; /* of block that takes it */
    const char *member;   /* NULL: the delta itself */
    bool is_string;       /* the member must be one */
    void (*take)(struct weir_message *m, struct anthropic_block *b, const struct weir_json *v);
} delta_types[] = {
    {SLICE("text_delta"), KIND_TEXT, "text", true, text_delta},
    {SLICE("input_json_delta"), KIND_TOOL, "partial_json", true, input_json_delta},
    {SLICE("thinking_delta"), KIND_THINKING, "thinking", true, thinking_delta},
    {SLICE("signature_delta"), KIND_THINKING, "signature", true, signature_delta},
    {SLICE("citations_delta"), KIND_TEXT, "citation", false, citations_delta},
    {SLICE("compaction_delta"), KIND_COMPACTION, NULL, false, compaction_delta},
};

static const struct delta_type *find_delta_type(struct weir_slice name)
{
    for (size_t i = 0; i < sizeof delta_types / sizeof *delta_types; i++)
        if (slice_eq(name, delta_types[i].name)) return &delta_types[i];
    return NULL;
}

/* ---- events ---- */

static void content_block_delta(struct weir_message *m, const struct weir_json *data)
{
    struct anthropic_block *b = block_of_event(m, data);
    const struct weir_json *delta = weir_json_get_str(data, "delta");
    struct weir_slice name = weir_json_text(weir_json_get_str(delta, "type"));
    const struct delta_type *type = find_delta_type(name);
    if (!b) return;
    const struct weir_json *member =
        type && type->member ? weir_json_get_str(delta, type->member) : delta;
    if (!type) note_name(m, "unknown_delta", "a delta of unknown type was passed over", name);
    else if (b->is_stopped)
        note(m, "late_delta", "a block grew after its stop; that was passed over");
    else if (type->kind != b->kind)
        note_name(m, "misplaced_delta", "a delta does not fit its block and was passed over", name);
    else if (!member || (type->is_string && weir_json_type_of(member) != WEIR_JSON_STRING))
        note_malformed(m);
    else type->take(m, b, member);
}

/* The last of these names the model that answered in the end. */
static void take_fallback(struct weir_message *m, const struct weir_json *block)
{
    const struct weir_json *model = weir_json_get_str(weir_json_get_str(block, "to"), "model");
    if (text_is(weir_json_get_str(block, "type"), SLICE("fallback")) && is_text(model))
        grow_set(m, m->value, SLICE("model"), model);
}

static void content_block_start(struct weir_message *m, const struct weir_json *data)
{
    const struct weir_json *block = weir_json_get_str(data, "content_block");
    int64_t index;
    size_t number;
    if (!weir_json_int64(weir_json_get_str(data, "index"), &index) || index < 0 ||
        !is_object(block)) {
        note_malformed(m);
        return;
    }
    if (part_find(m, index, &number)) {
        note(m, "repeated_index", "a block was begun twice; the second was passed over");
        return;
    }
    if (add_block(m, index, block)) take_fallback(m, block);
}

static void content_block_stop(struct weir_message *m, const struct weir_json *data)
{
    struct anthropic_block *b = block_of_event(m, data);
    if (b) stop_block(m, b, true);
}

/* Blocks that the first event already carries are whole. */
static void add_given_blocks(struct weir_message *m, const struct weir_json *given)
{
    for (int64_t index = 0; given && message_is_open(m); given = weir_json_next(given)) {
        struct anthropic_block *b = add_block(m, index++, given);
        if (b) stop_block(m, b, true);
    }
}

static void message_start(struct weir_message *m, const struct weir_json *data)
{
    const struct weir_json *message = weir_json_get_str(data, "message");
    if (m->value) {
        note(m, "repeated_message_start", "a second message_start was passed over");
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
    add_given_blocks(m, first_of_list(weir_json_get_str(message, "content")));
}

/* Members that grow by events of their own, or say what the event is. */
static bool is_own_member(struct weir_slice key)
{
    return slice_eq(key, SLICE("content")) || slice_eq(key, SLICE("usage")) ||
           slice_eq(key, SLICE("delta")) || slice_eq(key, SLICE("type"));
}

static void keep_members(struct weir_message *m, const struct weir_json *v)
{
    for (const struct weir_json *x = weir_json_first(v); x; x = weir_json_next(x))
        if (!is_own_member(weir_json_key(x))) grow_keep(m, m->value, x);
}

static void message_delta(struct weir_message *m, const struct weir_json *data)
{
    keep_members(m, data);
    keep_members(m, weir_json_get_str(data, "delta"));
    grow_usage(m, weir_json_get_str(data, "usage"));
}

static void message_stop(struct weir_message *m, const struct weir_json *data)
{
    (void)data;
    stop_blocks(m, true);
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
    message_sender_failed(m, WEIR_STREAM_ERROR, error ? error : data, SLICE(""), data);
}

static const struct event_type {
    struct weir_slice name;
    bool needs_message; /* means nothing before message_start */
    void (*take)(struct weir_message *m, const struct weir_json *data);
} event_types[] = {
    {SLICE("content_block_delta"), true, content_block_delta},
    {SLICE("content_block_start"), true, content_block_start},
    {SLICE("content_block_stop"), true, content_block_stop},
    {SLICE("message_start"), false, message_start},
    {SLICE("message_delta"), true, message_delta},
    {SLICE("message_stop"), true, message_stop},
    {SLICE("ping"), false, ping},
    {SLICE("error"), false, error_event},
};

static const struct event_type *find_event_type(struct weir_slice name)
{
    for (size_t i = 0; i < sizeof event_types / sizeof *event_types; i++)
        if (slice_eq(name, event_types[i].name)) return &event_types[i];
    return NULL;
}

/* Data that are not JSON: fatal where JSON was due, a curiosity elsewhere. */
static void take_other_data(struct weir_message *m, const struct event_type *type,
                            struct weir_slice data)
{
    if (!type) note(m, "ignored_event", "an event that is not JSON was passed over");
    else if (type->take == error_event)
        message_sender_failed(m, WEIR_STREAM_ERROR, NULL, data, NULL);
    else if (type->take != ping) message_bad_event(m, data);
}

static void take_event(struct weir_message *m, const struct weir_sse_event *event,
                       const struct weir_json *data)
{
    struct weir_slice name = weir_json_text(weir_json_get_str(data, "type"));
    const struct event_type *type = find_event_type(name);
    if (!type) type = find_event_type(event->type);
    if (name.len == 0) name = event->type;
    if (!data) take_other_data(m, type, event->data);
    else if (!type) note_name(m, "unknown_event", "an event of unknown type was passed over", name);
    else if (type->needs_message && !m->value)
        note(m, "before_message_start", "an event came before message_start and was passed over");
    else type->take(m, data);
}

static void take_end(struct weir_message *m)
{
    bool is_whole = is_text(weir_json_get_str(m->value, "stop_reason"));
    stop_blocks(m, is_whole);
    if (is_whole)
        note(m, "no_message_stop", "the input ended after the stop reason, without message_stop");
    message_finish(m, is_whole ? WEIR_OUTCOME_MESSAGE : WEIR_OUTCOME_INCOMPLETE);
}

const struct dialect anthropic_dialect = {
    .take_event = take_event,
    .take_end = take_end,
    .close = close_blocks,
    .n_inputs = n_inputs,
    .input_at = input_at,
    .block_at = block_at,
};
