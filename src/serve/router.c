/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The router. The table has a few dozen rows and the busiest stand first, so it is walked from
 * the front; nothing is prepared and nothing can be out of date.
 */
#include "serve/router.h"

#include <strings.h>

#include "base/slice.h"

/* Takes the next segment, after its '/', off a path; false at the end. */
static bool next_segment(struct weir_slice *path, struct weir_slice *segment)
{
    if (path->len == 0 || path->ptr[0] != '/') return false;
    const char *begin = path->ptr + 1;
    size_t left = path->len - 1;
    const char *slash = left > 0 ? memchr(begin, '/', left) : NULL;
    size_t len = slash ? (size_t)(slash - begin) : left;
    *segment = slice_of(begin, len);
    *path = slice_of(begin + len, left - len);
    return true;
}

static bool matches(const char *text, struct weir_slice path, struct route_match *out)
{
    struct weir_slice pattern = weir_slice_of(text);
    struct weir_slice want, got;
    out->n_params = 0;
    while (next_segment(&pattern, &want)) {
        if (!next_segment(&path, &got)) return false;
        bool takes_rest = want.len > 0 && want.ptr[0] == '*';
        if (takes_rest) {
            /* All that is left, slashes too. */
            got.len += path.len;
            path.len = 0;
        }
        bool is_param = takes_rest || (want.len > 0 && want.ptr[0] == ':');
        if (is_param && (got.len == 0 || out->n_params == ROUTE_MAX_PARAMS)) return false;
        if (is_param) out->params[out->n_params++] = got;
        else if (!slice_eq(want, got)) return false;
    }
    return path.len == 0;
}

static const struct route *find(const struct route *table, enum http_method method,
                                struct weir_slice path, struct route_match *out)
{
    for (const struct route *r = table; r->handle; r++)
        if (r->method == method && matches(r->pattern, path, out)) return r;
    return NULL;
}

unsigned router_methods(const struct route *table, struct weir_slice path)
{
    struct route_match match;
    unsigned methods = 0;
    for (const struct route *r = table; r->handle; r++)
        if (matches(r->pattern, path, &match)) methods |= 1u << r->method;
    return methods;
}

enum weir_status router_find(const struct route *table, enum http_method method,
                             struct weir_slice path, struct route_match *out)
{
    out->methods = 0;
    out->route = find(table, method, path, out);
    if (!out->route && method == HTTP_HEAD) out->route = find(table, HTTP_GET, path, out);
    if (out->route) return WEIR_OK;
    out->methods = router_methods(table, path);
    return out->methods ? WEIR_BAD_METHOD : WEIR_NOT_FOUND;
}

void router_write_allow(struct weir_buf *out, unsigned methods)
{
    static const struct {
        enum http_method method;
        const char *text;
    } names[] = {{HTTP_GET, "GET, "}, {HTTP_HEAD, "HEAD, "},   {HTTP_POST, "POST, "},
                 {HTTP_PUT, "PUT, "}, {HTTP_PATCH, "PATCH, "}, {HTTP_DELETE, "DELETE, "}};
    if (methods & 1u << HTTP_GET) methods |= 1u << HTTP_HEAD;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (methods & 1u << names[i].method) weir_buf_append_str(out, names[i].text);
    weir_buf_append_str(out, "OPTIONS");
}

static bool same_text(struct weir_slice a, struct weir_slice b)
{
    return a.len == b.len && strncasecmp(a.ptr, b.ptr, a.len) == 0;
}

bool origin_is_allowed(const char *list, struct weir_slice origin)
{
    if (!list || origin.len == 0) return false;
    while (*list) {
        list += strspn(list, ", ");
        struct weir_slice entry = slice_of(list, strcspn(list, ", "));
        if (weir_slice_is(entry, "*")) return true;
        if (entry.len > 0 && same_text(entry, origin)) return true;
        list += entry.len;
    }
    return false;
}
