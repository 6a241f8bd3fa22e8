/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tool calls of the OpenAI dialect.
 *
 * The servers differ in how they tell calls apart. OpenAI and vLLM give an
 * index, and the id once; llama.cpp repeats the id; some give every call the
 * index 0 and a new id, or no id; some give no index. So a piece belongs to
 *
 *   1. the call that its index names, else that its id names, else the latest;
 *   2. but to a new one if its id is not that call's own, or if it brings a
 *      name and arguments while that call's arguments are a whole value.
 *
 * m->call_names knows which call an index or an id stands for, so finding one
 * takes the same time among thousands.
 */
#include "base/slice.h"
#include "message/openai_impl.h"

enum { LEGACY_INDEX = -1, NAME_BYTES = 200 };

static struct openai_call *calls_of(const struct weir_message *m)
{
    return m->calls.ptr;
}

static size_t number_of(const struct weir_message *m, const struct openai_call *call)
{
    return (size_t)(call - calls_of(m));
}

static struct weir_slice id_of(const struct weir_json *call)
{
    return weir_json_text(weir_json_get_str(call, "id"));
}

/* ---- names: "which call is index 3 of choice 0?" ---- */

struct call_name {
    char bytes[NAME_BYTES];
    size_t len;
};

/* A long id is known by its beginning; where that misleads, the ids' difference shows it. */
static struct call_name name_of(char what, size_t choice, struct weir_slice rest)
{
    struct call_name name = {.bytes = {what}, .len = 1};
    memcpy(name.bytes + name.len, &choice, sizeof choice);
    name.len += sizeof choice;
    size_t n = rest.len < NAME_BYTES - name.len ? rest.len : NAME_BYTES - name.len;
    if (n > 0) memcpy(name.bytes + name.len, rest.ptr, n);
    name.len += n;
    return name;
}

static struct call_name name_by_index(size_t choice, int64_t index)
{
    return name_of('#', choice, slice_of(&index, sizeof index));
}

/* The map's values are pointers and never NULL: a call's number + 1 goes as one. */
static struct openai_call *find_named(const struct weir_message *m, struct call_name name)
{
    uintptr_t found = (uintptr_t)map_get(&m->call_names, slice_of(name.bytes, name.len));
    return found > 0 ? &calls_of(m)[found - 1] : NULL;
}

static void remember(struct weir_message *m, struct call_name name, size_t number)
{
    void *value = (void *)(uintptr_t)(number + 1);
    message_fail(m, map_put(&m->call_names, slice_of(name.bytes, name.len), value));
}

/* ---- finding ---- */

/* What a piece says about which call it belongs to. */
struct piece {
    struct weir_slice id;
    int64_t index;
    bool has_index;
    bool begins; /* it has a name and arguments, as a call that comes whole has */
};

static bool has_arguments(const struct weir_json *function)
{
    const struct weir_json *arguments = weir_json_get_str(function, "arguments");
    return is_text(arguments) || weir_json_type_of(arguments) == WEIR_JSON_OBJECT;
}

static struct piece read_piece(const struct weir_json *given)
{
    const struct weir_json *function = weir_json_get_str(given, "function");
    struct piece p = {.id = id_of(given)};
    p.has_index = weir_json_int64(weir_json_get_str(given, "index"), &p.index) && p.index >= 0;
    p.begins = is_text(weir_json_get_str(function, "name")) && has_arguments(function);
    return p;
}

static struct openai_call *known_call(const struct weir_message *m, const struct openai_choice *c,
                                      size_t choice, const struct piece *p)
{
    if (p->has_index) return find_named(m, name_by_index(choice, p->index));
    if (p->id.len > 0) return find_named(m, name_of('=', choice, p->id));
    return c->last_call != NO_CALL ? &calls_of(m)[c->last_call - 1] : NULL;
}

static bool is_new_call(const struct openai_call *known, const struct piece *p)
{
    struct weir_slice known_id = id_of(known->node);
    if (p->id.len > 0 && known_id.len > 0) return !slice_eq(p->id, known_id);
    return p->begins && weir_json_is_whole(known->input.value);
}

/* ---- making ---- */

static bool make_node(struct weir_message *m, struct openai_choice *c, struct weir_json *node,
                      struct weir_json *function)
{
    if (!c->tool_calls)
        c->tool_calls = grow_container(m, c->message, "tool_calls", WEIR_JSON_ARRAY);
    bool is_made =
        c->tool_calls && openai_put(m, node, "id", weir_json_new(m->doc, WEIR_JSON_NULL)) &&
        openai_put_text(m, node, "type", "function") && openai_put(m, node, "function", function);
    if (!is_made) return false;
    enum weir_status st = weir_json_push(m->doc, c->tool_calls, node);
    message_fail(m, st);
    return st == WEIR_OK;
}

static struct openai_call *add_call(struct weir_message *m, struct openai_choice *c,
                                    struct weir_json *node, struct weir_json *function)
{
    struct openai_call *call = part_add_item(m, &m->calls, sizeof *call);
    if (!call) return NULL;
    call->choice = (size_t)(c - openai_choices(m));
    call->node = node;
    call->function = function;
    call->input.state = WEIR_INPUT_OPEN;
    c->last_call = m->calls.n;
    return grow_begin(m, &call->name, function, "name") &&
                   grow_begin(m, &call->arguments, function, "arguments")
               ? call
               : NULL;
}

static struct openai_call *call_for(struct weir_message *m, struct openai_choice *c,
                                    const struct weir_json *given)
{
    size_t choice = (size_t)(c - openai_choices(m));
    struct piece p = read_piece(given);
    struct openai_call *call = known_call(m, c, choice, &p);
    if (!call || is_new_call(call, &p)) {
        struct weir_json *node = weir_json_new(m->doc, WEIR_JSON_OBJECT);
        struct weir_json *function = weir_json_new(m->doc, WEIR_JSON_OBJECT);
        call = make_node(m, c, node, function) ? add_call(m, c, node, function) : NULL;
        if (!call) return NULL;
        if (p.has_index) remember(m, name_by_index(choice, p.index), number_of(m, call));
    }
    if (p.id.len > 0 && id_of(call->node).len == 0)
        remember(m, name_of('=', choice, p.id), number_of(m, call));
    return call;
}

/* ---- growing ---- */

/* A name comes once, or again and again, or in pieces, or longer each time. */
static void take_name(struct weir_message *m, struct openai_call *call, const struct weir_json *v)
{
    struct weir_slice known = weir_json_text(call->name.string);
    struct weir_slice name = weir_json_text(v);
    if (!is_text(v)) return;
    bool is_longer = name.len >= known.len && slice_eq(slice_of(name.ptr, known.len), known);
    grow_text(m, &call->name, is_longer ? slice_from(name, known.len) : name);
}

static void grow_arguments(struct weir_message *m, struct openai_call *call,
                           struct weir_slice piece)
{
    struct weir_slice added = grow_text(m, &call->arguments, piece);
    grow_input(m, &call->input, added);
    if (m->on.on_input_json && message_is_open(m))
        m->on.on_input_json(m->user, number_of(m, call), added, call->input.value);
}

static void take_arguments(struct weir_message *m, struct openai_call *call,
                           const struct weir_json *arguments)
{
    if (weir_json_type_of(arguments) == WEIR_JSON_STRING) {
        grow_arguments(m, call, weir_json_text(arguments));
        return;
    }
    if (weir_json_type_of(arguments) != WEIR_JSON_OBJECT) return;
    /* Given as an object: written out, so that the message has one form. */
    struct weir_buf text;
    weir_buf_init(&text, UINT32_MAX);
    weir_json_put_value(&text, arguments);
    enum weir_status st = weir_buf_status(&text);
    if (st == WEIR_OK) grow_arguments(m, call, weir_buf_slice(&text));
    message_fail(m, st);
    weir_buf_fini(&text);
}

static void take_function(struct weir_message *m, struct openai_call *call,
                          const struct weir_json *function)
{
    if (call->is_closed) {
        message_note(m, "late_delta", "a tool call grew after its choice had finished");
        return;
    }
    take_name(m, call, weir_json_get_str(function, "name"));
    take_arguments(m, call, weir_json_get_str(function, "arguments"));
}

/* Members that are not known are kept; Gemini's signature of a thought is such a one. */
static void keep_members(struct weir_message *m, struct openai_call *call,
                         const struct weir_json *given)
{
    for (const struct weir_json *x = weir_json_first(given); x; x = weir_json_next(x)) {
        struct weir_slice key = weir_json_key(x);
        bool is_known = slice_eq(key, SLICE("index")) || slice_eq(key, SLICE("function"));
        bool is_empty = weir_json_type_of(x) == WEIR_JSON_STRING && !is_text(x);
        if (!is_known && !is_empty) grow_keep(m, call->node, x);
    }
}

void openai_take_calls(struct weir_message *m, struct openai_choice *c,
                       const struct weir_json *list)
{
    const struct weir_json *given = weir_json_first(list);
    for (; given && message_is_open(m); given = weir_json_next(given)) {
        struct openai_call *call = call_for(m, c, given);
        if (!call) return;
        if (!call->is_closed) keep_members(m, call, given);
        take_function(m, call, weir_json_get_str(given, "function"));
    }
}

void openai_take_function_call(struct weir_message *m, struct openai_choice *c,
                               const struct weir_json *function)
{
    struct call_name name = name_by_index((size_t)(c - openai_choices(m)), LEGACY_INDEX);
    struct openai_call *call = find_named(m, name);
    if (weir_json_type_of(function) != WEIR_JSON_OBJECT) return;
    if (!call) {
        struct weir_json *node = weir_json_new(m->doc, WEIR_JSON_OBJECT);
        if (!openai_put(m, c->message, "function_call", node)) return;
        call = add_call(m, c, node, node);
        if (!call) return;
        remember(m, name, number_of(m, call));
    }
    take_function(m, call, function);
}

/* ---- the end ---- */

/* No argument at all is how some servers write that a tool takes none. */
static void close_call(struct weir_message *m, struct openai_call *call)
{
    if (call->is_closed) return;
    call->is_closed = true;
    grow_text_end(m, &call->name);
    struct weir_slice added = grow_text_end(m, &call->arguments);
    if (added.len > 0) grow_input(m, &call->input, added);
    grow_input_end(m, &call->input, number_of(m, call));
    if (call->input.state == WEIR_INPUT_COMPLETE && !call->input.value)
        call->input.value = weir_json_new(m->doc, WEIR_JSON_OBJECT);
    if (m->on.on_content_block && message_is_open(m))
        m->on.on_content_block(m->user, number_of(m, call), call->node);
}

void openai_close_calls(struct weir_message *m, struct openai_choice *c)
{
    size_t choice = (size_t)(c - openai_choices(m));
    if (c->last_call == NO_CALL || calls_of(m)[c->last_call - 1].is_closed) return;
    for (size_t i = 0; i < c->last_call; i++)
        if (calls_of(m)[i].choice == choice) close_call(m, &calls_of(m)[i]);
}
