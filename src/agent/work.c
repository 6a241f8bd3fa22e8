/* SPDX-License-Identifier: Apache-2.0 */
/* Which agent answers to which name, and the events around its work. */
#include "agent/agent_impl.h"

static const struct {
    const char *name;
    enum weir_status (*work)(struct agent_case *c, struct weir_slice question,
                             struct weir_buf *out);
} agents[] = {
    {"data_science", data_science_work},
    {"domain_expert", domain_expert_work},
    {"health_coach", health_coach_work},
    {"investigator", investigator_work},
};

/* The summary of a RESULT, as far as it can be read. */
static void end(struct agent_case *c, struct agent_span span, struct weir_slice result)
{
    const struct weir_json *json = NULL;
    struct weir_json_doc *doc = weir_json_doc_new(0);
    enum weir_status st = doc ? weir_json_parse(doc, result, &json, NULL) : WEIR_NOMEM;
    agent_end(c, span, st == WEIR_OK ? agent_text(json, "summary") : (struct weir_slice){0});
    weir_json_doc_free(doc);
}

enum weir_status agent_work(struct agent_case *c, const char *agent, struct weir_slice question,
                            struct weir_buf *out)
{
    for (size_t i = 0; i < sizeof agents / sizeof *agents; i++) {
        if (strcmp(agents[i].name, agent) != 0) continue;
        struct agent_span span = agent_begin(c, agents[i].name, question);
        size_t before = out->len;
        enum weir_status st = agents[i].work(c, question, out);
        if (st != WEIR_OK) return st;
        struct weir_slice all = weir_buf_slice(out);
        end(c, span, (struct weir_slice){all.ptr + before, all.len - before});
        return weir_buf_status(out);
    }
    return WEIR_NOT_FOUND;
}
