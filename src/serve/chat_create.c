/* SPDX-License-Identifier: Apache-2.0 */
/*
 * POST of a chat: what was asked becomes a reply by one commit, and the answer is its events, or,
 * with "stream": false, what it said when it is at its end.
 *
 *   handler (loop)        the body is checked; Last-Event-ID begins nothing
 *   prepare (store)       is it a request sent again; the draft
 *   commit                the reply is there, or why not
 *   chat_attach()         its events; or the wait, then read_result (store), then the answer
 *
 * A request that waits counts as a reader of its reply.
 */
#include "base/slice.h"
#include "serve/chat_impl.h"
#include "serve/idempotency.h"
#include "serve/log_wait.h"

enum {
    BODY_VALUES_BYTES = 64 << 20, /* of a body as values */
    COMMIT_OVERHEAD_BYTES = 16 << 10,
    RESULT_BYTES = 16 << 20,
    RESULT_VALUES_BYTES = 4 << 20, /* of one event */
};

struct creation {
    struct chat_attach attach;
    struct post post;
    struct weir_json_doc *body;
    struct chat_request request; /* borrows from the body */
    struct chat_draft draft;
    struct idempotency key;
    enum weir_status status;
    size_t body_len;
    bool is_streamed;
    bool is_waiting; /* counts as a reader */
    bool has_ended;

    struct log_wait wait;
    struct weir_buf result;
    const char *failed;
};

static void creation_fini(struct creation *c)
{
    chat_draft_fini(&c->draft);
    idempotency_fini(&c->key);
    weir_json_doc_free(c->body);
    weir_buf_fini(&c->result);
    if (c->is_waiting) chats_readers(c->attach.chats, weir_slice_of(c->attach.message), -1);
}

/* ---- without a stream ---- */

static enum weir_status status_of_code(struct weir_slice code)
{
    for (int i = 1; i < WEIR_N_STATUS; i++)
        if (weir_slice_is(code, weir_status_name((enum weir_status)i))) return (enum weir_status)i;
    return WEIR_UPSTREAM;
}

/* As every error; the head says which reply has the rest. */
static void answer_failed(struct exchange *ex, const struct creation *c, const struct weir_json *v)
{
    struct weir_slice reason = weir_json_text(weir_json_get_str(v, "reason"));
    struct weir_slice text = weir_json_text(weir_json_get_str(v, "message"));
    if (strcmp(c->failed, "dlp_blocked") == 0)
        exchange_error(ex, WEIR_FORBIDDEN,
                       "there is something private in it, and it was not sent: %.*s",
                       (int)reason.len, reason.ptr ? reason.ptr : "");
    else
        exchange_error(ex, status_of_code(weir_json_text(weir_json_get_str(v, "code"))), "%.*s",
                       (int)text.len, text.ptr ? text.ptr : "");
}

static void answer_result(struct exchange *ex, const struct creation *c)
{
    const struct weir_json *v = NULL;
    chat_put_ids(ex, c->attach.message, c->attach.reply.conversation);
    if (!c->failed) {
        exchange_json(ex, 200, weir_buf_slice(&c->result));
        return;
    }
    struct weir_json_doc *doc = weir_json_doc_new(RESULT_VALUES_BYTES);
    enum weir_status st =
        doc ? weir_json_parse(doc, weir_buf_slice(&c->result), &v, NULL) : WEIR_NOMEM;
    if (st == WEIR_OK) answer_failed(ex, c, v);
    else resource_store_error(ex, st);
    weir_json_doc_free(doc);
}

static void answer_end(struct post *post)
{
    struct creation *c = CONTAINER_OF(post, struct creation, post);
    struct exchange *ex = c->attach.ex;
    if (c->status == WEIR_OK && c->has_ended) answer_result(ex, c);
    else if (c->status == WEIR_OK && server_is_stopping(exchange_server(ex)))
        exchange_error(ex, WEIR_SHUTDOWN,
                       "the server is going down; the reply goes on with the next one");
    else if (c->status == WEIR_OK)
        exchange_error(ex, WEIR_CONFLICT, "the first request by this key is still under way");
    else resource_store_error(ex, c->status);
    creation_fini(c);
}

/* By a thread of the store's. */
static void read_result(void *user)
{
    struct creation *c = user;
    struct chat_attach *a = &c->attach;
    struct weir_slice message = weir_slice_of(a->message);
    weir_buf_init(&c->result, RESULT_BYTES);
    c->status = chats_reply(a->chats, weir_slice_of(a->owner), message, &a->reply);
    c->has_ended = c->status == WEIR_OK && a->reply.has_ended;
    if (c->has_ended) c->status = chats_result(a->chats, message, &c->result, &c->failed);
    loop_post(a->loop, &c->post);
}

static void ask_result(struct creation *c)
{
    c->post.run = answer_end;
    if (store_later(server_store(exchange_server(c->attach.ex)), read_result, c) == WEIR_OK) return;
    resource_store_error(c->attach.ex, WEIR_NOMEM);
    creation_fini(c);
}

static void on_end(struct post *post)
{
    ask_result(CONTAINER_OF(post, struct creation, wait.post));
}

/* Before it begins, so that its end is not missed. */
static void wait_for_end(struct exchange *ex, struct creation *c)
{
    c->is_waiting = true;
    chats_readers(c->attach.chats, weir_slice_of(c->attach.message), 1);
    chat_log(c->wait.log, weir_slice_of(c->attach.message));
    c->wait.loop = c->attach.loop;
    c->wait.post.run = on_end;
    if (log_waits_add(server_log_waits(exchange_server(ex)), &c->wait) != WEIR_OK) ask_result(c);
}

/* ---- making it ---- */

static enum weir_status decide(void *user, struct commit_view *view, struct commit *commit)
{
    struct creation *c = user;
    struct idempotent_answer answer = {.status = 200, .turn = weir_slice_of(c->draft.id)};
    enum weir_status st = idempotency_decide(&c->key, view, commit, &answer);
    return st == WEIR_OK ? chat_draft_decide(&c->draft, view, commit) : st;
}

/* The same reply as the first time, in the form that is asked for now. */
static void answer_again(struct exchange *ex, struct creation *c)
{
    memcpy(c->attach.message, c->key.first.turn.ptr, CHAT_MESSAGE_LEN);
    idempotency_mark(ex);
    if (!c->is_streamed) {
        ask_result(c);
        return;
    }
    creation_fini(c);
    chat_attach(&c->attach);
}

static void answer_refused(struct exchange *ex, struct creation *c, enum weir_status st)
{
    unsigned n = server_options(exchange_server(ex))->chats.user_replies;
    if (st == WEIR_EXISTS && chat_is_message(c->key.first.turn)) {
        answer_again(ex, c);
        return;
    }
    creation_fini(c);
    if (st == WEIR_NOT_FOUND)
        exchange_error(ex, st, "there is no such conversation, or no such agent");
    else if (st == WEIR_CONFLICT)
        exchange_error(ex, st, "a reply of this conversation is under way; wait for its end");
    else if (st == WEIR_CONCURRENCY)
        exchange_error(ex, st, "%u replies are in flight already; try again when one has ended", n);
    else if (st == WEIR_LIMIT)
        exchange_error(ex, WEIR_TOO_LARGE, "this is more than a conversation may have");
    else if (st == WEIR_BAD_FIELD)
        exchange_error(ex, st, "messages has nothing new from the user to reply to");
    else if (st == WEIR_IDEMPOTENCY) exchange_error(ex, st, NULL);
    else resource_store_error(ex, st);
}

static void was_committed(struct exchange *ex, const struct commit_result *result)
{
    struct creation *c = exchange_data(ex);
    struct chats *chats = c->attach.chats;
    if (result->status != WEIR_OK) {
        answer_refused(ex, c, result->status);
        return;
    }
    memcpy(c->attach.message, c->draft.id, sizeof c->attach.message);
    if (!c->is_streamed) wait_for_end(ex, c);
    chats_begin(chats, weir_slice_of(c->draft.id));
    if (!c->is_streamed) return;
    creation_fini(c);
    chat_attach(&c->attach);
}

static void was_prepared(struct post *post)
{
    struct creation *c = CONTAINER_OF(post, struct creation, post);
    struct exchange *ex = c->attach.ex;
    struct commit *commit =
        c->status == WEIR_OK ? commit_new(2 * c->body_len + COMMIT_OVERHEAD_BYTES) : NULL;
    if (!commit) {
        answer_refused(ex, c, c->status == WEIR_OK ? WEIR_NOMEM : c->status);
        return;
    }
    exchange_set_data(ex, c);
    commit_decide(commit, false, decide, c);
    exchange_commit(ex, commit, was_committed);
}

/* By a thread of the store's. */
static void prepare(void *user)
{
    struct creation *c = user;
    struct store *store = server_store(exchange_server(c->attach.ex));
    c->status = c->key.has_key ? idempotency_find(&c->key, store) : WEIR_OK;
    if (c->status == WEIR_OK) c->status = chat_draft_init(&c->draft, c->attach.chats, &c->request);
    loop_post(c->attach.loop, &c->post);
}

/* ---- the request ---- */

/* False when it was answered with an error. */
static bool read_request(struct exchange *ex, struct creation *c, bool is_direct)
{
    struct flaw flaw = {.code = WEIR_OK};
    const struct weir_json *body = resource_read_object(ex, c->body);
    if (!body || !idempotency_read(ex, &c->key)) return false;
    c->body_len = exchange_body(ex).len;
    c->is_streamed = true;
    c->request.owner = weir_slice_of(c->attach.owner);
    if (chat_body_read(body, is_direct, &c->request, &c->is_streamed, &flaw)) return true;
    exchange_error(ex, flaw.code, "%s %s", flaw.path, flaw.text);
    return false;
}

static void create(struct exchange *ex, struct creation *c, bool is_direct)
{
    c->body = weir_json_doc_new(BODY_VALUES_BYTES);
    c->post.run = was_prepared;
    if (!c->body) resource_store_error(ex, WEIR_NOMEM);
    if (c->body && read_request(ex, c, is_direct)) {
        if (store_later(server_store(exchange_server(ex)), prepare, c) == WEIR_OK) return;
        resource_store_error(ex, WEIR_NOMEM);
    }
    creation_fini(c);
}

static void post_chat(struct exchange *ex, bool is_direct)
{
    struct creation *c = exchange_alloc(ex, sizeof *c);
    if (!c) {
        resource_store_error(ex, WEIR_NOMEM);
        return;
    }
    memset(c, 0, sizeof *c);
    chat_attach_init(&c->attach, ex);
    int has_last = chat_take_last_id(ex, &c->attach);
    if (has_last < 0) return;
    if (has_last > 0) chat_attach(&c->attach);
    else if (!resource_takes_runs(ex)) return;
    else if (resource_is_json(ex)) create(ex, c, is_direct);
    else exchange_error(ex, WEIR_BAD_TYPE, "the body has to be application/json");
}

void chat_post(struct exchange *ex)
{
    post_chat(ex, false);
}

void chat_direct_post(struct exchange *ex)
{
    post_chat(ex, true);
}
