/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private values of a conversation. The guard of a reply is its run's alone and grows as the reply
 * goes on; whoever restores events, or looks at what leaves, has a copy that does not change. A
 * copy is made before anything that needs it can be durable, so that the newest copy always knows
 * all placeholders that can be seen.
 */
#include "base/check.h"
#include "base/mem.h"
#include "base/slice.h"
#include "chat/chat_impl.h"
#include "shield/restore.h"

enum pii_action chats_action(const struct chats *c, enum pii_action wish)
{
    return pii_action_stricter(shield_policy_action(c->options.policy), wish);
}

struct doc_key map_key(struct weir_slice conversation)
{
    return (struct doc_key){SLICE("shield_map"), conversation};
}

enum weir_status values_load(struct chats *c, struct weir_slice conversation, struct guard **out)
{
    struct doc doc;
    *out = guard_new(c->options.policy);
    if (!*out) return WEIR_NOMEM;
    enum weir_status st = store_doc_get(c->store, map_key(conversation), &doc);
    if (st == WEIR_NOT_FOUND) return WEIR_OK;
    if (st == WEIR_OK) {
        st = guard_unseal(*out, c->options.vault, conversation, doc.body);
        if (st == WEIR_NOT_FOUND) st = WEIR_CORRUPT; /* its key is gone: no such map any more */
        doc_fini(&doc);
    }
    if (st == WEIR_OK) return WEIR_OK;
    guard_free(*out);
    *out = NULL;
    return st;
}

enum weir_status values_load_for(struct chats *c, struct weir_slice conversation,
                                 enum pii_action wish, struct guard **out)
{
    enum weir_status st = values_load(c, conversation, out);
    if (st == WEIR_OK && chats_action(c, wish) > PII_ASK) guard_be_strict(*out);
    return st;
}

/* ---- copies ---- */

static struct weir_slice key_of(const struct guard *const *g)
{
    return slice_of(g, sizeof *g);
}

void values_unref_locked(struct chats *c, struct snapshot *s)
{
    if (!s || --s->n_refs > 0) return;
    const struct guard *g = s->guard;
    (void)map_take(&c->snapshots, key_of(&g));
    guard_free(s->guard);
    mem_free(s);
}

void values_unref(struct chats *c, struct snapshot *s)
{
    pthread_mutex_lock(&c->lock);
    values_unref_locked(c, s);
    pthread_mutex_unlock(&c->lock);
}

struct snapshot *values_ref(struct chats *c, struct reply *r)
{
    pthread_mutex_lock(&c->lock);
    struct snapshot *s = r->values;
    if (s) s->n_refs++;
    pthread_mutex_unlock(&c->lock);
    return s;
}

/* Takes the guard over; it is the reply's newest from now on. */
static enum weir_status hand_out(struct chats *c, struct reply *r, struct guard *g)
{
    const struct guard *key = g;
    struct snapshot *s = mem_zalloc(sizeof *s);
    if (!s) {
        guard_free(g);
        return WEIR_NOMEM;
    }
    *s = (struct snapshot){.guard = g, .reply = r, .n_refs = 1};
    pthread_mutex_lock(&c->lock);
    enum weir_status st = map_put(&c->snapshots, key_of(&key), s);
    if (st == WEIR_OK) {
        values_unref_locked(c, r->values);
        r->values = s;
    }
    pthread_mutex_unlock(&c->lock);
    if (st != WEIR_OK) {
        guard_free(g);
        mem_free(s);
    }
    return st;
}

enum weir_status values_publish(struct chats *c, struct reply *r, const struct guard *g)
{
    struct guard *copy = guard_copy(g);
    return copy ? hand_out(c, r, copy) : WEIR_NOMEM;
}

void values_restore_text(const struct guard *g, enum restore_form form, struct weir_slice text,
                         struct weir_buf *out)
{
    struct restorer r;
    restorer_init(&r, guard_tokens(g), form);
    restorer_feed(&r, text, out);
    restorer_end(&r, out);
}

/* ---- for readers ---- */

static enum weir_status find_conversation(struct chats *c, struct weir_slice message,
                                          char out[CHAT_CONVERSATION_BYTES])
{
    struct chat_doc doc;
    enum weir_status st = chat_doc_get(c->store, reply_key(message), &doc);
    struct weir_slice id = weir_json_text(weir_json_get_str(doc.json, "conversation"));
    if (st == WEIR_OK && id.len >= CHAT_CONVERSATION_BYTES) st = WEIR_CORRUPT;
    if (st == WEIR_OK) {
        memcpy(out, id.ptr, id.len);
        out[id.len] = 0;
    }
    chat_doc_fini(&doc);
    return st;
}

/* Of a reply that no run of ours has handed out anything for. */
static enum weir_status load_for_readers(struct chats *c, struct reply *r)
{
    char conversation[CHAT_CONVERSATION_BYTES];
    struct guard *g;
    enum weir_status st = find_conversation(c, weir_slice_of(r->id), conversation);
    if (st == WEIR_OK) st = values_load(c, weir_slice_of(conversation), &g);
    if (st != WEIR_OK) return st;
    reply_belongs(c, r, weir_slice_of(conversation));
    struct snapshot *newer = values_ref(c, r);
    if (!newer) return hand_out(c, r, g);
    values_unref(c, newer);
    guard_free(g);
    return WEIR_OK;
}

const struct guard *chats_guard(struct chats *c, struct weir_slice message)
{
    struct reply *r = reply_pin(c, message);
    if (!r) return NULL;
    struct snapshot *s = values_ref(c, r);
    if (!s && load_for_readers(c, r) == WEIR_OK) s = values_ref(c, r);
    if (!s) reply_unpin(c, r);
    return s ? s->guard : NULL;
}

void chats_guard_release(struct chats *c, const struct guard *g)
{
    if (!g) return;
    pthread_mutex_lock(&c->lock);
    struct snapshot *s = map_get(&c->snapshots, key_of(&g));
    CHECK(s);
    struct reply *r = s->reply;
    values_unref_locked(c, s);
    pthread_mutex_unlock(&c->lock);
    reply_unpin(c, r);
}
