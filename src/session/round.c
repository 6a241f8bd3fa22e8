/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rounds of a turn with a model: what was said ─▶ the model's answer ─▶ the tools it wants ─▶
 * their results ─▶ … until an answer wants none, and nothing was said meanwhile.
 *
 * An answer that a crash has cut is what was shown of it; the model is asked to go on from there,
 * and so it is when its own limit has cut it. What is no answer (a refusal, nothing at all, one
 * that never ends) fails the turn: people are not shown a part as the whole. To the model a result
 * is material: it stands in a block that nothing in it can end.
 */
#include <stdio.h>

#include "agent/llm_prompt.h"
#include "base/slice.h"
#include "session/turn_impl.h"
#include "shield/restore.h"

enum {
    TOOLS_BYTES = 256 << 10,
    RESULT_BYTES = 64 << 10, /* of a tool, as a model is told */
};

static const char go_on[] =
    "Your answer was interrupted. Go on exactly where it stopped: repeat nothing of it, and say "
    "nothing about the interruption.";
static const char again[] = "Your answer was cut off, for it was too long, and the tools that it "
                            "wanted were not used. Want "
                            "them again with less at once.";
static const char enough[] = "No tool can be used any more. Answer now from what there is.";

/* An answer, as it is recorded and with its values. */
struct said {
    const struct call_found *found;
    const struct model_answer *answer;
};

/* ---- asking ---- */

static enum weir_status ask(struct turn_pass *p, struct said *out)
{
    struct attempt *a = p->attempt;
    struct values_asker who = {p->step, &a->asker, p->arena};
    struct weir_buf messages, tools;
    weir_buf_init(&messages, MODEL_REQUEST_BYTES);
    weir_buf_init(&tools, TOOLS_BYTES);
    weir_buf_append_slice(&messages, weir_buf_slice(&p->messages));
    weir_json_put_end_array(&messages);
    if (p->n_tool_rounds < TURN_TOOL_ROUNDS) session_tools_put(p->sessions, &tools);
    enum weir_status st = weir_buf_status(&messages);
    if (st == WEIR_OK) st = weir_buf_status(&tools);
    struct model_request request = {.role = MODEL_MAIN,
                                    .purpose = "session",
                                    .system = weir_buf_slice(&a->context.system),
                                    .messages = weir_buf_slice(&messages),
                                    .tools = weir_buf_slice(&tools)};
    if (p->round >= a->n_asked) a->n_asked = p->round + 1;
    if (st == WEIR_OK)
        st = call_values_ask(&a->values, &who, &request, "session", &out->found, &out->answer);
    weir_buf_fini(&messages);
    weir_buf_fini(&tools);
    return st;
}

static enum weir_status fail_by_model(struct turn_pass *p, const struct model_answer *answer)
{
    if (answer->status == WEIR_FORBIDDEN)
        return asker_refuse(&p->attempt->asker, WEIR_UNPROCESSABLE,
                            "something private was left in what a model would have been asked");
    snprintf(p->attempt->why, sizeof p->attempt->why, "%s",
             answer->why && answer->why[0] ? answer->why : weir_status_text(answer->status));
    return WEIR_UPSTREAM;
}

static enum weir_status fail_by_stop(struct turn_pass *p, const char *why)
{
    snprintf(p->attempt->why, sizeof p->attempt->why, "%s", why);
    return WEIR_UPSTREAM;
}

/* ---- an answer ---- */

static bool is_of_type(const struct weir_json *block, const char *type)
{
    return weir_slice_is(weir_json_text(weir_json_get_str(block, "type")), type);
}

static bool is_blank(struct weir_slice text)
{
    for (size_t i = 0; i < text.len; i++)
        if (!memchr(" \t\r\n", text.ptr[i], 4)) return false;
    return true;
}

static const struct weir_json *first_block(const struct said *s)
{
    return weir_json_first(weir_json_get_str(s->found->json, "content"));
}

static bool has_words(const struct said *s)
{
    for (const struct weir_json *b = first_block(s); b; b = weir_json_next(b))
        if (is_of_type(b, "text") && !is_blank(weir_json_text(weir_json_get_str(b, "text"))))
            return true;
    return false;
}

static bool has_tools(const struct said *s)
{
    for (const struct weir_json *b = first_block(s); b; b = weir_json_next(b))
        if (is_of_type(b, "tool_use")) return true;
    return false;
}

static enum weir_status tell_usage(struct turn_pass *p, const struct model_answer *answer)
{
    struct weir_buf json;
    if (answer->stop == MODEL_STOP_CUT && answer->status == WEIR_OK) return WEIR_OK;
    if (answer->provider && answer->provider[0])
        snprintf(p->provider, sizeof p->provider, "%s", answer->provider);
    if (answer->model && answer->model[0]) snprintf(p->model, sizeof p->model, "%s", answer->model);
    if (shown_count(&p->attempt->shown, "usage") > p->n_usage++) return WEIR_OK;
    weir_buf_init(&json, SESSION_EVENT_BYTES);
    finish_put_usage(&json, answer);
    enum weir_status st = pass_emit(p, &json);
    weir_buf_fini(&json);
    return st;
}

/* Bytes of its text as it was shown. What a crash has cut is recorded as that. */
static size_t text_bytes(struct turn_pass *p, const struct said *s)
{
    struct weir_buf plain;
    size_t n = 0;
    bool is_cut = s->found->answer.stop == MODEL_STOP_CUT;
    const struct weir_json *content = weir_json_get_str(s->found->json, "content");
    weir_buf_init(&plain, 8 * MODEL_ANSWER_BYTES);
    for (const struct weir_json *b = weir_json_first(content); b; b = weir_json_next(b)) {
        struct weir_slice text = weir_json_text(weir_json_get_str(b, "text"));
        if (!weir_slice_is(weir_json_text(weir_json_get_str(b, "type")), "text")) continue;
        weir_buf_reset(&plain);
        if (!is_cut) call_values_restore_text(&p->attempt->values, text, &plain);
        n += is_cut ? text.len : plain.len;
    }
    weir_buf_fini(&plain);
    return n;
}

/* As the model has said it, so that what it has signed stays as it is. */
static void add_answer(struct turn_pass *p, const struct said *s)
{
    if (weir_json_count(weir_json_get_str(s->found->json, "content")) == 0) return;
    weir_json_put_begin_object(&p->messages);
    weir_json_put_key(&p->messages, "role");
    weir_json_put_str(&p->messages, "assistant");
    weir_json_put_key(&p->messages, "content");
    weir_json_put_value(&p->messages, weir_json_get_str(s->found->json, "content"));
    weir_json_put_end_object(&p->messages);
}

/* ---- tools ---- */

static void put_result(struct weir_buf *out, struct weir_slice use_id, struct weir_slice text,
                       bool is_error)
{
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "type");
    weir_json_put_str(out, "tool_result");
    weir_json_put_key(out, "tool_use_id");
    weir_json_put_string(out, use_id);
    weir_json_put_key(out, "content");
    weir_json_put_string(out, text);
    if (is_error) {
        weir_json_put_key(out, "is_error");
        weir_json_put_bool(out, true);
    }
    weir_json_put_end_object(out);
}

static enum weir_status add_result(struct turn_pass *p, const struct weir_json *use)
{
    struct weir_buf result, text;
    bool is_error = false;
    weir_buf_init(&result, 4 * RESULT_BYTES);
    weir_buf_init(&text, 8 * RESULT_BYTES);
    enum weir_status st = pass_call(p, weir_json_text(weir_json_get_str(use, "name")),
                                    weir_json_get_str(use, "input"), &result, &is_error);
    weir_buf_append_str(&text, "<data name=\"result\">\n");
    block_text(&text, weir_buf_slice(&result), RESULT_BYTES);
    weir_buf_append_str(&text, "\n</data>");
    if (st == WEIR_OK) st = weir_buf_status(&text);
    if (st == WEIR_OK)
        put_result(&p->messages, weir_json_text(weir_json_get_str(use, "id")),
                   weir_buf_slice(&text), is_error);
    weir_buf_fini(&result);
    weir_buf_fini(&text);
    return st == WEIR_OK ? weir_buf_status(&p->messages) : st;
}

/* The content as it has its values: tools get these. */
static enum weir_status use_tools(struct turn_pass *p, const struct said *s)
{
    const struct weir_json *content;
    struct weir_buf *out = &p->messages;
    struct weir_json_doc *doc = weir_json_doc_new(SESSION_JSON_BYTES);
    if (!doc) return WEIR_NOMEM;
    enum weir_status st = weir_json_parse(doc, s->answer->content, &content, NULL);
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "role");
    weir_json_put_str(out, "user");
    weir_json_put_key(out, "content");
    weir_json_put_begin_array(out);
    for (const struct weir_json *b = st == WEIR_OK ? weir_json_first(content) : NULL;
         st == WEIR_OK && b; b = weir_json_next(b))
        if (weir_slice_is(weir_json_text(weir_json_get_str(b, "type")), "tool_use"))
            st = add_result(p, b);
    if (++p->n_tool_rounds == TURN_TOOL_ROUNDS) model_text_put(out, weir_slice_of(enough));
    weir_json_put_end_array(out);
    weir_json_put_end_object(out);
    weir_json_doc_free(doc);
    return st == WEIR_OK ? weir_buf_status(out) : st;
}

/* Calls of tools that nobody makes any more are left out: models want a result for each. */
static void add_words(struct turn_pass *p, const struct said *s)
{
    const struct weir_json *content = weir_json_get_str(s->found->json, "content");
    size_t n_calls = 0, n_texts = 0;
    for (const struct weir_json *b = weir_json_first(content); b; b = weir_json_next(b)) {
        n_calls += is_of_type(b, "tool_use");
        n_texts += is_of_type(b, "text");
    }
    if (n_calls == 0) add_answer(p, s);
    if (n_calls == 0 || n_texts == 0) return;
    weir_json_put_begin_object(&p->messages);
    weir_json_put_key(&p->messages, "role");
    weir_json_put_str(&p->messages, "assistant");
    weir_json_put_key(&p->messages, "content");
    weir_json_put_begin_array(&p->messages);
    for (const struct weir_json *b = weir_json_first(content); b; b = weir_json_next(b))
        if (is_of_type(b, "text")) weir_json_put_value(&p->messages, b);
    weir_json_put_end_array(&p->messages);
    weir_json_put_end_object(&p->messages);
}

/* ---- the turn ---- */

/* The model's own limit has cut it. A call of a tool may be a half one: none of them is made. */
static enum weir_status go_on_long(struct turn_pass *p, const struct said *s)
{
    if (p->n_long_rounds == TURN_LONG_ROUNDS)
        return fail_by_stop(p, "the model has stopped in the middle: its answer is too long");
    p->n_long_rounds++;
    p->is_going_on = true;
    add_words(p, s);
    model_message_put(&p->messages, "user", weir_slice_of(has_tools(s) ? again : go_on));
    return WEIR_OK;
}

/* It wants nothing more. */
static enum weir_status end_or_go_on(struct turn_pass *p, const struct said *s, bool *is_over)
{
    bool are_left = false;
    if (s->answer->stop == MODEL_STOP_REFUSED)
        return fail_by_stop(p, "the model refuses to answer this");
    enum weir_status st = steers_are_left(p, &are_left);
    *is_over = !are_left;
    if (are_left) add_words(p, s);
    if (st == WEIR_OK && *is_over && !p->has_words)
        return fail_by_stop(p, "the model has said nothing");
    return st;
}

/* What follows from an answer; *is_over: nothing. */
static enum weir_status go_on_from(struct turn_pass *p, const struct said *s, bool *is_over)
{
    enum model_stop stop = s->answer->stop;
    /* Some stop for tools and name none: that is an end. */
    bool wants_tools = stop == MODEL_STOP_TOOL && has_tools(s);
    enum weir_status st = WEIR_OK;
    p->attempt->n_text += text_bytes(p, s);
    p->has_words = p->has_words || has_words(s);
    p->is_going_on = stop == MODEL_STOP_CUT;
    if (stop == MODEL_STOP_CUT) {
        add_answer(p, s);
        model_message_put(&p->messages, "user", weir_slice_of(go_on));
    } else if (stop == MODEL_STOP_LENGTH) {
        st = go_on_long(p, s);
    } else if (wants_tools && p->n_tool_rounds < TURN_TOOL_ROUNDS) {
        add_answer(p, s);
        st = use_tools(p, s);
    } else {
        st = end_or_go_on(p, s, is_over);
    }
    p->round++;
    return st;
}

enum weir_status model_turn(struct turn_pass *p)
{
    bool is_over = false;
    enum weir_status st = WEIR_OK;
    weir_buf_append_slice(&p->messages, weir_buf_slice(&p->attempt->context.history));
    model_message_put(&p->messages, "user", p->text);
    while (st == WEIR_OK && !is_over) {
        struct said said = {NULL, NULL};
        st = steers_take(p);
        if (st == WEIR_OK) st = ask(p, &said);
        if (st == WEIR_OK) st = tell_usage(p, said.answer);
        if (st == WEIR_OK && said.answer->status != WEIR_OK) st = fail_by_model(p, said.answer);
        if (st == WEIR_OK) st = go_on_from(p, &said, &is_over);
    }
    return st;
}
