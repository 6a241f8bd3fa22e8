/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /v1/turns: looking at turns, listing them, their traces, and cancelling. docs/serve.md has the
 * requests, turns_create.c and turns_events.c the others.
 *
 * A turn of somebody else is not there, and the answer is the same as for one that never was.
 */
#include <stdio.h>

#include "base/slice.h"
#include "serve/documents.h"
#include "serve/turns_impl.h"

enum {
    TRACE_BYTES = 128 << 20,
    LOCATION_BYTES = TURN_ID_LEN + 16,
};

/* ---- one turn ---- */

static void refuse_unknown(struct exchange *ex)
{
    exchange_error(ex, WEIR_NO_TURN, "there is no such turn");
}

void turn_asked_init(struct turn_asked *a, struct exchange *ex, struct weir_slice id)
{
    struct weir_slice owner = resource_owner(ex);
    *a = (struct turn_asked){.ex = ex,
                             .loop = worker_loop(exchange_worker(ex)),
                             .store = server_store(exchange_server(ex))};
    memcpy(a->id, id.ptr, TURN_ID_LEN);
    memcpy(a->owner, owner.ptr, owner.len);
}

void *turn_asked_new(struct exchange *ex, size_t size)
{
    struct weir_slice id = exchange_param(ex, 0);
    if (!turn_is_id(id)) {
        refuse_unknown(ex);
        return NULL;
    }
    struct turn_asked *a = exchange_alloc(ex, size);
    if (!a) {
        resource_store_error(ex, WEIR_NOMEM);
        return NULL;
    }
    memset(a, 0, size);
    turn_asked_init(a, ex, id);
    return a;
}

static void tell_found(struct post *post)
{
    struct turn_asked *a = CONTAINER_OF(post, struct turn_asked, post);
    struct doc doc = a->doc; /* what is in `a` may be gone with the answer */
    a->found(a->ex, a);
    doc_fini(&doc);
}

/* By a thread of the store's. */
static void look_up(void *user)
{
    struct turn_asked *a = user;
    a->status = store_doc_get(a->store, turn_key(weir_slice_of(a->id)), &a->doc);
    bool is_theirs = a->status == WEIR_OK && slice_eq(a->doc.owner, weir_slice_of(a->owner));
    if (a->status == WEIR_NOT_FOUND || (a->status == WEIR_OK && !is_theirs))
        a->status = WEIR_NO_TURN;
    if (a->status == WEIR_OK && !turn_read_state(a->doc.body, &a->state)) a->status = WEIR_CORRUPT;
    if (a->key) a->key_status = idempotency_find(a->key, a->store);
    loop_post(a->loop, &a->post);
}

void turn_ask(struct turn_asked *a, turn_found_fn found)
{
    a->post.run = tell_found;
    a->found = found;
    a->doc = (struct doc){0};
    if (store_later(a->store, look_up, a) != WEIR_OK) resource_store_error(a->ex, WEIR_NOMEM);
}

bool turn_is_found(struct exchange *ex, const struct turn_asked *a)
{
    if (a->status == WEIR_NO_TURN) refuse_unknown(ex);
    else if (a->status != WEIR_OK) resource_store_error(ex, a->status);
    return a->status == WEIR_OK;
}

void turn_answer(struct exchange *ex, const struct turn_asked *a, int status)
{
    exchange_json(ex, status, a->doc.body);
}

void turn_put_location(struct exchange *ex, struct weir_slice id)
{
    char text[LOCATION_BYTES];
    int len = snprintf(text, sizeof text, "/v1/turns/%.*s", (int)id.len, id.ptr);
    exchange_field(ex, "Location", slice_of(text, (size_t)len));
}

static void answer_get(struct exchange *ex, struct turn_asked *a)
{
    if (turn_is_found(ex, a)) turn_answer(ex, a, 200);
}

void turns_get(struct exchange *ex)
{
    struct turn_asked *a = turn_asked_new(ex, sizeof *a);
    if (a) turn_ask(a, answer_get);
}

/* ---- the list ---- */

static bool has_status(const void *wanted, const struct doc *doc)
{
    const enum turn_status *status = wanted;
    struct turn_state state;
    return turn_read_state(doc->body, &state) && state.status == *status;
}

void turns_list(struct exchange *ex)
{
    static const struct document_kind kind = {"turn", turn_is_id, WEIR_NO_TURN};
    static const enum turn_status all[] = {TURN_QUEUED, TURN_RUNNING, TURN_COMPLETED, TURN_FAILED};
    struct weir_slice text;
    if (!exchange_query(ex, "status", &text)) {
        documents_list(ex, &kind, NULL, NULL);
        return;
    }
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (!weir_slice_is(text, turn_status_name(all[i]))) continue;
        documents_list(ex, &kind, has_status, &all[i]);
        return;
    }
    exchange_error(ex, WEIR_BAD_FIELD, "status is queued, running, completed or failed");
}

/* ---- the trace, and running it again ---- */

enum { STEP_BYTES = 64 }; /* of the name of a step */

struct tracing {
    struct turn_asked asked; /* the first member, see turn_asked_new() */
    struct turns *turns;
    char from[STEP_BYTES];
    bool is_brief;
    struct post post;
    struct weir_buf json;
    enum weir_status status;
};

/* By a thread of the store's: it is little more than reading. */
static void make_trace(void *user)
{
    struct tracing *t = user;
    t->status = turn_trace(t->asked.store, weir_slice_of(t->asked.id), t->is_brief, &t->json);
    loop_post(t->asked.loop, &t->post);
}

/* By a thread of its own: it takes as long as the turn. */
static void make_replay(void *user)
{
    struct tracing *t = user;
    t->status = turn_replay(t->turns, weir_slice_of(t->asked.id), weir_slice_of(t->from), &t->json);
}

static void answer_trace(struct exchange *ex, void *user)
{
    struct tracing *t = user;
    struct weir_buf json = t->json;
    if (t->status == WEIR_OK) exchange_json(ex, 200, weir_buf_slice(&json));
    else if (t->status == WEIR_CONFLICT)
        exchange_error(ex, WEIR_UNPROCESSABLE,
                       "the turn has not ended yet; it can be run again when it has");
    else if (t->status == WEIR_BAD_FIELD)
        exchange_error(ex, WEIR_BAD_FIELD, "from: the turn has no step \"%s\"", t->from);
    else resource_store_error(ex, t->status);
    weir_buf_fini(&json);
}

static void finish_trace(struct post *post)
{
    struct tracing *t = CONTAINER_OF(post, struct tracing, post);
    answer_trace(t->asked.ex, t);
}

static void begin_trace(struct exchange *ex, struct turn_asked *a)
{
    struct tracing *t = CONTAINER_OF(a, struct tracing, asked);
    if (!turn_is_found(ex, a)) return;
    weir_buf_init(&t->json, TRACE_BYTES);
    t->post.run = finish_trace;
    if (store_later(a->store, make_trace, t) != WEIR_OK) resource_store_error(ex, WEIR_NOMEM);
}

static void begin_replay(struct exchange *ex, struct turn_asked *a)
{
    struct tracing *t = CONTAINER_OF(a, struct tracing, asked);
    if (!turn_is_found(ex, a)) return;
    weir_buf_init(&t->json, TRACE_BYTES);
    resource_work(ex, make_replay, answer_trace, t);
}

void turns_trace(struct exchange *ex)
{
    struct weir_slice brief = {0};
    struct tracing *t = turn_asked_new(ex, sizeof *t);
    if (!t) return;
    bool is_said = exchange_query(ex, "brief", &brief);
    t->is_brief = weir_slice_is(brief, "true");
    if (is_said && !t->is_brief && !weir_slice_is(brief, "false")) {
        exchange_error(ex, WEIR_BAD_FIELD, "brief is true or false");
        return;
    }
    turn_ask(&t->asked, begin_trace);
}

void turns_replay(struct exchange *ex)
{
    struct weir_slice from = {0};
    struct tracing *t = turn_asked_new(ex, sizeof *t);
    if (!t) return;
    if (exchange_query(ex, "from", &from) && from.len >= sizeof t->from) {
        exchange_error(ex, WEIR_BAD_FIELD, "from: there is no step of that name");
        return;
    }
    memcpy(t->from, from.len > 0 ? from.ptr : "", from.len);
    t->turns = server_turns(exchange_server(ex));
    turn_ask(&t->asked, begin_replay);
}

/* ---- cancelling ---- */

struct cancelling {
    struct turn_asked asked; /* the first member, see turn_asked_new() */
    struct idempotency key;
    struct commit_result result;
    struct post post;
};

static struct cancelling *cancelling_of(struct turn_asked *a)
{
    return CONTAINER_OF(a, struct cancelling, asked);
}

static void refuse_ended(struct exchange *ex)
{
    exchange_error(ex, WEIR_EXISTS, "the turn has ended already");
}

static void answer_cancelled(struct exchange *ex, struct turn_asked *a)
{
    if (turn_is_found(ex, a)) turn_answer(ex, a, 202);
}

static void key_was_kept(struct exchange *ex, const struct commit_result *result)
{
    struct cancelling *c = exchange_data(ex);
    /* What was asked for has been done, and is durable; that it cannot be told again, is not much.
     */
    (void)result;
    idempotency_fini(&c->key);
    c->asked.key = NULL;
    turn_ask(&c->asked, answer_cancelled);
}

static enum weir_status decide_key(void *user, struct commit_view *view, struct commit *commit)
{
    struct cancelling *c = user;
    struct idempotent_answer answer = {.status = 202, .turn = weir_slice_of(c->asked.id)};
    return idempotency_decide(&c->key, view, commit, &answer);
}

static void go_on_cancelled(struct post *post)
{
    struct cancelling *c = CONTAINER_OF(post, struct cancelling, post);
    struct exchange *ex = c->asked.ex;
    struct commit *commit = NULL;
    if (c->result.status == WEIR_NOT_FOUND) refuse_ended(ex);
    else if (c->result.status != WEIR_OK) resource_store_error(ex, c->result.status);
    else if (c->key.has_key && (commit = commit_new(1024))) {
        exchange_set_data(ex, c);
        commit_decide(commit, false, decide_key, c);
        exchange_commit(ex, commit, key_was_kept);
        return;
    } else {
        c->asked.key = NULL;
        turn_ask(&c->asked, answer_cancelled);
        return;
    }
}

/* The committer's thread. */
static void was_cancelled(void *user, const struct commit_result *result)
{
    struct cancelling *c = user;
    c->result = *result;
    loop_post(c->asked.loop, &c->post);
}

/* The key was used: for this, and the turn is told as it is now, or for something else. */
static void answer_by_key(struct exchange *ex, struct turn_asked *a)
{
    if (a->key_status == WEIR_EXISTS) {
        idempotency_mark(ex);
        turn_answer(ex, a, 202);
    } else if (a->key_status == WEIR_IDEMPOTENCY) {
        exchange_error(ex, WEIR_IDEMPOTENCY, NULL);
    } else {
        resource_store_error(ex, a->key_status);
    }
}

static void begin_cancel(struct exchange *ex, struct turn_asked *a)
{
    struct cancelling *c = cancelling_of(a);
    bool has_more = false;
    if (!turn_is_found(ex, a)) (void)0;
    else if (a->key_status != WEIR_OK) answer_by_key(ex, a);
    else if (turn_has_ended(a->state.status)) refuse_ended(ex);
    else has_more = true;
    idempotency_fini(&c->key);
    if (!has_more) return;
    c->post.run = go_on_cancelled;
    turns_cancel(server_turns(exchange_server(ex)), weir_slice_of(a->id), was_cancelled, c);
}

void turns_cancel_post(struct exchange *ex)
{
    struct cancelling *c = turn_asked_new(ex, sizeof *c);
    if (!c || !idempotency_read(ex, &c->key)) return;
    c->asked.key = &c->key;
    turn_ask(&c->asked, begin_cancel);
}
