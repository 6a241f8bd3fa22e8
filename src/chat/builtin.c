/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replies without a model: nobody else reads along, and nothing is made up.
 *
 * The person's last message is answered as agent/tool_talk.h has it; what the grammar reads is
 * asked of query_data. A chat without an agent has no tools: it says who can answer, and where.
 */
#include "agent/path.h"
#include "agent/tool_talk.h"
#include "ask/ask.h"
#include "base/slice.h"
#include "chat/chat_impl.h"

enum {
    ANSWER_BYTES = 256 << 10,
    INPUT_BYTES = 64 << 10,
};

static const char direct_answer[] =
    "There is no model here that could talk freely: this server runs on its own. Ask the agent "
    "\"asst_default\" about your data, your documents or what is remembered of you, and it will "
    "look that up.";

struct reply_talk {
    struct pass *pass;
    struct weir_json_doc *doc; /* of the messages, and of inputs of tools */
    const struct weir_json *messages;
    struct tool_talk talk;
};

/* ---- what was said ---- */

static bool is_aborted(void *user)
{
    return flow_is_aborted(user);
}

/* The messages with plain contents, as agents have them. */
static enum weir_status read_messages(struct reply_talk *t)
{
    struct weir_buf text;
    const struct weir_json *stored;
    weir_buf_init(&text, 2 * MODEL_REQUEST_BYTES);
    weir_buf_append_slice(&text, weir_buf_slice(&t->pass->messages));
    weir_buf_append_char(&text, ']');
    enum weir_status st = weir_buf_status(&text);
    if (st == WEIR_OK) st = weir_json_parse(t->doc, weir_buf_slice(&text), &stored, NULL);
    weir_buf_reset(&text);
    weir_json_put_begin_array(&text);
    for (const struct weir_json *m = weir_json_first(stored); st == WEIR_OK && m;
         m = weir_json_next(m)) {
        const struct weir_json *block = weir_json_first(weir_json_get_str(m, "content"));
        weir_json_put_begin_object(&text);
        weir_json_put_key(&text, "role");
        weir_json_put_value(&text, weir_json_get_str(m, "role"));
        weir_json_put_key(&text, "content");
        weir_json_put_value(&text, weir_json_get_str(block, "text"));
        weir_json_put_end_object(&text);
    }
    weir_json_put_end_array(&text);
    if (st == WEIR_OK) st = weir_buf_status(&text);
    if (st == WEIR_OK) st = weir_json_parse(t->doc, weir_buf_slice(&text), &t->messages, NULL);
    weir_buf_fini(&text);
    const struct weir_json *last = NULL;
    for (const struct weir_json *m = weir_json_first(t->messages); m; m = weir_json_next(m))
        last = m;
    t->talk.question = weir_json_text(weir_json_get_str(last, "content"));
    t->talk.question.len = token_cut(t->talk.question, AGENT_QUESTION_BYTES);
    return st;
}

/* ---- agents ---- */

static enum weir_status ask_agents(void *user)
{
    struct reply_talk *t = user;
    struct pass *p = t->pass;
    struct shelved data = {0};
    enum weir_status st = shelf_take(&p->chats->shelf, flow_owner(p->step), &data);
    struct agent_case c = {.turn_id = flow_id(p->step),
                           .messages = t->messages,
                           .question = t->talk.question,
                           .has_biomarkers = true,
                           .data = data.data,
                           .clock = p->chats->options.clock,
                           .seed = tool_talk_seed(weir_slice_of(p->reply->id)),
                           .arena = p->arena,
                           .is_aborted = is_aborted,
                           .user = p->step};
    if (st == WEIR_OK) st = agent_answer(&c, &t->talk.answer);
    shelf_give(&p->chats->shelf, &data);
    return st;
}

/* ---- tools ---- */

/* A tool with its input as JSON; *result is NULL when it could not. */
static enum weir_status use(void *user, const char *name, struct weir_buf *input,
                            const struct weir_json **result)
{
    struct reply_talk *t = user;
    const struct weir_json *json;
    struct weir_buf out;
    bool is_error = false;
    *result = NULL;
    weir_buf_init(&out, CHAT_BODY_BYTES);
    enum weir_status st = weir_buf_status(input);
    if (st == WEIR_OK) st = weir_json_parse(t->doc, weir_buf_slice(input), &json, NULL);
    if (st == WEIR_OK) st = tools_use(t->pass, name, json, &out, &is_error);
    if (st == WEIR_OK && !is_error)
        st = weir_json_parse(t->doc, weir_buf_slice(&out), result, NULL);
    weir_buf_fini(&out);
    return st;
}

/* The plan of the question, if it is one: then the tool is used, and *result is what it brought. */
static enum weir_status query(void *user, const struct weir_json **result)
{
    struct reply_talk *t = user;
    struct pass *p = t->pass;
    struct shelved data = {0};
    struct ask_reading reading = {0};
    struct weir_buf plan;
    *result = NULL;
    weir_buf_init(&plan, INPUT_BYTES);
    enum weir_status st = shelf_take(&p->chats->shelf, flow_owner(p->step), &data);
    if (st == WEIR_OK && t->talk.question.len <= ASK_BYTES)
        st = ask_read(&reading, t->talk.question, data.data, p->arena);
    if (st == WEIR_OK && reading.is_understood) plan_put(&plan, &reading.plan);
    shelf_give(&p->chats->shelf, &data);
    if (st == WEIR_OK && plan.len > 0) st = use(t, "query_data", &plan, result);
    weir_buf_fini(&plan);
    return st;
}

/* ---- the reply ---- */

static const struct tool_talk_host host = {.query = query, .use = use, .ask_agents = ask_agents};

/* Values stay out of the log: the text has placeholders again. */
static enum weir_status say(struct reply_talk *t)
{
    struct pass *p = t->pass;
    struct weir_buf redacted;
    if (chats_action(p->chats, p->wish) == PII_OFF)
        return pass_say(p, weir_buf_slice(&t->talk.answer));
    weir_buf_init(&redacted, 2 * ANSWER_BYTES);
    enum weir_status st =
        guard_redact_text(p->attempt->guard, weir_buf_slice(&t->talk.answer), &redacted, NULL);
    if (st == WEIR_OK) st = weir_buf_status(&redacted);
    if (st == WEIR_OK) st = pass_keep_values(p);
    if (st == WEIR_OK) st = pass_say(p, weir_buf_slice(&redacted));
    weir_buf_fini(&redacted);
    return st;
}

enum weir_status builtin_reply(struct pass *p)
{
    struct reply_talk t = {.pass = p, .talk = {.host = &host, .user = &t}};
    if (p->agent.len == 0) return pass_say(p, weir_slice_of(direct_answer));
    t.doc = weir_json_doc_new(CHAT_JSON_BYTES);
    if (!t.doc) return WEIR_NOMEM;
    weir_buf_init(&t.talk.answer, ANSWER_BYTES);
    enum weir_status st = read_messages(&t);
    if (st == WEIR_OK) st = tool_talk_answer(&t.talk);
    if (st == WEIR_OK) st = weir_buf_status(&t.talk.answer);
    if (st == WEIR_OK) st = say(&t);
    weir_buf_fini(&t.talk.answer);
    weir_json_doc_free(t.doc);
    return st;
}
