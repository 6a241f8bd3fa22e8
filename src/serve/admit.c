/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a request may run. In this order: is there such a path, does it know the method, does
 * the key exist and last, is it within its rate, does it allow this, of this stream. That is asked
 * once, when the request comes: a stream that is open stays so when its key has had its time.
 * OPTIONS is answered here for every path, without a key: a browser asks before it may show one.
 *
 * A browser's cookie stands for a key (auth_cookie.h), where there is no key. The browser sends it
 * whoever's page asks, so a request with it that changes something has to come from our own.
 */
#include "serve/admit.h"

#include <stdio.h>
#include <strings.h>

#include "base/slice.h"
#include "serve/auth_cookie.h"
#include "serve/ds.h"
#include "serve/jwt.h"
#include "serve/link.h"
#include "serve/resource.h"
#include "serve/worker_impl.h"
#include "stream/record.h"

static const struct access everything = {.scopes = SCOPE_READ | SCOPE_WRITE | SCOPE_ADMIN};
static const struct access nothing;

/* ---- OPTIONS and other origins ---- */

/* What a page may send: ours, and what the Durable Streams protocol has. */
static const char asked_fields[] =
    "Authorization, Content-Type, Last-Event-ID, X-Request-Id, Idempotency-Key, Cache-Control, "
    "If-None-Match, Stream-Seq, Stream-TTL, Stream-Expires-At, Stream-Closed, Stream-Forked-From, "
    "Stream-Fork-Offset, Stream-Fork-Sub-Offset, Producer-Id, Producer-Epoch, Producer-Seq, "
    "X-Protocol-Version";

/* What it may read of the protocol's answers, beside what exchange.c lets it read of all. */
static const char answer_fields[] =
    "X-Request-Id, Retry-After, Stream-Next-Offset, Stream-Cursor, Stream-Up-To-Date, "
    "Stream-Closed, "
    "Stream-SSE-Data-Encoding, ETag, Location, Producer-Epoch, Producer-Seq, "
    "Producer-Expected-Seq, Producer-Received-Seq, Weir-Last-Id, Weir-Sealed, Idempotent-Replayed, "
    "Weir-Message-Id, Weir-Conversation-Id, X-Weir-Gap";

/* It says nothing that is secret, so whoever asks is told; Allow-Origin is what decides. */
static void put_preflight(struct exchange *ex, struct weir_slice allow)
{
    exchange_field(ex, "Access-Control-Allow-Methods", allow);
    exchange_field(ex, "Access-Control-Allow-Headers", weir_slice_of(asked_fields));
    exchange_field(ex, "Access-Control-Max-Age", SLICE("600"));
}

enum {
    ALLOW_BYTES = 64,
    ORIGIN_BYTES = 512, /* longest that is looked at */
    COOKIE_FIELD_BYTES = COOKIE_BYTES + 128,
    ALL_METHODS = (1u << HTTP_OTHER) - 1,
};

/* The value of Allow, in memory of its own. */
struct allow {
    char bytes[ALLOW_BYTES];
    struct weir_buf text;
};

static struct weir_slice write_allow(struct allow *a, unsigned methods)
{
    a->text = (struct weir_buf){.ptr = a->bytes, .cap = ALLOW_BYTES, .max = ALLOW_BYTES};
    router_write_allow(&a->text, methods);
    return weir_buf_slice(&a->text);
}

static void answer_options(struct exchange *ex, const struct http_head *head)
{
    struct allow memory;
    struct weir_slice method;
    unsigned methods =
        weir_slice_is(head->path, "*") ? ALL_METHODS : router_methods(routes, head->path);
    if (methods == 0) {
        exchange_error(ex, WEIR_NOT_FOUND, NULL);
        return;
    }
    struct weir_slice allow = write_allow(&memory, methods);
    exchange_field(ex, "Allow", allow);
    if (http_find(head, "access-control-request-method", &method)) put_preflight(ex, allow);
    exchange_empty(ex, 204);
}

/* Without a copy: most answers to a page are shorter than this list. */
static void put_exposed(struct exchange *ex)
{
    struct answer_field *f = exchange_alloc(ex, sizeof *f);
    if (!f) return;
    f->next = ex->fields;
    f->name = "Access-Control-Expose-Headers";
    f->value = weir_slice_of(answer_fields);
    ex->fields = f;
}

/* Remembers the origin if it may read the answer. */
static void look_at_origin(struct exchange *ex, const struct http_head *head)
{
    const char *list = ex->worker->server->options.cors_origin;
    struct weir_slice origin;
    if (!list || !http_find(head, "origin", &origin) || origin.len > ORIGIN_BYTES) return;
    if (!origin_is_allowed(list, origin)) return;
    char *copy = exchange_alloc(ex, origin.len);
    if (!copy) return;
    memcpy(copy, origin.ptr, origin.len);
    ex->origin = slice_of(copy, origin.len);
    put_exposed(ex);
}

/* ---- keys ---- */

bool admit_find_key(const struct http_head *head, struct weir_slice *key)
{
    static const char scheme[] = "bearer ";
    enum { SCHEME_LEN = sizeof scheme - 1 };
    struct weir_slice value;
    if (http_find(head, "authorization", &value)) {
        if (value.len <= SCHEME_LEN || strncasecmp(value.ptr, scheme, SCHEME_LEN) != 0)
            return false;
        *key = slice_from(value, SCHEME_LEN);
        while (key->len > 0 && key->ptr[0] == ' ') *key = slice_from(*key, 1);
        return key->len > 0;
    }
    /* As Anthropic's own SDKs send it. */
    return http_find(head, "x-api-key", key) && key->len > 0;
}

static bool has_key_field(const struct http_head *head)
{
    struct weir_slice value;
    return http_find(head, "authorization", &value) || http_find(head, "x-api-key", &value);
}

/* The key that the request carries; false when there is none. */
static bool find_key(struct exchange *ex, const struct http_head *head, struct weir_slice *key)
{
    if (has_key_field(head)) return admit_find_key(head, key);
    /* Neither keys nor tokens have a character that needs an escape. */
    bool takes_query = (ex->route->flags & ROUTE_KEY_IN_QUERY) != 0;
    return takes_query &&
           (query_find(head->query, "api_key", key) || query_find(head->query, "token", key)) &&
           key->len > 0;
}

/* What to say about a request that is refused. */
struct refusal {
    const char *text;        /* NULL: the status's own sentence */
    uint64_t retry_after_ms; /* WEIR_RATE_LIMIT */
    bool is_page;            /* WEIR_FORBIDDEN: the page may not, whoever asks */
};

static void refuse(struct exchange *ex, enum weir_status st, const struct refusal *why)
{
    char seconds[24];
    if (st == WEIR_NO_AUTH) exchange_field(ex, "WWW-Authenticate", SLICE("Bearer realm=\"weir\""));
    if (st == WEIR_BAD_TOKEN)
        exchange_field(ex, "WWW-Authenticate",
                       SLICE("Bearer realm=\"weir\", error=\"invalid_token\""));
    if (st == WEIR_FORBIDDEN && !why->is_page)
        exchange_field(ex, "WWW-Authenticate",
                       SLICE("Bearer realm=\"weir\", error=\"insufficient_scope\""));
    if (st == WEIR_RATE_LIMIT) {
        uint64_t s = (why->retry_after_ms + 999) / 1000;
        snprintf(seconds, sizeof seconds, "%llu", (unsigned long long)(s > 0 ? s : 1));
        exchange_field(ex, "Retry-After", weir_slice_of(seconds));
    }
    exchange_error(ex, st, "%s", why->text ? why->text : weir_status_text(st));
}

/* Decoded, of the stream that the request is about; false when there is none, or no such name. */
struct stream_name {
    char bytes[STREAM_NAME_BYTES];
    struct weir_slice text;
};

static bool get_stream(const struct route_match *match, struct stream_name *name)
{
    struct weir_buf out = {.ptr = name->bytes, .cap = STREAM_NAME_BYTES, .max = STREAM_NAME_BYTES};
    if ((match->route->flags & ROUTE_STREAM) == 0 || match->n_params == 0) return false;
    if (!url_decode(match->params[0], false, &out)) return false;
    name->text = weir_buf_slice(&out);
    return weir_buf_status(&out) == WEIR_OK;
}

/* It stays for the handler and the log; NULL when there is no memory. */
static const struct access *keep_access(struct exchange *ex, const struct access *from)
{
    size_t prefix_size = from->prefix ? strlen(from->prefix) + 1 : 0;
    struct access *who = exchange_alloc(ex, sizeof *who + prefix_size);
    if (!who) return NULL;
    *who = *from;
    if (from->prefix) who->prefix = memcpy(who + 1, from->prefix, prefix_size);
    return who;
}

/* A fork has all that its source has, so who makes one reads that. */
static bool covers_source(struct exchange *ex, const struct http_head *head)
{
    struct weir_slice from;
    return !http_find(head, "stream-forked-from", &from) ||
           access_covers(ex->access, ds_name_of_path(ex, from));
}

/* What the key allows, now that it is known whose it is. */
static enum weir_status look_at_rights(struct exchange *ex, const struct http_head *head,
                                       const struct route_match *match, struct refusal *why)
{
    struct stream_name name;
    if ((ex->access->scopes & ex->route->scope) == 0) return WEIR_FORBIDDEN;
    if (!ex->access->prefix || (ex->route->flags & ROUTE_SELF) != 0) return WEIR_OK;
    if (get_stream(match, &name) && access_covers(ex->access, name.text) && covers_source(ex, head))
        return WEIR_OK;
    why->text = "the key is for some streams only, and not for this";
    return WEIR_FORBIDDEN;
}

static const struct access by_link = {.name = "link", .is_link = true, .scopes = SCOPE_READ};

/*
 * A link opens its stream to readers, and nothing else. Of what is wrong with it no more is told
 * than that it has expired, and that only of one that was good.
 */
static enum weir_status look_at_link(struct exchange *ex, const struct route_match *match,
                                     struct weir_slice token, struct refusal *why)
{
    struct stream_name name;
    bool is_expired = false;
    bool is_read = ex->route->method == HTTP_GET || ex->route->method == HTTP_HEAD;
    if (!is_read || (ex->route->flags & ROUTE_STREAM) == 0) {
        why->text = "a link is for reading its stream and for nothing else";
        return WEIR_FORBIDDEN;
    }
    enum weir_status st = WEIR_BAD_TOKEN;
    if (get_stream(match, &name))
        st = links_check(ex->worker->server->links, name.text, token, &is_expired);
    why->text = is_expired ? "the link has expired" : "the link is not good for this stream";
    if (st == WEIR_OK) ex->access = &by_link;
    return st;
}

/* Who asks, by a key of ours or by an issuer's word. */
static enum weir_status find_access(struct exchange *ex, struct weir_slice key,
                                    struct key_found *found, struct refusal *why)
{
    const struct server *s = ex->worker->server;
    *found = (struct key_found){.is_expired = false};
    if (s->options.jwt && jwt_has_form(key))
        return jwt_check(s->options.jwt, key, worker_wall_ms(ex->worker), &found->access,
                         &why->text);
    enum weir_status st = keys_find(s->keys, key, found);
    why->retry_after_ms = found->retry_after_ms;
    if (found->is_expired) why->text = "the key has expired";
    return st;
}

void admit_refuse(struct exchange *ex, enum weir_status st, const char *text,
                  uint64_t retry_after_ms)
{
    refuse(ex, st, &(struct refusal){.text = text, .retry_after_ms = retry_after_ms});
}

bool admit_login(struct exchange *ex, struct weir_slice key, struct key_found *found)
{
    struct refusal why = {0};
    enum weir_status st = key.len > 0 ? find_access(ex, key, found, &why) : WEIR_NO_AUTH;
    if (st != WEIR_OK) refuse(ex, st, &why);
    return st == WEIR_OK;
}

/* ---- cookies ---- */

bool admit_is_own_page(struct exchange *ex, const struct http_head *head)
{
    struct weir_slice origin;
    const struct own_origin own = {.scheme = exchange_is_tls(ex) ? "https" : "http",
                                   .host = head->host,
                                   .public_url = ex->worker->server->options.public_url};
    return http_find(head, "origin", &origin) && origin_is_own(origin, &own);
}

/* Whether browsers come by TLS: to us, or to a proxy before us. */
static bool is_secure(const struct exchange *ex)
{
    const char *url = ex->worker->server->options.public_url;
    return exchange_is_tls(ex) || (url && strncmp(url, "https://", 8) == 0);
}

void admit_put_cookie(struct exchange *ex, const char *text, int64_t lasts_s)
{
    char bytes[COOKIE_FIELD_BYTES];
    struct weir_buf field = {.ptr = bytes, .cap = sizeof bytes, .max = sizeof bytes};
    cookie_put(&field, text, lasts_s, is_secure(ex));
    exchange_field(ex, "Set-Cookie", weir_buf_slice(&field));
}

/* The first of a Cookie field that is good, or else the first of all that were found so far. */
static bool look_at_cookies(struct exchange *ex, struct weir_slice field, struct weir_slice *text)
{
    struct weir_slice value;
    struct cookie cookie;
    while (cookie_next(&field, cookie_name(is_secure(ex)), &value)) {
        bool is_good = cookies_read(ex->worker->server->cookies, value, &cookie);
        if (is_good || !text->ptr) *text = value;
        if (is_good) return true;
    }
    return false;
}

bool admit_find_cookie(struct exchange *ex, const struct http_head *head, struct weir_slice *text)
{
    *text = slice_of(NULL, 0);
    for (unsigned i = 0; i < head->n_fields; i++)
        if (http_field_is(&head->fields[i], "cookie") &&
            look_at_cookies(ex, head->fields[i].value, text))
            break;
    return text->ptr != NULL;
}

static enum weir_status find_by_cookie(struct exchange *ex, const struct http_head *head,
                                       struct weir_slice text, struct key_found *found,
                                       struct refusal *why)
{
    struct cookie cookie;
    enum weir_status st = cookies_find(ex->worker->server->cookies, text, found, &cookie);
    why->retry_after_ms = found->retry_after_ms;
    if (st == WEIR_BAD_TOKEN) {
        /* No page can take it away: it cannot see it. */
        admit_put_cookie(ex, "", 0);
        why->text = "the cookie is not good, or not any more: log in again";
    }
    if (st != WEIR_OK || ex->is_safe || admit_is_own_page(ex, head)) return st;
    why->is_page = true;
    why->text = "with a cookie, what changes something needs an Origin of this server's own (CSRF)";
    return WEIR_FORBIDDEN;
}

/* ---- all that may stand for somebody ---- */

/* By a key or a cookie; the exchange knows who asks afterwards. */
static enum weir_status find_who(struct exchange *ex, const struct http_head *head,
                                 struct refusal *why)
{
    struct weir_slice key;
    struct key_found found;
    enum weir_status st = WEIR_NO_AUTH;
    if (find_key(ex, head, &key)) st = find_access(ex, key, &found, why);
    else if (!has_key_field(head) && admit_find_cookie(ex, head, &key))
        st = find_by_cookie(ex, head, key, &found, why);
    if (st != WEIR_OK) return st;
    const struct access *who = keep_access(ex, &found.access);
    if (who) ex->access = who;
    return who ? WEIR_OK : WEIR_NOMEM;
}

static enum weir_status look_at_key(struct exchange *ex, const struct http_head *head,
                                    const struct route_match *match, struct refusal *why)
{
    struct weir_slice token;
    /* A field comes from whoever asks now; an address may have come from anywhere. */
    if (!http_find(head, "authorization", &token) &&
        query_find(head->query, link_parameter, &token))
        return look_at_link(ex, match, token, why);
    enum weir_status st = find_who(ex, head, why);
    return st == WEIR_OK ? look_at_rights(ex, head, match, why) : st;
}

bool admit_visitor(struct exchange *ex, const struct http_head *head)
{
    struct refusal why = {0};
    if (ex->is_local || ex->worker->server->options.is_open) return true;
    enum weir_status st = find_who(ex, head, &why);
    if (st == WEIR_OK || st == WEIR_NO_AUTH || st == WEIR_BAD_TOKEN) return true;
    refuse(ex, st, &why);
    return false;
}

/* "127." and nothing but digits and dots. */
static bool is_loopback_number(struct weir_slice host)
{
    if (host.len <= 4 || memcmp(host.ptr, "127.", 4) != 0) return false;
    for (size_t i = 4; i < host.len; i++)
        if (host.ptr[i] != '.' && (host.ptr[i] < '0' || host.ptr[i] > '9')) return false;
    return true;
}

/*
 * Whether a request means this machine by name. Without keys that is all that stands between the
 * server and a page whose own name was made to point here after the browser had loaded it.
 */
static bool is_loopback_name(struct weir_slice host)
{
    if (host.len == 0 || weir_slice_is(host, "[::1]")) return true;
    if (host.ptr[0] == '[') {
        const char *end = memchr(host.ptr, ']', host.len);
        return end && weir_slice_is(slice_of(host.ptr, (size_t)(end + 1 - host.ptr)), "[::1]");
    }
    const char *colon = memchr(host.ptr, ':', host.len);
    if (colon) host.len = (size_t)(colon - host.ptr);
    bool is_name = host.len == 9 && slice_ends_with_nocase(host, "localhost");
    return is_name || is_loopback_number(host) || slice_ends_with_nocase(host, ".localhost");
}

/*
 * Commands of the server's own user may ask for anybody's things: "?user=NAME". False when that was
 * answered with an error.
 */
static bool take_user(struct exchange *ex, const struct http_head *head)
{
    struct weir_slice raw;
    struct access who = everything;
    if (!query_find(head->query, "user", &raw)) return true;
    /* One byte stays for the NUL; the buffer cannot grow, so the bytes are not its own. */
    enum { ROOM = sizeof who.owner - 1 };
    struct weir_buf name = {.ptr = who.owner, .cap = ROOM, .max = ROOM};
    bool is_good = raw.len <= 3 * sizeof who.owner && url_decode(raw, true, &name) &&
                   weir_buf_status(&name) == WEIR_OK && owner_is_name(weir_buf_slice(&name));
    const struct access *kept = is_good ? keep_access(ex, &who) : NULL;
    if (kept) ex->access = kept;
    else if (is_good) exchange_error(ex, WEIR_NOMEM, NULL);
    else
        exchange_error(ex, WEIR_BAD_FIELD,
                       "user has to be a name of 1 to %d bytes of UTF-8 without \"/\"", ROOM);
    return kept;
}

static bool admit_all(struct exchange *ex, const struct http_head *head)
{
    ex->access = &everything;
    if (ex->is_local) return take_user(ex, head);
    if (is_loopback_name(head->host)) return true;
    exchange_error(ex, WEIR_FORBIDDEN,
                   "without keys (--open) the host has to be localhost or 127.0.0.1");
    return false;
}

static bool admit_key(struct exchange *ex, const struct http_head *head,
                      const struct route_match *match)
{
    struct refusal why = {0};
    if (ex->is_local || ex->worker->server->options.is_open) return admit_all(ex, head);
    if (ex->route->scope == SCOPE_NONE) return true;
    enum weir_status st = look_at_key(ex, head, match, &why);
    /* It may be good: another node would know, and whoever is told that it is not gives up. */
    if (st == WEIR_BAD_TOKEN && ex->is_blind) resource_store_error(ex, WEIR_STORAGE);
    else if (st != WEIR_OK) refuse(ex, st, &why);
    return st == WEIR_OK;
}

/* ---- what another node may know ---- */

static bool is_unknown_key(struct worker *w, struct weir_slice text, char key[KEY_NAME_BYTES + 1])
{
    struct weir_slice name;
    if (!key_text_name(text, &name) || keys_knows(w->server->keys, name)) return false;
    memcpy(key, name.ptr, KEY_NAME_BYTES);
    return true;
}

/* Cookies of one name, up to the first that is good. */
struct shown {
    bool is_good;
    bool has_ours;    /* one that has the form of ours */
    bool has_unknown; /* one whose key nobody has told of here */
};

static void look_at_shown(struct worker *w, struct weir_slice field, const char *name,
                          struct shown *s, char key[KEY_NAME_BYTES + 1])
{
    struct cookie cookie;
    struct weir_slice value;
    while (!s->is_good && cookie_next(&field, name, &value)) {
        s->is_good = cookies_read(w->server->cookies, value, &cookie);
        if (s->is_good || !cookie_parse(value, &cookie)) continue;
        if (!s->has_unknown) memcpy(key, cookie.key, KEY_NAME_BYTES);
        s->has_ours = true;
        s->has_unknown |= !keys_knows(w->server->keys, slice_of(cookie.key, KEY_NAME_BYTES));
    }
}

/*
 * Cookies of ours, by either name: none is good, or one before the first that is may be, for its
 * key is another node's. One that is bad here for another reason costs no look each time.
 */
static bool is_unknown_cookie(struct worker *w, const struct http_head *head,
                              char key[KEY_NAME_BYTES + 1])
{
    bool is_good = false, has_ours = false, is_unknown = false;
    for (int i = 0; i < 2; i++) {
        struct shown s = {0};
        for (unsigned n = 0; n < head->n_fields; n++)
            if (http_field_is(&head->fields[n], "cookie"))
                look_at_shown(w, head->fields[n].value, cookie_name(i == 0), &s, key);
        is_good |= s.is_good;
        has_ours |= s.has_ours;
        is_unknown |= s.is_good && s.has_unknown;
    }
    return is_good ? is_unknown : has_ours;
}

static bool is_unknown_link(struct worker *w, const struct http_head *head, struct weir_slice token)
{
    struct route_match match;
    struct stream_name name;
    bool is_expired = false;
    return router_find(routes, head->method, head->path, &match) == WEIR_OK &&
           get_stream(&match, &name) &&
           links_check(w->server->links, name.text, token, &is_expired) == WEIR_BAD_TOKEN &&
           !is_expired;
}

bool admit_is_unknown(struct worker *w, const struct http_head *head, char key[KEY_NAME_BYTES + 1])
{
    struct weir_slice text;
    memset(key, 0, KEY_NAME_BYTES + 1);
    if (!w->server->shared || w->server->options.is_open) return false;
    if (has_key_field(head)) return admit_find_key(head, &text) && is_unknown_key(w, text, key);
    if (query_find(head->query, link_parameter, &text)) return is_unknown_link(w, head, text);
    if (query_find(head->query, "api_key", &text) || query_find(head->query, "token", &text))
        return is_unknown_key(w, text, key);
    return is_unknown_cookie(w, head, key);
}

bool admit_must_ask(struct worker *w, const struct http_head *head)
{
    struct weir_slice text, name;
    if (!w->server->shared || w->server->options.is_open) return false;
    bool has_key = has_key_field(head) ? admit_find_key(head, &text)
                                       : query_find(head->query, "api_key", &text) ||
                                             query_find(head->query, "token", &text);
    if (has_key) return key_text_name(text, &name) && keys_must_ask(w->server->keys, name);
    struct cookie cookie;
    struct weir_slice value;
    if (!http_find(head, "cookie", &text)) return false;
    for (int i = 0; i < 2; i++)
        for (struct weir_slice rest = text; cookie_next(&rest, cookie_name(i == 0), &value);)
            if (cookie_parse(value, &cookie) &&
                keys_must_ask(w->server->keys, weir_slice_of(cookie.key)))
                return true;
    return false;
}

/* ---- all together ---- */

static void refuse_method(struct exchange *ex, unsigned methods)
{
    struct allow memory;
    exchange_field(ex, "Allow", write_allow(&memory, methods));
    exchange_error(ex, WEIR_BAD_METHOD, NULL);
}

bool admit(struct exchange *ex, const struct http_head *head)
{
    struct route_match match;
    ex->access = &nothing;
    look_at_origin(ex, head);
    if (head->method == HTTP_OPTIONS) {
        answer_options(ex, head);
        return false;
    }
    enum weir_status st = router_find(routes, head->method, head->path, &match);
    if (st == WEIR_BAD_METHOD) refuse_method(ex, match.methods);
    else if (st == WEIR_NOT_FOUND)
        exchange_error(ex, st, "nothing is at this address; /llms.txt tells what there is");
    else if (st != WEIR_OK) exchange_error(ex, st, NULL);
    if (st != WEIR_OK) return false;
    ex->route = match.route;
    return admit_key(ex, head, &match);
}
