/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The event loop of one thread, on libuv: descriptors, timers, and work posted by other
 * threads.
 *
 * 1. loop_new().
 * 2. watch_start() descriptors, timer_start(), loop_post() from anywhere.
 * 3. loop_run() returns after loop_stop(), or when nothing is left to wait for.
 * 4. loop_free() when all watches and timers are stopped.
 *
 * A round of the loop is: all descriptors that are ready, all posts, then the round's end
 * hook, where whatever was collected is written at once. The structs belong to the caller and
 * may be freed when their `closed` was called. loop_post() and loop_stop(): any thread;
 * everything else: the loop's own.
 */
#pragma once

#include <uv.h>
#include <weir/status.h>

#include "base/clock.h"

struct loop;

struct loop *loop_new(const struct clock *clock); /* NULL when it cannot be had */
void loop_free(struct loop *l);
void loop_run(struct loop *l);
void loop_stop(struct loop *l); /* the round under way ends first */

/* Monotonic time at the beginning of this round. */
uint64_t loop_now_ms(const struct loop *l);

/* Called once at the end of every round in which anything happened. */
void loop_on_round_end(struct loop *l, void (*fn)(void *user), void *user);

/* ---- posts ---- */

/* Inside the caller's struct; posted again only after it has run. */
struct post {
    struct post *next;
    void (*run)(struct post *p);
};

/* p->run is called by the loop's thread, in the order posted. Wakes the loop once per round. */
void loop_post(struct loop *l, struct post *p);

/* ---- descriptors ---- */

enum { WATCH_READ = 1, WATCH_WRITE = 2 };

struct watch {
    uv_poll_t poll;
    void (*on_event)(struct watch *w, int events); /* WATCH_READ, WATCH_WRITE; errors are both */
    void (*on_closed)(struct watch *w);
    unsigned char events; /* what is asked for now */
};

/* The descriptor must be non-blocking. WEIR_IO, WEIR_NOMEM. */
WEIR_MUST_CHECK enum weir_status watch_start(struct loop *l, struct watch *w, int fd, int events,
                                             void (*on_event)(struct watch *w, int events));

/* Asks for other events; free when nothing changes. 0: none. */
void watch_set(struct watch *w, int events);

/* No more events; then `closed`, when the struct may go. The descriptor is closed by then. */
void watch_close(struct watch *w, void (*on_closed)(struct watch *w));

/* ---- timers ---- */

struct timer {
    uv_timer_t uv;
    void (*on_due)(struct timer *t);
    void (*on_closed)(struct timer *t);
};

void timer_init(struct loop *l, struct timer *t, void (*on_due)(struct timer *t));
void timer_set(struct timer *t, uint64_t in_ms, uint64_t every_ms); /* every_ms 0: once */
void timer_unset(struct timer *t);
void timer_close(struct timer *t, void (*on_closed)(struct timer *t));
