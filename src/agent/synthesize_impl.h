/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The answer in the making.
 *
 *   synthesize.c            writing, verifying, streaming
 *   synthesize_compose.c    what is said, in which order
 */
#pragma once

#include "agent/voice_impl.h"
#include "check/strip.h"

enum {
    SYNTHESIS_FINDINGS = 24,
    SYNTHESIS_ATTEMPTS = 3, /* at an answer in which each number has a home */
};

struct synthesis {
    struct agent_case *c;
    struct voice voice;
    struct weir_slice main, pattern, safety; /* of the route; empty: none */
    struct told *findings[SYNTHESIS_FINDINGS];
    size_t n_findings;
    bool was_said[SYNTHESIS_FINDINGS];
};

/* What became of it. */
struct outcome {
    struct weir_slice answer;
    unsigned attempts;
    struct weir_buf flagged; /* a JSON list in the making */
    struct stripped stripped;
    struct verify_result verified; /* the numbers of the answer */
};

/* Whether there is nothing to read in it: marks of Markdown alone are nothing. */
bool answer_is_blank(struct weir_slice text);

/* An offence of this attempt: what is wrong with a piece of the text. */
void outcome_flag(struct outcome *o, struct weir_slice text, struct weir_slice offence);
void outcome_flag_number(struct outcome *o, struct weir_slice text, const struct verified *n);

/* Reads what earlier steps brought. WEIR_NOMEM, WEIR_LIMIT. */
WEIR_MUST_CHECK enum weir_status synthesis_init(struct synthesis *s, struct agent_case *c);

/* Writes the whole answer into the voice. */
void compose(struct synthesis *s);

/* A RESULT: of the main agent, a supporting one or a follow-up; NULL. */
const struct weir_json *result_of(struct agent_case *c, const char *agent);
