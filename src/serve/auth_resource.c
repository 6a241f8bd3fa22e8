/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /auth/session: a browser shows a key once, or the token of a link (login_link.h), and gets a
 * cookie for it; who is logged in; logging out, which takes the cookie back here and not only
 * there. docs/sessions.md has more.
 *
 * Logging in is for pages of the server's own, or for no page: another's could otherwise log
 * somebody in as itself, and read what is said then.
 */
#include <weir/json.h>

#include "base/slice.h"
#include "serve/admit.h"
#include "serve/auth_cookie.h"
#include "serve/login_shared.h"
#include "serve/resource.h"

enum { ANSWER_BYTES = 4096, BODY_VALUES_BYTES = 1 << 20 };

struct login {
    struct cookies *cookies;
    struct cookie cookie;
    struct access access;
    char text[COOKIE_BYTES];
    int64_t now_ms;
    enum weir_status status;
};

static void answer_who(struct exchange *ex, const struct access *who, int64_t expires_ms)
{
    char time[CLOCK_TEXT_BYTES];
    struct weir_buf json;
    weir_buf_init(&json, ANSWER_BYTES);
    clock_format(time, expires_ms);
    weir_json_put_begin_object(&json);
    weir_json_put_key(&json, "owner");
    weir_json_put_str(&json, who->owner[0] ? who->owner : "me");
    weir_json_put_key(&json, "scopes");
    scopes_put(&json, who->scopes);
    weir_json_put_key(&json, "expiresAt");
    weir_json_put_str(&json, expires_ms == 0 ? NULL : time);
    weir_json_put_end_object(&json);
    exchange_field(ex, "Cache-Control", SLICE("no-store"));
    if (weir_buf_status(&json) == WEIR_OK) exchange_json(ex, 200, weir_buf_slice(&json));
    else resource_store_error(ex, WEIR_NOMEM);
    weir_buf_fini(&json);
}

/* ---- logging in ---- */

static void make_cookie(void *user)
{
    struct login *l = user;
    l->status = cookies_make(l->cookies, weir_slice_of(l->access.name), &l->cookie, l->text);
}

static void answer_login(struct exchange *ex, void *user)
{
    struct login *l = user;
    if (l->status == WEIR_NOT_FOUND) {
        exchange_error(ex, WEIR_FORBIDDEN,
                       "a cookie stands for a key of this server's own, and this is none");
    } else if (l->status != WEIR_OK) {
        resource_store_error(ex, l->status);
    } else {
        int64_t lasts_ms = l->cookie.expires_ms - l->now_ms;
        admit_put_cookie(ex, l->text, lasts_ms > 0 ? lasts_ms / 1000 : 0);
        answer_who(ex, &l->access, l->cookie.expires_ms);
    }
    explicit_bzero(l->text, sizeof l->text);
}

/* {"apiKey": "…"} or {"link": "…"}: the member. NULL when that was answered with an error. */
static const struct weir_json *read_body(struct exchange *ex, struct weir_json_doc *doc)
{
    if (!resource_is_json(ex)) {
        exchange_error(ex, WEIR_BAD_TYPE, "the body has to be application/json");
        return NULL;
    }
    const struct weir_json *body = resource_read_object(ex, doc);
    const struct weir_json *member = weir_json_first(body);
    if (!body) return NULL;
    bool is_known = weir_json_get_str(body, "apiKey") || weir_json_get_str(body, "link");
    if (is_known && weir_json_type_of(member) == WEIR_JSON_STRING && weir_json_count(body) == 1)
        return member;
    exchange_error(ex, WEIR_BAD_FIELD,
                   "the body has to be {\"apiKey\": a key} or {\"link\": what a link ends with}");
    return NULL;
}

static void give_cookie(struct exchange *ex, const struct access *who)
{
    struct login *l = exchange_alloc(ex, sizeof *l);
    if (!l) {
        resource_store_error(ex, WEIR_NOMEM);
        return;
    }
    *l = (struct login){.cookies = server_cookies(exchange_server(ex)),
                        .access = *who,
                        .now_ms = exchange_wall_ms(ex)};
    l->access.prefix = NULL; /* it is not shown, and its memory ends here */
    resource_work(ex, make_cookie, answer_login, l);
}

static void log_in(struct exchange *ex, struct weir_slice key)
{
    struct key_found found;
    if (admit_login(ex, key, &found)) give_cookie(ex, &found.access);
}

/* A key in a body, which this node does not know; one in a field was looked for before. */
struct knock {
    struct keys *keys;
    struct weir_slice key, name;
    enum weir_status status;
};

static void look_for_key(void *user)
{
    struct knock *k = user;
    k->status = keys_refresh(k->keys, k->name);
}

/* When nobody can be asked, it may be good. */
static void answer_knock(struct exchange *ex, void *user)
{
    const struct knock *k = user;
    if (k->status == WEIR_OK) log_in(ex, k->key);
    else resource_store_error(ex, k->status);
}

static void log_in_by_key(struct exchange *ex, struct weir_slice key)
{
    struct weir_slice name;
    struct server *server = exchange_server(ex);
    bool is_shared = login_links_are_shared(server_login_links(server));
    if (!is_shared || !key_text_name(key, &name) || keys_knows(server_keys(server), name)) {
        log_in(ex, key);
        return;
    }
    struct knock *k = exchange_alloc(ex, sizeof *k + key.len);
    if (!k) {
        resource_store_error(ex, WEIR_NOMEM);
        return;
    }
    char *copy = (char *)(k + 1);
    memcpy(copy, key.ptr, key.len);
    *k = (struct knock){.keys = server_keys(server),
                        .key = slice_of(copy, key.len),
                        .name = slice_of(copy + (name.ptr - key.ptr), name.len)};
    resource_work(ex, look_for_key, answer_knock, k);
}

/* The link was good, once; its key may not be. */
static void enter_by_link(struct exchange *ex, struct weir_slice key)
{
    struct key_found found = {.is_expired = false};
    enum weir_status st = keys_find_named(server_keys(exchange_server(ex)), key, &found);
    if (st == WEIR_OK) give_cookie(ex, &found.access);
    else
        admit_refuse(ex, st,
                     "the key that the link stands for is not good any more, or not yet again",
                     found.retry_after_ms);
}

/* A link of several nodes on its way. */
struct following {
    struct login_use use;
    struct keys *keys;
};

static void find_key(void *user)
{
    struct following *f = user;
    /* What cannot be read is not found. */
    (void)(keys_refresh(f->keys, weir_slice_of(f->use.taken.key)) == WEIR_OK);
}

static void answer_link(struct exchange *ex, void *user)
{
    const struct following *f = user;
    enter_by_link(ex, weir_slice_of(f->use.taken.key));
}

static void link_was_used(struct exchange *ex, const struct commit_result *result)
{
    struct following *f = exchange_data(ex);
    struct login_taken *taken = &f->use.taken;
    enum weir_status st = result->status;
    if (st == WEIR_NOT_FOUND) st = login_links_miss(server_login_links(exchange_server(ex)), taken);
    /* Another node may have made the key a moment ago. */
    if (st == WEIR_OK && !keys_knows(f->keys, weir_slice_of(taken->key)))
        resource_work(ex, find_key, answer_link, f);
    else if (st == WEIR_OK) answer_link(ex, f);
    else if (taken->why) admit_refuse(ex, st, taken->why, taken->retry_after_ms);
    else resource_store_error(ex, st);
}

static void follow_shared(struct exchange *ex, struct weir_slice token)
{
    struct following *f = exchange_alloc(ex, sizeof *f);
    if (f) *f = (struct following){.keys = server_keys(exchange_server(ex))};
    struct commit *c = f ? login_shared_use(&f->use, token, exchange_wall_ms(ex)) : NULL;
    if (!c) {
        resource_store_error(ex, WEIR_NOMEM);
        return;
    }
    exchange_set_data(ex, f);
    exchange_commit(ex, c, link_was_used);
}

/* By a link, which is used up whatever becomes of the rest. */
static void follow_link(struct exchange *ex, struct weir_slice token)
{
    struct login_taken taken;
    struct login_links *links = server_login_links(exchange_server(ex));
    if (login_links_are_shared(links)) {
        follow_shared(ex, token);
        return;
    }
    enum weir_status st = login_links_take(links, token, &taken);
    if (st == WEIR_OK) enter_by_link(ex, weir_slice_of(taken.key));
    else admit_refuse(ex, st, taken.why, taken.retry_after_ms);
}

static void log_in_by_body(struct exchange *ex)
{
    struct weir_json_doc *doc = weir_json_doc_new(BODY_VALUES_BYTES);
    const struct weir_json *member = doc ? read_body(ex, doc) : NULL;
    if (!doc) resource_store_error(ex, WEIR_NOMEM);
    else if (member && weir_slice_is(weir_json_key(member), "link"))
        follow_link(ex, weir_json_text(member));
    else if (member) log_in_by_key(ex, weir_json_text(member));
    weir_json_doc_free(doc);
}

void auth_post(struct exchange *ex)
{
    struct weir_slice key, origin;
    const struct http_head *head = exchange_head(ex);
    if (exchange_is_public(ex) || exchange_is_local(ex)) {
        answer_who(ex, exchange_access(ex), 0);
        return;
    }
    if (http_find(head, "origin", &origin) && !admit_is_own_page(ex, head)) {
        exchange_error(ex, WEIR_FORBIDDEN, "only a page of this server's own may log in (CSRF)");
        return;
    }
    if (admit_find_key(head, &key)) {
        log_in(ex, key);
        return;
    }
    if (exchange_body(ex).len == 0) log_in(ex, SLICE(""));
    else log_in_by_body(ex);
}

/* ---- who is ---- */

/* The cookie that the request shows, if it is a good one. */
static bool has_cookie(struct exchange *ex, struct cookie *out)
{
    struct weir_slice text;
    return admit_find_cookie(ex, exchange_head(ex), &text) &&
           cookies_read(server_cookies(exchange_server(ex)), text, out);
}

void auth_get(struct exchange *ex)
{
    struct cookie cookie;
    struct key_info info = {.expires_ms = 0};
    const struct access *who = exchange_access(ex);
    if (who->is_cookie && has_cookie(ex, &cookie)) {
        answer_who(ex, who, cookie.expires_ms);
        return;
    }
    if (who->name[0] &&
        !keys_get(server_keys(exchange_server(ex)), weir_slice_of(who->name), &info))
        info.expires_ms = 0;
    answer_who(ex, who, info.expires_ms);
}

/* ---- logging out ---- */

static void take_back(void *user)
{
    struct login *l = user;
    l->status = cookies_revoke(l->cookies, &l->cookie);
}

static void answer_logout(struct exchange *ex, void *user)
{
    const struct login *l = user;
    admit_put_cookie(ex, "", 0);
    if (l->status == WEIR_OK) exchange_empty(ex, 204);
    else
        exchange_error(ex, WEIR_STORAGE,
                       "the cookie is refused from now on, but the store could not write that "
                       "down (%s): revoke its key before the next start",
                       weir_status_text(l->status));
}

void auth_delete(struct exchange *ex)
{
    struct login *l = exchange_alloc(ex, sizeof *l);
    if (!l) {
        resource_store_error(ex, WEIR_NOMEM);
        return;
    }
    *l = (struct login){.cookies = server_cookies(exchange_server(ex)), .status = WEIR_OK};
    if (has_cookie(ex, &l->cookie)) resource_work(ex, take_back, answer_logout, l);
    else answer_logout(ex, l);
}
