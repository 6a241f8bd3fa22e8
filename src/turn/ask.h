/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One agent at work, over all passes of an attempt at a step, and what it asks models: see ask.c.
 *
 * 1. asker_init(). 2. A pass: asker_begin(), then the agent, which calls asker_ask() and
 * asker_emit(), then asker_end(). WEIR_PENDING: the part waits (flow_part_wait()), and is resumed
 * when there may be another pass. 3. asker_fini().
 *
 * A pass is one thread's; asker_abort() and asker_next_thought() are anybody's.
 */
#pragma once

#include "turn/turn_impl.h"

struct asker {
    struct turns *turns;
    struct flow_step *step;
    unsigned part;
    unsigned n_known;   /* answers that this attempt has seen or waited for */
    unsigned n_emitted; /* events of the agent that were sent */

    /* Of this pass. */
    unsigned n_asked, n_events;
    bool has_started;         /* a call, by its last question */
    struct call_found *found; /* the answers that it was given */
    enum weir_status lost;    /* how the last one had failed for good; WEIR_OK: it had not */
    char lost_why[MODEL_WHY_BYTES];

    /* Of the call: the engine's from its start to its end. */
    struct call call;
    bool has_failed; /* the attempt is to end with this */
    struct flow_failure failure;

    pthread_mutex_t lock; /* for what follows */
    bool is_open, has_ticket, is_aborted;
    uint64_t ticket;
    struct weir_buf text; /* that has come and was not sent yet */
};

void asker_init(struct asker *a, struct turns *t, struct flow_step *s, unsigned part);
void asker_fini(struct asker *a);

/* False: there is nothing to go on with; see a->failure. */
bool asker_begin(struct asker *a);
/* With what the agent returned: what has become of it; see a->failure if a->has_failed. */
WEIR_MUST_CHECK enum weir_status asker_end(struct asker *a, enum weir_status st);

/* The answer is valid until asker_end(). WEIR_PENDING and all else: the agent returns at once. */
WEIR_MUST_CHECK enum weir_status asker_ask(struct asker *a, const struct model_request *request,
                                           const char *agent, const struct call_found **found);
void asker_emit(struct asker *a, const char *type, struct weir_slice json);

/* Its call is to end soon. */
void asker_abort(struct asker *a);
/* Appends an event's JSON; false: there is none. */
bool asker_next_thought(struct asker *a, struct weir_buf *json);
