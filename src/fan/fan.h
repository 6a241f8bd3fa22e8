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
 * it continues it on either side and there is room, so many readers of one log read it once.
 *
 * What was committed before a sub_open() is seen by it: whoever got an answer to an append
 * finds the event. Everything has a ceiling: a fan that does not keep up with its news loses
 * them (FAN_INBOX_BYTES), and asks the store instead; nobody misses an event by that.
 *
 * Only `wake` is called from other threads. Everything else: the fan's thread; hub_news()
 * the committer's; hub_wants_log() and hub_each_log() any.
 */
#pragma once

#include <sys/uio.h>

#include "base/list.h"
#include "store/store.h"

enum {
    FAN_FETCH_BYTES = 256 << 10,
    FAN_INBOX_BYTES = 16 << 20, /* news that wait for a fan; fan_stats.n_missed */
    FAN_MAX_TAILS = 1 << 20,    /* logs watched by one fan, then WEIR_LIMIT */
    FAN_CACHED_TAILS = 1024,    /* tails kept though nobody watches the log any more */
};

struct hub;
struct fan;
struct tail;
struct sub;

struct hub *hub_new(void);
void hub_free(struct hub *h);

/* A store_news_fn; its user is the hub. */
void hub_news(void *hub, const struct store_news *news, size_t n);

/*
 * Others write to the store, too: from now on the hub knows which logs have tails. Before any
 * sub_open(). WEIR_NOMEM.
 */
WEIR_MUST_CHECK enum weir_status hub_share(struct hub *h);

/*
 * Whether a fan has a tail of this log, in a hub that is shared: one that others wrote to is of no
 * interest else. hub_each_log() calls for all those of one of STORE_LOG_PARTS parts; it must be
 * short, and the name is borrowed. Any thread.
 */
bool hub_wants_log(struct hub *h, struct weir_slice log);
void hub_each_log(struct hub *h, unsigned part, store_log_fn each, void *arg);

/* From now on the fans of this hub read from this store. Before any sub_open(). */
void hub_start(struct hub *h, struct store *store);

/* 0 means the default. */
struct fan_options {
    size_t tail_bytes;     /* 512 KiB: the most a log's tail may hold, or one larger chunk */
    size_t all_tail_bytes; /* 16 MiB: the most all tails of this fan may hold */
    /*
     * fan_run() is wanted. Any thread; once between two runs. Must be short and must not call
     * the fan.
     */
    void (*wake)(void *user);
    void *user;
};

/* NULL when there is no memory. */
struct fan *fan_new(struct hub *h, const struct fan_options *options);
void fan_free(struct fan *f);

void fan_run(struct fan *f);

/* What a subscriber is up to. */
enum sub_state {
    SUB_OPENING, /* the store is being asked */
    SUB_READY,   /* there is something: sub_peek() gives or fetches it */
    SUB_WAITING, /* it has all there is; on_ready will be called */
    SUB_FETCH,   /* what it needs is being read; on_ready will be called */
    SUB_END,     /* it has all, and the log is sealed */
    SUB_GONE,    /* the log was dropped or expired */
    SUB_FAILED,  /* the store could not read: sub->status */
};

/* May open, close, peek and advance any subscriber, itself too. */
typedef void (*sub_ready_fn)(struct sub *sub);

/*
 * Inside the caller's own struct; zeroed before sub_open(). All fields are read-only. It fits
 * a cache line, for a walk over thousands touches each.
 */
struct sub {
    struct list_node node; /* among those that wait, that fetch, or that are to be called */
    struct tail *tail;
    sub_ready_fn on_ready;
    struct chunk *fetched; /* what was read for it alone, until it is past it or rests */
    uint64_t next;         /* the id it needs */
    uint64_t log_id;       /* of the log it watches; 0 while there is none */
    enum weir_status status;
    uint16_t magic;
    unsigned char state;     /* enum sub_state */
    bool is_from_latest : 1; /* and `next` is not known yet */
    bool is_confirmed : 1;   /* the store was asked again about an id beyond the newest */
    bool is_resting : 1;
    bool is_exact : 1; /* the store is to be asked, whatever the tail knows */
};

enum { SUB_FROM_LATEST = 0 };

/*
 * Begins to watch a log from id `from` on; SUB_FROM_LATEST: whatever comes from now on. The
 * log need not exist. When this returns the state is SUB_OPENING (on_ready will be called
 * when it is no more) or, if the tail knows already, another. WEIR_NOMEM, WEIR_LIMIT.
 */
WEIR_MUST_CHECK enum weir_status sub_open(struct fan *f, struct sub *sub, struct weir_slice log,
                                          uint64_t from, sub_ready_fn on_ready);

/*
 * The same for those to whom it matters what is the newest event: in a hub that is shared the
 * store is asked, so that they see whatever any node had acknowledged when they came.
 */
WEIR_MUST_CHECK enum weir_status sub_open_exact(struct fan *f, struct sub *sub,
                                                struct weir_slice log, uint64_t from,
                                                sub_ready_fn on_ready);
void sub_close(struct sub *sub);

/*
 * Once it is no longer opening: what is known of its log. A subscriber may wait for an id far
 * beyond `last`; whether that makes sense is the caller's to say.
 */
struct log_state sub_log(const struct sub *sub);

/* Its name; borrowed until sub_close(). */
struct weir_slice sub_log_name(const struct sub *sub);

/*
 * Bytes from sub->next on: up to event `upto` exactly (max_bytes does not matter then), or
 * when that is 0 as many whole events as fit max_bytes and *n_iov vectors (one event at
 * least). *n_iov is set to how many were used, *last to the id of the last event given. The
 * same ids are the same bytes each time, however they are cut into vectors.
 *
 * Returns the state. Nothing is given unless it is SUB_READY; with SUB_FETCH, what is needed
 * is on its way. Slices are borrowed until the next call of a function of this fan.
 */
enum sub_state sub_peek(struct sub *sub, uint64_t upto, size_t max_bytes, struct iovec *iov,
                        unsigned *n_iov, uint64_t *last);

/* All events up to `last` were taken. Returns the state. */
enum sub_state sub_advance(struct sub *sub, uint64_t last);

/*
 * The subscriber cannot take more for a while: until the next sub_peek() nothing is kept for
 * it alone. It is called as before.
 */
void sub_rest(struct sub *sub);

struct fan_stats {
    size_t n_subs, n_tails, tail_bytes;
    uint64_t n_fetches, fetch_bytes;
    uint64_t n_evicted; /* chunks that left a tail for want of room */
    uint64_t n_news;
    uint64_t n_missed; /* times that news were lost, and the store asked instead */
};

void fan_stats(const struct fan *f, struct fan_stats *out);
