/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/ds.h"

#include <stdio.h>
#include <string.h>

#include "base/slice.h"

static const char path_prefix[] = "/v1/stream/";
static const char reserved[] = "__ds";

bool ds_name(struct exchange *ex, struct weir_slice *name)
{
    ds_common_fields(ex);
    *name = exchange_param(ex, 0);
    bool is_reserved = name->len >= sizeof reserved - 1 &&
                       memcmp(name->ptr, reserved, sizeof reserved - 1) == 0 &&
                       (name->len == sizeof reserved - 1 || name->ptr[sizeof reserved - 1] == '/');
    if (is_reserved) {
        exchange_error(ex, WEIR_NOT_FOUND, "Names that begin with __ds are not streams");
        return false;
    }
    if (stream_is_name(*name)) return ds_keep(ex, name);
    exchange_error(ex, WEIR_BAD_FIELD,
                   "a stream's name is 1 to %d bytes of UTF-8 without control characters",
                   STREAM_NAME_BYTES);
    return false;
}

bool ds_keep(struct exchange *ex, struct weir_slice *s)
{
    if (s->len == 0) return true;
    char *p = exchange_alloc(ex, s->len);
    if (!p) {
        resource_store_error(ex, WEIR_NOMEM);
        return false;
    }
    memcpy(p, s->ptr, s->len);
    s->ptr = p;
    return true;
}

void ds_common_fields(struct exchange *ex)
{
    exchange_field(ex, "X-Content-Type-Options", SLICE("nosniff"));
    exchange_field(ex, "Cross-Origin-Resource-Policy", SLICE("cross-origin"));
}

void ds_offset_field(struct exchange *ex, uint64_t last)
{
    char text[OFFSET_BYTES];
    offset_format(last, text);
    exchange_field(ex, "Stream-Next-Offset", slice_of(text, sizeof text));
}

void ds_number_field(struct exchange *ex, const char *name, uint64_t n)
{
    char text[24];
    int len = snprintf(text, sizeof text, "%llu", (unsigned long long)n);
    exchange_field(ex, name, slice_of(text, (size_t)len));
}

void ds_closed_field(struct exchange *ex)
{
    exchange_field(ex, "Stream-Closed", SLICE("true"));
}

bool ds_says_closed(struct exchange *ex)
{
    struct weir_slice value;
    return http_find(exchange_head(ex), "stream-closed", &value) && weir_slice_is(value, "true");
}

bool ds_parse_number(struct weir_slice text, uint64_t *out)
{
    static const uint64_t most = ((uint64_t)1 << 53) - 1;
    *out = 0;
    if (text.len == 0 || text.len > 16 || (text.len > 1 && text.ptr[0] == '0')) return false;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '9') return false;
        *out = *out * 10 + (uint64_t)(text.ptr[i] - '0');
    }
    return *out <= most;
}

struct weir_slice ds_name_of_path(struct exchange *ex, struct weir_slice path)
{
    const size_t prefix_len = sizeof path_prefix - 1;
    const char *scheme_end = memmem(path.ptr, path.len, "://", 3);
    if (scheme_end) {
        path = slice_from(path, (size_t)(scheme_end + 3 - path.ptr));
        const char *slash = path.len > 0 ? memchr(path.ptr, '/', path.len) : NULL;
        if (!slash) return slice_of("", 0);
        path = slice_from(path, (size_t)(slash - path.ptr));
    }
    if (path.len <= prefix_len || memcmp(path.ptr, path_prefix, prefix_len) != 0)
        return slice_of("", 0);
    path = slice_from(path, prefix_len);
    char *p = exchange_alloc(ex, path.len);
    struct weir_buf text = {.ptr = p, .cap = path.len, .max = path.len};
    if (!p || !url_decode(path, false, &text)) return slice_of("", 0);
    return weir_buf_slice(&text);
}
