/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the committer sees: documents as they will be when the batch under way is durable. It
 * looks into the batch, then into what is visible and not settled, then into the database; what
 * that said is remembered, for whoever appends to a stream looks at the stream's document each
 * time. Only the committer changes documents, so it knows when to forget one.
 */
#include "base/check.h"
#include "base/fault.h"
#include "base/mem.h"
#include "base/slice.h"
#include "store/embedded_impl.h"

enum {
    DOC_CACHE_BYTES = 4 << 20,
    DOC_CACHE_OVERHEAD = 128, /* what one costs beyond its bytes */
    DOC_CACHE_MAX = DOC_CACHE_BYTES / DOC_CACHE_OVERHEAD,
};

/* ---- the cache ---- */

struct cached_doc {
    struct list_node age;
    struct doc doc; /* of version 0 when there is none */
    size_t n_bytes;
    size_t n_key;
    char key[]; /* kind, NUL, id */
};

void doc_cache_init(struct doc_cache *cache)
{
    map_init(&cache->docs, DOC_CACHE_MAX);
    list_init(&cache->ages);
}

static void drop(struct doc_cache *cache, struct cached_doc *c)
{
    list_remove(&c->age);
    map_take(&cache->docs, slice_of(c->key, c->n_key));
    cache->n_bytes -= c->n_bytes;
    doc_fini(&c->doc);
    mem_free(c);
}

void doc_cache_fini(struct doc_cache *cache)
{
    struct list_node *oldest;
    while ((oldest = list_first(&cache->ages)))
        drop(cache, CONTAINER_OF(oldest, struct cached_doc, age));
    map_fini(&cache->docs);
}

void doc_cache_forget(struct doc_cache *cache, struct weir_slice key)
{
    struct cached_doc *c = map_get(&cache->docs, key);
    if (c) drop(cache, c);
}

static struct cached_doc *look_up(struct doc_cache *cache, struct weir_slice key)
{
    struct cached_doc *c = map_get(&cache->docs, key);
    if (!c) return NULL;
    list_remove(&c->age);
    list_push_back(&cache->ages, &c->age);
    return c;
}

/* Takes the document over. NULL when there is no memory, and it is freed. */
static struct cached_doc *remember(struct doc_cache *cache, struct weir_slice key, struct doc *doc)
{
    struct cached_doc *c = mem_zalloc(sizeof *c + key.len);
    if (!c) {
        doc_fini(doc);
        return NULL;
    }
    c->doc = *doc;
    c->n_bytes = DOC_CACHE_OVERHEAD + 2 * key.len + doc->owner.len + doc->body.len;
    c->n_key = key.len;
    memcpy(c->key, key.ptr, key.len);
    list_push_back(&cache->ages, &c->age);
    cache->n_bytes += c->n_bytes;
    while (cache->n_bytes > DOC_CACHE_BYTES || cache->docs.len == DOC_CACHE_MAX) {
        struct cached_doc *oldest = CONTAINER_OF(list_first(&cache->ages), struct cached_doc, age);
        if (oldest == c) break; /* one that is larger than all others may be */
        drop(cache, oldest);
    }
    if (map_put(&cache->docs, slice_of(c->key, c->n_key), c) == WEIR_OK) return c;
    drop(cache, c);
    return NULL;
}

/* What the database has; NULL with *st. */
static const struct cached_doc *ask_database(struct embedded *s, struct doc_key key,
                                             struct weir_slice name, enum weir_status *st)
{
    struct cached_doc *c = look_up(&s->doc_cache, name);
    if (c) return c;
    struct doc doc = {0};
    *st = db_get_doc(s->committer_reader, key, &doc);
    if (*st != WEIR_OK && *st != WEIR_NOT_FOUND) return NULL;
    c = remember(&s->doc_cache, name, &doc);
    *st = c ? WEIR_OK : WEIR_NOMEM;
    return c;
}

/* ---- looking ---- */

typedef void (*look_fn)(void *user, const struct doc *doc);

/* Calls `look` with the document, of version 0 when there is none. */
static WEIR_MUST_CHECK enum weir_status look(struct embedded *s, struct doc_key key, look_fn fn,
                                             void *user)
{
    static const struct doc none;
    char bytes[OVERLAY_KEY_BYTES];
    struct weir_slice name = overlay_key(bytes, key);
    enum weir_status st = WEIR_OK;
    const struct pending_doc *d = map_get(&s->ahead.docs, name);
    struct doc seen;
    bool is_batch = d != NULL;
    if (!d) {
        pthread_mutex_lock(&s->index_lock);
        d = map_get(&s->overlay, name);
    }
    if (d) {
        seen = d->is_removed ? none : pending_doc_view(d);
        fn(user, &seen);
    }
    if (!is_batch) pthread_mutex_unlock(&s->index_lock);
    if (d) return st;
    const struct cached_doc *c = ask_database(s, key, name, &st);
    if (c) fn(user, &c->doc);
    return st;
}

static void take_version(void *version, const struct doc *doc)
{
    *(int64_t *)version = doc->version;
}

enum weir_status view_doc_version(struct embedded *s, struct doc_key key, int64_t *version)
{
    return look(s, key, take_version, version);
}

/* A copy that stays until the `decide` returns. */
struct copying {
    struct arena *memory;
    struct doc *out;
    enum weir_status status;
};

static struct weir_slice copy_slice(struct copying *c, struct weir_slice s)
{
    char *to = s.len > 0 ? arena_alloc(c->memory, s.len) : NULL;
    if (s.len > 0 && !to) c->status = c->memory->status;
    if (!to) return (struct weir_slice){0};
    memcpy(to, s.ptr, s.len);
    return slice_of(to, s.len);
}

static void copy_doc(void *user, const struct doc *doc)
{
    struct copying *c = user;
    if (doc->version == 0) {
        c->status = WEIR_NOT_FOUND;
        return;
    }
    *c->out = (struct doc){.kind = copy_slice(c, doc->kind),
                           .id = copy_slice(c, doc->id),
                           .owner = copy_slice(c, doc->owner),
                           .body = copy_slice(c, doc->body),
                           .version = doc->version};
}

enum weir_status embedded_view_doc(struct store *store, struct doc_key key, struct doc *out)
{
    struct embedded *s = embedded_of(store);
    struct copying c = {.memory = &s->view_memory, .out = out};
    if (s->is_blind && s->n_blind++ % 2 == 0) return WEIR_NOT_FOUND;
    enum weir_status st = look(s, key, copy_doc, &c);
    return st == WEIR_OK ? c.status : st;
}

enum weir_status embedded_view_log(struct store *store, struct weir_slice log,
                                   struct log_state *out)
{
    enum weir_status st = ahead_log(&embedded_of(store)->ahead, log, out);
    return st == WEIR_NOT_FOUND ? WEIR_OK : st;
}

/*
 * For tests: a call that does not count, as with a store where what was seen turns out to be old.
 * Half of what is there is not seen, so that it ends otherwise than the call behind it.
 */
static void call_in_vain(struct embedded *s, struct commit *c)
{
    struct commit_view view = {&s->store};
    size_t len = c->len;
    bool drops = c->drops;
    s->is_blind = true;
    (void)c->decide(c->decider, &view, c);
    s->is_blind = false;
    c->len = len;
    c->drops = drops;
    c->status = WEIR_OK;
    arena_reset(&s->view_memory);
}

enum weir_status view_decide(struct embedded *s, struct commit *c)
{
    if (!c->decide) return WEIR_OK;
    if (fault_hit(FAULT_DECIDE)) call_in_vain(s, c);
    struct commit_view view = {&s->store};
    enum weir_status st = c->decide(c->decider, &view, c);
    arena_reset(&s->view_memory);
    if (st == WEIR_OK) st = c->status;
    if (st == WEIR_OK && c->len > s->options.segment_bytes / 2) st = WEIR_LIMIT;
    return st;
}
