/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The event loop of one thread, on libuv: descriptors, timers, and work posted by other
 * threads.
 *
 * 1. loop_new().
 * 2. watch_start() descriptors, timer_init() and timer_set(), loop_post() from anywhere.
 * 3. loop_run() returns after loop_stop(), or when nothing is left to wait for: a watch holds
 *    the loop from its start to its close, a timer while it is set. It may be run again.
 * 4. loop_free() when all watches and timers are closed.
 *
 * A round of the loop is: all descriptors that are ready, `closed` calls, timers that are due,
 * all posts, then the round's end hook, where whatever was collected is written at once. Only
 * then does the loop wait. What one of these starts anew is done in the next round, and the
 * loop does not wait before it.
 *
 * The structs belong to the caller and may be freed when their `closed` is called, also by
 * that call. loop_post(): any thread. loop_stop(): any thread, signal handlers too. Everything
 * else: the loop's own thread.
 */
#pragma once

#include <uv.h>
#include <weir/status.h>

#include "base/clock.h"

struct loop;

struct loop *loop_new(const struct clock *clock); /* NULL when it cannot be had */

/* Runs what was posted since the loop ended; nobody may post any more. NULL is fine. */
void loop_free(struct loop *l);
void loop_run(struct loop *l);
void loop_stop(struct loop *l); /* the round under way ends first, its hook included */

/* The clock it was made with. */
const struct clock *loop_clock(const struct loop *l);

/* Monotonic time when this round's descriptors became ready; timers count from here. */
uint64_t loop_now_ms(const struct loop *l);

/* Called once at the end of every round. NULL: nothing. */
void loop_on_round_end(struct loop *l, void (*fn)(void *user), void *user);

/* ---- posts ---- */

/* Inside the caller's struct; posted again only after it has begun to run. */
struct post {
    struct post *next;
    void (*run)(struct post *p); /* may free the struct it is in */
};

/*
 * p->run is called by the loop's thread, in the order posted. Wakes the loop when it waits,
 * and costs a few instructions when it is awake.
 */
void loop_post(struct loop *l, struct post *p);

/* ---- descriptors ---- */

enum { WATCH_READ = 1, WATCH_WRITE = 2 };

struct watch {
    unsigned magic;
    unsigned char events; /* what is asked for now */
    void (*on_event)(struct watch *w, int events);
    void (*on_closed)(struct watch *w);
    uv_poll_t poll;
};

/*
 * Calls on_event whenever the descriptor can be read or written, as asked: level-triggered.
 * Of one that is broken (reset, say) it tells both and asks for nothing any more, until
 * watch_set(). The descriptor must be non-blocking and stays the caller's. WEIR_IO,
 * WEIR_NOMEM: nothing was started, and watch_close() is not called.
 */
WEIR_MUST_CHECK enum weir_status watch_start(struct loop *l, struct watch *w, int fd, int events,
                                             void (*on_event)(struct watch *w, int events));

/* Asks for other events; free when nothing changes, two calls to the kernel else. 0: none. */
void watch_set(struct watch *w, int events);

/*
 * No more events, from now on; on_closed (may be NULL) at the end of the round, when the struct
 * may go. The caller closes the descriptor as soon as this has returned, but not before: the
 * loop forgets it here, with the events of this round that are not told yet.
 */
void watch_close(struct watch *w, void (*on_closed)(struct watch *w));

/* ---- timers ---- */

struct timer {
    uv_timer_t uv;
    void (*on_due)(struct timer *t);
    void (*on_closed)(struct timer *t);
    unsigned magic;
};

void timer_init(struct loop *l, struct timer *t, void (*on_due)(struct timer *t));
void timer_set(struct timer *t, uint64_t in_ms, uint64_t every_ms); /* every_ms 0: once */
void timer_unset(struct timer *t);
void timer_close(struct timer *t, void (*on_closed)(struct timer *t)); /* may be NULL */
