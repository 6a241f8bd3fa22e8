/* SPDX-License-Identifier: Apache-2.0 */
#include "pages.h"

#include <stdio.h>

#include "base/slice.h"
#include "local_server.h"

enum {
    PAGE_MEMBERS = 100,
    CURSOR_BYTES = 128,
    EMPTY_PAGES = 1000, /* in a row: a page may be without one that is wanted, but not all are */
};

struct reading {
    const struct client_config *config;
    const struct pages *pages;
    struct weir_json_doc *doc;
    struct weir_json *list;
    char cursor[CURSOR_BYTES]; /* of the next page; "": the first, or none is left */
    char mark[CURSOR_BYTES];   /* one of the cursors before it */
    unsigned n_pages, n_empty; /* read so far; without a member, since the last with one */
    char *why;
};

static enum weir_status get_page(struct reading *r, struct control_answer *answer)
{
    const struct pages *p = r->pages;
    char path[REMOTE_PATH_BYTES];
    char address[REMOTE_PATH_BYTES];
    size_t left = p->most - weir_json_count(r->list);
    snprintf(path, sizeof path, "%s%climit=%zu%s%s", p->path, strchr(p->path, '?') ? '&' : '?',
             left < PAGE_MEMBERS ? left : PAGE_MEMBERS, r->cursor[0] != '\0' ? "&cursor=" : "",
             r->cursor);
    remote_path(address, r->config, path, p->user);
    const struct remote_request request = {.method = "GET", .path = address};
    enum weir_status st = remote_request(r->config, &request, answer, r->why);
    if (st != WEIR_OK || answer->status == 200) return st;
    remote_explain(r->config, answer, r->why);
    return WEIR_BAD_REQUEST;
}

static enum weir_status take_members(struct reading *r, const struct weir_json *data)
{
    enum weir_status st = WEIR_OK;
    for (const struct weir_json *v = weir_json_first(data); v && st == WEIR_OK;
         v = weir_json_next(v))
        st = weir_json_push(r->doc, r->list, weir_json_copy(r->doc, v));
    return st;
}

/* The cursor goes into an address as it is; ours are ids. */
static bool take_cursor(struct reading *r, const struct weir_json *page)
{
    struct weir_slice cursor = weir_json_text(weir_json_get_str(page, "next_cursor"));
    snprintf(r->cursor, CURSOR_BYTES, "%.*s", (int)cursor.len, cursor.len > 0 ? cursor.ptr : "");
    return cursor.len == 0 || (cursor.len < CURSOR_BYTES && local_server_is_name(r->cursor));
}

/*
 * Whether the list leads nowhere: a server that names a page again goes on for ever. The mark is
 * set anew at each power of two, so a circle of any length comes by it.
 */
static bool is_circle(struct reading *r, size_t n_members)
{
    r->n_pages++;
    r->n_empty = n_members == 0 ? r->n_empty + 1 : 0;
    if (r->cursor[0] == '\0') return false;
    if (strcmp(r->cursor, r->mark) == 0 || r->n_empty == EMPTY_PAGES) return true;
    if ((r->n_pages & (r->n_pages - 1)) == 0) memcpy(r->mark, r->cursor, sizeof r->mark);
    return false;
}

static enum weir_status read_page(struct reading *r)
{
    struct control_answer answer = {0};
    const struct weir_json *page = NULL;
    enum weir_status st = get_page(r, &answer);
    if (st == WEIR_OK) {
        struct weir_json_doc *doc = weir_json_doc_new(0);
        st = doc ? weir_json_parse(doc, weir_buf_slice(&answer.body), &page, NULL) : WEIR_NOMEM;
        if (st == WEIR_OK) st = take_members(r, weir_json_get_str(page, "data"));
        if (st == WEIR_OK && !take_cursor(r, page)) st = WEIR_BAD_REQUEST;
        if (st != WEIR_OK)
            snprintf(r->why, REMOTE_WHY_BYTES, "the list cannot be read: %s", weir_status_text(st));
        if (st == WEIR_OK && is_circle(r, weir_json_count(weir_json_get_str(page, "data")))) {
            snprintf(r->why, REMOTE_WHY_BYTES,
                     "%s: the list has no end: its pages come again, or are empty",
                     client_config_server(r->config));
            st = WEIR_CONFLICT;
        }
        weir_json_doc_free(doc);
    }
    weir_buf_fini(&answer.body);
    return st;
}

enum weir_status pages_get(const struct client_config *c, const struct pages *p,
                           struct weir_json_doc *doc, struct weir_json **list,
                           char why[REMOTE_WHY_BYTES])
{
    struct reading r = {.config = c, .pages = p, .doc = doc, .why = why};
    enum weir_status st = WEIR_OK;
    r.list = weir_json_new(doc, WEIR_JSON_ARRAY);
    why[0] = '\0';
    if (!r.list) snprintf(why, REMOTE_WHY_BYTES, "%s", weir_status_text(WEIR_NOMEM));
    if (!r.list) return WEIR_NOMEM;
    do {
        st = read_page(&r);
    } while (st == WEIR_OK && r.cursor[0] != '\0' && weir_json_count(r.list) < p->most);
    *list = r.list;
    return st;
}
