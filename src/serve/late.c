/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/late.h"

#include <string.h>

#include "serve/worker_impl.h"

void late_init(struct late *l, struct worker *w)
{
    l->worker = w;
    list_init(&l->waiting);
}

void late_forget(struct late *l, struct late_wait *wait)
{
    if (!list_is_linked(&wait->node)) return;
    list_remove(&wait->node);
    l->n_waiting--;
}

/* From now on it is taken as it is. */
static void let_go(struct late *l, struct late_wait *wait)
{
    late_forget(l, wait);
    if (!wait->is_round) wait->has_looked = true;
    conn_mark_dirty(wait->conn);
}

static void on_looked(struct post *p);

static void look_for_first(struct late *l)
{
    struct list_node *n;
    while (!l->is_looking && (n = list_first(&l->waiting))) {
        struct late_wait *first = CONTAINER_OF(n, struct late_wait, node);
        l->look = (struct shared_look){
            .loop = l->worker->loop, .post = {.run = on_looked}, .is_round = first->is_round};
        memcpy(l->look.key, first->key, sizeof l->look.key);
        l->is_looking = shared_look(l->worker->server->shared, &l->look);
        if (!l->is_looking) let_go(l, first);
    }
}

/* All that wait for the same have it now; a look at the secrets was a part of it. */
static void on_looked(struct post *p)
{
    struct late *l = CONTAINER_OF(p, struct late, look.post);
    struct list_node *next;
    l->is_looking = false;
    for (struct list_node *n = list_first(&l->waiting); n; n = next) {
        struct late_wait *wait = CONTAINER_OF(n, struct late_wait, node);
        next = list_next(&l->waiting, n);
        if (wait->is_round != l->look.is_round || strcmp(wait->key, l->look.key) != 0) continue;
        if (!wait->is_round) wait->is_blind = l->look.status != WEIR_OK;
        let_go(l, wait);
    }
    look_for_first(l);
}

static bool add(struct conn *c, struct late_wait *wait)
{
    struct late *l = &c->worker->late;
    if (l->n_waiting >= LATE_MAX) return false;
    wait->conn = c;
    list_push_back(&l->waiting, &wait->node);
    l->n_waiting++;
    look_for_first(l);
    return list_is_linked(&wait->node);
}

bool late_add(struct conn *c, struct late_wait *wait, const char key[KEY_NAME_BYTES + 1])
{
    memcpy(wait->key, key, sizeof wait->key);
    wait->is_round = false;
    return add(c, wait);
}

bool late_add_round(struct conn *c, struct late_wait *wait)
{
    memset(wait->key, 0, sizeof wait->key);
    wait->is_round = true;
    return add(c, wait);
}
