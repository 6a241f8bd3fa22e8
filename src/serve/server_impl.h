/* SPDX-License-Identifier: Apache-2.0 */
/* What the workers share. Fields are set before they start, unless marked otherwise. */
#pragma once

#include <pthread.h>

#include "base/map.h"
#include "base/ulid.h"
#include "io/loop.h"
#include "io/sock.h"
#include "serve/doc_news.h"
#include "serve/log_wait.h"
#include "serve/privacy.h"
#include "serve/server.h"
#include "stream/sweep.h"

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
    struct sweep *sweep;
    struct keys *keys;
    struct target_rules targets; /* where webhooks may go */
    struct hooks *hooks;
    struct links *links;
    struct cookies *cookies;         /* what browsers show in place of keys */
    struct login_links *login_links; /* how they get one without a key */
    struct privacy privacy;
    struct reseal *reseal; /* maps of an old key; NULL: not begun */
    struct models *models; /* NULL: agents are on their own */
    struct gateway *gateway;
    struct turns *turns;
    struct chats *chats;
    struct sessions *sessions;
    struct runner *runner;
    char *sessions_folder; /* of the files of sessions, absolute */
    struct log_waits log_waits;
    struct doc_news doc_news; /* what other nodes have written */
    struct imports *imports;
    _Atomic(struct shared *) shared; /* what other nodes change; NULL: there are none */
    struct lives *lives;             /* which nodes live; NULL as that */
    char node[ULID_TEXT_LEN + 1];    /* what this one is called, until it ends */
    struct tls_context *tls;
    struct access_log *log; /* NULL: none */
    struct peers peers;
    struct worker *workers[SERVER_MAX_LOOPS];
    unsigned n_workers;
    char addresses[SERVER_MAX_LISTEN][ADDR_TEXT_BYTES + 16];
    unsigned n_addresses;
    uint64_t started_ns;

    /* Of the thread in server_run(). */
    struct loop *loop;
    int signal_fd;
    struct watch signals;
    struct timer grace_timer;
    struct timer alive_timer; /* for the service manager */
    struct timer sweep_timer; /* for keys of requests that are old */
    pthread_t turns_stopper;  /* waits for steps while the loops go down */
    bool is_turns_stopping;   /* there is that thread */
    unsigned n_started;       /* workers with a thread */
    unsigned n_done;          /* of them, with nothing left */
    bool is_cut;              /* the grace time was over */

    /* Any thread. */
    struct post stop_post;
    atomic_bool is_stop_asked; /* it is posted */
    atomic_bool is_stopping;
    atomic_bool is_draining;
    atomic_bool is_sweeping; /* a thread of the store's looks for old keys of requests */
};

/* Says why, and returns the status. */
enum weir_status server_fail(struct server_error *e, enum weir_status st, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- node.c: what a node of several does; each is nothing when there is one ---- */

/* Remembers in the folder where the data are; WEIR_CONFLICT: elsewhere than was said. */
WEIR_MUST_CHECK enum weir_status node_look_at_folder(struct server *s, struct server_error *e);
WEIR_MUST_CHECK enum weir_status node_mark_folder(struct server *s, struct server_error *e);
/* A name that no other has, nor had; and it is said that this one lives. */
WEIR_MUST_CHECK enum weir_status node_name(struct server *s, struct server_error *e);
/* Key files that have to be copied here; then, whether those that are here are the others', too. */
WEIR_MUST_CHECK enum weir_status node_need_files(struct server *s, struct server_error *e);
WEIR_MUST_CHECK enum weir_status node_match_files(struct server *s, struct server_error *e);
/* Looks at the others from now on, and does what the dead left. */
WEIR_MUST_CHECK enum weir_status node_start(struct server *s, struct server_error *e);
/* Of a server that drains: gives away what could not be given before (drain.c). May wait. */
void drain_go_on(struct server *s);
/* Of a server that drains: somebody takes whatever is begun here. */
bool drain_has_others(struct server *s);
bool node_is_dead(void *server, struct weir_slice node);

/* A worker has nothing left. The last thing that its thread does. */
void server_worker_done(struct worker *w);

/* WEIR_OK when there is room for one more; WEIR_TOO_MANY. host 0: not counted by address. */
enum peers_answer { PEERS_OK, PEERS_TOO_MANY, PEERS_TOO_MANY_EACH };
enum peers_answer peers_enter(struct peers *p, uint64_t host);
void peers_leave(struct peers *p, uint64_t host);
