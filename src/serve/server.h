/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server: a store, its keys, and workers that answer requests.
 *
 * 1. server_options_init(), then whatever is to be different.
 * 2. server_new() binds the addresses, gives up privileges, opens the store and makes the
 *    workers. Connections wait in the kernel's queue from now on; server_address() tells where.
 *    From now on signals come through a descriptor, and SIGPIPE is ignored (io/process.h).
 * 3. server_run() serves until SIGTERM, SIGINT or server_stop(). On SIGHUP certificates and
 *    the access log are opened again.
 * 4. server_free() settles and closes the store.
 *
 * Texts in the options are borrowed until server_free().
 *
 * Going down: nothing new is accepted, answers in flight are finished, event streams end
 * after the event under way so that their clients come again, turns go on up to what they
 * persist next (for half of grace_ms), and the rest is cut when grace_ms have passed. A second
 * signal ends the process at once; what was acknowledged is in the journal.
 *
 * server_stop(), server_is_stopping() and the accessors: any thread; the rest: one thread, and
 * the first server_new() before there is any other thread.
 */
#pragma once

#include <limits.h>

#include "base/clock.h"
#include "base/trace.h"
#include "chat/chat.h"
#include "fan/fan.h"
#include "hook/hooks.h"
#include "model/model.h"
#include "serve/access.h"
#include "serve/counters.h"
#include "session/session.h"
#include "store/store.h"
#include "turn/turn.h"

struct cookies;     /* serve/auth_cookie.h */
struct login_links; /* serve/login_link.h */
struct imports;
struct gateway;   /* gateway/gateway.h */
struct jwt_trust; /* serve/jwt.h */
struct shield_policy;
struct vault;
struct loop;
struct server;
struct log_waits;
struct worker;

enum { SERVER_MAX_LISTEN = 8 };

/* 1,024 connections of one address, but as many as they like from this machine. */
#define SERVER_PER_ADDRESS_DEFAULT UINT_MAX

/* Ceilings, in the units of their names; every one shows in /metrics when it is met. */
struct server_limits {
    size_t head_bytes;          /* 16 KiB: a request's head */
    size_t body_bytes;          /* 1 MiB: a request's body */
    size_t import_bytes;        /* 1 GiB: the same of a file that is imported */
    size_t all_request_bytes;   /* 64 MiB: of requests that are not whole, by worker */
    size_t all_answer_bytes;    /* 64 MiB: of unread answers, by worker; then one at a time */
    unsigned head_timeout_ms;   /* 10 s: for the whole head */
    unsigned body_timeout_ms;   /* 30 s: a body brings BODY_PROGRESS_BYTES in this time */
    unsigned idle_timeout_ms;   /* 75 s: between two requests */
    unsigned write_timeout_ms;  /* 60 s: an answer that nobody reads */
    unsigned stall_timeout_ms;  /* 10 min: an event stream that nobody reads */
    unsigned poll_timeout_ms;   /* 20 s: a long poll is answered without events */
    unsigned max_connections;   /* 0: 9/10 of the descriptors, 100,000 at most */
    unsigned max_per_address;   /* 1,024, but none on loopback; 0: no limit */
    unsigned max_in_flight;     /* 64: requests of a connection that wait for their answer */
    size_t max_in_flight_bytes; /* 1 MiB: bytes of their bodies and answers */
};

enum { BODY_PROGRESS_BYTES = 1024 };

struct server_options {
    const char *folder; /* of what is this node's own, and of the store unless: */
    const char *place;  /* the URL of a store that other nodes may have, too; NULL: the folder */
    const char *listen[SERVER_MAX_LISTEN]; /* "HOST:PORT"; none: 127.0.0.1:8080 */
    unsigned n_listen;
    bool takes_inherited;   /* listen on the sockets that the service manager passed, if any */
    bool is_open;           /* no keys; loopback addresses only */
    const char *shield;     /* a file with the policy of the privacy shield; NULL: the default */
    const char *shield_key; /* the file with its keys; NULL: shield.key in the folder */
    const struct jwt_trust *jwt; /* whose tokens are as good as keys; NULL: nobody's. Borrowed */
    const char *tls_cert;        /* PEM files; NULL: in the clear */
    const char *tls_key;
    const char *cors_origin; /* "*", or origins separated by commas; NULL: none */
    const char *access_log;  /* a file, "-": stderr, NULL or "off": none */
    const char *webhook_allow[TARGET_MAX_RULES]; /* hosts and prefixes; see io/target.h */
    unsigned n_webhook_allow;
    const char *public_url; /* how others reach it; NULL: by the first address */
    const char *user;       /* whom to become after binding; NULL: nobody else */
    bool is_confined;       /* give up what a server does not need (seccomp, landlock) */
    bool has_control;       /* FOLDER/control.sock, for this user's own commands */
    void (*on_signal)(void *user, int number); /* told of each that it takes; may be NULL */
    void *signal_user;
    unsigned n_loops;           /* workers; 0: one for each processor that it may use */
    unsigned grace_ms;          /* 10 s */
    size_t reserve_bytes;       /* memory touched at the start; see base/reserve.h */
    struct store_options store; /* on_news and user are the server's own */
    struct server_limits limits;
    struct turns_options turns; /* clock, trace, models, policy, vault are the server's own */
    const struct model_config *model_config; /* whom agents ask; NULL: nobody. Borrowed */
    struct models_options models;            /* clock and trace are the server's own */
    struct chats_options chats;       /* clock, trace, models, policy, vault are the server's own */
    struct sessions_options sessions; /* the same are the server's own */
    unsigned session_heartbeat_ms;    /* 0: 15 s; comment lines in the streams of sessions */
    unsigned turn_heartbeat_ms;       /* comment lines in the streams of turns; 0: none */
    const struct clock *clock;
    const struct trace *trace; /* NULL: no trace lines */
};

void server_options_init(struct server_options *o);

/* Why a server cannot be, for people. */
struct server_error {
    char text[320];
};

WEIR_MUST_CHECK enum weir_status server_new(struct server **out, const struct server_options *o,
                                            struct server_error *error);

/* WEIR_OK when every answer was finished, WEIR_SHUTDOWN when something had to be cut. */
WEIR_MUST_CHECK enum weir_status server_run(struct server *s);

/* As the first SIGTERM would. */
void server_stop(struct server *s);

/* NULL is allowed. */
void server_free(struct server *s);

/* Where it listens, as "http://127.0.0.1:8080"; NULL after the last one. */
const char *server_address(const struct server *s, unsigned i);

/* ---- for the resources ---- */

struct store *server_store(struct server *s);
struct keys *server_keys(struct server *s);
struct links *server_links(struct server *s);
struct cookies *server_cookies(struct server *s);
struct login_links *server_login_links(struct server *s);
struct hooks *server_hooks(struct server *s);
struct models *server_models(struct server *s); /* NULL: there are none */
struct turns *server_turns(struct server *s);
struct chats *server_chats(struct server *s);
struct sessions *server_sessions(struct server *s);
struct gateway *server_gateway(struct server *s);
const struct shield_policy *server_policy(struct server *s);
const struct vault *server_vault(struct server *s);
struct log_waits *server_log_waits(struct server *s);
struct imports *server_imports(struct server *s);
const struct server_options *server_options(const struct server *s);
bool server_is_stopping(const struct server *s);
/* Its work is moved away, before it is ended: serve/drain.c. */
bool server_is_draining(const struct server *s);
/* What is begun here is run, here or elsewhere. */
bool server_takes_runs(struct server *s);
/* Milliseconds since it was made. */
uint64_t server_uptime_ms(const struct server *s);
/* All workers' together. */
void server_counters(struct server *s, struct counters_sum *out);

/* The worker's own thread only. */
struct fan *worker_fan(struct worker *w);
struct counters *worker_counters(struct worker *w);
struct loop *worker_loop(struct worker *w); /* any thread */
