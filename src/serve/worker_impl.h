/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A worker: one thread, its loop, its listeners and connections, its fan. Nothing of it is
 * touched by another thread but what says so.
 */
#pragma once

#include <pthread.h>

#include "base/arena.h"
#include "base/ulid.h"
#include "serve/conn_impl.h"
#include "serve/late.h"
#include "serve/log.h"
#include "serve/server_impl.h"

enum {
    WORKER_MAGIC = 0x776f726b,
    READ_BYTES = 64 << 10, /* taken from a connection by one read */
    TICK_MS = 200,         /* how often deadlines are looked at */
    QUICK_BEAT_MS = 1000,  /* comment lines that come sooner are quick */
    ACCEPT_BURST = 64,     /* connections accepted from one listener in a round */
    ACCEPT_PAUSE_MS = 100, /* when descriptors ran out */
    DATE_BYTES = 29,       /* "Sun, 06 Nov 1994 08:49:37 GMT" */
    ANSWER_HEAD_BYTES = 64 << 10,
};

struct listener {
    struct watch watch;
    struct worker *worker;
    int fd;
    bool is_local; /* the control socket */
    bool is_watched;
};

struct worker {
    unsigned magic;
    unsigned index;
    struct server *server;
    const struct server_limits *limits;
    const struct clock *clock;
    struct loop *loop;
    struct fan *fan;
    pthread_t thread;
    bool is_started;
    bool is_stopping; /* no new connections, none kept alive */
    bool is_aborted;  /* nobody waits for exchanges that still run */
    bool is_done;     /* nothing is left to close */

    struct listener listeners[SERVER_MAX_LISTEN + 1];
    unsigned n_listeners;
    struct timer accept_timer;
    struct timer keeper; /* never due: a loop with nothing to wait for would end */
    struct timer tick;
    bool is_ticking;

    struct list conns;
    struct list dirty;                  /* to flush in this round */
    bool is_behind;                     /* the last round did not get to all of them */
    struct commit_run commits;          /* for the store, at the end of a round */
    const struct commit *newest_commit; /* of them, when the last round ended */
    int n_gathering;                    /* rounds since the first of them came */
    struct list again;                  /* and in the next */
    struct list deadlines[N_DEADLINES];
    struct list quick_beats; /* of DEADLINE_BEAT, apart: else they are sought among thousands */
    size_t n_conns;
    size_t n_exchanges; /* not freed yet, those without a peer too */
    struct exchange *dead;
    struct exchange *spare;
    size_t n_spare;

    char *read_buf;
    size_t read_cap;
    bool is_reading;           /* read_buf is in use */
    struct http_reader reader; /* of requests that are whole in read_buf, as is the head */
    struct http_head head;
    struct weir_slice head_bytes;
    struct request request; /* of the handler that runs */
    struct arena arena;     /* what is decoded for it */
    struct weir_buf answer; /* heads of answers are put together here */
    struct weir_buf styled; /* and a piece of a stream, while it is written */
    struct ulid_source ids;
    int64_t date_s; /* the second that `date` says */
    bool has_date;
    char date[DATE_BYTES];

    struct post again_post;
    bool is_again_posted;
    struct post stop_post;
    struct post abort_post;
    struct post done_post; /* to the server's own loop */
    struct post fan_post;
    atomic_bool is_fan_posted;
    atomic_uint_fast64_t news_ns; /* when the oldest news came that the fan has not taken */
    uint64_t round_ns;            /* when this round first asked for the time; 0: not yet */
    int64_t round_wall_ms;        /* the same by the wall clock; -1: not yet */
    struct clock round_clock;     /* tells the latter, for ids */
    uint64_t news_run_ns;         /* the same of those taken in this round; 0: none */

    struct late late; /* requests that wait for a look at the store */
    struct log_buffer log;
    struct counters counters;
};

/* WEIR_NOMEM, WEIR_IO. worker_free() also frees half of one. */
WEIR_MUST_CHECK enum weir_status worker_new(struct worker **out, struct server *s, unsigned index);
void worker_free(struct worker *w);
/* Nothing wakes it any more; after its thread has ended, before the store is closed. */
void worker_close_fan(struct worker *w);

/* Takes over a listening socket; before the start. */
void worker_listen(struct worker *w, int fd, bool is_local);

WEIR_MUST_CHECK enum weir_status worker_start(struct worker *w);
/* Any thread. No new connections; the thread ends when those there are have ended. */
void worker_stop(struct worker *w);
/* Any thread, after worker_stop(): cuts all connections. */
void worker_abort(struct worker *w);
void worker_join(struct worker *w);

/* ---- for conn.c and its like ---- */

/* Puts a connection under a deadline that begins now; DEADLINE_NONE: under none. */
void worker_arm(struct worker *w, struct conn *c, enum deadline kind);
/* The time, asked once in a round: a request more costs nothing then. */
uint64_t worker_now_ns(struct worker *w);
int64_t worker_wall_ms(struct worker *w);

void worker_flush_next_round(struct worker *w, struct conn *c);
/* A connection or an exchange is gone: maybe the last. */
void worker_look_done(struct worker *w);
/* "Sun, 06 Nov 1994 08:49:37 GMT", of this second. */
struct weir_slice worker_date(struct worker *w);

/* ---- accept.c ---- */

void listener_start(struct listener *l);
/* Takes what waits in the queue, and no more after that. */
void listener_stop(struct listener *l);
void accept_pause_over(struct timer *t);
