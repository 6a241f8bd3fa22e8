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

/* body.len == 0: there is no map. */
static enum weir_status unseal(struct chats *c, struct weir_slice conversation,
                               struct weir_slice body, struct guard **out)
{
    enum weir_status st = WEIR_OK;
    *out = guard_new(c->options.policy);
    if (!*out) return WEIR_NOMEM;
    if (body.len > 0) st = guard_unseal(*out, c->options.vault, conversation, body);
    if (st == WEIR_OK) return WEIR_OK;
    guard_free(*out);
    *out = NULL;
    return st == WEIR_NOT_FOUND ? WEIR_CORRUPT : st; /* its key is gone: no such map any more */
}

enum weir_status values_load(struct chats *c, struct weir_slice conversation, struct guard **out)
{
    struct doc doc = {0};
    *out = NULL;
    enum weir_status st = store_doc_get(c->store, map_key(conversation), &doc);
    if (st == WEIR_NOT_FOUND) return unseal(c, conversation, SLICE(""), out);
    if (st != WEIR_OK) return st;
    st = unseal(c, conversation, doc.body, out);
    doc_fini(&doc);
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

/*
 * Takes the guard over; it is the reply's newest from now on. One that was read, with a version, is
 * so only if what there is was read too, and earlier; or if it was read that there is no map any
 * more, which is so for good.
 */
static enum weir_status hand_out(struct chats *c, struct reply *r, struct guard *g, int64_t version)
{
    const struct guard *key = g;
    struct snapshot *s = mem_zalloc(sizeof *s);
    if (!s) {
        guard_free(g);
        return WEIR_NOMEM;
    }
    *s = (struct snapshot){.guard = g, .reply = r, .version = version, .n_refs = 1};
    pthread_mutex_lock(&c->lock);
    int64_t there = r->values ? r->values->version : OWN_VALUES;
    bool is_older = version != OWN_VALUES && r->values &&
                    (there >= version || (there == OWN_VALUES && version != NO_VALUES));
    enum weir_status st = is_older ? WEIR_EXISTS : map_put(&c->snapshots, key_of(&key), s);
    if (st == WEIR_OK) {
        values_unref_locked(c, r->values);
        r->values = s;
    }
    pthread_mutex_unlock(&c->lock);
    if (st != WEIR_OK) {
        guard_free(g);
        mem_free(s);
    }
    return st == WEIR_EXISTS ? WEIR_OK : st;
}

enum weir_status values_publish(struct chats *c, struct reply *r, const struct guard *g)
{
    struct guard *copy = guard_copy(g);
    return copy ? hand_out(c, r, copy, OWN_VALUES) : WEIR_NOMEM;
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

static enum weir_status find_conversation(struct chats *c, struct reply *r,
                                          char out[CHAT_CONVERSATION_BYTES])
{
    struct chat_doc doc;
    pthread_mutex_lock(&c->lock);
    memcpy(out, r->conversation, sizeof r->conversation);
    pthread_mutex_unlock(&c->lock);
    if (out[0]) return WEIR_OK;
    enum weir_status st = chat_doc_get(c->store, reply_key(weir_slice_of(r->id)), &doc);
    struct weir_slice id = weir_json_text(weir_json_get_str(doc.json, "conversation"));
    if (st == WEIR_OK && id.len >= CHAT_CONVERSATION_BYTES) st = WEIR_CORRUPT;
    if (st == WEIR_OK) {
        memcpy(out, id.ptr, id.len);
        out[id.len] = 0;
        /* Before the map is read: whoever changes it then tells that it is stale again. */
        reply_belongs(c, r, id);
    }
    chat_doc_fini(&doc);
    return st;
}

/* Whether a map that is not there is none yet, or was removed: see delete.c. */
static enum weir_status find_removed(struct chats *c, struct weir_slice conversation,
                                     int64_t *version)
{
    struct chat_doc doc;
    struct conversation v = {0};
    enum weir_status st = chat_doc_get(c->store, conversation_key(conversation), &doc);
    if (st == WEIR_OK && !conversation_read(doc.json, conversation, &v)) st = WEIR_CORRUPT;
    if (st == WEIR_NOT_FOUND || (st == WEIR_OK && v.is_closed)) *version = NO_VALUES;
    chat_doc_fini(&doc);
    return st == WEIR_NOT_FOUND ? WEIR_OK : st;
}

/* Of a reply that no run of ours hands out anything for. `old`: what there is; NULL: nothing. */
static enum weir_status load_for_readers(struct chats *c, struct reply *r,
                                         const struct snapshot *old)
{
    char name[CHAT_CONVERSATION_BYTES];
    struct doc doc = {0};
    struct guard *g = NULL;
    enum weir_status st = find_conversation(c, r, name);
    struct weir_slice conversation = weir_slice_of(name);
    if (st != WEIR_OK) return st;
    st = store_doc_get(c->store, map_key(conversation), &doc);
    bool is_there = st == WEIR_OK;
    int64_t version = is_there ? doc.version : 0;
    /* What a run of ours had is never older than a map that is there. */
    bool is_same = old && is_there && (old->version == OWN_VALUES || old->version == version);
    if (st == WEIR_NOT_FOUND) st = old ? find_removed(c, conversation, &version) : WEIR_OK;
    if (st == WEIR_OK && !is_same)
        st = unseal(c, conversation, is_there ? doc.body : SLICE(""), &g);
    if (st == WEIR_OK && !is_same) st = hand_out(c, r, g, version);
    if (is_there) doc_fini(&doc);
    return st;
}

/*
 * Another node may have changed the map: where the reply runs it grows, and anybody may remove it
 * later. Whoever begins to read looks at it, whether that was told or not. What a run of ours hands
 * out is newer than any map, for as long as that goes on. When the map cannot be read now, whoever
 * reads on does so with what there is, and the next one who asks tries again.
 */
static struct snapshot *renewed(struct chats *c, struct reply *r, struct snapshot *s, bool begins)
{
    pthread_mutex_lock(&c->lock);
    bool is_newest =
        s->version == NO_VALUES || (s->version == OWN_VALUES && r->is_running && !r->has_ended);
    bool is_stale = !is_newest && (r->is_stale || (begins && c->is_shared));
    if (is_stale) r->is_stale = false;
    pthread_mutex_unlock(&c->lock);
    if (!is_stale) return s;
    bool is_read = load_for_readers(c, r, s) == WEIR_OK;
    pthread_mutex_lock(&c->lock);
    r->is_stale |= !is_read;
    pthread_mutex_unlock(&c->lock);
    struct snapshot *newest = is_read || !begins ? values_ref(c, r) : NULL;
    values_unref(c, s);
    return newest;
}

static const struct guard *find_guard(struct chats *c, struct weir_slice message, bool begins)
{
    struct reply *r = reply_pin(c, message);
    if (!r) return NULL;
    struct snapshot *s = values_ref(c, r);
    if (s) s = renewed(c, r, s, begins);
    else if (load_for_readers(c, r, NULL) == WEIR_OK) s = values_ref(c, r);
    if (!s) reply_unpin(c, r);
    return s ? s->guard : NULL;
}

const struct guard *chats_guard(struct chats *c, struct weir_slice message)
{
    return find_guard(c, message, true);
}

const struct guard *chats_guard_again(struct chats *c, struct weir_slice message)
{
    return find_guard(c, message, false);
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
