/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An object by a schema, strictly read. An answer that is none, or has another form, is asked for
 * again: what was answered and what is wrong with it become part of the conversation, so that the
 * next answer can be better. The person never sees any of it.
 */
#include <stdio.h>

#include "agent/llm_impl.h"
#include "base/slice.h"

enum { NAMES_BYTES = 160, FENCE = 3 };

/* ---- an object in an answer ---- */

static struct weir_slice trim(struct weir_slice s)
{
    while (s.len > 0 && strchr(" \t\r\n", s.ptr[0])) s = slice_from(s, 1);
    while (s.len > 0 && strchr(" \t\r\n", s.ptr[s.len - 1])) s.len--;
    return s;
}

/* Small models like to put what they write between lines of ```. */
static struct weir_slice without_fence(struct weir_slice s)
{
    s = trim(s);
    if (s.len < 2 * FENCE || memcmp(s.ptr, "```", FENCE) != 0) return s;
    const char *line = memchr(s.ptr, '\n', s.len);
    if (!line || memcmp(s.ptr + s.len - FENCE, "```", FENCE) != 0) return s;
    size_t head = (size_t)(line - s.ptr) + 1;
    if (head + FENCE > s.len) return s;
    return trim(slice_of(s.ptr + head, s.len - head - FENCE));
}

const struct weir_json *llm_text_object(struct talk *t)
{
    struct weir_buf text;
    const struct weir_json *json = NULL;
    weir_buf_init(&text, LLM_CONTENT_BYTES);
    talk_put_text(t, &text);
    struct weir_slice s = without_fence(weir_buf_slice(&text));
    enum weir_status st = weir_buf_status(&text);
    if (st == WEIR_OK) st = weir_json_parse(t->doc, s, &json, NULL);
    weir_buf_fini(&text);
    bool is_object = st == WEIR_OK && weir_json_type_of(json) == WEIR_JSON_OBJECT;
    return is_object ? json : NULL;
}

static const struct weir_json *find_object(struct talk *t, char why[LLM_WHY_BYTES])
{
    const struct weir_json *call = NULL, *json = NULL;
    while (!json && (call = talk_next_call(t, call)))
        if (weir_slice_is(agent_text(call, "name"), model_answer_tool))
            json = weir_json_get_str(call, "input");
    if (!json && t->content) json = llm_text_object(t);
    if (weir_json_type_of(json) == WEIR_JSON_OBJECT) return json;
    snprintf(why, LLM_WHY_BYTES, "%s",
             t->stop == MODEL_STOP_LENGTH ? "the answer was cut off; it has to be shorter"
                                          : "the answer is not one JSON object");
    return NULL;
}

/* ---- again ---- */

/* The wrong object as text: whether it came by a tool or in words, every provider takes that. */
static void quote_answer(struct talk *t, const struct weir_json *json)
{
    struct weir_buf text;
    weir_buf_init(&text, LLM_CONTENT_BYTES);
    if (json) weir_json_put_value(&text, json);
    else talk_put_text(t, &text);
    struct weir_slice s = trim(weir_buf_slice(&text));
    if (s.len > LLM_QUOTE_BYTES) s.len = LLM_QUOTE_BYTES;
    talk_say(t, "assistant", s.len > 0 && text.status == WEIR_OK ? s : SLICE("(no answer)"));
    weir_buf_fini(&text);
}

static void ask_again(struct talk *t, const char *why)
{
    struct weir_buf text;
    weir_buf_init(&text, 4 * LLM_WHY_BYTES);
    weir_buf_append_str(&text, "That answer was not accepted:\n");
    block_put(&text, "error", weir_slice_of(why));
    weir_buf_append_str(&text, "\nAnswer the same question again, with one JSON object of the form "
                               "that was asked for and nothing else.");
    talk_say(t, "user", weir_buf_slice(&text));
    if (weir_buf_status(&text) != WEIR_OK) t->messages.status = text.status;
    weir_buf_fini(&text);
}

enum weir_status llm_json(struct agent_case *c, const struct llm_question *q)
{
    struct talk t;
    enum weir_status st = WEIR_UNPROCESSABLE;
    talk_begin(&t, c, q->role, q->prompt, q->values, q->n_values);
    t.request.schema = weir_slice_of(q->schema);
    t.request.max_tokens = q->max_tokens;
    for (unsigned i = 0; i <= LLM_REPAIRS; i++) {
        char why[LLM_WHY_BYTES] = "it has another form";
        st = talk_ask(&t, NULL);
        if (st != WEIR_OK) break;
        const struct weir_json *json = find_object(&t, why);
        if (json && q->read(q->user, json, why)) {
            c->why[0] = '\0';
            break;
        }
        st = WEIR_UNPROCESSABLE;
        snprintf(c->why, sizeof c->why, "%s: no readable answer: %.*s", q->prompt, 120, why);
        quote_answer(&t, json);
        ask_again(&t, why);
    }
    talk_end(&t);
    return st;
}

/* ---- members ---- */

bool json_read_text(const struct weir_json *object, const char *key, size_t most,
                    struct weir_slice *out, char why[LLM_WHY_BYTES])
{
    const struct weir_json *v = weir_json_get_str(object, key);
    *out = weir_json_text(v);
    bool is_text = weir_json_type_of(v) == WEIR_JSON_STRING && trim(*out).len > 0;
    if (is_text && out->len <= most) return true;
    snprintf(why, LLM_WHY_BYTES, "\"%s\" has to be a text of 1 to %zu bytes", key, most);
    return false;
}

bool json_read_name(const struct weir_json *object, const char *key, const char *const *names,
                    size_t *out, char why[LLM_WHY_BYTES])
{
    char list[NAMES_BYTES];
    size_t len = 0;
    const struct weir_json *v = weir_json_get_str(object, key);
    list[0] = '\0';
    for (*out = 0; names[*out]; ++*out) {
        bool is_it = weir_json_type_of(v) == WEIR_JSON_STRING &&
                     weir_slice_is(weir_json_text(v), names[*out]);
        if (is_it) return true;
        if (len < sizeof list)
            len += (size_t)snprintf(list + len, sizeof list - len, "%s%s", len > 0 ? ", " : "",
                                    names[*out]);
    }
    snprintf(why, LLM_WHY_BYTES, "\"%s\" has to be one of %s", key, list);
    return false;
}

bool json_read_list(const struct weir_json *object, const char *key, size_t most,
                    const struct weir_json **out, char why[LLM_WHY_BYTES])
{
    *out = weir_json_get_str(object, key);
    if (weir_json_type_of(*out) == WEIR_JSON_ARRAY && weir_json_count(*out) <= most) return true;
    snprintf(why, LLM_WHY_BYTES, "\"%s\" has to be a list of at most %zu", key, most);
    return false;
}
