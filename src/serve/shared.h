/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What this node keeps in memory of documents that other nodes change: a thread that looks again
 * when they do, every now and then without being told, and for requests that show something this
 * node does not know yet (another may have made it a moment ago).
 *
 * 1. shared_start(), of a store that others may have open, too.
 * 2. shared_changed() for documents that others changed; shared_look() for requests.
 * 3. shared_stop(): looks that wait are told at once, and nothing is looked at any more.
 *    shared_free() when nobody tells it anything any more: after the store was closed.
 *
 * Any thread, but for the first and the last.
 */
#pragma once

#include "base/list.h"
#include "io/loop.h"
#include "serve/auth_cookie.h"
#include "serve/link.h"

struct shared;

enum {
    SHARED_ALL_MS = 5000, /* between two looks at everything that nobody asked for */
    SHARED_DUTY_MS = 1000,
    SHARED_LOOKS = 256, /* requests that wait for a look at a time; more are not looked for */
};

/* What is looked at; borrowed until shared_stop(). */
struct shared_options {
    struct store *store;
    struct keys *keys;
    struct links *links;
    struct cookies *cookies;
    const char *node;                    /* what the node is called; up to RATES_NODE_BYTES - 1 */
    unsigned (*count_nodes)(void *user); /* that live, with this one; NULL: one */
    const struct clock *clock;
    /* Called by the thread about every SHARED_DUTY_MS; may wait. NULL: nothing. */
    void (*duty)(void *user);
    void *duty_user;
};

WEIR_MUST_CHECK enum weir_status shared_start(struct shared **out,
                                              const struct shared_options *options);
void shared_stop(struct shared *s); /* NULL is allowed, here and there */
void shared_free(struct shared *s);

/* Somebody else changed this document. An empty kind: anything may have changed. Short. */
void shared_changed(struct shared *s, struct weir_slice kind, struct weir_slice id);

/* A look for a request; `post` is posted once, when what there is was read. */
struct shared_look {
    struct list_node node;
    struct loop *loop;
    struct post post;
    char key[KEY_NAME_BYTES + 1]; /* "": the secrets alone */
    bool is_round;                /* a round of rates is wanted, and nothing is read */
    enum weir_status status;      /* WEIR_OK, or why it could not be read */
};

/* False: there are too many, and it is not posted. */
bool shared_look(struct shared *s, struct shared_look *look);
