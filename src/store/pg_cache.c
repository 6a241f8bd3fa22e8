/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the committer remembers of the database: heads of logs and documents, also that there is
 * none. Other nodes may have changed any of it since; whoever decides on it has it compared.
 */
#include "base/check.h"
#include "base/mem.h"
#include "base/slice.h"
#include "store/pg_impl.h"

enum { MAX_CACHED = 1 << 22 };

static const char logs_sql[] =
    "SELECT w.i, l.id, l.last, l.is_sealed, coalesce(l.expires_ms, 9223372036854775807),"
    " l.cluster::bigint"
    " FROM unnest($1::bytea[]) WITH ORDINALITY AS w(name, i) JOIN weir.logs l ON l.name = w.name";

static const char docs_sql[] =
    "SELECT w.i, d.version, d.owner, d.body"
    " FROM unnest($1::bytea[], $2::bytea[]) WITH ORDINALITY AS w(kind, id, i)"
    " JOIN weir.docs d ON d.kind = w.kind AND d.id = w.id";

void pg_cache_init(struct pg_store *s)
{
    map_init_borrowing(&s->logs, MAX_CACHED);
    map_init_borrowing(&s->docs, MAX_CACHED);
    list_init(&s->log_ages);
    list_init(&s->doc_ages);
    list_init(&s->batch_docs);
}

/* ---- forgetting ---- */

static void drop_log(struct pg_store *s, struct log *log)
{
    CHECK(!list_is_linked(&log->batch));
    map_take(&s->logs, log_name(log));
    list_remove(&log->node);
    log_free(log);
}

static size_t cost_of(const struct pg_doc *d)
{
    return pending_doc_bytes(d->doc) + PG_DOC_OVERHEAD;
}

static void drop_doc(struct pg_store *s, struct pg_doc *d)
{
    CHECK(!list_is_linked(&d->batch));
    map_take(&s->docs, pending_doc_key(d->doc));
    list_remove(&d->age);
    s->doc_bytes -= cost_of(d);
    mem_free(d->doc);
    mem_free(d);
}

void pg_cache_forget_log(struct pg_store *s, struct weir_slice name)
{
    struct log *log = map_get(&s->logs, name);
    if (log) drop_log(s, log);
}

void pg_cache_forget_doc(struct pg_store *s, struct doc_key key)
{
    char name[OVERLAY_KEY_BYTES];
    struct pg_doc *d = map_get(&s->docs, overlay_key(name, key));
    if (d) drop_doc(s, d);
}

void pg_cache_forget_all(struct pg_store *s)
{
    struct list_node *n;
    while ((n = list_first(&s->log_ages))) drop_log(s, CONTAINER_OF(n, struct log, node));
    while ((n = list_first(&s->doc_ages))) drop_doc(s, CONTAINER_OF(n, struct pg_doc, age));
}

void pg_cache_fini(struct pg_store *s)
{
    pg_cache_forget_all(s);
    map_fini(&s->logs);
    map_fini(&s->docs);
    mem_free(s->wish.docs);
    mem_free(s->wish.logs);
}

void pg_cache_trim(struct pg_store *s)
{
    while (s->logs.len > s->options.max_logs)
        drop_log(s, CONTAINER_OF(list_first(&s->log_ages), struct log, node));
    while (s->doc_bytes > PG_DOCS_BYTES)
        drop_doc(s, CONTAINER_OF(list_first(&s->doc_ages), struct pg_doc, age));
}

/* ---- remembering ---- */

static void use(struct list *ages, struct list_node *age)
{
    if (list_is_linked(age)) list_remove(age);
    list_push_back(ages, age);
}

struct log *pg_cache_log(struct pg_store *s, struct weir_slice name)
{
    struct log *log = map_get(&s->logs, name);
    if (!log) {
        log = log_new(name, 0);
        if (!log) return NULL;
        if (map_put(&s->logs, log_name(log), log) != WEIR_OK) {
            log_free(log);
            return NULL;
        }
    }
    use(&s->log_ages, &log->node);
    return log;
}

struct pg_doc *pg_cache_doc(struct pg_store *s, struct doc_key key)
{
    char name[OVERLAY_KEY_BYTES];
    struct pg_doc *d = map_get(&s->docs, overlay_key(name, key));
    if (!d) {
        d = mem_zalloc(sizeof *d);
        if (!d) return NULL;
        d->doc = pending_doc_new(key, (struct weir_slice){0}, (struct weir_slice){0});
        if (!d->doc || map_put(&s->docs, pending_doc_key(d->doc), d) != WEIR_OK) {
            mem_free(d->doc);
            mem_free(d);
            return NULL;
        }
        s->doc_bytes += cost_of(d);
    }
    use(&s->doc_ages, &d->age);
    return d;
}

void pg_cache_set_doc(struct pg_store *s, struct pg_doc *d, struct pending_doc *doc)
{
    /* The map borrows the key from the document. */
    void *taken = map_take(&s->docs, pending_doc_key(d->doc));
    CHECK(taken == d);
    s->doc_bytes -= cost_of(d);
    mem_free(d->doc);
    d->doc = doc;
    d->is_known = true;
    d->is_believed = false;
    s->doc_bytes += cost_of(d);
    enum weir_status st = map_put(&s->docs, pending_doc_key(doc), d);
    CHECK(st == WEIR_OK); /* the place of the one just taken */
}

/* ---- fetching ---- */

static bool has_room(void *array, size_t n, size_t *cap)
{
    void **at = array;
    if (n < *cap) return true;
    size_t more = *cap > 0 ? *cap * 2 : 64;
    void *grown = mem_realloc(*at, more * sizeof(void *));
    if (!grown) return false;
    *at = grown;
    *cap = more;
    return true;
}

enum weir_status pg_wish_log(struct pg_store *s, struct log *log)
{
    struct pg_wish *w = &s->wish;
    if (!has_room(&w->logs, w->n_logs, &w->cap_logs)) return WEIR_NOMEM;
    w->logs[w->n_logs++] = log;
    return WEIR_OK;
}

enum weir_status pg_wish_doc(struct pg_store *s, struct pg_doc *d)
{
    struct pg_wish *w = &s->wish;
    if (!has_room(&w->docs, w->n_docs, &w->cap_docs)) return WEIR_NOMEM;
    w->docs[w->n_docs++] = d;
    return WEIR_OK;
}

static void send_wishes(struct pg_store *s, struct weir_slice *names)
{
    struct pg_wish *w = &s->wish;
    if (w->n_logs > 0) {
        for (size_t i = 0; i < w->n_logs; i++) names[i] = log_name(w->logs[i]);
        pg_call(s->pg, logs_sql);
        pg_bytes_array(s->pg, names, w->n_logs);
        pg_send(s->pg);
    }
    if (w->n_docs > 0) {
        for (size_t i = 0; i < w->n_docs; i++) {
            struct doc view = pending_doc_view(w->docs[i]->doc);
            names[i] = view.kind;
            names[w->n_docs + i] = view.id;
        }
        pg_call(s->pg, docs_sql);
        pg_bytes_array(s->pg, names, w->n_docs);
        pg_bytes_array(s->pg, names + w->n_docs, w->n_docs);
        pg_send(s->pg);
    }
    pg_sync(s->pg);
}

static void set_log(struct log *log, const struct pg_rows *rows, size_t row)
{
    log->id = (uint64_t)pg_get_int(rows, row, 1);
    log->last = (uint64_t)pg_get_int(rows, row, 2);
    log->is_sealed = pg_get_bool(rows, row, 3);
    log->expires_ms = pg_get_int(rows, row, 4);
    log->cluster = (unsigned char)pg_get_int(rows, row, 5);
    log->is_visible = true;
}

static WEIR_MUST_CHECK enum weir_status take_logs(struct pg_store *s)
{
    struct pg_wish *w = &s->wish;
    struct pg_rows *rows = NULL;
    enum weir_status st = pg_take(s->pg, &rows);
    if (st != WEIR_OK) return st;
    for (size_t i = 0; i < w->n_logs; i++) {
        struct log *log = w->logs[i];
        log->id = 0;
        log->last = 0;
        log->is_sealed = log->is_visible = false;
        log->is_known = true;
        log->expires_ms = INT64_MAX;
    }
    for (size_t i = 0; i < pg_n_rows(rows); i++) {
        size_t at = (size_t)pg_get_int(rows, i, 0) - 1;
        if (at < w->n_logs) set_log(w->logs[at], rows, i);
    }
    pg_rows_free(rows);
    return WEIR_OK;
}

/* The document as the database has it; what somebody believed of it may turn out to be wrong. */
static WEIR_MUST_CHECK enum weir_status set_doc(struct pg_store *s, struct pg_doc *d,
                                                int64_t version, struct weir_slice owner,
                                                struct weir_slice body)
{
    struct doc old = pending_doc_view(d->doc);
    struct pending_doc *doc = pending_doc_new((struct doc_key){old.kind, old.id}, owner, body);
    if (!doc) return WEIR_NOMEM;
    doc->version = version;
    if (d->is_known && old.version != version && list_is_linked(&d->batch)) s->is_stale = true;
    pg_cache_set_doc(s, d, doc);
    return WEIR_OK;
}

static WEIR_MUST_CHECK enum weir_status take_docs(struct pg_store *s)
{
    static const struct weir_slice none;
    struct pg_wish *w = &s->wish;
    struct pg_rows *rows = NULL;
    enum weir_status st = pg_take(s->pg, &rows);
    for (size_t i = 0; i < pg_n_rows(rows) && st == WEIR_OK; i++) {
        size_t at = (size_t)pg_get_int(rows, i, 0) - 1;
        if (at >= w->n_docs) continue;
        st = set_doc(s, w->docs[at], pg_get_int(rows, i, 1), pg_get_bytes(rows, i, 2),
                     pg_get_bytes(rows, i, 3));
        w->docs[at] = NULL;
    }
    for (size_t i = 0; i < w->n_docs && st == WEIR_OK; i++)
        if (w->docs[i]) st = set_doc(s, w->docs[i], 0, none, none);
    pg_rows_free(rows);
    return st;
}

enum weir_status pg_fetch(struct pg_store *s)
{
    struct pg_wish *w = &s->wish;
    size_t n = w->n_logs > 2 * w->n_docs ? w->n_logs : 2 * w->n_docs;
    if (n == 0) return WEIR_OK;
    struct weir_slice *names = mem_alloc(n * sizeof *names);
    enum weir_status st = names ? WEIR_OK : WEIR_NOMEM;
    if (st == WEIR_OK) {
        send_wishes(s, names);
        if (w->n_logs > 0) st = take_logs(s);
        if (w->n_docs > 0) {
            enum weir_status st_docs = take_docs(s);
            if (st == WEIR_OK) st = st_docs;
        }
    }
    mem_free(names);
    w->n_logs = w->n_docs = 0;
    return st;
}
