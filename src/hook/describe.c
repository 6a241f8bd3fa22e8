/* SPDX-License-Identifier: Apache-2.0 */
/* Subscriptions as clients see them, in JSON. */
#include "base/slice.h"
#include "hook/hooks_impl.h"
#include "stream/offset.h"

#include <weir/json.h>

enum { MS_PER_S = 1000, URL_BYTES = 2048 };

static const char subscriptions_path[] = "/v1/stream/__ds/subscriptions/";
static const char jwks_path[] = "/v1/stream/__ds/jwks.json";

static void put_offset(struct weir_buf *out, const char *key, int64_t id)
{
    char text[OFFSET_BYTES];
    weir_json_put_key(out, key);
    if (id == ACKED_NOTHING) {
        weir_json_put_str(out, "-1");
        return;
    }
    offset_format((uint64_t)id, text);
    weir_json_put_string(out, slice_of(text, sizeof text));
}

static void put_link(const struct stream_link *link, enum describe_detail detail,
                     struct weir_buf *out)
{
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "path");
    weir_json_put_string(out, slice_of(link->path, link->n_path));
    weir_json_put_key(out, "link_type");
    weir_json_put_str(out, link->kinds & LINK_EXPLICIT ? "explicit" : "glob");
    put_offset(out, "acked_offset", link->acked);
    if (detail == DESCRIBE_TAILS) {
        put_offset(out, "tail_offset", (int64_t)link->tail);
        weir_json_put_key(out, "has_pending");
        weir_json_put_bool(out, stream_link_is_pending(link));
    }
    weir_json_put_end_object(out);
}

/* Of a wake those with something new come first, for there is a ceiling. */
void describe_streams(struct subscription *s, enum describe_detail detail, struct weir_buf *out)
{
    size_t n_left = detail == DESCRIBE_TAILS ? HOOKS_TOLD_STREAMS : SUBSCRIPTION_MAX_LINKS;
    weir_json_put_begin_array(out);
    for (int is_quiet = 0; is_quiet < 2; is_quiet++) {
        for (struct list_node *n = list_first(&s->links); n; n = list_next(&s->links, n)) {
            struct stream_link *link = CONTAINER_OF(n, struct stream_link, node);
            if (stream_link_is_pending(link) == is_quiet) continue;
            bool is_told = n_left > 0;
            if (detail == DESCRIBE_TAILS) link->told_to = is_told ? link->tail : 0;
            if (!is_told) continue;
            put_link(link, detail, out);
            n_left--;
        }
    }
    weir_json_put_end_array(out);
}

static void put_member(struct weir_buf *out, const char *key, struct weir_slice text)
{
    if (text.len == 0) return;
    weir_json_put_key(out, key);
    weir_json_put_string(out, text);
}

static void put_webhook(struct hooks *h, const struct subscription *s, struct weir_buf *out)
{
    char bytes[URL_BYTES];
    struct weir_buf url = {.ptr = bytes, .cap = sizeof bytes, .max = sizeof bytes};
    weir_buf_append_str(&url, h->options.public_url);
    weir_buf_append_str(&url, jwks_path);
    weir_json_put_key(out, "webhook");
    weir_json_put_begin_object(out);
    put_member(out, "url", s->config.url);
    weir_json_put_key(out, "signing");
    weir_json_put_begin_object(out);
    put_member(out, "alg", SLICE("ed25519"));
    put_member(out, "kid", weir_slice_of(h->signer.kid));
    put_member(out, "jwks_url", weir_buf_slice(&url));
    weir_json_put_end_object(out);
    weir_json_put_end_object(out);
}

void describe_subscription(struct hooks *h, struct subscription *s, struct weir_buf *out)
{
    char created[CLOCK_TEXT_BYTES];
    bool is_webhook = s->config.type == SUBSCRIPTION_WEBHOOK;
    clock_format(created, s->created_ms);
    weir_json_put_begin_object(out);
    put_member(out, "id", weir_slice_of(s->id));
    put_member(out, "subscription_id", weir_slice_of(s->id));
    put_member(out, "type", is_webhook ? SLICE("webhook") : SLICE("pull-wake"));
    put_member(out, "pattern", s->config.pattern);
    weir_json_put_key(out, "streams");
    describe_streams(s, DESCRIBE_LINKS, out);
    if (is_webhook) put_webhook(h, s, out);
    put_member(out, "wake_stream", s->config.wake_stream);
    weir_json_put_key(out, "lease_ttl_ms");
    weir_json_put_int(out, s->config.lease_ttl_ms);
    put_member(out, "created_at", weir_slice_of(created));
    put_member(out, "status", s->n_failures > 0 ? SLICE("failed") : SLICE("active"));
    put_member(out, "description", s->config.description);
    weir_json_put_end_object(out);
}

/* As one segment of a path (RFC 3986, unreserved). */
static void put_escaped(struct weir_buf *out, struct weir_slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                        (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' || c == '~';
        if (is_plain) weir_buf_append_char(out, (char)c);
        else weir_buf_printf(out, "%%%02X", c);
    }
}

void describe_url(const struct hooks *h, const struct subscription *s, const char *action,
                  struct weir_buf *out)
{
    char bytes[URL_BYTES];
    struct weir_buf url = {.ptr = bytes, .cap = sizeof bytes, .max = sizeof bytes};
    weir_buf_append_str(&url, h->options.public_url);
    weir_buf_append_str(&url, subscriptions_path);
    put_escaped(&url, weir_slice_of(s->id));
    weir_buf_append_str(&url, action);
    weir_json_put_string(out, weir_buf_slice(&url));
}

void describe_token(const struct hooks *h, const struct subscription *s, struct weir_buf *out)
{
    char bytes[TOKEN_TEXT_BYTES];
    struct weir_buf text = {.ptr = bytes, .cap = sizeof bytes, .max = sizeof bytes};
    const struct token token = {.generation = s->generation,
                                .expires_s = hooks_now_ms(h) / MS_PER_S + TOKEN_LIFE_S};
    token_write(&text, h->signer.token_key, weir_slice_of(s->id), &token);
    weir_json_put_string(out, weir_buf_slice(&text));
}
