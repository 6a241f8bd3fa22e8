/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a failure means: whether the same request may succeed later, whether the provider is in
 * trouble, how long it wants to be left alone, and a sentence for people. The sentence has the code
 * that the server gave, and none of its own words: they may repeat what it was asked, and sentences
 * go into logs and documents. Its key and all that looks like one is taken out, and it is short.
 */
#include <stdio.h>

#include "base/mask.h"
#include "base/mem.h"
#include "base/slice.h"
#include "base/utf8.h"
#include "io/retry_after.h"
#include "model/model_impl.h"

enum {
    SAID_BYTES = 160, /* of what a server said */
    WORD_BYTES = 64,
    ERROR_VALUE_BYTES = 1 << 20,
    HTTP_TIMEOUT = 408,
    HTTP_CONFLICT = 409,
    HTTP_TOO_MANY = 429,
    HTTP_NOT_IMPLEMENTED = 501,
    HTTP_VERSION = 505,
};

/* ---- words ---- */

static void make_one_line(char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)text[i] < ' ' || text[i] == 0x7F) text[i] = ' ';
}

/* The key first, by its value: masks know secrets by their surroundings only. */
static void put_masked(struct weir_buf *out, const char *key, struct weir_slice said)
{
    char *copy = said.len > 0 ? mem_alloc(said.len) : NULL;
    if (!copy) return;
    memcpy(copy, said.ptr, said.len);
    model_key_blot(key, copy, said.len);
    make_one_line(copy, said.len);
    mask_append(out, slice_of(copy, said.len));
    mem_free(copy);
}

void model_failure_say(struct model_failure *f, const struct model_provider *provider,
                       const char *what, struct weir_slice said)
{
    struct weir_buf text;
    weir_buf_init(&text, 64 << 10);
    put_masked(&text, provider->key, said);
    size_t len = text.len < SAID_BYTES ? text.len : SAID_BYTES;
    len = utf8_valid_prefix(slice_of(text.ptr, len));
    snprintf(f->why, sizeof f->why, "%s %s%s%.*s", provider->name, what, len > 0 ? ": " : "",
             (int)len, len > 0 ? text.ptr : "");
    f->why[utf8_valid_prefix(weir_slice_of(f->why))] = 0;
    weir_buf_fini(&text);
}

/* ---- errors as servers tell them ---- */

bool model_error_may_help(struct weir_slice type)
{
    static const char *const lasting[] = {
        "authentication_error", "billing_error",         "insufficient_quota",
        "invalid_api_key",      "invalid_request_error", "not_found_error",
        "permission_error",     "request_too_large",     "context_length_exceeded",
        "BadRequestError",      "NotFoundError",         "exceed_context_size_error",
    };
    for (size_t i = 0; i < sizeof lasting / sizeof *lasting; i++)
        if (weir_slice_is(type, lasting[i])) return false;
    return true;
}

struct weir_slice model_failure_word(struct weir_slice said)
{
    static const char signs[] = "_-./+";
    if (said.len > WORD_BYTES) return (struct weir_slice){0};
    for (size_t i = 0; i < said.len; i++) {
        unsigned char c = (unsigned char)said.ptr[i];
        bool is_letter = (c | 32) >= 'a' && (c | 32) <= 'z';
        if (!is_letter && !memchr(signs, c, sizeof signs - 1)) return (struct weir_slice){0};
    }
    return said;
}

struct weir_slice model_error_code(const struct weir_json *error)
{
    struct weir_slice word = model_failure_word(weir_json_text(weir_json_get_str(error, "code")));
    if (word.len > 0) return word;
    return model_failure_word(weir_json_text(weir_json_get_str(error, "type")));
}

static bool is_quota(const struct weir_json *body)
{
    const struct weir_json *error = weir_json_get_str(body, "error");
    return weir_slice_is(weir_json_text(weir_json_get_str(error, "type")), "insufficient_quota") ||
           weir_slice_is(weir_json_text(weir_json_get_str(error, "code")), "insufficient_quota");
}

static bool may_help(int http_status)
{
    if (http_status == HTTP_NOT_IMPLEMENTED || http_status == HTTP_VERSION) return false;
    return http_status == HTTP_TIMEOUT || http_status == HTTP_CONFLICT ||
           http_status == HTTP_TOO_MANY || http_status >= 500;
}

void model_failure_of_http(struct model_failure *f, const struct model_provider *provider,
                           int http_status, struct weir_slice body)
{
    char what[64];
    const struct weir_json *value = NULL;
    struct weir_json_doc *doc = weir_json_doc_new(ERROR_VALUE_BYTES);
    if (!doc || weir_json_parse(doc, body, &value, NULL) != WEIR_OK) value = NULL;
    *f = (struct model_failure){
        .status = WEIR_UPSTREAM,
        /* A quota that is used up is said with 429, too, and does not come back in minutes. */
        .may_help = may_help(http_status) && !is_quota(value),
        .is_outage = http_status >= 500,
    };
    if (http_status >= 300 && http_status < 400)
        snprintf(what, sizeof what, "leads elsewhere (%d), which is not followed", http_status);
    else snprintf(what, sizeof what, "answered %d", http_status);
    model_failure_say(f, provider, what, model_error_code(weir_json_get_str(value, "error")));
    weir_json_doc_free(doc);
}

/* ---- Retry-After ---- */

uint64_t model_retry_after_ms(struct weir_slice ms, struct weir_slice seconds_or_date,
                              int64_t wall_ms)
{
    uint64_t pause = retry_after_ms(ms, seconds_or_date, wall_ms);
    return pause < MODEL_MAX_RETRY_AFTER_MS ? pause : MODEL_MAX_RETRY_AFTER_MS;
}
