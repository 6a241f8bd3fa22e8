/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tool calls of the OpenAI dialect.
 *
 * The servers differ in how they tell calls apart. OpenAI and vLLM give an
 * index, and the id once; llama.cpp repeats the id; some give every call the
 * index 0 and a new id, or no id; some give no index; some make up a new id for
 * each piece. So a piece belongs to
 *
 *   1. the call that its index names, unless its id names another; without an
 *      index to the call that its id names; without both to the latest;
 *   2. but to a new one if there is none, or if that call's input is whole or
 *      has another id, and the piece looks like a beginning: it has a name.
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

static size_t call_number(const struct weir_message *m, const struct openai_call *call)
{
    return (size_t)(call - calls_of(m));
}

static size_t choice_number(const struct weir_message *m, const struct openai_choice *c)
{
    return (size_t)(c - openai_choices(m));
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

/* Of an id that is longer than this only the beginning counts. */
static struct call_name make_name(char what, size_t choice, struct weir_slice rest)
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
    return make_name('#', choice, slice_of(&index, sizeof index));
}

static struct call_name name_by_id(size_t choice, struct weir_slice id)
{
    return make_name('=', choice, id);
}

/* The map's values are pointers and never NULL: a call's number + 1 goes as one. */
static struct openai_call *find_named(const struct weir_message *m, struct call_name name)
{
    uintptr_t found = (uintptr_t)map_get(&m->call_names, slice_of(name.bytes, name.len));
    return found > 0 ? &calls_of(m)[found - 1] : NULL;
}

static void remember(struct weir_message *m, struct call_name name, const struct openai_call *call)
{
    void *value = (void *)(uintptr_t)(call_number(m, call) + 1);
    message_fail(m, map_put(&m->call_names, slice_of(name.bytes, name.len), value));
}

/* ---- finding ---- */

/* What a piece says about which call it belongs to. */
struct piece {
    struct weir_slice id;
    struct weir_slice name;
    int64_t index;
    bool has_index;
    bool has_arguments;
};

static struct piece read_piece(const struct weir_json *given)
{
    const struct weir_json *function = weir_json_get_str(given, "function");
    const struct weir_json *arguments = weir_json_get_str(function, "arguments");
    bool is_string = weir_json_type_of(arguments) == WEIR_JSON_STRING;
    struct piece p = {.id = id_of(given)};
    p.name = weir_json_text(weir_json_get_str(function, "name"));
    p.has_index = weir_json_int64(weir_json_get_str(given, "index"), &p.index) && p.index >= 0;
    p.has_arguments =
        is_string ? is_text(arguments) : weir_json_type_of(arguments) != WEIR_JSON_NULL;
    return p;
}

static bool has_other_id(const struct openai_call *call, const struct piece *p)
{
    struct weir_slice id = id_of(call->node);
    return p->id.len > 0 && id.len > 0 && !slice_eq(p->id, id);
}

static struct openai_call *known_call(const struct weir_message *m, const struct openai_choice *c,
                                      const struct piece *p)
{
    size_t choice = choice_number(m, c);
    struct openai_call *call = NULL;
    if (p->has_index) call = find_named(m, name_by_index(choice, p->index));
    if (p->id.len > 0 && (!call || has_other_id(call, p))) {
        struct openai_call *by_id = find_named(m, name_by_id(choice, p->id));
        if (by_id) return by_id;
    }
    if (!call && !p->has_index && p->id.len == 0 && c->after_latest_call > 0)
        call = &calls_of(m)[c->after_latest_call - 1];
    return call;
}

static bool is_beginning(const struct openai_call *known, const struct piece *p)
{
    bool is_whole = weir_json_is_whole(known->input.value);
    if (has_other_id(known, p)) return p->name.len > 0 || is_whole;
    if (p->id.len > 0 && id_of(known->node).len > 0) return false;
    bool is_other_name = !slice_eq(p->name, weir_json_text(known->name.string));
    return is_whole && p->name.len > 0 && (p->has_arguments || is_other_name);
}

/* ---- making ---- */

static struct openai_call *add_call(struct weir_message *m, const struct openai_choice *c,
                                    struct weir_json *node)
{
    struct openai_call *call = part_add_item(m, &m->calls, sizeof *call);
    if (!call) return NULL;
    call->choice = choice_number(m, c);
    call->node = node;
    return call;
}

static struct openai_call *add_tool_call(struct weir_message *m, struct openai_choice *c,
                                         const struct piece *p)
{
    struct weir_json *node = weir_json_new(m->doc, WEIR_JSON_OBJECT);
    if (!c->tool_calls)
        c->tool_calls = grow_container(m, c->message, "tool_calls", WEIR_JSON_ARRAY);
    bool is_made = c->tool_calls &&
                   openai_put(m, node, "id", weir_json_new(m->doc, WEIR_JSON_NULL)) &&
                   openai_put_text(m, node, "type", "function");
    if (!is_made) return NULL;
    enum weir_status st = weir_json_push(m->doc, c->tool_calls, node);
    message_fail(m, st);
    struct openai_call *call = st == WEIR_OK ? add_call(m, c, node) : NULL;
    if (!call) return NULL;
    c->after_latest_call = m->calls.n;
    if (p->has_index) remember(m, name_by_index(choice_number(m, c), p->index), call);
    return call;
}

static struct openai_call *call_for(struct weir_message *m, struct openai_choice *c,
                                    const struct weir_json *given)
{
    struct piece p = read_piece(given);
    struct openai_call *call = known_call(m, c, &p);
    if (!call || is_beginning(call, &p)) call = add_tool_call(m, c, &p);
    if (call && !call->is_closed && p.id.len > 0 && id_of(call->node).len == 0)
        remember(m, name_by_id(choice_number(m, c), p.id), call);
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
        m->on.on_input_json(m->user, call_number(m, call), added, call->input.value);
}

/* A string that grows; from some servers a value, which is written out to have one form. */
static void take_arguments(struct weir_message *m, struct openai_call *call,
                           const struct weir_json *arguments)
{
    if (weir_json_type_of(arguments) == WEIR_JSON_STRING) {
        grow_arguments(m, call, weir_json_text(arguments));
        return;
    }
    if (weir_json_type_of(arguments) == WEIR_JSON_NULL) return;
    struct weir_buf text;
    weir_buf_init(&text, UINT32_MAX);
    weir_json_put_value(&text, arguments);
    enum weir_status st = weir_buf_status(&text);
    if (st == WEIR_OK) grow_arguments(m, call, weir_buf_slice(&text));
    message_fail(m, st);
    weir_buf_fini(&text);
}

static bool make_function(struct weir_message *m, struct openai_call *call)
{
    if (!call->function)
        call->function = grow_container(m, call->node, "function", WEIR_JSON_OBJECT);
    if (call->name.string) return true;
    call->input.state = WEIR_INPUT_OPEN;
    return call->function && grow_begin(m, &call->name, call->function, "name") &&
           grow_begin(m, &call->arguments, call->function, "arguments");
}

static void take_function(struct weir_message *m, struct openai_call *call,
                          const struct weir_json *function)
{
    if (weir_json_type_of(function) != WEIR_JSON_OBJECT || !make_function(m, call)) return;
    for (const struct weir_json *x = weir_json_first(function); x; x = weir_json_next(x)) {
        if (weir_slice_is(weir_json_key(x), "name")) take_name(m, call, x);
        else if (weir_slice_is(weir_json_key(x), "arguments")) take_arguments(m, call, x);
        else grow_keep(m, call->function, x);
    }
}

/*
 * Members that are not known are kept, such as Gemini's signature of a thought; the
 * pieces of a custom tool's input are joined. The first id stays.
 */
static void keep_members(struct weir_message *m, struct openai_call *call,
                         const struct weir_json *given)
{
    for (const struct weir_json *x = weir_json_first(given); x; x = weir_json_next(x)) {
        struct weir_slice key = weir_json_key(x);
        struct weir_json *old = weir_json_member(call->node, key);
        bool is_id = weir_slice_is(key, "id") && is_text(old);
        bool is_empty = weir_json_type_of(x) == WEIR_JSON_STRING && !is_text(x);
        if (is_id || is_empty || weir_slice_is(key, "index") || weir_slice_is(key, "function"))
            continue;
        if (old && weir_json_type_of(old) == WEIR_JSON_OBJECT) openai_join_object(m, old, x);
        else grow_keep(m, call->node, x);
    }
}

static void note_late(struct weir_message *m)
{
    note(m, "late_delta", "a choice grew after it had finished");
}

void openai_take_calls(struct weir_message *m, struct openai_choice *c,
                       const struct weir_json *list)
{
    const struct weir_json *given = first_of_list(list);
    for (; given && message_is_open(m); given = weir_json_next(given)) {
        struct openai_call *call = call_for(m, c, given);
        if (!call) return;
        if (call->is_closed) {
            note_late(m);
            continue;
        }
        keep_members(m, call, given);
        take_function(m, call, weir_json_get_str(given, "function"));
    }
}

void openai_take_function_call(struct weir_message *m, struct openai_choice *c,
                               const struct weir_json *function)
{
    struct call_name name = name_by_index(choice_number(m, c), LEGACY_INDEX);
    struct openai_call *call = find_named(m, name);
    if (weir_json_type_of(function) != WEIR_JSON_OBJECT) return;
    if (!call) {
        struct weir_json *node = weir_json_new(m->doc, WEIR_JSON_OBJECT);
        call = openai_put(m, c->message, "function_call", node) ? add_call(m, c, node) : NULL;
        if (!call) return;
        call->function = node;
        remember(m, name, call);
    }
    if (call->is_closed) note_late(m);
    else take_function(m, call, function);
}

/* ---- the end ---- */

static void close_call(struct weir_message *m, struct openai_call *call, bool is_ended)
{
    if (call->is_closed) return;
    call->is_closed = true;
    grow_text_end(m, &call->name);
    call->input.half = call->arguments.half; /* what waited for one waited for both */
    grow_text_end(m, &call->arguments);
    grow_input_end(m, &call->input, call_number(m, call), is_ended);
    /* No argument at all is how some servers write that a tool takes none. */
    if (call->input.state == WEIR_INPUT_COMPLETE && !call->input.value)
        call->input.value = weir_json_new(m->doc, WEIR_JSON_OBJECT);
    if (is_ended && m->on.on_content_block && message_is_open(m))
        m->on.on_content_block(m->user, call_number(m, call), call->node);
}

void openai_close_calls(struct weir_message *m, struct openai_choice *c, bool is_ended)
{
    size_t choice = choice_number(m, c);
    for (size_t i = 0; i < m->calls.n; i++)
        if (calls_of(m)[i].choice == choice) close_call(m, &calls_of(m)[i], is_ended);
}
