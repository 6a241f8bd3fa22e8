/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which way a question goes through the steps, from what the first of them brought; and the whole
 * way in one go, for those who have no model and no need of a durable turn.
 *
 * Pure, but for agent_answer(), which reads data. Any thread.
 */
#pragma once

#include "agent/agent.h"

/* What steps brought, by name; NULL when one did not run. */
struct outputs {
    const struct weir_json *(*get)(void *user, const char *step);
    void *user;
};

/* Which way a turn takes, from the outputs of the first two steps. */
enum turn_path {
    PATH_TALK,   /* the conversational answer, or help: no agents, no gates */
    PATH_AGENTS, /* a main agent, maybe supporting ones */
    PATH_SEARCH, /* the investigator */
};
enum turn_path path_of(const struct outputs *o);

/* The agents of step 4, in order; returns how many. */
enum { MAX_SUPPORTING = 4 };
size_t supporting_agents(const struct outputs *o, const char *names[MAX_SUPPORTING]);
const char *main_agent(const struct outputs *o); /* NULL: none */

/*
 * What a step brought, as the agents know it: the investigator, which runs in step 4, is the main
 * agent to them.
 */
const struct weir_json *agents_view(const struct outputs *o, const char *step);

/*
 * All steps one after the other, without a model: the answer's text. c->output is not used; the
 * rest of the case as for any step. As the steps fail; WEIR_UNPROCESSABLE: there is no answer.
 */
WEIR_MUST_CHECK enum weir_status agent_answer(struct agent_case *c, struct weir_buf *text);
