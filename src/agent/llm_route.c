/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first three steps on a model: how vague a question is, who answers it, one question for each.
 * All names come from closed lists. What cannot be read is soft: a question counts as clear, nobody
 * is routed to, and agents get the person's own words.
 */
#include <stdio.h>

#include "agent/llm_impl.h"
#include "agent/route_impl.h"
#include "base/slice.h"

enum {
    SHORT_TOKENS = 200,
    REPHRASE_TOKENS = 800,
    WHY_BYTES = 200,    /* of the reason for a vagueness */
    FOCUS_BYTES = 1000, /* of a question for an agent */
    MOST_AGENTS = 3,    /* that a question is put to */
};

/* Texts that several prompts need, made once. */
struct brief {
    struct weir_buf conversation, other;
};

static void brief_begin(struct brief *b, struct agent_case *c)
{
    weir_buf_init(&b->conversation, CONTEXT_BYTES);
    weir_buf_init(&b->other, CONTEXT_BYTES);
    context_put_talk(&b->conversation, c);
}

static void brief_end(struct brief *b)
{
    weir_buf_fini(&b->conversation);
    weir_buf_fini(&b->other);
}

/* An answer that cannot be read is none; everything else is as it is. */
static enum weir_status softened(enum weir_status st, bool *is_read)
{
    *is_read = st == WEIR_OK;
    return st == WEIR_UNPROCESSABLE ? WEIR_OK : st;
}

/* ---- vagueness ---- */

static const char *const vagueness_names[] = {"low", "medium", "high", NULL};

struct vagueness_read {
    struct arena *arena;
    size_t level;
    struct weir_slice why;
};

static bool read_vagueness(void *user, const struct weir_json *json, char why[LLM_WHY_BYTES])
{
    struct vagueness_read *r = user;
    if (!json_read_name(json, "vagueness", vagueness_names, &r->level, why)) return false;
    r->why = text_keep_clean(r->arena, agent_text(json, "why"), WHY_BYTES);
    return true;
}

enum weir_status llm_classify(struct agent_case *c, struct weir_buf *out)
{
    struct brief b;
    struct vagueness_read r = {.arena = c->arena};
    bool is_read;
    brief_begin(&b, c);
    struct prompt_value values[] = {{"conversation", weir_buf_slice(&b.conversation)},
                                    {"question", c->question}};
    struct llm_question q = {
        .role = MODEL_FAST,
        .prompt = "vagueness",
        .values = values,
        .n_values = 2,
        .schema = "{\"type\":\"object\",\"additionalProperties\":false,\"required\":[\"vagueness\","
                  "\"why\"],\"properties\":{\"vagueness\":{\"type\":\"string\",\"enum\":[\"low\","
                  "\"medium\",\"high\"]},"
                  "\"why\":{\"type\":\"string\"}}}",
        .max_tokens = SHORT_TOKENS,
        .read = read_vagueness,
        .user = &r};
    enum weir_status st = softened(llm_json(c, &q), &is_read);
    brief_end(&b);
    if (st != WEIR_OK) return st;
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "vagueness");
    weir_json_put_str(out, is_read ? vagueness_names[r.level] : "low");
    weir_json_put_key(out, "why");
    if (is_read) weir_json_put_string(out, r.why);
    else weir_json_put_str(out, "the model's answer could not be read");
    weir_json_put_end_object(out);
    return weir_buf_status(out);
}

/* ---- who answers ---- */

static const char *const agent_names[] = {"data_science", "domain_expert", "health_coach", "none",
                                          NULL};
static const char *const supporting_names[] = {"data_science", "domain_expert", NULL};

static bool read_supporting(struct route *r, const struct weir_json *list, char why[LLM_WHY_BYTES])
{
    for (const struct weir_json *v = weir_json_first(list); v; v = weir_json_next(v)) {
        size_t i = 0;
        while (supporting_names[i] && !weir_slice_is(weir_json_text(v), supporting_names[i])) i++;
        if (!supporting_names[i]) {
            snprintf(why, LLM_WHY_BYTES,
                     "\"supporting\" may hold data_science and domain_expert, and no other");
            return false;
        }
        bool is_there = strcmp(supporting_names[i], r->main) == 0;
        for (size_t k = 0; k < r->n_supporting; k++)
            is_there = is_there || r->supporting[k] == supporting_names[i];
        if (!is_there) r->supporting[r->n_supporting++] = supporting_names[i];
    }
    return true;
}

static bool read_route(void *user, const struct weir_json *json, char why[LLM_WHY_BYTES])
{
    struct route *r = user;
    const struct weir_json *list;
    size_t main;
    *r = (struct route){.pattern = "model"};
    if (!json_read_name(json, "main", agent_names, &main, why)) return false;
    if (!json_read_list(json, "supporting", MOST_AGENTS, &list, why)) return false;
    if (strcmp(agent_names[main], "none") == 0) return true;
    r->main = agent_names[main];
    return read_supporting(r, list, why);
}

enum weir_status llm_route(struct agent_case *c, struct route *out)
{
    struct brief b;
    bool is_read;
    brief_begin(&b, c);
    enum weir_status st = context_put_names(&b.other, c);
    struct prompt_value values[] = {{"metrics", weir_buf_slice(&b.other)},
                                    {"conversation", weir_buf_slice(&b.conversation)},
                                    {"question", c->question}};
    struct llm_question q = {
        .role = MODEL_FAST,
        .prompt = "route",
        .values = values,
        .n_values = 3,
        .schema =
            "{\"type\":\"object\",\"additionalProperties\":false,\"required\":[\"main\","
            "\"supporting\"],\"properties\":{\"main\":{\"type\":\"string\",\"enum\":[\"data_"
            "science\","
            "\"domain_expert\",\"health_coach\",\"none\"]},\"supporting\":{\"type\":\"array\","
            "\"items\":{\"type\":\"string\",\"enum\":[\"data_science\",\"domain_expert\"]}}}}",
        .max_tokens = SHORT_TOKENS,
        .read = read_route,
        .user = out};
    if (st == WEIR_OK) st = softened(llm_json(c, &q), &is_read);
    if (st == WEIR_OK && !is_read) *out = (struct route){.pattern = "unknown"};
    brief_end(&b);
    return st;
}

/* ---- one question for each ---- */

struct focus {
    struct agent_case *c;
    const char *agents[MOST_AGENTS]; /* that will run */
    size_t n;
    struct weir_slice questions[MOST_AGENTS];
};

static void add_agent(struct focus *f, struct weir_slice name)
{
    for (size_t i = 0; agent_names[i] && f->n < MOST_AGENTS; i++)
        if (weir_slice_is(name, agent_names[i])) f->agents[f->n++] = agent_names[i];
}

static bool read_one(struct focus *f, const struct weir_json *entry, char why[LLM_WHY_BYTES])
{
    struct weir_slice text;
    size_t i = 0;
    while (i < f->n && !weir_slice_is(agent_text(entry, "agent"), f->agents[i])) i++;
    if (i == f->n || f->questions[i].len > 0) {
        snprintf(why, LLM_WHY_BYTES, "each agent that was named, once, and no other");
        return false;
    }
    if (!json_read_text(entry, "question", FOCUS_BYTES, &text, why)) return false;
    f->questions[i] = text_keep_clean(f->c->arena, text, FOCUS_BYTES);
    return true;
}

static bool read_focus(void *user, const struct weir_json *json, char why[LLM_WHY_BYTES])
{
    struct focus *f = user;
    const struct weir_json *list;
    memset(f->questions, 0, sizeof f->questions);
    if (!json_read_list(json, "questions", MOST_AGENTS, &list, why)) return false;
    for (const struct weir_json *v = weir_json_first(list); v; v = weir_json_next(v))
        if (!read_one(f, v, why)) return false;
    for (size_t i = 0; i < f->n; i++) {
        if (f->questions[i].len > 0) continue;
        snprintf(why, LLM_WHY_BYTES, "there is no question for %s", f->agents[i]);
        return false;
    }
    return true;
}

static enum weir_status ask_focus(struct focus *f)
{
    struct brief b;
    bool is_read;
    brief_begin(&b, f->c);
    for (size_t i = 0; i < f->n; i++)
        weir_buf_printf(&b.other, "%s%s", i > 0 ? ", " : "", f->agents[i]);
    struct prompt_value values[] = {{"agents", weir_buf_slice(&b.other)},
                                    {"conversation", weir_buf_slice(&b.conversation)},
                                    {"question", f->c->question}};
    struct llm_question q = {
        .role = MODEL_FAST,
        .prompt = "rephrase",
        .values = values,
        .n_values = 3,
        .schema =
            "{\"type\":\"object\",\"additionalProperties\":false,\"required\":[\"questions\"],"
            "\"properties\":{\"questions\":{\"type\":\"array\",\"items\":{\"type\":\"object\","
            "\"additionalProperties\":false,\"required\":[\"agent\",\"question\"],"
            "\"properties\":{\"agent\":{\"type\":\"string\",\"enum\":[\"data_science\",\"domain_"
            "expert\","
            "\"health_coach\"]},\"question\":{\"type\":\"string\"}}}}}}",
        .max_tokens = REPHRASE_TOKENS,
        .read = read_focus,
        .user = f};
    enum weir_status st = softened(llm_json(f->c, &q), &is_read);
    if (!is_read) memset(f->questions, 0, sizeof f->questions);
    brief_end(&b);
    return st;
}

/*
 * A question that stands alone, for one agent, needs no other words. One that tells a dangerous
 * value may get none: the value could be lost.
 */
static bool is_plain(const struct focus *f, const struct weir_json *route)
{
    if (weir_slice_is(agent_text(route, "pattern"), "danger")) return true;
    return f->n <= 1 && weir_json_count(f->c->messages) <= 1;
}

enum weir_status llm_rephrase(struct agent_case *c, struct weir_buf *out)
{
    const struct weir_json *route = agent_output(c, "route");
    struct focus f = {.c = c};
    add_agent(&f, agent_text(route, "main"));
    const struct weir_json *list = weir_json_get_str(route, "supporting");
    for (const struct weir_json *v = weir_json_first(list); v; v = weir_json_next(v))
        add_agent(&f, weir_json_text(v));
    enum weir_status st = is_plain(&f, route) ? WEIR_OK : ask_focus(&f);
    if (st != WEIR_OK) return st;
    weir_json_put_begin_object(out);
    for (size_t i = 0; i < f.n; i++) {
        weir_json_put_key(out, f.agents[i]);
        weir_json_put_string(out, f.questions[i].len > 0 ? f.questions[i] : c->question);
    }
    weir_json_put_end_object(out);
    return weir_buf_status(out);
}
