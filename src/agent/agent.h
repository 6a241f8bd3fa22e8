/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agents, step by step of a turn, on a model where one plays the role, otherwise on the builtin
 * provider: no model, no network. A step is a function from what came before it to JSON;
 * docs/turns.md has the shapes. It knows nothing of workflows: src/turn calls these and commits
 * what they bring.
 *
 * A step that needs a model's answer which is not there yet returns WEIR_PENDING at once, with
 * nothing held. It is called again from its beginning when the answer has come, and asks the same
 * questions in the same order: they are answered from what was recorded. Events that it emitted
 * before are not sent again.
 *
 * Deterministic: the same case gives the same bytes, apart from times in events. Any thread; one at
 * a time per case.
 */
#pragma once

#include <weir/buf.h>
#include <weir/json.h>

#include "base/arena.h"
#include "base/clock.h"
#include "data/dataset.h"
#include "model/model.h"

enum { AGENT_WHY_BYTES = 192, AGENT_QUESTION_BYTES = 8 << 10 };

/* What a step works on. Borrowed. */
struct agent_case {
    struct weir_slice turn_id;
    const struct weir_json *messages; /* [{"role","content"}…]; the last one is the question */
    struct weir_slice question;
    const struct weir_json *memory; /* [{"id","category","text","data"}…]; NULL: not to be used */
    bool has_biomarkers;            /* laboratory results may be used */
    struct dataset *data;           /* never NULL; may be empty */
    const struct clock *clock;
    uint64_t seed; /* from the turn's id */
    struct arena *arena;
    /* What earlier steps brought, by name; NULL when the step did not run. */
    const struct weir_json *(*output)(void *user, const char *step);
    /* An event, on its way at once: one line of JSON. */
    void (*emit)(void *user, const char *type, struct weir_slice json);
    /*
     * The next answer of a model; NULL: there is no model in any role. *answer is valid until the
     * step returns. `agent` is whose thoughts the deltas are; NULL: they are not shown.
     * WEIR_PENDING: see above. WEIR_OK also for an answer that has failed for good: see its status.
     */
    enum weir_status (*ask)(void *user, const struct model_request *request, const char *agent,
                            const struct model_answer **answer);
    /* Whether it was cancelled or is out of time: what lasts looks, and ends with WEIR_CANCELLED.
     * NULL: never. Any thread may have said so meanwhile. */
    bool (*is_aborted)(void *user);
    bool has_model[MODEL_N_ROLES]; /* who plays a role; false: the builtin provider */
    void *user;
    unsigned n_findings;       /* that agents of this step have brought; 0 at its beginning */
    double cost_usd;           /* of the answers that this step was given; 0 at its beginning */
    uint64_t waited_ms;        /* for them, in earlier passes; kept by `ask` */
    char why[AGENT_WHY_BYTES]; /* of a failure */
};

/*
 * Each writes the output of its step. WEIR_UNPROCESSABLE when there is no plan to be had and no
 * honest answer either; WEIR_CANCELLED; WEIR_NOMEM, WEIR_LIMIT; what the store says when data
 * cannot be read.
 */
WEIR_MUST_CHECK enum weir_status agent_classify(struct agent_case *c, struct weir_buf *out);
WEIR_MUST_CHECK enum weir_status agent_route(struct agent_case *c, struct weir_buf *out);
WEIR_MUST_CHECK enum weir_status agent_rephrase(struct agent_case *c, struct weir_buf *out);
/* One agent ("data_science", "domain_expert", "health_coach", "investigator") and its question. */
WEIR_MUST_CHECK enum weir_status agent_work(struct agent_case *c, const char *agent,
                                            struct weir_slice question, struct weir_buf *out);
WEIR_MUST_CHECK enum weir_status agent_reflect(struct agent_case *c, struct weir_buf *out);
WEIR_MUST_CHECK enum weir_status agent_validate(struct agent_case *c, struct weir_buf *out);
WEIR_MUST_CHECK enum weir_status agent_synthesize(struct agent_case *c, struct weir_buf *out);
WEIR_MUST_CHECK enum weir_status agent_remember(struct agent_case *c, struct weir_buf *out);
