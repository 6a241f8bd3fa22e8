/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What clients ask of subscriptions, decided in memory; the round makes it durable before the
 * answer leaves. Errors are {"error":{"code","message"}}, with the codes of the protocol.
 */
#include <stdio.h>
#include <stdlib.h>

#include <weir/json.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/slice.h"
#include "hook/hooks_impl.h"
#include "stream/offset.h"
#include "stream/stream.h"

enum { MS_PER_S = 1000, CANONICAL_BYTES = 4 << 20 };

/* A request while it runs. */
struct asked {
    struct hooks *h;
    struct hooks_request *r;
    struct weir_json_doc *doc;
    const struct weir_json *body; /* an object */
    struct subscription *s;       /* the one it is about, if it is there */
};

/* ---- answers ---- */

static void begin_error(struct asked *a, int status, const char *code)
{
    struct weir_buf *out = &a->r->answer;
    a->r->status = status;
    weir_buf_reset(out);
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "error");
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "code");
    weir_json_put_str(out, code);
}

static void end_error(struct asked *a, const char *message)
{
    struct weir_buf *out = &a->r->answer;
    weir_json_put_key(out, "message");
    weir_json_put_str(out, message);
    weir_json_put_end_object(out);
    weir_json_put_end_object(out);
}

static void refuse(struct asked *a, int status, const char *code, const char *message)
{
    begin_error(a, status, code);
    end_error(a, message);
}

static void refuse_input(struct asked *a, const char *message)
{
    refuse(a, 400, "INVALID_REQUEST", message);
}

static void answer_subscription(struct asked *a, int status)
{
    a->r->status = status;
    describe_subscription(a->h, a->s, &a->r->answer);
}

static void answer_done(struct asked *a, bool next_wake)
{
    struct weir_buf *out = &a->r->answer;
    a->r->status = 200;
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "ok");
    weir_json_put_bool(out, true);
    weir_json_put_key(out, "next_wake");
    weir_json_put_bool(out, next_wake);
    weir_json_put_end_object(out);
}

/* ---- what requests say ---- */

static struct weir_slice without_slashes(struct weir_slice text)
{
    while (text.len > 0 && text.ptr[0] == '/') text = slice_from(text, 1);
    while (text.len > 0 && text.ptr[text.len - 1] == '/') text.len--;
    return text;
}

/* Names that begin like this are the protocol's own. */
static bool is_reserved(struct weir_slice name)
{
    static const char reserved[] = "__ds";
    size_t len = sizeof reserved - 1;
    return name.len >= len && memcmp(name.ptr, reserved, len) == 0 &&
           (name.len == len || name.ptr[len] == '/');
}

static bool is_stream(struct weir_slice name)
{
    return stream_is_name(name) && !is_reserved(name);
}

/* A string without the slashes around it; empty when it is not there. */
static struct weir_slice name_of(const struct weir_json *v)
{
    if (weir_json_type_of(v) != WEIR_JSON_STRING) return (struct weir_slice){0};
    return without_slashes(weir_json_text(v));
}

/* A text that ends where its bytes do, for it will be one with a NUL. */
static bool is_text(struct weir_slice text, size_t most)
{
    return text.len <= most && (text.len == 0 || !memchr(text.ptr, 0, text.len));
}

/* ---- making ---- */

struct wish {
    struct subscription_config config;
    struct weir_slice *streams;
    size_t n_streams;
};

static bool take_streams(struct asked *a, struct wish *w)
{
    const struct weir_json *list = weir_json_get_str(a->body, "streams");
    if (!list) return true;
    size_t n = weir_json_count(list);
    bool is_list = weir_json_type_of(list) == WEIR_JSON_ARRAY && n <= SUBSCRIPTION_MAX_LINKS;
    w->streams = is_list ? mem_alloc((n + 1) * sizeof *w->streams) : NULL;
    if (is_list && !w->streams) {
        a->r->failure = WEIR_NOMEM;
        return false;
    }
    const struct weir_json *v = is_list ? weir_json_first(list) : NULL;
    for (; v; v = weir_json_next(v)) {
        w->streams[w->n_streams++] = name_of(v);
        if (!is_stream(name_of(v))) is_list = false;
    }
    if (!is_list) refuse_input(a, "streams has to be an array of names of streams");
    return is_list;
}

static bool take_lease(struct asked *a, struct wish *w)
{
    const struct weir_json *v = weir_json_get_str(a->body, "lease_ttl_ms");
    w->config.lease_ttl_ms = LEASE_DEFAULT_MS;
    if (!v) return true;
    if (weir_json_int64(v, &w->config.lease_ttl_ms) && w->config.lease_ttl_ms >= LEASE_MIN_MS &&
        w->config.lease_ttl_ms <= LEASE_MAX_MS)
        return true;
    refuse_input(a, "lease_ttl_ms has to be a whole number from 1000 to 600000");
    return false;
}

static bool take_webhook(struct asked *a, struct wish *w)
{
    const struct weir_json *url = weir_json_get_str(weir_json_get_str(a->body, "webhook"), "url");
    const char *why;
    if (weir_json_type_of(url) != WEIR_JSON_STRING || weir_json_text(url).len == 0) {
        refuse_input(a, "a webhook subscription needs webhook.url");
        return false;
    }
    w->config.url = weir_json_text(url);
    enum weir_status st = fetch_check_url(a->h->options.rules, w->config.url, &why);
    if (st != WEIR_OK) refuse(a, 400, "WEBHOOK_URL_REJECTED", why);
    return st == WEIR_OK;
}

static bool take_wake_stream(struct asked *a, struct wish *w)
{
    w->config.wake_stream = name_of(weir_json_get_str(a->body, "wake_stream"));
    bool is_good = is_stream(w->config.wake_stream);
    for (size_t i = 0; i < w->n_streams; i++)
        is_good &= !slice_eq(w->streams[i], w->config.wake_stream);
    if (!is_good)
        refuse_input(a, "a pull-wake subscription needs a wake_stream, which is none of its own");
    return is_good;
}

static bool take_texts(struct asked *a, struct wish *w)
{
    const struct weir_json *description = weir_json_get_str(a->body, "description");
    w->config.pattern = name_of(weir_json_get_str(a->body, "pattern"));
    if (weir_json_type_of(description) == WEIR_JSON_STRING)
        w->config.description = weir_json_text(description);
    if (!is_text(w->config.description, SUBSCRIPTION_TEXT_BYTES)) {
        refuse_input(a, "the description is too long");
        return false;
    }
    if (w->config.pattern.len > 0 && !is_stream(w->config.pattern)) {
        refuse_input(a, "the pattern is not one of names of streams");
        return false;
    }
    if (w->config.pattern.len == 0 && w->n_streams == 0) {
        refuse_input(a, "at least one of pattern and streams is needed");
        return false;
    }
    return true;
}

static bool take_wish(struct asked *a, struct wish *w)
{
    const struct weir_json *type = weir_json_get_str(a->body, "type");
    bool is_webhook = weir_slice_is(weir_json_text(type), "webhook");
    if (!is_webhook && !weir_slice_is(weir_json_text(type), "pull-wake")) {
        refuse_input(a, "type has to be \"webhook\" or \"pull-wake\"");
        return false;
    }
    w->config.type = is_webhook ? SUBSCRIPTION_WEBHOOK : SUBSCRIPTION_PULL;
    return take_streams(a, w) && take_texts(a, w) && take_lease(a, w) &&
           (is_webhook ? take_webhook(a, w) : take_wake_stream(a, w));
}

static int compare_slices(const void *left, const void *right)
{
    const struct weir_slice *a = left;
    const struct weir_slice *b = right;
    int order = memcmp(a->ptr, b->ptr, a->len < b->len ? a->len : b->len);
    return order != 0 ? order : (a->len > b->len) - (a->len < b->len);
}

/* The same wish gives the same bytes, in whatever order its streams come. */
static WEIR_MUST_CHECK enum weir_status hash_wish(struct wish *w, unsigned char out[SHA256_BYTES])
{
    const struct subscription_config *c = &w->config;
    struct weir_buf text;
    weir_buf_init(&text, CANONICAL_BYTES);
    weir_json_put_begin_array(&text);
    weir_json_put_int(&text, c->type);
    weir_json_put_string(&text, c->pattern);
    weir_json_put_string(&text, c->url);
    weir_json_put_string(&text, c->wake_stream);
    weir_json_put_string(&text, c->description);
    weir_json_put_int(&text, c->lease_ttl_ms);
    if (w->n_streams > 0) qsort(w->streams, w->n_streams, sizeof *w->streams, compare_slices);
    for (size_t i = 0; i < w->n_streams; i++)
        if (i == 0 || !slice_eq(w->streams[i], w->streams[i - 1]))
            weir_json_put_string(&text, w->streams[i]);
    weir_json_put_end_array(&text);
    enum weir_status st = weir_buf_status(&text);
    if (st == WEIR_OK) sha256(weir_buf_slice(&text), out);
    weir_buf_fini(&text);
    return st;
}

static WEIR_MUST_CHECK enum weir_status link_wish(struct asked *a, struct subscription *s,
                                                  const struct wish *w)
{
    enum weir_status st = WEIR_OK;
    for (size_t i = 0; i < w->n_streams && st == WEIR_OK; i++)
        st = watch_link_one(a->h, s, w->streams[i]);
    return st == WEIR_OK ? watch_link_all(a->h, s) : st;
}

static WEIR_MUST_CHECK enum weir_status create(struct asked *a, const struct wish *w,
                                               const unsigned char hash[SHA256_BYTES])
{
    struct subscription *s = subscription_new(a->r->id, a->r->owner, &w->config);
    if (!s) return WEIR_NOMEM;
    memcpy(s->hash, hash, SHA256_BYTES);
    s->created_ms = clock_wall_ms(a->h->options.clock);
    s->is_new = true;
    /* In the table before streams are listed: what is appended meanwhile is news. */
    enum weir_status st = hooks_add(a->h, s);
    if (st != WEIR_OK) {
        subscription_free(s);
        return st;
    }
    st = link_wish(a, s, w);
    if (st != WEIR_OK) {
        hooks_forget(a->h, s);
        return st;
    }
    a->s = s;
    hooks_touch(a->h, s, true);
    return WEIR_OK;
}

static void confirm(struct asked *a, const unsigned char hash[SHA256_BYTES])
{
    bool is_own = a->r->sees_all || slice_eq(a->r->owner, weir_slice_of(a->s->owner));
    if (is_own && memcmp(a->s->hash, hash, SHA256_BYTES) == 0) answer_subscription(a, 200);
    else
        refuse(a, 409, "SUBSCRIPTION_ALREADY_EXISTS",
               "there is one of this id that was made otherwise");
}

static void put_wish(struct asked *a, struct wish *w)
{
    unsigned char hash[SHA256_BYTES];
    enum weir_status st = hash_wish(w, hash);
    if (st == WEIR_OK) st = hooks_need_signer(a->h);
    if (st == WEIR_OK && a->s) {
        confirm(a, hash);
        return;
    }
    bool has_room = a->h->subscriptions.len < HOOKS_MAX_SUBSCRIPTIONS;
    if (st == WEIR_OK && !has_room) {
        refuse(a, 409, "TOO_MANY_SUBSCRIPTIONS", "there are as many as there may be");
        return;
    }
    if (st == WEIR_OK) st = create(a, w, hash);
    if (st == WEIR_OK) answer_subscription(a, 201);
    else if (st == WEIR_LIMIT) refuse_input(a, "that is more streams than one may have");
    else a->r->failure = st;
}

static void run_put(struct asked *a)
{
    struct wish w = {.n_streams = 0};
    if (!is_text(a->r->id, SUBSCRIPTION_ID_BYTES) || !stream_is_name(a->r->id))
        refuse_input(a, "an id is 1 to 200 bytes of UTF-8 without control characters");
    else if (take_wish(a, &w)) put_wish(a, &w);
    mem_free(w.streams);
}

/* ---- looking, removing, streams ---- */

static void run_get(struct asked *a)
{
    enum weir_status st = hooks_need_signer(a->h);
    if (st == WEIR_OK) answer_subscription(a, 200);
    else a->r->failure = st;
}

static void run_delete(struct asked *a)
{
    a->r->status = 204;
    a->s->is_removed = true;
    hooks_touch(a->h, a->s, true);
}

/* Whether they fit, and none is the stream that it wakes by. */
static bool may_add(struct asked *a, const struct wish *w)
{
    bool is_good = w->n_streams > 0;
    for (size_t i = 0; i < w->n_streams; i++)
        is_good &= !slice_eq(w->streams[i], a->s->config.wake_stream);
    if (!is_good) refuse_input(a, "streams has to name some, of which none is the wake_stream");
    else if (w->n_streams > SUBSCRIPTION_MAX_LINKS - a->s->by_path.len) {
        refuse_input(a, "that is more streams than one may have");
        is_good = false;
    }
    return is_good;
}

static void run_add_streams(struct asked *a)
{
    struct wish w = {.n_streams = 0};
    enum weir_status st = WEIR_OK;
    if (take_streams(a, &w) && may_add(a, &w)) {
        for (size_t i = 0; i < w.n_streams && st == WEIR_OK; i++)
            st = watch_link_one(a->h, a->s, w.streams[i]);
        hooks_touch(a->h, a->s, true);
        a->r->status = 204;
        a->r->failure = st;
    }
    mem_free(w.streams);
}

static void run_remove_stream(struct asked *a)
{
    subscription_remove_link(a->s, without_slashes(a->r->path), LINK_EXPLICIT);
    a->r->status = 204;
    hooks_touch(a->h, a->s, true);
}

/* ---- wakes ---- */

/* Whether it shows the token, id and generation of the wake that is; false when it was refused. */
static bool check_wake(struct asked *a)
{
    struct token token;
    int64_t generation = 0;
    const struct weir_json *wake_id = weir_json_get_str(a->body, "wake_id");
    enum weir_status st = hooks_need_signer(a->h);
    if (st != WEIR_OK) {
        a->r->failure = st;
        return false;
    }
    enum token_verdict verdict =
        token_read(a->r->token, a->h->signer.token_key, weir_slice_of(a->s->id),
                   hooks_now_ms(a->h) / MS_PER_S, &token);
    if (verdict != TOKEN_GOOD) {
        bool is_expired = verdict == TOKEN_EXPIRED;
        refuse(a, 401, is_expired ? "TOKEN_EXPIRED" : "TOKEN_INVALID",
               is_expired ? "the token has expired" : "the token is none of ours, or of another");
        return false;
    }
    bool is_current = token.generation == a->s->generation && !subscription_is_idle(a->s) &&
                      !subscription_lease_is_over(a->s, hooks_now_ms(a->h)) &&
                      weir_json_int64(weir_json_get_str(a->body, "generation"), &generation) &&
                      (uint64_t)generation == a->s->generation &&
                      weir_json_type_of(wake_id) == WEIR_JSON_STRING &&
                      weir_slice_is(weir_json_text(wake_id), a->s->wake_id);
    if (!is_current) refuse(a, 409, "FENCED", "the wake is not the current one");
    return is_current;
}

static const struct weir_json *acks_of(const struct asked *a)
{
    return weir_json_get_str(a->body, "acks");
}

/* The link and id of one acknowledgement; NULL when there is no such. */
static struct stream_link *find_ack(const struct asked *a, const struct weir_json *ack,
                                    uint64_t *id)
{
    struct offset offset;
    const struct weir_json *name = weir_json_get_str(ack, "stream");
    if (!name) name = weir_json_get_str(ack, "path");
    const struct weir_json *text = weir_json_get_str(ack, "offset");
    if (weir_json_type_of(text) != WEIR_JSON_STRING) return NULL;
    if (!offset_parse(weir_json_text(text), &offset) || offset.kind != OFFSET_AT) return NULL;
    *id = offset.id;
    return subscription_link(a->s, name_of(name));
}

/* All or none. False when that was refused. */
static bool apply_acks(struct asked *a)
{
    uint64_t id;
    const struct weir_json *v = weir_json_first(acks_of(a));
    if (acks_of(a) && weir_json_type_of(acks_of(a)) != WEIR_JSON_ARRAY) {
        refuse_input(a, "acks has to be an array");
        return false;
    }
    for (; v; v = weir_json_next(v)) {
        struct stream_link *link = find_ack(a, v, &id);
        /* What another node wrote a moment ago may not have been told here. */
        if (link && a->h->is_shared && id > link->tail) a->r->failure = watch_tail(a->h, link);
        if (a->r->failure != WEIR_OK) return false;
        if (link && stream_link_may_ack(link, id)) continue;
        refuse(a, 409, "INVALID_OFFSET",
               "an acknowledgement is of no stream of this subscription, or goes back, or beyond "
               "the stream's end");
        return false;
    }
    for (v = weir_json_first(acks_of(a)); v; v = weir_json_next(v)) {
        struct stream_link *link = find_ack(a, v, &id);
        if ((int64_t)id > link->acked) link->acked = (int64_t)id;
    }
    return true;
}

static void run_ack(struct asked *a)
{
    bool next_wake = false;
    if (!check_wake(a) || !apply_acks(a)) return;
    subscription_extend(a->s, hooks_now_ms(a->h));
    hooks_touch(a->h, a->s, true);
    if (weir_json_type_of(weir_json_get_str(a->body, "done")) == WEIR_JSON_TRUE) {
        a->s->n_failures = 0;
        subscription_end(a->s);
        next_wake = hooks_wake_if_due(a->h, a->s);
    }
    answer_done(a, next_wake);
}

static void run_release(struct asked *a)
{
    if (!check_wake(a)) return;
    subscription_end(a->s);
    hooks_touch(a->h, a->s, true);
    (void)hooks_wake_if_due(a->h, a->s);
    a->r->status = 204;
}

static void refuse_claim(struct asked *a)
{
    struct weir_buf *out = &a->r->answer;
    begin_error(a, 409, "ALREADY_CLAIMED");
    weir_json_put_key(out, "current_holder");
    weir_json_put_str(out, a->s->holder);
    weir_json_put_key(out, "generation");
    weir_json_put_uint(out, a->s->generation);
    end_error(a, "somebody else has it");
}

static void answer_claim(struct asked *a)
{
    struct weir_buf *out = &a->r->answer;
    a->r->status = 200;
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "wake_id");
    weir_json_put_str(out, a->s->wake_id);
    weir_json_put_key(out, "generation");
    weir_json_put_uint(out, a->s->generation);
    weir_json_put_key(out, "token");
    describe_token(a->h, a->s, out);
    weir_json_put_key(out, "streams");
    describe_streams(a->s, DESCRIBE_TAILS, out);
    weir_json_put_key(out, "lease_ttl_ms");
    weir_json_put_int(out, a->s->config.lease_ttl_ms);
    weir_json_put_end_object(out);
}

static void claim(struct asked *a, struct weir_slice worker)
{
    enum weir_status st = hooks_need_signer(a->h);
    char *holder = st == WEIR_OK ? mem_alloc(worker.len + 1) : NULL;
    if (!holder) {
        a->r->failure = st == WEIR_OK ? WEIR_NOMEM : st;
        return;
    }
    memcpy(holder, worker.ptr, worker.len);
    holder[worker.len] = 0;
    subscription_claim(a->s, holder, hooks_now_ms(a->h));
    hooks_touch(a->h, a->s, true);
    answer_claim(a);
}

static void run_claim(struct asked *a)
{
    const struct weir_json *worker = weir_json_get_str(a->body, "worker");
    struct weir_slice text = weir_json_text(worker);
    if (weir_json_type_of(worker) != WEIR_JSON_STRING || text.len == 0 ||
        !is_text(text, SUBSCRIPTION_TEXT_BYTES)) {
        refuse_input(a, "worker has to be a name, and not a long one");
        return;
    }
    if (subscription_lease_is_over(a->s, hooks_now_ms(a->h))) {
        subscription_end(a->s);
        hooks_touch(a->h, a->s, true);
    }
    if (a->h->is_shared && !subscription_pending(a->s)) a->r->failure = watch_all_of(a->h, a->s);
    if (a->r->failure != WEIR_OK) return;
    if (a->s->holder) refuse_claim(a);
    else if (!hooks_wake_if_due(a->h, a->s))
        refuse(a, 409, "NO_PENDING_WORK", "there is nothing that was not acknowledged");
    else claim(a, text);
}

static void run_jwks(struct asked *a)
{
    enum weir_status st = hooks_need_signer(a->h);
    a->r->failure = st;
    a->r->status = 200;
    if (st == WEIR_OK) signer_put_jwks(&a->h->signer, &a->r->answer);
}

/* ---- which of them ---- */

static const struct {
    void (*run)(struct asked *a);
    bool has_body;
    bool needs_one;  /* a subscription of this id */
    bool needs_pull; /* of this type */
} actions[] = {
    [HOOKS_PUT] = {run_put, true, false, false},
    [HOOKS_GET] = {run_get, false, true, false},
    [HOOKS_DELETE] = {run_delete, false, true, false},
    [HOOKS_ADD_STREAMS] = {run_add_streams, true, true, false},
    [HOOKS_REMOVE_STREAM] = {run_remove_stream, false, true, false},
    [HOOKS_CALLBACK] = {run_ack, true, true, false},
    [HOOKS_CLAIM] = {run_claim, true, true, true},
    [HOOKS_ACK] = {run_ack, true, true, true},
    [HOOKS_RELEASE] = {run_release, true, true, true},
    [HOOKS_JWKS] = {run_jwks, false, false, false},
};

/* False when it was refused. */
static bool parse_body(struct asked *a)
{
    struct weir_slice text = a->r->body.len > 0 ? a->r->body : SLICE("{}");
    a->doc = weir_json_doc_new(0);
    enum weir_status st = a->doc ? weir_json_parse(a->doc, text, &a->body, NULL) : WEIR_NOMEM;
    if (st == WEIR_NOMEM) {
        a->r->failure = st;
        return false;
    }
    if (st == WEIR_OK && weir_json_type_of(a->body) == WEIR_JSON_OBJECT) return true;
    refuse_input(a, "the body has to be a JSON object");
    return false;
}

/* Another's is as if it were not there. To delete what is not there is done at once. */
static bool check_subscription(struct asked *a)
{
    bool is_seen = a->s && (a->r->sees_all || slice_eq(a->r->owner, weir_slice_of(a->s->owner)));
    if (!is_seen) {
        a->s = NULL;
        a->r->status = 204;
        if (a->r->action != HOOKS_DELETE)
            refuse(a, 404, "SUBSCRIPTION_NOT_FOUND", "there is no such subscription");
        return false;
    }
    if (!actions[a->r->action].needs_pull || a->s->config.type == SUBSCRIPTION_PULL) return true;
    refuse_input(a, "the subscription is not of type pull-wake");
    return false;
}

bool request_run(struct hooks *h, struct hooks_request *r)
{
    if (h->is_shared && r->id.len > 0 && r->id.len <= STORE_NAME_BYTES) {
        r->failure = nodes_look(h, r->id);
        if (r->failure != WEIR_OK) return true;
    }
    struct asked a = {.h = h, .r = r, .s = hooks_find(h, r->id)};
    if (a.s && a.s->is_removed) return false;
    r->status = 0;
    bool is_good = !actions[r->action].needs_one || check_subscription(&a);
    if (is_good && actions[r->action].has_body) is_good = parse_body(&a);
    if (is_good) actions[r->action].run(&a);
    weir_json_doc_free(a.doc);
    r->subscription = a.s;
    CHECK(r->status != 0 || r->failure != WEIR_OK);
    return true;
}
