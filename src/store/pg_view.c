/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the committer sees on PostgreSQL: the batch, then what is remembered, then the database.
 * All that was looked at is what the batch rests on: logs in `ahead.logs`, documents in
 * `batch_docs`. A version that somebody expects is believed, for it is compared anyway.
 */
#include "base/check.h"
#include "base/mem.h"
#include "base/slice.h"
#include "store/pg_impl.h"

static const char ids_sql[] = "SELECT nextval('weir.log_ids') FROM generate_series(1, $1::bigint)";

static struct pg_store *of_ahead(struct ahead *a)
{
    return CONTAINER_OF(a, struct pg_store, ahead);
}

/* Fetches what is wished for. What goes wrong is the batch's trouble, not that of one commit. */
static WEIR_MUST_CHECK enum weir_status look(struct pg_store *s)
{
    enum weir_status st = s->trouble == WEIR_OK ? pg_fetch(s) : s->trouble;
    if (st != WEIR_OK) s->trouble = st;
    return st;
}

/* ---- logs ---- */

static WEIR_MUST_CHECK enum weir_status take_id(struct pg_store *s, struct pg_ids *ids,
                                                uint64_t *id)
{
    struct pg_rows *rows = NULL;
    enum weir_status st = s->trouble;
    if (ids->n == 0 && st == WEIR_OK) {
        pg_call(s->pg, ids_sql);
        pg_int(s->pg, PG_IDS);
        st = pg_run(s->pg, &rows);
        for (size_t i = pg_n_rows(rows); i > 0 && ids->n < PG_IDS; i--)
            ids->all[ids->n++] = pg_get_int(rows, i - 1, 0);
        pg_rows_free(rows);
        s->trouble = st;
    }
    if (st == WEIR_OK) *id = (uint64_t)ids->all[--ids->n];
    return st;
}

/* What is left is used by later batches: lives of a document differ, that is all. */
static enum weir_status next_id(struct ahead *a, uint64_t *id)
{
    struct pg_store *s = of_ahead(a);
    return take_id(s, &s->life_ids, id);
}

/*
 * It is about to get events. One that is not there yet is put where there is room; of one that is
 * where nobody can write now, only those commits fail that want to.
 */
static WEIR_MUST_CHECK enum weir_status make_ready(struct pg_store *s, struct log *log)
{
    enum weir_status st = log->id == 0 ? take_id(s, &s->log_ids, &log->id) : WEIR_OK;
    if (st != WEIR_OK) return st;
    if (!log->is_visible && log->next_dropped)
        log->cluster = (unsigned char)pg_clusters_place(&s->clusters, log->id);
    const struct pg_cluster *c = pg_clusters_find(&s->clusters, log->cluster);
    return c && !atomic_load(&c->is_away) ? WEIR_OK : WEIR_STORAGE;
}

static enum weir_status find_log(struct ahead *a, struct weir_slice name, enum log_wanted wanted,
                                 struct log **out)
{
    struct pg_store *s = of_ahead(a);
    enum weir_status st = WEIR_OK;
    if (name.len == 0 || name.len > STORE_NAME_BYTES) return WEIR_NOT_FOUND;
    struct log *log = pg_cache_log(s, name);
    if (!log) return WEIR_NOMEM;
    if (!log->is_known) {
        st = pg_wish_log(s, log);
        if (st == WEIR_OK) st = look(s);
        if (st != WEIR_OK) return st;
    }
    if (!list_is_linked(&log->batch) && !log->is_visible) s->n_batch_keys++;
    ahead_join(a, log);
    *out = log;
    if (wanted == LOG_MAYBE) return make_ready(s, log);
    bool is_gone = log->next_dropped || (wanted == LOG_LIVE && log->expires_ms <= pg_now_ms(s));
    return is_gone ? WEIR_NOT_FOUND : WEIR_OK;
}

enum weir_status pg_view_log(struct store *store, struct weir_slice log, struct log_state *out)
{
    enum weir_status st = ahead_log(&pg_store_of(store)->ahead, log, out);
    return st == WEIR_NOT_FOUND ? WEIR_OK : st;
}

/* ---- documents ---- */

static void join(struct pg_store *s, struct pg_doc *d)
{
    if (list_is_linked(&d->batch)) return;
    list_push_back(&s->batch_docs, &d->batch);
    s->n_batch_docs++;
    s->n_batch_keys++;
}

static WEIR_MUST_CHECK enum weir_status look_at(struct pg_store *s, struct pg_doc *d)
{
    enum weir_status st = pg_wish_doc(s, d);
    return st == WEIR_OK ? look(s) : st;
}

static enum weir_status doc_version(struct ahead *a, struct doc_key key, int64_t expected,
                                    int64_t *version)
{
    struct pg_store *s = of_ahead(a);
    enum weir_status st = WEIR_OK;
    struct pg_doc *d = pg_cache_doc(s, key);
    if (!d) return WEIR_NOMEM;
    bool may_believe = expected != DOC_ANY_VERSION;
    if (!d->is_known && may_believe) {
        d->doc->version = expected;
        d->is_known = d->is_believed = true;
    } else if (!d->is_known || (d->is_believed && may_believe && d->doc->version != expected)) {
        st = look_at(s, d);
    }
    join(s, d);
    *version = d->doc->version;
    return st;
}

/* What is shown stays: nothing of the batch or of what is known changes while somebody decides. */
enum weir_status pg_view_doc(struct store *store, struct doc_key key, struct doc *out)
{
    struct pg_store *s = pg_store_of(store);
    char name[OVERLAY_KEY_BYTES];
    enum weir_status st = WEIR_OK;
    if (key.kind.len == 0 || key.id.len == 0) return WEIR_NOT_FOUND;
    const struct pending_doc *doc = map_get(&s->ahead.docs, overlay_key(name, key));
    if (!doc) {
        struct pg_doc *d = pg_cache_doc(s, key);
        if (!d) return WEIR_NOMEM;
        if (!d->is_known || d->is_believed) st = look_at(s, d);
        join(s, d);
        if (st != WEIR_OK) return st;
        doc = d->doc;
    }
    if (doc->is_removed || doc->version == 0) return WEIR_NOT_FOUND;
    s->viewed += pending_doc_bytes(doc);
    if (s->viewed > PG_VIEW_BYTES) return WEIR_LIMIT;
    *out = pending_doc_view(doc);
    return WEIR_OK;
}

/* ---- commits ---- */

static enum weir_status call_decide(struct ahead *a, struct commit *c)
{
    struct pg_store *s = of_ahead(a);
    if (!c->decide) return WEIR_OK;
    struct commit_view view = {&s->store};
    s->viewed = 0;
    enum weir_status st = c->decide(c->decider, &view, c);
    if (st == WEIR_OK) st = c->status;
    if (st == WEIR_OK && c->len > s->options.segment_bytes / 2) st = WEIR_LIMIT;
    return st;
}

static int64_t now_ms(struct ahead *a)
{
    return pg_now_ms(of_ahead(a));
}

const struct ahead_ways pg_ways = {
    .find_log = find_log,
    .doc_version = doc_version,
    .next_id = next_id,
    .call_decide = call_decide,
    .now_ms = now_ms,
};

static WEIR_MUST_CHECK enum weir_status wish_op(struct pg_store *s, struct op *op)
{
    if (op->kind != OP_PUT && op->kind != OP_REMOVE) {
        struct log *log = pg_cache_log(s, op_log(op));
        if (!log) return WEIR_NOMEM;
        return log->is_known ? WEIR_OK : pg_wish_log(s, log);
    }
    if (op->number != DOC_ANY_VERSION) return WEIR_OK; /* it is believed */
    struct pg_doc *d = pg_cache_doc(s, op_key(op));
    if (!d) return WEIR_NOMEM;
    return d->is_known ? WEIR_OK : pg_wish_doc(s, d);
}

enum weir_status pg_view_prefetch(struct pg_store *s, struct commit *commits)
{
    enum weir_status st = WEIR_OK;
    for (struct commit *c = commits; c && st == WEIR_OK; c = c->next)
        for (struct op *op = commit_first(c); op && st == WEIR_OK; op = commit_next(c, op))
            st = wish_op(s, op);
    if (st == WEIR_OK) return pg_fetch(s);
    s->wish.n_logs = s->wish.n_docs = 0;
    return st;
}

/* ---- the end of a batch ---- */

/* Without memory to wish for it, it is fetched when somebody looks. */
static void doubt(struct pg_store *s)
{
    for (struct list_node *n = list_first(&s->ahead.logs); n; n = list_next(&s->ahead.logs, n)) {
        struct log *log = CONTAINER_OF(n, struct log, batch);
        log->is_known = false;
        enum weir_status st = pg_wish_log(s, log);
        (void)st;
    }
    for (struct list_node *n = list_first(&s->batch_docs); n; n = list_next(&s->batch_docs, n)) {
        struct pg_doc *d = CONTAINER_OF(n, struct pg_doc, batch);
        d->is_known = d->is_believed = false;
        enum weir_status st = pg_wish_doc(s, d);
        (void)st;
    }
}

void pg_view_end(struct pg_store *s)
{
    for (struct list_node *n; (n = list_pop_front(&s->batch_docs));) {
        struct pg_doc *d = CONTAINER_OF(n, struct pg_doc, batch);
        if (d->is_believed) d->is_known = d->is_believed = false;
    }
    s->n_batch_docs = s->n_batch_keys = 0;
    s->log_ids.n = 0; /* of logs with the same name the later one has the greater id */
}

void pg_view_roll_back(struct pg_store *s, bool is_stale)
{
    if (is_stale) doubt(s);
    for (struct list_node *n = list_first(&s->ahead.logs); n; n = list_next(&s->ahead.logs, n)) {
        struct log *log = CONTAINER_OF(n, struct log, batch);
        if (!log->is_visible) log->id = 0;
    }
    pg_view_end(s);
    ahead_roll_back(&s->ahead);
}
