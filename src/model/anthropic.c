/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Messages API of Anthropic. The one form is its own, so little is translated. The system text
 * ends the part of a request that is the same from call to call: it is marked to be cached, and
 * what differs (advice on tools) stands behind the mark.
 */
#include "base/slice.h"
#include "model/model_impl.h"

static bool type_is(const struct weir_json *block, const char *type)
{
    return weir_slice_is(weir_json_text(weir_json_get_str(block, "type")), type);
}

static void put_text_block(struct weir_buf *out, struct weir_slice text, bool is_cached)
{
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "type");
    weir_json_put_str(out, "text");
    weir_json_put_key(out, "text");
    weir_json_put_string(out, text);
    if (is_cached) {
        weir_json_put_key(out, "cache_control");
        weir_json_put_begin_object(out);
        weir_json_put_key(out, "type");
        weir_json_put_str(out, "ephemeral");
        weir_json_put_end_object(out);
    }
    weir_json_put_end_object(out);
}

static void put_system(struct weir_buf *out, const struct model_body *b)
{
    struct weir_buf advice;
    weir_buf_init(&advice, MODEL_REQUEST_BYTES);
    model_body_put_advice(&advice, b);
    if (b->request->system.len > 0 || advice.len > 0) {
        weir_json_put_key(out, "system");
        weir_json_put_begin_array(out);
        if (b->request->system.len > 0) put_text_block(out, b->request->system, true);
        if (advice.len > 0) put_text_block(out, weir_buf_slice(&advice), false);
        weir_json_put_end_array(out);
    }
    if (advice.status != WEIR_OK && out->status == WEIR_OK) out->status = advice.status;
    weir_buf_fini(&advice);
}

/* Thoughts without a signature are another's, and are refused. */
static bool is_kept(const struct model_body *b, const struct weir_json *block)
{
    if (type_is(block, "redacted_thinking")) return b->keeps_thinking;
    if (!type_is(block, "thinking")) return true;
    return b->keeps_thinking && weir_json_text(weir_json_get_str(block, "signature")).len > 0;
}

static bool has_kept(const struct model_body *b, const struct weir_json *content)
{
    if (weir_json_type_of(content) == WEIR_JSON_STRING) return true;
    for (const struct weir_json *x = weir_json_first(content); x; x = weir_json_next(x))
        if (is_kept(b, x)) return true;
    return false;
}

static void put_message(struct weir_buf *out, const struct model_body *b,
                        const struct weir_json *message)
{
    const struct weir_json *content = weir_json_get_str(message, "content");
    if (!has_kept(b, content)) return;
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "role");
    weir_json_put_value(out, weir_json_get_str(message, "role"));
    weir_json_put_key(out, "content");
    if (weir_json_type_of(content) == WEIR_JSON_STRING) {
        weir_json_put_value(out, content);
    } else {
        weir_json_put_begin_array(out);
        for (const struct weir_json *x = weir_json_first(content); x; x = weir_json_next(x))
            if (is_kept(b, x)) weir_json_put_value(out, x);
        weir_json_put_end_array(out);
    }
    weir_json_put_end_object(out);
}

static void put_answer_tool(struct weir_buf *out, const struct model_body *b)
{
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "name");
    weir_json_put_str(out, model_answer_tool);
    weir_json_put_key(out, "description");
    weir_json_put_str(out, "Gives the answer.");
    weir_json_put_key(out, "input_schema");
    weir_json_put_value(out, b->schema);
    weir_json_put_end_object(out);
}

static void put_choice(struct weir_buf *out, const struct model_body *b)
{
    const char *name = b->request->must_use;
    if (!name && b->schema && !b->tools) name = model_answer_tool;
    if ((!name && !b->schema) || !model_body_is_forced(b)) return;
    weir_json_put_key(out, "tool_choice");
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "type");
    weir_json_put_str(out, name ? "tool" : "any");
    if (name) {
        weir_json_put_key(out, "name");
        weir_json_put_str(out, name);
    }
    weir_json_put_end_object(out);
}

static void put_tools(struct weir_buf *out, const struct model_body *b)
{
    if (!b->tools && !b->schema) return;
    weir_json_put_key(out, "tools");
    weir_json_put_begin_array(out);
    for (const struct weir_json *x = weir_json_first(b->tools); x; x = weir_json_next(x))
        weir_json_put_value(out, x);
    if (b->schema) put_answer_tool(out, b);
    weir_json_put_end_array(out);
    put_choice(out, b);
}

static void put_thinking(struct weir_buf *out, const struct model_player *p)
{
    if (p->thinking_tokens > 0 || p->is_adaptive) {
        weir_json_put_key(out, "thinking");
        weir_json_put_begin_object(out);
        weir_json_put_key(out, "type");
        weir_json_put_str(out, p->is_adaptive ? "adaptive" : "enabled");
        if (!p->is_adaptive) {
            weir_json_put_key(out, "budget_tokens");
            weir_json_put_uint(out, p->thinking_tokens);
        }
        weir_json_put_end_object(out);
    }
    if (p->effort) {
        weir_json_put_key(out, "output_config");
        weir_json_put_begin_object(out);
        weir_json_put_key(out, "effort");
        weir_json_put_str(out, p->effort);
        weir_json_put_end_object(out);
    }
}

void anthropic_body_put(struct weir_buf *out, const struct model_body *b)
{
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "model");
    weir_json_put_str(out, b->player->model);
    weir_json_put_key(out, "max_tokens");
    weir_json_put_uint(out, model_body_tokens(b));
    weir_json_put_key(out, "stream");
    weir_json_put_bool(out, true);
    put_tools(out, b);
    put_system(out, b);
    weir_json_put_key(out, "messages");
    weir_json_put_begin_array(out);
    for (const struct weir_json *x = weir_json_first(b->messages); x; x = weir_json_next(x))
        put_message(out, b, x);
    weir_json_put_end_array(out);
    put_thinking(out, b->player);
    weir_json_put_end_object(out);
}

/* ---- answers ---- */

static enum model_stop stop_of(struct weir_slice reason)
{
    static const struct {
        const char *reason;
        enum model_stop stop;
    } rows[] = {
        {"tool_use", MODEL_STOP_TOOL},
        {"max_tokens", MODEL_STOP_LENGTH},
        {"model_context_window_exceeded", MODEL_STOP_LENGTH},
        {"refusal", MODEL_STOP_REFUSED},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (weir_slice_is(reason, rows[i].reason)) return rows[i].stop;
    return MODEL_STOP_END;
}

/* is_whole: of a tool's input. */
static void put_block(struct model_content *c, const struct weir_json *block, bool is_whole)
{
    if (type_is(block, "text")) {
        model_content_text(c, weir_json_text(weir_json_get_str(block, "text")));
    } else if (type_is(block, "thinking")) {
        model_content_thinking(c, weir_json_text(weir_json_get_str(block, "thinking")),
                               weir_json_text(weir_json_get_str(block, "signature")));
    } else if (type_is(block, "redacted_thinking")) {
        weir_json_put_value(c->out, block);
    } else if (type_is(block, "tool_use")) {
        const struct weir_json *input = weir_json_get_str(block, "input");
        if (is_whole && weir_json_type_of(input) == WEIR_JSON_OBJECT)
            model_content_tool(c, weir_json_text(weir_json_get_str(block, "id")),
                               weir_json_text(weir_json_get_str(block, "name")), input);
        else c->has_broken = true;
    }
}

static void put_streamed(struct model_content *c, const struct weir_message *m)
{
    const struct weir_json *block;
    for (size_t i = 0; (block = weir_message_block(m, i)); i++)
        put_block(c, block, weir_message_input_state(m, i, NULL) == WEIR_INPUT_COMPLETE);
}

bool anthropic_content_put(struct model_content *c, const struct weir_json *message,
                           const struct weir_message *m)
{
    const struct weir_json *blocks = weir_json_get_str(message, "content");
    const struct weir_json *usage = weir_json_get_str(message, "usage");
    if (weir_json_type_of(blocks) != WEIR_JSON_ARRAY || !type_is(message, "message")) return false;
    if (m) put_streamed(c, m);
    for (const struct weir_json *x = m ? NULL : weir_json_first(blocks); x; x = weir_json_next(x))
        put_block(c, x, true);
    c->stop = stop_of(weir_json_text(weir_json_get_str(message, "stop_reason")));
    model_count(&c->usage.input_tokens, weir_json_get_str(usage, "input_tokens"));
    model_count(&c->usage.output_tokens, weir_json_get_str(usage, "output_tokens"));
    model_count(&c->usage.cache_read_tokens, weir_json_get_str(usage, "cache_read_input_tokens"));
    model_count(&c->usage.cache_write_tokens,
                weir_json_get_str(usage, "cache_creation_input_tokens"));
    return true;
}
