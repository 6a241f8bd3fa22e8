/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The builtin critic: what a sceptical reader would say of a finding that the gates have judged,
 * and what is left of it after that. Its rules are data (critic.def); docs/critic.md explains them.
 *
 * 1. gates_run() gives a verdict.
 * 2. critic_review() gives concerns, and accept, downgrade or reject.
 * 3. critic_combine() makes one verdict of both: reject wins, downgrade makes conditional.
 * 4. critic_assess() says it in words: one line, and the sentence that an answer has to use.
 *
 * A critic that is a model is given the same case and its answer goes through 3 and 4 as well.
 * Deterministic; any thread. Texts are the arena's or constant.
 */
#pragma once

#include <weir/buf.h>

#include "check/gates.h"

enum critic_name { CRITIC_ACCEPT, CRITIC_DOWNGRADE, CRITIC_REJECT };
const char *critic_name(enum critic_name c);

enum concern_kind {
    CONCERN_CONFOUNDER,
    CONCERN_REVERSE_CAUSATION,
    CONCERN_SELECTION_BIAS,
    CONCERN_LITERATURE_CONTRADICTION,
    CONCERN_TAUTOLOGY,
    CONCERN_SMALL_N,
    CONCERN_NOISE,
    CONCERN_MULTIPLE_TESTING,
    CONCERN_MEASUREMENT,
    N_CONCERN_KINDS,
};
const char *concern_kind_name(enum concern_kind k);

enum severity { SEVERITY_LOW, SEVERITY_MEDIUM, SEVERITY_HIGH };
const char *severity_name(enum severity s);

struct concern {
    enum concern_kind kind;
    enum severity severity;
    const char *note; /* a sentence */
};

enum {
    CRITIC_CONCERNS = 12,      /* most of one finding */
    CRITIC_TEXT_BYTES = 600,   /* of a note, a reasoning or a line */
    CRITIC_MANY_TESTS = 20,    /* so many, and one in twenty is there by chance */
    CRITIC_ARENA_BYTES = 32768 /* enough for the review and the assessment of one finding */
};

struct critic_case {
    const struct finding *finding;
    const struct verdict *verdict; /* of the gates */
    size_t n_tests;                /* tried to find this one; 0 or 1: it was asked for */
    bool is_confirmed;             /* found on some days, then confirmed on others */
    bool is_causal;                /* the question is whether the one makes the other */
};

struct critique {
    enum critic_name name;
    const char *reasoning; /* one line */
    size_t n;
    struct concern concerns[CRITIC_CONCERNS]; /* the gravest first */
};

/* A concern that is high downgrades; a tautology that is high rejects. WEIR_LIMIT, WEIR_NOMEM. */
WEIR_MUST_CHECK enum weir_status critic_review(struct critique *out, const struct critic_case *c,
                                               struct arena *arena);

/* {"verdict","reasoning","concerns":[{"kind","severity","note"}]}, without the braces around. */
void critic_put(struct weir_buf *out, const struct critique *critique);

enum verdict_name critic_combine(enum verdict_name gates, enum critic_name critic);

struct assessment {
    enum verdict_name verdict; /* of gates and critic together */
    const char *word;          /* "consistent", "uncertain", "not supported" */
    const char *line;  /* "uncertain: your weight may have fallen over these days, but …" */
    const char *claim; /* the middle of it; hedged where it is uncertain */
    const char *doubt; /* "it is not the same in every part of these days"; "" when none */
};

/* WEIR_LIMIT, WEIR_NOMEM. */
WEIR_MUST_CHECK enum weir_status critic_assess(struct assessment *out, const struct critic_case *c,
                                               const struct critique *critique,
                                               struct arena *arena);

/* Whether a sentence says in words that it is not sure: may, seems, perhaps, uncertain … */
bool assess_is_hedged(struct weir_slice sentence);
