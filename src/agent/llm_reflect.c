/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is to be asked once more, by a model: at most LLM_FOLLOW_UPS questions, which go the way of
 * all others. An answer that cannot be read asks for nothing.
 */
#include <stdio.h>

#include "agent/llm_impl.h"
#include "base/slice.h"

enum {
    FINDINGS_BYTES = 16 << 10,
    ANSWER_BYTES = 400, /* of a finding's answer, as it is told */
    REFLECT_TOKENS = 400,
};

struct follow_ups {
    struct agent_case *c;
    struct weir_slice asked; /* what the data scientist was asked */
    struct weir_slice *list;
    size_t n;
};

static void put_finding(struct weir_buf *out, const struct weir_json *f)
{
    struct weir_buf answer;
    weir_buf_init(&answer, AGENT_FINDINGS_BYTES);
    weir_json_put_value(&answer, weir_json_get_str(f, "answer"));
    struct weir_slice text = weir_buf_slice(&answer);
    weir_buf_append_slice(out, agent_text(f, "claim"));
    weir_buf_append_str(out, " (");
    weir_buf_append_slice(out, agent_text(f, "window"));
    weir_buf_append_str(out, "): ");
    weir_buf_append_slice(out,
                          slice_of(text.ptr, text.len < ANSWER_BYTES ? text.len : ANSWER_BYTES));
    weir_buf_append_char(out, '\n');
    weir_buf_fini(&answer);
}

static bool is_known(const struct follow_ups *f, struct weir_slice text)
{
    bool is_same = text.len == f->asked.len && strncasecmp(text.ptr, f->asked.ptr, text.len) == 0;
    for (size_t i = 0; i < f->n; i++) is_same = is_same || slice_eq(f->list[i], text);
    return is_same;
}

static bool read_follow_ups(void *user, const struct weir_json *json, char why[LLM_WHY_BYTES])
{
    struct follow_ups *f = user;
    const struct weir_json *list;
    f->n = 0;
    if (!json_read_list(json, "follow_ups", LLM_FOLLOW_UPS, &list, why)) return false;
    for (const struct weir_json *v = weir_json_first(list); v; v = weir_json_next(v)) {
        struct weir_slice text = weir_json_text(v);
        bool is_text = weir_json_type_of(v) == WEIR_JSON_STRING && text.len <= LLM_FOLLOW_UP_BYTES;
        if (is_text) text = text_keep_clean(f->c->arena, text, LLM_FOLLOW_UP_BYTES);
        if (!is_text || text.len == 0) {
            snprintf(why, LLM_WHY_BYTES, "a follow-up is a question of 1 to %d bytes",
                     LLM_FOLLOW_UP_BYTES);
            return false;
        }
        if (!is_known(f, text)) f->list[f->n++] = text;
    }
    return true;
}

enum weir_status llm_reflect(struct agent_case *c, const struct weir_json *result,
                             struct weir_slice out[LLM_FOLLOW_UPS], size_t *n)
{
    struct follow_ups f = {.c = c, .asked = agent_text(result, "question"), .list = out};
    struct weir_buf findings, metrics;
    weir_buf_init(&findings, FINDINGS_BYTES);
    weir_buf_init(&metrics, CONTEXT_BYTES);
    const struct weir_json *v = weir_json_first(weir_json_get_str(result, "findings"));
    for (; v; v = weir_json_next(v)) put_finding(&findings, v);
    if (findings.len == 0) weir_buf_append_slice(&findings, agent_text(result, "text"));
    enum weir_status st = context_put_names(&metrics, c);
    struct prompt_value values[] = {{"question", c->question},
                                    {"findings", weir_buf_slice(&findings)},
                                    {"metrics", weir_buf_slice(&metrics)}};
    struct llm_question q = {
        .role = MODEL_MAIN,
        .prompt = "reflection",
        .values = values,
        .n_values = 3,
        .schema =
            "{\"type\":\"object\",\"additionalProperties\":false,\"required\":[\"follow_ups\"]"
            ",\"properties\":{\"follow_ups\":{\"type\":\"array\",\"items\":{\"type\":"
            "\"string\"}}}}",
        .max_tokens = REFLECT_TOKENS,
        .read = read_follow_ups,
        .user = &f};
    if (st == WEIR_OK) st = llm_json(c, &q);
    *n = st == WEIR_OK ? f.n : 0;
    weir_buf_fini(&metrics);
    weir_buf_fini(&findings);
    return st == WEIR_UNPROCESSABLE ? WEIR_OK : st;
}
