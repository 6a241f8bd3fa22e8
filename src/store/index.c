/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The index: what is visible and not yet in the database. See embedded_impl.h for who may
 * do what. Nothing here waits. What becomes visible is durable already, so when memory for it
 * cannot be had there is no way back: the process ends, and the journal has it all.
 */
#include "base/check.h"
#include "base/mem.h"
#include "base/slice.h"
#include "store/embedded_impl.h"

/* ---- logs ---- */

struct log *index_find(const struct embedded *s, struct weir_slice name)
{
    return map_get(&s->logs, name);
}

static void add_pending(struct embedded *s, size_t n_bytes)
{
    s->pending_bytes += n_bytes + PENDING_OVERHEAD;
    if (s->oldest_pending_ns == 0) s->oldest_pending_ns = clock_mono_ns(s->clock);
}

void index_set_dirty(struct embedded *s, struct log *log)
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

void index_add_chunk(struct embedded *s, struct log *log, struct chunk *chunk)
{
    CHECK(chunk->first == log->last + 1);
    enum weir_status st = ring_push(&log->pending, chunk);
    CHECK(st == WEIR_OK);
    log->last = chunk->last;
    log->is_visible = true;
    add_pending(s, chunk->len);
    index_set_dirty(s, log);
}

void index_show(struct embedded *s, struct log *log)
{
    if (log->is_visible || log->is_dropped) return;
    log->is_visible = true;
    index_set_dirty(s, log);
}

static void remember_dropped(struct embedded *s, uint64_t log_id)
{
    if (s->n_dropped == s->cap_dropped) {
        s->cap_dropped = s->cap_dropped > 0 ? s->cap_dropped * 2 : 16;
        s->dropped = mem_realloc(s->dropped, s->cap_dropped * sizeof *s->dropped);
        CHECK(s->dropped);
    }
    s->dropped[s->n_dropped++] = log_id;
}

void index_forget_chunks(struct embedded *s, struct log *log, size_t n)
{
    while (n-- > 0 && log->pending.len > 0) {
        struct chunk *c = ring_pop(&log->pending);
        s->pending_bytes -= c->len + PENDING_OVERHEAD;
        chunk_unref(c);
    }
    if (log->pending.len == 0) ring_fini(&log->pending);
}

void index_drop(struct embedded *s, struct log *log)
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
static void add_log(struct embedded *s, struct log *log)
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

enum weir_status index_make_log(struct embedded *s, struct weir_slice name, uint64_t id,
                                struct log **out)
{
    struct log *log = log_new(name, id);
    if (!log) return WEIR_NOMEM;
    add_log(s, log);
    *out = log;
    return WEIR_OK;
}

enum weir_status index_load_log(struct embedded *s, struct weir_slice name, struct log **out)
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

void index_trim(struct embedded *s)
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

/* Out of the overlay; the settler may still have it. */
static void forget_doc(struct embedded *s, struct pending_doc *d)
{
    d->in_overlay = false;
    s->pending_bytes -= pending_doc_bytes(d) + PENDING_OVERHEAD;
    if (!d->is_settling && list_is_linked(&d->node)) list_remove(&d->node);
    pending_doc_unref(d);
}

void index_put_doc(struct embedded *s, struct pending_doc *d)
{
    struct pending_doc *old = map_get(&s->overlay, pending_doc_key(d));
    enum weir_status st = map_put(&s->overlay, pending_doc_key(d), d);
    CHECK(st == WEIR_OK);
    if (old && old != d) forget_doc(s, old);
    d->in_overlay = true;
    list_push_back(&s->dirty_docs, &d->node);
    add_pending(s, pending_doc_bytes(d));
}

void index_fini(struct embedded *s)
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
