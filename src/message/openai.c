/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The OpenAI Chat Completions dialect, as OpenAI, llama.cpp, vLLM and Ollama
 * emit it, and the many that speak after them.
 *
 * The chunks add up to what the same request would have given without
 * streaming: an object "chat.completion" with choices, each with a message and
 * a finish reason. Text is appended and lists are extended. Of members that are
 * not known, a chunk's and a message's stay as they first came, but objects of a
 * chunk and all of a choice as they last came: there servers put their counters
 * and verdicts.
 *
 * Tool calls are in openai_call.c.
 */
#include "base/slice.h"
#include "message/openai_impl.h"

static const char *const text_names[N_TEXTS] = {
    [TEXT_CONTENT] = "content",
    [TEXT_REFUSAL] = "refusal",
    [TEXT_REASONING] = "reasoning",
    [TEXT_REASONING_CONTENT] = "reasoning_content",
};

static size_t number_of(const struct weir_message *m, const struct openai_choice *c)
{
    return (size_t)(c - openai_choices(m));
}

static bool key_is(const struct weir_json *member, const char *key)
{
    return weir_slice_is(weir_json_key(member), key);
}

/* Some servers begin with "" and 0 where they do not know yet. */
static bool says_something(const struct weir_json *v)
{
    int64_t n;
    if (weir_json_type_of(v) == WEIR_JSON_STRING) return weir_json_text(v).len > 0;
    if (weir_json_int64(v, &n)) return n != 0;
    return weir_json_type_of(v) != WEIR_JSON_NULL;
}

/* ---- members that are not known ---- */

static bool is_growing_string(const struct weir_json *member)
{
    return key_is(member, "data") || key_is(member, "transcript") || key_is(member, "input");
}

void openai_join_object(struct weir_message *m, struct weir_json *old, const struct weir_json *more)
{
    const struct weir_json *x = weir_json_first(more);
    for (; x && message_is_open(m); x = weir_json_next(x)) {
        struct weir_json *known = weir_json_member(old, weir_json_key(x));
        bool is_string = weir_json_type_of(known) == WEIR_JSON_STRING &&
                         weir_json_type_of(x) == WEIR_JSON_STRING;
        if (known && is_string && is_growing_string(x))
            message_fail(m, weir_json_append(m->doc, known, weir_json_text(x)));
        else if (!says_something(known)) grow_set(m, old, weir_json_key(x), x);
    }
}

static void extend(struct weir_message *m, struct weir_json *list, const struct weir_json *more)
{
    for (; more && message_is_open(m); more = weir_json_next(more))
        message_fail(m, weir_json_push(m->doc, list, weir_json_copy(m->doc, more)));
}

/* What a list brings beyond one that it begins with; all of it when it begins otherwise. */
static const struct weir_json *beyond(const struct weir_json *list, const struct weir_json *known)
{
    const struct weir_json *all = first_of_list(list);
    const struct weir_json *x = all;
    const struct weir_json *y = first_of_list(known);
    for (; x && y && weir_json_equal(x, y); y = weir_json_next(y)) x = weir_json_next(x);
    return y ? all : x;
}

/* Members that differ from chunk to chunk without meaning anything by it. */
static bool may_differ(const struct weir_json *member)
{
    return key_is(member, "id") || key_is(member, "created") || key_is(member, "model") ||
           key_is(member, "system_fingerprint") || key_is(member, "role");
}

/* Lists are extended, objects are joined; of other values the first that says something stays. */
static void join_member(struct weir_message *m, struct weir_json *object,
                        const struct weir_json *member)
{
    struct weir_json *old = weir_json_member(object, weir_json_key(member));
    enum weir_json_type type = weir_json_type_of(member);
    if (!old || (!says_something(old) && says_something(member)))
        grow_set(m, object, weir_json_key(member), member);
    else if (!says_something(member)) return;
    else if (type == WEIR_JSON_ARRAY && weir_json_type_of(old) == type)
        extend(m, old, beyond(member, old));
    else if (type == WEIR_JSON_OBJECT && weir_json_type_of(old) == type)
        openai_join_object(m, old, member);
    else if (!may_differ(member) && !weir_json_equal(old, member))
        note_name(m, "member_not_joined", "a member came with two values; the first stays",
                  weir_json_key(member));
}

/* Lists are extended; of other values the last stays: counters, timings, a server's verdict. */
static void renew_member(struct weir_message *m, struct weir_json *object,
                         const struct weir_json *member)
{
    struct weir_json *old = weir_json_member(object, weir_json_key(member));
    if (first_of_list(member) && old && weir_json_type_of(old) == WEIR_JSON_ARRAY)
        extend(m, old, beyond(member, old));
    else grow_keep(m, object, member);
}

/* ---- the frame ---- */

bool openai_put(struct weir_message *m, struct weir_json *object, const char *key,
                struct weir_json *value)
{
    if (!message_is_open(m)) return false;
    enum weir_status st = weir_json_set(m->doc, object, weir_slice_of(key), value);
    message_fail(m, st);
    return st == WEIR_OK;
}

bool openai_put_text(struct weir_message *m, struct weir_json *object, const char *key,
                     const char *text)
{
    return openai_put(m, object, key, weir_json_new_string(m->doc, weir_slice_of(text)));
}

static bool make_value(struct weir_message *m)
{
    struct weir_json *value = weir_json_new(m->doc, WEIR_JSON_OBJECT);
    struct weir_json *choices = weir_json_new(m->doc, WEIR_JSON_ARRAY);
    if (!openai_put(m, value, "id", weir_json_new(m->doc, WEIR_JSON_NULL)) ||
        !openai_put_text(m, value, "object", "chat.completion") ||
        !openai_put(m, value, "choices", choices))
        return false;
    m->value = value;
    m->list = choices;
    return true;
}

static struct openai_choice *add_choice(struct weir_message *m, int64_t index)
{
    struct weir_json *node = weir_json_new(m->doc, WEIR_JSON_OBJECT);
    struct weir_json *message = weir_json_new(m->doc, WEIR_JSON_OBJECT);
    bool is_made = openai_put(m, node, "index", weir_json_new_int(m->doc, index)) &&
                   openai_put(m, node, "message", message) &&
                   openai_put_text(m, message, "role", "assistant") &&
                   openai_put(m, message, "content", weir_json_new(m->doc, WEIR_JSON_NULL)) &&
                   openai_put(m, node, "finish_reason", weir_json_new(m->doc, WEIR_JSON_NULL));
    struct openai_choice *c = is_made ? part_add(m, index, node, sizeof *c) : NULL;
    if (!c) return NULL;
    c->node = node;
    c->message = message;
    return c;
}

static struct openai_choice *choice_for(struct weir_message *m, const struct weir_json *choice)
{
    int64_t index = 0;
    size_t number;
    if (!weir_json_int64(weir_json_get_str(choice, "index"), &index) || index < 0) index = 0;
    return part_find(m, index, &number) ? &openai_choices(m)[number] : add_choice(m, index);
}

/* ---- text ---- */

static void tell_text(struct weir_message *m, struct openai_choice *c, enum text_kind kind,
                      struct weir_slice added)
{
    struct weir_slice all = weir_json_text(c->texts[kind].string);
    bool is_thought = kind == TEXT_REASONING || kind == TEXT_REASONING_CONTENT;
    if (!message_is_open(m)) return;
    if (kind == TEXT_CONTENT && m->on.on_text) m->on.on_text(m->user, number_of(m, c), added, all);
    if (is_thought && m->on.on_thinking) m->on.on_thinking(m->user, number_of(m, c), added, all);
}

static void grow_choice(struct weir_message *m, struct openai_choice *c, enum text_kind kind,
                        const struct weir_json *piece)
{
    struct text *t = &c->texts[kind];
    if (weir_json_type_of(piece) != WEIR_JSON_STRING || !message_is_open(m)) return;
    if (!t->string && !grow_begin(m, t, c->message, text_names[kind])) return;
    tell_text(m, c, kind, grow_text(m, t, weir_json_text(piece)));
}

/* A part of content: text, or a thought that holds parts of its own. */
static void take_part(struct weir_message *m, struct openai_choice *c, enum text_kind kind,
                      const struct weir_json *part)
{
    const struct weir_json *thought = weir_json_get_str(part, "thinking");
    const struct weir_json *text = weir_json_get_str(part, "text");
    if (!thought && !text)
        note_name(m, "unknown_part", "a part of content was passed over",
                  weir_json_text(weir_json_get_str(part, "type")));
    grow_choice(m, c, kind, text);
    grow_choice(m, c, TEXT_REASONING_CONTENT, thought);
    for (const struct weir_json *x = weir_json_first(thought); x; x = weir_json_next(x))
        grow_choice(m, c, TEXT_REASONING_CONTENT, weir_json_get_str(x, "text"));
}

/* Text comes as a string, from some servers as a list of parts. */
static void take_text(struct weir_message *m, struct openai_choice *c, enum text_kind kind,
                      const struct weir_json *v)
{
    grow_choice(m, c, kind, v);
    if (weir_json_type_of(v) != WEIR_JSON_ARRAY) return;
    for (const struct weir_json *part = weir_json_first(v); part; part = weir_json_next(part))
        take_part(m, c, kind, part);
}

/* ---- choices ---- */

static void take_delta_member(struct weir_message *m, struct openai_choice *c,
                              const struct weir_json *x)
{
    int kind = 0;
    while (kind < N_TEXTS && !key_is(x, text_names[kind])) kind++;
    if (kind < N_TEXTS) take_text(m, c, (enum text_kind)kind, x);
    else if (key_is(x, "tool_calls")) openai_take_calls(m, c, x);
    else if (key_is(x, "function_call")) openai_take_function_call(m, c, x);
    else join_member(m, c->message, x);
}

/* Log probabilities come for the tokens of each chunk and form lists. */
static void take_logprobs(struct weir_message *m, struct openai_choice *c,
                          const struct weir_json *logprobs)
{
    struct weir_json *kept = grow_container(m, c->node, "logprobs", WEIR_JSON_OBJECT);
    const struct weir_json *x = weir_json_first(logprobs);
    for (; x && kept && message_is_open(m); x = weir_json_next(x)) {
        struct weir_json *old = weir_json_member(kept, weir_json_key(x));
        if (old && weir_json_type_of(old) == WEIR_JSON_ARRAY) extend(m, old, first_of_list(x));
        else grow_keep(m, kept, x);
    }
}

static bool is_known_of_choice(const struct weir_json *x)
{
    return key_is(x, "index") || key_is(x, "delta") || key_is(x, "message") ||
           key_is(x, "logprobs") || key_is(x, "finish_reason");
}

/* is_ended: by the sender, and not by the end of its stream. */
static void close_choice(struct weir_message *m, struct openai_choice *c, bool is_ended)
{
    for (int kind = 0; kind < N_TEXTS; kind++) {
        struct weir_slice added = grow_text_end(m, &c->texts[kind]);
        if (added.len > 0) tell_text(m, c, (enum text_kind)kind, added);
    }
    openai_close_calls(m, c, is_ended);
}

/* A choice's delta; some gateways send the whole message in one chunk instead. */
static void take_delta(struct weir_message *m, struct openai_choice *c,
                       const struct weir_json *choice)
{
    const struct weir_json *delta = weir_json_get_str(choice, "delta");
    if (!delta) delta = weir_json_get_str(choice, "message");
    const struct weir_json *x = weir_json_first(delta);
    for (; x && message_is_open(m); x = weir_json_next(x)) {
        if (c->is_finished && says_something(x) && !key_is(x, "role"))
            note(m, "late_delta", "a choice grew after it had finished");
        take_delta_member(m, c, x);
    }
}

static void take_choice(struct weir_message *m, const struct weir_json *choice)
{
    struct openai_choice *c = choice_for(m, choice);
    const struct weir_json *reason = weir_json_get_str(choice, "finish_reason");
    const struct weir_json *logprobs = weir_json_get_str(choice, "logprobs");
    if (!c) return;
    take_delta(m, c, choice);
    const struct weir_json *x = weir_json_first(choice);
    for (; x && message_is_open(m); x = weir_json_next(x))
        if (!is_known_of_choice(x)) renew_member(m, c->node, x);
    if (weir_json_type_of(logprobs) == WEIR_JSON_OBJECT) take_logprobs(m, c, logprobs);
    /* An empty reason is how some servers say that there is none yet. */
    if (!is_text(reason) || !message_is_open(m)) return;
    grow_set(m, c->node, SLICE("finish_reason"), reason);
    c->is_finished = true;
    close_choice(m, c, true);
}

static bool is_known_of_chunk(const struct weir_json *x)
{
    return key_is(x, "choices") || key_is(x, "object") || key_is(x, "usage") ||
           key_is(x, "error") || key_is(x, "obfuscation");
}

static void take_chunk_member(struct weir_message *m, const struct weir_json *x)
{
    if (is_known_of_chunk(x)) return;
    if (weir_json_type_of(x) == WEIR_JSON_OBJECT) renew_member(m, m->value, x);
    else join_member(m, m->value, x);
}

static void take_chunk(struct weir_message *m, const struct weir_json *data)
{
    if (!m->value && !make_value(m)) return;
    const struct weir_json *x = weir_json_first(data);
    for (; x && message_is_open(m); x = weir_json_next(x)) take_chunk_member(m, x);
    const struct weir_json *choice = first_of_list(weir_json_get_str(data, "choices"));
    for (; choice && message_is_open(m); choice = weir_json_next(choice)) take_choice(m, choice);
    grow_usage(m, weir_json_get_str(data, "usage"));
}

/* ---- the end ---- */

static bool is_all_finished(const struct weir_message *m)
{
    for (size_t i = 0; i < m->parts.n; i++)
        if (!openai_choices(m)[i].is_finished) return false;
    return m->parts.n > 0;
}

/* Those that finished are closed already; the others broke off. */
static void close_choices(struct weir_message *m)
{
    for (size_t i = 0; i < m->parts.n; i++) close_choice(m, &openai_choices(m)[i], false);
}

static void take_done(struct weir_message *m)
{
    bool is_whole = is_all_finished(m);
    close_choices(m);
    if (!is_whole) note(m, "done_without_finish", "[DONE] came before every choice had finished");
    message_finish(m, is_whole ? WEIR_OUTCOME_MESSAGE : WEIR_OUTCOME_INCOMPLETE);
}

static void take_end(struct weir_message *m)
{
    bool is_whole = is_all_finished(m);
    close_choices(m);
    if (is_whole) note(m, "no_done", "the input ended after the finish reason, without [DONE]");
    message_finish(m, is_whole ? WEIR_OUTCOME_MESSAGE : WEIR_OUTCOME_INCOMPLETE);
}

/* ---- events ---- */

/* The error inside a chunk: under "error", or the chunk itself says it is one. */
static const struct weir_json *error_in(const struct weir_sse_event *event,
                                        const struct weir_json *data)
{
    const struct weir_json *error = weir_json_get_str(data, "error");
    const struct weir_json *object = weir_json_get_str(data, "object");
    if (weir_json_type_of(error) == WEIR_JSON_OBJECT || is_text(error)) return error;
    if (slice_eq(weir_json_text(object), SLICE("error"))) return data;
    return slice_eq(event->type, SLICE("error")) ? data : NULL;
}

static struct weir_slice trim(struct weir_slice s)
{
    while (s.len > 0 && (s.ptr[0] == ' ' || s.ptr[0] == '\t')) s = slice_from(s, 1);
    while (s.len > 0 && (s.ptr[s.len - 1] == ' ' || s.ptr[s.len - 1] == '\t')) s.len--;
    return s;
}

/* Data that are no JSON object. */
static void take_other_data(struct weir_message *m, const struct weir_sse_event *event)
{
    if (slice_eq(event->type, SLICE("error")))
        message_sender_failed(m, WEIR_STREAM_ERROR, NULL, event->data, NULL);
    else if (event->data.len == 0)
        note(m, "ignored_event", "an event without data was passed over");
    else message_bad_event(m, event->data);
}

static void take_event(struct weir_message *m, const struct weir_sse_event *event,
                       const struct weir_json *data)
{
    const struct weir_json *error = data ? error_in(event, data) : NULL;
    if (slice_eq(trim(event->data), SLICE("[DONE]"))) take_done(m);
    else if (error) message_sender_failed(m, WEIR_STREAM_ERROR, error, SLICE(""), data);
    else if (weir_json_type_of(data) == WEIR_JSON_OBJECT) take_chunk(m, data);
    else take_other_data(m, event);
}

/* llama.cpp, until 2025, sends an error as a field of that name instead of an event. */
static void take_field(struct weir_message *m, struct weir_slice name, struct weir_slice value)
{
    if (!slice_eq(name, SLICE("error"))) return;
    m->n_events++;
    const struct weir_json *data = message_read(m, value);
    const struct weir_json *error = weir_json_get_str(data, "error");
    message_sender_failed(m, WEIR_STREAM_ERROR, error ? error : data, value, data);
}

static size_t n_inputs(const struct weir_message *m)
{
    return m->calls.n;
}

static struct tool_input *input_at(const struct weir_message *m, size_t number)
{
    return &((struct openai_call *)m->calls.ptr)[number].input;
}

static const struct weir_json *block_at(const struct weir_message *m, size_t number)
{
    return ((struct openai_call *)m->calls.ptr)[number].node;
}

static const struct weir_json *choice_at(const struct weir_message *m, size_t number)
{
    return openai_choices(m)[number].node;
}

const struct dialect openai_dialect = {
    .take_event = take_event,
    .take_field = take_field,
    .take_end = take_end,
    .close = close_choices,
    .n_inputs = n_inputs,
    .input_at = input_at,
    .block_at = block_at,
    .choice_at = choice_at,
};
