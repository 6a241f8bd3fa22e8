/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Webhooks: the body that tells of a wake, its signature, and what the receiver's answer means.
 * Any 2xx takes the wake over; {"done":true} in its body acknowledges what this very delivery told
 * of. Anything else, a redirect included, is tried again later.
 */
#include "base/check.h"
#include "base/mem.h"
#include "base/slice.h"
#include "hook/hooks_impl.h"

#include <weir/json.h>

enum {
    MS_PER_S = 1000,
    SIGNATURE_BYTES = 512,
    WHOLE_MS = 15 * 1000, /* for a receiver to take a wake */
};

/* ---- in the fetcher's thread ---- */

static bool says_done(struct weir_slice body)
{
    const struct weir_json *v;
    bool is_done = false;
    struct weir_json_doc *doc = weir_json_doc_new(0);
    if (doc && weir_json_parse(doc, body, &v, NULL) == WEIR_OK)
        is_done = weir_json_type_of(weir_json_get_str(v, "done")) == WEIR_JSON_TRUE;
    weir_json_doc_free(doc);
    return is_done;
}

static void on_fetched(void *user, const struct fetch_result *result)
{
    struct delivery *d = user;
    struct hooks *h = d->hooks;
    d->status = result->status;
    d->http_status = result->http_status;
    d->why = result->why;
    d->is_done = result->status == WEIR_OK && says_done(result->body);
    pthread_mutex_lock(&h->lock);
    list_push_back(&h->fetched, &d->node);
    pthread_cond_signal(&h->changed);
    pthread_mutex_unlock(&h->lock);
}

/* ---- sending ---- */

static void put_body(struct hooks *h, struct subscription *s, struct weir_buf *out)
{
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "subscription_id");
    weir_json_put_str(out, s->id);
    weir_json_put_key(out, "wake_id");
    weir_json_put_str(out, s->wake_id);
    weir_json_put_key(out, "generation");
    weir_json_put_uint(out, s->generation);
    weir_json_put_key(out, "streams");
    describe_streams(s, DESCRIBE_TAILS, out);
    weir_json_put_key(out, "callback_url");
    describe_url(h, s, "/callback", out);
    weir_json_put_key(out, "callback_token");
    describe_token(h, s, out);
    weir_json_put_end_object(out);
}

static WEIR_MUST_CHECK enum weir_status need_fetcher(struct hooks *h)
{
    static const struct fetcher_options usual;
    struct fetcher *fetcher;
    if (h->fetcher) return WEIR_OK;
    enum weir_status st = fetcher_new(&fetcher, h->options.rules, &usual);
    if (st != WEIR_OK) return st;
    pthread_mutex_lock(&h->lock);
    h->fetcher = fetcher;
    pthread_mutex_unlock(&h->lock);
    return WEIR_OK;
}

static WEIR_MUST_CHECK enum weir_status post(struct hooks *h, struct subscription *s,
                                             struct weir_slice body, struct weir_slice signature)
{
    size_t id_len = strlen(s->id) + 1;
    struct delivery *d = mem_zalloc(sizeof *d + id_len);
    if (!d) return WEIR_NOMEM;
    d->hooks = h;
    memcpy(d->id, s->id, id_len);
    const struct fetch_request request = {
        .url = s->config.url,
        .fields = {{"Content-Type", SLICE("application/json")}, {"Webhook-Signature", signature}},
        .n_fields = 2,
        .body = body,
        .limits = {.whole_ms = WHOLE_MS},
        .done = on_fetched,
        .user = d,
    };
    s->delivery = d;
    enum weir_status st = fetcher_send(h->fetcher, &request, &d->ticket);
    if (st == WEIR_OK) return st;
    s->delivery = NULL;
    mem_free(d);
    return st;
}

static WEIR_MUST_CHECK enum weir_status send_wake(struct hooks *h, struct subscription *s)
{
    struct weir_buf body, signature;
    enum weir_status st = hooks_need_signer(h);
    if (st == WEIR_OK) st = need_fetcher(h);
    if (st != WEIR_OK) return st;
    weir_buf_init(&body, HOOKS_ANSWER_BYTES);
    weir_buf_init(&signature, SIGNATURE_BYTES);
    put_body(h, s, &body);
    st = weir_buf_status(&body);
    if (st == WEIR_OK)
        signer_sign(&h->signer, weir_buf_slice(&body), clock_wall_ms(h->options.clock) / MS_PER_S,
                    &signature);
    if (st == WEIR_OK) st = weir_buf_status(&signature);
    if (st == WEIR_OK) st = post(h, s, weir_buf_slice(&body), weir_buf_slice(&signature));
    weir_buf_fini(&body);
    weir_buf_fini(&signature);
    return st;
}

static void fail(struct hooks *h, struct subscription *s)
{
    uint32_t chance;
    random_bytes(&chance, sizeof chance);
    subscription_failed(s, hooks_now_ms(h), chance);
    s->is_dirty = true;
    atomic_fetch_add(&h->n_failures, 1);
}

void deliver_start(struct hooks *h, struct subscription *s)
{
    atomic_fetch_add(&h->n_deliveries, 1);
    enum weir_status st = send_wake(h, s);
    if (st == WEIR_OK) return;
    TRACE(h->options.trace, TRACE_WARN, "hook", "a webhook cannot be sent",
          trace_str("subscription", weir_slice_of(s->id)),
          trace_str("error", weir_slice_of(weir_status_text(st))));
    fail(h, s);
}

void deliver_abort(struct hooks *h, struct subscription *s)
{
    if (s->delivery) fetcher_abort(h->fetcher, s->delivery->ticket);
    s->delivery = NULL;
}

/* ---- what came back ---- */

static void take_result(struct hooks *h, struct subscription *s, const struct delivery *d)
{
    /* Of a body that is too long or compressed the head is as good as any. */
    bool has_answer =
        d->status == WEIR_OK || d->status == WEIR_TOO_LARGE || d->status == WEIR_BAD_TYPE;
    bool is_taken = has_answer && d->http_status >= 200 && d->http_status < 300;
    if (!is_taken && s->lease_until_ms > 0) return; /* it called back before it failed */
    if (!is_taken) {
        TRACE(h->options.trace, TRACE_INFO, "hook", "a webhook was not taken",
              trace_str("subscription", weir_slice_of(s->id)), trace_int("http", d->http_status),
              trace_str("why", weir_slice_of(has_answer ? "the answer is no 2xx" : d->why)));
        fail(h, s);
        return;
    }
    subscription_delivered(s, hooks_now_ms(h));
    s->is_dirty = true;
    if (!d->is_done) return;
    subscription_ack_told(s);
    subscription_end(s);
}

void deliver_finish(struct hooks *h, struct delivery *d)
{
    struct subscription *s = hooks_find(h, weir_slice_of(d->id));
    /* One that has ended, or was replaced by another of its name, waits for nothing. */
    if (s && s->delivery == d) {
        s->delivery = NULL;
        if (d->status != WEIR_SHUTDOWN) take_result(h, s, d);
        hooks_touch(h, s, false);
    }
    mem_free(d);
}
