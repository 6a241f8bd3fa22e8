/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private values in what is asked of models: placeholders leave, values come back. See values.c.
 *
 * 1. call_values_init() for an attempt at a step, with the id of the map that its values are in.
 * 2. call_values_ask() in place of asker_ask(); call_values_ready() and call_values_restore_text()
 *    for what comes meanwhile.
 * 3. call_values_fini() when no call is under way any more.
 *
 * Any thread, but for the first and the last.
 */
#pragma once

#include <stdatomic.h>

#include "call/ask.h"
#include "shield/guard.h"
#include "shield/policy.h"
#include "shield/vault.h"

/* What an engine says to all of its. Borrowed. */
struct values_home {
    struct store *store;
    const struct models *models;
    const struct shield_policy *policy; /* NULL, or no vault: nothing is looked for */
    const struct vault *vault;
    const char *path; /* for the audit: "turn" */
};

enum { VALUES_OLD = 512 };

/* Of an attempt at a step, shared by its parts. */
struct call_values {
    const struct values_home *home;
    struct weir_slice id; /* of the map: borrowed */
    /* A copy of the guard that does not change, the newest; it lasts as long as this. Read without
     * the lock, for its readers have one of the workflows' engine. */
    _Atomic(struct guard *) leaving;
    pthread_mutex_t lock; /* over all below */
    struct guard *guard;  /* NULL: nobody has asked yet */
    uint64_t version;     /* of which there is a copy */
    struct guard *old[VALUES_OLD];
    unsigned n_old;
};
void call_values_init(struct call_values *v, const struct values_home *home, struct weir_slice id);
void call_values_fini(struct call_values *v);

/* Who asks. */
struct values_asker {
    struct flow_step *step;
    struct asker *asker;
    struct arena *arena;
};
/*
 * asker_ask() with placeholders in place of what is private; the answer has the values again, and
 * lives as long as the arena. WEIR_UNPROCESSABLE: the policy forbids it.
 */
WEIR_MUST_CHECK enum weir_status call_values_ask(struct call_values *v, struct values_asker *w,
                                                 const struct model_request *request,
                                                 const char *agent, const struct call_found **found,
                                                 const struct model_answer **answer);
/* How many of the first bytes end outside of a placeholder that may be coming. */
size_t call_values_ready(struct call_values *v, struct weir_slice text);
void call_values_restore_text(struct call_values *v, struct weir_slice text, struct weir_buf *out);

/* The guard with a map as it is stored; the caller frees it. NULL: there is none, or no key to it.
 */
struct guard *call_values_of(const struct values_home *home, struct weir_slice id);
/* The answer as agents know it; lives as long as the arena. */
WEIR_MUST_CHECK enum weir_status call_values_restore(const struct guard *g, struct arena *arena,
                                                     const struct model_answer *answer,
                                                     const struct model_answer **out);
/* What would be recorded of a request: model_request_put() with placeholders. */
WEIR_MUST_CHECK enum weir_status call_values_redact_again(struct guard *g,
                                                          const struct model_request *request,
                                                          struct weir_buf *body);
