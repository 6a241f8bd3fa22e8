/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which streams belong to which subscription, and how far each has got. News tell what is new;
 * where they are missing (at the start, for a new subscription, after too many of them) the store
 * is asked for all streams.
 */
#include "base/check.h"
#include "base/mem.h"
#include "base/slice.h"
#include "hook/hooks_impl.h"
#include "stream/stream.h"

enum { PAGE_STREAMS = 500, PAGE_BYTES = PAGE_STREAMS * (STREAM_NAME_BYTES + 1) };

/* ---- news ---- */

static void note_link(struct hooks *h, struct subscription *s, const struct note *note)
{
    struct weir_slice path = slice_of(note->path, note->n_path);
    struct stream_link *link = subscription_link(s, path);
    bool is_changed = false;
    if (link && note->was_dropped) {
        subscription_remove_link(s, path, 0);
        link = NULL;
        is_changed = true;
    }
    if (!link && note->last > 0 && subscription_matches(s, path)) {
        int64_t acked = note->first > 1 ? (int64_t)note->first - 1 : ACKED_NOTHING;
        enum weir_status st = subscription_add_link(s, path, LINK_GLOB, acked);
        if (st != WEIR_OK) atomic_fetch_add(&h->n_unlinked, 1);
        link = subscription_link(s, path);
        is_changed |= link != NULL;
    }
    if (link && note->last > 0) is_changed |= stream_link_set_tail(link, note->log_id, note->last);
    /* Who leads writes it down. */
    if (link || is_changed) hooks_touch(h, s, is_changed && h->leads);
}

void watch_note(struct hooks *h, const struct note *note)
{
    struct map_walk walk = map_walk_begin(&h->subscriptions);
    while (map_walk_next(&h->subscriptions, &walk)) note_link(h, walk.value, note);
}

/* ---- all streams ---- */

typedef enum weir_status (*stream_fn)(struct hooks *h, void *user, struct weir_slice name);

/* Some names, each with its length before it. */
struct page {
    struct weir_buf names;
    size_t n;
};

static enum weir_status add_name(void *user, const struct doc *doc)
{
    struct page *page = user;
    if (doc->id.len == 0 || doc->id.len > STREAM_NAME_BYTES) return WEIR_OK;
    weir_buf_append_char(&page->names, (char)doc->id.len);
    weir_buf_append_slice(&page->names, doc->id);
    page->n++;
    return weir_buf_status(&page->names);
}

/* Calls `each` outside of the store's listing, for it will read. `last` gets the last name. */
static WEIR_MUST_CHECK enum weir_status each_of_page(struct hooks *h, const struct page *page,
                                                     stream_fn each, void *user,
                                                     struct weir_slice *last)
{
    struct weir_slice rest = weir_buf_slice(&page->names);
    enum weir_status st = WEIR_OK;
    while (rest.len > 0 && st == WEIR_OK) {
        *last = slice_of(rest.ptr + 1, (unsigned char)rest.ptr[0]);
        rest = slice_from(rest, 1 + last->len);
        st = each(h, user, *last);
    }
    return st;
}

/* All streams that have a document; others are known by their next event. */
static WEIR_MUST_CHECK enum weir_status each_stream(struct hooks *h, stream_fn each, void *user)
{
    char after[STREAM_NAME_BYTES];
    struct page page = {.n = PAGE_STREAMS};
    struct weir_slice last = {0};
    enum weir_status st = WEIR_OK;
    weir_buf_init(&page.names, PAGE_BYTES);
    while (page.n == PAGE_STREAMS && st == WEIR_OK) {
        const struct doc_query query = {.kind = weir_slice_of(stream_kind),
                                        .after = slice_of(after, last.len),
                                        .limit = PAGE_STREAMS};
        weir_buf_reset(&page.names);
        page.n = 0;
        st = store_doc_list(h->store, &query, add_name, &page);
        if (st == WEIR_OK) st = each_of_page(h, &page, each, user, &last);
        if (last.len > 0) memcpy(after, last.ptr, last.len);
    }
    weir_buf_fini(&page.names);
    return st;
}

static WEIR_MUST_CHECK enum weir_status read_state(struct hooks *h, struct weir_slice path,
                                                   struct log_state *out)
{
    struct stream_log_text log;
    struct log_read read;
    store_read(h->store, stream_log_name(&log, path), 1, 0, &read);
    *out = read.state;
    return read.status;
}

/* ---- a new subscription ---- */

/* What is there was there before: acknowledged. */
static WEIR_MUST_CHECK enum weir_status link_as_read(struct hooks *h, struct subscription *s,
                                                     struct weir_slice path, enum link_kind kind)
{
    struct log_state state;
    bool is_new = !subscription_link(s, path);
    enum weir_status st = read_state(h, path, &state);
    if (st != WEIR_OK) return st;
    st = subscription_add_link(s, path, kind, (int64_t)state.last);
    if (st != WEIR_OK || !is_new) return st;
    (void)stream_link_set_tail(subscription_link(s, path), state.log_id, state.last);
    return WEIR_OK;
}

static enum weir_status link_if_matching(struct hooks *h, void *user, struct weir_slice name)
{
    struct subscription *s = user;
    return subscription_matches(s, name) ? link_as_read(h, s, name, LINK_GLOB) : WEIR_OK;
}

enum weir_status watch_link_all(struct hooks *h, struct subscription *s)
{
    return s->config.pattern.len > 0 ? each_stream(h, link_if_matching, s) : WEIR_OK;
}

enum weir_status watch_link_one(struct hooks *h, struct subscription *s, struct weir_slice path)
{
    return link_as_read(h, s, path, LINK_EXPLICIT);
}

/* ---- scanning ---- */

/* A stream that matches and is not linked was made since, and its news were lost. */
static enum weir_status link_missing(struct hooks *h, void *user, struct weir_slice name)
{
    struct map_walk walk = map_walk_begin(&h->subscriptions);
    (void)user;
    while (map_walk_next(&h->subscriptions, &walk)) {
        struct subscription *s = walk.value;
        if (subscription_link(s, name) || !subscription_matches(s, name)) continue;
        if (subscription_add_link(s, name, LINK_GLOB, ACKED_NOTHING) == WEIR_OK)
            hooks_touch(h, s, h->leads);
        else atomic_fetch_add(&h->n_unlinked, 1);
    }
    return WEIR_OK;
}

enum weir_status watch_tail(struct hooks *h, struct stream_link *link)
{
    struct log_state state;
    enum weir_status st = read_state(h, slice_of(link->path, link->n_path), &state);
    if (st == WEIR_OK && state.exists && state.log_id == link->log_id && state.last > link->tail)
        link->tail = state.last;
    if (st == WEIR_OK && state.exists && link->log_id == 0)
        (void)stream_link_set_tail(link, state.log_id, state.last);
    return st;
}

enum weir_status watch_tails(struct hooks *h, struct subscription *s)
{
    struct list_node *next;
    for (struct list_node *n = list_first(&s->links); n; n = next) {
        struct stream_link *link = CONTAINER_OF(n, struct stream_link, node);
        struct weir_slice path = slice_of(link->path, link->n_path);
        struct log_state state;
        next = list_next(&s->links, n);
        enum weir_status st = read_state(h, path, &state);
        if (st != WEIR_OK) return st;
        if (!state.exists && link->log_id != 0) {
            subscription_remove_link(s, path, 0);
            s->is_dirty |= h->leads;
        } else if (state.exists) {
            s->is_dirty |= stream_link_set_tail(link, state.log_id, state.last) && h->leads;
        }
    }
    return WEIR_OK;
}

static enum weir_status link_missing_to(struct hooks *h, void *user, struct weir_slice name)
{
    struct subscription *s = user;
    if (subscription_link(s, name) || !subscription_matches(s, name)) return WEIR_OK;
    if (subscription_add_link(s, name, LINK_GLOB, ACKED_NOTHING) != WEIR_OK)
        atomic_fetch_add(&h->n_unlinked, 1);
    return WEIR_OK;
}

enum weir_status watch_scan_of(struct hooks *h, struct subscription *s)
{
    enum weir_status st = s->config.pattern.len > 0 ? each_stream(h, link_missing_to, s) : WEIR_OK;
    return st == WEIR_OK ? watch_tails(h, s) : st;
}

enum weir_status watch_all_of(struct hooks *h, struct subscription *s)
{
    enum weir_status st = watch_tails(h, s);
    if (st != WEIR_OK || subscription_pending(s) || s->config.pattern.len == 0) return st;
    return watch_scan_of(h, s);
}

enum weir_status watch_scan(struct hooks *h)
{
    enum weir_status st = each_stream(h, link_missing, NULL);
    struct map_walk walk = map_walk_begin(&h->subscriptions);
    while (st == WEIR_OK && map_walk_next(&h->subscriptions, &walk)) {
        st = watch_tails(h, walk.value);
        hooks_touch(h, walk.value, false);
    }
    return st;
}
