/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which nodes of a shared store live, for work that belongs to one of them: streams of the gateway,
 * imports.
 *
 * Each node renews its document "serve-node" NODE. One whose document has not changed for the time
 * of the lease, by the observer's own clock, is dead: no clocks are compared. That is counted from
 * look to look and only while looking worked: who was stopped, or had no store, begins to count
 * anew, for the others may have had none either. A node that comes to its end says so. A node that
 * is taken for dead and is not (it was stopped, or cut off) goes on thinking; so what others take
 * over has to be fenced by the commits of the work itself.
 *
 * 1. lives_new().
 * 2. lives_round() about every third of the lease. lives_is_dead().
 * 3. lives_end() when all is done; lives_free().
 *
 * lives_is_dead(): any thread; the rest: one.
 */
#pragma once

#include "store/store.h"

struct lives;

enum {
    LIVES_LEASE_MS = 6 * 1000,
    LIVES_MIN_LEASE_MS = 4 * 1000, /* it is renewed once a second at most */
    LIVES_FORGET_MS =
        3600 * 1000,         /* documents of the dead go then, and then what is known of them */
    LIVES_MAX = 4096,        /* names at a time */
    LIVES_WORDS_BYTES = 512, /* what each says of itself */
};

WEIR_MUST_CHECK enum weir_status lives_new(struct lives **out, struct store *store,
                                           const char *node, const struct clock *clock);
/* Another lease than LIVES_LEASE_MS, the same for all nodes; 0: that. Before the first round. */
void lives_set_lease(struct lives *l, unsigned lease_ms);
unsigned lives_lease(const struct lives *l);
void lives_free(struct lives *l); /* NULL is allowed */

/* Renews, if it is time, and looks at the others. May wait. WEIR_OK, or what the store says. */
WEIR_MUST_CHECK enum weir_status lives_round(struct lives *l);

/*
 * As the last round that worked has seen it. One that nobody has heard of is dead when that has
 * lasted for a lease.
 */
bool lives_is_dead(struct lives *l, struct weir_slice node);

/* How many others there are that are not known to be dead. */
unsigned lives_count_others(struct lives *l);

/* Whether this one is the first of those that live, by name: for work that one of them does. */
bool lives_is_first(struct lives *l);

/*
 * What this node says of itself beside that it lives: words. Written down at once, and then comes a
 * round: of two that say something at the same time at least one hears the other. May wait.
 * WEIR_LIMIT, or what the store says.
 */
WEIR_MUST_CHECK enum weir_status lives_say(struct lives *l, const char *words);
/* Whether each other node that lives has said this word, by the last round. */
bool lives_all_say(struct lives *l, struct weir_slice word);
/* Whether what each other said begins with one of these. Who has said nothing does not count. */
bool lives_all_begin_with(struct lives *l, struct weir_slice words);

/* Others need not wait for the lease. May wait. */
void lives_end(struct lives *l);
