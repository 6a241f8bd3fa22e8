/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The timers of the engine, in one thread: pauses before another attempt or another commit, time
 * limits, and the lease.
 */
#include "base/check.h"
#include "base/slice.h"
#include "flow/flow_impl.h"

enum { IDLE_MS = 60 * 60 * 1000 /* longest sleep; something wakes it before */ };

void flow_timer_set(struct flow_timer *t, uint64_t in_ms)
{
    struct flow *f = t->run->flow;
    uint64_t due = clock_mono_ns(f->options.clock) + in_ms * FLOW_NS_PER_MS;
    pthread_mutex_lock(&f->lock);
    if (heap_is_linked(&t->node)) heap_move(&f->timers, &t->node, due);
    if (heap_peek(&f->timers) == &t->node) pthread_cond_signal(&f->due);
    pthread_mutex_unlock(&f->lock);
}

void flow_timer_clear(struct flow_timer *t)
{
    struct flow *f = t->run->flow;
    pthread_mutex_lock(&f->lock);
    if (heap_is_linked(&t->node) && t->node.due != UINT64_MAX)
        heap_move(&f->timers, &t->node, UINT64_MAX);
    pthread_mutex_unlock(&f->lock);
}

uint64_t flow_timer_jitter(struct flow *f, uint64_t ms)
{
    pthread_mutex_lock(&f->lock);
    f->random = f->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    uint64_t random = f->random >> 33;
    pthread_mutex_unlock(&f->lock);
    return ms / 2 + random % (ms - ms / 2 + 1);
}

/* ---- a run's ---- */

static void fire_pause(struct run *r)
{
    flow_post_locked(r, NEWS_DUE);
}

static void fire_limit(struct run *r)
{
    flow_abort_locked(r, ABORT_LIMIT);
}

static void fire_outbox(struct run *r)
{
    struct flow *f = r->flow;
    flow_ref_locked(r);
    pthread_mutex_unlock(&f->lock);
    flow_outbox_go_on(r);
    flow_unref(r);
    pthread_mutex_lock(&f->lock);
}

static WEIR_MUST_CHECK enum weir_status init(struct flow_timer *t, struct run *r,
                                             void (*fire)(struct run *r))
{
    *t = (struct flow_timer){.run = r, .fire = fire};
    return heap_push(&r->flow->timers, &t->node, UINT64_MAX);
}

enum weir_status flow_timers_init_locked(struct run *r)
{
    enum weir_status st = init(&r->timers.pause, r, fire_pause);
    if (st == WEIR_OK) st = init(&r->timers.outbox, r, fire_outbox);
    if (st == WEIR_OK) st = init(&r->timers.limit, r, fire_limit);
    return st;
}

static void fini(struct flow_timer *t)
{
    if (heap_is_linked(&t->node)) heap_remove(&t->run->flow->timers, &t->node);
}

void flow_timers_fini_locked(struct run *r)
{
    fini(&r->timers.pause);
    fini(&r->timers.outbox);
    fini(&r->timers.limit);
}

/* ---- the thread ---- */

/* With the lock. */
static void fire_all(struct flow *f, uint64_t now_ns)
{
    struct heap_node *node;
    while ((node = heap_peek(&f->timers)) && node->due <= now_ns) {
        struct flow_timer *t = CONTAINER_OF(node, struct flow_timer, node);
        heap_move(&f->timers, node, UINT64_MAX);
        t->fire(t->run);
    }
}

static uint64_t wait_ms(const struct flow *f, uint64_t now_ns)
{
    const struct heap_node *next = heap_peek(&f->timers);
    uint64_t due_ns = now_ns + (uint64_t)IDLE_MS * FLOW_NS_PER_MS;
    if (next && next->due < due_ns) due_ns = next->due;
    if (f->renew_ns < due_ns) due_ns = f->renew_ns;
    return due_ns > now_ns ? (due_ns - now_ns + FLOW_NS_PER_MS - 1) / FLOW_NS_PER_MS : 0;
}

/* With the lock, which it gives up meanwhile. Who has no run needs no lease. */
static void renew_lease(struct flow *f, uint64_t now_ns)
{
    if (f->renew_ns > now_ns) return;
    f->renew_ns = now_ns + f->options.lease_ms * FLOW_NS_PER_MS / 3;
    if (f->runs.len == 0 || f->nodes) return; /* nodes.c does it for them */
    pthread_mutex_unlock(&f->lock);
    (void)flow_put_node(f, false);
    pthread_mutex_lock(&f->lock);
}

void *flow_timer_run(void *flow)
{
    struct flow *f = flow;
    pthread_mutex_lock(&f->lock);
    while (!f->is_quitting) {
        uint64_t now_ns = clock_mono_ns(f->options.clock);
        uint64_t in_ms = wait_ms(f, now_ns);
        if (in_ms > 0) {
            struct timespec at = clock_deadline(in_ms);
            (void)pthread_cond_timedwait(&f->due, &f->lock, &at);
            continue;
        }
        fire_all(f, now_ns);
        renew_lease(f, now_ns);
    }
    pthread_mutex_unlock(&f->lock);
    return NULL;
}
