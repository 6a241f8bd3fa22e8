/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of /v1/turns share: looking a turn up, by a thread of the store's, and going on
 * with the request on its loop.
 *
 *   turns.c          get, list, trace, cancel
 *   turns_create.c   POST: the body, one commit, waiting for the end
 *   turns_events.c   the stream
 */
#pragma once

#include "io/loop.h"
#include "serve/idempotency.h"
#include "serve/resource.h"
#include "turn/turn.h"

struct turn_asked;
typedef void (*turn_found_fn)(struct exchange *ex, struct turn_asked *asked);

/* A question about one turn. In the exchange's memory. */
struct turn_asked {
    struct post post;
    struct exchange *ex;
    struct loop *loop;
    struct store *store;
    char id[TURN_ID_LEN + 1];
    char owner[TURN_OWNER_BYTES];
    struct idempotency *key; /* looked up, too, if not NULL */
    turn_found_fn found;
    void *user;

    /* The answer. */
    enum weir_status status;     /* WEIR_NO_TURN: there is none, or it is another's */
    enum weir_status key_status; /* of idempotency_find() */
    struct doc doc;              /* the Turn; goes when `found` returns */
    struct turn_state state;
};

/*
 * About the turn that the path names: `size` zeroed bytes that begin with a struct turn_asked; NULL
 * when that was answered with an error.
 */
void *turn_asked_new(struct exchange *ex, size_t size);
/* The same about any turn, in memory of the caller's that lives as long as the exchange. */
void turn_asked_init(struct turn_asked *asked, struct exchange *ex, struct weir_slice id);

/* Looks it up and calls `found` on the loop, which answers. */
void turn_ask(struct turn_asked *asked, turn_found_fn found);

/* Whether it is there; false when that was answered with an error. */
bool turn_is_found(struct exchange *ex, const struct turn_asked *asked);

/* Answers with the Turn. */
void turn_answer(struct exchange *ex, const struct turn_asked *asked, int status);

/* Location, of a turn. */
void turn_put_location(struct exchange *ex, struct weir_slice id);
