/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests in the form of a provider: what both dialects share. Nothing here reads a clock or
 * guesses: the same request makes the same bytes, so that a provider's cache finds them again.
 */
#include "base/slice.h"
#include "model/model_impl.h"

enum { VALUE_BYTES = 64 << 20 }; /* of a request's JSON as values */

static bool read_value(struct weir_json_doc *doc, struct weir_slice text, enum weir_json_type type,
                       const struct weir_json **out, enum weir_status *st)
{
    *out = NULL;
    if (text.len == 0) return true;
    *st = weir_json_parse(doc, text, out, NULL);
    if (*st == WEIR_OK && weir_json_type_of(*out) != type) *st = WEIR_BAD_FIELD;
    if (*st != WEIR_OK && *st != WEIR_NOMEM && *st != WEIR_LIMIT) *st = WEIR_BAD_FIELD;
    return *st == WEIR_OK;
}

static bool is_message(const struct weir_json *v)
{
    struct weir_slice role = weir_json_text(weir_json_get_str(v, "role"));
    enum weir_json_type type = weir_json_type_of(weir_json_get_str(v, "content"));
    return (weir_slice_is(role, "user") || weir_slice_is(role, "assistant")) &&
           (type == WEIR_JSON_STRING || type == WEIR_JSON_ARRAY);
}

static bool is_tool(const struct weir_json *v)
{
    return weir_json_text(weir_json_get_str(v, "name")).len > 0 &&
           weir_json_type_of(weir_json_get_str(v, "input_schema")) == WEIR_JSON_OBJECT;
}

static bool is_each(const struct weir_json *list, bool (*is)(const struct weir_json *))
{
    for (const struct weir_json *x = weir_json_first(list); x; x = weir_json_next(x))
        if (!is(x)) return false;
    return true;
}

static enum weir_status read_values(struct model_body *b)
{
    const struct model_request *r = b->request;
    enum weir_status st = WEIR_OK;
    if (!read_value(b->doc, r->messages, WEIR_JSON_ARRAY, &b->messages, &st) ||
        !read_value(b->doc, r->tools, WEIR_JSON_ARRAY, &b->tools, &st) ||
        !read_value(b->doc, r->schema, WEIR_JSON_OBJECT, &b->schema, &st))
        return st;
    if (weir_json_count(b->tools) == 0) b->tools = NULL;
    bool is_good = weir_json_count(b->messages) > 0 && is_each(b->messages, is_message) &&
                   is_each(b->tools, is_tool);
    return is_good ? WEIR_OK : WEIR_BAD_FIELD;
}

enum weir_status model_body_put(struct weir_buf *out, const struct model_request *request,
                                const struct model_player *player, bool keeps_thinking)
{
    struct model_body b = {
        .request = request,
        .player = player,
        .keeps_thinking = keeps_thinking,
        .doc = weir_json_doc_new(VALUE_BYTES),
    };
    if (!b.doc) return WEIR_NOMEM;
    enum weir_status st = read_values(&b);
    if (st == WEIR_OK) {
        if (player->provider->type == MODEL_ANTHROPIC) anthropic_body_put(out, &b);
        else openai_body_put(out, &b);
        st = weir_buf_status(out);
    }
    weir_json_doc_free(b.doc);
    return st;
}

const char *model_path_of(const struct model_provider *provider)
{
    if (provider->type == MODEL_OPENAI) return "/chat/completions";
    struct weir_slice url = weir_slice_of(provider->base_url);
    return slice_ends_with_nocase(url, "/v1") ? "/messages" : "/v1/messages";
}

unsigned model_body_tokens(const struct model_body *b)
{
    const struct model_player *p = b->player;
    unsigned n = b->request->max_tokens > 0 ? b->request->max_tokens : MODEL_MAX_TOKENS;
    if (p->max_tokens > 0 && n > p->max_tokens) n = p->max_tokens;
    if (p->thinking_tokens > 0) return n + p->thinking_tokens;
    return p->thinks || p->is_adaptive ? n + MODEL_THINKING_TOKENS : n;
}

bool model_body_is_forced(const struct model_body *b)
{
    const struct model_player *p = b->player;
    return p->is_forcible && p->thinking_tokens == 0 && !p->is_adaptive;
}

/* Whether the object is asked for by a tool. */
static bool is_by_tool(const struct model_body *b)
{
    const struct model_provider *p = b->player->provider;
    return p->type == MODEL_ANTHROPIC || p->json == MODEL_JSON_TOOL;
}

static void put_tool_advice(struct weir_buf *out, const struct model_body *b)
{
    const char *name = b->request->must_use ? b->request->must_use : model_answer_tool;
    if (!b->request->must_use && b->tools) {
        weir_buf_printf(out, "When you have what you need, answer by calling the tool \"%s\".",
                        name);
        return;
    }
    weir_buf_printf(out, "Answer by calling the tool \"%s\" once, and write no other text.", name);
}

void model_body_put_advice(struct weir_buf *out, const struct model_body *b)
{
    bool wants_tool = b->request->must_use || (b->schema && is_by_tool(b));
    if (wants_tool && !model_body_is_forced(b)) put_tool_advice(out, b);
    if (!b->schema || is_by_tool(b) || b->player->provider->json == MODEL_JSON_SCHEMA) return;
    weir_buf_append_str(out, "Answer with one JSON object that fits this JSON Schema, and write "
                             "nothing before or after it:\n");
    weir_json_put_value(out, b->schema);
}

void model_body_put_texts(struct weir_buf *out, const struct weir_json *content)
{
    size_t begin = out->len;
    weir_buf_append_slice(out, weir_json_text(content));
    for (const struct weir_json *x = weir_json_first(content); x; x = weir_json_next(x)) {
        if (!weir_slice_is(weir_json_text(weir_json_get_str(x, "type")), "text")) continue;
        if (out->len > begin) weir_buf_append_str(out, "\n\n");
        weir_buf_append_slice(out, weir_json_text(weir_json_get_str(x, "text")));
    }
}
