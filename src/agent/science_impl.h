/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The data scientist at work: plans are run, their answers become findings, and what is said on the
 * way is streamed. Who makes the plans is another matter.
 *
 *   data_science.c   the grammar of questions makes them
 *   llm_science.c    a model does, by calling a tool
 */
#pragma once

#include "agent/agent_impl.h"
#include "agent/finding.h"
#include "agent/questions.h"

struct science {
    struct agent_case *c;
    struct weir_slice question;
    struct weir_buf text, findings;
    struct weir_buf summary; /* the first result, in a sentence of its own */
    struct claim_wish wish;
    size_t n_pairs; /* relations that a model has tried for this question */
};

/* Says a sentence, which has no number. */
void science_say(struct science *s, const char *text);

/* Whether an earlier step has looked at the very same. */
bool science_knows(struct science *s, const struct plan *plan);

/* Runs a plan, brings what came out of it, says so; *a is the answer, with a reason if it is none.
 */
WEIR_MUST_CHECK enum weir_status science_answer(struct science *s, const struct asked *asked,
                                                struct plan_answer *a);
