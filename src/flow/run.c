/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run, from its documents to its end: what it does with its news. Only one thread at a time is
 * in here for a run; the steps' functions are called from here.
 *
 *   BETWEEN ── a step begins ──▶ STEP ── it ends ──▶ FINAL ── durable ──▶ BETWEEN
 *      ▲                                               │ failed, to be tried again
 *      └──────────────────── PAUSE ◀───────────────────┘
 */
#include <stdio.h>

#include "base/check.h"
#include "base/fault.h"
#include "base/mem.h"
#include "base/slice.h"
#include "flow/flow_impl.h"

static struct doc_key key_of(const char *kind, const struct run *r)
{
    return (struct doc_key){weir_slice_of(kind), run_id(r)};
}

static void complain(const struct run *r, const char *what, enum weir_status st)
{
    TRACE(r->flow->options.trace, TRACE_WARN, "flow", what, trace_str("run", run_id(r)),
          trace_str("why", weir_slice_of(weir_status_name(st))));
}

void flow_run_free(struct run *r)
{
    flow_step_free(r->step);
    flow_step_free(r->hook);
    flow_step_free(r->opening);
    flow_outbox_fini(r);
    mem_free(r->failure);
    mem_free(r->names);
    pthread_mutex_destroy(&r->lock);
    mem_free(r);
}

/* It stays in the store, for whoever has it or comes next. */
static void drop(struct run *r)
{
    r->phase = PHASE_DEAD;
    flow_suspect_leave(r);
    flow_forget(r);
}

/* It goes on elsewhere, or not at all. Before it is out of the table, for it may come back. */
static void leave(struct run *r)
{
    if (r->workflow && r->workflow->on_left) r->workflow->on_left(r->workflow->user, run_id(r));
    drop(r);
}

static void pause_for(struct run *r, uint64_t ms)
{
    r->phase = PHASE_PAUSE;
    flow_suspect_leave(r);
    flow_timer_set(&r->timers.pause, ms);
}

/* Something in the way that is not the run's: later, but not for ever. */
static void try_later(struct run *r, const char *what, enum weir_status st)
{
    complain(r, what, st);
    if (!flow_is_away(r->flow, st) && ++r->n_rebuilds > FLOW_REBUILDS) leave(r);
    else pause_for(r, FLOW_AGAIN_MS);
}

static void free_steps(struct run *r)
{
    flow_step_free(r->step);
    flow_step_free(r->hook);
    r->step = r->hook = NULL;
    r->pending_number = 0;
}

/* ---- reading it ---- */

static struct weir_slice copy_name(char **at, struct weir_slice name)
{
    struct weir_slice copy = slice_of(*at, name.len);
    if (name.len > 0) memcpy(*at, name.ptr, name.len);
    *at += name.len;
    return copy;
}

static WEIR_MUST_CHECK enum weir_status take_record(struct run *r, const struct run_record *record,
                                                    struct weir_slice owner)
{
    r->workflow = flow_workflow(r->flow, record->workflow);
    if (!r->workflow || record->step >= r->workflow->n_steps) return WEIR_NOT_IMPLEMENTED;
    CHECK(!r->names);
    r->names = mem_alloc(record->log.len + owner.len + 1);
    if (!r->names) return WEIR_NOMEM;
    char *at = r->names;
    r->log = copy_name(&at, record->log);
    r->owner = copy_name(&at, owner);
    r->now = *record;
    r->now.rests = false;
    r->now.workflow = weir_slice_of(r->workflow->name);
    r->now.log = r->log;
    r->now.holder = weir_slice_of(r->flow->holder);
    r->cost_usd = record->cost_usd;
    r->step_usd = record->step_usd;
    return WEIR_OK;
}

static WEIR_MUST_CHECK enum weir_status read_run(struct run *r, const struct doc *doc,
                                                 struct weir_json_doc *json)
{
    struct run_record record;
    enum weir_status st = flow_run_read(json, doc->body, &record);
    if (st != WEIR_OK) return st;
    /* Somebody else has it: there is no such run here. */
    if (r->flow->nodes && !flow_may_take_from(r->flow, record.holder)) return WEIR_NOT_FOUND;
    st = take_record(r, &record, doc->owner);
    if (st != WEIR_OK) return st;
    r->version = doc->version;
    if (!r->is_recovered) return WEIR_OK;
    atomic_fetch_add(&r->flow->n_recovered, 1);
    /* One that nobody has had yet, that rested, or that was left in good order, is not to blame. */
    if (record.holder.len == 0 || record.rests || weir_slice_is(record.holder, r->flow->holder) ||
        flow_recover_node_stopped_well(r->flow, record.holder))
        return WEIR_OK;
    r->now.crashes++;
    r->now.attempt++;
    return WEIR_OK;
}

static WEIR_MUST_CHECK enum weir_status read_wish(struct run *r)
{
    struct doc doc;
    enum weir_status st = store_doc_get(r->flow->store, key_of(flow_cancel_kind, r), &doc);
    if (st == WEIR_NOT_FOUND) return WEIR_OK;
    if (st != WEIR_OK) return st;
    doc_fini(&doc);
    r->is_cancelled = true;
    return WEIR_OK;
}

/* False: not now, or not at all. */
static bool load(struct run *r)
{
    struct doc doc = {0};
    struct weir_json_doc *json = weir_json_doc_new(0);
    enum weir_status st = json ? WEIR_OK : WEIR_NOMEM;
    if (st == WEIR_OK) st = read_wish(r);
    if (st == WEIR_OK) st = store_doc_get(r->flow->store, key_of(flow_run_kind, r), &doc);
    if (st == WEIR_OK) st = read_run(r, &doc, json);
    doc_fini(&doc);
    weir_json_doc_free(json);
    r->is_loaded = st == WEIR_OK;
    if (st == WEIR_NOT_FOUND) leave(r);
    else if (st != WEIR_OK) try_later(r, "a run cannot be read", st);
    return st == WEIR_OK;
}

/* ---- the end ---- */

static void count_end(struct run *r)
{
    struct flow *f = r->flow;
    atomic_fetch_add(r->ends_badly ? &f->n_failed : &f->n_completed, 1);
}

/*
 * With the failure, or NULL when all steps are done. What an attempt brought goes with it, unless
 * the run was cancelled: then that is its end, and nothing else counts any more.
 */
static void finish(struct run *r, const struct flow_failure *failure)
{
    static const struct flow_failure cancelled = {
        .code = WEIR_CANCELLED, .is_final = true, .message = "it was cancelled"};
    struct flow_failure kept;
    struct flow *f = r->flow;
    if (r->is_cancelled) {
        free_steps(r);
        failure = &cancelled;
    }
    if (failure) kept = *failure;
    flow_step_free(r->hook);
    r->hook = flow_step_new(r, true);
    if (!r->hook) {
        try_later(r, "a run cannot end", WEIR_NOMEM);
        return;
    }
    int64_t now_ms = clock_wall_ms(f->options.clock);
    struct flow_end end = {.failure = failure ? &kept : NULL,
                           .began_ms = r->now.began_ms > 0 ? r->now.began_ms : now_ms,
                           .ended_ms = now_ms,
                           .cost_usd = flow_cost(r->hook)};
    r->ends_badly = failure != NULL;
    r->ends_cancelled = r->is_cancelled;
    if (r->workflow->on_end) r->workflow->on_end(r->hook, &end);
    if (atomic_load(&r->hook->status) != WEIR_OK) {
        try_later(r, "a run cannot end", atomic_load(&r->hook->status));
        return;
    }
    r->phase = PHASE_FINAL;
    fault_pass(FAULT_END);
    flow_outbox_finish(r, FINAL_END);
}

/* ---- an attempt ends ---- */

static void progress(struct run *r, uint64_t pause_ms)
{
    /* Of an end that was refused: it did not happen. */
    flow_step_free(r->hook);
    r->hook = NULL;
    r->pause_ms = pause_ms;
    r->phase = PHASE_FINAL;
    flow_outbox_finish(r, FINAL_PROGRESS);
}

/* The first step from `index` on that applies; n_steps when there is none. */
static WEIR_MUST_CHECK enum weir_status next_step(struct run *r, unsigned index, unsigned *out)
{
    const struct workflow *w = r->workflow;
    enum weir_status st = WEIR_OK;
    for (; index < w->n_steps && w->steps[index].applies; index++) {
        struct flow_step *s = flow_step_new(r, true);
        if (!s) return WEIR_NOMEM;
        bool applies = w->steps[index].applies(s);
        st = atomic_load(&s->status);
        flow_step_free(s);
        if (st != WEIR_OK || applies) break;
    }
    *out = index;
    return st;
}

static const struct step *step_now(const struct run *r)
{
    return &r->workflow->steps[r->now.step];
}

static uint64_t backoff_ms(struct run *r, unsigned n_failures, const struct flow_failure *failure)
{
    unsigned shift = n_failures > 1 ? n_failures - 1 : 0;
    uint64_t ms = (uint64_t)step_now(r)->backoff_ms << (shift < 20 ? shift : 20);
    if (ms > FLOW_PAUSE_MS) ms = FLOW_PAUSE_MS;
    ms = flow_timer_jitter(r->flow, ms);
    if (failure->retry_after_ms > ms) ms = failure->retry_after_ms;
    return ms < FLOW_PAUSE_MS ? ms : FLOW_PAUSE_MS;
}

static void keep_failure(struct run *r, const struct flow_failure *failure)
{
    if (!r->failure) r->failure = mem_alloc(sizeof *r->failure);
    if (r->failure) *r->failure = *failure;
}

static bool is_out_of_time(const struct run *r, const struct flow_step *s)
{
    return (atomic_load(&r->aborted) & ABORT_LIMIT) && s->failure.code == WEIR_CANCELLED;
}

/* The document says so, and then it is the end or there is another attempt. */
static void attempt_failed(struct run *r)
{
    struct flow_step *s = r->step;
    if (is_out_of_time(r, s)) {
        s->failure.code = WEIR_TIMEOUT;
        s->failure.is_final = false; /* who is aborted cannot know */
        snprintf(s->failure.message, sizeof s->failure.message, "%s took longer than %u ms",
                 step_now(r)->name, step_now(r)->limit_ms);
    }
    unsigned max = step_now(r)->max_attempts > 0 ? step_now(r)->max_attempts : 1;
    unsigned n_failures = r->now.attempt - r->now.crashes;
    flow_step_write_body(s, (struct weir_slice){0});
    bool is_whole = weir_buf_status(&s->body) == WEIR_OK;
    r->pending_number = is_whole ? r->now.step + 1 : 0;
    if (s->failure.is_final || n_failures >= max) {
        finish(r, &s->failure);
        return;
    }
    atomic_fetch_add(&r->flow->n_retries, 1);
    keep_failure(r, &s->failure);
    r->next = r->now;
    r->next.attempt++;
    r->next.step_usd = r->step_usd;
    /* Somebody else was first, and is done: there is nothing to wait for. */
    bool is_race = s->failure.code == WEIR_CONFLICT && s->failure.retry_after_ms == 0;
    progress(r, is_race ? 0 : backoff_ms(r, n_failures, &s->failure));
}

static void attempt_done(struct run *r)
{
    unsigned next;
    r->pending_number = r->now.step + 1;
    r->next = r->now;
    r->next.done |= UINT32_C(1) << r->now.step;
    r->next.attempt = 1;
    r->next.crashes = 0;
    r->next.step_usd = 0;
    enum weir_status st = next_step(r, r->now.step + 1, &next);
    r->is_checked = st == WEIR_OK;
    if (st == WEIR_OK && next == r->workflow->n_steps) {
        finish(r, NULL);
        return;
    }
    /* When nobody could tell whether it applies, it is asked again. */
    r->next.step = next < r->workflow->n_steps ? next : r->now.step + 1;
    progress(r, 0);
}

static void leave_attempt(struct run *r)
{
    struct flow *f = r->flow;
    flow_timer_clear(&r->timers.limit);
    pthread_mutex_lock(&f->lock);
    f->n_attempts--;
    pthread_mutex_unlock(&f->lock);
}

/* A run that was interrupted goes on at the next start. */
static void park(struct run *r)
{
    r->phase = PHASE_PARKED;
    flow_suspect_leave(r);
    free_steps(r);
}

/* It goes on elsewhere, as if it had been interrupted here. */
static void give(struct run *r)
{
    free_steps(r);
    r->next = r->now;
    r->next.holder = (struct weir_slice){0};
    pthread_mutex_lock(&r->lock);
    r->next.step_usd = r->step_usd;
    pthread_mutex_unlock(&r->lock);
    r->phase = PHASE_FINAL;
    flow_outbox_finish(r, FINAL_GIVE);
}

/* The store was not to be had, and that is nobody's failure. */
static bool met_no_store(const struct run *r)
{
    const struct flow_step *s = r->step;
    bool has_met = atomic_load(&s->status) == WEIR_STORAGE ||
                   (s->has_failed && s->failure.code == WEIR_STORAGE);
    return has_met && flow_is_away(r->flow, WEIR_STORAGE);
}

static void begin_again(struct run *r)
{
    free_steps(r);
    pause_for(r, FLOW_AGAIN_MS);
}

static void interrupted(struct run *r, unsigned why)
{
    if (flow_is_giving(r->flow)) {
        give(r);
        return;
    }
    if (why & ABORT_STOP) {
        park(r);
        return;
    }
    /* Those who were to have it are gone. */
    atomic_fetch_and(&r->aborted, ~(unsigned)ABORT_GIVE);
    begin_again(r);
}

static void on_ended(struct run *r)
{
    struct flow_step *s = r->step;
    CHECK(r->phase == PHASE_STEP);
    fault_pass(FAULT_OUTPUT);
    leave_attempt(r);
    atomic_fetch_add(&r->flow->n_steps, 1);
    enum weir_status st = atomic_load(&s->status);
    if (st != WEIR_OK && !s->has_failed) {
        s->has_failed = true;
        s->failure = (struct flow_failure){.code = st};
        snprintf(s->failure.message, sizeof s->failure.message, "%s", weir_status_text(st));
    }
    unsigned why = atomic_load(&r->aborted);
    if (why & ABORT_LOST) leave(r);
    else if (atomic_load(&r->flow->is_broken)) park(r);
    else if (!s->has_failed) attempt_done(r);
    else if (r->is_cancelled) finish(r, NULL);
    else if (why & (ABORT_STOP | ABORT_GIVE)) interrupted(r, why);
    else if (met_no_store(r)) begin_again(r);
    else attempt_failed(r);
}

/* ---- a commit has landed ---- */

static void landed_well(struct run *r, bool was_end)
{
    r->n_rebuilds = 0;
    /* With a step's output, not when a run is taken up. */
    if (r->pending_number > 0) fault_pass(FAULT_KEPT);
    if (was_end) {
        count_end(r);
        if (r->workflow->on_ended) r->workflow->on_ended(r->workflow->user, run_id(r));
        drop(r);
        return;
    }
    bool is_other = r->next.step != r->now.step;
    r->now = r->next;
    r->is_taken = true;
    free_steps(r);
    if (is_other) {
        mem_free(r->failure);
        r->failure = NULL;
    }
    if (r->now.crashes < FLOW_SUSPECT) flow_suspect_leave(r);
    pthread_mutex_lock(&r->lock);
    r->step_usd = r->now.step_usd;
    pthread_mutex_unlock(&r->lock);
    r->phase = PHASE_BETWEEN;
    if (r->pause_ms > 0 && !r->is_cancelled) pause_for(r, r->pause_ms);
}

/*
 * The store refused what a step or a hook put, or cannot read. A step that brought something is
 * tried again; all else is made again. Where the step has put nothing, it is the end's hook that
 * came second to somebody, and the step has nothing to do with it.
 */
static void refused(struct run *r, enum weir_status st)
{
    struct flow_step *s = r->step;
    if (s && r->pending_number > 0 && !s->has_failed) {
        bool is_race = st == WEIR_CONFLICT || st == WEIR_EXISTS || st == WEIR_NOT_FOUND;
        bool is_hooks = r->hook && r->hook->docs && !s->docs;
        if (is_race && is_hooks && ++r->n_rebuilds <= FLOW_REBUILDS) {
            attempt_done(r);
            return;
        }
        s->has_failed = true;
        s->failure = (struct flow_failure){.code = st};
        snprintf(s->failure.message, sizeof s->failure.message, "%s", weir_status_text(st));
        attempt_failed(r);
        return;
    }
    try_later(r, "a commit was refused", st);
}

static void lose(struct run *r)
{
    atomic_fetch_add(&r->flow->n_fenced, 1);
    complain(r, "somebody else has the run", WEIR_CONFLICT);
    leave(r);
}

static void on_final(struct run *r, enum weir_status st, enum final_kind kind)
{
    if (st == WEIR_OK && kind == FINAL_GIVE) {
        atomic_fetch_add(&r->flow->n_given, 1);
        leave(r);
    } else if (st == WEIR_OK) landed_well(r, kind == FINAL_END);
    else if (atomic_load(&r->is_lost)) lose(r);
    else if (atomic_load(&r->flow->is_broken)) park(r);
    else if (r->found_cancel) {
        r->found_cancel = false;
        r->is_cancelled = true;
        r->phase = PHASE_BETWEEN;
    } else refused(r, st);
}

static void on_broken(struct run *r, enum weir_status st)
{
    struct flow *f = r->flow;
    if (r->phase != PHASE_STEP) {
        if (atomic_load(&r->is_lost)) lose(r);
        else if (atomic_load(&f->is_broken)) park(r);
        else refused(r, st);
        return;
    }
    flow_step_note(r->step, st);
    pthread_mutex_lock(&f->lock);
    if (atomic_load(&r->is_lost)) flow_abort_locked(r, ABORT_LOST);
    pthread_mutex_unlock(&f->lock);
    if (atomic_load(&r->is_lost)) atomic_fetch_add(&f->n_fenced, 1);
}

static void on_sent(struct run *r)
{
    enum final_kind kind = r->final;
    bool had_opening = false;
    enum weir_status st = flow_outbox_take_broken(r, &had_opening);
    if (had_opening) r->now.began_ms = 0; /* it has yet to begin */
    if (st != WEIR_OK) {
        on_broken(r, st);
        return;
    }
    if (r->phase != PHASE_FINAL) return;
    if (flow_outbox_landed(r, &st)) on_final(r, st, kind);
    else flow_outbox_finish(r, r->final);
}

/* ---- steps ---- */

/* What the run begins with goes first, and nobody waits for it. */
static void open_log(struct run *r)
{
    struct flow_step *hook = flow_step_new(r, true);
    if (!hook) {
        try_later(r, "a run cannot begin", WEIR_NOMEM);
        return;
    }
    fault_pass(FAULT_RUN);
    r->now.began_ms = clock_wall_ms(r->flow->options.clock);
    if (r->workflow->on_begin) r->workflow->on_begin(hook);
    enum weir_status st = atomic_load(&hook->status);
    if (st == WEIR_OK) {
        flow_outbox_open(r, hook);
        return;
    }
    flow_step_free(hook);
    r->now.began_ms = 0;
    try_later(r, "a run cannot begin", st);
}

static void tell_of_abort(struct run *r)
{
    struct flow_step *s = r->step;
    bool can_hear = (s->is_waiting || s->is_parallel) && s->abort;
    if (!can_hear || s->was_told || atomic_load(&r->aborted) == 0) return;
    s->was_told = true;
    s->abort(s->abort_user);
}

/* A step that waits needs nothing that it can have again. */
static void after_call(struct run *r)
{
    struct flow *f = r->flow;
    pthread_mutex_lock(&f->lock);
    f->n_running--;
    pthread_mutex_unlock(&f->lock);
    if (r->step->is_waiting) flow_step_forget_reading(r->step);
    tell_of_abort(r);
}

static void call(struct run *r, void (*fn)(struct flow_step *s))
{
    struct flow *f = r->flow;
    pthread_mutex_lock(&f->lock);
    f->n_running++;
    pthread_mutex_unlock(&f->lock);
    fn(r->step);
    after_call(r);
}

static void begin_attempt(struct run *r)
{
    struct flow *f = r->flow;
    CHECK(!r->step);
    r->step = flow_step_new(r, false);
    if (!r->step) {
        try_later(r, "a step cannot begin", WEIR_NOMEM);
        return;
    }
    r->step->began_ms = clock_wall_ms(f->options.clock);
    r->phase = PHASE_STEP;
    flow_outbox_begin(r);
    pthread_mutex_lock(&f->lock);
    f->n_attempts++;
    atomic_fetch_and(&r->aborted, ~(unsigned)ABORT_LIMIT);
    pthread_mutex_unlock(&f->lock);
    fault_pass(FAULT_STEP);
    if (step_now(r)->limit_ms > 0) flow_timer_set(&r->timers.limit, step_now(r)->limit_ms);
    call(r, step_now(r)->run);
}

static void go_on(struct run *r)
{
    unsigned next;
    if (!r->is_checked) {
        enum weir_status st = next_step(r, r->now.step, &next);
        if (st != WEIR_OK) {
            try_later(r, "nobody can tell whether a step applies", st);
            return;
        }
        if (next == r->workflow->n_steps) {
            finish(r, NULL);
            return;
        }
        r->now.step = next;
        r->is_checked = true;
    }
    begin_attempt(r);
}

static void give_up(struct run *r)
{
    struct flow_failure failure = {.code = WEIR_INTERNAL, .is_final = true};
    snprintf(failure.message, sizeof failure.message, "%s was under way in %u crashes",
             step_now(r)->name, r->now.crashes);
    finish(r, &failure);
}

static void advance(struct run *r)
{
    if (r->phase != PHASE_BETWEEN || !flow_may_go_on(r->flow)) return;
    if (!r->is_loaded && !load(r)) return;
    free_steps(r);
    if (r->is_cancelled) {
        finish(r, NULL);
        return;
    }
    if (flow_is_giving(r->flow)) {
        give(r);
        return;
    }
    if (r->now.crashes >= FLOW_CRASHES) {
        give_up(r);
        return;
    }
    if (r->now.crashes >= FLOW_SUSPECT && !flow_suspect_enter(r)) return;
    if (r->is_recovered && !r->is_taken) {
        /* How often it was tried is durable before it is tried. */
        r->next = r->now;
        progress(r, 0);
        return;
    }
    if (r->now.began_ms == 0) open_log(r);
    if (r->phase == PHASE_BETWEEN) go_on(r);
}

/* ---- news ---- */

static void on_aborted(struct run *r)
{
    unsigned why = atomic_load(&r->aborted);
    if (why & ABORT_CANCEL) r->is_cancelled = true;
    if (why & ABORT_LOST && r->phase != PHASE_STEP && r->phase != PHASE_FINAL) {
        lose(r);
        return;
    }
    bool is_to_go_on = r->is_cancelled || (why & ABORT_GIVE);
    if (r->phase == PHASE_PAUSE && is_to_go_on) {
        flow_timer_clear(&r->timers.pause);
        r->phase = PHASE_BETWEEN;
    }
    if (r->phase == PHASE_STEP) tell_of_abort(r);
}

static void on_resumed(struct run *r)
{
    struct flow *f = r->flow;
    CHECK(r->phase == PHASE_STEP);
    pthread_mutex_lock(&f->lock);
    if (r->is_waiting) f->n_waiting--;
    r->is_waiting = false;
    pthread_mutex_unlock(&f->lock);
    r->step->is_waiting = false;
    call(r, r->step->resume);
}

static void on_parts(struct run *r)
{
    r->step->is_parallel = false;
    call(r, r->step->parts->then);
}

/*
 * A run that rests gives up its place among the suspects, and its document says that a crash is not
 * its doing. Before anything of it goes on, it has the place again and the document says nothing of
 * the kind any more, so that a step that kills the process behind a rest is found out, too. What is
 * aborted only ends.
 */
static void look_after_rest(struct run *r)
{
    struct flow *f = r->flow;
    pthread_mutex_lock(&f->lock);
    bool is_resting = r->is_resting;
    bool is_to_go_on = is_resting && r->step->parts->n_held > 0;
    pthread_mutex_unlock(&f->lock);
    if (!is_resting) return;
    if (!is_to_go_on) {
        flow_suspect_leave(r);
        (void)flow_outbox_rest(r, true);
        return;
    }
    if (atomic_load(&r->aborted) == 0) {
        if (r->now.crashes >= FLOW_SUSPECT && !flow_suspect_enter(r)) return;
        if (!flow_outbox_rest(r, false)) return;
    }
    pthread_mutex_lock(&f->lock);
    flow_step_leave_rest_locked(r->step);
    pthread_mutex_unlock(&f->lock);
}

static void act(struct run *r, unsigned news)
{
    if (news & NEWS_BEGIN) r->phase = PHASE_BETWEEN;
    if (news & NEWS_SENT && r->phase != PHASE_DEAD) on_sent(r);
    if (news & NEWS_DUE && r->phase == PHASE_PAUSE) {
        /* What an attempt said that the store was not there for is durable before the next. */
        if (flow_outbox_is_empty(r)) r->phase = PHASE_BETWEEN;
        else pause_for(r, FLOW_AGAIN_MS);
    }
    if (news & NEWS_RESUMED) on_resumed(r);
    if (news & NEWS_PARTS) on_parts(r);
    if (news & NEWS_ABORTED && r->phase != PHASE_DEAD) on_aborted(r);
    if (news & NEWS_ENDED) on_ended(r);
    if (r->phase == PHASE_STEP) look_after_rest(r);
    advance(r);
}

/* Under the engine's lock: the next news; 0 when there are none, and it is idle. */
static unsigned take_news(struct run *r)
{
    unsigned news = r->news;
    r->news = 0;
    return news;
}

void flow_run_go(struct work *w)
{
    struct run *r = CONTAINER_OF(w, struct run, work);
    struct flow *f = r->flow;
    pthread_mutex_lock(&f->lock);
    for (unsigned news; (news = take_news(r)) != 0;) {
        pthread_mutex_unlock(&f->lock);
        if (r->phase != PHASE_DEAD) act(r, news);
        pthread_mutex_lock(&f->lock);
    }
    flow_rest_locked(r);
    pthread_mutex_unlock(&f->lock);
}
