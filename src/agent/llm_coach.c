/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Next steps in a model's words. It chooses among rows of the table and may add plain advice of its
 * own; a step that holds a number which is not the person's, or names a medicine, is not taken.
 * What cannot be read leaves the rows as they are.
 */
#include <stdio.h>

#include "agent/llm_impl.h"
#include "base/slice.h"

enum {
    OPENING_BYTES = 300,
    STEP_BYTES = 320,
    COACH_TOKENS = 700,
    FINDINGS_BYTES = 4 << 10,
};

struct coaching {
    struct agent_case *c;
    const struct llm_row *rows;
    size_t n_rows;
    struct llm_advice *out;
    enum weir_status status; /* of what is not the model's fault */
};

/* Words that may be said; false with the reason. */
static bool read_words(struct coaching *k, const struct weir_json *object, const char *key,
                       size_t most, struct weir_slice *out, char why[LLM_WHY_BYTES])
{
    struct said said;
    struct weir_slice text;
    bool is_own = false;
    if (!json_read_text(object, key, most, &text, why)) return false;
    *out = text_keep_clean(k->c->arena, text, most);
    if (out->len == 0) return false;
    enum weir_status st = text_has_own_numbers(k->c, *out, &is_own);
    if (st == WEIR_OK) st = said_read(&said, *out, NULL, k->c->arena);
    if (st != WEIR_OK) {
        k->status = st;
        return false;
    }
    bool is_drug = said_names_medicine(&said);
    if (is_own && !is_drug) return true;
    snprintf(why, LLM_WHY_BYTES, "\"%s\" may %s: %.*s", key,
             is_drug ? "name no medicine or supplement" : "hold no number", 100, out->ptr);
    return false;
}

static bool read_step(struct coaching *k, const struct weir_json *json, char why[LLM_WHY_BYTES])
{
    int64_t row = 0;
    struct llm_advice *a = k->out;
    struct weir_slice text;
    if (!read_words(k, json, "text", STEP_BYTES, &text, why)) return false;
    if (!weir_json_int64(weir_json_get_str(json, "based_on"), &row) || row < 0 ||
        row > (int64_t)k->n_rows) {
        snprintf(why, LLM_WHY_BYTES, "\"based_on\" is the number of a proposal, or 0");
        return false;
    }
    a->steps[a->n] = text;
    a->sources[a->n++] = row > 0 ? k->rows[row - 1].source : "";
    return true;
}

static bool read_advice(void *user, const struct weir_json *json, char why[LLM_WHY_BYTES])
{
    struct coaching *k = user;
    const struct weir_json *list;
    k->out->n = 0;
    if (!read_words(k, json, "opening", OPENING_BYTES, &k->out->opening, why)) return false;
    if (!json_read_list(json, "steps", LLM_STEPS, &list, why)) return false;
    for (const struct weir_json *v = weir_json_first(list); v; v = weir_json_next(v))
        if (!read_step(k, v, why)) return false;
    if (k->out->n > 0) return true;
    snprintf(why, LLM_WHY_BYTES, "there has to be a step");
    return false;
}

static void put_findings(struct weir_buf *out, struct agent_case *c)
{
    const struct weir_json *results = agent_output(c, "run_supporting_agents");
    const struct weir_json *list =
        weir_json_get_str(weir_json_get_str(results, "data_science"), "findings");
    for (const struct weir_json *f = weir_json_first(list); f; f = weir_json_next(f)) {
        weir_buf_append_slice(out, agent_text(f, "claim"));
        weir_buf_append_char(out, '\n');
    }
    if (out->len == 0) weir_buf_append_str(out, "(nothing)");
}

static enum weir_status ask(struct coaching *k, struct weir_slice question)
{
    struct weir_buf memory, findings, rows;
    weir_buf_init(&memory, CONTEXT_BYTES);
    weir_buf_init(&findings, FINDINGS_BYTES);
    weir_buf_init(&rows, CONTEXT_BYTES);
    context_put_memory(&memory, k->c, (struct weir_slice){0});
    put_findings(&findings, k->c);
    for (size_t i = 0; i < k->n_rows; i++)
        weir_buf_printf(&rows, "%zu. %s\n", i + 1, k->rows[i].step);
    struct prompt_value values[] = {{"question", question},
                                    {"memory", weir_buf_slice(&memory)},
                                    {"findings", weir_buf_slice(&findings)},
                                    {"proposals", weir_buf_slice(&rows)}};
    struct llm_question q = {
        .role = MODEL_MAIN,
        .prompt = "health_coach",
        .values = values,
        .n_values = 4,
        .schema = "{\"type\":\"object\",\"additionalProperties\":false,\"required\":[\"opening\","
                  "\"steps\"],\"properties\":{\"opening\":{\"type\":\"string\"},\"steps\":{"
                  "\"type\":\"array\",\"items\":{\"type\":\"object\",\"additionalProperties\":"
                  "false,\"required\":[\"text\",\"based_on\"],\"properties\":{\"text\":{\"type\":"
                  "\"string\"},\"based_on\":{\"type\":\"integer\",\"minimum\":0}}}}}}",
        .max_tokens = COACH_TOKENS,
        .read = read_advice,
        .user = k};
    enum weir_status st = llm_json(k->c, &q);
    weir_buf_fini(&rows);
    weir_buf_fini(&findings);
    weir_buf_fini(&memory);
    return st;
}

enum weir_status llm_coach(struct agent_case *c, struct weir_slice question,
                           const struct llm_row *rows, size_t n, struct llm_advice *out)
{
    struct coaching k = {.c = c, .rows = rows, .n_rows = n, .out = out};
    *out = (struct llm_advice){0};
    enum weir_status st = ask(&k, question);
    if (k.status != WEIR_OK) return k.status;
    if (st != WEIR_OK) *out = (struct llm_advice){0};
    return st == WEIR_UNPROCESSABLE ? WEIR_OK : st;
}
