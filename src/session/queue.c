/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One turn at a time: sending, what is next, steering, aborting. What a session is at is decided
 * inside of commits alone, so two who send at once are told apart by the store.
 *
 *   comes            session idle                  session with a turn
 *   send             the run begins                the message waits; full: WEIR_CONCURRENCY
 *   steer            nothing runs                  a document for the passes of the turn
 *   abort            nothing                       questions are closed, the run is to end
 *   end of the run   –                             it is counted, and the next of the queue begins
 *
 * "session_busy" SES is there while a turn runs, for those who look at the next start.
 */
#include <stdio.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/slice.h"
#include "session/session_impl.h"

enum {
    TURN_DOC_BYTES = 2 * (SESSION_TEXT_BYTES * 6 + 4096), /* each byte may be an escape */
    AGAIN_MS = 1000, /* before a commit that was refused is made again */
    HAS_BYTES = SESSION_LEN + SESSION_TURN_LEN + 2,
};

static struct doc_key busy_key(struct weir_slice session)
{
    return (struct doc_key){SLICE("session_busy"), session};
}

static struct doc_key has_key(char out[HAS_BYTES], struct weir_slice session,
                              struct weir_slice turn)
{
    int len = snprintf(out, HAS_BYTES, "%.*s/%.*s", (int)session.len, session.ptr, (int)turn.len,
                       turn.ptr);
    CHECK(len == HAS_BYTES - 1);
    return (struct doc_key){SLICE("session_has"), slice_of(out, (size_t)len)};
}

/* ---- sending ---- */

static void set_up(struct sessions *s, struct weir_slice owner, struct weir_slice id,
                   struct session_doc *doc, struct session *v)
{
    int64_t now_ms = sessions_now(s);
    *doc = (struct session_doc){.doc = {.owner = owner, .version = DOC_MUST_BE_NEW}};
    *v = (struct session){.id = id,
                          .provider = s->has_model ? SLICE("weir") : SLICE("builtin"),
                          .model = s->has_model ? SLICE("main") : SLICE("builtin"),
                          .created_ms = now_ms,
                          .updated_ms = now_ms,
                          .oldest = 1,
                          .marks = {{.at_ms = now_ms}},
                          .n_marks = 1};
}

enum weir_status session_make(struct sessions *s, struct weir_slice owner, struct weir_slice id,
                              struct weir_slice title, struct commit *c, struct session *out)
{
    struct session_doc doc;
    bool has_changed;
    set_up(s, owner, id, &doc, out);
    out->title = title;
    enum weir_status st = mesh_look(s, out, c, &has_changed);
    return st == WEIR_OK ? session_keep(c, &doc, out) : st;
}

static enum weir_status put_turn(struct commit *c, struct weir_slice owner, struct weir_slice turn,
                                 const struct session_turn *t)
{
    struct weir_buf body;
    weir_buf_init(&body, TURN_DOC_BYTES);
    session_turn_put(&body, t);
    enum weir_status st = weir_buf_status(&body);
    if (st == WEIR_OK)
        commit_put(c, session_turn_key(turn), DOC_ANY_VERSION, owner, weir_buf_slice(&body));
    weir_buf_fini(&body);
    return st;
}

static void put_input(struct weir_buf *out, const struct session_turn *t, uint64_t from)
{
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "session");
    weir_json_put_string(out, t->session);
    weir_json_put_key(out, "text");
    weir_json_put_string(out, t->text);
    weir_json_put_key(out, "job");
    weir_json_put_string(out, t->job);
    weir_json_put_key(out, "client");
    weir_json_put_string(out, t->client);
    weir_json_put_key(out, "from");
    weir_json_put_uint(out, from);
    session_skill_put(out, t->is_skill);
    weir_json_put_end_object(out);
}

/* The next thing that a session does: its turn, with a run in the same commit. */
struct beginning {
    struct sessions *sessions;
    struct commit_view *view;
    struct commit *commit;
    struct weir_slice owner;
};

static enum weir_status add_run(const struct beginning *b, struct weir_slice turn,
                                const struct session_turn *t)
{
    char name[SESSION_LOG_BYTES];
    struct log_state log;
    struct weir_buf input;
    struct flow_new_run run = {.workflow = &b->sessions->workflow,
                               .id = turn,
                               .owner = b->owner,
                               .log = session_log(name, t->session)};
    enum weir_status st = commit_view_log(b->view, run.log, &log);
    if (st != WEIR_OK) return st;
    weir_buf_init(&input, TURN_DOC_BYTES);
    put_input(&input, t, log.last);
    run.input = weir_buf_slice(&input);
    st = weir_buf_status(&input);
    if (st == WEIR_OK) st = flow_add_run(b->commit, &run, sessions_now(b->sessions));
    weir_buf_fini(&input);
    return st;
}

static enum weir_status begin_turn(const struct beginning *b, struct session *v,
                                   struct weir_slice turn, struct session_turn *t)
{
    v->running = turn;
    t->state = SLICE("running");
    commit_put(b->commit, busy_key(v->id), DOC_ANY_VERSION, b->owner, SLICE("{}"));
    enum weir_status st = put_turn(b->commit, b->owner, turn, t);
    return st == WEIR_OK ? add_run(b, turn, t) : st;
}

static enum weir_status queue_turn(const struct beginning *b, struct session *v,
                                   struct weir_slice turn, struct session_turn *t)
{
    if (v->n_queue == SESSION_QUEUE) return WEIR_CONCURRENCY;
    v->queue[v->n_queue++] = turn;
    t->state = SLICE("queued");
    return put_turn(b->commit, b->owner, turn, t);
}

/*
 * Messages are in the order of their turns' ids, and those of a process only grow. An earlier
 * process may have had a clock that was ahead.
 */
static enum weir_status put_behind(struct session *v, char turn[SESSION_TURN_LEN + 1])
{
    enum { PREFIX = SESSION_TURN_LEN - ULID_TEXT_LEN };
    struct ulid id, newest;
    if (v->newest.len > 0) {
        enum weir_status st = ulid_parse(slice_from(v->newest, PREFIX), &newest);
        if (st == WEIR_OK) st = ulid_parse(weir_slice_of(turn + PREFIX), &id);
        CHECK(st == WEIR_OK);
        st = ulid_put_behind(&id, newest);
        if (st != WEIR_OK) return st;
        ulid_format(turn + PREFIX, id);
    }
    v->newest = weir_slice_of(turn);
    return WEIR_OK;
}

static enum weir_status send_into(struct sessions *s, struct sending *m, const struct beginning *b,
                                  struct session *v)
{
    char has[HAS_BYTES];
    bool has_changed;
    struct weir_slice turn = weir_slice_of(m->turn);
    struct session_turn t = {.session = v->id,
                             .text = m->text,
                             .job = m->job,
                             .client = m->client,
                             .is_skill = m->is_skill,
                             .created_ms = sessions_now(s)};
    m->begins = v->running.len == 0;
    v->updated_ms = t.created_ms;
    enum weir_status st = put_behind(v, m->turn);
    if (st == WEIR_OK) st = mesh_look(s, v, b->commit, &has_changed);
    if (st == WEIR_OK && m->begins) st = begin_turn(b, v, turn, &t);
    else if (st == WEIR_OK) st = queue_turn(b, v, turn, &t);
    if (st == WEIR_OK)
        commit_put(b->commit, has_key(has, v->id, turn), DOC_MUST_BE_NEW, b->owner, SLICE("{}"));
    return st;
}

enum weir_status session_send_decide(struct sessions *s, struct sending *m,
                                     struct commit_view *view, struct commit *c)
{
    char title[SESSION_TITLE_BYTES];
    struct session_doc doc;
    struct session v;
    enum weir_status st = WEIR_OK;
    if (m->is_new) set_up(s, m->owner, m->session, &doc, &v);
    else st = session_find_view(view, m->owner, m->session, &doc, &v);
    const struct beginning b = {.sessions = s, .view = view, .commit = c, .owner = m->owner};
    bool is_first = st == WEIR_OK && v.newest.len == 0;
    if (is_first && v.title.len == 0 && !v.is_untitled) v.title = session_title(title, m->text);
    if (st == WEIR_OK) st = send_into(s, m, &b, &v);
    if (st == WEIR_OK) st = session_keep(c, &doc, &v);
    session_doc_fini(&doc);
    return st;
}

/* What could not be done now is done soon: see session_catch_up(). A shared store comes back. */
static void try_again(struct sessions *s, struct weir_slice turn, enum weir_status why)
{
    bool is_over = why == WEIR_SHUTDOWN || (why == WEIR_STORAGE && !store_is_shared(s->store));
    TRACE(s->options.trace, TRACE_WARN, "session",
          is_over ? "waits for the next start" : "waits for another try", trace_str("turn", turn),
          trace_str("why", weir_slice_of(weir_status_text(why))));
    if (!is_over) due_set(s, &s->catch_up, sessions_now(s) + AGAIN_MS);
}

void session_begin(struct sessions *s, struct weir_slice turn)
{
    enum weir_status st = flow_begin(s->flow, turn);
    if (st != WEIR_OK) try_again(s, turn, st);
}

/* ---- what is next ---- */

/* The engine's own commit when a turn has ended. */
struct advance {
    struct sessions *sessions;
    char turn[SESSION_TURN_LEN + 1];
    char spare[SESSION_TURN_LEN + 1]; /* id of the message that is made of what was left */
    /* As it was decided. */
    char session[SESSION_LEN + 1];
    char next[SESSION_TURN_LEN + 1]; /* empty: none */
    bool is_deleted;
    uint64_t oldest; /* event that is kept; 1: all are */
};

/* What was said to a turn, and no pass has taken. */
static enum weir_status read_leftovers(struct commit_view *view, struct weir_slice turn,
                                       struct weir_buf *out)
{
    char id[SESSION_STEER_BYTES];
    enum weir_status st = WEIR_OK;
    for (unsigned n = 1; st == WEIR_OK && n <= SESSION_STEERS; n++) {
        struct session_doc doc;
        st = session_doc_view(view, session_steer_key(id, turn, n), &doc);
        if (st == WEIR_OK && !weir_json_get_str(doc.json, "round")) {
            if (out->len > 0) weir_buf_append_str(out, "\n\n");
            weir_buf_append_slice(out, weir_json_text(weir_json_get_str(doc.json, "text")));
        }
        session_doc_fini(&doc);
    }
    if (st == WEIR_NOT_FOUND) st = WEIR_OK;
    return st == WEIR_OK ? weir_buf_status(out) : st;
}

/* It is the user's word all the same: behind what waits already. */
static enum weir_status send_leftovers(const struct beginning *b, struct advance *a,
                                       struct session *v, bool begins)
{
    char has[HAS_BYTES];
    struct weir_buf text;
    weir_buf_init(&text, 2 * SESSION_TEXT_BYTES);
    enum weir_status st = read_leftovers(b->view, weir_slice_of(a->turn), &text);
    if (st == WEIR_OK && text.len > 0) st = put_behind(v, a->spare);
    if (st == WEIR_OK && text.len > 0) {
        struct weir_slice turn = weir_slice_of(a->spare);
        struct session_turn t = {.session = v->id,
                                 .text = weir_buf_slice(&text),
                                 .created_ms = sessions_now(b->sessions)};
        st = begins ? begin_turn(b, v, turn, &t) : queue_turn(b, v, turn, &t);
        commit_put(b->commit, has_key(has, v->id, turn), DOC_MUST_BE_NEW, b->owner, SLICE("{}"));
    }
    weir_buf_fini(&text);
    return st;
}

static struct weir_slice take_first(struct session *v)
{
    struct weir_slice first = v->queue[0];
    v->n_queue--;
    memmove(v->queue, v->queue + 1, v->n_queue * sizeof *v->queue);
    return first;
}

static enum weir_status begin_queued(const struct beginning *b, struct session *v,
                                     struct weir_slice turn)
{
    struct session_doc doc;
    struct session_turn t;
    enum weir_status st = session_doc_view(b->view, session_turn_key(turn), &doc);
    if (st == WEIR_OK && !session_turn_read(doc.json, &t)) st = WEIR_CORRUPT;
    if (st == WEIR_OK) st = begin_turn(b, v, turn, &t);
    session_doc_fini(&doc);
    return st;
}

/* A message that cannot be read must not be the end of the session. */
static enum weir_status begin_next(const struct beginning *b, struct advance *a, struct session *v,
                                   bool was_aborted)
{
    struct doc busy;
    enum weir_status st = WEIR_NOT_FOUND;
    while (v->n_queue > 0 && (st == WEIR_NOT_FOUND || st == WEIR_CORRUPT))
        st = begin_queued(b, v, take_first(v));
    if (st == WEIR_NOT_FOUND || st == WEIR_CORRUPT) st = WEIR_OK;
    /* Who aborts a turn does not want what was said to it. */
    if (st == WEIR_OK && !was_aborted) st = send_leftovers(b, a, v, v->running.len == 0);
    if (st != WEIR_OK || v->running.len > 0) return st;
    st = commit_view_doc(b->view, busy_key(v->id), &busy);
    if (st == WEIR_OK) commit_remove(b->commit, busy_key(v->id), DOC_ANY_VERSION);
    return st == WEIR_NOT_FOUND ? WEIR_OK : st;
}

static void count_turn(struct session *v, const struct session_turn *t, int64_t now_ms)
{
    v->n_turns++;
    v->updated_ms = now_ms;
    v->usage.n_input += t->usage.n_input;
    v->usage.n_output += t->usage.n_output;
    v->usage.n_cache_read += t->usage.n_cache_read;
    v->usage.n_cache_write += t->usage.n_cache_write;
    v->usage.n_calls += t->usage.n_calls;
    v->usage.cost_usd += t->usage.cost_usd;
    if (t->provider.len > 0) v->provider = t->provider;
    if (t->model.len > 0) v->model = t->model;
}

/* WEIR_EXISTS: it was done already; WEIR_CONFLICT: the run is not over. */
static enum weir_status check_over(struct commit_view *view, const struct advance *a,
                                   const struct session *v)
{
    struct weir_slice turn = weir_slice_of(a->turn);
    if (!slice_eq(v->running, turn)) return WEIR_EXISTS;
    enum weir_status st = flow_is_wanted(view, turn);
    if (st == WEIR_NOT_FOUND) return WEIR_OK;
    return st == WEIR_OK || st == WEIR_CANCELLED ? WEIR_CONFLICT : st;
}

static enum weir_status advance_session(struct advance *a, const struct beginning *b,
                                        const struct session_turn *t, struct session *v)
{
    bool has_changed;
    enum weir_status st = check_over(b->view, a, v);
    if (st != WEIR_OK) return st;
    count_turn(v, t, sessions_now(b->sessions));
    v->running = (struct weir_slice){0};
    if (v->is_deleted) v->n_queue = 0;
    bool was_aborted = v->is_deleted || weir_slice_is(t->state, "aborted");
    st = retain_look(b->sessions, b->view, v, &has_changed);
    if (st == WEIR_OK) st = begin_next(b, a, v, was_aborted);
    if (st != WEIR_OK) return st;
    a->is_deleted = v->is_deleted;
    a->oldest = v->oldest;
    snprintf(a->session, sizeof a->session, "%.*s", (int)v->id.len, v->id.ptr);
    snprintf(a->next, sizeof a->next, "%.*s", (int)v->running.len,
             v->running.len > 0 ? v->running.ptr : "");
    return WEIR_OK;
}

static enum weir_status decide_advance(void *user, struct commit_view *view, struct commit *c)
{
    struct advance *a = user;
    struct session_doc turn, doc = {0};
    struct session_turn t;
    struct session v;
    enum weir_status st = session_doc_view(view, session_turn_key(weir_slice_of(a->turn)), &turn);
    if (st == WEIR_OK && !session_turn_read(turn.json, &t)) st = WEIR_CORRUPT;
    if (st == WEIR_OK) st = session_doc_view(view, session_key(t.session), &doc);
    if (st == WEIR_OK && !session_read(doc.json, doc.doc.id, &v)) st = WEIR_CORRUPT;
    const struct beginning b = {
        .sessions = a->sessions, .view = view, .commit = c, .owner = doc.doc.owner};
    if (st == WEIR_OK) st = advance_session(a, &b, &t, &v);
    if (st == WEIR_OK) st = session_keep(c, &doc, &v);
    session_doc_fini(&doc);
    session_doc_fini(&turn);
    return st;
}

/* It is durable. */
static void advanced(struct advance *a)
{
    struct sessions *s = a->sessions;
    /* Before that, flow_start() takes it up with all others. */
    if (a->next[0] && atomic_load(&s->has_started)) session_begin(s, weir_slice_of(a->next));
    if (a->oldest > 1) retain_trim(s, weir_slice_of(a->session), a->oldest);
    if (a->is_deleted && !sessions_later(s, session_finish_deletion, weir_slice_of(a->session)))
        due_set(s, &s->deletions, sessions_now(s) + AGAIN_MS);
}

static void say_damaged(struct sessions *s, const char *what, struct weir_slice id)
{
    TRACE(s->options.trace, TRACE_ERROR, "session", "a session cannot go on", trace_str(what, id),
          trace_str("why", weir_slice_of(weir_status_text(WEIR_CORRUPT))));
}

static void on_advanced(void *user, enum weir_status st)
{
    struct advance *a = user;
    bool was_done = st == WEIR_EXISTS || st == WEIR_CONFLICT;
    if (st == WEIR_OK) advanced(a);
    else if (st == WEIR_CORRUPT || st == WEIR_NOT_FOUND)
        say_damaged(a->sessions, "turn", weir_slice_of(a->turn));
    else if (!was_done) try_again(a->sessions, weir_slice_of(a->turn), st);
    mem_free(a);
}

void session_turn_ended(void *sessions, struct weir_slice turn)
{
    struct sessions *s = sessions;
    struct advance *a = mem_zalloc(sizeof *a);
    if (a) {
        a->sessions = s;
        CHECK(turn.len < sizeof a->turn);
        memcpy(a->turn, turn.ptr, turn.len);
        const struct own_commit o = {.decide = decide_advance, .then = on_advanced, .user = a};
        if (sessions_next_id(s, "trn_", a->spare) == WEIR_OK && sessions_commit(s, &o)) return;
        mem_free(a);
    }
    try_again(s, turn, WEIR_NOMEM);
}

/* ---- the next start, and another try ---- */

static enum weir_status list_busy(void *user, const struct doc *doc)
{
    struct weir_buf *ids = user;
    if (session_is_id(doc->id)) weir_buf_append_slice(ids, doc->id);
    return weir_buf_status(ids);
}

/* The turn that a session is at, and whether that has ended. */
static enum weir_status find_turn(struct sessions *s, struct weir_slice id,
                                  char turn[SESSION_TURN_LEN + 1], bool *has_ended)
{
    struct session_doc doc;
    struct session v;
    struct doc run;
    turn[0] = 0;
    *has_ended = false;
    enum weir_status st = session_doc_get(s->store, session_key(id), &doc);
    if (st == WEIR_OK && !session_read(doc.json, doc.doc.id, &v)) st = WEIR_CORRUPT;
    if (st == WEIR_OK && v.running.len > 0) {
        snprintf(turn, SESSION_TURN_LEN + 1, "%.*s", (int)v.running.len, v.running.ptr);
        st = store_doc_get(s->store, (struct doc_key){SLICE("run"), v.running}, &run);
        if (st == WEIR_OK) doc_fini(&run);
        *has_ended = st == WEIR_NOT_FOUND;
        if (*has_ended) st = WEIR_OK;
    }
    session_doc_fini(&doc);
    return st;
}

static enum weir_status commit_advance(struct advance *a)
{
    struct sessions *s = a->sessions;
    enum weir_status st = sessions_next_id(s, "trn_", a->spare);
    if (st != WEIR_OK) return st;
    struct commit *c = commit_new(0);
    if (!c) return WEIR_NOMEM;
    commit_decide(c, false, decide_advance, a);
    st = store_commit_wait(s->store, c).status;
    if (st == WEIR_OK) advanced(a);
    return st == WEIR_EXISTS || st == WEIR_CONFLICT ? WEIR_OK : st;
}

/* One session that is damaged must not keep all others from going on. */
static enum weir_status go_on(struct sessions *s, struct weir_slice id)
{
    struct advance a = {.sessions = s};
    bool has_ended;
    enum weir_status st = find_turn(s, id, a.turn, &has_ended);
    if (st == WEIR_OK && has_ended) st = commit_advance(&a);
    /* At a shared store each run is one node's, and those that are nobody's are found. */
    else if (st == WEIR_OK && a.turn[0] && atomic_load(&s->has_started) && !flow_is_shared(s->flow))
        session_begin(s, weir_slice_of(a.turn));
    if (st == WEIR_CORRUPT || st == WEIR_NOT_FOUND) {
        say_damaged(s, "session", id);
        return WEIR_OK;
    }
    return st;
}

enum weir_status sessions_go_on(struct sessions *s)
{
    struct weir_buf ids;
    const struct doc_query query = {.kind = SLICE("session_busy"), .limit = SIZE_MAX};
    weir_buf_init(&ids, SESSION_JSON_BYTES);
    enum weir_status st = store_doc_list(s->store, &query, list_busy, &ids);
    for (size_t at = 0; st == WEIR_OK && at < ids.len; at += SESSION_LEN)
        st = go_on(s, slice_of(ids.ptr + at, SESSION_LEN));
    weir_buf_fini(&ids);
    return st;
}

static void catch_up(struct sessions *s, struct weir_slice nobody)
{
    (void)nobody;
    enum weir_status st = sessions_go_on(s);
    if (st != WEIR_OK) try_again(s, SLICE(""), st);
}

/* Beginning what has begun, or following an end that was followed, does no harm. */
void session_catch_up(struct sessions *s, struct due *d)
{
    (void)d;
    bool may = atomic_load(&s->has_started);
    if (!may || !sessions_later(s, catch_up, SLICE(""))) try_again(s, SLICE(""), WEIR_NOMEM);
}

/* ---- chat/send ---- */

struct send {
    struct sending sending;
    char session[SESSION_LEN + 1];
    struct weir_slice text; /* as it was said */
    struct weir_buf skill;  /* what it means, if it names one */
};

static bool is_blank(struct weir_slice text)
{
    for (size_t i = 0; i < text.len; i++)
        if (!strchr(" \t\r\n", text.ptr[i])) return false;
    return true;
}

/* What a client of the protocol may ask for, and this server does not do. */
static enum weir_status check_wishes(struct session_call *c)
{
    const struct weir_json *dry = weir_json_get_str(c->input, "dryRun");
    const struct weir_json *files = weir_json_get_str(c->input, "attachments");
    enum weir_json_type type = weir_json_type_of(dry);
    if (type == WEIR_JSON_TRUE)
        return call_refuse(c, WEIR_UNPROCESSABLE, "dryRun: turns cannot be tried out");
    if (type != WEIR_JSON_FALSE && type != WEIR_JSON_NULL)
        return call_refuse(c, WEIR_BAD_FIELD, "dryRun must be true or false");
    type = weir_json_type_of(files);
    if (type != WEIR_JSON_ARRAY && type != WEIR_JSON_NULL)
        return call_refuse(c, WEIR_BAD_FIELD, "attachments must be an array");
    if (weir_json_count(files) > 0)
        return call_refuse(c, WEIR_UNPROCESSABLE, "attachments: files cannot be attached");
    return WEIR_OK;
}

static enum weir_status check_send(struct session_call *c)
{
    struct weir_slice session, client;
    struct send *m = arena_alloc(&c->arena, sizeof *m);
    if (!m) return WEIR_NOMEM;
    *m = (struct send){0};
    weir_buf_init(&m->skill, SESSION_TEXT_BYTES);
    c->data = m;
    enum weir_status st = call_text(c,
                                    &(struct call_text){.member = "sessionId",
                                                        .max = SESSION_CLIENT_BYTES,
                                                        .is_optional = true,
                                                        .may_be_null = true},
                                    &session);
    if (st == WEIR_OK)
        st = call_text(c, &(struct call_text){.member = "clientId", .max = SESSION_CLIENT_BYTES},
                       &client);
    if (st == WEIR_OK)
        st = call_text(c, &(struct call_text){.member = "text", .max = SIZE_MAX}, &m->text);
    if (st == WEIR_OK) st = check_wishes(c);
    if (st != WEIR_OK) return st;
    if (m->text.len > SESSION_TEXT_BYTES)
        return call_refuse(c, WEIR_TOO_LARGE, "text is longer than %d bytes", SESSION_TEXT_BYTES);
    if (is_blank(m->text)) return call_refuse(c, WEIR_BAD_FIELD, "text is empty");
    m->sending = (struct sending){.owner = weir_slice_of(c->owner),
                                  .session = session,
                                  .is_new = session.len == 0,
                                  .text = m->text,
                                  .client = client};
    return WEIR_OK;
}

static enum weir_status prepare_send(struct session_call *c)
{
    struct send *m = c->data;
    bool is_skill = false;
    enum weir_status st =
        skills_expand(c->sessions, weir_slice_of(c->owner), m->text, &m->skill, &is_skill);
    if (st == WEIR_OK && is_skill) st = weir_buf_status(&m->skill);
    if (st == WEIR_LIMIT)
        return call_refuse(c, WEIR_TOO_LARGE, "text is longer than %d bytes", SESSION_TEXT_BYTES);
    if (st == WEIR_OK && is_skill) m->sending.text = weir_buf_slice(&m->skill);
    m->sending.is_skill = is_skill;
    if (st == WEIR_OK) st = sessions_next_id(c->sessions, "trn_", m->sending.turn);
    if (st != WEIR_OK || !m->sending.is_new) return st;
    st = sessions_next_id(c->sessions, "ses_", m->session);
    m->sending.session = weir_slice_of(m->session);
    return st;
}

static enum weir_status decide_send(struct session_call *c, struct commit_view *view,
                                    struct commit *commit)
{
    struct send *m = c->data;
    enum weir_status st = session_send_decide(c->sessions, &m->sending, view, commit);
    if (st == WEIR_CONCURRENCY)
        return call_refuse(c, st, "%d messages wait already", SESSION_QUEUE);
    return st;
}

static void send_committed(struct session_call *c, enum weir_status st)
{
    struct send *m = c->data;
    if (st != WEIR_OK) return;
    sessions_count(c->sessions, offsetof(struct sessions_stats, n_sent));
    if (m->sending.begins) session_begin(c->sessions, weir_slice_of(m->sending.turn));
    else sessions_count(c->sessions, offsetof(struct sessions_stats, n_queued));
}

static void put_sent(struct session_call *c, struct weir_buf *out)
{
    const struct send *m = c->data;
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "sessionId");
    weir_json_put_string(out, m->sending.session);
    weir_json_put_key(out, "turnId");
    weir_json_put_str(out, m->sending.turn);
    weir_json_put_end_object(out);
}

static void send_fini(struct session_call *c)
{
    struct send *m = c->data;
    if (m) weir_buf_fini(&m->skill);
}

/* ---- chat/abort, chat/steer ---- */

/* What is done to the turn that runs, and to no other that begins meanwhile. */
struct touch {
    struct weir_slice session, text;
    char turn[SESSION_TURN_LEN + 1];
    struct open_questions questions;
    bool is_done;
};

static enum weir_status check_touch(struct session_call *c)
{
    struct touch *t = arena_alloc(&c->arena, sizeof *t);
    if (!t) return WEIR_NOMEM;
    *t = (struct touch){0};
    c->data = t;
    return call_text(c, &(struct call_text){.member = "sessionId", .max = SESSION_CLIENT_BYTES},
                     &t->session);
}

static enum weir_status check_steer(struct session_call *c)
{
    enum weir_status st = check_touch(c);
    struct touch *t = c->data;
    if (st == WEIR_OK)
        st = call_text(c, &(struct call_text){.member = "text", .max = SIZE_MAX}, &t->text);
    if (st != WEIR_OK) return st;
    if (t->text.len > SESSION_STEER_TEXT)
        return call_refuse(c, WEIR_TOO_LARGE, "text is longer than %d bytes", SESSION_STEER_TEXT);
    if (is_blank(t->text)) return call_refuse(c, WEIR_BAD_FIELD, "text is empty");
    return WEIR_OK;
}

static enum weir_status prepare_touch(struct session_call *c)
{
    struct touch *t = c->data;
    struct session_doc doc;
    struct session v;
    enum weir_status st =
        session_find(c->sessions->store, weir_slice_of(c->owner), t->session, &doc, &v);
    if (st == WEIR_OK)
        snprintf(t->turn, sizeof t->turn, "%.*s", (int)v.running.len,
                 v.running.len > 0 ? v.running.ptr : "");
    c->is_settled = st == WEIR_OK && !t->turn[0];
    session_doc_fini(&doc);
    return st;
}

static enum weir_status prepare_abort(struct session_call *c)
{
    struct touch *t = c->data;
    enum weir_status st = prepare_touch(c);
    if (st != WEIR_OK || c->is_settled) return st;
    return questions_open(c->sessions, weir_slice_of(c->owner), weir_slice_of(t->turn), &c->arena,
                          &t->questions);
}

/* WEIR_NOT_FOUND: the session is not there; *runs: the turn that was found, as nobody aborts it. */
static enum weir_status find_running(struct session_call *c, struct commit_view *view, bool *runs)
{
    const struct touch *t = c->data;
    struct session_doc doc;
    struct session v;
    *runs = false;
    enum weir_status st = session_find_view(view, weir_slice_of(c->owner), t->session, &doc, &v);
    if (st == WEIR_OK && weir_slice_is(v.running, t->turn)) {
        st = flow_is_wanted(view, v.running);
        *runs = st == WEIR_OK;
        if (st == WEIR_NOT_FOUND || st == WEIR_CANCELLED) st = WEIR_OK;
    }
    session_doc_fini(&doc);
    return st;
}

static enum weir_status decide_abort(struct session_call *c, struct commit_view *view,
                                     struct commit *commit)
{
    struct touch *t = c->data;
    enum weir_status st = find_running(c, view, &t->is_done);
    if (st != WEIR_OK || !t->is_done) return st;
    st = questions_close_decide(c->sessions, &t->questions, "abort", view, commit);
    return st == WEIR_OK ? flow_add_cancel(view, commit, weir_slice_of(t->turn)) : st;
}

static void abort_committed(struct session_call *c, enum weir_status st)
{
    const struct touch *t = c->data;
    if (st != WEIR_OK || !t->is_done) return;
    sessions_count(c->sessions, offsetof(struct sessions_stats, n_aborted));
    flow_cancelled(c->sessions->flow, weir_slice_of(t->turn));
    turn_wake(c->sessions, weir_slice_of(t->turn));
}

/* They are numbered without a gap. */
static enum weir_status next_steer(struct commit_view *view, struct weir_slice turn, unsigned *out)
{
    char id[SESSION_STEER_BYTES];
    unsigned low = 1, high = SESSION_STEERS + 1; /* the first that is free lies between */
    while (low < high) {
        struct doc doc;
        unsigned mid = low + (high - low) / 2;
        enum weir_status st = commit_view_doc(view, session_steer_key(id, turn, mid), &doc);
        if (st == WEIR_OK) low = mid + 1;
        else if (st == WEIR_NOT_FOUND) high = mid;
        else return st;
    }
    *out = low;
    return WEIR_OK;
}

static void put_steer(struct session_call *c, struct commit *commit, struct doc_key key)
{
    const struct touch *t = c->data;
    char at[CLOCK_TEXT_BYTES];
    struct weir_buf body;
    weir_buf_init(&body, TURN_DOC_BYTES);
    clock_format(at, c->now_ms);
    weir_json_put_begin_object(&body);
    weir_json_put_key(&body, "text");
    weir_json_put_string(&body, t->text);
    weir_json_put_key(&body, "at");
    weir_json_put_str(&body, at);
    weir_json_put_end_object(&body);
    commit_put(commit, key, DOC_MUST_BE_NEW, weir_slice_of(c->owner), weir_buf_slice(&body));
    weir_buf_fini(&body);
}

static enum weir_status decide_steer(struct session_call *c, struct commit_view *view,
                                     struct commit *commit)
{
    struct touch *t = c->data;
    char id[SESSION_STEER_BYTES];
    unsigned n = 0;
    enum weir_status st = find_running(c, view, &t->is_done);
    if (st == WEIR_OK && t->is_done) st = next_steer(view, weir_slice_of(t->turn), &n);
    if (st != WEIR_OK || !t->is_done) return st;
    if (n > SESSION_STEERS)
        return call_refuse(c, WEIR_CONCURRENCY, "%d were said to this turn already",
                           SESSION_STEERS);
    put_steer(c, commit, session_steer_key(id, weir_slice_of(t->turn), n));
    return WEIR_OK;
}

static void steer_committed(struct session_call *c, enum weir_status st)
{
    struct touch *t = c->data;
    if (st != WEIR_OK) t->is_done = false;
    if (t->is_done) sessions_count(c->sessions, offsetof(struct sessions_stats, n_steered));
}

static void put_steered(struct session_call *c, struct weir_buf *out)
{
    const struct touch *t = c->data;
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "ok");
    weir_json_put_bool(out, t->is_done);
    weir_json_put_end_object(out);
}

static const char *const abort_members[] = {"sessionId", NULL};
static const char *const steer_members[] = {"sessionId", "text", NULL};
const struct session_method chat_methods[] = {
    {.space = "chat",
     .name = "send",
     .is_write = true,
     .check = check_send,
     .prepare = prepare_send,
     .decide = decide_send,
     .committed = send_committed,
     .put = put_sent,
     .fini = send_fini},
    {.space = "chat",
     .name = "abort",
     .is_write = true,
     .members = abort_members,
     .check = check_touch,
     .prepare = prepare_abort,
     .decide = decide_abort,
     .committed = abort_committed,
     .put = call_put_ok},
    {.space = "chat",
     .name = "steer",
     .is_write = true,
     .members = steer_members,
     .check = check_steer,
     .prepare = prepare_touch,
     .decide = decide_steer,
     .committed = steer_committed,
     .put = put_steered},
    {0},
};
