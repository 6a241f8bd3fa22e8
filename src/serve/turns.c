/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /v1/turns: looking at turns, listing them, their traces, and cancelling. docs/serve.md has the
 * requests, turns_create.c and turns_events.c the others.
 *
 * A turn of somebody else is not there, and the answer is the same as for one that never was.
 */
#include <stdio.h>

#include "base/slice.h"
#include "serve/turns_impl.h"

enum {
    LIST_DEFAULT = 20,
    LIST_MAX = 100,
    LIST_SCAN = 1000,          /* turns looked at for one page */
    LIST_PAGE_BYTES = 4 << 20, /* a page ends behind this much */
    LIST_BYTES = LIST_PAGE_BYTES + STORE_DOC_BYTES + 1024,
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

struct listing {
    struct post post;
    struct exchange *ex;
    struct loop *loop;
    struct store *store;
    char owner[TURN_OWNER_BYTES];
    char after[TURN_ID_LEN + 1]; /* the last one that was looked at */
    uint64_t limit;
    bool has_status;
    enum turn_status wanted;
    struct weir_buf json;
    size_t n, n_seen;
    bool has_more;
    enum weir_status status;
};

static enum weir_status list_turn(void *user, const struct doc *doc)
{
    struct listing *l = user;
    struct turn_state state;
    bool is_turn = turn_read_state(doc->body, &state) && doc->id.len == TURN_ID_LEN;
    bool is_wanted = is_turn && (!l->has_status || state.status == l->wanted);
    bool is_full = l->n == l->limit || (l->n > 0 && l->json.len > LIST_PAGE_BYTES);
    if ((is_wanted && is_full) || l->n_seen == LIST_SCAN) {
        l->has_more = true;
        return WEIR_LIMIT;
    }
    l->n_seen++;
    memcpy(l->after, doc->id.ptr, is_turn ? TURN_ID_LEN : 0);
    if (!is_wanted) return WEIR_OK;
    if (l->n++ > 0) weir_buf_append_char(&l->json, ',');
    weir_buf_append_slice(&l->json, doc->body);
    return weir_buf_status(&l->json);
}

static void answer_list(struct post *post)
{
    struct listing *l = CONTAINER_OF(post, struct listing, post);
    struct weir_buf json = l->json; /* the listing is gone with the answer */
    if (l->status == WEIR_OK) exchange_json(l->ex, 200, weir_buf_slice(&json));
    else resource_store_error(l->ex, l->status);
    weir_buf_fini(&json);
}

/* By a thread of the store's. */
static void run_list(void *user)
{
    struct listing *l = user;
    struct doc_query query = {.kind = SLICE("turn"),
                              .owner = weir_slice_of(l->owner),
                              .after = weir_slice_of(l->after),
                              .limit = LIST_SCAN + 1,
                              .is_falling = true};
    weir_buf_init(&l->json, LIST_BYTES);
    weir_buf_append_str(&l->json, "{\"data\":[");
    l->status = store_doc_list(l->store, &query, list_turn, l);
    if (l->has_more) l->status = WEIR_OK;
    weir_buf_append_str(&l->json, "],\"next_cursor\":");
    weir_json_put_str(&l->json, l->has_more ? l->after : NULL);
    weir_buf_append_char(&l->json, '}');
    if (l->status == WEIR_OK) l->status = weir_buf_status(&l->json);
    loop_post(l->loop, &l->post);
}

/* False when that was answered with an error. */
static bool take_status(struct exchange *ex, struct listing *l)
{
    struct weir_slice text;
    if (!exchange_query(ex, "status", &text)) return true;
    for (int i = TURN_QUEUED; i <= TURN_FAILED; i++) {
        l->wanted = (enum turn_status)i;
        l->has_status = weir_slice_is(text, turn_status_name(l->wanted));
        if (l->has_status) return true;
    }
    exchange_error(ex, WEIR_BAD_FIELD, "status is queued, running, completed or failed");
    return false;
}

static bool take_page(struct exchange *ex, struct listing *l)
{
    struct weir_slice text;
    l->limit = LIST_DEFAULT;
    bool is_good = !exchange_query(ex, "limit", &text) ||
                   (resource_parse_id(text, &l->limit) && l->limit > 0 && l->limit <= LIST_MAX);
    if (!is_good) {
        exchange_error(ex, WEIR_BAD_FIELD, "limit is a whole number from 1 to %d", LIST_MAX);
        return false;
    }
    if (!exchange_query(ex, "cursor", &text)) return true;
    if (!turn_is_id(text)) {
        exchange_error(ex, WEIR_BAD_FIELD, "cursor is what next_cursor of a page says");
        return false;
    }
    memcpy(l->after, text.ptr, TURN_ID_LEN);
    return true;
}

void turns_list(struct exchange *ex)
{
    struct weir_slice owner = resource_owner(ex);
    struct listing *l = exchange_alloc(ex, sizeof *l);
    if (!l) {
        resource_store_error(ex, WEIR_NOMEM);
        return;
    }
    *l = (struct listing){.post = {.run = answer_list},
                          .ex = ex,
                          .loop = worker_loop(exchange_worker(ex)),
                          .store = server_store(exchange_server(ex))};
    memcpy(l->owner, owner.ptr, owner.len);
    if (!take_page(ex, l) || !take_status(ex, l)) return;
    if (store_later(l->store, run_list, l) != WEIR_OK) resource_store_error(ex, WEIR_NOMEM);
}

/* ---- the trace, and running it again ---- */

enum { STEP_BYTES = 64 }; /* of the name of a step */

struct tracing {
    struct turn_asked asked; /* the first member, see turn_asked_new() */
    struct turns *turns;
    char from[STEP_BYTES];
    void (*make)(void *user);
    struct weir_buf json;
    enum weir_status status;
};

static void make_trace(void *user)
{
    struct tracing *t = user;
    t->status = turn_trace(t->asked.store, weir_slice_of(t->asked.id), &t->json);
}

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
        exchange_error(ex, WEIR_CONFLICT, "the turn has not ended yet");
    else if (t->status == WEIR_BAD_FIELD)
        exchange_error(ex, WEIR_BAD_FIELD, "from: the turn has no step \"%s\"", t->from);
    else resource_store_error(ex, t->status);
    weir_buf_fini(&json);
}

static void begin_trace(struct exchange *ex, struct turn_asked *a)
{
    struct tracing *t = CONTAINER_OF(a, struct tracing, asked);
    if (!turn_is_found(ex, a)) return;
    weir_buf_init(&t->json, TRACE_BYTES);
    resource_work(ex, t->make, answer_trace, t);
}

void turns_trace(struct exchange *ex)
{
    struct tracing *t = turn_asked_new(ex, sizeof *t);
    if (!t) return;
    t->make = make_trace;
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
    t->make = make_replay;
    turn_ask(&t->asked, begin_trace);
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
    exchange_error(ex, WEIR_CONFLICT, "the turn has ended");
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
