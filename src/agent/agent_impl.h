/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the agents share: their events, who does the work of each, and small readings of JSON.
 *
 *   work.c        which agent answers to which name
 *   events.c      agent.started, agent.thought, agent.completed
 *
 * An agent's own function writes its RESULT (docs/turns.md) and streams what it does by
 * agent_think(). The events around it are work.c's.
 */
#pragma once

#include "agent/agent.h"

enum {
    AGENT_SUMMARY_BYTES = 160,      /* of a RESULT, characters of ASCII or fewer of others */
    AGENT_TEXT_BYTES = 64 << 10,    /* of what an agent streams, and of an answer */
    AGENT_FINDINGS_BYTES = 2 << 20, /* of all findings of a RESULT */
    AGENT_DELTA_BYTES = 24,         /* about so much at once */
};

/* ---- the agents: each brings a RESULT ---- */
WEIR_MUST_CHECK enum weir_status data_science_work(struct agent_case *c, struct weir_slice question,
                                                   struct weir_buf *out);
WEIR_MUST_CHECK enum weir_status domain_expert_work(struct agent_case *c,
                                                    struct weir_slice question,
                                                    struct weir_buf *out);
WEIR_MUST_CHECK enum weir_status health_coach_work(struct agent_case *c, struct weir_slice question,
                                                   struct weir_buf *out);
WEIR_MUST_CHECK enum weir_status investigator_work(struct agent_case *c, struct weir_slice question,
                                                   struct weir_buf *out);

/* ---- events ---- */

/* Who is at work and since when. */
struct agent_span {
    const char *agent;
    uint64_t began_ns;
    double began_usd;
    uint64_t waited_ms; /* before it began */
};

static inline bool agent_is_aborted(const struct agent_case *c)
{
    return c->is_aborted && c->is_aborted(c->user);
}

struct agent_span agent_begin(struct agent_case *c, const char *agent, struct weir_slice question);
void agent_end(struct agent_case *c, struct agent_span span, struct weir_slice summary);

/* A text in small deltas, cut behind blanks; `channel` NULL: the agent's own thoughts. */
void agent_think(struct agent_case *c, const char *agent, const char *channel,
                 struct weir_slice text);

/* What a step brought, or NULL. */
static inline const struct weir_json *agent_output(struct agent_case *c, const char *step)
{
    return c->output ? c->output(c->user, step) : NULL;
}

static inline struct weir_slice agent_text(const struct weir_json *object, const char *key)
{
    return weir_json_text(weir_json_get_str(object, key));
}
