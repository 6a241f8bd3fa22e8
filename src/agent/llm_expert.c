/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The expert's words on a model. Limits are looked up in the table of facts and nowhere else; each
 * number of the words has to be one of those that were looked up, or the person's. Sentences with
 * others are asked for again, then taken out.
 */
#include <ctype.h>

#include "agent/facts.h"
#include "agent/llm_impl.h"
#include "base/slice.h"
#include "check/strip.h"

enum {
    EXPERT_ROUNDS = 6,   /* answers of the model */
    EXPERT_LOOKUPS = 6,  /* subjects that are looked up */
    EXPERT_CALLS = 4,    /* of one answer that are looked at */
    EXPERT_REWRITES = 2, /* times that words are asked for again */
    EXPERT_TOKENS = 900,
    TOOLS_BYTES = 16 << 10,
    DOC_BYTES = 8 << 20,
};

struct explanation {
    struct agent_case *c;
    const struct llm_lookup *l;
    struct talk talk;
    struct weir_buf *out;
    unsigned n_lookups, n_rewrites;
    bool is_over;
};

static void put_tools(struct weir_buf *out)
{
    weir_buf_append_str(out, "[{\"name\":\"lookup_fact\",\"description\":\"Rows of the table of "
                             "public facts about a subject: limits, what they mean, their "
                             "source.\",\"input_schema\":{\"type\":\"object\",\"properties\":{"
                             "\"subject\":{\"type\":\"string\",\"enum\":");
    weir_json_put_begin_array(out);
    for (size_t i = 0; i < fact_subject_count(); i++)
        weir_json_put_str(out, fact_subject_at(i)->name);
    weir_json_put_end_array(out);
    weir_buf_append_str(out, "}},\"required\":[\"subject\"],\"additionalProperties\":false}}]");
}

static const struct fact_subject *find_subject(struct weir_slice name)
{
    for (size_t i = 0; i < fact_subject_count(); i++)
        if (weir_slice_is(name, fact_subject_at(i)->name)) return fact_subject_at(i);
    return NULL;
}

static enum weir_status run_call(void *user, const struct weir_json *call, struct weir_buf *out,
                                 bool *is_error)
{
    struct explanation *e = user;
    const struct fact_subject *subject =
        find_subject(agent_text(weir_json_get_str(call, "input"), "subject"));
    *is_error = true;
    if (!weir_slice_is(agent_text(call, "name"), "lookup_fact"))
        weir_buf_append_str(out, "refused: there is lookup_fact, and no other tool");
    else if (!subject) weir_buf_append_str(out, "refused: the table has no such subject");
    else if (e->n_lookups == EXPERT_LOOKUPS)
        weir_buf_append_str(out, "refused: no more is looked up; write the answer now");
    else {
        *is_error = false;
        e->n_lookups++;
        return e->l->look_up(e->l->user, subject, out);
    }
    return WEIR_OK;
}

static enum weir_status answer_calls(struct explanation *e)
{
    struct talk_tools tools = {.most = EXPERT_CALLS, .run = run_call, .user = e};
    bool is_wrong;
    return talk_run_calls(&e->talk, &tools, &is_wrong);
}

/* ---- the words ---- */

/* Entries of what was looked up, as a ledger. */
static enum weir_status read_facts(struct explanation *e, struct weir_json_doc *doc,
                                   struct ledger *out)
{
    struct weir_buf list;
    const struct weir_json *json = NULL;
    char error[LEDGER_ERROR_BYTES];
    weir_buf_init(&list, LLM_MESSAGES_BYTES);
    weir_json_put_begin_array(&list);
    weir_buf_append_slice(&list, weir_buf_slice(e->l->facts));
    weir_json_put_end_array(&list);
    enum weir_status st = weir_buf_status(&list);
    if (st == WEIR_OK) st = weir_json_parse(doc, weir_buf_slice(&list), &json, NULL);
    if (st == WEIR_OK) st = ledger_read(out, json, e->c->arena, error);
    weir_buf_fini(&list);
    return st;
}

static void ask_again(struct explanation *e, const struct verify_input *input,
                      const struct verify_result *result)
{
    struct weir_buf text, offences;
    weir_buf_init(&offences, CONTEXT_BYTES);
    weir_buf_init(&text, 2 * BLOCK_BYTES);
    for (size_t i = 0; i < result->n; i++) {
        if (result->numbers[i].outcome != VERIFY_LACK) continue;
        verify_offence(&offences, input->text, &result->numbers[i]);
        weir_buf_append_char(&offences, '\n');
    }
    weir_buf_append_str(&text, "That text cannot be used. Numbers that are in no row:\n");
    block_put(&text, "offences", weir_buf_slice(&offences));
    weir_buf_append_str(&text, "\nWrite it again without them.");
    talk_keep_answer(&e->talk);
    talk_say(&e->talk, "user", weir_buf_slice(&text));
    weir_buf_fini(&text);
    weir_buf_fini(&offences);
    e->n_rewrites++;
}

static enum weir_status take_words(struct explanation *e, struct weir_slice words,
                                   const struct ledger *ledger)
{
    struct weir_slice known[TEXT_KNOWN];
    struct verify_result result;
    struct stripped stripped = {.text = words};
    struct verify_input input = {.text = words, .ledger = ledger, .known = known};
    input.n_known = text_own(e->c, known);
    enum weir_status st = verify_text(&result, &input, e->c->arena);
    if (st != WEIR_OK) return st;
    if (result.n_lacking > 0 && e->n_rewrites < EXPERT_REWRITES) {
        ask_again(e, &input, &result);
        return WEIR_OK;
    }
    if (result.n_lacking > 0) st = verify_strip(&stripped, &input, e->c->arena);
    if (st == WEIR_OK) weir_buf_append_slice(e->out, stripped.text);
    e->is_over = true;
    return st == WEIR_OK ? weir_buf_status(e->out) : st;
}

static enum weir_status finish(struct explanation *e)
{
    struct weir_buf raw, fit;
    struct ledger ledger;
    struct weir_json_doc *doc = weir_json_doc_new(DOC_BYTES);
    if (!doc) return WEIR_NOMEM;
    weir_buf_init(&raw, LLM_CONTENT_BYTES);
    weir_buf_init(&fit, AGENT_TEXT_BYTES);
    talk_put_text(&e->talk, &raw);
    enum weir_status st = text_put_fit(&fit, e->c, weir_buf_slice(&raw), NULL);
    struct weir_slice words = text_keep_clean(e->c->arena, weir_buf_slice(&fit), LLM_WORDS_BYTES);
    if (st == WEIR_OK) st = read_facts(e, doc, &ledger);
    if (st == WEIR_OK) st = take_words(e, words, &ledger);
    weir_buf_fini(&fit);
    weir_buf_fini(&raw);
    weir_json_doc_free(doc);
    return st;
}

/* ---- the whole ---- */

static enum weir_status converse(struct explanation *e)
{
    enum weir_status st = WEIR_OK;
    for (unsigned i = 0; st == WEIR_OK && i < EXPERT_ROUNDS && !e->is_over; i++) {
        st = talk_ask(&e->talk, "domain_expert");
        if (st != WEIR_OK) break;
        st = talk_next_call(&e->talk, NULL) ? answer_calls(e) : finish(e);
    }
    return st;
}

enum weir_status llm_expert(struct agent_case *c, const struct llm_lookup *l,
                            struct weir_slice question, struct weir_buf *out)
{
    struct explanation e = {.c = c, .l = l, .out = out};
    struct weir_buf memory, tools;
    weir_buf_init(&memory, CONTEXT_BYTES);
    weir_buf_init(&tools, TOOLS_BYTES);
    context_put_memory(&memory, c, (struct weir_slice){0});
    put_tools(&tools);
    struct prompt_value values[] = {{"question", question},
                                    {"rows", l->rows},
                                    {"said", l->said},
                                    {"memory", weir_buf_slice(&memory)}};
    talk_begin(&e.talk, c, MODEL_MAIN, "domain_expert", values, 4);
    e.talk.request.tools = weir_buf_slice(&tools);
    e.talk.request.max_tokens = EXPERT_TOKENS;
    enum weir_status st = weir_buf_status(&tools);
    if (st == WEIR_OK) st = converse(&e);
    talk_end(&e.talk);
    weir_buf_fini(&tools);
    weir_buf_fini(&memory);
    return st;
}
