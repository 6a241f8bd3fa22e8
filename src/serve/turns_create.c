/* SPDX-License-Identifier: Apache-2.0 */
/*
 * POST /v1/turns: the body is looked at, and everything that a turn begins with is one commit: the
 * Turn, its run, one of the owner's places, and the key by which the request may be sent again. Two
 * requests at the same instant are decided one after the other, so neither the places nor the keys
 * can be had twice.
 *
 * With "stream": false the answer waits for the end of the turn. Whether anybody still waits for
 * the answer means nothing to the turn.
 */
#include "base/slice.h"
#include "serve/body.h"
#include "serve/log_wait.h"
#include "serve/turns_impl.h"

enum {
    BODY_VALUES_BYTES = 64 << 20, /* of a body, as values */
    COMMIT_OVERHEAD_BYTES = 2048,
};

struct creation {
    struct turn_asked asked; /* for looking at the turn later */
    struct log_wait wait;
    struct idempotency key;
    struct turn_draft draft;
    bool is_streamed;
};

/* ---- the body ---- */

static bool is_content(const struct weir_json *content, size_t i, struct flaw *f)
{
    return weir_json_type_of(content) == WEIR_JSON_STRING ||
           flaw_set(f, "has to be a string", "messages[%zu].content", i);
}

static bool check_messages(const struct weir_json *messages, struct flaw *f)
{
    size_t n;
    const struct weir_json *last = body_check_messages(messages, is_content, &n, f);
    if (!last || body_is_users(last)) return last != NULL;
    flaw_set(f, "has to be \"user\": the last message is the question", "messages[%zu].role",
             n - 1);
    f->code = WEIR_BAD_REQUEST;
    return false;
}

static bool check_body(const struct weir_json *body, struct turn_request *r, bool *is_streamed,
                       struct flaw *f)
{
    static const char flag[] = "has to be true or false";
    const struct weir_json *context = weir_json_get_str(body, "context");
    r->messages = weir_json_get_str(body, "messages");
    if (!check_messages(r->messages, f)) return false;
    if (!body_take_flag(body, "stream", is_streamed)) return flaw_set(f, flag, "stream");
    if (context && weir_json_type_of(context) != WEIR_JSON_OBJECT)
        return flaw_set(f, "has to be an object", "context");
    if (!body_take_flag(context, "include_memory", &r->has_memory))
        return flaw_set(f, flag, "context.include_memory");
    if (!body_take_flag(context, "include_biomarkers", &r->has_biomarkers))
        return flaw_set(f, flag, "context.include_biomarkers");
    return true;
}

/* ---- the end of it ---- */

static void answer_end(struct exchange *ex, struct turn_asked *a)
{
    if (!turn_is_found(ex, a)) return;
    if (turn_has_ended(a->state.status)) {
        turn_answer(ex, a, 200);
        return;
    }
    turn_put_location(ex, weir_slice_of(a->id));
    exchange_error(ex, WEIR_SHUTDOWN,
                   "the server is going down; the turn goes on with the next "
                   "one, ask for it there");
}

static void on_turn_ended(struct post *post)
{
    struct creation *c = CONTAINER_OF(post, struct creation, wait.post);
    turn_ask(&c->asked, answer_end);
}

static void wait_for_end(struct exchange *ex, struct creation *c)
{
    turn_log(c->wait.log, weir_slice_of(c->asked.id));
    c->wait.loop = c->asked.loop;
    c->wait.post.run = on_turn_ended;
    if (log_waits_add(server_log_waits(exchange_server(ex)), &c->wait) != WEIR_OK)
        turn_ask(&c->asked, answer_end);
}

/* ---- making it ---- */

static enum weir_status decide(void *user, struct commit_view *view, struct commit *commit)
{
    struct creation *c = user;
    struct idempotent_answer answer = {.status = c->is_streamed ? 201 : 200,
                                       .turn = weir_slice_of(c->draft.id)};
    enum weir_status st = idempotency_decide(&c->key, view, commit, &answer);
    return st == WEIR_OK ? turn_draft_decide(&c->draft, view, commit) : st;
}

static void answer_again(struct exchange *ex, struct turn_asked *a)
{
    const struct creation *c = CONTAINER_OF(a, struct creation, asked);
    if (!turn_is_found(ex, a)) return;
    idempotency_mark(ex);
    if (c->is_streamed) turn_put_location(ex, weir_slice_of(a->id));
    turn_answer(ex, a, c->is_streamed ? 201 : 200);
}

static void answer_made(struct exchange *ex, struct creation *c)
{
    struct turns *turns = server_turns(exchange_server(ex));
    struct weir_slice id = weir_slice_of(c->draft.id);
    turn_asked_init(&c->asked, ex, id);
    if (!c->is_streamed) wait_for_end(ex, c);
    turns_begin(turns, id);
    if (!c->is_streamed) return;
    turn_put_location(ex, id);
    exchange_json(ex, 201, weir_buf_slice(&c->draft.turn));
}

static void answer_refused(struct exchange *ex, struct creation *c, enum weir_status st)
{
    if (st == WEIR_CONCURRENCY)
        exchange_error(ex, st, "%u turns are in flight already; try again when one has ended",
                       server_options(exchange_server(ex))->turns.user_turns);
    else if (st == WEIR_BUSY)
        exchange_error(ex, WEIR_CONCURRENCY, "the server has as many turns in flight as it takes");
    else if (st == WEIR_IDEMPOTENCY) exchange_error(ex, st, NULL);
    else if (st == WEIR_EXISTS && turn_is_id(c->key.first.turn)) {
        turn_asked_init(&c->asked, ex, c->key.first.turn);
        turn_ask(&c->asked, answer_again);
    } else {
        resource_store_error(ex, st);
    }
}

static void was_committed(struct exchange *ex, const struct commit_result *result)
{
    struct creation *c = exchange_data(ex);
    if (result->status == WEIR_OK) answer_made(ex, c);
    else answer_refused(ex, c, result->status);
    turn_draft_fini(&c->draft);
    idempotency_fini(&c->key);
}

static void create(struct exchange *ex, struct creation *c, const struct turn_request *r)
{
    enum weir_status st = turn_draft_init(&c->draft, server_turns(exchange_server(ex)), r);
    struct commit *commit = NULL;
    if (st == WEIR_OK) {
        commit = commit_new(2 * c->draft.turn.len + COMMIT_OVERHEAD_BYTES);
        if (!commit) st = WEIR_NOMEM;
    }
    if (st != WEIR_OK) {
        turn_draft_fini(&c->draft);
        idempotency_fini(&c->key);
        answer_refused(ex, c, st);
        return;
    }
    exchange_set_data(ex, c);
    commit_decide(commit, false, decide, c);
    exchange_commit(ex, commit, was_committed);
}

static void read_request(struct exchange *ex, struct creation *c, struct weir_json_doc *doc)
{
    struct flaw flaw = {.code = WEIR_OK};
    struct turn_request r = {.owner = resource_owner(ex),
                             .request_id = exchange_request_id(ex),
                             .has_memory = true,
                             .has_biomarkers = true};
    const struct weir_json *body = resource_read_object(ex, doc);
    if (!body || !idempotency_read(ex, &c->key)) return;
    c->is_streamed = true;
    if (check_body(body, &r, &c->is_streamed, &flaw)) create(ex, c, &r);
    else exchange_error(ex, flaw.code, "%s %s", flaw.path, flaw.text);
}

void turns_post(struct exchange *ex)
{
    if (!resource_takes_runs(ex)) return;
    if (!resource_is_json(ex)) {
        exchange_error(ex, WEIR_BAD_TYPE, "the body has to be application/json");
        return;
    }
    struct creation *c = exchange_alloc(ex, sizeof *c);
    struct weir_json_doc *doc = weir_json_doc_new(BODY_VALUES_BYTES);
    if (c) memset(c, 0, sizeof *c);
    if (c && doc) read_request(ex, c, doc);
    else resource_store_error(ex, WEIR_NOMEM);
    weir_json_doc_free(doc);
}
