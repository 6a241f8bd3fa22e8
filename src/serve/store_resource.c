/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /v1/store: a backup or a check while everything goes on. A backup names a path of this
 * machine, so it is taken over the control socket only.
 */
#include <weir/json.h>

#include "base/slice.h"
#include "serve/resource.h"

enum {
    PATH_MAX_BYTES = 4096,
    MAX_COMPLAINTS = 100, /* that are shown; all are counted */
    COMPLAINT_BYTES = 1024,
    ANSWER_BYTES = MAX_COMPLAINTS * 2 * COMPLAINT_BYTES,
};

struct store_job {
    struct store *store;
    enum weir_status status;
    struct store_error error;
    char path[PATH_MAX_BYTES];
    struct weir_buf complaints; /* JSON strings of an array */
    unsigned n_shown;
    uint64_t n_wrong;
};

/* NULL when that was answered with an error. */
static struct store_job *new_job(struct exchange *ex)
{
    struct store_job *job = exchange_alloc(ex, sizeof *job);
    if (!job) {
        resource_store_error(ex, WEIR_NOMEM);
        return NULL;
    }
    *job = (struct store_job){.store = server_store(exchange_server(ex))};
    return job;
}

/* ---- backup ---- */

/* The body's "path", as a C string; false when it has none that can be one. */
static bool read_path(struct exchange *ex, char path[PATH_MAX_BYTES])
{
    const struct weir_json *body = NULL;
    struct weir_json_doc *doc = weir_json_doc_new(0);
    bool is_read = doc && weir_json_parse(doc, exchange_body(ex), &body, NULL) == WEIR_OK;
    struct weir_slice text = weir_json_text(is_read ? weir_json_get_str(body, "path") : NULL);
    bool is_path = text.len > 0 && text.len < PATH_MAX_BYTES && text.ptr[0] == '/' &&
                   !memchr(text.ptr, 0, text.len);
    if (is_path) {
        memcpy(path, text.ptr, text.len);
        path[text.len] = 0;
    }
    weir_json_doc_free(doc);
    return is_path;
}

static void back_up(void *user)
{
    struct store_job *job = user;
    job->status = store_backup(job->store, job->path, &job->error);
}

static void answer_backup(struct exchange *ex, void *user)
{
    const struct store_job *job = user;
    if (job->status == WEIR_OK) {
        exchange_empty(ex, 204);
        return;
    }
    bool has_text = job->error.text[0] != 0;
    exchange_error(ex, job->status, "%s",
                   has_text ? job->error.text : weir_status_text(job->status));
}

void store_post_backup(struct exchange *ex)
{
    if (!exchange_is_local(ex)) {
        exchange_error(ex, WEIR_FORBIDDEN,
                       "a backup is made on the server's own machine: weir store backup");
        return;
    }
    struct store_job *job = new_job(ex);
    if (!job) return;
    if (!read_path(ex, job->path)) {
        exchange_error(ex, WEIR_BAD_FIELD, "the body has to be {\"path\":\"/…\"}");
        return;
    }
    resource_work(ex, back_up, answer_backup, job);
}

/* ---- check ---- */

static void add_complaint(void *user, const char *text)
{
    struct store_job *job = user;
    if (job->n_shown++ >= MAX_COMPLAINTS) return;
    weir_json_put_string(&job->complaints, slice_of(text, strnlen(text, COMPLAINT_BYTES)));
}

static void check(void *user)
{
    struct store_job *job = user;
    weir_buf_init(&job->complaints, ANSWER_BYTES);
    weir_json_put_begin_array(&job->complaints);
    job->status = store_check(job->store, add_complaint, job, &job->n_wrong);
    weir_json_put_end_array(&job->complaints);
}

static void answer_check(struct exchange *ex, void *user)
{
    struct store_job *job = user;
    struct weir_buf json;
    weir_buf_init(&json, 2 * ANSWER_BYTES);
    weir_json_put_begin_object(&json);
    weir_json_put_key(&json, "wrong");
    weir_json_put_uint(&json, job->n_wrong);
    weir_json_put_key(&json, "complaints");
    weir_buf_append_slice(&json, weir_buf_slice(&job->complaints));
    weir_json_put_end_object(&json);
    enum weir_status st = job->status;
    if (st == WEIR_OK) st = weir_buf_status(&job->complaints);
    if (st == WEIR_OK) st = weir_buf_status(&json);
    if (st == WEIR_OK) exchange_json(ex, 200, weir_buf_slice(&json));
    else resource_store_error(ex, st);
    weir_buf_fini(&json);
    weir_buf_fini(&job->complaints);
}

void store_post_check(struct exchange *ex)
{
    struct store_job *job = new_job(ex);
    if (job) resource_work(ex, check, answer_check, job);
}
