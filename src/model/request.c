/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests and answers in their stored form. A request is hashed and compared by its bytes, so the
 * order of members here is for ever; a new one goes to the end and is left out where it says
 * nothing.
 */
#include "base/slice.h"
#include "codec/json_check.h"
#include "codec/json_member.h"
#include "model/model.h"

const char model_answer_tool[] = "answer";

const char *model_role_name(enum model_role role)
{
    static const char *const names[MODEL_N_ROLES] = {"fast", "main", "critic"};
    return names[role];
}

/* ---- requests ---- */

/* JSON of somebody else as one line; text that is none becomes a string, so that ours is. */
static void put_json(struct weir_buf *out, struct weir_slice text)
{
    struct json_found found;
    if (json_check(text, NULL, NULL, &found) != WEIR_OK) {
        weir_json_put_string(out, text);
        return;
    }
    for (size_t i = 0; i < found.value.len; i++)
        if (found.value.ptr[i] != '\n' && found.value.ptr[i] != '\r')
            weir_buf_append_char(out, found.value.ptr[i]);
}

static void put_optional_json(struct weir_buf *out, const char *key, struct weir_slice text)
{
    if (text.len == 0) return;
    weir_json_put_key(out, key);
    put_json(out, text);
}

void model_text_put(struct weir_buf *out, struct weir_slice text)
{
    weir_json_put_begin_object(out);
    member_str(out, "type", "text");
    member_string(out, "text", text);
    weir_json_put_end_object(out);
}

void model_message_put(struct weir_buf *out, const char *role, struct weir_slice text)
{
    weir_json_put_begin_object(out);
    member_str(out, "role", role);
    weir_json_put_key(out, "content");
    weir_json_put_begin_array(out);
    model_text_put(out, text);
    weir_json_put_end_array(out);
    weir_json_put_end_object(out);
}

void model_request_put(struct weir_buf *out, const struct model_request *request)
{
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "role");
    weir_json_put_str(out, model_role_name(request->role));
    weir_json_put_key(out, "purpose");
    weir_json_put_str(out, request->purpose);
    weir_json_put_key(out, "max_tokens");
    weir_json_put_uint(out, request->max_tokens > 0 ? request->max_tokens : MODEL_MAX_TOKENS);
    weir_json_put_key(out, "system");
    weir_json_put_string(out, request->system);
    weir_json_put_key(out, "messages");
    put_json(out, request->messages);
    put_optional_json(out, "tools", request->tools);
    put_optional_json(out, "schema", request->schema);
    if (request->must_use) {
        weir_json_put_key(out, "must_use");
        weir_json_put_str(out, request->must_use);
    }
    weir_json_put_end_object(out);
}

/* ---- answers ---- */

static const char *const stop_names[] = {
    [MODEL_STOP_END] = "end",         [MODEL_STOP_TOOL] = "tool", [MODEL_STOP_LENGTH] = "length",
    [MODEL_STOP_REFUSED] = "refused", [MODEL_STOP_CUT] = "cut",
};
enum { N_STOPS = sizeof stop_names / sizeof *stop_names };

/* Of which members of usage; one list for both ways. */
static const struct {
    const char *key;
    size_t at;
} usage_rows[] = {
    {"input_tokens", offsetof(struct model_usage, input_tokens)},
    {"output_tokens", offsetof(struct model_usage, output_tokens)},
    {"cache_read_tokens", offsetof(struct model_usage, cache_read_tokens)},
    {"cache_write_tokens", offsetof(struct model_usage, cache_write_tokens)},
};
enum { N_USAGE_ROWS = sizeof usage_rows / sizeof *usage_rows };

static void put_usage(struct weir_buf *out, const struct model_usage *usage)
{
    weir_json_put_begin_object(out);
    for (size_t i = 0; i < N_USAGE_ROWS; i++) {
        weir_json_put_key(out, usage_rows[i].key);
        weir_json_put_uint(out, *(const uint64_t *)((const char *)usage + usage_rows[i].at));
    }
    weir_json_put_end_object(out);
}

static void put_failure(struct weir_buf *out, const struct model_answer *answer)
{
    weir_json_put_key(out, "is_final");
    weir_json_put_bool(out, answer->is_final);
    weir_json_put_key(out, "retry_after_ms");
    weir_json_put_uint(out, answer->retry_after_ms);
    weir_json_put_key(out, "why");
    weir_json_put_str(out, answer->why);
}

void model_answer_put(struct weir_buf *out, const struct model_answer *answer)
{
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "status");
    weir_json_put_str(out, weir_status_name(answer->status));
    if (answer->status != WEIR_OK) put_failure(out, answer);
    weir_json_put_key(out, "stop");
    weir_json_put_str(out, stop_names[answer->stop]);
    weir_json_put_key(out, "content");
    put_json(out, answer->content.len > 0 ? answer->content : SLICE("[]"));
    weir_json_put_key(out, "usage");
    put_usage(out, &answer->usage);
    weir_json_put_key(out, "cost_usd");
    weir_json_put_double(out, answer->cost_usd);
    weir_json_put_key(out, "provider");
    weir_json_put_str(out, answer->provider);
    weir_json_put_key(out, "model");
    weir_json_put_str(out, answer->model);
    weir_json_put_key(out, "attempts");
    weir_json_put_uint(out, answer->attempts);
    weir_json_put_end_object(out);
}

static bool read_status(const struct weir_json *v, enum weir_status *out)
{
    struct weir_slice name = weir_json_text(v);
    for (int i = 0; i < WEIR_N_STATUS; i++)
        if (weir_slice_is(name, weir_status_name((enum weir_status)i))) {
            *out = (enum weir_status)i;
            return true;
        }
    return false;
}

static bool read_stop(const struct weir_json *v, enum model_stop *out)
{
    struct weir_slice name = weir_json_text(v);
    for (int i = 0; i < N_STOPS; i++)
        if (weir_slice_is(name, stop_names[i])) {
            *out = (enum model_stop)i;
            return true;
        }
    return false;
}

static bool read_count(const struct weir_json *v, uint64_t *out)
{
    int64_t n = 0;
    if (!weir_json_int64(v, &n) || n < 0) return false;
    *out = (uint64_t)n;
    return true;
}

static bool read_usage(const struct weir_json *v, struct model_usage *out)
{
    for (size_t i = 0; i < N_USAGE_ROWS; i++) {
        uint64_t *n = (uint64_t *)((char *)out + usage_rows[i].at);
        if (!read_count(weir_json_get_str(v, usage_rows[i].key), n)) return false;
    }
    return true;
}

static bool read_failure(const struct weir_json *json, struct model_answer *out)
{
    const struct weir_json *is_final = weir_json_get_str(json, "is_final");
    if (out->status == WEIR_OK) return true;
    out->is_final = weir_json_type_of(is_final) == WEIR_JSON_TRUE;
    return is_final && read_count(weir_json_get_str(json, "retry_after_ms"), &out->retry_after_ms);
}

static bool read_numbers(const struct weir_json *json, struct model_answer *out)
{
    uint64_t attempts = 0;
    if (!read_status(weir_json_get_str(json, "status"), &out->status) ||
        !read_stop(weir_json_get_str(json, "stop"), &out->stop) ||
        !read_usage(weir_json_get_str(json, "usage"), &out->usage) ||
        !weir_json_double(weir_json_get_str(json, "cost_usd"), &out->cost_usd) ||
        !read_count(weir_json_get_str(json, "attempts"), &attempts) || attempts > UINT32_MAX)
        return false;
    out->attempts = (unsigned)attempts;
    return read_failure(json, out);
}

/* Where it begins; the buffer may move until all are in it. */
static size_t keep_text(struct weir_buf *content, const struct weir_json *v)
{
    size_t at = content->len;
    weir_buf_append_slice(content, weir_json_text(v));
    weir_buf_append_char(content, 0);
    return at;
}

bool model_answer_read(const struct weir_json *json, struct weir_buf *content,
                       struct model_answer *out)
{
    const struct weir_json *blocks = weir_json_get_str(json, "content");
    *out = (struct model_answer){.status = WEIR_OK};
    if (weir_json_type_of(blocks) != WEIR_JSON_ARRAY || !read_numbers(json, out)) return false;
    size_t why = keep_text(content, weir_json_get_str(json, "why"));
    size_t provider = keep_text(content, weir_json_get_str(json, "provider"));
    size_t model = keep_text(content, weir_json_get_str(json, "model"));
    size_t at = content->len;
    weir_json_put_value(content, blocks);
    if (weir_buf_status(content) != WEIR_OK) return false;
    out->why = content->ptr + why;
    out->provider = content->ptr + provider;
    out->model = content->ptr + model;
    out->content = slice_of(content->ptr + at, content->len - at);
    return true;
}
