/* SPDX-License-Identifier: Apache-2.0 */
/* Errors as the SDKs of both APIs know them. */
#include <weir/sse.h>

#include "base/slice.h"
#include "gateway/gateway_impl.h"

static const char *anthropic_type(int http_status)
{
    switch (http_status) {
    case 400: return "invalid_request_error";
    case 401: return "authentication_error";
    case 403: return "permission_error";
    case 404: return "not_found_error";
    case 413: return "request_too_large";
    case 429: return "rate_limit_error";
    case 503: return "overloaded_error";
    default: return "api_error";
    }
}

static const char *openai_type(int http_status)
{
    switch (http_status) {
    case 429: return "rate_limit_error";
    case 401:
    case 403: return "permission_error";
    default: return http_status < 500 ? "invalid_request_error" : "server_error";
    }
}

static void put_anthropic(struct weir_buf *out, int http_status, const char *message)
{
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "type");
    weir_json_put_str(out, "error");
    weir_json_put_key(out, "error");
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "type");
    weir_json_put_str(out, anthropic_type(http_status));
    weir_json_put_key(out, "message");
    weir_json_put_str(out, message);
    weir_json_put_end_object(out);
    weir_json_put_end_object(out);
}

static void put_openai(struct weir_buf *out, int http_status, const char *message)
{
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "error");
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "message");
    weir_json_put_str(out, message);
    weir_json_put_key(out, "type");
    weir_json_put_str(out, openai_type(http_status));
    weir_json_put_key(out, "param");
    weir_json_put_null(out);
    weir_json_put_key(out, "code");
    weir_json_put_null(out);
    weir_json_put_end_object(out);
    weir_json_put_end_object(out);
}

void failure_put(struct weir_buf *out, enum model_type type, int http_status, const char *message)
{
    if (type == MODEL_ANTHROPIC) put_anthropic(out, http_status, message);
    else put_openai(out, http_status, message);
}

enum weir_status failure_put_frame(struct weir_buf *out, enum model_type type, const char *message)
{
    struct weir_buf data;
    weir_buf_init(&data, GATEWAY_ERROR_BYTES);
    failure_put(&data, type, HTTP_BAD_GATEWAY, message);
    struct weir_sse_event event = {.type = type == MODEL_ANTHROPIC ? SLICE("error") : SLICE(""),
                                   .data = weir_buf_slice(&data)};
    enum weir_status st = weir_sse_write(out, &event);
    weir_buf_fini(&data);
    return st;
}
