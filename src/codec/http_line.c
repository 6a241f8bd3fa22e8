/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The request line: which method, which path, for which host. Its bytes and its form, method,
 * space, target, space, version, were judged before (http_scan.c).
 *
 * A target is in origin form ("/path?query"), in absolute form with http or https, or the "*"
 * of OPTIONS; RFC 9112 3.2. There is no fourth, for CONNECT never gets here.
 */
#include "base/slice.h"
#include "codec/http_impl.h"

static enum http_method method_of(struct weir_slice text)
{
    static const char *const names[] = {
        [HTTP_GET] = "GET",         [HTTP_HEAD] = "HEAD",     [HTTP_POST] = "POST",
        [HTTP_PUT] = "PUT",         [HTTP_DELETE] = "DELETE", [HTTP_PATCH] = "PATCH",
        [HTTP_OPTIONS] = "OPTIONS",
    };
    for (int i = 0; i < HTTP_OTHER; i++)
        if (weir_slice_is(text, names[i])) return (enum http_method)i;
    return HTTP_OTHER;
}

static bool is_port(struct weir_slice text)
{
    if (text.len > 5) return false;
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] < '0' || text.ptr[i] > '9') return false;
    return true;
}

static bool is_v6(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') || c == ':' ||
           c == '.';
}

bool http_is_host(struct weir_slice host)
{
    size_t i = 0;
    if (host.len > 0 && host.ptr[0] == '[') {
        for (i = 1; i < host.len && is_v6(host.ptr[i]);) i++;
        if (i < 3 || i == host.len || host.ptr[i++] != ']') return false;
    } else {
        while (i < host.len && http_is(host.ptr[i], HTTP_IS_HOST)) i++;
        if (i == 0) return false;
    }
    return i == host.len || (host.ptr[i] == ':' && is_port(slice_from(host, i + 1)));
}

/* Whatever stands after the host, or all of a target in origin form. */
static void split_path(struct http_head *head, struct weir_slice text)
{
    const char *mark = text.len > 0 ? memchr(text.ptr, '?', text.len) : NULL;
    size_t len = mark ? (size_t)(mark - text.ptr) : text.len;
    head->path = len > 0 ? slice_of(text.ptr, len) : SLICE("/");
    head->query = mark ? slice_from(text, len + 1) : SLICE("");
}

/* "http://host/path"; the length of what stands before the host, 0 for others. */
static size_t scheme_len(struct weir_slice target)
{
    if (target.len > 7 && http_same_text(slice_of(target.ptr, 7), SLICE("http://"))) return 7;
    if (target.len > 8 && http_same_text(slice_of(target.ptr, 8), SLICE("https://"))) return 8;
    return 0;
}

static bool read_absolute(struct http_reader *r, struct weir_slice target, struct http_head *head)
{
    size_t start = scheme_len(target);
    size_t end = start;
    while (end < target.len && target.ptr[end] != '/' && target.ptr[end] != '?') end++;
    head->host = slice_of(target.ptr + start, end - start);
    if (start == 0 || !http_is_host(head->host))
        return http_refuse(r, WEIR_BAD_REQUEST, "the target is neither a path nor an http address");
    split_path(head, slice_from(target, end));
    return true;
}

bool http_read_line(struct http_reader *r, struct weir_slice line, struct http_head *head)
{
    enum { VERSION_BYTES = 8 };
    const char *space = memchr(line.ptr, ' ', line.len);
    const char *version = line.ptr + line.len - VERSION_BYTES;
    struct weir_slice target = slice_of(space + 1, (size_t)(version - 1 - (space + 1)));
    head->target = target;
    head->method_text = slice_of(line.ptr, (size_t)(space - line.ptr));
    head->method = method_of(head->method_text);
    head->minor = version[7] == '1';
    head->host = SLICE("");
    if (version[5] != '1' || version[7] > '1')
        return http_refuse(r, WEIR_HTTP_VERSION, "neither HTTP/1.0 nor HTTP/1.1");
    if (target.ptr[0] == '/') {
        split_path(head, target);
        return true;
    }
    if (target.ptr[0] != '*') return read_absolute(r, target, head);
    if (target.len > 1 || head->method != HTTP_OPTIONS)
        return http_refuse(r, WEIR_BAD_REQUEST, "the target * is for OPTIONS alone");
    head->path = target;
    head->query = SLICE("");
    return true;
}
