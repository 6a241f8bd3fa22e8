/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing JSON. There is no writer object: the buffer's last byte tells whether
 * a comma is due. A value needs one before it when the byte is the end of
 * another value; after white space, an opening bracket or a colon it needs
 * none. So lines of JSON, and JSON after "data: ", come out right.
 */
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/escape.h"
#include "base/slice.h"
#include "codec/json_impl.h"

static void put_comma(struct weir_buf *out)
{
    if (out->len == 0) return;
    char last = out->ptr[out->len - 1];
    bool ends_value = last == '}' || last == ']' || last == '"' || (last >= '0' && last <= '9') ||
                      (last >= 'a' && last <= 'z');
    if (ends_value) weir_buf_append_char(out, ',');
}

static void put_raw(struct weir_buf *out, struct weir_slice text)
{
    put_comma(out);
    weir_buf_append_slice(out, text);
}

void weir_json_put_begin_object(struct weir_buf *out)
{
    put_raw(out, SLICE("{"));
}

void weir_json_put_end_object(struct weir_buf *out)
{
    weir_buf_append_char(out, '}');
}

void weir_json_put_begin_array(struct weir_buf *out)
{
    put_raw(out, SLICE("["));
}

void weir_json_put_end_array(struct weir_buf *out)
{
    weir_buf_append_char(out, ']');
}

void weir_json_put_string(struct weir_buf *out, struct weir_slice text)
{
    put_raw(out, SLICE("\""));
    escape_json(out, text);
    weir_buf_append_char(out, '"');
}

void weir_json_put_str(struct weir_buf *out, const char *text)
{
    if (text) weir_json_put_string(out, weir_slice_of(text));
    else weir_json_put_null(out);
}

void weir_json_put_key_slice(struct weir_buf *out, struct weir_slice key)
{
    weir_json_put_string(out, key);
    weir_buf_append_char(out, ':');
}

void weir_json_put_key(struct weir_buf *out, const char *key)
{
    weir_json_put_key_slice(out, weir_slice_of(key));
}

void weir_json_put_uint(struct weir_buf *out, uint64_t n)
{
    put_comma(out);
    weir_buf_append_u64(out, n);
}

void weir_json_put_int(struct weir_buf *out, int64_t n)
{
    put_comma(out);
    if (n < 0) weir_buf_append_char(out, '-');
    weir_buf_append_u64(out, n < 0 ? 0 - (uint64_t)n : (uint64_t)n);
}

/* Most doubles need fewer than 17 digits. Both ways in the C locale: others have other points. */
size_t json_write_double(char digits[JSON_DOUBLE_BYTES], double x)
{
    locale_t plain = isfinite(x) ? newlocale(LC_ALL_MASK, "C", (locale_t)0) : (locale_t)0;
    int len = 0;
    if (!plain) return 0;
    locale_t before = uselocale(plain);
    for (int precision = 15; precision <= 17; precision++) {
        len = snprintf(digits, JSON_DOUBLE_BYTES, "%.*g", precision, x);
        if (strtod(digits, NULL) == x) break;
    }
    uselocale(before);
    freelocale(plain);
    return (size_t)len;
}

void weir_json_put_double(struct weir_buf *out, double x)
{
    char digits[JSON_DOUBLE_BYTES];
    size_t len = json_write_double(digits, x);
    if (len > 0) put_raw(out, slice_of(digits, len));
    else weir_json_put_null(out);
}

void weir_json_put_bool(struct weir_buf *out, bool b)
{
    put_raw(out, b ? SLICE("true") : SLICE("false"));
}

void weir_json_put_null(struct weir_buf *out)
{
    put_raw(out, SLICE("null"));
}

/* ---- whole values ---- */

/* The value, or the opening bracket of one that has members. */
static void put_begin(struct weir_buf *out, const struct weir_json *v)
{
    switch (weir_json_type_of(v)) {
    case WEIR_JSON_NULL: weir_json_put_null(out); break;
    case WEIR_JSON_FALSE: weir_json_put_bool(out, false); break;
    case WEIR_JSON_TRUE: weir_json_put_bool(out, true); break;
    case WEIR_JSON_NUMBER: put_raw(out, weir_json_text(v)); break;
    case WEIR_JSON_STRING: weir_json_put_string(out, weir_json_text(v)); break;
    case WEIR_JSON_ARRAY: weir_json_put_begin_array(out); break;
    case WEIR_JSON_OBJECT: weir_json_put_begin_object(out); break;
    }
}

static void put_end(struct weir_buf *out, const struct weir_json *v)
{
    if (v->type == WEIR_JSON_OBJECT) weir_json_put_end_object(out);
    else if (v->type == WEIR_JSON_ARRAY) weir_json_put_end_array(out);
}

static void put_member(struct weir_buf *out, const struct weir_json *member)
{
    if (member->parent->type == WEIR_JSON_OBJECT)
        weir_json_put_key_slice(out, weir_json_key(member));
    put_begin(out, member);
}

void weir_json_put_value(struct weir_buf *out, const struct weir_json *v)
{
    put_begin(out, v);
    const struct weir_json *at = weir_json_first(v);
    while (at && out->status == WEIR_OK) {
        put_member(out, at);
        if (weir_json_first(at)) {
            at = at->first;
            continue;
        }
        put_end(out, at);
        while (!at->next && at->parent != v) {
            at = at->parent;
            put_end(out, at);
        }
        at = at->next;
    }
    if (v) put_end(out, v);
}
