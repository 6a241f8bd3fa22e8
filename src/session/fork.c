/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sessions/fork: another session that begins with what was said in this one, as it is committed by
 * then. Messages are copied under turns of its own; events, scopes and what waits are not. A
 * conversation may be larger than a commit: messages go first, under the mark of a deletion, and
 * the commit that makes the session takes the mark away. Whatever ends it before is cleaned up.
 */
#include <stdio.h>

#include "base/check.h"
#include "base/slice.h"
#include "session/session_impl.h"

enum {
    KEY_LEN = SESSION_TURN_LEN + 3, /* "trn_…/NN" */
    KEYS_BYTES = 64 << 20,          /* of all messages of a session */
    BATCH_BYTES = 1 << 20,          /* of the messages in a commit */
};

struct fork {
    struct weir_slice parent;
    char id[SESSION_LEN + 1];
    struct weir_buf keys; /* of the messages, one behind the other */
    bool has_begun, is_made;
    char newest[SESSION_TURN_LEN + 1]; /* turn of the last message; empty: there is none */
    struct weir_buf shown;             /* the new session */
};

enum weir_status session_fork_check(struct session_call *c)
{
    struct fork *f = arena_alloc(&c->arena, sizeof *f);
    if (!f) return WEIR_NOMEM;
    *f = (struct fork){0};
    weir_buf_init(&f->keys, KEYS_BYTES);
    weir_buf_init(&f->shown, SESSION_DOC_BYTES);
    c->data = f;
    return call_session_id(c, &f->parent);
}

/* ---- messages ---- */

static enum weir_status note_key(void *user, struct weir_slice turn, unsigned n,
                                 const struct weir_json *message)
{
    struct weir_buf *keys = user;
    (void)message;
    weir_buf_printf(keys, "%.*s/%02u", (int)turn.len, turn.ptr, n);
    return weir_buf_status(keys);
}

/* Where the copying is. */
struct copying {
    struct sessions *sessions;
    struct fork *fork;
    struct weir_slice owner;
    struct weir_slice from; /* turn of the last message; empty: none yet */
    struct commit *commit;
    size_t n_bytes; /* in it */
};

static enum weir_status flush(struct copying *c)
{
    struct commit *commit = c->commit;
    c->commit = NULL;
    c->n_bytes = 0;
    return commit ? store_commit_wait(c->sessions->store, commit).status : WEIR_OK;
}

static enum weir_status copy_message(struct copying *c, struct weir_slice key)
{
    char old_id[SESSION_MESSAGE_BYTES], new_id[SESSION_MESSAGE_BYTES];
    struct doc doc;
    enum weir_status st = WEIR_OK;
    struct weir_slice turn = slice_of(key.ptr, SESSION_TURN_LEN);
    const char *digits = key.ptr + SESSION_TURN_LEN + 1;
    unsigned n = 10 * (unsigned)(digits[0] - '0') + (unsigned)(digits[1] - '0');
    if (!slice_eq(turn, c->from)) st = sessions_next_id(c->sessions, "trn_", c->fork->newest);
    c->from = turn;
    if (st == WEIR_OK && !c->commit && !(c->commit = commit_new(0))) st = WEIR_NOMEM;
    if (st == WEIR_OK)
        st = store_doc_get(c->sessions->store,
                           session_message_key(old_id, c->fork->parent, turn, n), &doc);
    if (st != WEIR_OK) return st;
    commit_put(
        c->commit,
        session_message_key(new_id, weir_slice_of(c->fork->id), weir_slice_of(c->fork->newest), n),
        DOC_MUST_BE_NEW, c->owner, doc.body);
    c->n_bytes += doc.body.len;
    doc_fini(&doc);
    return c->n_bytes >= BATCH_BYTES ? flush(c) : WEIR_OK;
}

static enum weir_status begin(struct copying *c)
{
    struct commit *commit = commit_new(0);
    if (!commit) return WEIR_NOMEM;
    commit_put(commit, session_deleted_key(weir_slice_of(c->fork->id)), DOC_MUST_BE_NEW, c->owner,
               SLICE("{}"));
    c->fork->has_begun = true;
    return store_commit_wait(c->sessions->store, commit).status;
}

static enum weir_status copy_messages(struct copying *c)
{
    const struct weir_buf *keys = &c->fork->keys;
    enum weir_status st = begin(c);
    for (size_t at = 0; st == WEIR_OK && at < keys->len; at += KEY_LEN)
        st = copy_message(c, slice_of(keys->ptr + at, KEY_LEN));
    if (st == WEIR_OK) return flush(c);
    commit_free(c->commit);
    return st;
}

enum weir_status session_fork_prepare(struct session_call *c)
{
    struct fork *f = c->data;
    struct session_doc doc;
    struct session v;
    struct sessions *s = c->sessions;
    struct copying copying = {.sessions = s, .fork = f, .owner = weir_slice_of(c->owner)};
    enum weir_status st = session_find(s->store, weir_slice_of(c->owner), f->parent, &doc, &v);
    session_doc_fini(&doc);
    if (st == WEIR_OK) st = sessions_next_id(s, "ses_", f->id);
    if (st == WEIR_OK) st = session_messages_each(s->store, f->parent, note_key, &f->keys);
    if (st == WEIR_OK) st = copy_messages(&copying);
    /* A message that is gone: the session is being deleted. */
    return st;
}

/* ---- the session ---- */

enum weir_status session_fork_decide(struct session_call *c, struct commit_view *view,
                                     struct commit *commit)
{
    struct fork *f = c->data;
    struct session_doc doc;
    struct session v;
    bool has_changed;
    struct weir_slice id = weir_slice_of(f->id);
    weir_buf_reset(&f->shown);
    enum weir_status st = session_find_view(view, weir_slice_of(c->owner), f->parent, &doc, &v);
    if (st == WEIR_OK) {
        struct session copy = {.id = id,
                               .title = v.title,
                               .parent = f->parent,
                               .provider = v.provider,
                               .model = v.model,
                               .is_untitled = v.is_untitled,
                               .newest = weir_slice_of(f->newest),
                               .created_ms = c->now_ms,
                               .updated_ms = c->now_ms,
                               .oldest = 1,
                               .marks = {{.at_ms = c->now_ms}},
                               .n_marks = 1};
        const struct session_doc made = {.doc = {.owner = weir_slice_of(c->owner)}};
        st = mesh_look(c->sessions, &copy, commit, &has_changed);
        if (st == WEIR_OK) st = session_keep(commit, &made, &copy);
        if (st == WEIR_OK) commit_remove(commit, session_deleted_key(id), DOC_ANY_VERSION);
        session_show(&f->shown, &copy);
    }
    session_doc_fini(&doc);
    return st == WEIR_OK ? weir_buf_status(&f->shown) : st;
}

void session_fork_committed(struct session_call *c, enum weir_status st)
{
    struct fork *f = c->data;
    f->is_made = st == WEIR_OK;
}

void session_fork_put(struct session_call *c, struct weir_buf *out)
{
    const struct fork *f = c->data;
    weir_buf_append_str(out, "{\"session\":");
    weir_buf_append_slice(out, weir_buf_slice(&f->shown));
    weir_buf_append_char(out, '}');
}

void session_fork_fini(struct session_call *c)
{
    struct fork *f = c->data;
    if (!f) return;
    /* Without memory it goes at the next start, or with other deletions that wait. */
    if (f->has_begun && !f->is_made)
        (void)sessions_later(c->sessions, session_finish_deletion, weir_slice_of(f->id));
    weir_buf_fini(&f->keys);
    weir_buf_fini(&f->shown);
}
