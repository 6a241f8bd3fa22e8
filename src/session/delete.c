/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deleting sessions. First it is marked, in one commit, and nobody sees it any more; then what it
 * consists of goes, the session itself last, so that a crash in between is gone on with at the next
 * start, or by another node; what cannot be removed now is tried again. A turn that is under way is
 * cancelled, and the rest goes when that has ended: it would write to a log that is not there any
 * more. Readers are told by the end of their stream.
 *
 * "session_deleted" SES is there from the mark to the last. So it is for a fork that is on its way:
 * see fork.c. Where others may be making it, it is left alone for as long as that can take.
 */
#include <stdio.h>

#include "base/check.h"
#include "base/slice.h"
#include "io/folder.h"
#include "session/session_impl.h"

enum {
    BATCH = 500, /* documents of a commit */
    PREFIX_BYTES = 128,
    LIST_BYTES = 64 << 20,
    AGAIN_MS = 60 * 1000,     /* before what could not be removed is tried again */
    FORK_MS = 60 * 60 * 1000, /* no fork takes so long, by a clock that may be another's */
};

struct doc_key session_deleted_key(struct weir_slice id)
{
    return (struct doc_key){SLICE("session_deleted"), id};
}

/* ---- taking away ---- */

/* Some of the documents whose ids begin so, in one commit. */
struct removal {
    struct commit *commit;
    struct weir_slice prefix;
    unsigned n;
};

static bool begins_with(struct weir_slice text, struct weir_slice prefix)
{
    return text.len >= prefix.len && memcmp(text.ptr, prefix.ptr, prefix.len) == 0;
}

static enum weir_status remove_one(void *user, const struct doc *doc)
{
    struct removal *r = user;
    if (!begins_with(doc->id, r->prefix)) return WEIR_EXISTS;
    commit_remove(r->commit, (struct doc_key){doc->kind, doc->id}, DOC_ANY_VERSION);
    r->n++;
    return WEIR_OK;
}

static enum weir_status remove_batch(struct sessions *s, const char *kind, struct weir_slice prefix,
                                     unsigned *n)
{
    struct removal r = {.commit = commit_new(0), .prefix = prefix};
    const struct doc_query query = {.kind = weir_slice_of(kind), .after = prefix, .limit = BATCH};
    if (!r.commit) return WEIR_NOMEM;
    enum weir_status st = store_doc_list(s->store, &query, remove_one, &r);
    *n = r.n;
    if ((st == WEIR_OK || st == WEIR_EXISTS) && r.n > 0)
        return store_commit_wait(s->store, r.commit).status;
    commit_free(r.commit);
    return st == WEIR_EXISTS ? WEIR_OK : st;
}

/* Ids that begin with both of these. */
static enum weir_status remove_all(struct sessions *s, const char *kind, const char *head,
                                   struct weir_slice id)
{
    char prefix[PREFIX_BYTES];
    unsigned n = BATCH;
    enum weir_status st = WEIR_OK;
    int len =
        snprintf(prefix, sizeof prefix, "%s%.*s%s", head, (int)id.len, id.ptr, head[0] ? "_" : "/");
    CHECK(len > 0 && (size_t)len < sizeof prefix);
    while (st == WEIR_OK && n == BATCH)
        st = remove_batch(s, kind, slice_of(prefix, (size_t)len), &n);
    return st;
}

/* It may be gone already: what was begun is gone on with. */
static enum weir_status remove_doc(struct sessions *s, struct doc_key key)
{
    struct commit *commit = commit_new(0);
    if (!commit) return WEIR_NOMEM;
    commit_remove(commit, key, DOC_ANY_VERSION);
    enum weir_status st = store_commit_wait(s->store, commit).status;
    return st == WEIR_NOT_FOUND ? WEIR_OK : st;
}

static enum weir_status drop_log(struct sessions *s, struct weir_slice id)
{
    char log[SESSION_LOG_BYTES];
    struct commit *commit = commit_new(0);
    if (!commit) return WEIR_NOMEM;
    commit_drop(commit, session_log(log, id));
    enum weir_status st = store_commit_wait(s->store, commit).status;
    return st == WEIR_NOT_FOUND ? WEIR_OK : st;
}

/* ---- turns ---- */

static enum weir_status remove_turn(struct sessions *s, struct weir_slice turn)
{
    static const char *const parts[] = {"step", "turn_call", "turn_request", "session_steer",
                                        "session_tool"};
    static const struct {
        const char *kind, *head;
    } questions[] = {{"approval", "ap_"},
                     {"clarify", "clr_"},
                     {"session_pending", "ap_"},
                     {"session_pending", "clr_"}};
    static const char *const alone[] = {"run-input", "shield_map", "session_turn"};
    struct weir_slice ulid = slice_from(turn, SESSION_TURN_LEN - ULID_TEXT_LEN);
    enum weir_status st = WEIR_OK;
    for (size_t i = 0; st == WEIR_OK && i < sizeof parts / sizeof *parts; i++)
        st = remove_all(s, parts[i], "", turn);
    for (size_t i = 0; st == WEIR_OK && i < sizeof questions / sizeof *questions; i++)
        st = remove_all(s, questions[i].kind, questions[i].head, ulid);
    for (size_t i = 0; st == WEIR_OK && i < sizeof alone / sizeof *alone; i++)
        st = remove_doc(s, (struct doc_key){weir_slice_of(alone[i]), turn});
    return st;
}

struct turn_list {
    struct weir_slice prefix;
    struct weir_buf ids; /* of turns, one behind the other */
};

static enum weir_status list_turn(void *user, const struct doc *doc)
{
    struct turn_list *l = user;
    if (!begins_with(doc->id, l->prefix)) return WEIR_EXISTS;
    struct weir_slice id = slice_from(doc->id, l->prefix.len);
    if (id.len == SESSION_TURN_LEN) weir_buf_append_slice(&l->ids, id);
    return weir_buf_status(&l->ids);
}

static enum weir_status remove_turns(struct sessions *s, struct weir_slice id)
{
    char prefix[PREFIX_BYTES];
    int len = snprintf(prefix, sizeof prefix, "%.*s/", (int)id.len, id.ptr);
    struct turn_list l = {.prefix = slice_of(prefix, (size_t)len)};
    const struct doc_query query = {
        .kind = SLICE("session_has"), .after = l.prefix, .limit = SIZE_MAX};
    weir_buf_init(&l.ids, LIST_BYTES);
    enum weir_status st = store_doc_list(s->store, &query, list_turn, &l);
    if (st == WEIR_EXISTS) st = WEIR_OK;
    for (size_t at = 0; st == WEIR_OK && at < l.ids.len; at += SESSION_TURN_LEN)
        st = remove_turn(s, slice_of(l.ids.ptr + at, SESSION_TURN_LEN));
    weir_buf_fini(&l.ids);
    return st == WEIR_OK ? remove_all(s, "session_has", "", id) : st;
}

/* ---- a session ---- */

static enum weir_status remove_folder(struct sessions *s, struct weir_slice id)
{
    char name[SESSION_LEN + 1];
    if (!s->options.folder) return WEIR_OK;
    snprintf(name, sizeof name, "%.*s", (int)id.len, id.ptr);
    return folder_remove(s->options.folder, name);
}

static enum weir_status remove_marked(struct sessions *s, struct weir_slice owner,
                                      struct weir_slice id)
{
    enum weir_status st = jobs_forget_session(s, owner, id);
    if (st == WEIR_OK) st = drop_log(s, id);
    if (st == WEIR_OK) st = remove_turns(s, id);
    if (st == WEIR_OK) st = remove_all(s, "session_message", "", id);
    if (st == WEIR_OK) st = remove_all(s, "session_scope", "", id);
    if (st == WEIR_OK) st = remove_doc(s, (struct doc_key){SLICE("shield_map"), id});
    if (st == WEIR_OK) st = remove_folder(s, id);
    if (st == WEIR_OK) st = remove_doc(s, session_key(id));
    return st == WEIR_OK ? remove_doc(s, session_deleted_key(id)) : st;
}

/* By its name: it may be on its way. */
static bool is_young(struct sessions *s, struct weir_slice id)
{
    struct ulid ulid;
    enum weir_status st = ulid_parse(slice_from(id, SESSION_LEN - ULID_TEXT_LEN), &ulid);
    return st == WEIR_OK && (int64_t)ulid_ms(ulid) + FORK_MS > sessions_now(s);
}

/*
 * Whose turn is under way has to wait for its end. A fork may be on its way unless `on_its_way` is
 * NULL, for whoever asks is the one that makes it: it is left alone, and that is told.
 */
static enum weir_status finish(struct sessions *s, struct weir_slice id, bool *on_its_way)
{
    struct session_doc mark, doc = {0};
    struct session v = {.is_deleted = true};
    enum weir_status st = session_doc_get(s->store, session_deleted_key(id), &mark);
    if (st == WEIR_OK) st = session_doc_get(s->store, session_key(id), &doc);
    if (st == WEIR_OK && !session_read(doc.json, doc.doc.id, &v)) st = WEIR_CORRUPT;
    bool is_unmade = mark.json && st == WEIR_NOT_FOUND;
    bool is_over = st == WEIR_OK && v.is_deleted && v.running.len == 0;
    if (is_unmade && on_its_way && is_young(s, id)) *on_its_way = true;
    else if (is_unmade || is_over) st = remove_marked(s, mark.doc.owner, id);
    session_doc_fini(&doc);
    session_doc_fini(&mark);
    return st == WEIR_NOT_FOUND ? WEIR_OK : st;
}

static void say_later(struct sessions *s, struct weir_slice id, enum weir_status why)
{
    TRACE(s->options.trace, TRACE_WARN, "session", "is deleted later", trace_str("session", id),
          trace_str("why", weir_slice_of(weir_status_text(why))));
}

void session_finish_deletion(struct sessions *s, struct weir_slice id)
{
    enum weir_status st = finish(s, id, NULL);
    if (st == WEIR_OK) return;
    say_later(s, id, st);
    due_set(s, &s->deletions, sessions_now(s) + AGAIN_MS);
}

static enum weir_status list_deleted(void *user, const struct doc *doc)
{
    struct weir_buf *ids = user;
    if (session_is_id(doc->id)) weir_buf_append_slice(ids, doc->id);
    return weir_buf_status(ids);
}

/* What cannot be removed now is no reason not to start. */
enum weir_status sessions_finish_deletions(struct sessions *s)
{
    struct weir_buf ids;
    bool may_be_made = flow_is_shared(s->flow) || atomic_load(&s->has_started);
    int64_t again_ms = INT64_MAX;
    const struct doc_query query = {.kind = SLICE("session_deleted"), .limit = SIZE_MAX};
    weir_buf_init(&ids, LIST_BYTES);
    enum weir_status st = store_doc_list(s->store, &query, list_deleted, &ids);
    for (size_t at = 0; st == WEIR_OK && at < ids.len; at += SESSION_LEN) {
        struct weir_slice id = slice_of(ids.ptr + at, SESSION_LEN);
        bool on_its_way = false;
        enum weir_status one = finish(s, id, may_be_made ? &on_its_way : NULL);
        if (one != WEIR_OK) say_later(s, id, one);
        if (one != WEIR_OK) again_ms = AGAIN_MS;
        else if (on_its_way && again_ms > FORK_MS) again_ms = FORK_MS;
    }
    weir_buf_fini(&ids);
    if (again_ms < INT64_MAX) due_set(s, &s->deletions, sessions_now(s) + again_ms);
    return st;
}

static void delete_all(struct sessions *s, struct weir_slice nobody)
{
    (void)nobody;
    if (sessions_finish_deletions(s) != WEIR_OK)
        due_set(s, &s->deletions, sessions_now(s) + AGAIN_MS);
}

void session_delete_again(struct sessions *s, struct due *d)
{
    bool may = atomic_load(&s->has_started);
    if (!may || !sessions_later(s, delete_all, SLICE("")))
        due_set(s, d, sessions_now(s) + AGAIN_MS);
}

/* ---- sessions/delete ---- */

struct deletion {
    struct weir_slice id;
    char known[SESSION_TURN_LEN + 1]; /* that ran when it was looked at first; empty: none */
    struct open_questions questions;  /* of it */
    char turn[SESSION_TURN_LEN + 1];  /* as it was decided: that runs */
    bool is_cancelled;
};

enum weir_status session_delete_check(struct session_call *c)
{
    struct deletion *d = arena_alloc(&c->arena, sizeof *d);
    if (!d) return WEIR_NOMEM;
    *d = (struct deletion){0};
    c->data = d;
    return call_session_id(c, &d->id);
}

enum weir_status session_delete_prepare(struct session_call *c)
{
    struct deletion *d = c->data;
    struct session_doc doc;
    struct session v;
    struct weir_slice owner = weir_slice_of(c->owner);
    enum weir_status st = session_find(c->sessions->store, owner, d->id, &doc, &v);
    if (st == WEIR_OK && v.running.len > 0) {
        snprintf(d->known, sizeof d->known, "%.*s", (int)v.running.len, v.running.ptr);
        st = questions_open(c->sessions, owner, weir_slice_of(d->known), &c->arena, &d->questions);
    }
    session_doc_fini(&doc);
    return st;
}

/* Questions of a turn that began meanwhile are closed by its end. */
static enum weir_status stop_turn(struct session_call *c, const struct session *v,
                                  struct commit_view *view, struct commit *commit)
{
    struct deletion *d = c->data;
    bool is_known = weir_slice_is(v->running, d->known);
    snprintf(d->turn, sizeof d->turn, "%.*s", (int)v->running.len, v->running.ptr);
    enum weir_status st = flow_is_wanted(view, v->running);
    d->is_cancelled = st == WEIR_OK;
    if (st == WEIR_NOT_FOUND || st == WEIR_CANCELLED) return WEIR_OK;
    if (st == WEIR_OK && is_known)
        st = questions_close_decide(c->sessions, &d->questions, "abort", view, commit);
    return st == WEIR_OK ? flow_add_cancel(view, commit, v->running) : st;
}

enum weir_status session_delete_decide(struct session_call *c, struct commit_view *view,
                                       struct commit *commit)
{
    struct deletion *d = c->data;
    struct session_doc doc;
    struct session v;
    enum weir_status st = session_find_view(view, weir_slice_of(c->owner), d->id, &doc, &v);
    d->is_cancelled = false;
    if (st == WEIR_OK) {
        commit_put(commit, session_deleted_key(d->id), DOC_ANY_VERSION, weir_slice_of(c->owner),
                   SLICE("{}"));
        if (v.running.len > 0) st = stop_turn(c, &v, view, commit);
        else d->turn[0] = 0;
        v.is_deleted = true;
        v.n_queue = 0;
    }
    if (st == WEIR_OK) st = session_keep(commit, &doc, &v);
    session_doc_fini(&doc);
    return st;
}

void session_delete_committed(struct session_call *c, enum weir_status st)
{
    const struct deletion *d = c->data;
    struct sessions *s = c->sessions;
    if (st != WEIR_OK) return;
    if (d->is_cancelled) {
        flow_cancelled(s->flow, weir_slice_of(d->turn));
        turn_wake(s, weir_slice_of(d->turn));
    }
    if (!d->turn[0] && !sessions_later(s, session_finish_deletion, d->id)) {
        say_later(s, d->id, WEIR_NOMEM);
        due_set(s, &s->deletions, sessions_now(s) + AGAIN_MS);
    }
}
