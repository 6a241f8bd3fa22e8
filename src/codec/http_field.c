/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fields by name, and the values that are lists: elements between commas, each with parameters
 * after semicolons, white space anywhere between, and quoted strings in which neither counts
 * (RFC 9110 5.6).
 */
#include "base/slice.h"
#include "codec/http_impl.h"

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

bool http_same_text(struct weir_slice a, struct weir_slice b)
{
    if (a.len != b.len) return false;
    for (size_t i = 0; i < a.len; i++)
        if (lower(a.ptr[i]) != lower(b.ptr[i])) return false;
    return true;
}

bool http_field_is(const struct http_field *field, const char *lower_name)
{
    return http_same_text(field->name, weir_slice_of(lower_name));
}

bool http_find(const struct http_head *head, const char *lower_name, struct weir_slice *value)
{
    struct weir_slice name = weir_slice_of(lower_name);
    for (unsigned i = 0; i < head->n_fields; i++) {
        if (!http_same_text(head->fields[i].name, name)) continue;
        *value = head->fields[i].value;
        return true;
    }
    return false;
}

static void move(struct weir_slice *s, struct weir_slice from, const char *to)
{
    if (s->len > 0 && s->ptr >= from.ptr && s->ptr < from.ptr + from.len)
        s->ptr = to + (s->ptr - from.ptr);
}

void http_head_move(struct http_head *head, struct weir_slice from, const char *to)
{
    struct weir_slice *all[] = {&head->method_text, &head->target, &head->path, &head->query,
                                &head->host};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) move(all[i], from, to);
    for (unsigned i = 0; i < head->n_fields; i++) {
        move(&head->fields[i].name, from, to);
        move(&head->fields[i].value, from, to);
    }
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t';
}

/* The next part of the rest, up to a separator outside of quotes, trimmed; false at the end. */
static bool take_part(struct weir_slice *rest, char separator, struct weir_slice *part)
{
    size_t len = 0;
    bool is_quoted = false;
    if (rest->len == 0) return false;
    for (; len < rest->len && (is_quoted || rest->ptr[len] != separator); len++) {
        if (rest->ptr[len] == '"') is_quoted = !is_quoted;
        else if (is_quoted && rest->ptr[len] == '\\' && len + 1 < rest->len) len++;
    }
    *part = slice_of(rest->ptr, len);
    *rest = slice_from(*rest, len < rest->len ? len + 1 : len);
    while (part->len > 0 && is_space(part->ptr[0])) *part = slice_from(*part, 1);
    while (part->len > 0 && is_space(part->ptr[part->len - 1])) part->len--;
    return true;
}

bool http_list_has(struct weir_slice list, const char *lower_token)
{
    struct weir_slice element, token;
    while (take_part(&list, ',', &element))
        if (take_part(&element, ';', &token) && http_same_text(token, weir_slice_of(lower_token)))
            return true;
    return false;
}

/* Whether the parameters say q=0, in any of its forms; RFC 9110 12.4.2. */
static bool has_no_weight(struct weir_slice parameters)
{
    struct weir_slice p;
    while (take_part(&parameters, ';', &p)) {
        if (p.len < 3 || lower(p.ptr[0]) != 'q' || p.ptr[1] != '=') continue;
        for (size_t i = 2; i < p.len; i++)
            if (p.ptr[i] != '0' && p.ptr[i] != '.') return false;
        return true;
    }
    return false;
}

/* How exactly a range names the type: 3 by name, 2 as "text/" and a star, 1 as two stars, 0 not. */
static int exactness(struct weir_slice range, struct weir_slice type)
{
    const char *slash = memchr(type.ptr, '/', type.len);
    size_t major_len = slash ? (size_t)(slash - type.ptr) + 1 : 0;
    if (http_same_text(range, type)) return 3;
    if (weir_slice_is(range, "*/*")) return 1;
    if (range.len != major_len + 1 || range.ptr[major_len] != '*') return 0;
    return http_same_text(slice_of(range.ptr, major_len), slice_of(type.ptr, major_len)) ? 2 : 0;
}

bool http_accepts(struct weir_slice accept, const char *media_type)
{
    struct weir_slice type = weir_slice_of(media_type);
    struct weir_slice element, range;
    int best = 0;
    bool is_allowed = false;
    while (take_part(&accept, ',', &element)) {
        if (!take_part(&element, ';', &range)) continue;
        int fit = exactness(range, type);
        if (fit == 0 || fit < best) continue;
        bool allows = !has_no_weight(element);
        is_allowed = fit > best ? allows : is_allowed || allows;
        best = fit;
    }
    return is_allowed;
}
