/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Subscriptions at a store that several nodes share. Any node answers requests: it looks at the
 * document first, changes what it found, and writes that only if nobody else did meanwhile; if
 * somebody did, it looks again and the request is run anew. One node leads: it alone wakes and
 * delivers, and hears of what others have written by hooks_docs_changed(). Should two think that
 * they lead, the version of the document lets one of them wake.
 */
#include "base/check.h"
#include "base/mem.h"
#include "base/slice.h"
#include "hook/hooks_impl.h"

enum { MAX_STALE = 4096, LOOK_AGAIN_MS = 1000 };

/* ---- what others bring ---- */

void hooks_lead(struct hooks *h, bool leads)
{
    pthread_mutex_lock(&h->lock);
    bool is_news = h->is_shared && h->wants_lead != leads;
    h->has_lead_news |= is_news;
    if (is_news) h->wants_lead = leads;
    if (is_news) pthread_cond_signal(&h->changed);
    pthread_mutex_unlock(&h->lock);
}

void hooks_docs_changed(struct hooks *h, struct weir_slice kind, struct weir_slice id)
{
    bool is_all = kind.len == 0;
    if (!h->is_shared || (!is_all && !weir_slice_is(kind, subscription_kind))) return;
    pthread_mutex_lock(&h->lock);
    /* The value is not looked at. */
    if (is_all || map_put(&h->stale, id, h) != WEIR_OK) h->is_all_stale = true;
    pthread_cond_signal(&h->changed);
    pthread_mutex_unlock(&h->lock);
}

void nodes_init(struct hooks *h)
{
    map_init(&h->stale, MAX_STALE);
}

void nodes_take(struct hooks *h, struct work *w)
{
    w->stale = h->stale;
    map_init(&h->stale, MAX_STALE);
    w->is_all_stale = h->is_all_stale;
    w->has_lead_news = h->has_lead_news;
    w->leads = h->wants_lead;
    h->is_all_stale = h->has_lead_news = false;
}

/* ---- looking again ---- */

/* What is known of the streams stays known; of those that are new to us, the store is asked. */
static enum weir_status adopt_tails(struct hooks *h, struct subscription *s,
                                    const struct subscription *old)
{
    enum weir_status st = WEIR_OK;
    for (struct list_node *n = list_first(&s->links); n && st == WEIR_OK;
         n = list_next(&s->links, n)) {
        struct stream_link *link = CONTAINER_OF(n, struct stream_link, node);
        const struct stream_link *was =
            old ? subscription_link(old, slice_of(link->path, link->n_path)) : NULL;
        if (was && was->log_id == link->log_id) {
            link->tail = was->tail;
            link->told_to = was->told_to;
        } else st = watch_tail(h, link);
    }
    return st;
}

static enum weir_status replace(struct hooks *h, struct subscription *old, const struct doc *doc)
{
    struct subscription *s = subscription_read(doc->id, doc->owner, doc->body);
    if (!s) return WEIR_CORRUPT;
    s->version = doc->version;
    enum weir_status st = adopt_tails(h, s, old);
    if (st != WEIR_OK) {
        subscription_free(s);
        return st;
    }
    if (old) {
        /* A delivery that is under way is of a wake that may be over. */
        if (strcmp(old->wake_id, s->wake_id) == 0) s->delivery = old->delivery;
        hooks_forget(h, old);
    }
    st = hooks_add(h, s);
    if (st != WEIR_OK) {
        subscription_free(s);
        return st;
    }
    hooks_touch(h, s, false);
    /* Streams that were made before we knew that somebody wants them. */
    if (!old && h->leads) h->scan_at_ms = hooks_now_ms(h);
    return WEIR_OK;
}

enum weir_status nodes_look(struct hooks *h, struct weir_slice id)
{
    struct subscription *s = hooks_find(h, id);
    struct doc doc;
    if (s && (s->is_dirty || s->is_new)) return WEIR_OK; /* writing it shows whether it is right */
    enum weir_status st =
        store_doc_get(h->store, (struct doc_key){weir_slice_of(subscription_kind), id}, &doc);
    if (st == WEIR_NOT_FOUND) {
        if (s) {
            deliver_abort(h, s);
            hooks_forget(h, s);
        }
        return WEIR_OK;
    }
    if (st != WEIR_OK) return st;
    if (!s || s->version != doc.version) st = replace(h, s, &doc);
    doc_fini(&doc);
    return st;
}

/* A stream that was linked by what could not be written is not told of again. */
static enum weir_status find_links(struct hooks *h, struct weir_slice id)
{
    struct subscription *s = hooks_find(h, id);
    return s && h->leads ? watch_scan_of(h, s) : WEIR_OK;
}

void nodes_give_way(struct hooks *h, struct subscription *s)
{
    struct weir_slice id = weir_slice_of(s->id); /* which lives as long as the round */
    s->is_dirty = s->is_new = s->is_removed = false;
    s->version = VERSION_UNKNOWN;
    enum weir_status st = nodes_look(h, id);
    if (st != WEIR_OK) h->look_at_ms = hooks_now_ms(h) + LOOK_AGAIN_MS;
    if (st == WEIR_OK) st = find_links(h, id);
    if (st != WEIR_OK && h->leads) h->scan_at_ms = hooks_now_ms(h) + LOOK_AGAIN_MS;
}

/* All ids, each with its length before it. */
static enum weir_status add_id(void *user, const struct doc *doc)
{
    struct weir_buf *ids = user;
    if (doc->id.len == 0 || doc->id.len > STORE_NAME_BYTES) return WEIR_OK;
    weir_buf_append_char(ids, (char)doc->id.len);
    weir_buf_append_slice(ids, doc->id);
    return weir_buf_status(ids);
}

static void add_known(const struct hooks *h, struct weir_buf *ids)
{
    struct map_walk walk = map_walk_begin(&h->subscriptions);
    while (map_walk_next(&h->subscriptions, &walk)) {
        weir_buf_append_char(ids, (char)walk.key.len);
        weir_buf_append_slice(ids, walk.key);
    }
}

/* Those that there are, and those that we know and that may be gone. */
static enum weir_status look_at_all(struct hooks *h)
{
    struct weir_buf ids;
    const struct doc_query query = {.kind = weir_slice_of(subscription_kind),
                                    .limit = HOOKS_MAX_SUBSCRIPTIONS};
    weir_buf_init(&ids, 2 * HOOKS_MAX_SUBSCRIPTIONS * (STORE_NAME_BYTES + 1));
    enum weir_status st = store_doc_list(h->store, &query, add_id, &ids);
    add_known(h, &ids);
    if (st == WEIR_OK) st = weir_buf_status(&ids);
    for (size_t at = 0; st == WEIR_OK && at < ids.len; at += 1 + (unsigned char)ids.ptr[at])
        st = nodes_look(h, slice_of(ids.ptr + at + 1, (unsigned char)ids.ptr[at]));
    weir_buf_fini(&ids);
    return st;
}

static void stop_timers(struct hooks *h)
{
    struct heap_node *node;
    while ((node = heap_peek(&h->timers))) heap_remove(&h->timers, node);
}

/* Whoever begins to lead knows nothing of what the one before has done. */
static void change_lead(struct hooks *h, bool leads)
{
    if (h->leads == leads) return;
    h->leads = leads;
    if (!leads) {
        stop_timers(h);
        return;
    }
    h->scan_at_ms = hooks_now_ms(h);
    struct map_walk walk = map_walk_begin(&h->subscriptions);
    while (map_walk_next(&h->subscriptions, &walk)) {
        subscription_resume(walk.value, hooks_now_ms(h));
        hooks_touch(h, walk.value, false);
    }
}

void nodes_run(struct hooks *h, struct work *w)
{
    enum weir_status st = WEIR_OK;
    bool has_lost_news = w->is_all_stale;
    if (w->has_lead_news) w->is_all_stale = true;
    if (h->look_at_ms > 0 && h->look_at_ms <= hooks_now_ms(h)) w->is_all_stale = true;
    if (w->is_all_stale) h->look_at_ms = 0;
    if (w->is_all_stale) st = look_at_all(h);
    else
        for (struct map_walk walk = map_walk_begin(&w->stale);
             st == WEIR_OK && map_walk_next(&w->stale, &walk);)
            st = nodes_look(h, walk.key);
    map_fini(&w->stale);
    if (w->has_lead_news) change_lead(h, w->leads);
    /* News of streams are lost together with those of documents, and nobody tells them again. */
    if (has_lost_news && h->leads) h->scan_at_ms = hooks_now_ms(h);
    if (st == WEIR_OK) return;
    h->look_at_ms = hooks_now_ms(h) + LOOK_AGAIN_MS;
}
