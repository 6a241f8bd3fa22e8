/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is kept of a log: the last `keep_events` at least, and those younger than `keep_ms`. An
 * event has no time of its own, so the document of the session has marks, (moment, newest event at
 * that moment), a few over the time: whatever is not newer than a mark of long ago is old. Where
 * readers may begin is decided in a commit, and the store is told to trim after that; told again,
 * after a crash, does no harm. While a turn runs, nothing goes: it has to find what it has shown.
 */
#include "base/mem.h"
#include "base/slice.h"
#include "session/session_impl.h"

enum { LOOK_AGAIN_MS = 1000 }; /* when the store could not write */

/* So that when another one is due, all but the last that are old have made room. */
static int64_t mark_gap(const struct sessions *s)
{
    return s->options.keep_ms / (SESSION_MARKS - 1) + 1;
}

/* Of those that are old enough the newest is enough. */
static void drop_marks(struct session *v, int64_t old_ms)
{
    unsigned n = 0;
    while (n + 1 < v->n_marks && v->marks[n + 1].at_ms <= old_ms) n++;
    v->n_marks -= n;
    memmove(v->marks, v->marks + n, v->n_marks * sizeof *v->marks);
}

static bool must_mark(const struct sessions *s, const struct session *v, int64_t now_ms)
{
    if (v->n_marks == 0) return true;
    return v->n_marks < SESSION_MARKS && now_ms - v->marks[v->n_marks - 1].at_ms >= mark_gap(s);
}

/* The first event that is kept by the first mark. */
static uint64_t oldest_kept(const struct sessions *s, const struct session *v, int64_t old_ms,
                            uint64_t last)
{
    uint64_t keep = s->options.keep_events;
    if (v->n_marks == 0 || v->marks[0].at_ms > old_ms || last <= keep) return 1;
    uint64_t by_time = v->marks[0].last + 1, by_number = last - keep + 1;
    return by_time < by_number ? by_time : by_number;
}

enum weir_status retain_look(struct sessions *s, struct commit_view *view, struct session *v,
                             bool *has_changed)
{
    char name[SESSION_LOG_BYTES];
    struct log_state log;
    int64_t now_ms = sessions_now(s), old_ms = now_ms - s->options.keep_ms;
    enum weir_status st = commit_view_log(view, session_log(name, v->id), &log);
    if (st != WEIR_OK) return st;
    drop_marks(v, old_ms);
    if (must_mark(s, v, now_ms)) {
        v->marks[v->n_marks].at_ms = now_ms;
        v->marks[v->n_marks++].last = log.last;
        *has_changed = true;
    }
    uint64_t oldest = oldest_kept(s, v, old_ms, log.last);
    if (oldest > v->oldest && v->running.len == 0) {
        v->oldest = oldest;
        *has_changed = true;
    }
    return WEIR_OK;
}

void retain_trim(struct sessions *s, struct weir_slice session, uint64_t oldest)
{
    char name[SESSION_LOG_BYTES];
    /* Without memory it is told at the next occasion. */
    if (store_trim(s->store, session_log(name, session), oldest) == WEIR_OK)
        sessions_count(s, offsetof(struct sessions_stats, n_trimmed));
}

/* ---- readers ---- */

/* A look at a session because somebody reads it. */
struct attaching {
    struct sessions *sessions;
    char id[SESSION_LEN + 1];
    uint64_t oldest; /* as it was decided */
};

static enum weir_status decide_attach(void *user, struct commit_view *view, struct commit *c)
{
    struct attaching *a = user;
    struct session_doc doc;
    struct session v;
    bool has_changed = false;
    enum weir_status st = session_find_view(view, SLICE(""), weir_slice_of(a->id), &doc, &v);
    if (st == WEIR_OK) st = mesh_look(a->sessions, &v, c, &has_changed);
    if (st == WEIR_OK) st = retain_look(a->sessions, view, &v, &has_changed);
    if (st == WEIR_OK && has_changed) st = session_keep(c, &doc, &v);
    if (st == WEIR_OK) a->oldest = v.oldest;
    session_doc_fini(&doc);
    return st;
}

static void on_looked(void *user, enum weir_status st)
{
    struct attaching *a = user;
    if (st == WEIR_OK && a->oldest > 1) retain_trim(a->sessions, weir_slice_of(a->id), a->oldest);
    if (weir_status_is_retryable(st)) mesh_changed(a->sessions, LOOK_AGAIN_MS);
    mem_free(a);
}

void retain_look_later(struct sessions *s, struct weir_slice id)
{
    struct attaching *a = mem_zalloc(sizeof *a);
    if (!a) return;
    a->sessions = s;
    memcpy(a->id, id.ptr, id.len);
    const struct own_commit o = {.decide = decide_attach, .then = on_looked, .user = a};
    if (!sessions_commit(s, &o)) mem_free(a);
}

/* Where a reader may begin is another place than before. */
static enum weir_status look_now(struct sessions *s, struct weir_slice id, uint64_t *oldest)
{
    struct attaching a = {.sessions = s};
    struct commit *c = commit_new(0);
    if (!c) return WEIR_NOMEM;
    memcpy(a.id, id.ptr, id.len);
    commit_decide(c, false, decide_attach, &a);
    enum weir_status st = store_commit_wait(s->store, c).status;
    if (st == WEIR_OK) *oldest = a.oldest;
    if (st == WEIR_OK && a.oldest > 1) retain_trim(s, id, a.oldest);
    /* Whoever only reads is not kept from it by a store that cannot write. */
    return weir_status_is_retryable(st) ? WEIR_OK : st;
}

enum weir_status sessions_attach(struct sessions *s, struct weir_slice owner, struct weir_slice id,
                                 struct session_view *out)
{
    char name[SESSION_LOG_BYTES];
    struct session_doc doc;
    struct session v;
    struct log_read read;
    *out = (struct session_view){0};
    enum weir_status st = session_find(s->store, owner, id, &doc, &v);
    if (st == WEIR_OK) {
        out->oldest = v.oldest;
        if (must_mark(s, &v, sessions_now(s))) st = look_now(s, id, &out->oldest);
        else if (!mesh_is_told(s, &v)) retain_look_later(s, id);
    }
    session_doc_fini(&doc);
    if (st != WEIR_OK) return st;
    store_read(s->store, session_log(name, id), 1, 0, &read);
    out->last = read.state.last;
    return read.status;
}
