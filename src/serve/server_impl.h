/* SPDX-License-Identifier: Apache-2.0 */
/* What the workers share. Fields are set before they start, unless marked otherwise. */
#pragma once

#include <pthread.h>
#include <signal.h>

#include "base/map.h"
#include "io/sock.h"
#include "serve/server.h"

enum { SERVER_MAGIC = 0x73657276, SERVER_MAX_LOOPS = 256 };

/* How many connections there are, by address of the peer. Any thread. */
struct peers {
    pthread_mutex_t lock;
    struct map counts; /* hash of the address -> number */
    unsigned max_each; /* 0: no limit */
    atomic_uint n_all;
    unsigned max_all;
};

struct access_log;

struct server {
    unsigned magic;
    struct server_options options;
    struct store *store;
    struct hub *hub;
    struct keys *keys;
    struct tls_context *tls;
    struct access_log *log; /* NULL: none */
    struct peers peers;
    struct worker *workers[SERVER_MAX_LOOPS];
    unsigned n_workers;
    char addresses[SERVER_MAX_LISTEN][ADDR_TEXT_BYTES + 16];
    unsigned n_addresses;
    uint64_t started_ns;
    pthread_t runner;          /* the thread in server_run() */
    sigset_t old_mask;         /* of signals, before server_new() */
    atomic_bool is_running;    /* runner is set */
    atomic_bool is_stop_asked; /* by server_stop() */
    atomic_bool is_stopping;   /* any thread */
    atomic_uint n_done;        /* workers that have nothing left */
};

/* A worker has nothing left. Its thread. */
void server_worker_done(struct server *s);

/* WEIR_OK when there is room for one more; WEIR_TOO_MANY. host 0: not counted by address. */
enum peers_answer { PEERS_OK, PEERS_TOO_MANY, PEERS_TOO_MANY_EACH };
enum peers_answer peers_enter(struct peers *p, uint64_t host);
void peers_leave(struct peers *p, uint64_t host);
