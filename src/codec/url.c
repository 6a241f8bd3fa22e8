/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Escapes in paths and queries. A path is split at its slashes before its parts are decoded,
 * and a query at '&' and '=', so that an escaped separator is a character like any other.
 */
#include "base/slice.h"
#include "codec/http.h"

static int hex_value(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/* The next character, decoded; -1 for a bad escape. There is at least one byte. */
static int take_char(struct weir_slice *rest, bool is_query)
{
    char c = rest->ptr[0];
    if (c != '%') {
        *rest = slice_from(*rest, 1);
        return is_query && c == '+' ? ' ' : (unsigned char)c;
    }
    int high = rest->len > 2 ? hex_value(rest->ptr[1]) : -1;
    int low = rest->len > 2 ? hex_value(rest->ptr[2]) : -1;
    if (high < 0 || low < 0) return -1;
    *rest = slice_from(*rest, 3);
    return high << 4 | low;
}

bool url_decode(struct weir_slice in, bool is_query, struct weir_buf *out)
{
    size_t before = out->len;
    while (in.len > 0) {
        int c = take_char(&in, is_query);
        if (c <= 0) {
            out->len = before;
            return false;
        }
        weir_buf_append_char(out, (char)c);
    }
    return true;
}

static bool name_is(struct weir_slice raw, const char *name)
{
    while (raw.len > 0) {
        int c = take_char(&raw, true);
        if (c <= 0 || c != (unsigned char)*name) return false;
        name++;
    }
    return *name == '\0';
}

bool query_find(struct weir_slice query, const char *name, struct weir_slice *value)
{
    while (query.len > 0) {
        const char *end = memchr(query.ptr, '&', query.len);
        struct weir_slice pair = slice_of(query.ptr, end ? (size_t)(end - query.ptr) : query.len);
        const char *equals = pair.len > 0 ? memchr(pair.ptr, '=', pair.len) : NULL;
        size_t name_len = equals ? (size_t)(equals - pair.ptr) : pair.len;
        if (pair.len > 0 && name_is(slice_of(pair.ptr, name_len), name)) {
            *value = equals ? slice_from(pair, name_len + 1) : slice_from(pair, pair.len);
            return true;
        }
        query = slice_from(query, end ? pair.len + 1 : pair.len);
    }
    return false;
}
