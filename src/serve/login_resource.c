/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /auth/links: makes a link that logs a browser in once. `weir key link` uses it over the control
 * socket, `weir serve` asks for one when it starts at a terminal. It is for admins alone: whoever
 * has the link has the key's rights.
 */
#include <weir/json.h>

#include "base/slice.h"
#include "codec/json_member.h"
#include "serve/login_link.h"
#include "serve/resource.h"

enum { ANSWER_BYTES = LOGIN_URL_BYTES + 1024, BODY_VALUES_BYTES = 1 << 20 };

static const char local_owner[] = "me";

/* How browsers reach the page. */
static const char *page_address(const struct server *s)
{
    const char *public_url = server_options(s)->public_url;
    return public_url ? public_url : server_address(s, 0);
}

enum weir_status login_link_offer(struct server *s, struct weir_buf *url)
{
    char name[KEY_NAME_BYTES + 1];
    struct login_link link;
    enum weir_status st = login_page_key(server_keys(s), weir_slice_of(local_owner), name);
    if (st != WEIR_OK) return st;
    st = login_links_make(server_login_links(s), weir_slice_of(name), &link);
    if (st != WEIR_OK) return st;
    login_link_put_url(url, page_address(s), link.token);
    explicit_bzero(&link, sizeof link);
    return weir_buf_status(url);
}

/* ---- the resource ---- */

struct link_job {
    struct server *server;
    struct key_info info; /* its name or its owner is what was asked for */
    struct login_link link;
    int64_t now_ms;
    enum weir_status status;
};

static bool copy_text(const struct weir_json *v, char *out, size_t cap)
{
    struct weir_slice text = weir_json_text(v);
    if (weir_json_type_of(v) != WEIR_JSON_STRING || text.len == 0 || text.len >= cap) return false;
    memcpy(out, text.ptr, text.len);
    out[text.len] = 0;
    return strlen(out) == text.len;
}

static bool take_member(const struct weir_json *v, struct key_info *info)
{
    struct weir_slice key = weir_json_key(v);
    if (weir_slice_is(key, "key")) return copy_text(v, info->name, sizeof info->name);
    if (weir_slice_is(key, "owner"))
        return copy_text(v, info->owner, sizeof info->owner) &&
               owner_is_name(weir_slice_of(info->owner));
    return false;
}

/* {}, {"owner": …} or {"key": …}; false when that was answered with an error. */
static bool read_body(struct exchange *ex, struct weir_json_doc *doc, struct key_info *info)
{
    if (!resource_is_json(ex)) {
        exchange_error(ex, WEIR_BAD_TYPE, "the body has to be application/json");
        return false;
    }
    const struct weir_json *body = resource_read_object(ex, doc);
    if (!body) return false;
    bool is_good = weir_json_count(body) <= 1;
    for (const struct weir_json *v = weir_json_first(body); v && is_good; v = weir_json_next(v))
        is_good = take_member(v, info);
    if (!is_good)
        exchange_error(ex, WEIR_BAD_FIELD,
                       "the body has to be {}, {\"owner\": whose} or {\"key\": a key's name}");
    if (info->owner[0] == 0) memcpy(info->owner, local_owner, sizeof local_owner);
    return is_good;
}

static void make_link(void *user)
{
    struct link_job *job = user;
    struct keys *keys = server_keys(job->server);
    if (job->info.name[0] == 0)
        job->status = login_page_key(keys, weir_slice_of(job->info.owner), job->info.name);
    if (job->status != WEIR_OK) return;
    struct weir_slice name = weir_slice_of(job->info.name);
    bool is_there = keys_get(keys, name, &job->info) && job->info.revoked_ms == 0 &&
                    (job->info.expires_ms == 0 || job->info.expires_ms > job->now_ms);
    job->status = is_there ? login_links_make(server_login_links(job->server), name, &job->link)
                           : WEIR_NOT_FOUND;
}

static void put_link(struct weir_buf *out, const struct link_job *job)
{
    char url[LOGIN_URL_BYTES];
    struct weir_buf text = {.ptr = url, .cap = sizeof url, .max = sizeof url};
    login_link_put_url(&text, page_address(job->server), job->link.token);
    weir_json_put_begin_object(out);
    member_string(out, "url", weir_buf_slice(&text));
    weir_json_put_key(out, "path");
    weir_buf_printf(out, "\"/#/link/%s\"", job->link.token);
    member_time(out, "expires", job->link.expires_ms);
    member_str(out, "key", job->info.name);
    member_str(out, "owner", job->info.owner[0] ? job->info.owner : local_owner);
    weir_json_put_end_object(out);
    explicit_bzero(url, sizeof url);
}

static void answer_made(struct exchange *ex, void *user)
{
    struct link_job *job = user;
    struct weir_buf json;
    if (job->status == WEIR_NOT_FOUND) {
        exchange_error(ex, WEIR_NOT_FOUND, "there is no key of this name that is valid");
        return;
    }
    if (job->status != WEIR_OK) {
        resource_store_error(ex, job->status);
        return;
    }
    weir_buf_init(&json, ANSWER_BYTES);
    put_link(&json, job);
    exchange_field(ex, "Cache-Control", SLICE("no-store"));
    if (weir_buf_status(&json) == WEIR_OK) exchange_json(ex, 201, weir_buf_slice(&json));
    else resource_store_error(ex, WEIR_NOMEM);
    if (json.len > 0) explicit_bzero(json.ptr, json.len);
    weir_buf_fini(&json);
    explicit_bzero(&job->link, sizeof job->link);
}

void login_links_post(struct exchange *ex)
{
    struct link_job *job = exchange_alloc(ex, sizeof *job);
    struct weir_json_doc *doc = weir_json_doc_new(BODY_VALUES_BYTES);
    if (job) {
        *job = (struct link_job){
            .server = exchange_server(ex), .now_ms = exchange_wall_ms(ex), .status = WEIR_OK};
    }
    if (!job || !doc) resource_store_error(ex, WEIR_NOMEM);
    else if (exchange_is_public(ex))
        exchange_error(ex, WEIR_CONFLICT, "without keys (--open) nobody has to log in");
    else if (read_body(ex, doc, &job->info)) resource_work(ex, make_link, answer_made, job);
    weir_json_doc_free(doc);
}
