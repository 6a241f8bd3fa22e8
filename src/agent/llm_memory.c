/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is worth remembering of a message, picked by a model. It may only quote: an entry is the
 * person's own words, found in their message, in one of two categories; the rules that keep the
 * builtin provider from taking a sentence for a goal hold as well. What was found in the data is
 * remembered from findings, never from a model.
 */
#include <stdio.h>

#include "agent/llm_impl.h"
#include "agent/remember_impl.h"
#include "base/slice.h"

enum {
    MOST_PICKS = 4,
    LEAST_QUOTE = 4, /* bytes */
    MOST_QUOTE = 200,
    MEMORY_TOKENS = 300,
};

static const char *const categories[] = {"goal", "preference", NULL};

struct picks {
    struct agent_case *c;
    struct {
        const char *category;
        struct weir_slice quote; /* a part of the question */
    } list[MOST_PICKS];
    size_t n;
};

/* Where the person said it; an empty slice: nowhere. */
static struct weir_slice find_quote(struct weir_slice text, struct weir_slice quote)
{
    for (size_t i = 0; i + quote.len <= text.len; i++)
        if (strncasecmp(text.ptr + i, quote.ptr, quote.len) == 0)
            return slice_of(text.ptr + i, quote.len);
    return (struct weir_slice){0};
}

static bool read_pick(struct picks *p, const struct weir_json *json, char why[LLM_WHY_BYTES])
{
    struct weir_slice quote;
    size_t category;
    if (!json_read_name(json, "category", categories, &category, why)) return false;
    if (!json_read_text(json, "quote", MOST_QUOTE, &quote, why)) return false;
    quote = quote.len >= LEAST_QUOTE ? find_quote(p->c->question, quote) : (struct weir_slice){0};
    if (quote.len == 0 || memchr(quote.ptr, '\n', quote.len)) {
        snprintf(why, LLM_WHY_BYTES, "\"quote\" has to be words of the message, copied exactly");
        return false;
    }
    p->list[p->n].category = categories[category];
    p->list[p->n++].quote = quote;
    return true;
}

static bool read_picks(void *user, const struct weir_json *json, char why[LLM_WHY_BYTES])
{
    struct picks *p = user;
    const struct weir_json *list;
    p->n = 0;
    if (!json_read_list(json, "entries", MOST_PICKS, &list, why)) return false;
    for (const struct weir_json *v = weir_json_first(list); v; v = weir_json_next(v))
        if (!read_pick(p, v, why)) return false;
    return true;
}

/* The sentence that a quote stands in: what comes before it may turn its meaning round. */
static struct weir_slice sentence_of(struct weir_slice text, struct weir_slice quote)
{
    size_t from = (size_t)(quote.ptr - text.ptr), end = from + quote.len;
    while (from > 0 && !strchr(".!?\n", text.ptr[from - 1])) from--;
    while (end < text.len && !strchr(".!?\n", text.ptr[end])) end++;
    if (end < text.len) end++;
    return slice_of(text.ptr + from, end - from);
}

enum weir_status llm_memory(struct remembering *r)
{
    struct agent_case *c = r->c;
    struct picks p = {.c = c};
    struct prompt_value values[] = {{"question", c->question}};
    struct llm_question q = {
        .role = MODEL_FAST,
        .prompt = "memory",
        .values = values,
        .n_values = 1,
        .schema = "{\"type\":\"object\",\"additionalProperties\":false,\"required\":[\"entries\"],"
                  "\"properties\":{\"entries\":{\"type\":\"array\",\"items\":{\"type\":\"object\","
                  "\"additionalProperties\":false,\"required\":[\"category\",\"quote\"],"
                  "\"properties\":{\"category\":{\"type\":\"string\",\"enum\":[\"goal\","
                  "\"preference\"]},\"quote\":{"
                  "\"type\":\"string\"}}}}}}",
        .max_tokens = MEMORY_TOKENS,
        .read = read_picks,
        .user = &p};
    enum weir_status st = llm_json(c, &q);
    /* The answer is there and was read; it is not lost for want of a memory. */
    if (st == WEIR_UNPROCESSABLE || st == WEIR_UPSTREAM) return WEIR_OK;
    for (size_t i = 0; st == WEIR_OK && i < p.n; i++)
        st = recall_quote(r, p.list[i].category, p.list[i].quote,
                          sentence_of(c->question, p.list[i].quote));
    return st;
}
