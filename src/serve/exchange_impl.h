/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of an exchange. It is one block of memory with room behind the struct, enough for
 * the answer of an append; more is chained to it. The finished answer lies in that memory and is
 * written from there, so the queue of a connection's exchanges is its output queue.
 *
 *   state       | next
 *   ------------+---------------------------------------------------------------------
 *   RECEIVING   | RUNNING when the body is whole; ANSWERED when it is refused before
 *   RUNNING     | ANSWERED, or WATCHING by exchange_watch()
 *   WATCHING    | ANSWERED by its feed: the head of the stream, 204, or an error
 *   ANSWERED    | freed when the answer is written, or the peer has gone
 */
#pragma once

#include <assert.h>
#include <stdalign.h>

#include "io/loop.h"
#include "serve/exchange.h"
#include "serve/router.h"

struct conn;

enum {
    EXCHANGE_MAGIC = 0x65786368,
    EXCHANGE_BYTES = 1280,   /* the block: struct, a small commit and its answer */
    EXCHANGE_SPARES = 256,   /* blocks that a worker keeps for the next ones */
    REQUEST_ID_BYTES = 64,   /* longest that a client may choose */
    LOGGED_PATH_BYTES = 256, /* of a path in the access log */
};

enum exchange_state { EX_RECEIVING, EX_RUNNING, EX_WATCHING, EX_ANSWERED };

/* Memory beyond the block. */
struct exchange_more {
    struct exchange_more *next;
    char bytes[];
};

struct answer_field {
    struct answer_field *next;
    const char *name;
    struct weir_slice value;
};

/* What the access log will want to know, while there is one. */
struct logged {
    enum http_method method;
    struct weir_slice path;
};

/* What exchange_watch() was asked for, until it is the exchange's turn. */
struct watch_order {
    struct watch_options how;
    struct weir_slice log;
};

struct exchange {
    unsigned magic;
    unsigned char state; /* enum exchange_state */
    bool is_http_1_0;
    bool is_head;          /* the answer has no body */
    bool is_safe;          /* the method changes nothing */
    bool closes;           /* the connection ends with this answer */
    bool is_local;         /* came over the control socket */
    bool has_interim;      /* out is "100 Continue", or begins with it */
    bool is_feed;          /* out is the head of an event stream, which follows */
    bool is_rpc;           /* a call: its errors have the form of calls */
    bool is_blind;         /* who asks could not be looked for in the store */
    struct exchange *next; /* of the connection, or of the worker's spare or dead ones */
    struct conn *conn;     /* NULL: the peer has gone */
    struct worker *worker;
    const struct route *route; /* NULL: none was met */
    const struct access *access;
    struct answer_field *fields; /* the newest first */
    struct weir_slice origin;    /* allowed to read the answer; empty: none asked */
    struct weir_slice blamed;    /* the member that an error is about; empty: none */
    struct watch_order *watch;
    struct spool *spool;   /* the body, of a row with ROUTE_FILE; NULL: none */
    struct logged *logged; /* NULL: no access log */
    struct exchange_more *more;
    size_t n_more; /* bytes in them */
    char *tip;     /* next free byte of the block */
    const char *out;
    size_t out_len;
    size_t cost; /* bytes of body and answer, for the connection's ceiling */
    uint64_t started_ns;
    committed_fn then;
    struct commit *commit; /* at the store; freed when it is back */
    void *data;            /* the handler's */
    struct commit_result result;
    struct post post;
    int status; /* of the answer */
    unsigned char id_len;
    char id[REQUEST_ID_BYTES];
    alignas(8) char memory[];
};

static_assert(sizeof(struct exchange) <= EXCHANGE_BYTES - 384, "an append's answer has room");

/* What a handler may look at; the worker has one, and its slices end when the handler returns. */
struct request {
    const struct http_head *head; /* NULL: no handler runs */
    struct weir_slice body;
    struct weir_slice params[ROUTE_MAX_PARAMS];
    unsigned n_params;
};

/* Whether it is the path of a call, or would be. */
bool is_rpc_path(struct weir_slice path);

/* NULL when there is no memory. */
struct exchange *exchange_new(struct worker *w, struct conn *c);

/* Its memory goes at the end of the round, so that whoever answers may still look at it. */
void exchange_free(struct exchange *ex);

/* Takes over the client's id for the request if it has a good form; else makes one. */
void exchange_name(struct exchange *ex, const struct http_head *head);

/* Calls the route's handler. */
void exchange_run(struct exchange *ex, const struct http_head *head, struct weir_slice body);

/* The head of an event stream, which its feed continues. */
void exchange_feed_head(struct exchange *ex);

/* ---- admit.c: whether a request may run ---- */

/*
 * Finds its route and looks at its key; true when it may run. Otherwise it is answered: 204 to
 * OPTIONS, or with the error.
 */
bool admit(struct exchange *ex, const struct http_head *head);
