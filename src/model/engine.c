/* SPDX-License-Identifier: Apache-2.0 */
/* The engine: its thread, its table of calls, its beginning and end. See engine_impl.h. */
#include "model/engine_impl.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/slice.h"
#include "io/process.h"

enum {
    MAX_CALLS = 16384,
    MAX_PLAYS = 1 << 20,      /* requests that cassettes are counted for */
    IDLE_MS = 60 * 60 * 1000, /* longest sleep; something wakes it before */
    NS_PER_MS = 1000 * 1000,
};

uint64_t models_now_ms(const struct models *m)
{
    return clock_mono_ns(m->options.clock) / NS_PER_MS;
}

struct provider_state *call_provider(const struct call *call)
{
    struct models *m = call->models;
    return &m->providers[call->player->provider - m->config->providers];
}

void call_set_due_locked(struct call *call, uint64_t due_ms)
{
    struct models *m = call->models;
    heap_move(&m->heap, &call->due, due_ms);
    if (heap_peek(&m->heap) == &call->due) pthread_cond_signal(&m->due);
}

/* ---- the thread ---- */

static void go_on_locked(struct models *m)
{
    struct heap_node *node;
    uint64_t now = models_now_ms(m);
    while ((node = heap_peek(&m->heap)) && node->due <= now)
        call_go_on_locked(CONTAINER_OF(node, struct call, due));
}

static void *run(void *user)
{
    struct models *m = user;
    pthread_mutex_lock(&m->lock);
    while (!m->has_stopped) {
        go_on_locked(m);
        if (m->has_stopped) break;
        const struct heap_node *next = heap_peek(&m->heap);
        uint64_t now = models_now_ms(m), pause = IDLE_MS;
        if (next && next->due < now + pause) pause = next->due > now ? next->due - now : 0;
        if (pause == 0) continue;
        struct timespec until = clock_deadline(pause);
        (void)pthread_cond_timedwait(&m->due, &m->lock, &until);
    }
    pthread_mutex_unlock(&m->lock);
    return NULL;
}

/* ---- life ---- */

static bool is_folder(const char *path)
{
    struct stat info;
    return !path || (stat(path, &info) == 0 && S_ISDIR(info.st_mode));
}

static void init_conditions(struct models *m)
{
    pthread_condattr_t attr;
    CHECK(pthread_mutex_init(&m->lock, NULL) == 0);
    CHECK(pthread_condattr_init(&attr) == 0);
    CHECK(pthread_condattr_setclock(&attr, CLOCK_MONOTONIC) == 0);
    CHECK(pthread_cond_init(&m->due, &attr) == 0);
    CHECK(pthread_cond_init(&m->is_idle, NULL) == 0);
    pthread_condattr_destroy(&attr);
}

static void fini(struct models *m)
{
    fetcher_free(m->fetcher);
    pthread_cond_destroy(&m->due);
    pthread_cond_destroy(&m->is_idle);
    pthread_mutex_destroy(&m->lock);
    heap_fini(&m->heap);
    map_fini(&m->calls);
    map_fini(&m->plays);
    mem_free(m);
}

static enum weir_status start(struct models *m)
{
    const struct fetcher_options o = {.max_running = m->options.max_calls,
                                      .max_waiting = m->options.max_calls};
    enum weir_status st = WEIR_OK;
    if (!is_folder(m->options.record) || !is_folder(m->options.replay)) return WEIR_IO;
    if (!m->options.replay) st = fetcher_new(&m->fetcher, NULL, &o);
    if (st == WEIR_OK && pthread_create(&m->thread, NULL, run, m) != 0) st = WEIR_IO;
    return st;
}

enum weir_status models_new(struct models **out, const struct model_config *config,
                            const struct models_options *options)
{
    struct models *m = mem_zalloc(sizeof *m);
    if (!m) return WEIR_NOMEM;
    m->config = config;
    m->options = *options;
    if (!m->options.clock) m->options.clock = &clock_system;
    if (m->options.max_calls == 0 || m->options.max_calls > MAX_CALLS)
        m->options.max_calls = MAX_CALLS;
    init_conditions(m);
    heap_init(&m->heap, m->options.max_calls);
    map_init(&m->calls, m->options.max_calls);
    map_init(&m->plays, MAX_PLAYS);
    budget_init(&m->budget);
    for (unsigned i = 0; i < MODEL_MAX_PROVIDERS; i++) list_init(&m->providers[i].queue);
    enum weir_status st = start(m);
    if (st == WEIR_OK) *out = m;
    else fini(m);
    return st;
}

static void abort_locked(struct call *call)
{
    if (call->state == CALL_ENDED) return;
    call->is_aborted = true;
    if (call->state == CALL_QUEUED) {
        list_remove(&call->queued);
        call->state = CALL_WAITING;
    }
    /* One that is being made ready to be sent looks by itself before that. */
    if (call->state == CALL_RUNNING) {
        if (call->fetch_ticket != 0) fetcher_abort(call->models->fetcher, call->fetch_ticket);
    } else {
        call_set_due_locked(call, 0);
    }
}

void models_free(struct models *m)
{
    if (!m) return;
    pthread_mutex_lock(&m->lock);
    m->is_stopping = true;
    struct map_walk walk = map_walk_begin(&m->calls);
    while (map_walk_next(&m->calls, &walk)) abort_locked(walk.value);
    while (m->n_calls > 0) pthread_cond_wait(&m->is_idle, &m->lock);
    m->has_stopped = true;
    pthread_cond_signal(&m->due);
    pthread_mutex_unlock(&m->lock);
    pthread_join(m->thread, NULL);
    fini(m);
}

bool models_has(const struct models *m, enum model_role role)
{
    return m && m->config->players[role].provider != NULL;
}

void models_player(const struct models *m, enum model_role role, const char **provider,
                   const char **model)
{
    *provider = m->config->players[role].provider->name;
    *model = m->config->players[role].model;
}

bool models_is_external(const struct models *m, enum model_role role)
{
    if (!models_has(m, role)) return false;
    const struct model_provider *fallback = m->config->fallbacks[role].provider;
    return m->config->players[role].provider->is_external || (fallback && fallback->is_external);
}

/* ---- calls ---- */

static enum weir_status add_locked(struct models *m, struct call *call)
{
    if (m->is_stopping) return WEIR_SHUTDOWN;
    if (m->n_calls >= m->options.max_calls) return WEIR_BUSY;
    enum weir_status st = heap_push(&m->heap, &call->due, UINT64_MAX);
    if (st != WEIR_OK) return st == WEIR_LIMIT ? WEIR_BUSY : st;
    call->ticket = ++m->n_tickets;
    st = map_put(&m->calls, map_key_of(&call->ticket), call);
    if (st != WEIR_OK) {
        heap_remove(&m->heap, &call->due);
        return st == WEIR_LIMIT ? WEIR_BUSY : st;
    }
    m->n_calls++;
    m->stats.n_calls++;
    budget_earn(&m->budget);
    return WEIR_OK;
}

enum weir_status model_call(struct models *m, const struct model_call *asked, uint64_t *ticket)
{
    struct call *call = NULL;
    CHECK(models_has(m, asked->request.role) && asked->done);
    enum weir_status st = call_new(&call, m, asked);
    if (st != WEIR_OK) return st;
    pthread_mutex_lock(&m->lock);
    st = add_locked(m, call);
    if (st == WEIR_OK) {
        if (ticket) *ticket = call->ticket;
        call_set_due_locked(call, 0);
    }
    pthread_mutex_unlock(&m->lock);
    if (st != WEIR_OK) call_free(call);
    return st;
}

void model_abort(struct models *m, uint64_t ticket)
{
    pthread_mutex_lock(&m->lock);
    struct call *call = map_get(&m->calls, map_key_of(&ticket));
    if (call) abort_locked(call);
    pthread_mutex_unlock(&m->lock);
}

void models_stats(struct models *m, struct models_stats *out)
{
    pthread_mutex_lock(&m->lock);
    *out = m->stats;
    out->n_running = m->n_calls;
    pthread_mutex_unlock(&m->lock);
}

bool models_provider_stats(struct models *m, unsigned i, struct model_provider_stats *out)
{
    if (i >= m->config->n_providers) return false;
    pthread_mutex_lock(&m->lock);
    const struct provider_state *p = &m->providers[i];
    *out = p->stats;
    out->name = m->config->providers[i].name;
    out->n_running = p->n_running;
    out->is_open = p->breaker.state != BREAKER_CLOSED;
    pthread_mutex_unlock(&m->lock);
    return true;
}
