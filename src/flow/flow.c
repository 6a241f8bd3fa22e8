/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine: its threads, the queue they work off, the table of runs, and what an earlier process
 * left. See flow.h and flow_impl.h.
 */
#include <stdlib.h>
#include <unistd.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/slice.h"
#include "flow/flow_impl.h"

enum {
    DEFAULT_RUNS = 100 * 1000,
    DEFAULT_LEASE_MS = 30 * 1000,
    SHARED_LEASE_MS = 6 * 1000, /* and a third of it until somebody looks: within 10 s */
    DEFAULT_KEEP = 64,
    MAX_THREADS = 256,
    CANCEL_BYTES = 256, /* of the commit, about */
};

static struct flow *checked(struct flow *f)
{
    CHECK(f->magic == FLOW_MAGIC);
    return f;
}

/* ---- the queue ---- */

static void push_locked(struct flow *f, struct work *w)
{
    list_push_back(&f->queue, &w->node);
    pthread_cond_signal(&f->filled);
}

void flow_push_front_locked(struct flow *f, struct work *w)
{
    list_push_front(&f->queue, &w->node);
    pthread_cond_signal(&f->filled);
}

void flow_post_locked(struct run *r, unsigned news)
{
    r->news |= news;
    if (r->is_busy) return;
    r->is_busy = true;
    r->flow->n_busy++;
    push_locked(r->flow, &r->work);
}

void flow_post(struct run *r, unsigned news)
{
    struct flow *f = r->flow;
    pthread_mutex_lock(&f->lock);
    flow_post_locked(r, news);
    pthread_mutex_unlock(&f->lock);
}

static void *work(void *flow)
{
    struct flow *f = flow;
    struct list_node *node;
    pthread_mutex_lock(&f->lock);
    for (;;) {
        while (!(node = list_pop_front(&f->queue)) && !f->is_quitting)
            pthread_cond_wait(&f->filled, &f->lock);
        if (!node) break;
        pthread_mutex_unlock(&f->lock);
        struct work *w = CONTAINER_OF(node, struct work, node);
        w->go(w);
        pthread_mutex_lock(&f->lock);
    }
    pthread_mutex_unlock(&f->lock);
    return NULL;
}

/* ---- the table of runs ---- */

static bool is_idle(const struct flow *f)
{
    return f->n_busy == 0 && f->n_attempts == 0 && f->n_refs == 0;
}

/* Nothing is under way but what waits for people, who will not come in time. */
static bool is_at_rest(const struct flow *f)
{
    return f->n_busy == 0 && f->n_attempts == f->n_at_rest;
}

static void free_if_over_locked(struct run *r)
{
    struct flow *f = r->flow;
    /* Who stops waits for all of it; who frees, for the references alone. */
    if (f->is_stopping && (is_idle(f) || f->n_refs == 0 || is_at_rest(f)))
        pthread_cond_broadcast(&f->idle);
    if (r->is_dead && !r->is_busy && r->n_refs == 0) flow_run_free(r);
}

void flow_rest_locked(struct run *r)
{
    r->is_busy = false;
    r->flow->n_busy--;
    free_if_over_locked(r);
}

void flow_ref_locked(struct run *r)
{
    r->n_refs++;
    r->flow->n_refs++;
}

void flow_ref(struct run *r)
{
    struct flow *f = r->flow;
    pthread_mutex_lock(&f->lock);
    flow_ref_locked(r);
    pthread_mutex_unlock(&f->lock);
}

void flow_unref(struct run *r)
{
    struct flow *f = r->flow;
    pthread_mutex_lock(&f->lock);
    r->n_refs--;
    f->n_refs--;
    free_if_over_locked(r);
    pthread_mutex_unlock(&f->lock);
}

void flow_forget(struct run *r)
{
    struct flow *f = r->flow;
    pthread_mutex_lock(&f->lock);
    if (map_get(&f->runs, run_id(r)) == r) map_take(&f->runs, run_id(r));
    flow_timers_fini_locked(r);
    r->is_dead = true;
    if (f->nodes && f->nodes->is_draining) pthread_cond_broadcast(&f->idle);
    pthread_mutex_unlock(&f->lock);
}

static struct run *run_new(struct flow *f, struct weir_slice id)
{
    struct run *r = mem_zalloc(sizeof *r + id.len);
    if (!r) return NULL;
    r->work.go = flow_run_go;
    r->flow = f;
    r->n_id = id.len;
    memcpy(r->id, id.ptr, id.len);
    pthread_mutex_init(&r->lock, NULL);
    flow_outbox_init(r);
    return r;
}

static WEIR_MUST_CHECK enum weir_status add_locked(struct flow *f, struct run *r)
{
    if (f->is_stopping || atomic_load(&f->is_broken)) return WEIR_SHUTDOWN;
    if (f->runs.len >= f->options.max_runs) return WEIR_BUSY;
    enum weir_status st = flow_timers_init_locked(r);
    if (st == WEIR_OK) st = map_put(&f->runs, run_id(r), r);
    if (st != WEIR_OK) {
        flow_timers_fini_locked(r);
        return st;
    }
    atomic_fetch_add(&f->n_begun, 1);
    flow_post_locked(r, NEWS_BEGIN);
    return WEIR_OK;
}

static WEIR_MUST_CHECK enum weir_status begin(struct flow *f, struct weir_slice id,
                                              bool is_recovered)
{
    enum weir_status st = WEIR_OK;
    if (id.len == 0 || id.len > FLOW_ID_BYTES) return WEIR_INVALID;
    struct run *r = run_new(f, id);
    if (!r) return WEIR_NOMEM;
    r->is_recovered = is_recovered;
    pthread_mutex_lock(&f->lock);
    bool is_known = map_get(&f->runs, id) != NULL;
    if (!is_known) st = add_locked(f, r);
    pthread_mutex_unlock(&f->lock);
    if (is_known || st != WEIR_OK) flow_run_free(r);
    return st;
}

enum weir_status flow_begin(struct flow *f, struct weir_slice id)
{
    return checked(f)->nodes && flow_share_out(f, id) ? WEIR_OK : begin(f, id, false);
}

enum weir_status flow_begin_here(struct flow *f, struct weir_slice id)
{
    return begin(f, id, false);
}

bool flow_may_go_on(struct flow *f)
{
    pthread_mutex_lock(&f->lock);
    bool may = !f->is_stopping && !atomic_load(&f->is_broken);
    pthread_mutex_unlock(&f->lock);
    return may;
}

const struct workflow *flow_workflow(const struct flow *f, struct weir_slice name)
{
    for (size_t i = 0; i < f->options.n_workflows; i++)
        if (weir_slice_is(name, f->options.workflows[i]->name)) return f->options.workflows[i];
    return NULL;
}

/* ---- aborting ---- */

void flow_abort_locked(struct run *r, enum abort_reason reason)
{
    atomic_fetch_or(&r->aborted, (unsigned)reason);
    if (r->is_full) pthread_cond_broadcast(&r->flow->drained);
    flow_post_locked(r, NEWS_ABORTED);
}

static void abort_all_locked(struct flow *f, enum abort_reason reason)
{
    struct map_walk w = map_walk_begin(&f->runs);
    while (map_walk_next(&f->runs, &w)) flow_abort_locked(w.value, reason);
}

void flow_break(struct flow *f)
{
    if (atomic_exchange(&f->is_broken, true)) return;
    TRACE(f->options.trace, TRACE_ERROR, "flow", "the store takes nothing any more; runs wait");
    pthread_mutex_lock(&f->lock);
    abort_all_locked(f, ABORT_STOP);
    pthread_mutex_unlock(&f->lock);
}

/* ---- cancelling ---- */

struct cancelling {
    struct flow *flow;
    struct commit *commit;
    commit_done_fn done;
    void *user;
    size_t n_id;
    char id[FLOW_ID_BYTES];
};

static struct doc_key run_key(const char *kind, struct weir_slice id)
{
    return (struct doc_key){weir_slice_of(kind), id};
}

/* A run that is over cannot be cancelled. */
enum weir_status flow_add_cancel(struct commit_view *view, struct commit *c, struct weir_slice id)
{
    struct doc doc;
    enum weir_status st = commit_view_doc(view, run_key(flow_run_kind, id), &doc);
    if (st == WEIR_OK)
        commit_put(c, run_key(flow_cancel_kind, id), DOC_ANY_VERSION, (struct weir_slice){0},
                   SLICE("{}"));
    return st;
}

enum weir_status flow_is_wanted(struct commit_view *view, struct weir_slice id)
{
    struct doc doc;
    enum weir_status st = commit_view_doc(view, run_key(flow_run_kind, id), &doc);
    if (st != WEIR_OK) return st;
    st = commit_view_doc(view, run_key(flow_cancel_kind, id), &doc);
    if (st == WEIR_OK) return WEIR_CANCELLED;
    return st == WEIR_NOT_FOUND ? WEIR_OK : st;
}

void flow_cancelled(struct flow *f, struct weir_slice id)
{
    pthread_mutex_lock(&checked(f)->lock);
    struct run *r = map_get(&f->runs, id);
    if (r) flow_abort_locked(r, ABORT_CANCEL);
    pthread_mutex_unlock(&f->lock);
}

static enum weir_status decide_cancel(void *user, struct commit_view *view, struct commit *c)
{
    const struct cancelling *w = user;
    return flow_add_cancel(view, c, slice_of(w->id, w->n_id));
}

static void on_cancelled(void *user, const struct commit_result *result)
{
    struct cancelling *w = user;
    if (result->status == WEIR_OK) flow_cancelled(w->flow, slice_of(w->id, w->n_id));
    w->done(w->user, result);
    commit_free(w->commit);
    mem_free(w);
}

void flow_cancel(struct flow *f, struct weir_slice id, commit_done_fn done, void *user)
{
    struct commit_result result = {.status = WEIR_NOMEM};
    bool is_id = id.len > 0 && id.len <= FLOW_ID_BYTES;
    if (!is_id) result.status = WEIR_NOT_FOUND;
    struct cancelling *w = is_id ? mem_zalloc(sizeof *w) : NULL;
    struct commit *c = w ? commit_new(CANCEL_BYTES) : NULL;
    if (!c) {
        mem_free(w);
        done(user, &result);
        return;
    }
    *w = (struct cancelling){
        .flow = checked(f), .commit = c, .done = done, .user = user, .n_id = id.len};
    memcpy(w->id, id.ptr, id.len);
    commit_decide(c, false, decide_cancel, w);
    store_commit(f->store, c, on_cancelled, w);
}

/* ---- life ---- */

static void init_locks(struct flow *f)
{
    pthread_condattr_t attributes;
    pthread_mutex_init(&f->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&f->filled, &attributes);
    pthread_cond_init(&f->due, &attributes);
    pthread_cond_init(&f->idle, &attributes);
    pthread_cond_init(&f->drained, &attributes);
    pthread_condattr_destroy(&attributes);
}

static void set_options(struct flow *f, const struct flow_options *options)
{
    long n_processors = sysconf(_SC_NPROCESSORS_ONLN);
    f->options = *options;
    f->options.is_shared |= store_is_shared(f->store);
    if (!f->options.clock) f->options.clock = &clock_system;
    if (f->options.max_runs == 0) f->options.max_runs = DEFAULT_RUNS;
    if (f->options.lease_ms == 0)
        f->options.lease_ms = f->options.is_shared ? SHARED_LEASE_MS : DEFAULT_LEASE_MS;
    if (f->options.keep_runs == 0) f->options.keep_runs = DEFAULT_KEEP;
    if (f->options.n_threads == 0)
        f->options.n_threads = n_processors > 0 ? (unsigned)n_processors : 1;
    if (f->options.n_threads > MAX_THREADS) f->options.n_threads = MAX_THREADS;
    f->options.workflows = f->workflows;
    CHECK(options->n_workflows <= FLOW_WORKFLOWS);
    for (size_t i = 0; i < options->n_workflows; i++) {
        f->workflows[i] = options->workflows[i];
        CHECK(f->workflows[i]->n_steps > 0 && f->workflows[i]->n_steps <= FLOW_STEPS);
    }
}

enum weir_status flow_new(struct flow **out, struct store *store,
                          const struct flow_options *options)
{
    struct ulid_source source;
    struct ulid holder;
    struct flow *f = mem_zalloc(sizeof *f);
    *out = NULL;
    if (!f) return WEIR_NOMEM;
    f->store = store;
    set_options(f, options);
    ulid_source_init(&source, f->options.clock);
    enum weir_status st = options->holder ? ulid_parse(weir_slice_of(options->holder), &holder)
                                          : ulid_next(&source, &holder);
    f->threads = mem_zalloc(f->options.n_threads * sizeof *f->threads);
    if (st == WEIR_OK && !f->threads) st = WEIR_NOMEM;
    if (st == WEIR_OK && f->options.is_shared) st = flow_nodes_new(f);
    if (st != WEIR_OK) {
        mem_free(f->threads);
        mem_free(f);
        return st;
    }
    ulid_format(f->holder, holder);
    f->magic = FLOW_MAGIC;
    f->random = hash_key_random().k0;
    f->renew_ns = clock_mono_ns(f->options.clock) + f->options.lease_ms * FLOW_NS_PER_MS / 3;
    init_locks(f);
    list_init(&f->queue);
    list_init(&f->suspects);
    map_init(&f->runs, f->options.max_runs);
    heap_init(&f->timers, FLOW_TIMERS * (size_t)f->options.max_runs);
    *out = f;
    return WEIR_OK;
}

static WEIR_MUST_CHECK enum weir_status start_threads(struct flow *f)
{
    f->has_timer_thread = pthread_create(&f->timer_thread, NULL, flow_timer_run, f) == 0;
    if (!f->has_timer_thread) return WEIR_IO;
    for (; f->n_threads < f->options.n_threads; f->n_threads++)
        if (pthread_create(&f->threads[f->n_threads], NULL, work, f) != 0) break;
    return f->n_threads > 0 ? WEIR_OK : WEIR_IO;
}

enum weir_status flow_begin_again(struct flow *f, struct weir_slice id)
{
    return begin(f, id, true);
}

enum weir_status flow_start(struct flow *f)
{
    enum weir_status st = start_threads(checked(f));
    if (st != WEIR_OK) return st;
    return f->nodes ? flow_nodes_start(f) : flow_recover_all(f);
}

void flow_wake(struct flow *f)
{
    pthread_mutex_lock(&checked(f)->lock);
    pthread_cond_signal(&f->due);
    if (f->nodes) pthread_cond_signal(&f->nodes->woken);
    pthread_mutex_unlock(&f->lock);
}

/* With the lock. */
static void wait_until(struct flow *f, bool (*is_so)(const struct flow *), unsigned ms)
{
    struct timespec at = clock_deadline(ms);
    int error = 0;
    while (!is_so(f) && error == 0) error = pthread_cond_timedwait(&f->idle, &f->lock, &at);
}

static bool is_drained(const struct flow *f)
{
    return f->runs.len == 0;
}

/* With the lock. Who computes comes to the end of its step, and who waits then is told then. */
static void give_waiting_locked(struct flow *f)
{
    struct map_walk w = map_walk_begin(&f->runs);
    while (map_walk_next(&f->runs, &w)) {
        struct run *r = w.value;
        if (r->is_waiting || !r->is_busy) flow_abort_locked(r, ABORT_GIVE);
    }
}

bool flow_drain(struct flow *f, unsigned grace_ms)
{
    if (!checked(f)->nodes) return false;
    pthread_mutex_lock(&f->lock);
    bool was_draining = f->nodes->is_draining;
    f->nodes->is_draining = true;
    pthread_mutex_unlock(&f->lock);
    /* The others must not give us theirs. What could not be told now is told with the lease. */
    if (!was_draining) (void)flow_put_node(f, false);
    pthread_mutex_lock(&f->lock);
    bool has_others = flow_is_giving_locked(f);
    if (has_others) {
        give_waiting_locked(f);
        wait_until(f, is_drained, grace_ms);
    }
    bool is_done = is_drained(f);
    pthread_mutex_unlock(&f->lock);
    return is_done;
}

void flow_stop(struct flow *f, unsigned grace_ms)
{
    if (f->n_threads == 0) return;
    pthread_mutex_lock(&checked(f)->lock);
    bool was_stopping = f->is_stopping;
    f->is_stopping = true;
    wait_until(f, is_at_rest, grace_ms / 2);
    if (!is_idle(f)) abort_all_locked(f, ABORT_STOP);
    wait_until(f, is_idle, grace_ms - grace_ms / 2);
    pthread_mutex_unlock(&f->lock);
    if (!was_stopping && !atomic_load(&f->is_broken)) (void)flow_put_node(f, true);
}

static void join_all(struct flow *f)
{
    pthread_mutex_lock(&f->lock);
    f->is_stopping = f->is_quitting = true;
    pthread_cond_broadcast(&f->filled);
    pthread_cond_broadcast(&f->due);
    pthread_mutex_unlock(&f->lock);
    if (f->nodes) flow_nodes_join(f);
    for (unsigned i = 0; i < f->n_threads; i++) pthread_join(f->threads[i], NULL);
    if (f->has_timer_thread) pthread_join(f->timer_thread, NULL);
    /* The committer may still have something of ours. */
    pthread_mutex_lock(&f->lock);
    while (f->n_refs > 0) pthread_cond_wait(&f->idle, &f->lock);
    pthread_mutex_unlock(&f->lock);
}

void flow_free(struct flow *f)
{
    struct list_node *node;
    if (!f) return;
    flow_stop(f, 0);
    join_all(f);
    /* News that nobody took; runs that are out of the table wait for nothing else. */
    while ((node = list_pop_front(&f->queue))) {
        struct work *w = CONTAINER_OF(node, struct work, node);
        struct run *r = CONTAINER_OF(w, struct run, work);
        r->is_busy = false;
        if (r->is_dead) flow_run_free(r);
    }
    struct map_walk w = map_walk_begin(&f->runs);
    heap_fini(&f->timers);
    while (map_walk_next(&f->runs, &w)) flow_run_free(w.value);
    map_fini(&f->runs);
    flow_nodes_free(f);
    pthread_cond_destroy(&f->filled);
    pthread_cond_destroy(&f->due);
    pthread_cond_destroy(&f->idle);
    pthread_cond_destroy(&f->drained);
    pthread_mutex_destroy(&f->lock);
    mem_free(f->threads);
    f->magic = 0;
    mem_free(f);
}

void flow_stats(struct flow *f, struct flow_stats *out)
{
    /* First who is there: whoever has gone by then was counted before. */
    pthread_mutex_lock(&checked(f)->lock);
    *out = (struct flow_stats){
        .n_in_flight = (unsigned)f->runs.len, .n_waiting = f->n_waiting, .n_running = f->n_running};
    pthread_mutex_unlock(&f->lock);
    out->n_begun = atomic_load(&f->n_begun);
    out->n_completed = atomic_load(&f->n_completed);
    out->n_failed = atomic_load(&f->n_failed);
    out->n_recovered = atomic_load(&f->n_recovered);
    out->n_steps = atomic_load(&f->n_steps);
    out->n_retries = atomic_load(&f->n_retries);
    out->n_fenced = atomic_load(&f->n_fenced);
    out->n_given = atomic_load(&f->n_given);
}
