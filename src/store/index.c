/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The index: what is visible and not yet in the database. See store_impl.h for who may
 * do what. Nothing here waits. What becomes visible is durable already, so when memory for it
 * cannot be had there is no way back: the process ends, and the journal has it all.
 */
#include "base/check.h"
#include "base/mem.h"
#include "base/slice.h"
#include "store/store_impl.h"

enum { MAX_PENDING_CHUNKS = 1 << 24 };

/* ---- logs ---- */

struct log *index_find(const struct store *s, struct weir_slice name)
{
    return map_get(&s->logs, name);
}

static struct log *log_new(struct weir_slice name, uint64_t id)
{
    CHECK(name.len > 0 && name.len <= STORE_NAME_BYTES);
    struct log *log = mem_zalloc(sizeof *log + name.len);
    if (!log) return NULL;
    log->id = id;
    log->expires_ms = log->next_expires_ms = INT64_MAX;
    log->n_name = (unsigned char)name.len;
    memcpy(log->name, name.ptr, name.len);
    ring_init(&log->pending, MAX_PENDING_CHUNKS);
    return log;
}

void log_free(struct log *log)
{
    if (!log) return;
    for (struct chunk *c; (c = ring_pop(&log->pending));) chunk_unref(c);
    ring_fini(&log->pending);
    chunk_unref(log->chunk);
    mem_free(log);
}

struct weir_slice log_name(const struct log *log)
{
    return slice_of(log->name, log->n_name);
}

static void add_pending(struct store *s, size_t n_bytes)
{
    s->pending_bytes += n_bytes + PENDING_OVERHEAD;
    if (s->oldest_pending_ns == 0) s->oldest_pending_ns = clock_mono_ns(s->clock);
}

void index_set_dirty(struct store *s, struct log *log)
{
    if (log->place == LOG_SETTLING) {
        log->dirty_again = true;
        return;
    }
    if (log->place == LOG_DIRTY) return;
    if (log->place == LOG_CLEAN) list_remove(&log->node);
    list_push_back(&s->dirty, &log->node);
    log->place = LOG_DIRTY;
    if (s->oldest_pending_ns == 0) s->oldest_pending_ns = clock_mono_ns(s->clock);
}

void index_add_chunk(struct store *s, struct log *log, struct chunk *chunk)
{
    CHECK(chunk->first == log->last + 1);
    enum weir_status st = ring_push(&log->pending, chunk);
    CHECK(st == WEIR_OK);
    log->last = chunk->last;
    log->is_visible = true;
    add_pending(s, chunk->len);
    index_set_dirty(s, log);
}

void index_show(struct store *s, struct log *log)
{
    if (log->is_visible || log->is_dropped) return;
    log->is_visible = true;
    index_set_dirty(s, log);
}

static void remember_dropped(struct store *s, uint64_t log_id)
{
    if (s->n_dropped == s->cap_dropped) {
        s->cap_dropped = s->cap_dropped > 0 ? s->cap_dropped * 2 : 16;
        s->dropped = mem_realloc(s->dropped, s->cap_dropped * sizeof *s->dropped);
        CHECK(s->dropped);
    }
    s->dropped[s->n_dropped++] = log_id;
}

void index_forget_chunks(struct store *s, struct log *log, size_t n)
{
    while (n-- > 0 && log->pending.len > 0) {
        struct chunk *c = ring_pop(&log->pending);
        s->pending_bytes -= c->len + PENDING_OVERHEAD;
        chunk_unref(c);
    }
    if (log->pending.len == 0) ring_fini(&log->pending);
}

void index_drop(struct store *s, struct log *log)
{
    remember_dropped(s, log->id);
    /* A settling under way has promised the log as it was, and the drop comes with the next:
     * a database that has the promise but neither the events nor the drop would have a gap. */
    if (log->place != LOG_SETTLING) index_forget_chunks(s, log, SIZE_MAX);
    log->is_visible = false;
    log->is_dropped = true;
    index_set_dirty(s, log);
}

/* Puts a log in the place of one of its name that was dropped, if there is one. */
static void add_log(struct store *s, struct log *log)
{
    pthread_mutex_lock(&s->index_lock);
    list_push_back(&s->clean, &log->node);
    log->place = LOG_CLEAN;
    struct log *old = index_find(s, log_name(log));
    enum weir_status st = map_put(&s->logs, log_name(log), log);
    CHECK(st == WEIR_OK && (!old || old->is_dropped));
    if (old && old->place == LOG_SETTLING) {
        old->is_orphan = true;
    } else if (old) {
        list_remove(&old->node);
        log_free(old);
    }
    pthread_mutex_unlock(&s->index_lock);
}

enum weir_status index_make_log(struct store *s, struct weir_slice name, uint64_t id,
                                struct log **out)
{
    struct log *log = log_new(name, id);
    if (!log) return WEIR_NOMEM;
    add_log(s, log);
    *out = log;
    return WEIR_OK;
}

enum weir_status index_load_log(struct store *s, struct weir_slice name, struct log **out)
{
    struct db_log row;
    const struct log *old = index_find(s, name);
    if (old && old->is_dropped) return WEIR_NOT_FOUND; /* whatever the database says yet */
    enum weir_status st = db_find_log(s->committer_reader, name, &row);
    if (st != WEIR_OK) return st;
    struct log *log = log_new(name, row.id);
    if (!log) return WEIR_NOMEM;
    log->last = row.last;
    log->is_sealed = row.is_sealed;
    log->expires_ms = row.expires_ms;
    log->is_visible = true;
    add_log(s, log);
    *out = log;
    return WEIR_OK;
}

void index_trim(struct store *s)
{
    if (s->logs.len <= s->options.max_logs) return;
    pthread_mutex_lock(&s->index_lock);
    while (s->logs.len > s->options.max_logs) {
        struct list_node *node = list_pop_front(&s->clean);
        if (!node) break;
        struct log *log = CONTAINER_OF(node, struct log, node);
        map_take(&s->logs, log_name(log));
        log_free(log);
    }
    pthread_mutex_unlock(&s->index_lock);
}

/* ---- documents ---- */

struct weir_slice overlay_key(char out[OVERLAY_KEY_BYTES], struct doc_key key)
{
    memcpy(out, key.kind.ptr, key.kind.len);
    out[key.kind.len] = '\0';
    memcpy(out + key.kind.len + 1, key.id.ptr, key.id.len);
    return slice_of(out, key.kind.len + 1 + key.id.len);
}

struct pending_doc *pending_doc_new(struct doc_key key, struct weir_slice owner,
                                    struct weir_slice body)
{
    char name[OVERLAY_KEY_BYTES];
    struct weir_slice prefix = overlay_key(name, key);
    struct pending_doc *d = mem_zalloc(sizeof *d + prefix.len + owner.len + body.len);
    if (!d) return NULL;
    d->refs = 1;
    d->n_kind = (unsigned char)key.kind.len;
    d->n_id = (unsigned char)key.id.len;
    d->n_owner = (unsigned char)owner.len;
    d->n_body = (uint32_t)body.len;
    memcpy(d->bytes, prefix.ptr, prefix.len);
    if (owner.len > 0) memcpy(d->bytes + prefix.len, owner.ptr, owner.len);
    if (body.len > 0) memcpy(d->bytes + prefix.len + owner.len, body.ptr, body.len);
    return d;
}

struct weir_slice pending_doc_key(const struct pending_doc *d)
{
    return slice_of(d->bytes, (size_t)d->n_kind + 1 + d->n_id);
}

size_t pending_doc_bytes(const struct pending_doc *d)
{
    return (size_t)d->n_kind + 1 + d->n_id + d->n_owner + d->n_body;
}

struct doc pending_doc_view(const struct pending_doc *d)
{
    const char *id = d->bytes + d->n_kind + 1;
    return (struct doc){.kind = slice_of(d->bytes, d->n_kind),
                        .id = slice_of(id, d->n_id),
                        .owner = slice_of(id + d->n_id, d->n_owner),
                        .body = slice_of(id + d->n_id + d->n_owner, d->n_body),
                        .version = d->version};
}

void pending_doc_unref(struct pending_doc *d)
{
    if (d && --d->refs == 0) mem_free(d);
}

/* Out of the overlay; the settler may still have it. */
static void forget_doc(struct store *s, struct pending_doc *d)
{
    d->in_overlay = false;
    s->pending_bytes -= pending_doc_bytes(d) + PENDING_OVERHEAD;
    if (!d->is_settling && list_is_linked(&d->node)) list_remove(&d->node);
    pending_doc_unref(d);
}

void index_put_doc(struct store *s, struct pending_doc *d)
{
    struct pending_doc *old = map_get(&s->overlay, pending_doc_key(d));
    enum weir_status st = map_put(&s->overlay, pending_doc_key(d), d);
    CHECK(st == WEIR_OK);
    if (old && old != d) forget_doc(s, old);
    d->in_overlay = true;
    list_push_back(&s->dirty_docs, &d->node);
    add_pending(s, pending_doc_bytes(d));
}

void index_fini(struct store *s)
{
    for (struct map_walk w = map_walk_begin(&s->logs); map_walk_next(&s->logs, &w);)
        log_free(w.value);
    for (struct map_walk w = map_walk_begin(&s->overlay); map_walk_next(&s->overlay, &w);)
        mem_free(w.value);
    map_fini(&s->logs);
    map_fini(&s->overlay);
    mem_free(s->dropped);
    trims_free(s->trims);
}
