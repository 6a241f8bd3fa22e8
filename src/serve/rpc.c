/* SPDX-License-Identifier: Apache-2.0 */
/*
 * POST /rpc/SPACE/METHOD: the calls of sessions. {"json": input} comes, {"json": output} goes; see
 * docs/sessions.md. What a method does is src/session's; this is its way through the server:
 *
 *   handler (loop)     which method; may the key; is the input one
 *   prepare (store)    is it a call that was sent again; what the method has to read
 *   commit             what it decides, if it changes anything
 *   answer (loop)
 *
 * The answer of a method that only reads is written where it was read, for it may be long.
 */
#include "base/container.h"
#include "base/slice.h"
#include "io/loop.h"
#include "serve/idempotency.h"
#include "session/session.h"

enum {
    INPUT_VALUES_BYTES = 64 << 20, /* of a body as values */
    ANSWER_BYTES = 64 << 20,
    COMMIT_OVERHEAD_BYTES = 16 << 10,
};

/* A call under way. In the exchange's memory. */
struct calling {
    struct post post;
    struct exchange *ex;
    struct loop *loop;
    struct session_call *call;
    struct idempotency key;
    enum weir_status status;
    size_t body_len;
    struct weir_buf answer;
};

static void calling_fini(struct calling *c)
{
    session_call_free(c->call);
    idempotency_fini(&c->key);
    weir_buf_fini(&c->answer);
}

/* ---- answering ---- */

static void put_answer(struct calling *c)
{
    weir_buf_append_str(&c->answer, "{\"json\":");
    session_call_put(c->call, &c->answer);
    weir_buf_append_char(&c->answer, '}');
}

static void answer_refused(struct calling *c, enum weir_status st)
{
    const char *why = c->call ? session_call_why(c->call) : "";
    if (c->call) exchange_blame(c->ex, session_call_field(c->call));
    if (why[0] != 0) exchange_error(c->ex, st, "%s", why);
    else resource_store_error(c->ex, st);
}

static void answer(struct calling *c, enum weir_status st)
{
    struct exchange *ex = c->ex;
    if (st == WEIR_OK) st = weir_buf_status(&c->answer);
    if (st == WEIR_OK) exchange_json(ex, 200, weir_buf_slice(&c->answer));
    else if (st == WEIR_EXISTS && c->key.first.body.len > 0) idempotency_replay(ex, &c->key);
    else if (st == WEIR_IDEMPOTENCY) exchange_error(ex, st, NULL);
    else answer_refused(c, st);
    calling_fini(c);
}

/* ---- its way ---- */

static enum weir_status decide(void *user, struct commit_view *view, struct commit *commit)
{
    struct calling *c = user;
    weir_buf_reset(&c->answer);
    enum weir_status st = idempotency_look(&c->key, view);
    if (st == WEIR_OK) st = session_call_decide(c->call, view, commit);
    if (st != WEIR_OK || !c->key.has_key) return st;
    put_answer(c);
    st = weir_buf_status(&c->answer);
    const struct idempotent_answer first = {.status = 200, .body = weir_buf_slice(&c->answer)};
    return st == WEIR_OK ? idempotency_keep(&c->key, commit, &first) : st;
}

static void was_committed(struct exchange *ex, const struct commit_result *result)
{
    struct calling *c = exchange_data(ex);
    session_call_committed(c->call, result->status);
    if (result->status == WEIR_OK && c->answer.len == 0) put_answer(c);
    answer(c, result->status);
}

/* What changed nothing is kept under its key as well: sent again, it must not change anything. */
static bool commits(const struct calling *c)
{
    if (session_call_commits(c->call)) return true;
    return session_call_is_settled(c->call) && c->key.has_key;
}

static void was_prepared(struct post *post)
{
    struct calling *c = CONTAINER_OF(post, struct calling, post);
    if (c->status != WEIR_OK || !commits(c)) {
        answer(c, c->status);
        return;
    }
    struct commit *commit = commit_new(2 * c->body_len + COMMIT_OVERHEAD_BYTES);
    if (!commit) {
        answer(c, WEIR_NOMEM);
        return;
    }
    exchange_set_data(c->ex, c);
    commit_decide(commit, false, decide, c);
    exchange_commit(c->ex, commit, was_committed);
}

/* By a thread of the store's. */
static void prepare(void *user)
{
    struct calling *c = user;
    c->status = idempotency_find(&c->key, server_store(exchange_server(c->ex)));
    if (c->status == WEIR_OK) c->status = session_call_prepare(c->call);
    if (c->status == WEIR_OK && !commits(c)) put_answer(c);
    loop_post(c->loop, &c->post);
}

/* ---- the request ---- */

/* For methods that need none. NULL when that was answered with an error. */
static const struct weir_json *empty_input(struct exchange *ex, struct weir_json_doc *doc)
{
    const struct weir_json *input = NULL;
    weir_json_doc_reset(doc);
    enum weir_status st = weir_json_parse(doc, SLICE("{}"), &input, NULL);
    if (st == WEIR_OK) return input;
    resource_store_error(ex, st);
    return NULL;
}

/* The input; NULL when that was answered with an error. */
static const struct weir_json *find_input(struct exchange *ex, struct weir_json_doc *doc)
{
    if (exchange_body(ex).len == 0) return empty_input(ex, doc);
    if (!resource_is_json(ex)) {
        exchange_error(ex, WEIR_BAD_TYPE, "the body has to be application/json");
        return NULL;
    }
    const struct weir_json *body = resource_read_object(ex, doc);
    if (!body) return NULL;
    const struct weir_json *input = weir_json_get_str(body, "json");
    size_t n_meta = weir_json_get_str(body, "meta") ? 1 : 0;
    /* {"meta":…} alone is what some write for a method without input. */
    if (!input && weir_json_count(body) == n_meta) return empty_input(ex, doc);
    if (weir_json_type_of(input) == WEIR_JSON_OBJECT) return input;
    exchange_error(ex, WEIR_BAD_FIELD, "the body has to be {\"json\": input}, with an object");
    return NULL;
}

/* False when it was answered with an error. */
static bool may_call(struct exchange *ex, const struct session_method *m)
{
    enum scope needed = m && session_method_writes(m) ? SCOPE_WRITE : SCOPE_READ;
    if (!m) {
        exchange_error(ex, WEIR_NOT_FOUND, "there is no such method");
        return false;
    }
    if ((exchange_access(ex)->scopes & needed) != 0) return true;
    exchange_field(ex, "WWW-Authenticate",
                   SLICE("Bearer realm=\"weir\", error=\"insufficient_scope\""));
    exchange_error(ex, WEIR_FORBIDDEN, NULL);
    return false;
}

static void begin(struct calling *c, const struct session_method *m, const struct weir_json *input)
{
    struct exchange *ex = c->ex;
    struct server *server = exchange_server(ex);
    if (!idempotency_read(ex, &c->key)) {
        calling_fini(c);
        return;
    }
    enum weir_status st =
        session_call_new(&c->call, server_sessions(server), m, resource_owner(ex), input);
    if (st == WEIR_OK) st = store_later(server_store(server), prepare, c);
    if (st == WEIR_OK) return;
    answer_refused(c, st);
    calling_fini(c);
}

void rpc_post(struct exchange *ex)
{
    const struct session_method *m =
        session_method_find(exchange_param(ex, 0), exchange_param(ex, 1));
    if (!may_call(ex, m)) return;
    if (session_method_begins(m) && !resource_takes_runs(ex)) return;
    struct calling *c = exchange_alloc(ex, sizeof *c);
    struct weir_json_doc *doc = weir_json_doc_new(INPUT_VALUES_BYTES);
    const struct weir_json *input = NULL;
    if (c && doc) input = find_input(ex, doc);
    else resource_store_error(ex, WEIR_NOMEM);
    if (input) {
        *c = (struct calling){.post = {.run = was_prepared},
                              .ex = ex,
                              .loop = worker_loop(exchange_worker(ex)),
                              .body_len = exchange_body(ex).len};
        weir_buf_init(&c->answer, ANSWER_BYTES);
        begin(c, m, input);
    }
    weir_json_doc_free(doc);
}
