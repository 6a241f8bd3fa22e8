/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loop. libuv's own order in one turn is: timers, prepare, wait and descriptors, check,
 * closed handles. The end of our round stands in "prepare", the last thing before the wait, so
 * that nothing that any callback collected can lie there while the loop sleeps.
 *
 * Posts are a list under a lock. libuv is only asked to wake the loop (which costs a write and
 * a read of an eventfd, and a round) when the loop said, under that lock, that it is about to
 * sleep. A loop that is busy takes the posts at the end of its round anyway.
 */
#include "io/loop.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/check.h"
#include "base/container.h"
#include "base/mem.h"

enum {
    LOOP_MAGIC = 0x6c6f6f70,
    WATCH_MAGIC = 0x77617463,
    TIMER_MAGIC = 0x74696d65,
    WATCH_BOTH = WATCH_READ | WATCH_WRITE,
    MAX_LAST_TURNS = 8, /* of a loop that is freed; more means that something was left open */
};

static_assert((int)WATCH_READ == (int)UV_READABLE && (int)WATCH_WRITE == (int)UV_WRITABLE,
              "events are handed over as they are");

struct loop {
    unsigned magic;
    uv_loop_t uv;
    uv_async_t wake;
    uv_prepare_t before_wait;
    uv_check_t after_wait;
    uv_idle_t no_sleep; /* while it is started, the wait is but a look */
    const struct clock *clock;
    void (*on_round_end)(void *user);
    void *user;
    size_t n_watches; /* started and not closed */
    atomic_bool is_stopping;

    pthread_mutex_t lock; /* over all below */
    struct post *first;
    struct post **last;
    bool is_asleep; /* the next post has to wake it */
};

static struct loop *loop_of(uv_loop_t *uv)
{
    struct loop *l = CONTAINER_OF(uv, struct loop, uv);
    CHECK(l->magic == LOOP_MAGIC);
    return l;
}

/* ---- rounds ---- */

static struct post *take_posts(struct loop *l)
{
    pthread_mutex_lock(&l->lock);
    struct post *first = l->first;
    l->first = NULL;
    l->last = &l->first;
    l->is_asleep = false;
    pthread_mutex_unlock(&l->lock);
    return first;
}

/* Only those that were there: one that posts itself again must not keep the round from ending. */
static void run_posts(struct loop *l)
{
    struct post *next;
    for (struct post *p = take_posts(l); p; p = next) {
        next = p->next;
        p->next = NULL;
        p->run(p);
    }
}

static bool has_posts(struct loop *l)
{
    pthread_mutex_lock(&l->lock);
    bool has = l->first != NULL;
    pthread_mutex_unlock(&l->lock);
    return has;
}

static void end_round(struct loop *l)
{
    run_posts(l);
    if (l->on_round_end) l->on_round_end(l->user);
}

static void on_no_sleep(uv_idle_t *handle)
{
    (void)loop_of(handle->loop);
}

static void on_before_wait(uv_prepare_t *handle)
{
    struct loop *l = loop_of(handle->loop);
    end_round(l);
    pthread_mutex_lock(&l->lock);
    l->is_asleep = l->first == NULL;
    bool has_more = !l->is_asleep;
    pthread_mutex_unlock(&l->lock);
    if (has_more) uv_idle_start(&l->no_sleep, on_no_sleep);
}

static void on_after_wait(uv_check_t *handle)
{
    struct loop *l = loop_of(handle->loop);
    pthread_mutex_lock(&l->lock);
    l->is_asleep = false;
    pthread_mutex_unlock(&l->lock);
    uv_idle_stop(&l->no_sleep);
    if (atomic_load(&l->is_stopping)) uv_stop(&l->uv);
}

/* The wait has ended, and that was all. */
static void on_wake(uv_async_t *handle)
{
    (void)loop_of(handle->loop);
}

/* ---- the loop ---- */

struct loop *loop_new(const struct clock *clock)
{
    struct loop *l = mem_zalloc(sizeof *l);
    if (!l) return NULL;
    if (uv_loop_init(&l->uv) != 0) {
        mem_free(l);
        return NULL;
    }
    if (uv_async_init(&l->uv, &l->wake, on_wake) != 0) {
        uv_loop_close(&l->uv);
        mem_free(l);
        return NULL;
    }
    l->magic = LOOP_MAGIC;
    l->clock = clock;
    l->last = &l->first;
    atomic_init(&l->is_stopping, false);
    pthread_mutex_init(&l->lock, NULL);
    uv_prepare_init(&l->uv, &l->before_wait);
    uv_check_init(&l->uv, &l->after_wait);
    uv_idle_init(&l->uv, &l->no_sleep);
    uv_prepare_start(&l->before_wait, on_before_wait);
    uv_check_start(&l->after_wait, on_after_wait);
    uv_unref((uv_handle_t *)&l->wake);
    uv_unref((uv_handle_t *)&l->before_wait);
    uv_unref((uv_handle_t *)&l->after_wait);
    uv_unref((uv_handle_t *)&l->no_sleep);
    return l;
}

void loop_run(struct loop *l)
{
    CHECK(l->magic == LOOP_MAGIC);
    do {
        uv_run(&l->uv, UV_RUN_DEFAULT);
        /* libuv may end between the descriptors and the end of the round. */
        end_round(l);
    } while (!atomic_load(&l->is_stopping) && (uv_loop_alive(&l->uv) || has_posts(l)));
    atomic_store(&l->is_stopping, false);
}

void loop_stop(struct loop *l)
{
    CHECK(l->magic == LOOP_MAGIC);
    atomic_store(&l->is_stopping, true);
    uv_async_send(&l->wake);
}

void loop_free(struct loop *l)
{
    if (!l) return;
    CHECK(l->magic == LOOP_MAGIC);
    while (has_posts(l)) run_posts(l);
    uv_prepare_stop(&l->before_wait);
    uv_check_stop(&l->after_wait);
    uv_idle_stop(&l->no_sleep);
    uv_close((uv_handle_t *)&l->wake, NULL);
    uv_close((uv_handle_t *)&l->before_wait, NULL);
    uv_close((uv_handle_t *)&l->after_wait, NULL);
    uv_close((uv_handle_t *)&l->no_sleep, NULL);
    /* Calls what is still to be told that it is closed, and what such a call closes. */
    for (int i = 0; i < MAX_LAST_TURNS && uv_run(&l->uv, UV_RUN_NOWAIT) != 0;) i++;
    CHECK(l->n_watches == 0);
    CHECK(uv_loop_close(&l->uv) == 0);
    pthread_mutex_destroy(&l->lock);
    l->magic = 0;
    mem_free(l);
}

const struct clock *loop_clock(const struct loop *l)
{
    return l->clock;
}

uint64_t loop_now_ms(const struct loop *l)
{
    return uv_now(&l->uv);
}

void loop_on_round_end(struct loop *l, void (*fn)(void *user), void *user)
{
    l->on_round_end = fn;
    l->user = user;
}

void loop_post(struct loop *l, struct post *p)
{
    CHECK(l->magic == LOOP_MAGIC);
    p->next = NULL;
    pthread_mutex_lock(&l->lock);
    *l->last = p;
    l->last = &p->next;
    bool must_wake = l->is_asleep;
    l->is_asleep = false;
    pthread_mutex_unlock(&l->lock);
    if (must_wake) uv_async_send(&l->wake);
}

/* ---- descriptors ---- */

static struct watch *watch_of(void *poll)
{
    struct watch *w = CONTAINER_OF(poll, struct watch, poll);
    CHECK(w->magic == WATCH_MAGIC);
    return w;
}

/* A watch that asks for nothing is not active for libuv, but it is for us. */
static void hold(struct loop *l)
{
    if (l->n_watches++ == 0) uv_ref((uv_handle_t *)&l->wake);
}

static void release(struct loop *l)
{
    if (--l->n_watches == 0) uv_unref((uv_handle_t *)&l->wake);
}

static void on_poll(uv_poll_t *poll, int error, int events)
{
    struct watch *w = watch_of(poll);
    if (error != 0) {
        w->events = 0; /* libuv has stopped it */
        events = WATCH_BOTH;
    }
    w->on_event(w, events & WATCH_BOTH);
}

enum weir_status watch_start(struct loop *l, struct watch *w, int fd, int events,
                             void (*on_event)(struct watch *w, int events))
{
    CHECK(l->magic == LOOP_MAGIC);
    *w = (struct watch){.on_event = on_event, .magic = WATCH_MAGIC};
    int error = uv_poll_init(&l->uv, &w->poll, fd);
    if (error != 0) {
        w->magic = 0;
        return error == UV_ENOMEM ? WEIR_NOMEM : WEIR_IO;
    }
    hold(l);
    watch_set(w, events);
    return WEIR_OK;
}

void watch_set(struct watch *w, int events)
{
    CHECK(w->magic == WATCH_MAGIC);
    if (w->events == events) return;
    CHECK((events & ~WATCH_BOTH) == 0 && !uv_is_closing((uv_handle_t *)&w->poll));
    w->events = (unsigned char)events;
    /* Fails only for handles that are closing and descriptors that two watches share. */
    int error = events != 0 ? uv_poll_start(&w->poll, events, on_poll) : uv_poll_stop(&w->poll);
    CHECK(error == 0);
}

static void on_poll_closed(uv_handle_t *poll)
{
    struct watch *w = watch_of(poll);
    release(loop_of(poll->loop));
    w->magic = 0;
    if (w->on_closed) w->on_closed(w);
}

void watch_close(struct watch *w, void (*on_closed)(struct watch *w))
{
    CHECK(w->magic == WATCH_MAGIC);
    w->events = 0;
    w->on_closed = on_closed;
    /* Stops first: takes the descriptor out of epoll and out of the events not yet told. */
    uv_close((uv_handle_t *)&w->poll, on_poll_closed);
}

/* ---- timers ---- */

static struct timer *timer_of(void *uv)
{
    struct timer *t = CONTAINER_OF(uv, struct timer, uv);
    CHECK(t->magic == TIMER_MAGIC);
    return t;
}

static void on_timer(uv_timer_t *uv)
{
    struct timer *t = timer_of(uv);
    t->on_due(t);
}

static void on_timer_closed(uv_handle_t *uv)
{
    struct timer *t = timer_of(uv);
    t->magic = 0;
    if (t->on_closed) t->on_closed(t);
}

void timer_init(struct loop *l, struct timer *t, void (*on_due)(struct timer *t))
{
    CHECK(l->magic == LOOP_MAGIC);
    *t = (struct timer){.on_due = on_due, .magic = TIMER_MAGIC};
    uv_timer_init(&l->uv, &t->uv);
}

void timer_set(struct timer *t, uint64_t in_ms, uint64_t every_ms)
{
    CHECK(t->magic == TIMER_MAGIC);
    CHECK(uv_timer_start(&t->uv, on_timer, in_ms, every_ms) == 0);
}

void timer_unset(struct timer *t)
{
    CHECK(t->magic == TIMER_MAGIC);
    uv_timer_stop(&t->uv);
}

void timer_close(struct timer *t, void (*on_closed)(struct timer *t))
{
    CHECK(t->magic == TIMER_MAGIC);
    t->on_closed = on_closed;
    uv_close((uv_handle_t *)&t->uv, on_timer_closed);
}
