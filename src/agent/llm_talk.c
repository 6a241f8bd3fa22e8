/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A conversation with a model. What a model answers is foreign JSON: only blocks of known kinds are
 * looked at or said again, and an answer that is too long counts as one that cannot be read.
 */
#include <stdio.h>

#include "agent/llm_impl.h"
#include "base/check.h"
#include "base/slice.h"

enum {
    SYSTEM_BYTES = 64 << 10,
    DOC_BYTES = 16 << 20, /* of all answers of a conversation, as values */
};

void talk_begin(struct talk *t, struct agent_case *c, enum model_role role, const char *prompt,
                const struct prompt_value *values, size_t n)
{
    const struct prompt *p = prompt_find(prompt);
    struct weir_buf text;
    *t = (struct talk){.c = c, .request = {.role = role, .purpose = p->name}};
    weir_buf_init(&t->system, SYSTEM_BYTES);
    weir_buf_init(&t->messages, LLM_MESSAGES_BYTES);
    weir_buf_init(&text, LLM_MESSAGES_BYTES);
    prompt_put_system(&t->system, p);
    prompt_put_user(&text, p, values, n);
    weir_json_put_begin_array(&t->messages);
    talk_say(t, "user", weir_buf_slice(&text));
    if (weir_buf_status(&text) != WEIR_OK) t->messages.status = text.status;
    weir_buf_fini(&text);
}

void talk_end(struct talk *t)
{
    weir_buf_fini(&t->system);
    weir_buf_fini(&t->messages);
    weir_json_doc_free(t->doc);
}

/* ---- asking ---- */

static enum weir_status read_content(struct talk *t, const struct model_answer *answer)
{
    t->stop = answer->stop;
    t->content = NULL;
    if (!t->doc) t->doc = weir_json_doc_new(DOC_BYTES);
    if (!t->doc) return WEIR_NOMEM;
    if (answer->content.len > LLM_CONTENT_BYTES) return WEIR_OK;
    enum weir_status st = weir_json_parse(t->doc, answer->content, &t->content, NULL);
    if (weir_json_type_of(t->content) != WEIR_JSON_ARRAY) t->content = NULL;
    return st == WEIR_NOMEM || st == WEIR_LIMIT ? st : WEIR_OK;
}

enum weir_status talk_ask(struct talk *t, const char *agent)
{
    const struct model_answer *answer = NULL;
    struct agent_case *c = t->c;
    enum weir_status st = weir_buf_status(&t->system);
    size_t len = t->messages.len;
    weir_json_put_end_array(&t->messages);
    if (st == WEIR_OK) st = weir_buf_status(&t->messages);
    if (st != WEIR_OK) return st;
    t->request.system = weir_buf_slice(&t->system);
    t->request.messages = weir_buf_slice(&t->messages);
    CHECK(c->ask);
    st = c->ask(c->user, &t->request, agent, &answer);
    t->messages.len = len; /* the list goes on */
    if (st != WEIR_OK) return st;
    c->cost_usd += answer->cost_usd;
    if (answer->status == WEIR_OK) return read_content(t, answer);
    snprintf(c->why, sizeof c->why, "%s", answer->why ? answer->why : "");
    /* An answer without an end is no limit of ours that anybody could raise. */
    return answer->status == WEIR_LIMIT ? WEIR_UPSTREAM : answer->status;
}

/* ---- the answer ---- */

static bool is_block(const struct weir_json *block, const char *type)
{
    return weir_slice_is(agent_text(block, "type"), type);
}

/* A call that can be answered: it has an id, a name and an object. */
static bool is_call(const struct weir_json *block)
{
    const struct weir_json *id = weir_json_get_str(block, "id");
    return is_block(block, "tool_use") && weir_json_type_of(id) == WEIR_JSON_STRING &&
           weir_json_text(id).len > 0 && agent_text(block, "name").len > 0 &&
           weir_json_type_of(weir_json_get_str(block, "input")) == WEIR_JSON_OBJECT;
}

void talk_put_text(const struct talk *t, struct weir_buf *out)
{
    for (const struct weir_json *b = weir_json_first(t->content); b; b = weir_json_next(b))
        if (is_block(b, "text")) weir_buf_append_slice(out, agent_text(b, "text"));
}

const struct weir_json *talk_next_call(const struct talk *t, const struct weir_json *last)
{
    const struct weir_json *b = last ? weir_json_next(last) : weir_json_first(t->content);
    while (b && !is_call(b)) b = weir_json_next(b);
    return b;
}

/* ---- saying ---- */

static void open_message(struct talk *t, const char *role)
{
    weir_json_put_begin_object(&t->messages);
    weir_json_put_key(&t->messages, "role");
    weir_json_put_str(&t->messages, role);
    weir_json_put_key(&t->messages, "content");
    weir_json_put_begin_array(&t->messages);
}

static void close_message(struct talk *t)
{
    weir_json_put_end_array(&t->messages);
    weir_json_put_end_object(&t->messages);
}

static void put_text_block(struct talk *t, struct weir_slice text)
{
    weir_json_put_begin_object(&t->messages);
    weir_json_put_key(&t->messages, "type");
    weir_json_put_str(&t->messages, "text");
    weir_json_put_key(&t->messages, "text");
    weir_json_put_string(&t->messages, text);
    weir_json_put_end_object(&t->messages);
}

void talk_say(struct talk *t, const char *role, struct weir_slice text)
{
    open_message(t, role);
    put_text_block(t, text);
    close_message(t);
}

void talk_keep_answer(struct talk *t)
{
    size_t n = 0;
    open_message(t, "assistant");
    for (const struct weir_json *b = weir_json_first(t->content); b; b = weir_json_next(b)) {
        bool is_text = is_block(b, "text") && agent_text(b, "text").len > 0;
        if (!is_text && !is_block(b, "thinking") && !is_call(b)) continue;
        weir_json_put_value(&t->messages, b);
        n++;
    }
    if (n == 0) put_text_block(t, SLICE("(no answer)")); /* no provider takes an empty message */
    close_message(t);
}

/* ---- tools ---- */

static void put_result(struct talk *t, struct weir_slice id, struct weir_slice text, bool is_error)
{
    struct weir_buf *out = &t->messages;
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "type");
    weir_json_put_str(out, "tool_result");
    weir_json_put_key(out, "tool_use_id");
    weir_json_put_string(out, id);
    weir_json_put_key(out, "content");
    weir_json_put_string(out, text);
    if (is_error) {
        weir_json_put_key(out, "is_error");
        weir_json_put_bool(out, true);
    }
    weir_json_put_end_object(out);
}

/* Results are data as well: names of metrics and devices in them are not ours. */
static enum weir_status answer_call(struct talk *t, const struct weir_json *call,
                                    const struct talk_tools *tools, bool *is_error)
{
    struct weir_buf text, block;
    enum weir_status st = WEIR_OK;
    weir_buf_init(&text, LLM_MESSAGES_BYTES);
    weir_buf_init(&block, LLM_MESSAGES_BYTES);
    *is_error = false;
    if (tools) st = tools->run(tools->user, call, &text, is_error);
    else
        weir_buf_append_str(&text, "refused: too many calls at once; ask again for what is needed");
    block_put(&block, "result", weir_buf_slice(&text));
    if (st == WEIR_OK) st = weir_buf_status(&text);
    if (st == WEIR_OK) st = weir_buf_status(&block);
    if (st == WEIR_OK)
        put_result(t, agent_text(call, "id"), weir_buf_slice(&block), *is_error || !tools);
    weir_buf_fini(&block);
    weir_buf_fini(&text);
    return st;
}

enum weir_status talk_run_calls(struct talk *t, const struct talk_tools *tools, bool *is_wrong)
{
    const struct weir_json *call = NULL;
    enum weir_status st = WEIR_OK;
    *is_wrong = true;
    talk_keep_answer(t);
    open_message(t, "user");
    for (size_t i = 0; st == WEIR_OK && (call = talk_next_call(t, call)); i++) {
        bool is_error, is_late = i >= tools->most;
        st = answer_call(t, call, is_late ? NULL : tools, &is_error);
        if (!is_late && !is_error) *is_wrong = false;
    }
    close_message(t);
    return st;
}
