/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions to people, whatever they are about: asking, waiting, and being closed by an answer, by
 * the deadline, or with the turn. See question_impl.h.
 *
 * The document "session_pending" ID: {"session","turn","askedMs","deadlineMs", and what approval.c
 * or clarify.c put}. Closed, it has "decision", "decider", "decidedBy", "scope", "text" and
 * "decidedMs" more.
 */
#include <stdio.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/slice.h"
#include "codec/json_member.h"
#include "session/question_impl.h"

enum {
    LANDING_MS = 200,  /* for a question that is on its way when its turn ends */
    AGAIN_MS = 1000,   /* before a deadline that could not be committed is tried again */
    NUMBER_DIGITS = 9, /* of a call in its turn */
    AUDIT_BYTES = 8 << 10,
};

static const char *const prefixes[] = {[QUESTION_APPROVAL] = "ap_", [QUESTION_CLARIFY] = "clr_"};
static const char *const closed_kinds[] = {
    [QUESTION_APPROVAL] = "approval", [QUESTION_CLARIFY] = "clarify"};

/* ---- ids ---- */

struct weir_slice question_id(char out[QUESTION_ID_BYTES], enum question_kind kind,
                              struct weir_slice turn, unsigned number)
{
    CHECK(turn.len == SESSION_TURN_LEN);
    int len = snprintf(out, QUESTION_ID_BYTES, "%s%.26s_%u", prefixes[kind], turn.ptr + 4, number);
    CHECK(len > 0 && len < QUESTION_ID_BYTES);
    return slice_of(out, (size_t)len);
}

/* From 1, without a zero in front. */
static bool is_number(struct weir_slice text)
{
    if (text.len == 0 || text.len > NUMBER_DIGITS || text.ptr[0] == '0') return false;
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] < '0' || text.ptr[i] > '9') return false;
    return true;
}

bool question_is_id(enum question_kind kind, struct weir_slice id, char turn[SESSION_TURN_LEN + 1])
{
    size_t n = strlen(prefixes[kind]) + ULID_TEXT_LEN;
    if (id.len <= n + 1 || id.ptr[n] != '_' || !is_number(slice_from(id, n + 1))) return false;
    if (!ulid_is_name(slice_of(id.ptr, n), prefixes[kind])) return false;
    snprintf(turn, SESSION_TURN_LEN + 1, "trn_%.26s", id.ptr + strlen(prefixes[kind]));
    return true;
}

static enum question_kind kind_of(struct weir_slice id)
{
    return id.len > 3 && memcmp(id.ptr, "clr", 3) == 0 ? QUESTION_CLARIFY : QUESTION_APPROVAL;
}

struct doc_key question_open_key(struct weir_slice id)
{
    return (struct doc_key){SLICE("session_pending"), id};
}

struct doc_key question_closed_key(enum question_kind kind, struct weir_slice id)
{
    return (struct doc_key){weir_slice_of(closed_kinds[kind]), id};
}

/* ---- documents ---- */

static void put_text(struct weir_buf *out, const char *key, struct weir_slice text)
{
    weir_json_put_key(out, key);
    if (text.ptr) weir_json_put_string(out, text);
    else weir_json_put_null(out);
}

void question_put_head(struct weir_buf *out, const struct question *q)
{
    weir_json_put_begin_object(out);
    put_text(out, "session", q->session);
    put_text(out, "turn", q->turn);
    member_int(out, "askedMs", q->asked_ms);
    member_int(out, "deadlineMs", q->deadline_ms);
}

static bool read_text(const struct weir_json *json, const char *key, struct weir_slice *out)
{
    const struct weir_json *v = weir_json_get_str(json, key);
    *out = weir_json_text(v);
    return weir_json_type_of(v) == WEIR_JSON_STRING;
}

bool question_read(const struct session_doc *doc, struct question *out)
{
    const struct weir_json *json = doc->json;
    *out = (struct question){.kind = kind_of(doc->doc.id),
                             .id = doc->doc.id,
                             .owner = doc->doc.owner,
                             .version = doc->doc.version,
                             .body = doc->doc.body};
    bool is_good = read_text(json, "session", &out->session) &&
                   read_text(json, "turn", &out->turn) &&
                   weir_json_int64(weir_json_get_str(json, "askedMs"), &out->asked_ms) &&
                   weir_json_int64(weir_json_get_str(json, "deadlineMs"), &out->deadline_ms) &&
                   session_is_id(out->session) && ulid_is_name(out->turn, "trn_");
    if (!is_good) return false;
    if (out->kind == QUESTION_APPROVAL)
        return read_text(json, "tool", &out->tool) && read_text(json, "hash", &out->hash);
    if (!read_text(json, "default", &out->default_answer)) out->default_answer = slice_of(NULL, 0);
    return true;
}

enum weir_status question_find(struct store *store, enum question_kind kind, struct weir_slice id,
                               struct session_doc *out, bool *is_open)
{
    /* In this order: one that is closed meanwhile is found in the second place. */
    enum weir_status st = session_doc_get(store, question_open_key(id), out);
    *is_open = st == WEIR_OK;
    if (st != WEIR_NOT_FOUND) return st;
    session_doc_fini(out);
    return session_doc_get(store, question_closed_key(kind, id), out);
}

/* ---- closing ---- */

/* What a question that is closed leaves behind. */
struct closing {
    struct weir_buf body, event, audit;
};

static void put_closed(struct weir_buf *out, const struct question *q, const struct outcome *o)
{
    CHECK(q->body.len > 2 && q->body.ptr[q->body.len - 1] == '}');
    weir_buf_append(out, q->body.ptr, q->body.len - 1);
    put_text(out, "decision", weir_slice_of(o->decision));
    put_text(out, "decider", weir_slice_of(o->decider));
    put_text(out, "decidedBy", o->by);
    weir_json_put_key(out, "scope");
    weir_json_put_str(out, o->scope);
    put_text(out, "text", o->text);
    member_int(out, "decidedMs", o->at_ms);
    weir_json_put_end_object(out);
}

static WEIR_MUST_CHECK enum weir_status closing_init(struct closing *x, const struct question *q,
                                                     const struct outcome *o)
{
    weir_buf_init(&x->body, 2 * QUESTION_DOC_BYTES);
    weir_buf_init(&x->event, QUESTION_DOC_BYTES);
    weir_buf_init(&x->audit, AUDIT_BYTES);
    put_closed(&x->body, q, o);
    if (q->kind == QUESTION_APPROVAL) approval_put_resolved(&x->event, q, o);
    else clarify_put_resolved(&x->event, q, o);
    session_audit_put(&x->audit, q, o);
    enum weir_status st = weir_buf_status(&x->body);
    if (st == WEIR_OK) st = weir_buf_status(&x->event);
    return st == WEIR_OK ? weir_buf_status(&x->audit) : st;
}

static void closing_fini(struct closing *x)
{
    weir_buf_fini(&x->body);
    weir_buf_fini(&x->event);
    weir_buf_fini(&x->audit);
}

static enum weir_status append_audit(struct commit *c, struct weir_slice json)
{
    struct weir_buf frame;
    weir_buf_init(&frame, 2 * AUDIT_BYTES);
    weir_buf_append_str(&frame, "event: audit\ndata: ");
    weir_buf_append_slice(&frame, json);
    weir_buf_append_str(&frame, "\n\n");
    enum weir_status st = weir_buf_status(&frame);
    if (st == WEIR_OK) commit_append(c, weir_slice_of(session_audit_log), weir_buf_slice(&frame));
    weir_buf_fini(&frame);
    return st;
}

enum weir_status question_close(struct commit *c, const struct question *q, const struct outcome *o)
{
    struct closing x;
    enum weir_status st = closing_init(&x, q, o);
    if (st == WEIR_OK && !o->is_silent) {
        commit_remove(c, question_open_key(q->id), q->version);
        st = session_append(c, q->session, weir_buf_slice(&x.event));
    }
    if (st == WEIR_OK) st = append_audit(c, weir_buf_slice(&x.audit));
    if (st == WEIR_OK)
        commit_put(c, question_closed_key(q->kind, q->id), DOC_MUST_BE_NEW, q->owner,
                   weir_buf_slice(&x.body));
    closing_fini(&x);
    return st;
}

/* ---- the deadline ---- */

static struct outcome expired(const struct question *q)
{
    if (q->kind == QUESTION_CLARIFY) return clarify_expired(q);
    return (struct outcome){.decision = "deny", .by = SLICE("timeout")};
}

/* A deadline on its way into the store. */
struct expiry {
    struct sessions *sessions;
    char turn[SESSION_TURN_LEN + 1];
    char id[QUESTION_ID_BYTES];
};

static enum weir_status decide_expiry(void *user, struct commit_view *view, struct commit *c)
{
    const struct expiry *e = user;
    struct session_doc doc;
    struct question q;
    int64_t now_ms = sessions_now(e->sessions);
    enum weir_status st = session_doc_view(view, question_open_key(weir_slice_of(e->id)), &doc);
    if (st == WEIR_OK && !question_read(&doc, &q)) st = WEIR_CORRUPT;
    if (st == WEIR_OK && now_ms < q.deadline_ms) st = WEIR_PENDING;
    if (st == WEIR_OK) {
        struct outcome o = expired(&q);
        o.decider = "deadline";
        o.at_ms = now_ms;
        st = question_close(c, &q, &o);
    }
    session_doc_fini(&doc);
    return st;
}

static void on_expired(void *user, enum weir_status st)
{
    struct expiry *e = user;
    if (st == WEIR_OK)
        sessions_count(e->sessions,
                       kind_of(weir_slice_of(e->id)) == QUESTION_APPROVAL
                           ? offsetof(struct sessions_stats, n_approvals_expired)
                           : offsetof(struct sessions_stats, n_clarifications_expired));
    /* Answered before, or closed now: it goes on. All else is tried again, by the timer. */
    if (st == WEIR_OK || st == WEIR_NOT_FOUND) turn_wake(e->sessions, weir_slice_of(e->turn));
    mem_free(e);
}

/* By the timer. */
static void expire(struct sessions *s, struct due *d)
{
    const struct live *live = CONTAINER_OF(d, struct live, deadline);
    struct expiry *e = mem_zalloc(sizeof *e);
    pthread_mutex_lock(&s->lock);
    bool is_waiting = live->waiter && live->question[0]; /* else it was woken a moment ago */
    if (e && is_waiting) {
        e->sessions = s;
        memcpy(e->turn, live->id, sizeof e->turn);
        memcpy(e->id, live->question, sizeof e->id);
    }
    if (is_waiting) due_set_locked(s, d, sessions_now(s) + AGAIN_MS);
    pthread_mutex_unlock(&s->lock);
    const struct own_commit commit = {.decide = decide_expiry, .then = on_expired, .user = e};
    if (!e || !is_waiting || !sessions_commit(s, &commit)) mem_free(e);
}

/* ---- asking ---- */

/* A question on its way into the store. */
struct asked {
    struct list_node node; /* of the engine's, under its lock */
    struct sessions *sessions;
    char turn[SESSION_TURN_LEN + 1];
    char id[QUESTION_ID_BYTES];
};

static void copy_text(char *out, size_t size, struct weir_slice text)
{
    CHECK(text.len < size);
    memcpy(out, text.ptr, text.len);
    out[text.len] = '\0';
}

/* By anybody: what could not be kept is nothing to wait for. The pass hears why. */
static void on_saved(void *user, enum weir_status st)
{
    struct asked *a = user;
    struct sessions *s = a->sessions;
    pthread_mutex_lock(&s->lock);
    struct live *live = map_get(&s->turns, weir_slice_of(a->turn));
    if (live && strcmp(live->asked, a->id) == 0) live->asked_status = st;
    list_remove(&a->node);
    pthread_cond_broadcast(&s->asked);
    pthread_mutex_unlock(&s->lock);
    if (st != WEIR_OK) turn_wake(s, weir_slice_of(a->turn));
    mem_free(a);
}

void questions_forget(struct sessions *s)
{
    struct list_node *n;
    while ((n = list_pop_front(&s->asking))) mem_free(CONTAINER_OF(n, struct asked, node));
}

static struct asked *asked_new(struct turn_pass *p, const struct question *q)
{
    struct sessions *s = pass_sessions(p);
    struct asked *a = mem_zalloc(sizeof *a);
    if (!a) return NULL;
    a->sessions = s;
    copy_text(a->turn, sizeof a->turn, pass_turn(p));
    copy_text(a->id, sizeof a->id, q->id);
    pthread_mutex_lock(&s->lock);
    list_push_back(&s->asking, &a->node);
    struct live *live = map_get(&s->turns, pass_turn(p));
    if (live) {
        copy_text(live->asked, sizeof live->asked, q->id);
        live->asked_until_ms = q->deadline_ms;
        live->asked_status = WEIR_OK;
    }
    pthread_mutex_unlock(&s->lock);
    return a;
}

enum weir_status question_ask(struct turn_pass *p, const struct question *q,
                              const struct weir_buf *body, const struct weir_buf *event)
{
    enum weir_status st = weir_buf_status(body);
    if (st == WEIR_OK) st = weir_buf_status(event);
    if (st != WEIR_OK) return st;
    struct asked *a = asked_new(p, q);
    if (!a) return WEIR_NOMEM;
    st = pass_wait(p, q->id, q->deadline_ms, expire);
    flow_save(pass_step(p), &(struct flow_save){.key = question_open_key(q->id),
                                                .body = weir_buf_slice(body),
                                                .json = weir_buf_slice(event),
                                                .done = on_saved,
                                                .user = a});
    return st;
}

enum weir_status question_await(struct turn_pass *p, struct weir_slice id)
{
    struct sessions *s = pass_sessions(p);
    pthread_mutex_lock(&s->lock);
    const struct live *live = map_get(&s->turns, pass_turn(p));
    bool was_asked = live && slice_eq(weir_slice_of(live->asked), id);
    enum weir_status st = was_asked ? live->asked_status : WEIR_OK;
    int64_t until_ms = was_asked ? live->asked_until_ms : 0;
    pthread_mutex_unlock(&s->lock);
    if (!was_asked || st != WEIR_OK) return st;
    return pass_wait(p, id, until_ms, expire);
}

enum weir_status question_wait(struct turn_pass *p, const struct session_doc *doc)
{
    struct question q;
    if (!question_read(doc, &q)) return WEIR_CORRUPT;
    return pass_wait(p, q.id, q.deadline_ms, expire);
}

/* ---- answers ---- */

enum weir_status answer_check(struct session_call *c, const char *member, enum question_kind kind,
                              struct answer *out)
{
    /* Whatever cannot be an id is as unknown as one that is somebody else's. */
    const struct call_text id = {.member = member, .max = SIZE_MAX, .may_be_empty = true};
    *out = (struct answer){.kind = kind};
    enum weir_status st = call_text(c, &id, &out->id);
    if (st != WEIR_OK) return st;
    return question_is_id(kind, out->id, out->turn) ? WEIR_OK : WEIR_NOT_FOUND;
}

static enum weir_status refuse_closed(struct session_call *c, const struct answer *a,
                                      const struct session_doc *doc)
{
    struct weir_slice by = weir_json_text(weir_json_get_str(doc->json, "decidedBy"));
    struct weir_slice decider = weir_json_text(weir_json_get_str(doc->json, "decider"));
    struct weir_slice decision = weir_json_text(weir_json_get_str(doc->json, "decision"));
    if (weir_slice_is(decider, "deadline"))
        return call_refuse(c, WEIR_CONFLICT, "nobody answered in time");
    if (weir_slice_is(decider, "abort"))
        return call_refuse(c, WEIR_CONFLICT, "its turn was aborted before anybody answered");
    if (weir_slice_is(decider, "end"))
        return call_refuse(c, WEIR_CONFLICT, "its turn has ended before anybody answered");
    if (a->kind == QUESTION_CLARIFY)
        return call_refuse(c, WEIR_CONFLICT, "it was %s already",
                           weir_slice_is(decision, "cancel") ? "cancelled" : "answered");
    return call_refuse(c, WEIR_CONFLICT, "it was %s by %.*s already",
                       weir_slice_is(decision, "allow") ? "allowed" : "denied", (int)by.len,
                       by.ptr);
}

static enum weir_status refuse_not_open(struct session_call *c, const struct answer *a,
                                        struct commit_view *view)
{
    struct session_doc doc;
    enum weir_status st = session_doc_view(view, question_closed_key(a->kind, a->id), &doc);
    if (st == WEIR_OK)
        st = slice_eq(doc.doc.owner, weir_slice_of(c->owner)) ? refuse_closed(c, a, &doc)
                                                              : WEIR_NOT_FOUND;
    session_doc_fini(&doc);
    return st;
}

enum weir_status answer_find(struct session_call *c, const struct answer *a,
                             struct commit_view *view, struct session_doc *doc, struct question *q)
{
    enum weir_status st = session_doc_view(view, question_open_key(a->id), doc);
    if (st == WEIR_NOT_FOUND) return refuse_not_open(c, a, view);
    if (st != WEIR_OK) return st;
    if (!question_read(doc, q)) return WEIR_CORRUPT;
    if (!slice_eq(q->owner, weir_slice_of(c->owner))) return WEIR_NOT_FOUND;
    st = flow_is_wanted(view, q->turn);
    if (st == WEIR_NOT_FOUND || st == WEIR_CANCELLED)
        return call_refuse(c, WEIR_CONFLICT, "its turn has ended, or is about to");
    /* The timer may be late; the deadline is not. */
    if (st == WEIR_OK && sessions_now(c->sessions) >= q->deadline_ms)
        return call_refuse(c, WEIR_CONFLICT, "nobody answered in time");
    return st;
}

/* ---- with the turn ---- */

/* With the lock. */
static bool is_asking(const struct sessions *s, struct weir_slice turn)
{
    for (struct list_node *n = list_first(&s->asking); n; n = list_next(&s->asking, n))
        if (weir_slice_is(turn, CONTAINER_OF(n, struct asked, node)->turn)) return true;
    return false;
}

/* So that what is closed with a turn is told before its end; what takes longer is told after. */
static void wait_for_asked(struct sessions *s, struct weir_slice turn)
{
    struct timespec until = clock_deadline(LANDING_MS);
    int err = 0;
    pthread_mutex_lock(&s->lock);
    while (err == 0 && is_asking(s, turn))
        err = pthread_cond_timedwait(&s->asked, &s->lock, &until);
    pthread_mutex_unlock(&s->lock);
}

struct finding {
    struct weir_slice prefix, owner;
    struct arena *arena;
    struct open_questions *out;
    bool is_over;
};

static enum weir_status find_open(void *user, const struct doc *doc)
{
    struct finding *f = user;
    bool is_of_turn =
        doc->id.len > f->prefix.len && memcmp(doc->id.ptr, f->prefix.ptr, f->prefix.len) == 0;
    if (!is_of_turn || f->out->n == sizeof f->out->ids / sizeof *f->out->ids) {
        f->is_over = true;
        return WEIR_LIMIT;
    }
    if (f->owner.len > 0 && !slice_eq(doc->owner, f->owner)) return WEIR_OK;
    char *copy = arena_alloc(f->arena, doc->id.len);
    if (!copy) return f->arena->status;
    memcpy(copy, doc->id.ptr, doc->id.len);
    f->out->ids[f->out->n++] = slice_of(copy, doc->id.len);
    return WEIR_OK;
}

enum weir_status questions_open(struct sessions *s, struct weir_slice owner, struct weir_slice turn,
                                struct arena *arena, struct open_questions *out)
{
    enum weir_status st = WEIR_OK;
    CHECK(turn.len == SESSION_TURN_LEN);
    wait_for_asked(s, turn);
    out->n = 0;
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes && st == WEIR_OK; i++) {
        char prefix[QUESTION_ID_BYTES];
        int len = snprintf(prefix, sizeof prefix, "%s%.26s_", prefixes[i], turn.ptr + 4);
        struct finding f = {
            .prefix = slice_of(prefix, (size_t)len), .owner = owner, .arena = arena, .out = out};
        /* All owners': the first one that is of another turn ends it. */
        const struct doc_query query = {
            .kind = SLICE("session_pending"), .after = f.prefix, .limit = SIZE_MAX};
        st = store_doc_list(s->store, &query, find_open, &f);
        if (f.is_over) st = WEIR_OK;
    }
    return st;
}

static struct outcome closed_with_turn(const struct question *q, const char *by, int64_t now_ms)
{
    return (struct outcome){.decision = q->kind == QUESTION_APPROVAL ? "deny" : "cancel",
                            .decider = strcmp(by, "abort") == 0 ? "abort" : "end",
                            .by = weir_slice_of(by),
                            .at_ms = now_ms};
}

enum weir_status questions_close_decide(struct sessions *s, const struct open_questions *q,
                                        const char *by, struct commit_view *view, struct commit *c)
{
    enum weir_status st = WEIR_OK;
    for (unsigned i = 0; i < q->n && st == WEIR_OK; i++) {
        struct session_doc doc;
        struct question one;
        st = session_doc_view(view, question_open_key(q->ids[i]), &doc);
        if (st == WEIR_OK && !question_read(&doc, &one)) st = WEIR_CORRUPT;
        if (st == WEIR_OK) {
            struct outcome o = closed_with_turn(&one, by, sessions_now(s));
            st = question_close(c, &one, &o);
        }
        session_doc_fini(&doc);
        if (st == WEIR_NOT_FOUND) st = WEIR_OK; /* somebody was faster */
    }
    return st;
}

static enum weir_status close_at_end(struct flow_step *s, const struct session_doc *doc,
                                     const char *by)
{
    struct question q;
    struct closing x;
    if (!question_read(doc, &q)) return WEIR_CORRUPT;
    struct outcome o = closed_with_turn(&q, by, clock_wall_ms(flow_clock(s)));
    enum weir_status st = closing_init(&x, &q, &o);
    if (st == WEIR_OK) {
        flow_remove(s, question_open_key(q.id), q.version);
        flow_put(s, question_closed_key(q.kind, q.id), DOC_MUST_BE_NEW, weir_buf_slice(&x.body));
        flow_emit(s, NULL, weir_buf_slice(&x.event));
        flow_append(s, weir_slice_of(session_audit_log), "audit", weir_buf_slice(&x.audit));
    }
    closing_fini(&x);
    return st;
}

enum weir_status questions_close_end(struct flow_step *s, const struct open_questions *q,
                                     const char *by)
{
    enum weir_status st = WEIR_OK;
    for (unsigned i = 0; i < q->n && st == WEIR_OK; i++) {
        struct session_doc doc;
        st = session_doc_get(flow_store(s), question_open_key(q->ids[i]), &doc);
        if (st == WEIR_OK) st = close_at_end(s, &doc, by);
        session_doc_fini(&doc);
        if (st == WEIR_NOT_FOUND) st = WEIR_OK; /* somebody was faster */
    }
    return st;
}

/* What is left of a turn that has ended. */
struct leftover {
    struct sessions *sessions;
    char turn[SESSION_TURN_LEN + 1];
    struct arena arena;
    struct open_questions open;
};

static void leftover_free(struct leftover *l)
{
    arena_fini(&l->arena);
    mem_free(l);
}

/* As its document says that it ended. One without has gone with its session, which aborts it. */
static enum weir_status decide_leftover(void *user, struct commit_view *view, struct commit *c)
{
    struct leftover *l = user;
    struct session_doc doc;
    const char *by = "abort";
    enum weir_status st = session_doc_view(view, session_turn_key(weir_slice_of(l->turn)), &doc);
    if (st == WEIR_OK &&
        !weir_slice_is(weir_json_text(weir_json_get_str(doc.json, "state")), "aborted"))
        by = "system";
    session_doc_fini(&doc);
    if (st != WEIR_OK && st != WEIR_NOT_FOUND && st != WEIR_CORRUPT) return st;
    return questions_close_decide(l->sessions, &l->open, by, view, c);
}

static void on_leftover_closed(void *user, enum weir_status st)
{
    struct leftover *l = user;
    if (st != WEIR_OK)
        TRACE(l->sessions->options.trace, TRACE_WARN, "session", "a question stays open",
              trace_str("why", weir_slice_of(weir_status_text(st))));
    leftover_free(l);
}

void questions_close_left(struct sessions *s, struct weir_slice turn)
{
    struct leftover *l = mem_zalloc(sizeof *l);
    if (!l) return;
    l->sessions = s;
    copy_text(l->turn, sizeof l->turn, turn);
    arena_init(&l->arena, sizeof l->open.ids / sizeof *l->open.ids * QUESTION_ID_BYTES * 2);
    const struct own_commit commit = {
        .decide = decide_leftover, .then = on_leftover_closed, .user = l};
    enum weir_status st = questions_open(s, SLICE(""), turn, &l->arena, &l->open);
    if (st != WEIR_OK) on_leftover_closed(l, st);
    else if (l->open.n == 0 || !sessions_commit(s, &commit)) leftover_free(l);
}

static enum weir_status list_turn(void *user, const struct doc *doc)
{
    struct weir_buf *turns = user;
    char turn[SESSION_TURN_LEN + 1];
    if (question_is_id(kind_of(doc->id), doc->id, turn)) weir_buf_append_str(turns, turn);
    return weir_buf_status(turns);
}

enum weir_status questions_close_orphans(struct sessions *s)
{
    struct weir_buf turns;
    const struct doc_query query = {.kind = SLICE("session_pending"), .limit = SIZE_MAX};
    weir_buf_init(&turns, SESSION_JSON_BYTES);
    enum weir_status st = store_doc_list(s->store, &query, list_turn, &turns);
    for (size_t at = 0; st == WEIR_OK && at < turns.len; at += SESSION_TURN_LEN) {
        struct doc run;
        struct weir_slice turn = slice_of(turns.ptr + at, SESSION_TURN_LEN);
        st = store_doc_get(s->store, (struct doc_key){SLICE("run"), turn}, &run);
        if (st == WEIR_OK) doc_fini(&run);
        if (st != WEIR_NOT_FOUND) continue;
        questions_close_left(s, turn);
        st = WEIR_OK;
    }
    weir_buf_fini(&turns);
    return st;
}
