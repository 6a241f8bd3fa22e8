/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /v1/stream/__ds: subscriptions, and the key that webhooks are signed with. What a request says
 * is copied and given to the hooks, which answer when it is durable; errors that are theirs have
 * the protocol's own codes.
 */
#include <strings.h>

#include "base/container.h"
#include "base/slice.h"
#include "hook/hooks.h"
#include "io/loop.h"
#include "serve/ds.h"
#include "serve/resource.h"
#include "stream/media.h"

/* A request that the hooks have. */
struct asking {
    struct hooks_request request;
    struct post post;
    struct exchange *ex;
    struct loop *loop;
};

static void answer(struct post *post)
{
    struct asking *a = CONTAINER_OF(post, struct asking, post);
    struct hooks_request *r = &a->request;
    struct weir_slice text = weir_buf_slice(&r->answer);
    ds_common_fields(a->ex);
    if (r->failure != WEIR_OK) {
        resource_store_error(a->ex, r->failure);
    } else if (r->status == 204) {
        exchange_empty(a->ex, 204);
    } else if (r->action == HOOKS_JWKS) {
        exchange_field(a->ex, "Cache-Control", SLICE("public, max-age=300"));
        exchange_text(a->ex, 200, "application/jwk-set+json", text);
    } else {
        exchange_field(a->ex, "Cache-Control", SLICE("no-store"));
        exchange_json(a->ex, r->status, text);
    }
    /* It may hold a token. */
    if (r->answer.len > 0) explicit_bzero(r->answer.ptr, r->answer.len);
    weir_buf_fini(&r->answer);
}

/* By the thread of the hooks. */
static void on_done(struct hooks_request *r)
{
    struct asking *a = CONTAINER_OF(r, struct asking, request);
    loop_post(a->loop, &a->post);
}

/* What "Bearer" says; empty when it says nothing. */
static struct weir_slice bearer(struct exchange *ex)
{
    static const char scheme[] = "bearer ";
    enum { SCHEME_LEN = sizeof scheme - 1 };
    struct weir_slice value;
    if (!http_find(exchange_head(ex), "authorization", &value) || value.len <= SCHEME_LEN ||
        strncasecmp(value.ptr, scheme, SCHEME_LEN) != 0)
        return (struct weir_slice){0};
    return slice_from(value, SCHEME_LEN);
}

/* A browser sends what is not JSON elsewhere without asking; such a page is not listened to. */
static bool is_sent_by_page(struct exchange *ex)
{
    struct weir_slice origin, type;
    if (!http_find(exchange_head(ex), "origin", &origin)) return false;
    return !http_find(exchange_head(ex), "content-type", &type) ||
           !media_is_same(media_essence(type), SLICE("application/json"));
}

static void ask(struct exchange *ex, enum hooks_action action, struct weir_slice path)
{
    const struct access *who = exchange_access(ex);
    bool has_id = action != HOOKS_JWKS;
    bool has_token = action == HOOKS_CALLBACK || action == HOOKS_ACK || action == HOOKS_RELEASE;
    struct asking *a = exchange_alloc(ex, sizeof *a);
    if (!a) {
        resource_store_error(ex, WEIR_NOMEM);
        return;
    }
    *a = (struct asking){
        .post = {.run = answer},
        .ex = ex,
        .loop = worker_loop(exchange_worker(ex)),
        .request = {.action = action,
                    .owner = weir_slice_of(who->owner),
                    /* Whoever has the wake's token need not be the owner. */
                    .sees_all = has_token || (who->scopes & SCOPE_ADMIN) != 0,
                    .id = has_id ? exchange_param(ex, 0) : SLICE(""),
                    .path = path,
                    .token = has_token ? bearer(ex) : SLICE(""),
                    .body = exchange_body(ex),
                    .done = on_done},
    };
    struct hooks_request *r = &a->request;
    if (!ds_keep(ex, &r->id) || !ds_keep(ex, &r->path) || !ds_keep(ex, &r->token) ||
        !ds_keep(ex, &r->body))
        return;
    enum weir_status st = hooks_ask(server_hooks(exchange_server(ex)), &a->request);
    if (st != WEIR_OK) resource_store_error(ex, st);
}

/* Who subscribes learns of streams, and makes the server write. */
static bool may_subscribe(struct exchange *ex)
{
    const unsigned needed = SCOPE_READ | SCOPE_WRITE;
    if ((exchange_access(ex)->scopes & needed) == needed) return true;
    exchange_error(ex, WEIR_FORBIDDEN, "to subscribe, a key has to allow reading and writing");
    return false;
}

static void ask_by_post(struct exchange *ex, enum hooks_action action)
{
    if (is_sent_by_page(ex))
        exchange_error(ex, WEIR_BAD_TYPE, "the body has to be application/json");
    else ask(ex, action, SLICE(""));
}

void subscriptions_put(struct exchange *ex)
{
    if (may_subscribe(ex)) ask(ex, HOOKS_PUT, SLICE(""));
}

void subscriptions_get(struct exchange *ex)
{
    ask(ex, HOOKS_GET, SLICE(""));
}

void subscriptions_delete(struct exchange *ex)
{
    ask(ex, HOOKS_DELETE, SLICE(""));
}

void subscriptions_add(struct exchange *ex)
{
    if (may_subscribe(ex)) ask_by_post(ex, HOOKS_ADD_STREAMS);
}

void subscriptions_remove(struct exchange *ex)
{
    ask(ex, HOOKS_REMOVE_STREAM, exchange_param(ex, 1));
}

void subscriptions_callback(struct exchange *ex)
{
    ask_by_post(ex, HOOKS_CALLBACK);
}

void subscriptions_claim(struct exchange *ex)
{
    if (may_subscribe(ex)) ask_by_post(ex, HOOKS_CLAIM);
}

void subscriptions_ack(struct exchange *ex)
{
    ask_by_post(ex, HOOKS_ACK);
}

void subscriptions_release(struct exchange *ex)
{
    ask_by_post(ex, HOOKS_RELEASE);
}

void subscriptions_jwks(struct exchange *ex)
{
    ask(ex, HOOKS_JWKS, SLICE(""));
}
