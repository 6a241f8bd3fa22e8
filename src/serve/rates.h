/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rates of keys that hold over all nodes of a shared store.
 *
 * Each node counts for itself, without waiting for anybody, and tells the others: ten times a
 * second, while keys with a rate are used, it writes how much it has taken of each into one
 * document, and counts what the others have written as if it had been taken here. So in the long
 * run all nodes together let pass what one would. Between two rounds each lets pass its part of
 * what was left, and who comes beyond that waits for a round (keys_must_ask()). What passes too
 * much all the same, because nodes took their parts before they had heard of each other's, is paid
 * back: nobody gets any more until it is.
 *
 * The document: kind "key-use", id the node's; {"at","keys":{NAME:[taken,aheadMs,since]}} of the
 * keys that were used in the last seconds. Its size does not depend on how much they are used, nor
 * do the commits: one for each round and node. While the store cannot be asked, each node lets pass
 * what one would.
 *
 * 1. rates_new().
 * 2. rates_is_due() often; when it is, rates_round(), by a thread that may wait, one at a time.
 * 3. rates_free() when no round is under way.
 */
#pragma once

#include "serve/access.h"

struct rates;

enum {
    RATES_TICK_MS = 100,     /* between two rounds, */
    RATES_TICK_KEYS = 256,   /* of so many keys; for more, longer */
    RATES_KEYS = 4096,       /* told of at a time; beyond it each node counts for itself */
    RATES_IDLE_MS = 2000,    /* without use, then there are no rounds */
    RATES_KEEP_MS = 20000,   /* a key that was used is told of so long */
    RATES_LOST_MS = 3600000, /* what a node wrote last that is not there any more goes */
    RATES_NODE_BYTES = 64,   /* longest name of a node */
    RATES_BODY_BYTES = 1 << 20,
};

/* The clock is for how long something takes; what time it is all nodes ask the store. */
WEIR_MUST_CHECK enum weir_status rates_new(struct rates **out, struct store *store,
                                           struct keys *keys, const char *node,
                                           const struct clock *clock);
void rates_free(struct rates *r); /* NULL is allowed; its document goes by the others */

/* Whether a round is to be made now. Any one thread. */
bool rates_is_due(struct rates *r);

/* Tells the others, and hears from them. May wait. WEIR_OK, or what the store says. */
WEIR_MUST_CHECK enum weir_status rates_round(struct rates *r);
