/* SPDX-License-Identifier: Apache-2.0 */
/* JSON written anew, string by string, and what strings may hold: base64, and JSON again. */
#include <string.h>

#include "base/mem.h"
#include "base/slice.h"
#include "shield/guard_impl.h"

static bool is_container(const struct weir_json *v)
{
    enum weir_json_type type = weir_json_type_of(v);
    return type == WEIR_JSON_ARRAY || type == WEIR_JSON_OBJECT;
}

static void begin(struct weir_buf *out, const struct weir_json *v)
{
    if (weir_json_type_of(v) == WEIR_JSON_OBJECT) weir_json_put_begin_object(out);
    else weir_json_put_begin_array(out);
}

static void end(struct weir_buf *out, const struct weir_json *v)
{
    if (weir_json_type_of(v) == WEIR_JSON_OBJECT) weir_json_put_end_object(out);
    else weir_json_put_end_array(out);
}

static enum weir_status put_leaf(struct guard_writer *w, const struct weir_json *v)
{
    enum weir_json_type type = weir_json_type_of(v);
    if (type == WEIR_JSON_STRING || type == WEIR_JSON_NUMBER) return w->put(w, v, false);
    weir_json_put_value(w->out, v);
    return WEIR_OK;
}

/* A container that is being written, and the next member of it. */
struct level {
    const struct weir_json *node, *next;
};

static enum weir_status write_all(struct guard_writer *w, struct level *levels)
{
    size_t depth = 1;
    enum weir_status st = WEIR_OK;
    while (depth > 0 && st == WEIR_OK) {
        struct level *l = &levels[depth - 1];
        const struct weir_json *v = l->next;
        if (!v) {
            end(w->out, l->node);
            depth--;
            continue;
        }
        l->next = weir_json_next(v);
        if (weir_json_type_of(l->node) == WEIR_JSON_OBJECT) st = w->put(w, v, true);
        if (st != WEIR_OK) break;
        if (!is_container(v)) {
            st = put_leaf(w, v);
            continue;
        }
        if (depth == GUARD_DEPTH) return WEIR_LIMIT;
        begin(w->out, v);
        levels[depth++] = (struct level){v, weir_json_first(v)};
    }
    return st;
}

enum weir_status guard_write(struct guard_writer *w, const struct weir_json *root)
{
    if (!is_container(root)) return put_leaf(w, root);
    struct level *levels = mem_alloc(GUARD_DEPTH * sizeof *levels);
    if (!levels) return WEIR_NOMEM;
    begin(w->out, root);
    levels[0] = (struct level){root, weir_json_first(root)};
    enum weir_status st = write_all(w, levels);
    mem_free(levels);
    return st != WEIR_OK ? st : weir_buf_status(w->out);
}

/* ---- JSON in strings ---- */

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

enum weir_status guard_nested(struct weir_json_doc **doc, struct weir_slice text,
                              const struct weir_json **value)
{
    *value = NULL;
    while (text.len > 0 && is_space(text.ptr[0])) text = slice_from(text, 1);
    while (text.len > 0 && is_space(text.ptr[text.len - 1])) text.len--;
    if (text.len < 2) return WEIR_OK;
    bool is_object = text.ptr[0] == '{' && text.ptr[text.len - 1] == '}';
    bool is_array = text.ptr[0] == '[' && text.ptr[text.len - 1] == ']';
    if (!is_object && !is_array) return WEIR_OK;
    if (!*doc) *doc = weir_json_doc_new(GUARD_BYTES);
    if (!*doc) return WEIR_NOMEM;
    enum weir_status st = weir_json_parse(*doc, text, value, NULL);
    /* What is no JSON is looked at as the text that it is. */
    return st == WEIR_NOMEM || st == WEIR_LIMIT ? st : WEIR_OK;
}

/* ---- base64 (RFC 4648), either alphabet; lines and missing padding are borne ---- */

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static unsigned value_of(char c)
{
    if (c >= 'A' && c <= 'Z') return (unsigned)(c - 'A');
    if (c >= 'a' && c <= 'z') return (unsigned)(c - 'a') + 26;
    if (c >= '0' && c <= '9') return (unsigned)(c - '0') + 52;
    if (c == '+' || c == '-') return 62;
    return c == '/' || c == '_' ? 63 : 64;
}

bool guard_base64_read(struct weir_buf *out, struct weir_slice text)
{
    unsigned bits = 0, n_bits = 0;
    size_t n = 0;
    while (text.len > 0 && (is_space(text.ptr[text.len - 1]) || text.ptr[text.len - 1] == '='))
        text.len--;
    for (size_t i = 0; i < text.len; i++) {
        if (is_space(text.ptr[i])) continue;
        unsigned v = value_of(text.ptr[i]);
        if (v > 63) return false;
        bits = bits << 6 | v;
        n_bits += 6;
        n++;
        if (n_bits < 8) continue;
        n_bits -= 8;
        weir_buf_append_char(out, (char)(bits >> n_bits & 0xFF));
    }
    return n % 4 != 1 && out->status == WEIR_OK;
}

void guard_base64_write(struct weir_buf *out, struct weir_slice bytes)
{
    const unsigned char *p = (const unsigned char *)bytes.ptr;
    for (size_t i = 0; i < bytes.len; i += 3) {
        size_t n = bytes.len - i < 3 ? bytes.len - i : 3;
        uint32_t v =
            (uint32_t)p[i] << 16 | (n > 1 ? (uint32_t)p[i + 1] << 8 : 0) | (n > 2 ? p[i + 2] : 0);
        char chars[4] = {alphabet[v >> 18], alphabet[v >> 12 & 63],
                         n > 1 ? alphabet[v >> 6 & 63] : '=', n > 2 ? alphabet[v & 63] : '='};
        weir_buf_append(out, chars, sizeof chars);
    }
}
