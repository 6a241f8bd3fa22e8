/* SPDX-License-Identifier: Apache-2.0 */
/* The engine of sessions: its life, its ids, its own commits, and the thread of deadlines. */
#include "base/check.h"
#include "base/mem.h"
#include "base/slice.h"
#include "session/session_impl.h"

enum {
    MAX_RUNS = 200000,
    MAX_DUES = 1 << 20,
    IDLE_MS = 10 * 1000, /* longest sleep: nobody tells of a clock on the wall that jumps */
    SPARE_MS = 1000,     /* before the heap is asked for room again */
    APPROVAL_MS = 10 * 60 * 1000,
    CLARIFY_MS = 5 * 60 * 1000,
    ID_BYTES = 64,
};

static struct sessions *checked(struct sessions *s)
{
    CHECK(s->magic == SESSIONS_MAGIC);
    return s;
}

enum weir_status sessions_next_id(struct sessions *s, const char *prefix, char *out)
{
    struct ulid id;
    size_t len = strlen(prefix);
    pthread_mutex_lock(&s->id_lock);
    enum weir_status st = ulid_next(&s->ids, &id);
    pthread_mutex_unlock(&s->id_lock);
    if (st != WEIR_OK) return st;
    memcpy(out, prefix, len);
    ulid_format(out + len, id);
    return WEIR_OK;
}

int64_t sessions_now(const struct sessions *s)
{
    return clock_wall_ms(s->options.clock);
}

void sessions_count(struct sessions *s, size_t member)
{
    CHECK(member + sizeof(uint64_t) <= sizeof s->stats);
    pthread_mutex_lock(&s->lock);
    ++*(uint64_t *)((char *)&s->stats + member);
    pthread_mutex_unlock(&s->lock);
}

/* ---- deadlines ---- */

void due_clear_locked(struct sessions *s, struct due *d)
{
    if (heap_is_linked(&d->node)) heap_remove(&s->timers, &d->node);
    if (list_is_linked(&d->spare)) list_remove(&d->spare);
    d->is_set = false;
}

void due_set_locked(struct sessions *s, struct due *d, int64_t at_ms)
{
    uint64_t due = at_ms > 0 ? (uint64_t)at_ms : 0;
    CHECK(d->fire);
    due_clear_locked(s, d);
    d->is_set = true;
    if (heap_push(&s->timers, &d->node, due) != WEIR_OK) {
        d->node.due = due;
        list_push_back(&s->spare, &d->spare);
    }
    if (heap_peek(&s->timers) == &d->node || list_is_linked(&d->spare))
        pthread_cond_signal(&s->due);
}

void due_set(struct sessions *s, struct due *d, int64_t at_ms)
{
    pthread_mutex_lock(&s->lock);
    due_set_locked(s, d, at_ms);
    pthread_mutex_unlock(&s->lock);
}

void due_clear(struct sessions *s, struct due *d)
{
    pthread_mutex_lock(&s->lock);
    bool is_own = s->has_timer_thread && pthread_equal(pthread_self(), s->timer_thread);
    while (s->firing == d && !is_own) pthread_cond_wait(&s->fired, &s->lock);
    /* Not before: what fires may have set it again. */
    due_clear_locked(s, d);
    pthread_mutex_unlock(&s->lock);
}

static void take_spare(struct sessions *s)
{
    struct list_node *n = list_first(&s->spare);
    while (n) {
        struct due *d = CONTAINER_OF(n, struct due, spare);
        if (heap_push(&s->timers, &d->node, d->node.due) != WEIR_OK) return;
        list_remove(n);
        n = list_first(&s->spare);
    }
}

static uint64_t wait_ms(const struct sessions *s, int64_t now_ms)
{
    const struct heap_node *next = heap_peek(&s->timers);
    uint64_t now = (uint64_t)now_ms;
    uint64_t due = now + (list_is_empty(&s->spare) ? IDLE_MS : SPARE_MS);
    if (next && next->due < due) due = next->due;
    return due > now ? due - now : 0;
}

/* With the lock, which it gives away meanwhile. */
static void fire_next(struct sessions *s)
{
    struct due *d = CONTAINER_OF(heap_pop(&s->timers), struct due, node);
    d->is_set = false;
    s->firing = d;
    pthread_mutex_unlock(&s->lock);
    d->fire(s, d);
    pthread_mutex_lock(&s->lock);
    s->firing = NULL;
    pthread_cond_broadcast(&s->fired);
}

static void *run_timer(void *sessions)
{
    struct sessions *s = sessions;
    pthread_mutex_lock(&s->lock);
    while (!s->is_quitting) {
        take_spare(s);
        uint64_t in_ms = wait_ms(s, sessions_now(s));
        if (in_ms == 0) {
            fire_next(s);
            continue;
        }
        struct timespec at = clock_deadline(in_ms);
        (void)pthread_cond_timedwait(&s->due, &s->lock, &at);
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

static enum weir_status start_timer(struct sessions *s)
{
    pthread_mutex_lock(&s->lock);
    s->has_timer_thread = pthread_create(&s->timer_thread, NULL, run_timer, s) == 0;
    pthread_mutex_unlock(&s->lock);
    return s->has_timer_thread ? WEIR_OK : WEIR_NOMEM;
}

static void stop_timer(struct sessions *s)
{
    if (!s->has_timer_thread) return;
    pthread_mutex_lock(&s->lock);
    s->is_quitting = true;
    pthread_cond_signal(&s->due);
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->timer_thread, NULL);
    pthread_mutex_lock(&s->lock);
    s->has_timer_thread = false;
    pthread_mutex_unlock(&s->lock);
}

void sessions_wake(struct sessions *s)
{
    pthread_mutex_lock(&checked(s)->lock);
    pthread_cond_signal(&s->due);
    pthread_mutex_unlock(&s->lock);
    flow_wake(s->flow);
}

/* ---- commits of its own ---- */

static bool enter(struct sessions *s)
{
    pthread_mutex_lock(&s->lock);
    bool may = !s->is_stopping;
    if (may) s->n_commits++;
    pthread_mutex_unlock(&s->lock);
    return may;
}

static void leave(struct sessions *s)
{
    pthread_mutex_lock(&s->lock);
    CHECK(s->n_commits > 0);
    s->n_commits--;
    pthread_cond_broadcast(&s->landed);
    pthread_mutex_unlock(&s->lock);
}

struct own {
    struct sessions *sessions;
    struct commit *commit;
    struct own_commit how;
};

static void on_landed(void *user, const struct commit_result *result)
{
    struct own *o = user;
    struct sessions *s = o->sessions;
    if (o->how.then) o->how.then(o->how.user, result->status);
    commit_free(o->commit);
    mem_free(o);
    leave(s);
}

bool sessions_commit(struct sessions *s, const struct own_commit *how)
{
    struct own *o = mem_zalloc(sizeof *o);
    if (!o) return false;
    *o = (struct own){.sessions = s, .commit = commit_new(0), .how = *how};
    if (!o->commit || !enter(s)) {
        commit_free(o->commit);
        mem_free(o);
        return false;
    }
    commit_decide(o->commit, false, how->decide, how->user);
    store_commit(s->store, o->commit, on_landed, o);
    return true;
}

struct later {
    struct sessions *sessions;
    void (*work)(struct sessions *s, struct weir_slice id);
    size_t n_id;
    char id[ID_BYTES];
};

static void do_later(void *user)
{
    struct later *l = user;
    struct sessions *s = l->sessions;
    l->work(s, slice_of(l->id, l->n_id));
    mem_free(l);
    leave(s);
}

bool sessions_later(struct sessions *s, void (*work)(struct sessions *s, struct weir_slice id),
                    struct weir_slice id)
{
    CHECK(id.len <= ID_BYTES);
    struct later *l = mem_zalloc(sizeof *l);
    if (!l) return false;
    *l = (struct later){.sessions = s, .work = work, .n_id = id.len};
    memcpy(l->id, id.ptr, id.len);
    if (enter(s)) {
        if (store_later(s->store, do_later, l) == WEIR_OK) return true;
        leave(s);
    }
    mem_free(l);
    return false;
}

static void wait_for_commits(struct sessions *s)
{
    pthread_mutex_lock(&s->lock);
    s->is_stopping = true;
    while (s->n_commits > 0) pthread_cond_wait(&s->landed, &s->lock);
    pthread_mutex_unlock(&s->lock);
}

/* ---- life ---- */

static void set_options(struct sessions *s, const struct sessions_options *o)
{
    s->options = *o;
    if (s->options.approval_ms == 0) s->options.approval_ms = APPROVAL_MS;
    if (s->options.clarify_ms == 0) s->options.clarify_ms = CLARIFY_MS;
    if (s->options.keep_events == 0) s->options.keep_events = SESSION_KEEP_EVENTS;
    if (s->options.keep_ms == 0) s->options.keep_ms = SESSION_KEEP_MS;
    if (!s->options.clock) s->options.clock = &clock_system;
    s->has_model = o->models && models_has(o->models, MODEL_MAIN);
    s->workflow = (struct workflow){.name = "session_turn",
                                    .steps = session_steps,
                                    .n_steps = 1,
                                    .keep_ms = -1,
                                    .has_open_log = true,
                                    .user = s,
                                    .on_begin = turn_on_begin,
                                    .on_end = turn_on_end,
                                    .on_ended = turn_on_ended,
                                    .on_left = turn_on_left};
    s->workflows[0] = &s->workflow;
    turn_host_init(s);
    s->host.max_usd = o->max_turn_usd;
}

static void init_parts(struct sessions *s)
{
    pthread_condattr_t attributes;
    call_host_init(&s->host);
    shelf_init(&s->shelf, s->store);
    pthread_mutex_init(&s->id_lock, NULL);
    pthread_mutex_init(&s->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&s->due, &attributes);
    pthread_cond_init(&s->asked, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_cond_init(&s->fired, NULL);
    pthread_cond_init(&s->landed, NULL);
    ulid_source_init(&s->ids, s->options.clock);
    map_init(&s->turns, MAX_RUNS);
    heap_init(&s->timers, MAX_DUES);
    list_init(&s->spare);
    s->catch_up.fire = session_catch_up;
    s->deletions.fire = session_delete_again;
    list_init(&s->asking);
    list_init(&s->works);
}

/* What followed the turns of a node that is gone, and deletions: it may not have come to them. */
static void on_gone(void *sessions)
{
    struct sessions *s = sessions;
    due_set(s, &s->catch_up, sessions_now(s));
    due_set(s, &s->deletions, sessions_now(s));
}

static void on_nodes(void *sessions)
{
    mesh_changed(sessions, 0);
}

enum weir_status sessions_new(struct sessions **out, struct store *store,
                              const struct sessions_options *o)
{
    struct sessions *s = mem_zalloc(sizeof *s);
    *out = NULL;
    if (!s) return WEIR_NOMEM;
    CHECK(o->policy && o->vault);
    s->magic = SESSIONS_MAGIC;
    s->store = store;
    set_options(s, o);
    init_parts(s);
    struct flow_options flow = {.workflows = s->workflows,
                                .n_workflows = 1,
                                .n_threads = s->options.n_threads,
                                .max_runs = MAX_RUNS,
                                .lease_ms = s->options.lease_ms,
                                .clock = s->options.clock,
                                .trace = s->options.trace,
                                .holder = s->node,
                                .about = s->about,
                                .on_gone = on_gone,
                                .on_nodes = on_nodes,
                                .user = s};
    enum weir_status st = sessions_next_id(s, "", s->node);
    mesh_init(s);
    if (st == WEIR_OK) st = flow_new(&s->flow, store, &flow);
    if (st == WEIR_OK) st = start_timer(s);
    if (st == WEIR_OK) *out = s;
    else sessions_free(s);
    return st;
}

enum weir_status sessions_start(struct sessions *s)
{
    enum weir_status st = jobs_start(checked(s));
    if (st == WEIR_OK) st = sessions_finish_deletions(s);
    if (st == WEIR_OK) st = sessions_go_on(s);
    if (st == WEIR_OK) st = questions_close_orphans(s);
    /* From here on a turn may end, and the next is begun by whoever follows that. */
    atomic_store(&s->has_started, st == WEIR_OK);
    if (st == WEIR_OK) st = flow_start(s->flow);
    if (st == WEIR_OK) jobs_go(s);
    return st;
}

bool sessions_drain(struct sessions *s, unsigned grace_ms)
{
    return flow_drain(checked(s)->flow, grace_ms);
}

bool sessions_are_given(struct sessions *s)
{
    return flow_is_giving(checked(s)->flow);
}

void sessions_stop(struct sessions *s, unsigned grace_ms)
{
    stop_timer(checked(s));
    flow_stop(s->flow, grace_ms);
    call_host_stop(&s->host);
}

void sessions_free(struct sessions *s)
{
    if (!s) return;
    stop_timer(checked(s));
    /* What a commit leads to may need the runs. */
    wait_for_commits(s);
    flow_free(s->flow);
    jobs_free(s->jobs);
    questions_forget(s);
    turns_forget(s);
    tools_forget(s);
    mesh_fini(s);
    map_fini(&s->turns);
    heap_fini(&s->timers);
    shelf_fini(&s->shelf);
    call_host_fini(&s->host);
    pthread_cond_destroy(&s->due);
    pthread_cond_destroy(&s->asked);
    pthread_cond_destroy(&s->fired);
    pthread_cond_destroy(&s->landed);
    pthread_mutex_destroy(&s->lock);
    pthread_mutex_destroy(&s->id_lock);
    s->magic = 0;
    mem_free(s);
}

/* ---- for others ---- */

void sessions_data_changed(struct sessions *s)
{
    atomic_fetch_add(&checked(s)->shelf.generation, 1);
}

void sessions_stats(struct sessions *s, struct sessions_stats *out)
{
    pthread_mutex_lock(&checked(s)->lock);
    *out = s->stats;
    pthread_mutex_unlock(&s->lock);
    flow_stats(s->flow, &out->runs);
    out->n_nodes = mesh_count(s);
    if (s->options.runner) out->n_runner_restarts = runner_restarts(s->options.runner);
}
