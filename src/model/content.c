/* SPDX-License-Identifier: Apache-2.0 */
/* The blocks of an answer in the one form; what both dialects share. */
#include "base/slice.h"
#include "model/model_impl.h"

static void begin(struct model_content *c, const char *type)
{
    weir_json_put_begin_object(c->out);
    weir_json_put_key(c->out, "type");
    weir_json_put_str(c->out, type);
}

static void put_member(struct model_content *c, const char *key, struct weir_slice text)
{
    weir_json_put_key(c->out, key);
    weir_json_put_string(c->out, text);
}

static void tell(const struct model_content *c, enum model_delta kind, struct weir_slice text)
{
    const struct model_reply_options *o = c->tell;
    if (!o || !o->on_delta || (kind == MODEL_TEXT && o->wants_object) || text.len == 0) return;
    o->on_delta(o->user, kind, text);
}

void model_content_text(struct model_content *c, struct weir_slice text)
{
    if (text.len == 0) return;
    tell(c, MODEL_TEXT, text);
    weir_buf_append_slice(&c->texts, text);
    begin(c, "text");
    put_member(c, "text", text);
    weir_json_put_end_object(c->out);
}

void model_content_thinking(struct model_content *c, struct weir_slice text,
                            struct weir_slice signature)
{
    if (text.len == 0 && signature.len == 0) return;
    tell(c, MODEL_THINKING, text);
    begin(c, "thinking");
    put_member(c, "thinking", text);
    if (signature.len > 0) put_member(c, "signature", signature);
    weir_json_put_end_object(c->out);
}

void model_content_tool(struct model_content *c, struct weir_slice id, struct weir_slice name,
                        const struct weir_json *input)
{
    begin(c, "tool_use");
    put_member(c, "id", id);
    put_member(c, "name", name);
    weir_json_put_key(c->out, "input");
    weir_json_put_value(c->out, input);
    weir_json_put_end_object(c->out);
    c->n_tools++;
    if (weir_slice_is(name, model_answer_tool)) c->has_answer = true;
}

void model_count(uint64_t *out, const struct weir_json *n)
{
    int64_t count = 0;
    if (weir_json_int64(n, &count) && count >= 0) *out = (uint64_t)count;
}
