/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replies without a model: nobody else reads along, and nothing is made up.
 *
 *   the person's last message               what is done
 *   is a question that the grammar reads    query_data with its plan; the agents' checked words
 *   asks what is remembered                 read_memory, as a list
 *   asks what is normal                     look_up_fact, for its sources; the agents' words
 *   has words that their documents have     search_documents; the passages that were found
 *   anything else                           the agents, who also say what they cannot do
 *
 * A chat without an agent has no tools: it says who can answer, and where.
 */
#include "agent/path.h"
#include "agent/tool.h"
#include "ask/ask.h"
#include "base/slice.h"
#include "chat/chat_impl.h"

enum {
    ANSWER_BYTES = 256 << 10,
    INPUT_BYTES = 64 << 10,
    PASSAGES = 3,
    MEMORIES = 12,
    SUBJECT_BYTES = 150, /* of a question, for what tools take; values may be longer than */
    QUERY_BYTES = 768,   /* what stands for them */
};

static const char direct_answer[] =
    "There is no model here that could talk freely: this server runs on its own. Ask the agent "
    "\"asst_default\" about your data, your documents or what is remembered of you, and it will "
    "look that up.";

struct talk {
    struct pass *pass;
    struct weir_json_doc *doc; /* of the messages, and of inputs of tools */
    const struct weir_json *messages;
    struct weir_slice question;
    struct weir_buf answer;
};

/* ---- what was said ---- */

static bool is_aborted(void *user)
{
    return flow_is_aborted(user);
}

/* The messages with plain contents, as agents have them. */
static enum weir_status read_messages(struct talk *t)
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
    t->question = weir_json_text(weir_json_get_str(last, "content"));
    t->question.len = token_cut(t->question, AGENT_QUESTION_BYTES);
    return st;
}

/* ---- agents ---- */

/* The same for the same message, whoever says it again. */
static uint64_t seed_of(const char *message)
{
    uint64_t seed = 0;
    for (; *message; message++) seed = seed * 131 + (unsigned char)*message;
    return seed;
}

static enum weir_status ask_agents(struct talk *t)
{
    struct pass *p = t->pass;
    struct shelved data = {0};
    enum weir_status st = shelf_take(&p->chats->shelf, flow_owner(p->step), &data);
    struct agent_case c = {.turn_id = flow_id(p->step),
                           .messages = t->messages,
                           .question = t->question,
                           .has_biomarkers = true,
                           .data = data.data,
                           .clock = p->chats->options.clock,
                           .seed = seed_of(p->reply->id),
                           .arena = p->arena,
                           .is_aborted = is_aborted,
                           .user = p->step};
    if (st == WEIR_OK) st = agent_answer(&c, &t->answer);
    shelf_give(&p->chats->shelf, &data);
    return st;
}

/* ---- tools ---- */

/* The question, or its beginning up to the end of a word. */
static void put_question(const struct talk *t, const char *key, size_t most, struct weir_buf *out)
{
    struct weir_slice text = slice_of(t->question.ptr, token_cut(t->question, most));
    size_t end = text.len;
    while (text.len < t->question.len && end > 0 && !memchr(" \t\r\n", text.ptr[end - 1], 4)) end--;
    if (end > 0) text.len = end;
    weir_json_put_begin_object(out);
    weir_json_put_key(out, key);
    weir_json_put_string(out, text);
    weir_json_put_end_object(out);
}

/* A tool with its input as JSON; *result is NULL when it could not. */
static enum weir_status use(struct talk *t, const char *name, struct weir_buf *input,
                            const struct weir_json **result)
{
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
static enum weir_status query(struct talk *t, const struct weir_json **result)
{
    struct pass *p = t->pass;
    struct shelved data = {0};
    struct ask_reading reading = {0};
    struct weir_buf plan;
    *result = NULL;
    weir_buf_init(&plan, INPUT_BYTES);
    enum weir_status st = shelf_take(&p->chats->shelf, flow_owner(p->step), &data);
    if (st == WEIR_OK && t->question.len <= ASK_BYTES)
        st = ask_read(&reading, t->question, data.data, p->arena);
    if (st == WEIR_OK && reading.is_understood) plan_put(&plan, &reading.plan);
    shelf_give(&p->chats->shelf, &data);
    if (st == WEIR_OK && plan.len > 0) st = use(t, "query_data", &plan, result);
    weir_buf_fini(&plan);
    return st;
}

static bool has_words(struct weir_slice text, const char *words)
{
    size_t n = strlen(words);
    for (size_t i = 0; i + n <= text.len; i++)
        if (strncasecmp(text.ptr + i, words, n) == 0) return true;
    return false;
}

static bool asks_memory(struct weir_slice text)
{
    return has_words(text, "you remember") || has_words(text, "you know about me") ||
           has_words(text, "my goals") || has_words(text, "remembered");
}

/* One line for each of a list's first texts. */
static void put_list(struct weir_buf *out, const struct weir_json *list, const char *key,
                     size_t most)
{
    for (const struct weir_json *v = weir_json_first(list); v && most > 0; v = weir_json_next(v)) {
        struct weir_slice text = weir_json_text(weir_json_get_str(v, key));
        struct weir_slice title = weir_json_text(weir_json_get_str(v, "title"));
        if (text.len == 0) continue;
        weir_buf_append_str(out, "- ");
        if (title.len > 0) {
            weir_buf_append_slice(out, title);
            weir_buf_append_str(out, ": ");
        }
        for (size_t i = 0; i < text.len; i++)
            weir_buf_append_char(out, text.ptr[i] == '\n' ? ' ' : text.ptr[i]);
        weir_buf_append_char(out, '\n');
        most--;
    }
}

static enum weir_status say_memory(struct talk *t)
{
    struct weir_buf input;
    const struct weir_json *result;
    weir_buf_init(&input, INPUT_BYTES);
    weir_buf_append_str(&input, "{}");
    enum weir_status st = use(t, "read_memory", &input, &result);
    weir_buf_fini(&input);
    const struct weir_json *list = weir_json_first(result);
    if (st != WEIR_OK) return st;
    if (weir_json_count(list) == 0) {
        weir_buf_append_str(&t->answer, "Nothing is remembered of you yet.");
        return WEIR_OK;
    }
    weir_buf_append_str(&t->answer, "This is remembered of you:\n\n");
    put_list(&t->answer, list, "text", MEMORIES);
    return WEIR_OK;
}

static bool asks_facts(struct weir_slice text)
{
    return has_words(text, "normal") || has_words(text, "healthy") ||
           has_words(text, "recommended") || has_words(text, "too high") ||
           has_words(text, "too low");
}

/* What public bodies say of it is cited; the words are the expert's. */
static enum weir_status look_up(struct talk *t)
{
    struct weir_buf input;
    const struct weir_json *result;
    weir_buf_init(&input, INPUT_BYTES);
    put_question(t, "subject", SUBJECT_BYTES, &input);
    enum weir_status st = use(t, "look_up_fact", &input, &result);
    weir_buf_fini(&input);
    return st;
}

/* Small talk is not looked for in documents. */
static bool is_worth_a_search(struct weir_slice text)
{
    enum { LETTERS = 4, WORDS = 2 };
    size_t n_words = 0, n = 0;
    for (size_t i = 0; i <= text.len; i++) {
        unsigned char c = i < text.len ? (unsigned char)text.ptr[i] : ' ';
        bool is_letter = (c | 32) >= 'a' && ((c | 32) <= 'z' || c >= 0x80);
        n = is_letter ? n + 1 : 0;
        n_words += n == LETTERS;
    }
    return n_words >= WORDS;
}

static enum weir_status say_documents(struct talk *t)
{
    struct weir_buf input;
    const struct weir_json *result;
    if (!is_worth_a_search(t->question) || !tool_find(SLICE("search_documents"))) return WEIR_OK;
    weir_buf_init(&input, INPUT_BYTES);
    put_question(t, "query", QUERY_BYTES, &input);
    enum weir_status st = use(t, "search_documents", &input, &result);
    weir_buf_fini(&input);
    const struct weir_json *list = weir_json_first(result);
    if (st != WEIR_OK || weir_json_count(list) == 0) return st;
    weir_buf_append_str(&t->answer, "In your documents I have found:\n\n");
    put_list(&t->answer, list, "snippet", PASSAGES);
    return WEIR_OK;
}

/* ---- the reply ---- */

static enum weir_status answer(struct talk *t)
{
    const struct weir_json *result;
    enum weir_status st = query(t, &result);
    if (st == WEIR_OK && !result && asks_memory(t->question)) return say_memory(t);
    if (st == WEIR_OK && asks_facts(t->question)) st = look_up(t);
    else if (st == WEIR_OK && !result) st = say_documents(t);
    if (st != WEIR_OK || t->answer.len > 0) return st;
    st = ask_agents(t);
    if (st != WEIR_UNPROCESSABLE) return st;
    /* The agents have no words for it: the plan's own will do. */
    weir_buf_append_slice(&t->answer, weir_json_text(weir_json_get_str(result, "summary")));
    if (t->answer.len == 0)
        weir_buf_append_str(&t->answer, "I could not make anything of that from your data.");
    return weir_buf_status(&t->answer);
}

/* Values stay out of the log: the text has placeholders again. */
static enum weir_status say(struct talk *t)
{
    struct pass *p = t->pass;
    struct weir_buf redacted;
    if (chats_action(p->chats, p->wish) == PII_OFF) return pass_say(p, weir_buf_slice(&t->answer));
    weir_buf_init(&redacted, 2 * ANSWER_BYTES);
    enum weir_status st =
        guard_redact_text(p->attempt->guard, weir_buf_slice(&t->answer), &redacted, NULL);
    if (st == WEIR_OK) st = weir_buf_status(&redacted);
    if (st == WEIR_OK) st = pass_keep_values(p);
    if (st == WEIR_OK) st = pass_say(p, weir_buf_slice(&redacted));
    weir_buf_fini(&redacted);
    return st;
}

enum weir_status builtin_reply(struct pass *p)
{
    struct talk t = {.pass = p};
    if (p->agent.len == 0) return pass_say(p, weir_slice_of(direct_answer));
    t.doc = weir_json_doc_new(CHAT_JSON_BYTES);
    if (!t.doc) return WEIR_NOMEM;
    weir_buf_init(&t.answer, ANSWER_BYTES);
    enum weir_status st = read_messages(&t);
    if (st == WEIR_OK) st = answer(&t);
    if (st == WEIR_OK) st = weir_buf_status(&t.answer);
    if (st == WEIR_OK) st = say(&t);
    weir_buf_fini(&t.answer);
    weir_json_doc_free(t.doc);
    return st;
}
