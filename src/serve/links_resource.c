/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /v1/links: make a link to a stream, and make all links void. `weir link` uses it over the
 * control socket while the server runs. It is for admins alone: a link outlives the key that
 * asked for it.
 */
#include "base/slice.h"
#include "serve/link.h"
#include "serve/resource.h"
#include "stream/record.h"

#include <weir/json.h>

struct link_job {
    struct links *links;
    struct link link;
    char stream[STREAM_NAME_BYTES];
    enum weir_status status;
};

/* NULL when that was answered with an error. */
static struct link_job *new_job(struct exchange *ex)
{
    struct link_job *job = exchange_alloc(ex, sizeof *job);
    if (!job) {
        resource_store_error(ex, WEIR_NOMEM);
        return NULL;
    }
    *job = (struct link_job){.links = server_links(exchange_server(ex))};
    job->link.lasts_s = LINK_DEFAULT_LIFE_S;
    return job;
}

/* ---- making ---- */

static bool take_stream(const struct weir_json *v, struct link_job *job)
{
    struct weir_slice name = weir_json_text(v);
    if (weir_json_type_of(v) != WEIR_JSON_STRING || name.len > sizeof job->stream) return false;
    if (name.len > 0) memcpy(job->stream, name.ptr, name.len);
    job->link.stream = slice_of(job->stream, name.len);
    return true;
}

static bool take_member(const struct weir_json *v, struct link_job *job)
{
    struct weir_slice key = weir_json_key(v);
    if (weir_slice_is(key, "stream")) return take_stream(v, job);
    if (weir_slice_is(key, "expires_in")) return weir_json_int64(v, &job->link.lasts_s);
    return false;
}

/* False when that was answered with an error. */
static bool take_body(struct exchange *ex, const struct weir_json *body, struct link_job *job)
{
    const char *why;
    for (const struct weir_json *v = weir_json_first(body); v; v = weir_json_next(v)) {
        struct weir_slice key = weir_json_key(v);
        if (take_member(v, job)) continue;
        exchange_error(ex, WEIR_BAD_FIELD,
                       "\"%.*s\" is not known here or has a value it cannot have",
                       (int)(key.len < 64 ? key.len : 64), key.len > 0 ? key.ptr : "");
        return false;
    }
    if (link_is_valid(&job->link, &why)) return true;
    exchange_error(ex, WEIR_BAD_FIELD, "%s", why);
    return false;
}

static bool read_body(struct exchange *ex, struct link_job *job)
{
    const struct weir_json *body = NULL;
    bool is_good = false;
    struct weir_json_doc *doc = weir_json_doc_new(0);
    enum weir_status st = doc ? weir_json_parse(doc, exchange_body(ex), &body, NULL) : WEIR_NOMEM;
    if (st == WEIR_NOMEM) resource_store_error(ex, st);
    else if (st != WEIR_OK || weir_json_type_of(body) != WEIR_JSON_OBJECT)
        exchange_error(ex, WEIR_BAD_REQUEST, "the body has to be a JSON object");
    else is_good = take_body(ex, body, job);
    weir_json_doc_free(doc);
    return is_good;
}

static void make_link(void *user)
{
    struct link_job *job = user;
    job->status = links_make(job->links, &job->link);
}

static void answer_made(struct exchange *ex, void *user)
{
    struct link_job *job = user;
    struct weir_buf json;
    if (job->status != WEIR_OK) {
        resource_store_error(ex, job->status);
        return;
    }
    weir_buf_init(&json, LINK_JSON_BYTES);
    link_put(&json, &job->link);
    exchange_field(ex, "Cache-Control", SLICE("no-store"));
    if (weir_buf_status(&json) == WEIR_OK) exchange_json(ex, 201, weir_buf_slice(&json));
    else resource_store_error(ex, WEIR_NOMEM);
    weir_buf_fini(&json);
}

void links_post(struct exchange *ex)
{
    struct link_job *job = new_job(ex);
    if (!job || !read_body(ex, job)) return;
    resource_work(ex, make_link, answer_made, job);
}

/* ---- making all void ---- */

static void rotate(void *user)
{
    struct link_job *job = user;
    job->status = links_rotate(job->links);
}

static void answer_rotated(struct exchange *ex, void *user)
{
    const struct link_job *job = user;
    if (job->status == WEIR_OK) exchange_empty(ex, 204);
    else
        exchange_error(ex, WEIR_STORAGE,
                       "the links are refused from now on, but the store could not write that "
                       "down (%s): rotate again before the next start",
                       weir_status_text(job->status));
}

void links_delete(struct exchange *ex)
{
    struct link_job *job = new_job(ex);
    if (job) resource_work(ex, rotate, answer_rotated, job);
}
