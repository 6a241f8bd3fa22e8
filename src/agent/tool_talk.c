/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/tool_talk.h"

#include <string.h>
#include <strings.h>

#include "base/slice.h"
#include "shield/token_map.h"

enum {
    INPUT_BYTES = 64 << 10,
    PASSAGES = 3,
    MEMORIES = 12,
    SUBJECT_BYTES = 150, /* of a question, for look_up_fact */
    QUERY_BYTES = 768,   /* the same, for search_documents; values may be longer than what stands
                          * for them */
};

bool tool_talk_has(struct weir_slice text, const char *words)
{
    size_t n = strlen(words);
    for (size_t i = 0; i + n <= text.len; i++)
        if (strncasecmp(text.ptr + i, words, n) == 0) return true;
    return false;
}

uint64_t tool_talk_seed(struct weir_slice id)
{
    uint64_t seed = 0;
    for (size_t i = 0; i < id.len; i++) seed = seed * 131 + (unsigned char)id.ptr[i];
    return seed;
}

/* ---- tools ---- */

/* The question, or its beginning, which ends behind a word. */
static struct weir_slice beginning(const struct tool_talk *t, size_t most)
{
    struct weir_slice text = slice_of(t->question.ptr, token_cut(t->question, most));
    size_t end = text.len;
    if (text.len == t->question.len) return text;
    while (end > 0 && !memchr(" \t\r\n", text.ptr[end - 1], 4)) end--;
    return end > 0 ? slice_of(text.ptr, end) : text;
}

/* A tool that takes one text, or nothing when there is no key. */
static enum weir_status use(struct tool_talk *t, const char *tool, const char *key,
                            struct weir_slice text, const struct weir_json **result)
{
    struct weir_buf input;
    weir_buf_init(&input, INPUT_BYTES);
    weir_json_put_begin_object(&input);
    if (key) {
        weir_json_put_key(&input, key);
        weir_json_put_string(&input, text);
    }
    weir_json_put_end_object(&input);
    enum weir_status st = t->host->use(t->user, tool, &input, result);
    weir_buf_fini(&input);
    return st;
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

static bool asks_memory(struct weir_slice text)
{
    return tool_talk_has(text, "you remember") || tool_talk_has(text, "you know about me") ||
           tool_talk_has(text, "my goals") || tool_talk_has(text, "remembered");
}

static enum weir_status say_memory(struct tool_talk *t)
{
    const struct weir_json *result;
    enum weir_status st = use(t, "read_memory", NULL, SLICE(""), &result);
    if (st != WEIR_OK) return st;
    const struct weir_json *list = weir_json_first(result);
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
    return tool_talk_has(text, "normal") || tool_talk_has(text, "healthy") ||
           tool_talk_has(text, "recommended") || tool_talk_has(text, "too high") ||
           tool_talk_has(text, "too low");
}

/* What public bodies say of it is cited; the words are the expert's. */
static enum weir_status look_up(struct tool_talk *t)
{
    const struct weir_json *result;
    return use(t, "look_up_fact", "subject", beginning(t, SUBJECT_BYTES), &result);
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

static enum weir_status say_documents(struct tool_talk *t)
{
    const struct weir_json *result;
    if (!is_worth_a_search(t->question)) return WEIR_OK;
    enum weir_status st = use(t, "search_documents", "query", beginning(t, QUERY_BYTES), &result);
    if (st != WEIR_OK) return st;
    const struct weir_json *list = weir_json_first(result);
    if (weir_json_count(list) == 0) return WEIR_OK;
    weir_buf_append_str(&t->answer, "In your documents I have found:\n\n");
    put_list(&t->answer, list, "snippet", PASSAGES);
    return WEIR_OK;
}

/* ---- the answer ---- */

enum weir_status tool_talk_answer(struct tool_talk *t)
{
    const struct weir_json *result;
    enum weir_status st = t->host->query(t->user, &result);
    if (st == WEIR_OK && !result && asks_memory(t->question)) return say_memory(t);
    if (st == WEIR_OK && asks_facts(t->question)) st = look_up(t);
    else if (st == WEIR_OK && !result) st = say_documents(t);
    if (st != WEIR_OK || t->answer.len > 0) return st;
    st = t->host->ask_agents(t->user);
    if (st != WEIR_UNPROCESSABLE) return st;
    /* The agents have no words for it: the plan's own will do. */
    weir_buf_append_slice(&t->answer, weir_json_text(weir_json_get_str(result, "summary")));
    if (t->answer.len == 0)
        weir_buf_append_str(&t->answer, "I could not make anything of that from your data.");
    return WEIR_OK;
}
