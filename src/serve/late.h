/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests that show a key, cookie or link which this node does not know: with a shared store
 * another node may have made it a moment ago. Such a request waits, before it is taken, until the
 * store was looked at; then it is taken as any other. With a store of its own a node knows all.
 *
 * A worker has one look under way; who comes meanwhile waits for the next. When too many wait, a
 * request is taken as it is: nobody can make others wait by showing keys that do not exist.
 *
 * Loop thread only, but for late_init() and late_fini().
 */
#pragma once

#include "base/list.h"
#include "serve/shared.h"

struct worker;
struct conn;

enum { LATE_MAX = 64 }; /* requests of a worker that wait */

/* Of a request that waits. */
struct late_wait {
    struct list_node node;
    struct conn *conn;
    bool has_looked;
    bool is_blind; /* the store could not be asked */
    bool is_round; /* it waits until the nodes have told each other what they took of the key's rate
                    */
    char key[KEY_NAME_BYTES + 1];
};

struct late {
    struct worker *worker;
    struct list waiting; /* struct late_wait, the oldest first */
    unsigned n_waiting;
    bool is_looking;
    struct shared_look look; /* of the first that waits */
};

void late_init(struct late *l, struct worker *w);

/*
 * The request of a connection shows a key of this name, or, when it is empty, a link. Whether it
 * has to wait; then the connection is marked as dirty when it need not any more.
 */
bool late_add(struct conn *c, struct late_wait *wait, const char key[KEY_NAME_BYTES + 1]);

/* The same of one whose key is known, and has let pass as many as it may without asking. */
bool late_add_round(struct conn *c, struct late_wait *wait);

/* It does not wait any more, if it did. */
void late_forget(struct late *l, struct late_wait *wait);
