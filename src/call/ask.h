/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whoever asks models inside of a durable step, over all passes of an attempt at it: see ask.c.
 *
 * 1. call_host_init() once for an engine; asker_init() for each part of a step that asks.
 * 2. A pass: asker_begin(), then whoever calls asker_ask() and asker_emit(), then asker_end().
 *    WEIR_PENDING: the part waits (flow_part_wait()), and is resumed when there may be another
 *    pass.
 * 3. asker_fini(). call_host_stop() before the models may go, call_host_fini().
 *
 * A pass is one thread's; asker_abort() and asker_next_text() are anybody's.
 */
#pragma once

#include <pthread.h>

#include "call/calls.h"

struct asker;

/* What the askers of an engine have in common. Set before call_host_init(), but for the end. */
struct call_host {
    struct models *models;
    const char *what;         /* a run, for people: "turn" */
    double warn_usd, max_usd; /* of a run; 0: never */
    /* What a model says, as it comes: events of this type, each from some of the text. */
    const char *text_type; /* NULL: events have none */
    void (*put_text)(struct asker *a, struct weir_buf *json, enum model_delta kind,
                     struct weir_slice text);
    /* How many of the first bytes may be sent now; `is_last`: no more come. NULL: all. */
    size_t (*ready)(struct asker *a, struct weir_slice text, bool is_last);
    bool shows_thinking;
    bool tells_kinds; /* thinking is never joined with text; false: all of it is MODEL_TEXT */
    /* A recorded answer counts by its number alone, and all of it was sent. False: it counts if the
     * question is the same, and is sent again to those who follow another attempt. */
    bool is_by_number;
    /* What earlier attempts have shown of the answer that is asked for, and was cut: it is recorded
     * as that, with the stop MODEL_STOP_CUT, and nobody is asked. NULL: nothing ever. */
    struct weir_slice (*shown)(struct asker *a);
    void (*put_warning)(struct asker *a, struct weir_buf *json, double cost_usd); /* NULL: none */

    /* Its own. */
    pthread_mutex_t models_lock;
    bool is_stopped;           /* the models may be gone; under that lock */
    pthread_mutex_t cost_lock; /* whose cost passes the limit */
};
void call_host_init(struct call_host *h);
void call_host_stop(struct call_host *h);
void call_host_fini(struct call_host *h);

/* Bytes of one kind. */
struct text_run {
    enum model_delta kind;
    size_t len;
};

struct asker {
    struct call_host *host;
    struct flow_step *step;
    void *user; /* for the host's functions */
    unsigned part;
    unsigned n_known;   /* answers that this attempt has seen or waited for */
    unsigned n_emitted; /* events of the pass that were sent */

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
    bool is_last;         /* no more text comes */
    struct weir_buf text; /* that has come and was not sent yet, */
    struct weir_buf runs; /* struct text_run: of which kind its bytes are, in order */
};

void asker_init(struct asker *a, struct call_host *h, struct flow_step *s, unsigned part);
void asker_fini(struct asker *a);

/* False: there is nothing to go on with; see a->failure. */
bool asker_begin(struct asker *a);
/* With what the pass came to: what has become of it; see a->failure if a->has_failed. */
WEIR_MUST_CHECK enum weir_status asker_end(struct asker *a, enum weir_status st);
/*
 * The same for a pass that makes one output, and may wait for somebody else than a model:
 * WEIR_PENDING then, whatever it came to. The output is kept with WEIR_OK alone.
 */
WEIR_MUST_CHECK enum weir_status asker_end_output(struct asker *a, enum weir_status st, bool waits,
                                                  struct weir_buf *out);
/* Of an attempt that ended with this. What a model has said is not asked for by a next attempt. */
struct flow_failure asker_failure(const struct asker *a, enum weir_status code, const char *why);

/*
 * The answer is valid until asker_end(). WEIR_PENDING and all else: the pass returns at once.
 * `agent` is whose words are sent as they come; NULL: nobody's are.
 */
WEIR_MUST_CHECK enum weir_status asker_ask(struct asker *a, const struct model_request *request,
                                           const char *agent, const struct call_found **found);
/* The attempt ends with this, for good, whatever the pass makes of it. Returns the code. */
enum weir_status asker_refuse(struct asker *a, enum weir_status code, const char *why);
/* Events of the pass: what an earlier pass of the attempt has sent is not sent again. */
void asker_emit(struct asker *a, const char *type, struct weir_slice json);

/* Its call is to end soon. */
void asker_abort(struct asker *a);
/* Appends an event's JSON, of the host's type; false: there is none. */
bool asker_next_text(struct asker *a, struct weir_buf *json);
