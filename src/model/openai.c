/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chat Completions of OpenAI, and of llama.cpp, vLLM, Ollama and others after it. Only what all of
 * them take is sent unless the configuration asks for more. Content is sent as plain strings, for
 * not every template of a local model knows parts.
 *
 * An object that was given as text comes back as the tool "answer" of the one form; when such a
 * call is part of a conversation that goes on, it is text again.
 */
#include "base/slice.h"
#include "model/model_impl.h"

static bool type_is(const struct weir_json *block, const char *type)
{
    return weir_slice_is(weir_json_text(weir_json_get_str(block, "type")), type);
}

static bool is_by_tool(const struct model_body *b)
{
    return b->player->provider->json == MODEL_JSON_TOOL;
}

/* ---- messages ---- */

static void begin_message(struct weir_buf *out, const char *role)
{
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "role");
    weir_json_put_str(out, role);
}

static void put_content(struct weir_buf *out, const char *role, struct weir_slice text)
{
    begin_message(out, role);
    weir_json_put_key(out, "content");
    weir_json_put_string(out, text);
    weir_json_put_end_object(out);
}

static void put_system(struct weir_buf *out, const struct model_body *b)
{
    struct weir_buf text;
    weir_buf_init(&text, 2 * MODEL_REQUEST_BYTES);
    weir_buf_append_slice(&text, b->request->system);
    size_t len = text.len;
    if (len > 0) weir_buf_append_str(&text, "\n\n");
    size_t begin = text.len;
    model_body_put_advice(&text, b);
    if (text.len == begin) text.len = len;
    if (text.len > 0) put_content(out, "system", weir_buf_slice(&text));
    if (text.status != WEIR_OK && out->status == WEIR_OK) out->status = text.status;
    weir_buf_fini(&text);
}

/* Whether it is an object that was text on the wire. */
static bool is_text_answer(const struct model_body *b, const struct weir_json *block)
{
    return !is_by_tool(b) && type_is(block, "tool_use") &&
           weir_slice_is(weir_json_text(weir_json_get_str(block, "name")), model_answer_tool);
}

static bool is_call(const struct model_body *b, const struct weir_json *block)
{
    return type_is(block, "tool_use") && !is_text_answer(b, block);
}

/* JSON inside a string, as arguments are given. */
static void put_as_string(struct weir_buf *out, const struct weir_json *value)
{
    struct weir_buf text;
    weir_buf_init(&text, 2 * MODEL_REQUEST_BYTES);
    if (value) weir_json_put_value(&text, value);
    else weir_buf_append_str(&text, "{}");
    weir_json_put_string(out, weir_buf_slice(&text));
    if (text.status != WEIR_OK && out->status == WEIR_OK) out->status = text.status;
    weir_buf_fini(&text);
}

/* What both a call and a tool are inside of. */
static void begin_function(struct weir_buf *out, struct weir_slice name)
{
    weir_json_put_key(out, "type");
    weir_json_put_str(out, "function");
    weir_json_put_key(out, "function");
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "name");
    weir_json_put_string(out, name);
}

static void put_call(struct weir_buf *out, const struct weir_json *block)
{
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "id");
    weir_json_put_value(out, weir_json_get_str(block, "id"));
    begin_function(out, weir_json_text(weir_json_get_str(block, "name")));
    weir_json_put_key(out, "arguments");
    put_as_string(out, weir_json_get_str(block, "input"));
    weir_json_put_end_object(out);
    weir_json_put_end_object(out);
}

static void put_calls(struct weir_buf *out, const struct model_body *b,
                      const struct weir_json *content)
{
    bool has_begun = false;
    for (const struct weir_json *x = weir_json_first(content); x; x = weir_json_next(x)) {
        if (!is_call(b, x)) continue;
        if (!has_begun) {
            weir_json_put_key(out, "tool_calls");
            weir_json_put_begin_array(out);
        }
        has_begun = true;
        put_call(out, x);
    }
    if (has_begun) weir_json_put_end_array(out);
}

static bool has_call(const struct model_body *b, const struct weir_json *content)
{
    for (const struct weir_json *x = weir_json_first(content); x; x = weir_json_next(x))
        if (is_call(b, x)) return true;
    return false;
}

static void put_assistant(struct weir_buf *out, const struct model_body *b,
                          const struct weir_json *content)
{
    struct weir_buf text;
    weir_buf_init(&text, 2 * MODEL_REQUEST_BYTES);
    model_body_put_texts(&text, content);
    for (const struct weir_json *x = weir_json_first(content); x; x = weir_json_next(x))
        if (is_text_answer(b, x)) {
            if (text.len > 0) weir_buf_append_str(&text, "\n\n");
            weir_json_put_value(&text, weir_json_get_str(x, "input"));
        }
    if (text.len > 0 || has_call(b, content)) {
        begin_message(out, "assistant");
        weir_json_put_key(out, "content");
        if (text.len > 0) weir_json_put_string(out, weir_buf_slice(&text));
        else weir_json_put_null(out);
        put_calls(out, b, content);
        weir_json_put_end_object(out);
    }
    if (text.status != WEIR_OK && out->status == WEIR_OK) out->status = text.status;
    weir_buf_fini(&text);
}

/* The call that a result is of, in the message before. */
static const struct weir_json *call_of(const struct weir_json *before, struct weir_slice id)
{
    const struct weir_json *x = weir_json_first(weir_json_get_str(before, "content"));
    for (; x; x = weir_json_next(x))
        if (type_is(x, "tool_use") && slice_eq(weir_json_text(weir_json_get_str(x, "id")), id))
            return x;
    return NULL;
}

static void put_result_text(struct weir_buf *text, const struct weir_json *result)
{
    if (weir_json_type_of(weir_json_get_str(result, "is_error")) == WEIR_JSON_TRUE)
        weir_buf_append_str(text, "Error: ");
    model_body_put_texts(text, weir_json_get_str(result, "content"));
}

static void put_result(struct weir_buf *out, const struct weir_json *result)
{
    struct weir_buf text;
    weir_buf_init(&text, 2 * MODEL_REQUEST_BYTES);
    put_result_text(&text, result);
    begin_message(out, "tool");
    weir_json_put_key(out, "tool_call_id");
    weir_json_put_value(out, weir_json_get_str(result, "tool_use_id"));
    weir_json_put_key(out, "content");
    weir_json_put_string(out, weir_buf_slice(&text));
    weir_json_put_end_object(out);
    if (text.status != WEIR_OK && out->status == WEIR_OK) out->status = text.status;
    weir_buf_fini(&text);
}

/* Results first, for they follow the calls that they are of; the rest is one message. */
static void put_user(struct weir_buf *out, const struct model_body *b,
                     const struct weir_json *content, const struct weir_json *before)
{
    struct weir_buf text;
    weir_buf_init(&text, 2 * MODEL_REQUEST_BYTES);
    for (const struct weir_json *x = weir_json_first(content); x; x = weir_json_next(x)) {
        if (!type_is(x, "tool_result")) continue;
        struct weir_slice id = weir_json_text(weir_json_get_str(x, "tool_use_id"));
        if (!is_text_answer(b, call_of(before, id))) {
            put_result(out, x);
            continue;
        }
        put_result_text(&text, x);
        weir_buf_append_str(&text, "\n\n");
    }
    model_body_put_texts(&text, content);
    if (text.len > 0) put_content(out, "user", weir_buf_slice(&text));
    if (text.status != WEIR_OK && out->status == WEIR_OK) out->status = text.status;
    weir_buf_fini(&text);
}

static void put_messages(struct weir_buf *out, const struct model_body *b)
{
    const struct weir_json *before = NULL;
    weir_json_put_key(out, "messages");
    weir_json_put_begin_array(out);
    put_system(out, b);
    for (const struct weir_json *x = weir_json_first(b->messages); x; x = weir_json_next(x)) {
        const struct weir_json *content = weir_json_get_str(x, "content");
        bool is_user = weir_slice_is(weir_json_text(weir_json_get_str(x, "role")), "user");
        if (is_user) put_user(out, b, content, before);
        else put_assistant(out, b, content);
        before = x;
    }
    weir_json_put_end_array(out);
}

/* ---- tools and objects ---- */

static void put_function(struct weir_buf *out, struct weir_slice name, struct weir_slice about,
                         const struct weir_json *schema)
{
    weir_json_put_begin_object(out);
    begin_function(out, name);
    weir_json_put_key(out, "description");
    weir_json_put_string(out, about);
    weir_json_put_key(out, "parameters");
    weir_json_put_value(out, schema);
    weir_json_put_end_object(out);
    weir_json_put_end_object(out);
}

static void put_choice(struct weir_buf *out, const struct model_body *b)
{
    bool wants_answer = b->schema && is_by_tool(b);
    const char *name = b->request->must_use;
    if (!name && wants_answer && !b->tools) name = model_answer_tool;
    if ((!name && !wants_answer) || !model_body_is_forced(b)) return;
    weir_json_put_key(out, "tool_choice");
    if (!name) {
        weir_json_put_str(out, "required");
        return;
    }
    weir_json_put_begin_object(out);
    begin_function(out, weir_slice_of(name));
    weir_json_put_end_object(out);
    weir_json_put_end_object(out);
}

static void put_tools(struct weir_buf *out, const struct model_body *b)
{
    bool wants_answer = b->schema && is_by_tool(b);
    if (!b->tools && !wants_answer) return;
    weir_json_put_key(out, "tools");
    weir_json_put_begin_array(out);
    for (const struct weir_json *x = weir_json_first(b->tools); x; x = weir_json_next(x))
        put_function(out, weir_json_text(weir_json_get_str(x, "name")),
                     weir_json_text(weir_json_get_str(x, "description")),
                     weir_json_get_str(x, "input_schema"));
    if (wants_answer)
        put_function(out, weir_slice_of(model_answer_tool), SLICE("Gives the answer."), b->schema);
    weir_json_put_end_array(out);
    put_choice(out, b);
}

static void put_format(struct weir_buf *out, const struct model_body *b)
{
    enum model_json json = b->player->provider->json;
    if (!b->schema || (json != MODEL_JSON_SCHEMA && json != MODEL_JSON_OBJECT)) return;
    weir_json_put_key(out, "response_format");
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "type");
    weir_json_put_str(out, json == MODEL_JSON_SCHEMA ? "json_schema" : "json_object");
    if (json == MODEL_JSON_SCHEMA) {
        weir_json_put_key(out, "json_schema");
        weir_json_put_begin_object(out);
        weir_json_put_key(out, "name");
        weir_json_put_str(out, model_answer_tool);
        weir_json_put_key(out, "schema");
        weir_json_put_value(out, b->schema);
        weir_json_put_end_object(out);
    }
    weir_json_put_end_object(out);
}

/* OpenAI's newer models refuse the name that all the others know. */
static const char *tokens_name(const struct model_provider *p)
{
    bool is_openai = strstr(p->base_url, "//api.openai.com/") != NULL ||
                     strstr(p->base_url, ".openai.azure.com/") != NULL;
    return is_openai ? "max_completion_tokens" : "max_tokens";
}

void openai_body_put(struct weir_buf *out, const struct model_body *b)
{
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "model");
    weir_json_put_str(out, b->player->model);
    weir_json_put_key(out, tokens_name(b->player->provider));
    weir_json_put_uint(out, model_body_tokens(b));
    weir_json_put_key(out, "stream");
    weir_json_put_bool(out, true);
    weir_json_put_key(out, "stream_options");
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "include_usage");
    weir_json_put_bool(out, true);
    weir_json_put_end_object(out);
    put_tools(out, b);
    put_messages(out, b);
    put_format(out, b);
    if (b->player->effort) {
        weir_json_put_key(out, "reasoning_effort");
        weir_json_put_str(out, b->player->effort);
    }
    weir_json_put_end_object(out);
}

/* ---- answers ---- */

static enum model_stop stop_of(struct weir_slice reason)
{
    if (weir_slice_is(reason, "length")) return MODEL_STOP_LENGTH;
    if (weir_slice_is(reason, "content_filter")) return MODEL_STOP_REFUSED;
    if (weir_slice_is(reason, "tool_calls") || weir_slice_is(reason, "function_call"))
        return MODEL_STOP_TOOL;
    return MODEL_STOP_END;
}

/* Arguments are a string of JSON; nothing at all is an empty object, for tools that take none. */
static const struct weir_json *read_arguments(struct weir_json_doc *doc, const struct weir_json *v)
{
    const struct weir_json *input = NULL;
    struct weir_slice text = weir_json_text(v);
    if (weir_json_type_of(v) == WEIR_JSON_OBJECT) return v;
    if (text.len == 0) text = SLICE("{}");
    if (weir_json_parse(doc, text, &input, NULL) != WEIR_OK) return NULL;
    return weir_json_type_of(input) == WEIR_JSON_OBJECT ? input : NULL;
}

/* Some servers give no id; the place does, since it is only held against results. */
static void put_tool(struct model_content *c, const struct weir_json *call,
                     const struct weir_json *function, const struct weir_json *input)
{
    char made[32];
    struct weir_buf name = {.ptr = made, .cap = sizeof made, .max = sizeof made};
    struct weir_slice id = weir_json_text(weir_json_get_str(call, "id"));
    if (id.len == 0) {
        weir_buf_append_str(&name, "call_");
        weir_buf_append_u64(&name, c->n_tools);
        id = weir_buf_slice(&name);
    }
    model_content_tool(c, id, weir_json_text(weir_json_get_str(function, "name")), input);
}

/* Of a stream only what it has ended counts: arguments that have not begun are no empty ones. */
static void put_tool_call(struct model_content *c, const struct weir_json *call,
                          const struct weir_message *m, size_t number)
{
    if (m && weir_message_input_state(m, number, NULL) != WEIR_INPUT_COMPLETE) {
        c->has_broken = true;
        return;
    }
    const struct weir_json *function = weir_json_get_str(call, "function");
    struct weir_json_doc *doc = weir_json_doc_new(0);
    const struct weir_json *input =
        doc ? read_arguments(doc, weir_json_get_str(function, "arguments")) : NULL;
    if (input) put_tool(c, call, function, input);
    else c->has_broken = true;
    weir_json_doc_free(doc);
}

static void put_text(struct model_content *c, const struct weir_json *v)
{
    model_content_text(c, weir_json_text(v));
    for (const struct weir_json *x = weir_json_first(v); x; x = weir_json_next(x))
        model_content_text(c, weir_json_text(weir_json_get_str(x, "text")));
}

static void put_usage(struct model_content *c, const struct weir_json *usage)
{
    uint64_t all = 0, cached = 0;
    const struct weir_json *details = weir_json_get_str(usage, "prompt_tokens_details");
    model_count(&all, weir_json_get_str(usage, "prompt_tokens"));
    model_count(&cached, weir_json_get_str(details, "cached_tokens"));
    model_count(&c->usage.output_tokens, weir_json_get_str(usage, "completion_tokens"));
    if (cached > all) cached = all;
    c->usage.input_tokens = all - cached;
    c->usage.cache_read_tokens = cached;
}

static void put_said(struct model_content *c, const struct weir_json *said,
                     const struct weir_message *m)
{
    size_t number = 0;
    struct weir_slice thoughts = weir_json_text(weir_json_get_str(said, "reasoning_content"));
    if (thoughts.len == 0) thoughts = weir_json_text(weir_json_get_str(said, "reasoning"));
    model_content_thinking(c, thoughts, SLICE(""));
    put_text(c, weir_json_get_str(said, "content"));
    model_content_text(c, weir_json_text(weir_json_get_str(said, "refusal")));
    const struct weir_json *calls = weir_json_get_str(said, "tool_calls");
    for (const struct weir_json *x = weir_json_first(calls); x; x = weir_json_next(x))
        put_tool_call(c, x, m, number++);
}

bool openai_content_put(struct model_content *c, const struct weir_json *message,
                        const struct weir_message *m)
{
    const struct weir_json *choices = weir_json_get_str(message, "choices");
    const struct weir_json *choice = weir_json_first(choices);
    const struct weir_json *said = weir_json_get_str(choice, "message");
    if (weir_json_type_of(choices) != WEIR_JSON_ARRAY) return false;
    put_usage(c, weir_json_get_str(message, "usage"));
    if (weir_json_type_of(said) != WEIR_JSON_OBJECT) return false;
    put_said(c, said, m);
    c->stop = stop_of(weir_json_text(weir_json_get_str(choice, "finish_reason")));
    if (weir_json_text(weir_json_get_str(said, "refusal")).len > 0) c->stop = MODEL_STOP_REFUSED;
    return true;
}
