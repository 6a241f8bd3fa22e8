/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The OpenAI Chat Completions dialect, as OpenAI, llama.cpp, vLLM and Ollama
 * emit it.
 *
 * The chunks add up to what the same request would have given without
 * streaming: an object "chat.completion" with choices, each with a message and
 * a finish reason. Members of a chunk or choice that are not known are kept as
 * they first came.
 *
 * The servers differ in how they tell tool calls apart. OpenAI and vLLM give
 * an index, and the id once; llama.cpp repeats the id; some give every call the
 * index 0 and a new id, some no index at all. So: same choice and index is the
 * same call, unless an id comes that is not its own; without an index the id
 * decides, and without both the latest call grows.
 */
#include "base/slice.h"
#include "message/message_impl.h"

/* Members of a delta that are text to be joined. */
enum text_kind { TEXT_CONTENT, TEXT_REFUSAL, TEXT_REASONING, TEXT_REASONING_CONTENT, N_TEXTS };

static const char *const text_names[N_TEXTS] = {
    [TEXT_CONTENT] = "content",
    [TEXT_REFUSAL] = "refusal",
    [TEXT_REASONING] = "reasoning",
    [TEXT_REASONING_CONTENT] = "reasoning_content",
};

struct openai_choice {
    int64_t index;
    struct weir_json *node;
    struct weir_json *message;
    struct weir_json *texts[N_TEXTS]; /* NULL before the first piece */
    struct half halves[N_TEXTS];
    struct weir_json *tool_calls; /* NULL before the first */
    struct weir_json *logprobs;   /* its content list; NULL before the first */
    bool is_finished;
};

struct openai_call {
    size_t choice; /* position in parts */
    int64_t index;
    bool has_index;
    bool is_closed;
    struct weir_json *node;
    struct weir_json *function;
    struct weir_json *arguments; /* string that grows */
    struct half half;
    struct tool_input input;
};

static struct openai_choice *choices_of(const struct weir_message *m)
{
    return m->parts.ptr;
}

static struct openai_call *calls_of(const struct weir_message *m)
{
    return m->calls.ptr;
}

static size_t n_inputs(const struct weir_message *m)
{
    return m->calls.n;
}

static struct tool_input *input_at(const struct weir_message *m, size_t block)
{
    return &calls_of(m)[block].input;
}

static bool is_string(const struct weir_json *v)
{
    return weir_json_type(v) == WEIR_JSON_STRING;
}

static bool is_present(const struct weir_json *v)
{
    return weir_json_type(v) != WEIR_JSON_NULL;
}

/* Sets a member; false after a failure. */
static bool put(struct weir_message *m, struct weir_json *object, const char *key,
                struct weir_json *value)
{
    enum weir_status st = weir_json_set(m->doc, object, slice_of_str(key), value);
    message_fail(m, st);
    return st == WEIR_OK;
}

static bool put_text(struct weir_message *m, struct weir_json *object, const char *key,
                     const char *text)
{
    return put(m, object, key, weir_json_new_string(m->doc, slice_of_str(text)));
}

/* Keeps a member that is new, or was null until now. */
static void keep_first(struct weir_message *m, struct weir_json *object,
                       const struct weir_json *member)
{
    struct weir_slice key = weir_json_key(member);
    const struct weir_json *old = weir_json_get(object, key);
    if (!old || (!is_present(old) && is_present(member))) grow_set(m, object, key, member);
}

static bool key_is(const struct weir_json *member, const char *key)
{
    return slice_eq(weir_json_key(member), slice_of_str(key));
}

/* ---- the frame ---- */

static bool make_value(struct weir_message *m)
{
    struct weir_json *value = weir_json_new(m->doc, WEIR_JSON_OBJECT);
    struct weir_json *choices = weir_json_new(m->doc, WEIR_JSON_ARRAY);
    if (!put(m, value, "id", weir_json_new(m->doc, WEIR_JSON_NULL)) ||
        !put_text(m, value, "object", "chat.completion") || !put(m, value, "choices", choices))
        return false;
    m->value = value;
    m->list = choices;
    return true;
}

static struct openai_choice *add_choice(struct weir_message *m, int64_t index)
{
    struct weir_json *node = weir_json_new(m->doc, WEIR_JSON_OBJECT);
    struct weir_json *message = weir_json_new(m->doc, WEIR_JSON_OBJECT);
    bool is_made = put(m, node, "index", weir_json_new_int(m->doc, index)) &&
                   put(m, node, "message", message) && put_text(m, message, "role", "assistant") &&
                   put(m, message, "content", weir_json_new(m->doc, WEIR_JSON_NULL)) &&
                   put(m, node, "finish_reason", weir_json_new(m->doc, WEIR_JSON_NULL));
    if (!is_made) return NULL;
    enum weir_status st = weir_json_push(m->doc, m->list, node);
    message_fail(m, st);
    if (st != WEIR_OK) return NULL;
    struct openai_choice *c = message_add_item(m, &m->parts, sizeof *c);
    if (c) *c = (struct openai_choice){.index = index, .node = node, .message = message};
    return c;
}

/* Choices are few; the one that speaks is mostly the one that spoke last. */
static struct openai_choice *choice_for(struct weir_message *m, const struct weir_json *choice)
{
    int64_t index = 0;
    const struct weir_json *given = weir_json_get_str(choice, "index");
    if (!weir_json_int64(given, &index) || index < 0) index = 0;
    for (size_t i = m->parts.n; i-- > 0;)
        if (choices_of(m)[i].index == index) return &choices_of(m)[i];
    return add_choice(m, index);
}

/* ---- text ---- */

static void grow_choice_text(struct weir_message *m, struct openai_choice *c, enum text_kind kind,
                             struct weir_slice piece)
{
    if (!c->texts[kind]) c->texts[kind] = grow_member(m, c->message, text_names[kind]);
    if (!c->texts[kind]) return;
    struct weir_slice added = grow_text(m, c->texts[kind], &c->halves[kind], piece);
    struct weir_slice all = weir_json_text(c->texts[kind]);
    bool is_thought = kind == TEXT_REASONING || kind == TEXT_REASONING_CONTENT;
    if (!message_is_open(m)) return;
    if (kind == TEXT_CONTENT && m->on.on_text) m->on.on_text(m->user, (size_t)c->index, added, all);
    else if (is_thought && m->on.on_thinking)
        m->on.on_thinking(m->user, (size_t)c->index, added, all);
}

/* Text comes as a string, from some servers as a list of parts. */
static void take_text(struct weir_message *m, struct openai_choice *c, enum text_kind kind,
                      const struct weir_json *v)
{
    if (is_string(v)) grow_choice_text(m, c, kind, weir_json_text(v));
    if (weir_json_type(v) != WEIR_JSON_ARRAY) return;
    for (const struct weir_json *part = weir_json_first(v); part; part = weir_json_next(part)) {
        const struct weir_json *text = weir_json_get_str(part, "text");
        if (is_string(text)) grow_choice_text(m, c, kind, weir_json_text(text));
    }
}

/* ---- tool calls ---- */

static struct weir_slice id_of(const struct weir_json *call)
{
    return weir_json_text(weir_json_get_str(call, "id"));
}

static bool is_same_call(const struct openai_call *known, const struct weir_json *call,
                         bool has_index, int64_t index)
{
    struct weir_slice id = id_of(call);
    struct weir_slice known_id = id_of(known->node);
    bool ids_differ = id.len > 0 && known_id.len > 0 && !slice_eq(id, known_id);
    if (ids_differ) return false;
    if (has_index) return known->has_index && known->index == index;
    return id.len == 0 || slice_eq(id, known_id);
}

static struct openai_call *add_call(struct weir_message *m, struct openai_choice *c, bool has_index,
                                    int64_t index)
{
    struct weir_json *node = weir_json_new(m->doc, WEIR_JSON_OBJECT);
    struct weir_json *function = weir_json_new(m->doc, WEIR_JSON_OBJECT);
    if (!c->tool_calls) {
        struct weir_json *list = weir_json_new(m->doc, WEIR_JSON_ARRAY);
        if (!put(m, c->message, "tool_calls", list)) return NULL;
        c->tool_calls = list;
    }
    bool is_made = put(m, node, "id", weir_json_new(m->doc, WEIR_JSON_NULL)) &&
                   put_text(m, node, "type", "function") && put(m, node, "function", function) &&
                   put_text(m, function, "name", "");
    if (!is_made) return NULL;
    struct weir_json *arguments = grow_member(m, function, "arguments");
    enum weir_status st = weir_json_push(m->doc, c->tool_calls, node);
    message_fail(m, st);
    if (!arguments || st != WEIR_OK) return NULL;
    struct openai_call *call = message_add_item(m, &m->calls, sizeof *call);
    if (!call) return NULL;
    *call = (struct openai_call){.choice = (size_t)(c - choices_of(m)),
                                 .index = index,
                                 .has_index = has_index,
                                 .node = node,
                                 .function = function,
                                 .arguments = arguments,
                                 .input.state = WEIR_INPUT_OPEN};
    return call;
}

static struct openai_call *call_for(struct weir_message *m, struct openai_choice *c,
                                    const struct weir_json *call)
{
    int64_t index = 0;
    bool has_index = weir_json_int64(weir_json_get_str(call, "index"), &index);
    for (size_t i = m->calls.n; i-- > 0;) {
        struct openai_call *known = &calls_of(m)[i];
        if (known->choice != (size_t)(c - choices_of(m))) continue;
        if (is_same_call(known, call, has_index, index)) return known;
        /* Only the newest call of an index can grow; an older one was replaced by it. */
        if (has_index && known->has_index && known->index == index) break;
    }
    return add_call(m, c, has_index, index);
}

static void grow_arguments(struct weir_message *m, struct openai_call *call,
                           struct weir_slice piece)
{
    grow_text(m, call->arguments, &call->half, piece);
    grow_input(m, &call->input, piece);
    if (m->on.on_input_json && message_is_open(m))
        m->on.on_input_json(m->user, (size_t)(call - calls_of(m)), piece, call->input.value);
}

static void take_arguments(struct weir_message *m, struct openai_call *call,
                           const struct weir_json *arguments)
{
    if (is_string(arguments)) {
        grow_arguments(m, call, weir_json_text(arguments));
        return;
    }
    if (weir_json_type(arguments) != WEIR_JSON_OBJECT) return;
    /* Given as an object: written out, so that the message has one form. */
    struct weir_buf text;
    weir_buf_init(&text, UINT32_MAX);
    weir_json_put_value(&text, arguments);
    enum weir_status st = weir_buf_status(&text);
    if (st == WEIR_OK) grow_arguments(m, call, weir_buf_slice(&text));
    message_fail(m, st);
    weir_buf_fini(&text);
}

static void take_call(struct weir_message *m, struct openai_choice *c,
                      const struct weir_json *given)
{
    const struct weir_json *function = weir_json_get_str(given, "function");
    const struct weir_json *name = weir_json_get_str(function, "name");
    struct openai_call *call = call_for(m, c, given);
    if (!call) return;
    if (call->is_closed) {
        message_note(m, "late_delta",
                     "a tool call grew after its choice had finished; that was passed over");
        return;
    }
    if (id_of(given).len > 0 && id_of(call->node).len == 0)
        grow_set(m, call->node, SLICE("id"), weir_json_get_str(given, "id"));
    if (is_string(name) && weir_json_text(name).len > 0 &&
        !slice_eq(weir_json_text(name), weir_json_text(weir_json_get_str(call->function, "name"))))
        grow_set(m, call->function, SLICE("name"), name);
    for (const struct weir_json *x = weir_json_first(given); x; x = weir_json_next(x))
        if (!key_is(x, "index") && !key_is(x, "function")) keep_first(m, call->node, x);
    take_arguments(m, call, weir_json_get_str(function, "arguments"));
}

/* No argument at all is how some servers write that a tool takes none. */
static void close_call(struct weir_message *m, struct openai_call *call)
{
    size_t number = (size_t)(call - calls_of(m));
    if (call->is_closed) return;
    call->is_closed = true;
    grow_text_end(m, call->arguments, &call->half);
    grow_input_end(m, &call->input, number);
    if (call->input.state == WEIR_INPUT_COMPLETE && !call->input.value)
        call->input.value = weir_json_new(m->doc, WEIR_JSON_OBJECT);
    if (m->on.on_content_block && message_is_open(m))
        m->on.on_content_block(m->user, number, call->node);
}

static void close_calls(struct weir_message *m, size_t choice)
{
    for (size_t i = 0; i < m->calls.n; i++)
        if (calls_of(m)[i].choice == choice) close_call(m, &calls_of(m)[i]);
}

/* ---- choices ---- */

static void close_choice(struct weir_message *m, struct openai_choice *c)
{
    for (int kind = 0; kind < N_TEXTS; kind++)
        if (c->texts[kind]) grow_text_end(m, c->texts[kind], &c->halves[kind]);
    close_calls(m, (size_t)(c - choices_of(m)));
}

static void take_delta(struct weir_message *m, struct openai_choice *c,
                       const struct weir_json *delta)
{
    for (const struct weir_json *x = weir_json_first(delta); x; x = weir_json_next(x)) {
        int kind = 0;
        while (kind < N_TEXTS && !key_is(x, text_names[kind])) kind++;
        if (kind < N_TEXTS) {
            take_text(m, c, (enum text_kind)kind, x);
        } else if (key_is(x, "tool_calls")) {
            const struct weir_json *call = weir_json_first(x);
            for (; call && message_is_open(m); call = weir_json_next(call)) take_call(m, c, call);
        } else {
            keep_first(m, c->message, x);
        }
        if (!message_is_open(m)) return;
    }
}

/* Log probabilities come for the tokens of each chunk and form one list. */
static void take_logprobs(struct weir_message *m, struct openai_choice *c,
                          const struct weir_json *logprobs)
{
    const struct weir_json *token = weir_json_first(weir_json_get_str(logprobs, "content"));
    if (!token) return;
    if (!c->logprobs) {
        struct weir_json *object = weir_json_new(m->doc, WEIR_JSON_OBJECT);
        struct weir_json *list = weir_json_new(m->doc, WEIR_JSON_ARRAY);
        if (!put(m, object, "content", list) || !put(m, c->node, "logprobs", object)) return;
        c->logprobs = list;
    }
    for (; token && message_is_open(m); token = weir_json_next(token))
        message_fail(m, weir_json_push(m->doc, c->logprobs, weir_json_copy(m->doc, token)));
}

static void take_choice(struct weir_message *m, const struct weir_json *choice)
{
    struct openai_choice *c = choice_for(m, choice);
    const struct weir_json *reason = weir_json_get_str(choice, "finish_reason");
    if (!c) return;
    take_delta(m, c, weir_json_get_str(choice, "delta"));
    take_logprobs(m, c, weir_json_get_str(choice, "logprobs"));
    if (!message_is_open(m) || !is_string(reason)) return;
    grow_set(m, c->node, SLICE("finish_reason"), reason);
    c->is_finished = true;
    close_choice(m, c);
}

static bool is_own_member(const struct weir_json *x)
{
    return key_is(x, "choices") || key_is(x, "object") || key_is(x, "usage") || key_is(x, "error");
}

static void take_chunk(struct weir_message *m, const struct weir_json *data)
{
    if (!m->value && !make_value(m)) return;
    for (const struct weir_json *x = weir_json_first(data); x; x = weir_json_next(x))
        if (!is_own_member(x)) keep_first(m, m->value, x);
    const struct weir_json *choice = weir_json_first(weir_json_get_str(data, "choices"));
    for (; choice && message_is_open(m); choice = weir_json_next(choice)) take_choice(m, choice);
    grow_usage(m, weir_json_get_str(data, "usage"));
}

/* ---- the end ---- */

static bool is_all_finished(const struct weir_message *m)
{
    for (size_t i = 0; i < m->parts.n; i++)
        if (!choices_of(m)[i].is_finished) return false;
    return m->parts.n > 0;
}

static void close_choices(struct weir_message *m)
{
    for (size_t i = 0; i < m->parts.n; i++) close_choice(m, &choices_of(m)[i]);
}

static void take_done(struct weir_message *m)
{
    bool is_whole = is_all_finished(m);
    close_choices(m);
    if (!is_whole)
        message_note(m, "done_without_finish", "[DONE] came before every choice had finished");
    message_finish(m, is_whole ? WEIR_OUTCOME_MESSAGE : WEIR_OUTCOME_INCOMPLETE);
}

static void take_end(struct weir_message *m)
{
    bool is_whole = is_all_finished(m);
    close_choices(m);
    if (is_whole)
        message_note(m, "no_done", "the input ended after the finish reason, without [DONE]");
    message_finish(m, is_whole ? WEIR_OUTCOME_MESSAGE : WEIR_OUTCOME_INCOMPLETE);
}

/* The error inside a chunk: under "error", or the chunk itself says it is one. */
static const struct weir_json *error_in(const struct weir_sse_event *event,
                                        const struct weir_json *data)
{
    const struct weir_json *error = weir_json_get_str(data, "error");
    const struct weir_json *object = weir_json_get_str(data, "object");
    if (is_present(error)) return error;
    if (slice_eq(weir_json_text(object), SLICE("error"))) return data;
    return slice_eq(event->type, SLICE("error")) ? data : NULL;
}

static struct weir_slice trim(struct weir_slice s)
{
    while (s.len > 0 && (s.ptr[0] == ' ' || s.ptr[0] == '\t')) s = slice_from(s, 1);
    while (s.len > 0 && (s.ptr[s.len - 1] == ' ' || s.ptr[s.len - 1] == '\t')) s.len--;
    return s;
}

static void take_event(struct weir_message *m, const struct weir_sse_event *event,
                       const struct weir_json *data)
{
    const struct weir_json *error = data ? error_in(event, data) : NULL;
    if (slice_eq(trim(event->data), SLICE("[DONE]"))) {
        take_done(m);
    } else if (error) {
        close_choices(m);
        message_sender_failed(m, WEIR_STREAM_ERROR, error, data);
    } else if (weir_json_type(data) == WEIR_JSON_OBJECT) {
        take_chunk(m, data);
    } else if (event->data.len == 0) {
        message_note(m, "ignored_event", "an event without data was passed over");
    } else {
        close_choices(m);
        message_sender_failed(m, WEIR_BAD_EVENT, NULL, NULL);
    }
}

const struct dialect openai_dialect = {
    .take_event = take_event,
    .take_end = take_end,
    .n_inputs = n_inputs,
    .input_at = input_at,
};
