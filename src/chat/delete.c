/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deleting conversations. First it is marked, in one commit, and nobody sees it any more; then what
 * it consists of goes, the conversation itself last, so that a crash in between is gone on with at
 * the next start, or by another node. A reply that is under way is cancelled, and the rest goes
 * when it has ended.
 *
 * Without its map a conversation can be read, with placeholders, but not gone on with: its
 * placeholders would come to stand for other values.
 */
#include <stdio.h>

#include "base/check.h"
#include "base/slice.h"
#include "chat/chat_impl.h"

enum {
    BODY_BYTES = 4096,
    PREFIX_BYTES = STORE_NAME_BYTES + 1,
    AGAIN_MS = 60 * 1000, /* before what could not be removed is tried again */
};

static struct doc_key deleted_key(struct weir_slice id)
{
    return (struct doc_key){SLICE("chat_deleted"), id};
}

/* ---- taking away ---- */

/* Documents whose ids begin so, in one commit. */
struct removal {
    struct commit *commit;
    struct weir_slice prefix;
    unsigned n;
    bool is_over;
};

static enum weir_status remove_one(void *user, const struct doc *doc)
{
    struct removal *r = user;
    if (doc->id.len < r->prefix.len || memcmp(doc->id.ptr, r->prefix.ptr, r->prefix.len) != 0) {
        r->is_over = true;
        return WEIR_LIMIT;
    }
    commit_remove(r->commit, (struct doc_key){doc->kind, doc->id}, DOC_ANY_VERSION);
    r->n++;
    return WEIR_OK;
}

static enum weir_status remove_all(struct chats *c, const char *kind, struct weir_slice head)
{
    char prefix[PREFIX_BYTES];
    int len = snprintf(prefix, sizeof prefix, "%.*s/", (int)head.len, head.ptr);
    struct removal r = {.commit = commit_new(0), .prefix = slice_of(prefix, (size_t)len)};
    if (!r.commit) return WEIR_NOMEM;
    const struct doc_query query = {
        .kind = weir_slice_of(kind), .after = r.prefix, .limit = SIZE_MAX};
    enum weir_status st = store_doc_list(c->store, &query, remove_one, &r);
    if (r.is_over) st = WEIR_OK;
    if (st == WEIR_OK && r.n > 0) return store_commit_wait(c->store, r.commit).status;
    commit_free(r.commit);
    return st;
}

/* It may be gone already: what was begun is gone on with. */
static enum weir_status remove_doc(struct chats *c, struct doc_key key)
{
    struct commit *commit = commit_new(0);
    if (!commit) return WEIR_NOMEM;
    commit_remove(commit, key, DOC_ANY_VERSION);
    enum weir_status st = store_commit_wait(c->store, commit).status;
    return st == WEIR_NOT_FOUND ? WEIR_OK : st;
}

static enum weir_status drop_log(struct chats *c, struct weir_slice message)
{
    char log[CHAT_LOG_BYTES];
    struct commit *commit = commit_new(0);
    if (!commit) return WEIR_NOMEM;
    commit_drop(commit, chat_log(log, message));
    enum weir_status st = store_commit_wait(c->store, commit).status;
    return st == WEIR_NOT_FOUND ? WEIR_OK : st;
}

/* ---- replies ---- */

/* The questions that it asked. */
static enum weir_status remove_decisions(struct chats *c, struct weir_slice message)
{
    struct transcript t;
    char id[DECISION_ID_BYTES];
    transcript_init(&t);
    enum weir_status st = transcript_load(&t, c->store, message);
    if (st == WEIR_OK && transcript_decision(&t, id))
        st = remove_doc(c, decision_key(weir_slice_of(id)));
    transcript_fini(&t);
    return st;
}

static enum weir_status remove_reply(struct chats *c, struct weir_slice message)
{
    static const char *const kinds[] = {"step", "turn_call", "turn_request"};
    enum weir_status st = remove_decisions(c, message);
    for (size_t i = 0; st == WEIR_OK && i < sizeof kinds / sizeof *kinds; i++)
        st = remove_all(c, kinds[i], message);
    if (st == WEIR_OK) st = drop_log(c, message);
    if (st == WEIR_OK) st = remove_doc(c, (struct doc_key){SLICE("run-input"), message});
    return st == WEIR_OK ? remove_doc(c, reply_key(message)) : st;
}

struct reply_list {
    struct weir_slice prefix;
    struct weir_buf ids; /* of messages, one behind the other */
    bool is_over;
};

static enum weir_status list_reply(void *user, const struct doc *doc)
{
    struct reply_list *l = user;
    if (doc->id.len < l->prefix.len || memcmp(doc->id.ptr, l->prefix.ptr, l->prefix.len) != 0) {
        l->is_over = true;
        return WEIR_LIMIT;
    }
    struct weir_slice id = slice_from(doc->id, l->prefix.len);
    if (id.len == CHAT_MESSAGE_LEN) weir_buf_append_slice(&l->ids, id);
    return weir_buf_status(&l->ids);
}

static enum weir_status remove_replies(struct chats *c, struct weir_slice id)
{
    char prefix[PREFIX_BYTES];
    int len = snprintf(prefix, sizeof prefix, "%.*s/", (int)id.len, id.ptr);
    struct reply_list l = {.prefix = slice_of(prefix, (size_t)len)};
    const struct doc_query query = {
        .kind = SLICE("conversation_reply"), .after = l.prefix, .limit = SIZE_MAX};
    weir_buf_init(&l.ids, CHAT_BODY_BYTES);
    enum weir_status st = store_doc_list(c->store, &query, list_reply, &l);
    if (l.is_over) st = WEIR_OK;
    for (size_t at = 0; st == WEIR_OK && at < l.ids.len; at += CHAT_MESSAGE_LEN)
        st = remove_reply(c, slice_of(l.ids.ptr + at, CHAT_MESSAGE_LEN));
    weir_buf_fini(&l.ids);
    return st == WEIR_OK ? remove_all(c, "conversation_reply", id) : st;
}

/* ---- a conversation ---- */

/* What is marked, and has no reply under way. */
static enum weir_status remove_marked(struct chats *c, const struct conversation *v)
{
    char made[MADE_ID_BYTES];
    enum weir_status st = remove_doc(c, map_key(v->id));
    replies_forget_values(c, v->id);
    if (st == WEIR_OK) st = remove_replies(c, v->id);
    if (st == WEIR_OK) st = remove_all(c, "chat_message", v->id);
    if (st == WEIR_OK) st = remove_doc(c, choice_key(v->id));
    if (st == WEIR_OK) st = remove_doc(c, made_key(made, v));
    if (st == WEIR_OK) st = remove_doc(c, conversation_key(v->id));
    return st == WEIR_OK ? remove_doc(c, deleted_key(v->id)) : st;
}

enum weir_status chats_finish_deletion(struct chats *c, struct weir_slice id)
{
    struct chat_doc doc;
    struct conversation v = {0};
    enum weir_status st = chat_doc_get(c->store, conversation_key(id), &doc);
    if (st == WEIR_OK && !conversation_read(doc.json, doc.doc.id, &v)) st = WEIR_CORRUPT;
    if (st == WEIR_OK && v.is_deleted && v.running.len == 0) st = remove_marked(c, &v);
    if (st == WEIR_NOT_FOUND) st = remove_doc(c, deleted_key(id));
    chat_doc_fini(&doc);
    return st;
}

static enum weir_status finish_one(void *user, const struct doc *doc)
{
    struct weir_buf *ids = user;
    weir_buf_append_slice(ids, doc->id);
    weir_buf_append_char(ids, '\n');
    return weir_buf_status(ids);
}

enum weir_status chats_finish_deletions(struct chats *c)
{
    struct weir_buf ids;
    const struct doc_query query = {.kind = SLICE("chat_deleted"), .limit = SIZE_MAX};
    weir_buf_init(&ids, CHAT_SHOWN_BYTES);
    enum weir_status st = store_doc_list(c->store, &query, finish_one, &ids);
    struct weir_slice rest = weir_buf_slice(&ids);
    while (st == WEIR_OK && rest.len > 0) {
        size_t len = (size_t)((const char *)memchr(rest.ptr, '\n', rest.len) - rest.ptr);
        st = chats_finish_deletion(c, slice_of(rest.ptr, len));
        rest = slice_from(rest, len + 1);
    }
    weir_buf_fini(&ids);
    return st;
}

static void delete_at(struct chats *c, int64_t in_ms)
{
    pthread_mutex_lock(&c->lock);
    c->deletions_at = clock_wall_ms(c->options.clock) + in_ms;
    pthread_cond_signal(&c->due);
    pthread_mutex_unlock(&c->lock);
}

void chats_delete_soon(struct chats *c)
{
    delete_at(c, 0);
}

void chats_delete_later(struct chats *c, enum weir_status why)
{
    TRACE(c->options.trace, TRACE_WARN, "chat", "a deletion waits for another try",
          trace_str("why", weir_slice_of(weir_status_text(why))));
    delete_at(c, AGAIN_MS);
}

/* ---- wishes ---- */

/* A conversation as it is when the commit's turn comes, and how it is to be. */
struct change {
    struct weir_slice id, owner;
    bool is_deletion;
    char running[CHAT_MESSAGE_LEN + 1]; /* the reply that was under way; empty: none */
};

static enum weir_status apply(struct change *ch, struct conversation *v, int64_t version,
                              struct commit *c)
{
    struct weir_buf body;
    if (v->is_deleted) return WEIR_NOT_FOUND;
    if (!ch->is_deletion && v->running.len > 0) return WEIR_CONFLICT;
    if (v->running.len == CHAT_MESSAGE_LEN) memcpy(ch->running, v->running.ptr, CHAT_MESSAGE_LEN);
    v->is_deleted = ch->is_deletion;
    v->is_closed = true;
    weir_buf_init(&body, BODY_BYTES);
    conversation_put(&body, v);
    enum weir_status st = weir_buf_status(&body);
    if (st == WEIR_OK)
        commit_put(c, conversation_key(ch->id), version, ch->owner, weir_buf_slice(&body));
    if (st == WEIR_OK && ch->is_deletion)
        commit_put(c, deleted_key(ch->id), DOC_ANY_VERSION, ch->owner, SLICE("{}"));
    weir_buf_fini(&body);
    return st;
}

static enum weir_status decide_change(void *user, struct commit_view *view, struct commit *c)
{
    struct change *ch = user;
    struct doc doc;
    struct conversation v;
    const struct weir_json *json;
    ch->running[0] = 0;
    enum weir_status st = commit_view_doc(view, conversation_key(ch->id), &doc);
    if (st != WEIR_OK) return st;
    if (!slice_eq(doc.owner, ch->owner)) return WEIR_NOT_FOUND;
    struct weir_json_doc *memory = weir_json_doc_new(0);
    if (!memory) return WEIR_NOMEM;
    st = weir_json_parse(memory, doc.body, &json, NULL);
    if (st != WEIR_OK || !conversation_read(json, ch->id, &v)) st = WEIR_CORRUPT;
    if (st == WEIR_OK) st = apply(ch, &v, doc.version, c);
    weir_json_doc_free(memory);
    return st;
}

static enum weir_status change(struct chats *c, struct change *ch)
{
    if (!chat_is_conversation(ch->id)) return WEIR_NOT_FOUND;
    struct commit *commit = commit_new(0);
    if (!commit) return WEIR_NOMEM;
    commit_decide(commit, false, decide_change, ch);
    return store_commit_wait(c->store, commit).status;
}

static void on_cancelled(void *user, const struct commit_result *result)
{
    (void)user;
    (void)result;
}

enum weir_status chats_cancel_reply(struct chats *c, struct weir_slice owner, struct weir_slice id)
{
    struct chat_doc doc;
    struct conversation v;
    enum weir_status st = conversation_find(c, owner, id, &doc, &v);
    if (st == WEIR_OK && v.running.len > 0) chats_cancel(c, v.running, on_cancelled, NULL);
    chat_doc_fini(&doc);
    return st;
}

enum weir_status chats_delete(struct chats *c, struct weir_slice owner, struct weir_slice id)
{
    struct change ch = {.id = id, .owner = owner, .is_deletion = true};
    enum weir_status st = change(c, &ch);
    if (st != WEIR_OK) return st;
    if (!ch.running[0]) return chats_finish_deletion(c, id);
    chats_cancel(c, weir_slice_of(ch.running), on_cancelled, NULL);
    return WEIR_OK;
}

enum weir_status chats_delete_map(struct chats *c, struct weir_slice owner, struct weir_slice id)
{
    struct change ch = {.id = id, .owner = owner};
    enum weir_status st = change(c, &ch);
    if (st == WEIR_OK) st = remove_doc(c, map_key(id));
    replies_forget_values(c, id);
    return st;
}
