/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What other nodes have written: whoever waits here for such a document looks again. Nothing is
 * taken from the news themselves, so one that is lost, late or told twice costs time alone.
 *
 *   document        whoever looks again
 *   dlp_decision    the reply that asked, if it waits here
 *   shield_map      readers of a reply whose map grows or is removed elsewhere: values.c
 *   run, run-…      the engine of runs
 *
 * News of a map come before those of events that need it, as both were written.
 */
#include "base/slice.h"
#include "chat/chat_impl.h"

/* Whoever waits for this decision, or for any when it is empty; more than fit wait for the next. */
static void wake_waiting(struct chats *c, struct weir_slice decision)
{
    enum { AT_ONCE = 256 };
    char ids[AT_ONCE][CHAT_MESSAGE_LEN + 1];
    size_t n = 0;
    pthread_mutex_lock(&c->lock);
    struct map_walk w = map_walk_begin(&c->replies);
    while (n < AT_ONCE && map_walk_next(&c->replies, &w)) {
        const struct reply *r = w.value;
        bool is_asked = decision.len == 0 || slice_eq(weir_slice_of(r->decision), decision);
        if (r->waiter && is_asked) memcpy(ids[n++], r->id, sizeof r->id);
    }
    pthread_mutex_unlock(&c->lock);
    for (size_t i = 0; i < n; i++) reply_wake(c, weir_slice_of(ids[i]));
}

static void forget_values(struct chats *c, struct weir_slice conversation)
{
    pthread_mutex_lock(&c->lock);
    struct map_walk w = map_walk_begin(&c->replies);
    while (map_walk_next(&c->replies, &w)) {
        struct reply *r = w.value;
        if (conversation.len == 0 || slice_eq(weir_slice_of(r->conversation), conversation))
            r->is_stale = true;
    }
    pthread_mutex_unlock(&c->lock);
}

void chats_docs_changed(struct chats *c, struct weir_slice kind, struct weir_slice id)
{
    const struct doc_key key = {kind, id};
    flow_docs_changed(c->flow, &key, kind.len > 0 ? 1 : 0);
    if (kind.len == 0 || weir_slice_is(kind, "dlp_decision")) wake_waiting(c, id);
    if (kind.len == 0 || weir_slice_is(kind, "shield_map")) forget_values(c, id);
}
