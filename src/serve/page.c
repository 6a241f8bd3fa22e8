/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "/", /web/… and /sdk/…: the page, for everybody; what it shows it has to ask for like anybody
 * else. Browsers ask each time whether a file has changed, and mostly hear that it has not: so a
 * new server and an old page do not meet.
 *
 * What the page may do stands in its policy: scripts, styles and requests of this server's own
 * only, nothing written in the page's text, no text that becomes markup or a script, no frame
 * around it. So what a model or a stream says cannot run there, whatever a script forgets.
 */
#include "serve/page.h"

#include "base/slice.h"
#include "serve/resource.h"

static const char policy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'";

static const struct page_file *find_file(const char *folder, struct weir_slice name)
{
    size_t folder_len = strlen(folder);
    for (size_t i = 0; i < n_page_files; i++) {
        struct weir_slice path = weir_slice_of(page_files[i].path);
        if (path.len == folder_len + name.len && memcmp(path.ptr, folder, folder_len) == 0 &&
            slice_eq(slice_from(path, folder_len), name))
            return &page_files[i];
    }
    return NULL;
}

static void put_rules(struct exchange *ex)
{
    exchange_field(ex, "Content-Security-Policy", weir_slice_of(policy));
    exchange_field(ex, "X-Content-Type-Options", SLICE("nosniff"));
    exchange_field(ex, "Referrer-Policy", SLICE("no-referrer"));
    exchange_field(ex, "Cross-Origin-Opener-Policy", SLICE("same-origin"));
    exchange_field(ex, "Cross-Origin-Resource-Policy", SLICE("same-origin"));
}

static void answer_file(struct exchange *ex, const struct page_file *f)
{
    struct weir_slice field;
    const struct http_head *head = exchange_head(ex);
    bool is_packed = f->gzip.len > 0 && http_find(head, "accept-encoding", &field) &&
                     http_accepts(field, "gzip");
    struct weir_slice tag = weir_slice_of(is_packed ? f->gzip_tag : f->tag);
    put_rules(ex);
    exchange_field(ex, "ETag", tag);
    exchange_field(ex, "Cache-Control", SLICE("no-cache"));
    if (f->gzip.len > 0) exchange_field(ex, "Vary", SLICE("Accept-Encoding"));
    if (http_find(head, "if-none-match", &field) && resource_has_tag(field, tag)) {
        exchange_empty(ex, 304);
        return;
    }
    if (is_packed) exchange_field(ex, "Content-Encoding", SLICE("gzip"));
    exchange_text(ex, 200, f->media_type, is_packed ? f->gzip : f->bytes);
}

static void answer(struct exchange *ex, const char *folder, struct weir_slice name)
{
    const struct page_file *f = find_file(folder, name);
    if (f) answer_file(ex, f);
    else exchange_error(ex, WEIR_NOT_FOUND, "the page has no such file");
}

void page_get(struct exchange *ex)
{
    answer(ex, "web/", SLICE("index.html"));
}

void page_web_get(struct exchange *ex)
{
    answer(ex, "web/", exchange_param(ex, 0));
}

void page_sdk_get(struct exchange *ex)
{
    answer(ex, "sdk/", exchange_param(ex, 0));
}
