/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /v1/keys: make, list and revoke API keys. `weir key` uses it over the control socket
 * while the server runs. A key itself is in one answer only, that of its making.
 */
#include "base/slice.h"
#include "serve/resource.h"

#include <weir/json.h>

enum {
    ANSWER_BYTES = 4096,
    LIST_BYTES = KEYS_MAX * 1024, /* a key's description is shorter */
};

struct key_job {
    struct keys *keys;
    struct key_info info;
    char text[KEY_TEXT_BYTES];
    char name[KEY_NAME_BYTES];
    size_t name_len;
    enum weir_status status;
};

/* NULL when that was answered with an error. */
static struct key_job *new_job(struct exchange *ex)
{
    struct key_job *job = exchange_alloc(ex, sizeof *job);
    if (!job) {
        resource_store_error(ex, WEIR_NOMEM);
        return NULL;
    }
    *job = (struct key_job){.keys = server_keys(exchange_server(ex))};
    return job;
}

/* ---- making ---- */

static bool copy_text(const struct weir_json *v, char *out, size_t cap)
{
    struct weir_slice text = weir_json_text(v);
    if (weir_json_type_of(v) != WEIR_JSON_STRING || text.len >= cap) return false;
    if (text.len > 0) memcpy(out, text.ptr, text.len);
    /* A NUL inside would end the text for whoever reads it next. */
    return strnlen(out, cap) == text.len;
}

static bool take_scopes(const struct weir_json *list, unsigned *scopes)
{
    *scopes = SCOPE_NONE;
    if (weir_json_type_of(list) != WEIR_JSON_ARRAY) return false;
    for (const struct weir_json *v = weir_json_first(list); v; v = weir_json_next(v)) {
        unsigned scope;
        if (weir_json_type_of(v) != WEIR_JSON_STRING || !scopes_parse(weir_json_text(v), &scope))
            return false;
        *scopes |= scope;
    }
    return true;
}

/* Whole seconds; null: for ever. */
static bool take_life(const struct weir_json *v, int64_t *lasts_s)
{
    if (weir_json_type_of(v) == WEIR_JSON_NULL) return true;
    return weir_json_int64(v, lasts_s) && *lasts_s > 0;
}

static bool take_member(const struct weir_json *v, struct key_info *info)
{
    struct weir_slice key = weir_json_key(v);
    if (weir_slice_is(key, "label")) return copy_text(v, info->label, sizeof info->label);
    if (weir_slice_is(key, "owner")) return copy_text(v, info->owner, sizeof info->owner);
    if (weir_slice_is(key, "scopes")) return take_scopes(v, &info->scopes);
    if (weir_slice_is(key, "prefix")) return copy_text(v, info->prefix, sizeof info->prefix);
    if (weir_slice_is(key, "expires_in")) return take_life(v, &info->lasts_s);
    if (weir_slice_is(key, "rate")) return weir_json_double(v, &info->rate_per_s);
    if (weir_slice_is(key, "burst")) return weir_json_double(v, &info->burst);
    return false;
}

/* False when that was answered with an error. */
static bool take_body(struct exchange *ex, const struct weir_json *body, struct key_info *info)
{
    const char *why;
    if (weir_json_type_of(body) != WEIR_JSON_OBJECT) {
        exchange_error(ex, WEIR_BAD_REQUEST, "the body has to be an object");
        return false;
    }
    for (const struct weir_json *v = weir_json_first(body); v; v = weir_json_next(v)) {
        struct weir_slice key = weir_json_key(v);
        if (take_member(v, info)) continue;
        exchange_error(ex, WEIR_BAD_FIELD,
                       "\"%.*s\" is not known here or has a value it cannot have",
                       (int)(key.len < 64 ? key.len : 64), key.len > 0 ? key.ptr : "");
        return false;
    }
    if (!key_info_is_valid(info, &why)) {
        exchange_error(ex, WEIR_BAD_FIELD, "%s", why);
        return false;
    }
    return true;
}

static bool read_body(struct exchange *ex, struct key_info *info)
{
    const struct weir_json *body = NULL;
    size_t offset = 0;
    bool is_good = false;
    struct weir_slice text = exchange_body(ex);
    struct weir_json_doc *doc = weir_json_doc_new(0);
    info->scopes = SCOPE_READ | SCOPE_WRITE;
    enum weir_status st = doc ? weir_json_parse(doc, text, &body, &offset) : WEIR_NOMEM;
    if (st == WEIR_NOMEM) resource_store_error(ex, st);
    else if (st != WEIR_OK)
        exchange_error(ex, WEIR_BAD_REQUEST, "the body is not JSON: %s, at byte %zu",
                       weir_status_text(st), offset);
    else is_good = take_body(ex, body, info);
    weir_json_doc_free(doc);
    return is_good;
}

static void create_key(void *user)
{
    struct key_job *job = user;
    job->status = keys_create(job->keys, &job->info, job->text);
}

static void answer_created(struct exchange *ex, void *user)
{
    struct key_job *job = user;
    struct weir_buf json;
    if (job->status == WEIR_LIMIT) {
        exchange_error(ex, WEIR_LIMIT, "there are %d keys; revoke some that are not used",
                       KEYS_MAX);
        return;
    }
    if (job->status != WEIR_OK) {
        resource_store_error(ex, job->status);
        return;
    }
    weir_buf_init(&json, ANSWER_BYTES);
    key_info_put(&json, &job->info, job->text);
    exchange_field(ex, "Cache-Control", SLICE("no-store"));
    if (weir_buf_status(&json) == WEIR_OK) exchange_json(ex, 201, weir_buf_slice(&json));
    else resource_store_error(ex, WEIR_NOMEM);
    if (json.len > 0) explicit_bzero(json.ptr, json.len);
    weir_buf_fini(&json);
    explicit_bzero(job->text, sizeof job->text);
}

void keys_post(struct exchange *ex)
{
    struct key_job *job = new_job(ex);
    if (!job || !read_body(ex, &job->info)) return;
    resource_work(ex, create_key, answer_created, job);
}

/* ---- listing ---- */

static void put_key(void *user, const struct key_info *info)
{
    key_info_put(user, info, NULL);
}

void keys_list(struct exchange *ex)
{
    struct weir_buf json;
    weir_buf_init(&json, LIST_BYTES);
    weir_json_put_begin_object(&json);
    weir_json_put_key(&json, "keys");
    weir_json_put_begin_array(&json);
    enum weir_status st = keys_each(server_keys(exchange_server(ex)), put_key, &json);
    weir_json_put_end_array(&json);
    weir_json_put_end_object(&json);
    if (st == WEIR_OK) st = weir_buf_status(&json);
    if (st == WEIR_OK) exchange_json(ex, 200, weir_buf_slice(&json));
    else resource_store_error(ex, st);
    weir_buf_fini(&json);
}

/* ---- revoking ---- */

static void revoke_key(void *user)
{
    struct key_job *job = user;
    job->status = keys_revoke(job->keys, slice_of(job->name, job->name_len));
}

static void answer_revoked(struct exchange *ex, void *user)
{
    const struct key_job *job = user;
    if (job->status == WEIR_OK) exchange_empty(ex, 204);
    else if (job->status == WEIR_NOT_FOUND)
        exchange_error(ex, WEIR_NOT_FOUND, "there is no key of this name");
    else
        exchange_error(ex, WEIR_STORAGE,
                       "the key is refused from now on, but the store could not write that down "
                       "(%s): revoke it again before the next start",
                       weir_status_text(job->status));
}

void keys_delete(struct exchange *ex)
{
    struct key_job *job = new_job(ex);
    struct weir_slice name = exchange_param(ex, 0);
    if (!job) return;
    /* A longer one cannot be there; what fits of it is not there either, or is another. */
    job->status = WEIR_NOT_FOUND;
    if (name.len != KEY_NAME_BYTES) {
        answer_revoked(ex, job);
        return;
    }
    memcpy(job->name, name.ptr, name.len);
    job->name_len = name.len;
    resource_work(ex, revoke_key, answer_revoked, job);
}
