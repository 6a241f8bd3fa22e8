/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waiting before steps. Answers without a model are over in milliseconds; with a pause before each
 * step a person can watch how they come about, and a test can do something in between. A turn
 * that waits costs a few bytes here and no thread: one thread wakes them all.
 *
 * All wait for the same time, so those who came first go first. Memory of those who waited is used
 * again and never given back before the end: a late word that one of them shall hurry finds
 * something, at worst another one who waits, and hurries that.
 */
#include "base/check.h"
#include "base/list.h"
#include "base/mem.h"
#include "turn/turn_impl.h"

struct wait {
    struct list_node node;
    struct pacer *pacer;
    struct flow_step *step;
    void (*then)(struct flow_step *s);
    uint64_t due_ns;
    bool is_hurried;
    struct wait *next_made; /* all that there are */
};

struct pacer {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    bool must_stop;
    uint64_t pace_ns;
    struct list waiting; /* the first is due first */
    struct list spare;
    struct wait *made;
};

/* Takes the first out when it is due; else NULL, after waiting for some time or news. */
static struct wait *next_due(struct pacer *p)
{
    struct list_node *first = list_first(&p->waiting);
    if (!first) {
        pthread_cond_wait(&p->changed, &p->lock);
        return NULL;
    }
    struct wait *w = CONTAINER_OF(first, struct wait, node);
    uint64_t now_ns = clock_mono_ns(&clock_system);
    if (w->due_ns > now_ns) {
        struct timespec at = clock_deadline((w->due_ns - now_ns) / 1000000 + 1);
        pthread_cond_timedwait(&p->changed, &p->lock, &at);
        return NULL;
    }
    list_remove(&w->node);
    return w;
}

static void *run(void *user)
{
    struct pacer *p = user;
    pthread_mutex_lock(&p->lock);
    while (!p->must_stop) {
        struct wait *w = next_due(p);
        if (!w) continue;
        struct flow_step *s = w->step;
        void (*then)(struct flow_step *) = w->then;
        w->due_ns = 0;
        list_push_back(&p->spare, &w->node);
        pthread_mutex_unlock(&p->lock);
        flow_resume(s, then);
        pthread_mutex_lock(&p->lock);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

enum weir_status pacer_new(struct pacer **out, unsigned pace_ms)
{
    pthread_condattr_t attr;
    struct pacer *p = mem_zalloc(sizeof *p);
    *out = NULL;
    if (!p) return WEIR_NOMEM;
    p->pace_ns = (uint64_t)pace_ms * 1000000;
    list_init(&p->waiting);
    list_init(&p->spare);
    pthread_mutex_init(&p->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&p->changed, &attr);
    pthread_condattr_destroy(&attr);
    if (pthread_create(&p->thread, NULL, run, p) == 0) {
        *out = p;
        return WEIR_OK;
    }
    pthread_cond_destroy(&p->changed);
    pthread_mutex_destroy(&p->lock);
    mem_free(p);
    return WEIR_NOMEM;
}

void pacer_stop(struct pacer *p)
{
    if (!p) return;
    pthread_mutex_lock(&p->lock);
    p->must_stop = true;
    pthread_cond_signal(&p->changed);
    pthread_mutex_unlock(&p->lock);
    pthread_join(p->thread, NULL);
}

void pacer_free(struct pacer *p)
{
    if (!p) return;
    for (struct wait *w = p->made, *next; w; w = next) {
        next = w->next_made;
        mem_free(w);
    }
    pthread_cond_destroy(&p->changed);
    pthread_mutex_destroy(&p->lock);
    mem_free(p);
}

/* Under the lock. One that shall hurry passes all others. */
static void enqueue(struct pacer *p, struct wait *w)
{
    if (w->is_hurried) list_push_front(&p->waiting, &w->node);
    else list_push_back(&p->waiting, &w->node);
    pthread_cond_signal(&p->changed);
}

/* It shall not wait any longer. It is not in a list yet when its step is aborted as it begins. */
static void hurry(void *user)
{
    struct wait *w = user;
    struct pacer *p = w->pacer;
    pthread_mutex_lock(&p->lock);
    w->is_hurried = true;
    if (w->due_ns > 0) {
        w->due_ns = 0;
        list_remove(&w->node);
        enqueue(p, w);
    }
    pthread_mutex_unlock(&p->lock);
}

/* NULL when there is no memory. */
static struct wait *make_wait(struct pacer *p)
{
    pthread_mutex_lock(&p->lock);
    struct list_node *spare = list_pop_front(&p->spare);
    struct wait *w = spare ? CONTAINER_OF(spare, struct wait, node) : mem_zalloc(sizeof *w);
    if (w && !spare) {
        w->pacer = p;
        w->next_made = p->made;
        p->made = w;
    }
    if (w) w->is_hurried = false;
    pthread_mutex_unlock(&p->lock);
    return w;
}

void pacer_wait(struct pacer *p, struct flow_step *s, void (*fn)(struct flow_step *s))
{
    struct wait *w = make_wait(p);
    if (!w) {
        fn(s); /* a pause is no reason to fail */
        return;
    }
    w->step = s;
    w->then = fn;
    /* Nobody may wake it before the engine knows that it waits. */
    flow_wait(s, hurry, w);
    pthread_mutex_lock(&p->lock);
    w->due_ns = w->is_hurried ? 0 : clock_mono_ns(&clock_system) + p->pace_ns;
    enqueue(p, w);
    pthread_mutex_unlock(&p->lock);
}
