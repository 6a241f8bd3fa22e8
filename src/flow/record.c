/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is kept of runs and steps, as bytes: the documents of flow.h. They are JSON, so that people
 * can read them; a step's output stands behind a line of its own and is kept to the byte.
 */
#include <stdio.h>

#include "base/check.h"
#include "base/slice.h"
#include "flow/flow_impl.h"

enum { RUN_RECORD_BYTES = 4096 };

const char flow_run_kind[] = "run";
const char flow_cancel_kind[] = "run-cancel";
const char flow_input_kind[] = "run-input";
const char flow_step_kind[] = "step";
const char flow_node_kind[] = "run-node";
const char flow_offer_kind[] = "run-offer";

/* ---- the run ---- */

void flow_run_write(struct weir_buf *out, const struct run_record *r)
{
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "workflow");
    weir_json_put_string(out, r->workflow);
    weir_json_put_key(out, "log");
    weir_json_put_string(out, r->log);
    weir_json_put_key(out, "holder");
    weir_json_put_string(out, r->holder);
    weir_json_put_key(out, "step");
    weir_json_put_uint(out, r->step);
    weir_json_put_key(out, "attempt");
    weir_json_put_uint(out, r->attempt);
    weir_json_put_key(out, "crashes");
    weir_json_put_uint(out, r->crashes);
    if (r->rests) {
        weir_json_put_key(out, "rests");
        weir_json_put_bool(out, true);
    }
    weir_json_put_key(out, "done");
    weir_json_put_uint(out, r->done);
    weir_json_put_key(out, "created_ms");
    weir_json_put_int(out, r->created_ms);
    weir_json_put_key(out, "began_ms");
    weir_json_put_int(out, r->began_ms);
    weir_json_put_key(out, "cost_usd");
    weir_json_put_double(out, r->cost_usd);
    weir_json_put_key(out, "step_usd");
    weir_json_put_double(out, r->step_usd);
    weir_json_put_end_object(out);
}

static unsigned get_uint(const struct weir_json *v, const char *key)
{
    int64_t n = 0;
    bool is_number = weir_json_int64(weir_json_get_str(v, key), &n);
    return is_number && n >= 0 && n <= UINT32_MAX ? (unsigned)n : 0;
}

static int64_t get_int(const struct weir_json *v, const char *key)
{
    int64_t n = 0;
    return weir_json_int64(weir_json_get_str(v, key), &n) ? n : 0;
}

static double get_double(const struct weir_json *v, const char *key)
{
    double x = 0;
    return weir_json_double(weir_json_get_str(v, key), &x) ? x : 0;
}

static bool is_true(const struct weir_json *v, const char *key)
{
    return weir_json_type_of(weir_json_get_str(v, key)) == WEIR_JSON_TRUE;
}

static struct weir_slice get_text(const struct weir_json *v, const char *key)
{
    return weir_json_text(weir_json_get_str(v, key));
}

enum weir_status flow_run_read(struct weir_json_doc *json, struct weir_slice body,
                               struct run_record *out)
{
    const struct weir_json *v;
    enum weir_status st = weir_json_parse(json, body, &v, NULL);
    if (st == WEIR_NOMEM) return st;
    if (st != WEIR_OK) return WEIR_CORRUPT;
    *out = (struct run_record){.workflow = get_text(v, "workflow"),
                               .log = get_text(v, "log"),
                               .holder = get_text(v, "holder"),
                               .step = get_uint(v, "step"),
                               .attempt = get_uint(v, "attempt"),
                               .crashes = get_uint(v, "crashes"),
                               .rests = is_true(v, "rests"),
                               .done = get_uint(v, "done"),
                               .created_ms = get_int(v, "created_ms"),
                               .began_ms = get_int(v, "began_ms"),
                               .cost_usd = get_double(v, "cost_usd"),
                               .step_usd = get_double(v, "step_usd")};
    return out->log.len > 0 ? WEIR_OK : WEIR_CORRUPT;
}

enum weir_status flow_add_run(struct commit *c, const struct flow_new_run *run, int64_t wall_ms)
{
    struct weir_buf body;
    CHECK(run->id.len > 0 && run->id.len <= FLOW_ID_BYTES);
    weir_buf_init(&body, RUN_RECORD_BYTES);
    flow_run_write(&body, &(struct run_record){.workflow = weir_slice_of(run->workflow->name),
                                               .log = run->log,
                                               .attempt = 1,
                                               .created_ms = wall_ms});
    enum weir_status st = weir_buf_status(&body);
    if (st == WEIR_OK) {
        commit_put(c, (struct doc_key){weir_slice_of(flow_input_kind), run->id}, DOC_MUST_BE_NEW,
                   run->owner, run->input);
        commit_put(c, (struct doc_key){weir_slice_of(flow_run_kind), run->id}, DOC_MUST_BE_NEW,
                   run->owner, weir_buf_slice(&body));
        commit_make(c, run->log);
    }
    weir_buf_fini(&body);
    return st;
}

/* ---- steps ---- */

struct weir_slice flow_step_id(char out[STEP_ID_BYTES], struct weir_slice run, unsigned number)
{
    CHECK(run.len <= FLOW_ID_BYTES && number < 100);
    memcpy(out, run.ptr, run.len);
    out[run.len] = '/';
    out[run.len + 1] = (char)('0' + number / 10);
    out[run.len + 2] = (char)('0' + number % 10);
    return slice_of(out, run.len + 3);
}

static void put_failure(struct weir_buf *out, const struct flow_failure *failure)
{
    if (!failure) {
        weir_json_put_null(out);
        return;
    }
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "code");
    weir_json_put_str(out, weir_status_name(failure->code));
    weir_json_put_key(out, "is_final");
    weir_json_put_bool(out, failure->is_final);
    weir_json_put_key(out, "retry_after_ms");
    weir_json_put_uint(out, failure->retry_after_ms);
    weir_json_put_key(out, "message");
    weir_json_put_str(out, failure->message);
    weir_json_put_end_object(out);
}

void flow_step_write(struct weir_buf *out, const struct flow_step_info *info)
{
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "name");
    weir_json_put_str(out, info->name);
    weir_json_put_key(out, "number");
    weir_json_put_uint(out, info->number);
    weir_json_put_key(out, "attempts");
    weir_json_put_uint(out, info->attempts);
    weir_json_put_key(out, "began_ms");
    weir_json_put_int(out, info->began_ms);
    weir_json_put_key(out, "ended_ms");
    weir_json_put_int(out, info->ended_ms);
    weir_json_put_key(out, "cost_usd");
    weir_json_put_double(out, info->cost_usd);
    weir_json_put_key(out, "failure");
    put_failure(out, info->failure);
    weir_json_put_end_object(out);
    weir_buf_append_char(out, '\n');
    weir_buf_append_slice(out, info->output);
}

static size_t first_line(struct weir_slice body)
{
    const char *end = body.len > 0 ? memchr(body.ptr, '\n', body.len) : NULL;
    return end ? (size_t)(end - body.ptr) : body.len;
}

struct weir_slice flow_step_output_of(struct weir_slice body)
{
    size_t line = first_line(body);
    return line < body.len ? slice_from(body, line + 1) : (struct weir_slice){0};
}

static enum weir_status status_of(struct weir_slice name)
{
    for (int st = 0; st < WEIR_N_STATUS; st++)
        if (weir_slice_is(name, weir_status_name((enum weir_status)st)))
            return (enum weir_status)st;
    return WEIR_INTERNAL;
}

static void get_failure(const struct weir_json *v, struct flow_failure *out)
{
    struct weir_slice message = get_text(v, "message");
    int64_t retry_after_ms = get_int(v, "retry_after_ms");
    size_t len = message.len < FLOW_MESSAGE_BYTES ? message.len : FLOW_MESSAGE_BYTES - 1;
    *out = (struct flow_failure){
        .code = status_of(get_text(v, "code")),
        .is_final = weir_json_type_of(weir_json_get_str(v, "is_final")) == WEIR_JSON_TRUE,
        .retry_after_ms = retry_after_ms > 0 ? (uint64_t)retry_after_ms : 0};
    if (len > 0) memcpy(out->message, message.ptr, len);
}

/* ---- looking at runs ---- */

struct listing {
    struct weir_slice prefix; /* ID and slash */
    flow_step_fn each;
    void *user;
    struct weir_json_doc *json;
    bool is_over;
};

static enum weir_status list_step(void *user, const struct doc *doc)
{
    struct listing *l = user;
    struct flow_failure failure;
    const struct weir_json *v;
    char name[STORE_NAME_BYTES + 1];
    if (doc->id.len < l->prefix.len || memcmp(doc->id.ptr, l->prefix.ptr, l->prefix.len) != 0) {
        l->is_over = true;
        return WEIR_LIMIT;
    }
    weir_json_doc_reset(l->json);
    enum weir_status st =
        weir_json_parse(l->json, slice_of(doc->body.ptr, first_line(doc->body)), &v, NULL);
    if (st == WEIR_NOMEM) return st;
    if (st != WEIR_OK) return WEIR_CORRUPT;
    struct weir_slice text = get_text(v, "name");
    snprintf(name, sizeof name, "%.*s", (int)text.len, text.len > 0 ? text.ptr : "");
    const struct weir_json *failed = weir_json_get_str(v, "failure");
    bool has_failure = weir_json_type_of(failed) == WEIR_JSON_OBJECT;
    if (has_failure) get_failure(failed, &failure);
    struct flow_step_info info = {.name = name,
                                  .number = get_uint(v, "number"),
                                  .attempts = get_uint(v, "attempts"),
                                  .began_ms = get_int(v, "began_ms"),
                                  .ended_ms = get_int(v, "ended_ms"),
                                  .cost_usd = get_double(v, "cost_usd"),
                                  .output = flow_step_output_of(doc->body),
                                  .failure = has_failure ? &failure : NULL};
    return l->each(l->user, &info);
}

enum weir_status flow_each_step(struct store *store, struct weir_slice id, flow_step_fn each,
                                void *user)
{
    char after[STEP_ID_BYTES];
    if (id.len == 0 || id.len > FLOW_ID_BYTES) return WEIR_OK;
    struct weir_slice first = flow_step_id(after, id, 0);
    struct listing l = {.prefix = slice_of(after, id.len + 1), .each = each, .user = user};
    const struct doc_query query = {
        .kind = weir_slice_of(flow_step_kind), .after = first, .limit = FLOW_STEPS + 1};
    l.json = weir_json_doc_new(0);
    if (!l.json) return WEIR_NOMEM;
    enum weir_status st = store_doc_list(store, &query, list_step, &l);
    weir_json_doc_free(l.json);
    return l.is_over ? WEIR_OK : st;
}
