/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading: first the index, then the database, in this order always. What leaves the index
 * is in the database by then, so nothing falls between the two.
 */
#include <stdlib.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/slice.h"
#include "store/embedded_impl.h"

enum { MAX_GATHER = 1024 /* chunks joined to one answer */ };

/* ---- connections ---- */

struct db_reader *embedded_take_reader(struct embedded *s)
{
    pthread_mutex_lock(&s->reader_lock);
    struct db_reader *reader = ring_pop(&s->spares);
    pthread_mutex_unlock(&s->reader_lock);
    if (reader) return reader;
    enum weir_status st = db_reader_open(&reader, s->folder);
    return st == WEIR_OK ? reader : NULL;
}

void embedded_give_reader(struct embedded *s, struct db_reader *reader)
{
    pthread_mutex_lock(&s->reader_lock);
    enum weir_status st = ring_push(&s->spares, reader);
    pthread_mutex_unlock(&s->reader_lock);
    if (st != WEIR_OK) db_reader_close(reader);
}

/* ---- logs in memory ---- */

/* Where in the log's pending chunks event `id` is. */
static size_t chunk_index(const struct log *log, uint64_t id)
{
    size_t low = 0;
    size_t high = log->pending.len;
    while (high - low > 1) {
        size_t mid = low + (high - low) / 2;
        const struct chunk *c = ring_peek(&log->pending, mid);
        if (c->first <= id) low = mid;
        else high = mid;
    }
    return low;
}

/* References to chunks with `from` and what follows, up to about max_bytes. */
static unsigned gather(const struct log *log, uint64_t from, size_t max_bytes,
                       struct chunk *chunks[MAX_GATHER])
{
    unsigned n = 0;
    size_t n_bytes = 0;
    for (size_t i = chunk_index(log, from); i < log->pending.len && n < MAX_GATHER; i++) {
        struct chunk *c = ring_peek(&log->pending, i);
        if (n > 0 && n_bytes + c->len > max_bytes) break;
        chunks[n++] = chunk_ref(c);
        n_bytes += c->len;
    }
    return n;
}

/* One chunk from event `from` on out of several; they are given back. NULL: no memory. */
static struct chunk *join(struct chunk *chunks[], unsigned n, uint64_t from)
{
    struct weir_slice head = chunk_from(chunks[0], from);
    if (n == 1 && head.len == chunks[0]->len) return chunks[0];
    size_t len = head.len;
    for (unsigned i = 1; i < n; i++) len += chunks[i]->len;
    struct chunk *joined = chunk_new(from, chunks[n - 1]->last, len);
    if (joined) {
        char *at = joined->bytes;
        memcpy(at, head.ptr, head.len);
        at += head.len;
        for (unsigned i = 1; i < n; at += chunks[i++]->len)
            memcpy(at, chunks[i]->bytes, chunks[i]->len);
    }
    for (unsigned i = 0; i < n; i++) chunk_unref(chunks[i]);
    return joined;
}

static void give_chunk(struct log_read *out, struct chunk *chunk)
{
    if (chunk) out->chunks[out->n_chunks++] = chunk;
    else out->status = WEIR_NOMEM;
}

static struct log_state state_of(const struct log *log, int64_t now_ms)
{
    if (!log->is_visible || log->expires_ms <= now_ms) return (struct log_state){0};
    return (struct log_state){
        .exists = true, .is_sealed = log->is_sealed, .log_id = log->id, .last = log->last};
}

bool embedded_read_now(struct store *store, struct weir_slice name, uint64_t from, size_t max_bytes,
                       struct log_read *out)
{
    struct embedded *s = embedded_of(store);
    struct chunk *chunks[MAX_GATHER];
    unsigned n = 0;
    int64_t now_ms = embedded_now_ms(s);
    CHECK(from > 0);
    *out = (struct log_read){0};
    pthread_mutex_lock(&s->index_lock);
    const struct log *log = index_find(s, name);
    bool is_known = log != NULL;
    if (log) out->state = state_of(log, now_ms);
    if (max_bytes > 0 && from <= out->state.last) {
        const struct chunk *oldest = ring_peek(&log->pending, 0);
        is_known = oldest && oldest->first <= from;
        if (is_known) n = gather(log, from, max_bytes, chunks);
    }
    if (is_known) s->stats.n_reads++;
    pthread_mutex_unlock(&s->index_lock);
    if (n > 0) give_chunk(out, join(chunks, n, from));
    return is_known;
}

/* ---- logs on the disk ---- */

struct gathering {
    struct weir_buf bytes;
    uint64_t from;
    uint64_t last;
    size_t max_bytes;
    bool is_full;
};

/* What is left of a row's bytes from event `from` on; the row begins with event `first`. */
static struct weir_slice row_from(struct weir_slice bytes, uint64_t first, uint64_t from)
{
    for (; first < from && bytes.len > 0; first++) {
        size_t len = chunk_event_length(bytes);
        if (len == 0) return (struct weir_slice){0};
        bytes = slice_from(bytes, len);
    }
    return bytes;
}

static enum weir_status add_row(void *user, uint64_t first, uint64_t last, struct weir_slice bytes)
{
    struct gathering *g = user;
    if (g->bytes.len > 0 && g->bytes.len + bytes.len > g->max_bytes) {
        g->is_full = true;
        return WEIR_LIMIT;
    }
    uint64_t due = g->last > 0 ? g->last + 1 : g->from;
    if (g->last == 0 && first > due) return WEIR_NOT_FOUND; /* it was trimmed */
    if (first > due || last < due) return WEIR_CORRUPT;
    struct weir_slice rest = row_from(bytes, first, due);
    if (rest.len == 0) return WEIR_CORRUPT;
    weir_buf_append_slice(&g->bytes, rest);
    g->last = last;
    return weir_buf_status(&g->bytes);
}

static void read_rows(struct embedded *s, struct db_reader *reader, uint64_t from, size_t max_bytes,
                      struct log_read *out)
{
    struct gathering g = {.from = from, .max_bytes = max_bytes};
    weir_buf_init(&g.bytes, UINT32_MAX);
    enum weir_status st = db_read_events(reader, out->state.log_id, from, add_row, &g);
    if (g.is_full) st = WEIR_OK;
    if (st != WEIR_OK) {
        out->status = st;
    } else if (g.bytes.len == 0) {
        /* It was there when we looked and is not any more: dropped. */
        out->state = (struct log_state){0};
    } else {
        struct chunk *chunk = chunk_new(from, g.last, g.bytes.len);
        if (chunk) memcpy(chunk->bytes, g.bytes.ptr, g.bytes.len);
        give_chunk(out, chunk);
        if (g.last > out->state.last) out->state.last = g.last;
    }
    pthread_mutex_lock(&s->index_lock);
    s->stats.n_reads++;
    s->stats.read_bytes += g.bytes.len;
    pthread_mutex_unlock(&s->index_lock);
    weir_buf_fini(&g.bytes);
}

static void find_state(struct embedded *s, struct db_reader *reader, struct weir_slice name,
                       struct log_read *out)
{
    struct db_log row;
    enum weir_status st = db_find_log(reader, name, &row);
    if (st == WEIR_NOT_FOUND) return;
    out->status = st;
    if (st != WEIR_OK || row.expires_ms <= embedded_now_ms(s)) return;
    out->state = (struct log_state){
        .exists = true, .is_sealed = row.is_sealed, .log_id = row.id, .last = row.last};
}

void embedded_read(struct store *store, struct weir_slice log, uint64_t from, size_t max_bytes,
                   struct log_read *out)
{
    struct embedded *s = embedded_of(store);
    if (embedded_read_now(&s->store, log, from, max_bytes, out)) return;
    struct db_reader *reader = embedded_take_reader(s);
    if (!reader) {
        out->status = WEIR_IO;
        return;
    }
    /* Events of a log that the index knows are in the database up to where the index begins. */
    if (!out->state.exists) find_state(s, reader, log, out);
    if (out->status == WEIR_OK && max_bytes > 0 && from <= out->state.last)
        read_rows(s, reader, from, max_bytes, out);
    embedded_give_reader(s, reader);
}

/* ---- reading for others ---- */

static void add_job(struct embedded *s, struct job *job)
{
    pthread_mutex_lock(&s->reader_lock);
    *s->jobs_end = job;
    s->jobs_end = &job->next;
    pthread_cond_signal(&s->job_added);
    pthread_mutex_unlock(&s->reader_lock);
}

static void run_read(struct embedded *s, struct job *job)
{
    struct read_job *r = CONTAINER_OF(job, struct read_job, job);
    struct log_read read;
    embedded_read(&s->store, slice_of(r->name, r->n_name), r->from, r->max_bytes, &read);
    r->done(r->user, &read);
    mem_free(r);
}

void embedded_read_later(struct store *store, struct weir_slice log, uint64_t from,
                         size_t max_bytes, log_read_fn done, void *user)
{
    struct embedded *s = embedded_of(store);
    struct read_job *read = mem_zalloc(sizeof *read + log.len);
    if (!read) {
        struct log_read none = {.status = WEIR_NOMEM};
        done(user, &none);
        return;
    }
    *read = (struct read_job){.from = from, .max_bytes = max_bytes, .done = done, .user = user};
    read->job.run = run_read;
    read->n_name = log.len;
    memcpy(read->name, log.ptr, log.len);
    add_job(s, &read->job);
}

struct work_job {
    struct job job;
    void (*work)(void *user);
    void *user;
};

static void run_work(struct embedded *s, struct job *job)
{
    (void)s;
    struct work_job *w = CONTAINER_OF(job, struct work_job, job);
    w->work(w->user);
    mem_free(w);
}

enum weir_status embedded_later(struct store *store, void (*work)(void *user), void *user)
{
    struct embedded *s = embedded_of(store);
    struct work_job *w = mem_zalloc(sizeof *w);
    if (!w) return WEIR_NOMEM;
    *w = (struct work_job){.job = {.run = run_work}, .work = work, .user = user};
    add_job(s, &w->job);
    return WEIR_OK;
}

static struct job *next_job(struct embedded *s)
{
    pthread_mutex_lock(&s->reader_lock);
    while (!s->jobs && !s->readers_stop) pthread_cond_wait(&s->job_added, &s->reader_lock);
    struct job *job = s->jobs;
    if (job) {
        s->jobs = job->next;
        if (!s->jobs) s->jobs_end = &s->jobs;
    }
    pthread_mutex_unlock(&s->reader_lock);
    return job;
}

void *reader_run(void *store)
{
    struct job *job;
    while ((job = next_job(store))) job->run(store, job);
    return NULL;
}

/* ---- documents ---- */

static WEIR_MUST_CHECK enum weir_status copy_doc(const struct pending_doc *d, struct doc *out)
{
    struct pending_doc *copy = mem_alloc(sizeof *copy + pending_doc_bytes(d));
    if (!copy) return WEIR_NOMEM;
    memcpy(copy, d, sizeof *copy + pending_doc_bytes(d));
    *out = pending_doc_view(copy);
    out->memory = copy;
    return WEIR_OK;
}

enum weir_status embedded_doc_get(struct store *store, struct doc_key key, struct doc *out)
{
    struct embedded *s = embedded_of(store);
    char name[OVERLAY_KEY_BYTES];
    enum weir_status st = WEIR_OK;
    pthread_mutex_lock(&s->index_lock);
    const struct pending_doc *d = map_get(&s->overlay, overlay_key(name, key));
    if (d) st = d->is_removed ? WEIR_NOT_FOUND : copy_doc(d, out);
    pthread_mutex_unlock(&s->index_lock);
    if (d) return st;
    struct db_reader *reader = embedded_take_reader(s);
    if (!reader) return WEIR_IO;
    st = db_get_doc(reader, key, out);
    embedded_give_reader(s, reader);
    return st;
}

/* A listing under way: what the overlay has of the kind, sorted, and how far it got. */
struct listing {
    struct pending_doc **docs;
    size_t n_docs, cap_docs;
    size_t at;
    struct weir_slice owner;
    size_t left;
    bool is_falling;
    bool is_full;
    doc_fn each;
    void *user;
};

static int compare_ids(struct weir_slice i, struct weir_slice j)
{
    size_t both = i.len < j.len ? i.len : j.len;
    int order = both > 0 ? memcmp(i.ptr, j.ptr, both) : 0;
    return order != 0 ? order : (i.len > j.len) - (i.len < j.len);
}

static int by_key(const void *a, const void *b)
{
    const struct pending_doc *const *x = a;
    const struct pending_doc *const *y = b;
    return compare_ids(pending_doc_view(*x).id, pending_doc_view(*y).id);
}

static int by_falling_key(const void *a, const void *b)
{
    return by_key(b, a);
}

/* In the order of the listing. */
static bool is_after(const struct listing *l, struct weir_slice id, struct weir_slice after)
{
    int order = compare_ids(id, after);
    return l->is_falling ? order < 0 : order > 0;
}

static WEIR_MUST_CHECK enum weir_status remember_doc(struct listing *l, struct pending_doc *d)
{
    if (l->n_docs == l->cap_docs) {
        size_t cap = l->cap_docs > 0 ? l->cap_docs * 2 : 64;
        struct pending_doc **docs = mem_realloc(l->docs, cap * sizeof(struct pending_doc *));
        if (!docs) return WEIR_NOMEM;
        l->docs = docs;
        l->cap_docs = cap;
    }
    d->refs++;
    l->docs[l->n_docs++] = d;
    return WEIR_OK;
}

/* All of the kind, other owners' and removed ones too: they hide what the database says. */
static WEIR_MUST_CHECK enum weir_status take_overlay(struct embedded *s, struct listing *l,
                                                     struct weir_slice kind,
                                                     struct weir_slice after)
{
    enum weir_status st = WEIR_OK;
    pthread_mutex_lock(&s->index_lock);
    struct map_walk w = map_walk_begin(&s->overlay);
    while (st == WEIR_OK && map_walk_next(&s->overlay, &w)) {
        struct doc view = pending_doc_view(w.value);
        bool is_behind = after.len == 0 || is_after(l, view.id, after);
        if (slice_eq(view.kind, kind) && is_behind) st = remember_doc(l, w.value);
    }
    pthread_mutex_unlock(&s->index_lock);
    if (st == WEIR_OK && l->n_docs > 0)
        qsort(l->docs, l->n_docs, sizeof(struct pending_doc *),
              l->is_falling ? by_falling_key : by_key);
    return st;
}

static WEIR_MUST_CHECK enum weir_status show(struct listing *l, const struct doc *doc)
{
    if (l->left == 0) {
        l->is_full = true;
        return WEIR_LIMIT;
    }
    l->left--;
    return l->each(l->user, doc);
}

static WEIR_MUST_CHECK enum weir_status show_pending(struct listing *l)
{
    const struct pending_doc *d = l->docs[l->at++];
    struct doc view = pending_doc_view(d);
    if (d->is_removed || (l->owner.len > 0 && !slice_eq(view.owner, l->owner))) return WEIR_OK;
    return show(l, &view);
}

static enum weir_status merge_doc(void *user, const struct doc *doc)
{
    struct listing *l = user;
    while (l->at < l->n_docs) {
        struct doc view = pending_doc_view(l->docs[l->at]);
        bool is_same = slice_eq(view.id, doc->id);
        if (!is_same && is_after(l, view.id, doc->id)) break;
        enum weir_status st = show_pending(l);
        if (st != WEIR_OK || is_same) return st;
    }
    return show(l, doc);
}

enum weir_status embedded_doc_list(struct store *store, const struct doc_query *query, doc_fn each,
                                   void *user)
{
    struct embedded *s = embedded_of(store);
    struct listing l = {.owner = query->owner,
                        .left = query->limit,
                        .is_falling = query->is_falling,
                        .each = each,
                        .user = user};
    struct doc_query wider = *query;
    struct db_reader *reader = embedded_take_reader(s);
    if (!reader) return WEIR_IO;
    enum weir_status st = take_overlay(s, &l, query->kind, query->after);
    if (st == WEIR_OK) {
        /* So many of the database's may be hidden; and one more tells that there are more. */
        if (wider.limit < SIZE_MAX / 2) wider.limit += l.n_docs + 1;
        st = db_list_docs(reader, &wider, merge_doc, &l);
    }
    while (st == WEIR_OK && l.at < l.n_docs) st = show_pending(&l);
    if (l.is_full) st = WEIR_OK;
    embedded_give_reader(s, reader);
    pthread_mutex_lock(&s->index_lock);
    for (size_t i = 0; i < l.n_docs; i++) pending_doc_unref(l.docs[i]);
    pthread_mutex_unlock(&s->index_lock);
    mem_free(l.docs);
    return st;
}

/* ---- passages ---- */

/* Whether passages wait to be settled. */
static bool has_pending(struct embedded *s)
{
    bool has = false;
    pthread_mutex_lock(&s->index_lock);
    struct map_walk w = map_walk_begin(&s->overlay);
    while (!has && map_walk_next(&s->overlay, &w))
        has = slice_eq(pending_doc_view(w.value).kind, passage_key((struct weir_slice){0}).kind);
    pthread_mutex_unlock(&s->index_lock);
    return has;
}

/* The index of words is the database's: passages that wait to be settled are settled first. */
enum weir_status embedded_search(struct store *store, const struct passage_query *query,
                                 passage_fn each, void *user)
{
    struct embedded *s = embedded_of(store);
    enum weir_status st = has_pending(s) ? settle_and_wait(s) : WEIR_OK;
    if (st != WEIR_OK) return st;
    struct db_reader *reader = embedded_take_reader(s);
    if (!reader) return WEIR_IO;
    st = db_search(reader, query, each, user);
    embedded_give_reader(s, reader);
    return st;
}
