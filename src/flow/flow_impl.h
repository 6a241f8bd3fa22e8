/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the engine share.
 *
 * A run is an actor: whatever happens to it (a commit landed, a wait ended, a timer is due) is
 * news, and one thread of the pool at a time takes its news and acts. Others touch only what stands
 * under the engine's lock (news, timers, the tables), and what stands under the run's lock (its
 * outbox, what parts of a step share). Whoever has the lock of a run may take the engine's; never
 * the other way round. The store is called with neither.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "base/heap.h"
#include "base/list.h"
#include "base/map.h"
#include "base/ulid.h"
#include "flow/flow.h"

enum {
    FLOW_MAGIC = 0x666c6f77,
    FLOW_NS_PER_MS = 1000 * 1000,
    FLOW_AGAIN_MS = 1000, /* before something that went wrong in the engine is tried again */
    FLOW_SUSPECT = 3,     /* crashes in the same step: then it is let alone with its step */
    FLOW_TIMERS = 3,      /* of a run; see struct flow_timers */
    FLOW_REBUILDS = 5,    /* of a commit that is refused, then the run waits for the next start */
};

/* ---- documents: record.c ---- */

extern const char flow_run_kind[], flow_cancel_kind[], flow_input_kind[], flow_step_kind[],
    flow_node_kind[], flow_offer_kind[];

/* The document "run". Slices are borrowed. */
struct run_record {
    struct weir_slice workflow, log, holder;
    unsigned step;    /* index of the next one */
    unsigned attempt; /* which one it will be, or was begun; from 1 */
    unsigned crashes; /* of those attempts */
    bool rests;       /* all that is left of the step waits for people: a crash is not its doing */
    uint32_t done;    /* bit i: step i has an output */
    int64_t created_ms;
    int64_t began_ms; /* 0: not yet */
    double cost_usd;  /* of the run so far */
    double step_usd;  /* of the attempts at this step */
};
void flow_run_write(struct weir_buf *out, const struct run_record *r);
/* Values live in `json`. */
WEIR_MUST_CHECK enum weir_status flow_run_read(struct weir_json_doc *json, struct weir_slice body,
                                               struct run_record *out);

/* The document "step": a line about it, then the output. */
void flow_step_write(struct weir_buf *out, const struct flow_step_info *info);
/* The output of one; empty when there is none. */
struct weir_slice flow_step_output_of(struct weir_slice body);

enum { STEP_ID_BYTES = FLOW_ID_BYTES + 4 };
struct weir_slice flow_step_id(char out[STEP_ID_BYTES], struct weir_slice run, unsigned number);

/* ---- runs ---- */

enum news {
    NEWS_BEGIN = 1,    /* it is new to this engine */
    NEWS_SENT = 2,     /* its commit landed, or may be sent again */
    NEWS_DUE = 4,      /* a pause is over */
    NEWS_RESUMED = 8,  /* a wait is over */
    NEWS_PARTS = 16,   /* all parts have returned */
    NEWS_ENDED = 32,   /* flow_done() or flow_fail() */
    NEWS_ABORTED = 64, /* r->aborted has changed */
    NEWS_REST = 128,   /* it has come to rest, or one of its parts is to go on */
};

/* Why a step is to end soon. */
enum abort_reason {
    ABORT_CANCEL = 1,
    ABORT_LIMIT = 2,
    ABORT_STOP = 4,
    ABORT_LOST = 8,  /* nothing of it can be committed any more */
    ABORT_GIVE = 16, /* another node goes on with it */
};

enum phase {
    PHASE_BETWEEN, /* the next thing may begin; at first, that its documents are read */
    PHASE_STEP,    /* an attempt is under way */
    PHASE_FINAL,   /* what an attempt brought is being committed */
    PHASE_PAUSE,   /* before another attempt */
    PHASE_PARKED,  /* until the next start */
    PHASE_DEAD,
};

/* In the heap for as long as its run lives, due never until it is set: that cannot fail then. */
struct flow_timer {
    struct heap_node node;
    struct run *run;
    void (*fire)(struct run *r); /* with the engine's lock, which it may give up meanwhile */
};

/* On the queue of the pool. */
struct work {
    struct list_node node;
    void (*go)(struct work *w);
};

/* A document that a step wants to put or remove, or an event of another log: in its arena. */
struct draft_doc {
    struct draft_doc *next;
    struct doc_key key; /* of an event: the log as its kind */
    int64_t expected_version;
    bool is_removal, is_event;
    struct weir_slice body; /* of an event: the frame */
};

struct part {
    struct work work;
    struct flow_step *step;
    size_t index;
    struct arena arena;
    bool waits;      /* it said so itself */
    bool rests;      /* and that it is for people */
    bool is_parked;  /* it has returned, and waits; under the engine's lock, as the next one */
    bool is_resumed; /* before it has returned */
    bool is_held;    /* resumed, until its run has left its rest */
};

struct parts {
    size_t n_left, n_parked, n_resting, n_held; /* under the engine's lock */
    size_t n_running, n_asleep;                 /* under the step's */
    void (*run)(struct flow_step *s, size_t i);
    void (*then)(struct flow_step *s);
    struct part *parts[FLOW_PARTS]; /* as many as were needed */
};

/* A document that is saved in mid-step, in one block with its bytes. */
struct save {
    struct save *next;
    struct doc_key key;
    struct weir_slice body;
    struct weir_slice frame; /* of an event; empty: none */
    bool has_cost;
    void (*done)(void *user, enum weir_status st);
    void *user;
    char bytes[];
};

/* Where events come from that nobody waits with. */
struct source {
    struct flow_step *step; /* NULL: there is none */
    const char *type;
    bool (*next)(void *user, struct weir_buf *json);
    void *user;
    bool is_stirred;
};

/* What a step has read. */
struct reading {
    struct weir_json_doc *doc;
    const struct weir_json *input;
    const struct weir_json *outputs[FLOW_STEPS];
    bool has_output[FLOW_STEPS];
};

/* An attempt, or a call of a hook. */
struct flow_step {
    struct run *run;
    bool is_hook;
    struct arena arena;
    void *data;
    struct parts *parts;
    int64_t began_ms;

    /* Waiting. */
    void (*abort)(void *user);
    void *abort_user;
    bool is_waiting, was_told;
    bool is_parallel; /* its parts are not all over */
    void (*resume)(struct flow_step *s);

    /* The end. */
    bool is_ended;
    bool has_failed;
    struct flow_failure failure;
    struct weir_buf body; /* the document "step" */

    atomic_uint status;       /* enum weir_status: what went wrong that the step does not know of */
    struct weir_buf events;   /* of a hook; under the run's lock */
    struct run_record record; /* of the hook that opens the run */
    pthread_mutex_t lock;     /* for what follows: parts use it */
    struct reading *reading;
    struct arena docs_arena;
    struct draft_doc *docs, **docs_end;
    size_t docs_bytes;
};

enum flight { FLIGHT_NONE, FLIGHT_EVENTS, FLIGHT_FINAL };
enum final_kind {
    FINAL_NONE,
    FINAL_PROGRESS,
    FINAL_END,
    FINAL_GIVE, /* nobody has it any more, and the others are told */
};
enum final_state { FINAL_WAITS, FINAL_FLIES, FINAL_LANDED };

struct run {
    struct work work;
    struct flow *flow;
    const struct workflow *workflow;
    atomic_uint aborted; /* enum abort_reason */
    atomic_bool is_held; /* the document "run" has named us once */

    /* Under the engine's lock. */
    unsigned news;
    unsigned n_refs; /* commits on their way, and others who hold it */
    bool is_busy;    /* queued, or a thread has it */
    bool is_dead;    /* out of the tables; freed when nobody holds it */
    bool is_full;    /* emitters wait */
    bool is_waiting; /* for statistics */
    bool is_at_rest; /* its parts wait for people */
    bool is_resting; /* the same after a crash; none goes on before the actor lets it */
    struct list_node suspect;
    struct flow_timers {
        struct flow_timer pause, outbox, limit;
    } timers;

    /* The actor's. */
    enum phase phase;
    bool is_recovered;
    bool is_loaded;    /* its documents were read */
    bool is_taken;     /* the document "run" names us */
    bool is_checked;   /* the next step is known to apply */
    bool is_cancelled; /* and that is durable */
    unsigned n_rebuilds;
    struct run_record now;  /* slices: in `names` */
    struct run_record next; /* when the commit has landed */
    uint64_t pause_ms;      /* behind it */
    struct flow_step *step, *hook;
    unsigned pending_number;         /* step->body is the output of this step; 0: of none */
    struct flow_failure *failure;    /* the last one of this step; NULL: none */
    bool ends_badly, ends_cancelled; /* of the end that is being committed */

    /* Under the run's lock. */
    pthread_mutex_t lock;
    struct weir_buf events; /* frames that are not durable yet */
    size_t n_flying;        /* bytes of them on their way */
    enum flight flight;
    struct flow_step *opening; /* what on_begin wants; NULL: durable */
    struct source source;
    struct save *saves, **saves_end; /* that are not durable yet */
    size_t saves_bytes;
    unsigned n_saves_flying;
    bool is_record_flying;    /* the document "run" is in the commit */
    struct run_record during; /* what it says in mid-step */
    bool says_rest;           /* what the durable one says of it */
    bool flies_rest;          /* and the one in the commit */
    enum final_kind final;
    enum final_state final_state;
    enum weir_status final_status;
    enum weir_status broken; /* why events cannot be committed */
    bool is_paused;          /* the outbox, until the timer says */
    unsigned n_refusals;     /* in a row */
    struct commit *commit;
    int64_t version; /* of the document "run" */
    double cost_usd, step_usd;
    bool sees_lost, sees_cancel; /* the fence, while a commit is on its way: the committer's */
    atomic_bool is_lost;         /* somebody else has it */
    bool found_cancel;           /* by the commit that landed last */

    char *names; /* log and owner */
    struct weir_slice log, owner;
    size_t n_id;
    char id[];
};

static inline struct weir_slice run_id(const struct run *r)
{
    return (struct weir_slice){r->id, r->n_id};
}

struct flow {
    unsigned magic;
    struct store *store;
    struct flow_options options;
    const struct workflow *workflows[FLOW_WORKFLOWS];
    char holder[ULID_TEXT_LEN + 1];
    struct nodes *nodes; /* NULL: this process has the store for itself */
    pthread_t *threads;
    unsigned n_threads;
    pthread_t timer_thread;
    bool has_timer_thread;
    atomic_uint_fast64_t n_begun, n_completed, n_failed, n_recovered, n_steps, n_retries, n_fenced,
        n_given;
    atomic_bool is_broken; /* the store takes nothing any more */

    pthread_mutex_t lock;
    pthread_cond_t filled;  /* the queue */
    pthread_cond_t due;     /* timers have changed */
    pthread_cond_t idle;    /* nothing is under way, perhaps */
    pthread_cond_t drained; /* an outbox has room, perhaps */
    struct list queue;
    struct run *suspect;  /* the one whose turn it is; NULL: none */
    struct list suspects; /* those that wait for theirs */
    struct map runs;      /* by id */
    struct heap timers;
    uint64_t renew_ns; /* the lease */
    uint64_t random;
    unsigned n_busy, n_refs, n_attempts, n_waiting, n_at_rest, n_running;
    bool is_stopping; /* no step begins */
    bool is_quitting; /* threads end */
};

/* flow.c; those in _locked want the engine's lock */

void flow_post(struct run *r, unsigned news);
void flow_post_locked(struct run *r, unsigned news);
void flow_push_front_locked(struct flow *f, struct work *w);
void flow_abort_locked(struct run *r, enum abort_reason reason);
void flow_ref_locked(struct run *r);
void flow_ref(struct run *r);
void flow_unref(struct run *r);
void flow_forget(struct run *r);
/* The thread that had it has nothing to do for it any more. */
void flow_rest_locked(struct run *r);
bool flow_may_go_on(struct flow *f); /* neither stopping nor broken */
void flow_break(struct flow *f);     /* the store takes nothing any more */
/* The workflow of that name; NULL. */
const struct workflow *flow_workflow(const struct flow *f, struct weir_slice name);

/* Takes up a run that an earlier process, or another node, left. */
WEIR_MUST_CHECK enum weir_status flow_begin_again(struct flow *f, struct weir_slice id);
/* As flow_begin(), by this engine. */
WEIR_MUST_CHECK enum weir_status flow_begin_here(struct flow *f, struct weir_slice id);

/* recover.c */

/*
 * A run that was under way in several crashes may be the reason for them. Such runs are tried one
 * after the other, so that the next crash tells which one it was and counts for no other. One that
 * rests leaves the place to the others meanwhile. False: it is not its turn; NEWS_DUE comes.
 */
bool flow_suspect_enter(struct run *r);
void flow_suspect_leave(struct run *r);

WEIR_MUST_CHECK enum weir_status flow_recover_all(struct flow *f);
/* The document of this engine: its lease, or that it ended well. Waits. */
enum weir_status flow_put_node(struct flow *f, bool is_stopped);
bool flow_recover_node_stopped_well(struct flow *f, struct weir_slice holder);

/* nodes.c: the engines of other processes at the same store */

struct peer {
    char id[ULID_TEXT_LEN + 1];
    int64_t version;
    uint64_t seen_ns; /* by our clock: when its document was found changed */
    unsigned n_runs;  /* as it says, and what it was given since */
    bool is_stopped, is_draining;
    bool is_dead;   /* or has stopped: its runs are anybody's */
    bool is_listed; /* for whoever lists them */
    bool has_runs;  /* found by the look at all runs */
    char about[FLOW_ABOUT_BYTES];
};

struct changed_run {
    size_t n_id;
    char id[FLOW_ID_BYTES];
};

enum { FLOW_CHANGED = 64 };

/* Under the engine's lock, but for what is the thread's. */
struct nodes {
    pthread_t thread;
    bool has_thread;
    pthread_cond_t woken;
    pthread_mutex_t put_lock; /* of whoever writes our document */
    bool has_stopped;         /* under it: that was the last of them */
    struct peer peers[FLOW_NODES];
    size_t n_peers;
    bool is_draining;
    uint64_t look_ns; /* next look at all */
    uint64_t n_looks; /* that are over: for tests */
    bool has_offers;  /* maybe; as the next ones */
    bool has_nodes, has_all_changed;
    struct changed_run changed[FLOW_CHANGED];
    size_t n_changed;

    /* The thread's. */
    uint64_t looked_ns; /* the last look that saw everything; 0: none */
    bool was_cut;       /* the store was not to be had since then */
    uint64_t scan_ns;   /* next look at all runs */
    bool has_gone;      /* somebody is gone, and that was not told yet */
    uint64_t told;      /* a hash of who lived when somebody was told last */
    struct map waiting; /* runs that nobody has: in how many looks they were found */
    struct weir_json_doc *json;
};

WEIR_MUST_CHECK enum weir_status flow_nodes_new(struct flow *f);
void flow_nodes_free(struct flow *f);
WEIR_MUST_CHECK enum weir_status flow_nodes_start(struct flow *f);
void flow_nodes_join(struct flow *f);
/* The store is away, which is not the end of anything. */
bool flow_is_away(struct flow *f, enum weir_status st);
/* Whether its runs may be taken: it is dead, gone, or this engine. May wait. */
bool flow_may_take_from(struct flow *f, struct weir_slice holder);
/* With the engine's lock: flow_is_giving(). */
bool flow_is_giving_locked(const struct flow *f);
/* With the engine's lock: one that is drained does as long as nobody else would. */
bool flow_takes_runs_locked(const struct flow *f);
/* With the engine's lock: who is to have it of those that take runs; NULL: this engine. */
const struct peer *flow_chosen_locked(const struct flow *f, struct weir_slice run);
struct peer *flow_find_peer_locked(const struct flow *f, struct weir_slice holder);
/* A new run that somebody else is to have, for this engine has far more. */
bool flow_share_out(struct flow *f, struct weir_slice run);
void flow_add_offer(struct commit *c, struct weir_slice run, const char *to);
/* Of one that is given away: to who is chosen. With the run's lock. */
void flow_offer(struct commit *c, struct run *r);

/* takeover.c */

/* Runs that nobody has any more, or that are offered. */
WEIR_MUST_CHECK enum weir_status flow_take_offers(struct flow *f);
WEIR_MUST_CHECK enum weir_status flow_take_over(struct flow *f, uint64_t now_ns);
/* Runs of this engine that may be somebody else's, or are to end: after news of them. */
void flow_check_changed(struct flow *f);
WEIR_MUST_CHECK enum weir_status flow_take_cancels(struct flow *f);

/* timer.c */

void *flow_timer_run(void *flow);
/* With the engine's lock. WEIR_NOMEM. */
WEIR_MUST_CHECK enum weir_status flow_timers_init_locked(struct run *r);
void flow_timers_fini_locked(struct run *r);
void flow_timer_set(struct flow_timer *t, uint64_t in_ms);
void flow_timer_clear(struct flow_timer *t);
/* Between half and all of it. */
uint64_t flow_timer_jitter(struct flow *f, uint64_t ms);

/* run.c */

void flow_run_go(struct work *w);
void flow_run_free(struct run *r);

/* step.c */

struct flow_step *flow_step_new(struct run *r, bool is_hook);
void flow_step_free(struct flow_step *s); /* NULL is allowed */
void flow_step_forget_reading(struct flow_step *s);
/* Parts that were resumed while it rested go on. */
void flow_step_leave_rest_locked(struct flow_step *s);
void flow_step_note(struct flow_step *s, enum weir_status st);
/* The document of the step as it is now. */
void flow_step_write_body(struct flow_step *s, struct weir_slice output);

/* outbox.c */

void flow_outbox_init(struct run *r);
void flow_outbox_fini(struct run *r);
/* An attempt begins: what the document "run" says of it. */
void flow_outbox_begin(struct run *r);
/* The document "run" is to say whether it rests. True: it does; otherwise NEWS_SENT comes. */
bool flow_outbox_rest(struct run *r, bool rests);
/* It ends: nothing comes from its source any more. */
void flow_outbox_end(struct run *r);
void flow_outbox_emit(struct flow_step *s, const char *type, struct weir_slice json);
/* Appends an event as it is stored. WEIR_INVALID: it is no line; WEIR_LIMIT, WEIR_NOMEM. */
WEIR_MUST_CHECK enum weir_status flow_outbox_frame(struct weir_buf *out, const char *type,
                                                   struct weir_slice json);
/* Sends what on_begin wants, and all behind it. */
void flow_outbox_open(struct run *r, struct flow_step *hook);
/* Sends what r->final says, when all before it has landed. NEWS_SENT comes. */
void flow_outbox_finish(struct run *r, enum final_kind kind);
/* Nothing waits to become durable; or it never will. */
bool flow_outbox_is_empty(struct run *r);
/* Its landing, once: false when there is none. */
bool flow_outbox_landed(struct run *r, enum weir_status *st);
/* Why its events cannot be committed, once; they are forgotten. WEIR_OK: they can. */
WEIR_MUST_CHECK enum weir_status flow_outbox_take_broken(struct run *r, bool *had_opening);
/* The pause is over, if there was one. */
void flow_outbox_go_on(struct run *r);
