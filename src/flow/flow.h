/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Durable workflows: a run goes through the steps of its workflow, one after the other, and what a
 * step brought is on the disk before the next one begins. A crash is a pause: whoever opens the
 * store again takes each run up at its first step without an output. The engine knows nothing of
 * what the steps do.
 *
 * 1. flow_new() with the workflows; flow_start() takes up what an earlier process left.
 * 2. flow_add_run() puts a new run into a commit of the caller's, together with whatever else
 *    belongs to its beginning; flow_begin() when that commit is durable.
 * 3. Steps run on a small pool of threads. A step ends by exactly one of flow_done() and
 *    flow_fail(), before its function returns or later, from any thread: a run that waits for
 *    somebody else costs its memory and no thread.
 * 4. flow_cancel() from anywhere. flow_stop() lets the steps under way reach their end, for a
 *    bounded time; what is left goes on at the next start. flow_free().
 *
 * What there is of a run in the store:
 *   document "run" ID         while it is in flight: workflow, holder, how far it is.
 *   document "run-cancel" ID  the wish that it ends; gone with the run.
 *   document "run-input" ID   for ever.
 *   document "step" ID/NN     of each step that is done, for ever: see flow_each_step().
 *   log                       its events; sealed at the end, unless it is of more than the run.
 * and document "run-node" HOLDER of each engine, the lease of all its runs at once. At a store that
 * is shared also
 *   document "run-offer" ID   while it is nobody's, and somebody is to take it.
 *
 * Several engines may share a store, each with workflows of its own; at a shared store engines of
 * other processes have the same workflows. Each run is one engine's. An engine whose document has
 * not changed for the time of the lease, by the clock of whoever looks, is dead, and its runs are
 * divided among the living; no clocks are compared. An engine that finds that a run of its is
 * somebody else's drops it at once. While a shared store is away, everything waits.
 *
 * Every commit of a run is fenced by the version of its document "run": somebody who lost the lease
 * (another node took the run up) cannot write to it any more.
 *
 * Events of a step are durable in the order they were emitted, those before flow_done() not later
 * than its output. A step that is run again, after a failure or a crash, emits again. The output of
 * the last step and the end of the run are one commit.
 *
 * Failures. A step says flow_fail(), and is tried again as its policy says; also when what it put
 * is refused (WEIR_CONFLICT), or what it asked for could not be read. A crash does not count as
 * one of its attempts, but a step that was under way in FLOW_CRASHES crashes in a row ends its run
 * with WEIR_INTERNAL: no run can take a server down for ever. Those that were under way in three
 * are tried one after the other, for the sake of the innocent. A step of which all that is left
 * waits for people (flow_part_rest()) does nothing: no crash counts against it meanwhile but the
 * first, and no other run waits for it. Before it goes on, it counts as under way again, durably.
 * While the disk is full or too much waits to be committed, runs wait; when the store cannot write
 * any more, they wait for the next start.
 *
 * flow_begin(), flow_cancel(), flow_stats(), flow_wake(): any thread. Of a step: one thread at a
 * time, but for its parts (see flow_parallel()) and for what may be called for one that waits:
 * flow_resume(), flow_part_resume(), flow_save(), flow_stir().
 */
#pragma once

#include <weir/buf.h>
#include <weir/json.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/trace.h"
#include "store/store.h"

struct flow;      /* the engine */
struct flow_step; /* an attempt at a step of a run */

enum {
    FLOW_ID_BYTES = 64,           /* longest id of a run */
    FLOW_WORKFLOWS = 16,          /* most workflows of an engine */
    FLOW_STEPS = 32,              /* most steps of a workflow */
    FLOW_PARTS = 16,              /* most parallel parts of a step */
    FLOW_OUTPUT_BYTES = 3 << 20,  /* largest output of a step */
    FLOW_ARENA_BYTES = 256 << 20, /* most memory of an attempt */
    FLOW_MESSAGE_BYTES = 256,     /* of a failure */
    FLOW_OUTBOX_BYTES = 1 << 20,  /* events that may wait for the commit before; then emitters do */
    FLOW_PAUSE_MS = 600 * 1000,   /* longest pause before another attempt */
    FLOW_CRASHES = 10,            /* of the process in the same step, then it is given up */
    FLOW_NODES = 256,             /* most engines with the same workflows at a store */
    FLOW_ABOUT_BYTES = 512,       /* of what an engine says of itself */
};

/*
 * Why a step did not bring anything. An attempt that was aborted because of its time limit and
 * says WEIR_CANCELLED counts as WEIR_TIMEOUT, which is never final.
 */
struct flow_failure {
    enum weir_status code;   /* what clients are told in the end */
    bool is_final;           /* trying again cannot help */
    uint64_t retry_after_ms; /* not before; 0: as the step's policy says */
    char message[FLOW_MESSAGE_BYTES];
};

struct step {
    const char *name;
    void (*run)(struct flow_step *s);
    bool (*applies)(struct flow_step *s); /* NULL: always. False: the run goes on without it */
    unsigned max_attempts;                /* 0: one */
    unsigned backoff_ms;                  /* before the second; doubles, with jitter */
    unsigned limit_ms;                    /* for an attempt; 0: none. Beyond it, it is aborted */
};

/* How a run ended. */
struct flow_end {
    const struct flow_failure *failure; /* NULL: all steps are done */
    int64_t began_ms, ended_ms;         /* wall time of the first step's begin and of the end */
    double cost_usd;                    /* of all attempts */
};

struct workflow {
    const char *name;
    const struct step *steps;
    size_t n_steps;
    int64_t keep_ms;   /* the log lasts so long after the end; negative: for ever */
    bool has_open_log; /* its log is that of more than the run, and is not sealed with it */
    void *user;        /* flow_user() */
    /*
     * What else is committed with the beginning of the first step and with the end: events by
     * flow_emit(), documents by flow_put(). Called with a step that is none of the list. A call
     * is made again when its commit did not happen, because of a crash or since a wish to cancel
     * came first: what counts once is what it emits and puts. A run that is cancelled or given up
     * before its first step has an end and no beginning.
     */
    void (*on_begin)(struct flow_step *s);
    void (*on_end)(struct flow_step *s, const struct flow_end *end);
    /* The end is durable. By a thread of the pool, once, or never when a crash comes first. */
    void (*on_ended)(void *user, struct weir_slice id);
    /* It does not run here any more, and has not ended here: what is in memory of it may go. */
    void (*on_left)(void *user, struct weir_slice id);
};

/* 0 or NULL in any field means its default. The workflows themselves are borrowed. */
struct flow_options {
    const struct workflow *const *workflows;
    size_t n_workflows;
    unsigned n_threads; /* one for each processor */
    unsigned max_runs;  /* 100,000 in flight; then WEIR_BUSY from flow_begin() */
    uint64_t lease_ms;  /* 30 s, 6 s at a shared store; renewed in time */
    const struct clock *clock;
    const struct trace *trace;
    /* Of a shared store. */
    bool is_shared;     /* as if it were one: for tests */
    const char *holder; /* a ULID, the engine's name; NULL: a new one */
    const char *about;  /* what flow_nodes() tells of it; NULL: nothing */
    unsigned keep_runs; /* 64: so many are kept at least when others have far fewer */
    /* Another engine is gone, and its runs are being taken: what it did besides is anybody's, too.
     * By a thread of the engine's; may be told more often. */
    void (*on_gone)(void *user);
    /* Others are in flow_nodes() than before. Likewise; at the start, too, by whoever starts it. */
    void (*on_nodes)(void *user);
    void *user;
};

WEIR_MUST_CHECK enum weir_status flow_new(struct flow **out, struct store *store,
                                          const struct flow_options *options);
WEIR_MUST_CHECK enum weir_status flow_start(struct flow *f);
/*
 * No step begins any more. Those under way may reach their end; after half of `grace_ms`, or when
 * all that is left waits for people, they are aborted. Returns when none is under way, or after
 * `grace_ms`.
 */
void flow_stop(struct flow *f, unsigned grace_ms);
/* When nobody will call flow_resume() any more. Waits for steps that run. NULL is allowed. */
void flow_free(struct flow *f);
/* The clock has jumped: for whoever moves it. */
void flow_wake(struct flow *f);

/*
 * For whoever is told by the store that others changed documents: short, any thread. n == 0: any
 * may have changed. Without it, everything takes longer, and is right.
 */
void flow_docs_changed(struct flow *f, const struct doc_key *keys, size_t n);
/*
 * All runs go on at other nodes: at once those that wait for people or for models, the others at
 * the end of their step; new ones, too. Returns when none is left, or after `grace_ms`; whether
 * none is. False at once when there is nobody else. May be called again, for what could not be
 * given then.
 */
bool flow_drain(struct flow *f, unsigned grace_ms);
/* It drains, and there is somebody whom its runs go to. */
bool flow_is_giving(struct flow *f);

/* The engines that live and have these workflows, this one first, then by their names. */
struct flow_node {
    char id[27];
    unsigned n_runs;
    bool is_draining;
    char about[FLOW_ABOUT_BYTES];
};
size_t flow_nodes(struct flow *f, struct flow_node *out, size_t max);
bool flow_is_shared(const struct flow *f);

/* A run for a commit. Everything is copied. */
struct flow_new_run {
    const struct workflow *workflow;
    struct weir_slice id, owner;
    struct weir_slice log;
    struct weir_slice input; /* JSON */
};
/* WEIR_NOMEM: nothing of the commit may happen. */
WEIR_MUST_CHECK enum weir_status flow_add_run(struct commit *c, const struct flow_new_run *run,
                                              int64_t wall_ms);
/*
 * Its commit is durable; short, also inside a `done`. WEIR_BUSY, WEIR_SHUTDOWN, WEIR_NOMEM: it
 * waits for the next start.
 */
WEIR_MUST_CHECK enum weir_status flow_begin(struct flow *f, struct weir_slice id);

/*
 * The run ends with WEIR_CANCELLED as soon as its step can be aborted; the wish is durable when
 * `done` is called. WEIR_NOT_FOUND: there is no such run in flight.
 */
void flow_cancel(struct flow *f, struct weir_slice id, commit_done_fn done, void *user);

/*
 * The same inside of a commit that is decided when its turn comes: flow_add_cancel() in `decide`,
 * which says WEIR_NOT_FOUND when there is no such run in flight, and flow_cancelled() when that is
 * durable. flow_is_wanted(): it is in flight, and nobody has wished that it ends.
 */
WEIR_MUST_CHECK enum weir_status flow_add_cancel(struct commit_view *view, struct commit *c,
                                                 struct weir_slice id);
void flow_cancelled(struct flow *f, struct weir_slice id);
/* WEIR_OK, WEIR_NOT_FOUND, WEIR_CANCELLED; what the store says. */
WEIR_MUST_CHECK enum weir_status flow_is_wanted(struct commit_view *view, struct weir_slice id);

/* ---- for steps ---- */

void *flow_user(struct flow_step *s); /* the workflow's */
struct weir_slice flow_id(const struct flow_step *s);
struct weir_slice flow_owner(const struct flow_step *s);
struct store *flow_store(const struct flow_step *s);
const struct clock *flow_clock(const struct flow_step *s);
unsigned flow_number(const struct flow_step *s);  /* of the step, from 1 */
unsigned flow_attempt(const struct flow_step *s); /* from 1; counted over crashes, too */
struct arena *flow_arena(struct flow_step *s);    /* ends with the attempt */
/*
 * What the run began with, and what an earlier step brought; NULL when it did not apply. Both are
 * valid until the attempt ends or waits: ask again then. When it cannot be read, NULL, too, and
 * the attempt fails whatever else it says.
 */
const struct weir_json *flow_input(struct flow_step *s);
const struct weir_json *flow_output(struct flow_step *s, const char *step);
bool flow_is_aborted(const struct flow_step *s); /* cancelled, out of time or stopped: end soon */

/*
 * An event of the run's log; `json` is one line of JSON; type NULL: the event has none. Sent on its
 * way at once, and together with all that was emitted meanwhile when an earlier one is still on its
 * way.
 */
void flow_emit(struct flow_step *s, const char *type, struct weir_slice json);
/* A document that is committed together with the output. */
void flow_put(struct flow_step *s, struct doc_key key, int64_t expected_version,
              struct weir_slice body);
void flow_remove(struct flow_step *s, struct doc_key key, int64_t expected_version);
/* An event of another log, which is committed together with the output; type NULL: it has none. */
void flow_append(struct flow_step *s, struct weir_slice log, const char *type,
                 struct weir_slice json);
double flow_cost(const struct flow_step *s); /* of the run so far */
/* By on_begin or on_end: what it needs cannot be had now. Its call is made again, later. */
void flow_hook_fail(struct flow_step *s, enum weir_status st);

/*
 * A document that is kept whatever becomes of the attempt, and what it has cost, in one commit with
 * all that was emitted so far: not later than the step's output. Never waits. `done`, if not NULL,
 * is called once, by any thread, when it is durable, or with the reason why it will not be; must
 * be short. Who is freed before that is not called any more.
 */
struct flow_save {
    struct doc_key key;
    struct weir_slice body;
    double cost_usd;        /* counts from now on, whatever becomes of it, and once over crashes */
    const char *type;       /* of an event that goes with it; NULL: it has none */
    struct weir_slice json; /* of the event; empty: there is no event */
    void (*done)(void *user, enum weir_status st);
    void *user;
};
void flow_save(struct flow_step *s, const struct flow_save *save);

/*
 * Events that are made when there is room for them, for whoever gets them piece by piece and may
 * not wait. After flow_stir(), `next` is called as soon as nothing of the run is on its way, and
 * before anything is saved or ends, until it returns false: it appends one event's JSON each time.
 * By any thread, with a lock of the engine: it calls nothing of the engine. Until the step's end.
 */
void flow_set_source(struct flow_step *s, const char *type,
                     bool (*next)(void *user, struct weir_buf *json), void *user);
void flow_stir(struct flow_step *s);

void flow_done(struct flow_step *s, struct weir_slice output); /* JSON */
void flow_fail(struct flow_step *s, const struct flow_failure *failure);

/*
 * Calls `part` for each i below n, at once as far as there are threads, and `then` when all have
 * returned; after it, the step's function does nothing but return. Parts may emit, put, save
 * and ask for outputs, and keep what they bring in memory of their own (an arena is one thread's):
 * flow_part_arena().
 */
void flow_parallel(struct flow_step *s, size_t n, void (*part)(struct flow_step *s, size_t i),
                   void (*then)(struct flow_step *s));
struct arena *flow_part_arena(struct flow_step *s, size_t i);
/*
 * By a part: it is not over when it returns. It is called again from its beginning, with an empty
 * arena, when somebody has called flow_part_resume(), from any thread, once; that may be before it
 * has returned. When no part runs, nothing that was read stays in memory.
 */
void flow_part_wait(struct flow_step *s, size_t i);
/*
 * The same for a part that waits for people, while nothing works for it that could end the process.
 * Who waits for a model or a tool is under way: the answer is read here, the tool runs next to us.
 */
void flow_part_rest(struct flow_step *s, size_t i);
void flow_part_resume(struct flow_step *s, size_t i);
/*
 * Before flow_parallel(): `abort` is called at most once, by any thread, when the step is to end
 * soon; never after `then` has begun. Parts that wait are to be resumed all the same.
 */
void flow_on_abort(struct flow_step *s, void (*abort)(void *user), void *user);
/* What the step wants to find again. */
void flow_set_data(struct flow_step *s, void *data);
void *flow_data(const struct flow_step *s);

/*
 * For a step that waits for somebody else: the function that started the wait returns, and whoever
 * ends it calls flow_resume(), from any thread, once; `fn` goes on with the step on a thread of the
 * pool. Between the two nothing of the step may be touched but that. `abort`, if not NULL, is
 * called at most once, when the step is to end soon; the wait is to be ended by flow_resume() all
 * the same. It may come when flow_resume() was called already, but never after `fn` has begun:
 * `user` has to last until then.
 */
void flow_wait(struct flow_step *s, void (*abort)(void *user), void *user);
void flow_resume(struct flow_step *s, void (*fn)(struct flow_step *s));

/* ---- looking at runs ---- */

struct flow_step_info {
    const char *name;
    unsigned number, attempts;
    int64_t began_ms, ended_ms;
    double cost_usd;
    struct weir_slice output;           /* JSON; empty when it has failed */
    const struct flow_failure *failure; /* the last one; NULL: none */
};
/*
 * The steps of a run that are done, or were tried and failed, in order; from any thread, may wait.
 * WEIR_OK from `each` to go on; anything else ends it and is returned.
 */
typedef enum weir_status (*flow_step_fn)(void *user, const struct flow_step_info *info);
WEIR_MUST_CHECK enum weir_status flow_each_step(struct store *store, struct weir_slice id,
                                                flow_step_fn each, void *user);

struct flow_stats {
    uint64_t n_begun, n_completed, n_failed, n_recovered, n_steps, n_retries, n_fenced, n_given;
    unsigned n_in_flight, n_waiting, n_running;
};
void flow_stats(struct flow *f, struct flow_stats *out);
