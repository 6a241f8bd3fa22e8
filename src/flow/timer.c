/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The timers of the engine, in one thread: pauses before another attempt or another commit, time
 * limits, and the lease.
 */
#include "base/check.h"
#include "base/slice.h"
#include "flow/flow_impl.h"

enum { IDLE_MS = 60 * 60 * 1000 /* longest sleep; something wakes it before */ };

enum weir_status flow_timer_init_locked(struct flow_timer *t, struct run *r, bool is_limit)
{
    *t = (struct flow_timer){.run = r, .is_limit = is_limit};
    return heap_push(&r->flow->timers, &t->node, UINT64_MAX);
}

void flow_timer_fini_locked(struct flow_timer *t)
{
    if (heap_is_linked(&t->node)) heap_remove(&t->run->flow->timers, &t->node);
}

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

/* ---- the thread ---- */

/* With the lock, which it gives up meanwhile. */
static void fire_pause(struct run *r)
{
    struct flow *f = r->flow;
    flow_ref_locked(r);
    pthread_mutex_unlock(&f->lock);
    if (!flow_outbox_go_on(r)) flow_post(r, NEWS_DUE);
    flow_unref(r);
    pthread_mutex_lock(&f->lock);
}

/* With the lock. */
static void fire_all(struct flow *f, uint64_t now_ns)
{
    struct heap_node *node;
    while ((node = heap_peek(&f->timers)) && node->due <= now_ns) {
        struct flow_timer *t = CONTAINER_OF(node, struct flow_timer, node);
        heap_move(&f->timers, node, UINT64_MAX);
        if (t->is_limit) flow_abort_locked(t->run, ABORT_LIMIT);
        else fire_pause(t->run);
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
    if (f->runs.len == 0) return;
    pthread_mutex_unlock(&f->lock);
    flow_put_node(f, false);
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
