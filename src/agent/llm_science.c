/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The data scientist on a model. The model calls tools; run_plan is the only one that brings
 * anything: its plan is checked and run here, and findings come from what was run. What the model
 * says about it is streamed as its thoughts and used for nothing else.
 */
#include <stdio.h>

#include "agent/llm_impl.h"
#include "agent/science_impl.h"
#include "base/slice.h"

enum {
    SCIENCE_ROUNDS = 8,      /* answers of the model */
    SCIENCE_PLANS = 12,      /* that are run */
    SCIENCE_CALLS = 8,       /* of one answer that are looked at */
    SCIENCE_ROWS = 40,       /* of an answer, as it is handed back */
    SCIENCE_TOKENS = 2048,   /* of an answer */
    RESULT_BYTES = 12 << 10, /* of what a tool hands back */
    PLANS_BYTES = 256 << 10, /* of all plans that were run, as text */
    TOOLS_BYTES = 64 << 10,
};

struct research {
    struct science *s;
    struct talk talk;
    struct weir_buf plans; /* those that were run, a line each */
    unsigned n_plans;
    unsigned n_wrong; /* answers in a row that brought no plan that could be run */
};

/* ---- tools ---- */

static void put_tools(struct weir_buf *out)
{
    weir_buf_append_str(out, "[{\"name\":\"run_plan\",\"description\":\"Computes the answer of a "
                             "plan over the person's data. The result has value, unit, n and "
                             "window, or says why there is none.\",\"input_schema\":");
    weir_buf_append_str(out, plan_tool_schema);
    weir_buf_append_str(
        out, "},{\"name\":\"list_metrics\",\"description\":\"Everything that was measured, with "
             "units, days and devices; laboratory tests with the ranges that were printed.\","
             "\"input_schema\":{\"type\":\"object\",\"properties\":{},\"additionalProperties\":"
             "false}},{\"name\":\"lookup_memory\",\"description\":\"What is remembered of the "
             "person: goals, preferences, what was found earlier.\",\"input_schema\":{\"type\":"
             "\"object\",\"properties\":{\"about\":{\"type\":\"string\",\"description\":\"A few "
             "words; empty: all.\"}},\"additionalProperties\":false}}]");
}

static void say_error(struct weir_buf *out, const char *path, const char *text)
{
    weir_buf_printf(out, "refused: %s%s%s", path, path[0] ? ": " : "", text);
}

/* The very same plan again brings the same; it is no second finding. */
static bool was_run(struct research *r, const struct plan *plan)
{
    struct weir_buf line;
    bool is_there = false;
    weir_buf_init(&line, PLANS_BYTES);
    plan_put(&line, plan);
    weir_buf_append_char(&line, '\n');
    if (weir_buf_status(&line) == WEIR_OK && r->plans.len > 0)
        is_there = memmem(r->plans.ptr, r->plans.len, line.ptr, line.len) != NULL;
    if (!is_there) weir_buf_append_slice(&r->plans, weir_buf_slice(&line));
    weir_buf_fini(&line);
    return is_there;
}

static void put_answer(struct weir_buf *out, const struct plan *plan, const struct plan_answer *a)
{
    struct plan_answer shown = *a;
    struct weir_buf json;
    if (shown.n_rows > SCIENCE_ROWS) shown.n_rows = SCIENCE_ROWS;
    weir_buf_init(&json, AGENT_FINDINGS_BYTES);
    plan_put_answer(&json, plan, &shown);
    block_text(out, weir_buf_slice(&json), RESULT_BYTES);
    if (a->n_rows > shown.n_rows)
        weir_buf_printf(out, "\n(%zu rows more)", a->n_rows - shown.n_rows);
    if (weir_buf_status(&json) == WEIR_NOMEM) out->status = WEIR_NOMEM;
    weir_buf_fini(&json);
}

static enum weir_status run(struct research *r, const struct asked *asked, struct weir_buf *out)
{
    struct science *s = r->s;
    struct plan_answer *a = arena_alloc(s->c->arena, sizeof *a);
    if (!a) return s->c->arena->status;
    bool is_new = !was_run(r, &asked->plan) && !science_knows(s, &asked->plan);
    enum weir_status st =
        is_new ? science_answer(s, asked, a) : plan_run(&asked->plan, s->c->data, s->c->arena, a);
    if (st == WEIR_BAD_FIELD) {
        *a = (struct plan_answer){.reason = "that has no meaning for what was named"};
        st = WEIR_OK;
    }
    if (st == WEIR_OK) put_answer(out, &asked->plan, a);
    return st;
}

/* *is_error: the plan was refused, and `out` says why. */
static enum weir_status run_plan(struct research *r, const struct weir_json *input,
                                 struct weir_buf *out, bool *is_error)
{
    struct science *s = r->s;
    struct plan_error error = {0};
    struct asked *asked = arena_alloc(s->c->arena, sizeof *asked);
    if (!asked) return s->c->arena->status;
    *asked = (struct asked){.wants_number = !words_ask_whether(s->question)};
    *is_error = true;
    if (r->n_plans == SCIENCE_PLANS) {
        say_error(out, "", "no more plans are run for this question; end now");
        return WEIR_OK;
    }
    enum weir_status st = plan_parse(&asked->plan, input, s->c->data, &error);
    if (st == WEIR_BAD_FIELD) {
        say_error(out, error.path, error.text);
        return WEIR_OK;
    }
    if (st != WEIR_OK) return st;
    if (asked->plan.subject == PLAN_OF_LAB && !s->c->has_biomarkers) {
        say_error(out, "lab", "laboratory results are not to be used here");
        return WEIR_OK;
    }
    *is_error = false;
    r->n_plans++;
    return run(r, asked, out);
}

/* ---- calls ---- */

static enum weir_status run_call(void *user, const struct weir_json *call, struct weir_buf *out,
                                 bool *is_error)
{
    struct research *r = user;
    struct weir_slice name = agent_text(call, "name");
    const struct weir_json *input = weir_json_get_str(call, "input");
    enum weir_status st = WEIR_OK;
    if (weir_slice_is(name, "run_plan")) st = run_plan(r, input, out, is_error);
    else if (weir_slice_is(name, "list_metrics")) st = context_put_data(out, r->s->c, true);
    else if (weir_slice_is(name, "lookup_memory"))
        context_put_memory(out, r->s->c, agent_text(input, "about"));
    else {
        *is_error = true;
        say_error(out, "", "there are run_plan, list_metrics and lookup_memory, and no other tool");
    }
    return st;
}

/* Relations that are tried at once are counted before the first of them is judged. */
static void count_pairs(struct research *r)
{
    const struct weir_json *call = NULL;
    while ((call = talk_next_call(&r->talk, call))) {
        struct weir_slice op = agent_text(weir_json_get_str(call, "input"), "op");
        if (weir_slice_is(op, "correlate")) r->s->n_pairs++;
    }
}

static enum weir_status answer_calls(struct research *r)
{
    struct talk_tools tools = {.most = SCIENCE_CALLS, .run = run_call, .user = r};
    bool is_wrong;
    count_pairs(r);
    enum weir_status st = talk_run_calls(&r->talk, &tools, &is_wrong);
    r->n_wrong = is_wrong ? r->n_wrong + 1 : 0;
    return st;
}

/* Small models that do not know how to call tools write the plan down; NULL: it is none. */
static const struct weir_json *written_plan(struct research *r)
{
    const struct weir_json *json = r->talk.content ? llm_text_object(&r->talk) : NULL;
    return weir_json_get_str(json, "op") ? json : NULL;
}

static enum weir_status answer_plan(struct research *r, const struct weir_json *plan)
{
    struct weir_buf text, block;
    bool is_error = true;
    weir_buf_init(&text, LLM_MESSAGES_BYTES);
    weir_buf_init(&block, LLM_MESSAGES_BYTES);
    enum weir_status st = run_plan(r, plan, &text, &is_error);
    block_put(&block, "result", weir_buf_slice(&text));
    talk_keep_answer(&r->talk);
    talk_say(&r->talk, "user", weir_buf_slice(&block));
    if (st == WEIR_OK) st = weir_buf_status(&text);
    if (st == WEIR_OK) st = weir_buf_status(&block);
    r->n_wrong = is_error ? r->n_wrong + 1 : 0;
    weir_buf_fini(&block);
    weir_buf_fini(&text);
    return st;
}

/* An answer that has nothing in it at all. */
static bool is_empty(const struct talk *t)
{
    struct weir_buf text;
    weir_buf_init(&text, LLM_CONTENT_BYTES);
    talk_put_text(t, &text);
    bool is_blank = text.len == 0;
    weir_buf_fini(&text);
    return is_blank && t->stop != MODEL_STOP_REFUSED;
}

static void ask_again(struct research *r)
{
    r->n_wrong++;
    talk_keep_answer(&r->talk);
    talk_say(&r->talk, "user",
             SLICE("That answer could not be read. Call run_plan, or end with one sentence."));
}

/* ---- the whole ---- */

/* Goes on until the model has nothing more to ask, or there was enough. */
static enum weir_status converse(struct research *r)
{
    for (unsigned i = 0; i < SCIENCE_ROUNDS && r->n_wrong <= LLM_REPAIRS; i++) {
        enum weir_status st = talk_ask(&r->talk, "data_science");
        /* A conversation that got too long has brought what it has brought. */
        if (st == WEIR_LIMIT && r->n_plans > 0) return WEIR_OK;
        if (st != WEIR_OK) return st;
        const struct weir_json *plan = written_plan(r);
        if (talk_next_call(&r->talk, NULL)) st = answer_calls(r);
        else if (plan) st = answer_plan(r, plan);
        else if (is_empty(&r->talk)) ask_again(r);
        else return WEIR_OK;
        if (st != WEIR_OK) return st;
    }
    return WEIR_OK;
}

static enum weir_status conclude(struct research *r)
{
    struct agent_case *c = r->s->c;
    if (r->n_plans > 0) return WEIR_OK;
    if (r->n_wrong > LLM_REPAIRS) {
        snprintf(c->why, sizeof c->why, "the model made no plan that could be run");
        return WEIR_UNPROCESSABLE;
    }
    science_say(r->s, "No answer: nothing was found to ask of the data.");
    return WEIR_OK;
}

enum weir_status llm_science(struct science *s)
{
    struct research r = {.s = s};
    struct weir_buf data, tools;
    weir_buf_init(&data, LLM_MESSAGES_BYTES);
    weir_buf_init(&tools, TOOLS_BYTES);
    weir_buf_init(&r.plans, PLANS_BYTES);
    enum weir_status st = context_put_data(&data, s->c, false);
    put_tools(&tools);
    if (st == WEIR_OK) st = weir_buf_status(&tools);
    if (st == WEIR_OK) {
        struct prompt_value values[] = {{"data", weir_buf_slice(&data)}, {"question", s->question}};
        talk_begin(&r.talk, s->c, MODEL_MAIN, "data_science", values, 2);
        r.talk.request.tools = weir_buf_slice(&tools);
        r.talk.request.max_tokens = SCIENCE_TOKENS;
        st = converse(&r);
        talk_end(&r.talk);
    }
    if (st == WEIR_OK) st = conclude(&r);
    weir_buf_fini(&r.plans);
    weir_buf_fini(&tools);
    weir_buf_fini(&data);
    return st;
}
