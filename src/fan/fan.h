/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fan-out: from committed events to those who watch, one way.
 *
 * A hub stands behind the store's news and hands them to every fan; a fan belongs to one
 * loop thread and has a tail (the newest chunks) for each log that somebody there
 * watches. A subscriber is a cursor: the id it needs next. It owns no bytes, so one that
 * never reads costs its struct and nothing else.
 *
 * 1. hub_new(); hub_news() and the hub go into the store's options; fan_new() for each loop.
 * 2. hub_start() with the opened store.
 * 3. sub_open() with a subscriber inside the caller's own struct; then, whenever `on_ready`
 *    calls it, sub_peek() shows the bytes it lacks and sub_advance() says how far it is.
 * 4. fan_run() by the loop whenever `wake` was called: takes the news of all syncs since
 *    and calls `on_ready` once for each subscriber that has something new.
 * 5. sub_close(), fan_free() with no subscriber left, store_close(), hub_free().
 *
 * Replay and live are one thing: a cursor behind the tail is served from the store, by
 * chunks of up to FAN_FETCH_BYTES, until it meets the tail. What is fetched joins the tail if
 * it is its missing front and there is room, so many readers of one log read it once.
 *
 * Only `wake` is called from other threads. Everything else: the fan's thread.
 */
#pragma once

#include <sys/uio.h>

#include "base/list.h"
#include "store/store.h"

enum {
    FAN_FETCH_BYTES = 256 << 10,
};

struct hub;
struct fan;
struct tail;
struct sub;

struct hub *hub_new(void);
void hub_free(struct hub *h);

/* A store_news_fn; its user is the hub. */
void hub_news(void *hub, const struct store_news *news, size_t n);

/* From now on the fans of this hub read from this store. Before any sub_open(). */
void hub_start(struct hub *h, struct store *store);

/* 0 means the default. */
struct fan_options {
    size_t tail_bytes;        /* 512 KiB: the most a log's tail may hold */
    size_t all_tail_bytes;    /* 16 MiB: the most all tails of this fan may hold */
    void (*wake)(void *user); /* fan_run() is wanted; any thread, must be short */
    void *user;
};

/* NULL when there is no memory. */
struct fan *fan_new(struct hub *h, const struct fan_options *options);
void fan_free(struct fan *f);

void fan_run(struct fan *f);

/* What a subscriber is up to. */
enum sub_state {
    SUB_OPENING, /* the store is being asked */
    SUB_READY,   /* sub_peek() has something */
    SUB_WAITING, /* it has all there is; on_ready will be called */
    SUB_FETCH,   /* what it needs is being read; on_ready will be called */
    SUB_END,     /* it has all, and the log is sealed */
    SUB_GONE,    /* the log was dropped or expired */
    SUB_FAILED,  /* the store could not read: sub->status */
};

typedef void (*sub_ready_fn)(struct sub *sub);

/* Inside the caller's own struct; zeroed before sub_open(). All fields are read-only. */
struct sub {
    struct list_node node; /* in its tail */
    struct list_node due;  /* in the fan's list of those to call, or of those that fetch */
    struct fan *fan;
    struct tail *tail;
    uint64_t next; /* the id it needs */
    sub_ready_fn on_ready;
    struct chunk *fetched; /* between a fetch and the next sub_rest() */
    enum weir_status status;
    bool from_latest;
    unsigned char state; /* enum sub_state */
};

enum { SUB_FROM_LATEST = 0 };

/*
 * Begins to watch a log from id `from` on; SUB_FROM_LATEST: whatever comes from now on. The
 * log need not exist. When this returns the state is SUB_OPENING (on_ready will be called
 * when it is no more) or, if the tail knows already, another. WEIR_NOMEM, WEIR_LIMIT.
 */
WEIR_MUST_CHECK enum weir_status sub_open(struct fan *f, struct sub *sub, struct weir_slice log,
                                          uint64_t from, sub_ready_fn on_ready);
void sub_close(struct sub *sub);

/* Once it is no longer opening: what is known of its log. */
struct log_state sub_log(const struct sub *sub);

/*
 * Bytes from sub->next on: up to event `upto` exactly, or when that is 0 as many whole
 * events as fit max_bytes and max_iov (one at least). *last is the id of the last one.
 * Returns the state; slices are borrowed until the caller returns to the loop. With
 * SUB_FETCH nothing is given: what is needed is on its way.
 */
enum sub_state sub_peek(struct sub *sub, uint64_t upto, size_t max_bytes, struct iovec *iov,
                        unsigned *n_iov, uint64_t *last);

/* All events up to `last` were taken. */
void sub_advance(struct sub *sub, uint64_t last);

/* The subscriber cannot take more for a while: whatever was fetched for it alone is let go. */
void sub_rest(struct sub *sub);

struct fan_stats {
    size_t n_subs, n_tails, tail_bytes;
    uint64_t n_fetches, fetch_bytes, n_evicted, n_news;
};

void fan_stats(const struct fan *f, struct fan_stats *out);
