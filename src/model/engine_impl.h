/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine and its calls.
 *
 * Two threads. The engine's own has the heap of what is due: it begins attempts, ends pauses and
 * plays cassettes. The fetcher's hears answers, and so deltas go straight to whoever watches. A
 * call belongs to the thread that works on it: to the fetcher's while an attempt is under way, else
 * to the engine's; it passes from one to the other under the lock. Every call is in the heap from
 * its beginning to its end, due never while it runs, so that nothing can fail when it has to wait.
 *
 * No callback is called with the lock held.
 */
#pragma once

#include <pthread.h>

#include "base/heap.h"
#include "base/list.h"
#include "base/map.h"
#include "io/fetch.h"
#include "model/breaker.h"
#include "model/cassette.h"
#include "model/model_impl.h"

enum { CALL_MAGIC = 0x6d63616c };

enum call_state {
    CALL_WAITING, /* until it is due */
    CALL_QUEUED,  /* until its provider has room */
    CALL_RUNNING, /* an attempt is under way */
    CALL_PLAYING, /* a cassette is */
    CALL_ENDED,   /* `done` is being called */
};

struct call {
    unsigned magic;
    struct models *models;
    uint64_t ticket;

    /* Under the lock. */
    struct heap_node due;    /* in milliseconds */
    struct list_node queued; /* at a provider */
    enum call_state state;
    bool is_aborted;
    uint64_t fetch_ticket; /* 0: nothing was sent, or it is over */

    /* Of the thread that works on it. */
    struct model_call asked; /* its texts are behind the struct */
    const struct model_player *player;
    bool is_fallback;
    unsigned n_here;     /* attempts at this player */
    unsigned n_attempts; /* in all */
    uint64_t begun_ms;   /* the attempt */
    uint64_t first_ms;   /* the call */
    struct model_reply *reply;
    bool is_lingering; /* the message is whole, its input is not */
    struct model_failure failure;
    struct weir_buf content;
    enum model_stop stop;
    bool has_output;
    struct model_usage usage;
    double cost_usd;
    struct cassette *cassette; /* NULL: none is recorded or played */
    size_t n_played;           /* pieces of it */
    char texts[];
};

struct provider_state {
    struct breaker breaker;
    unsigned n_running;
    struct list queue; /* calls */
    struct model_provider_stats stats;
};

struct models {
    const struct model_config *config;
    struct models_options options;
    struct fetcher *fetcher; /* NULL: cassettes are played */
    pthread_t thread;

    pthread_mutex_t lock;   /* over all below */
    pthread_cond_t due;     /* for the thread: something is, or may be, earlier */
    pthread_cond_t is_idle; /* the last call has ended */
    struct heap heap;
    struct map calls; /* by ticket */
    unsigned n_calls; /* whose `done` has not returned */
    uint64_t n_tickets;
    bool is_stopping;
    bool has_stopped; /* the thread ends */
    struct budget budget;
    struct map plays; /* by hash: how often a cassette was asked for */
    struct provider_state providers[MODEL_MAX_PROVIDERS];
    struct models_stats stats;
};

uint64_t models_now_ms(const struct models *m);

/* The state of a call's provider. */
struct provider_state *call_provider(const struct call *call);

/* Makes it due at a time, and wakes the thread if that is sooner than all else. With the lock. */
void call_set_due_locked(struct call *call, uint64_t due_ms);

/* ---- call.c: the life of one; each with the lock, which it may give up meanwhile ---- */

/* WEIR_NOMEM, WEIR_LIMIT. Copies; not listed anywhere yet. */
WEIR_MUST_CHECK enum weir_status call_new(struct call **out, struct models *m,
                                          const struct model_call *asked);
void call_free(struct call *call);

/* It is due: goes on, by whatever its state asks for. */
void call_go_on_locked(struct call *call);

/* `done`, with what there is; the call is gone then. */
void call_end_locked(struct call *call, enum weir_status st, bool is_final);

/* ---- attempt.c: asking once ---- */

/* Sends the request, or begins to play a cassette. With the lock. */
void attempt_begin_locked(struct call *call);
/* The next piece of a cassette. With the lock. */
void attempt_play_locked(struct call *call);

/*
 * The fields of a request to a provider, but for those that it has already. `secret` holds the
 * key's until the request is sent.
 */
enum { MODEL_SECRET_BYTES = MODEL_KEY_BYTES + 8 };
void model_add_fields(struct fetch_request *r, const struct model_provider *p,
                      char secret[MODEL_SECRET_BYTES]);

/* It has ended, with call->failure: retries, falls back or ends the call. With the lock. */
void call_attempt_over_locked(struct call *call);
