/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All of a store on PostgreSQL, over one connection and in one transaction, which holds locks that
 * nobody can write against. Reading goes page by page behind what was given last; a page is bounded
 * by the size of what is in it. Filling gathers rows and sends many with one statement.
 *
 * Events that are filled in go to the partition of no day: when they were made is not known.
 *
 * What is read may be on several databases (pg_clusters.h): the first one says which has a log's
 * events and how far they count, and all are locked. What is filled is one database, which others
 * can be added to.
 */
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/check.h"
#include "base/mem.h"
#include "base/slice.h"
#include "store/pg_clusters.h"
#include "store/whole_impl.h"

enum {
    ROWS = 512, /* in a page, or a statement */
    PAGE_BYTES = 8 << 20,
    BATCH_BYTES = 8 << 20,
    BATCH_LARGEST_BYTES = 64 << 20, /* with the one that was too much */
    ANSWER_MS = 30 * 60 * 1000,     /* for all of it to be durable */
    TRIES = 10,                     /* connections take a moment to be gone */
    TRY_EVERY_MS = 100,
};

/* Rows of one table, to be sent together; each has the columns it needs. */
struct batch {
    size_t n;
    int64_t a[ROWS], b[ROWS], c[ROWS], d[ROWS];
    bool flag[ROWS];
    struct weir_slice s[ROWS], t[ROWS], u[ROWS], v[ROWS];
};

/* A page and how far it was given. */
struct page {
    struct pg_rows *rows;
    size_t at;
    bool has_ended; /* there is none behind it */
};

struct whole_pg {
    struct whole whole;
    struct pg *pg;
    struct pg_clusters clusters; /* with a connection to each of the others */
    /* Reading. */
    struct page logs, events, docs;
    uint64_t events_of; /* whose events the page has; 0: nobody's */
    struct pg *log_pg;  /* who has those of the log given last */
    uint64_t log_last;
    /* Filling. */
    struct arena memory; /* what the batches point to */
    size_t n_bytes;      /* in it */
    struct batch *put_logs, *put_chunks, *put_docs;
    struct pg_words *words;
};

static struct whole_pg *on_pg(struct whole *w)
{
    return (struct whole_pg *)w;
}

static enum weir_status told(struct whole_pg *p, enum weir_status st)
{
    if (st != WEIR_OK)
        snprintf(p->whole.error.text, sizeof p->whole.error.text, "%s",
                 pg_message(p->pg)[0] != 0 ? pg_message(p->pg) : weir_status_text(st));
    return st;
}

/* ---- life ---- */

static WEIR_MUST_CHECK enum weir_status ask(struct pg *pg, const char *sql, int64_t *answer)
{
    struct pg_rows *rows = NULL;
    pg_call(pg, sql);
    enum weir_status st = pg_run(pg, &rows);
    if (st == WEIR_OK) *answer = pg_n_rows(rows) == 1 ? pg_get_int(rows, 0, 0) : 0;
    pg_rows_free(rows);
    return st;
}

static WEIR_MUST_CHECK enum weir_status begin_transaction(struct whole_pg *p)
{
    /* A lock takes no snapshot: what is read is what there is when nobody writes any more. */
    return pg_script(p->pg,
                     p->whole.is_filling
                         ? "BEGIN; SET LOCAL lock_timeout = '5s'; LOCK TABLE weir.logs, "
                           "weir.docs, weir.chunks IN EXCLUSIVE MODE"
                         : "BEGIN ISOLATION LEVEL REPEATABLE READ; SET LOCAL lock_timeout = "
                           "'5s'; LOCK TABLE weir.logs, weir.docs, weir.chunks IN SHARE MODE");
}

/* Nodes have connections, whether they do something or not. */
static WEIR_MUST_CHECK enum weir_status expect_nobody(struct pg *pg, struct store_error *error)
{
    static const char *const sql =
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
        " AND pid <> pg_backend_pid() AND application_name LIKE 'weir%'";
    int64_t n = 1;
    enum weir_status st = WEIR_OK;
    for (int i = 0; i < TRIES && n > 0 && st == WEIR_OK; i++) {
        if (i > 0) poll(NULL, 0, TRY_EVERY_MS);
        st = ask(pg, sql, &n);
    }
    if (st != WEIR_OK || n == 0) return st;
    snprintf(error->text, sizeof error->text, "it is in use: weir has %lld connections to it",
             (long long)n);
    return WEIR_LOCKED;
}

static WEIR_MUST_CHECK enum weir_status expect_store(struct whole_pg *p, struct store_error *error)
{
    int64_t is_there = 0;
    enum weir_status st =
        ask(p->pg, "SELECT (to_regclass('weir.meta') IS NOT NULL)::int::bigint", &is_there);
    if (st != WEIR_OK || is_there != 0) return st;
    snprintf(error->text, sizeof error->text, "there is no store in it");
    return WEIR_NOT_FOUND;
}

static WEIR_MUST_CHECK enum weir_status make_batches(struct whole_pg *p)
{
    p->put_logs = mem_zalloc(sizeof *p->put_logs);
    p->put_chunks = mem_zalloc(sizeof *p->put_chunks);
    p->put_docs = mem_zalloc(sizeof *p->put_docs);
    return p->put_logs && p->put_chunks && p->put_docs ? pg_words_new(&p->words) : WEIR_NOMEM;
}

static struct pg_options options_of(const char *url)
{
    return (struct pg_options){
        .url = url, .name = "weir store", .timeout_ms = ANSWER_MS, .statement_ms = ANSWER_MS};
}

/* Nobody may write to one of the others, either. Its events count as far as the first one says. */
static WEIR_MUST_CHECK enum weir_status open_other(struct pg_cluster *c, struct store_error *error)
{
    const struct pg_options options = options_of(c->url);
    enum weir_status st = pg_open(&c->pg, &options, error);
    if (st == WEIR_OK) st = expect_nobody(c->pg, error);
    if (st != WEIR_OK) return st;
    st = pg_script(c->pg, "BEGIN ISOLATION LEVEL REPEATABLE READ; SET LOCAL lock_timeout = '5s';"
                          " LOCK TABLE weir.carried, weir.chunks IN SHARE MODE");
    if (st != WEIR_OK && error->text[0] == '\0')
        snprintf(error->text, sizeof error->text, "%s", pg_message(c->pg));
    return st;
}

static WEIR_MUST_CHECK enum weir_status join(struct whole_pg *p, struct store_error *error)
{
    if (p->whole.is_filling && p->clusters.n > 1) {
        snprintf(error->text, sizeof error->text,
                 "copy to one database: others can be added to it afterwards");
        return WEIR_INVALID;
    }
    enum weir_status st = pg_clusters_join(&p->clusters, p->pg, error);
    for (size_t i = 1; i < p->clusters.n && st == WEIR_OK; i++)
        st = open_other(&p->clusters.all[i], error);
    return st;
}

static WEIR_MUST_CHECK enum weir_status open_database(struct whole_pg *p, const char *urls,
                                                      struct store_error *error)
{
    enum weir_status st = pg_clusters_init(&p->clusters, urls);
    const struct pg_options options = options_of(p->clusters.all[0].url);
    if (st == WEIR_OK) st = pg_open(&p->pg, &options, error);
    if (st != WEIR_OK) return st;
    if (!p->whole.is_filling) st = expect_store(p, error);
    if (st == WEIR_OK) st = pg_migrate(p->pg, error);
    if (st == WEIR_OK) st = expect_nobody(p->pg, error);
    if (st == WEIR_OK) st = begin_transaction(p);
    if (st == WEIR_OK) st = join(p, error);
    if (st == WEIR_CONFLICT) st = WEIR_LOCKED;
    if (st == WEIR_OK && p->whole.is_filling) st = make_batches(p);
    if (st != WEIR_OK && error->text[0] == '\0') {
        told(p, st);
        *error = p->whole.error;
    }
    return st;
}

static void close_database(struct whole *w)
{
    struct whole_pg *p = on_pg(w);
    pg_rows_free(p->logs.rows);
    pg_rows_free(p->events.rows);
    pg_rows_free(p->docs.rows);
    pg_words_free(p->words);
    mem_free(p->put_logs);
    mem_free(p->put_chunks);
    mem_free(p->put_docs);
    arena_fini(&p->memory);
    pg_close(p->pg); /* and its transaction with it */
    pg_clusters_fini(&p->clusters);
    mem_free(p);
}

/* ---- reading ---- */

static void page_fini(struct page *page)
{
    pg_rows_free(page->rows);
    *page = (struct page){0};
}

static bool has_row(const struct page *page)
{
    return page->rows && page->at < pg_n_rows(page->rows);
}

/* The page that was called for, in place of the one before. WEIR_NOT_FOUND when it is empty. */
static WEIR_MUST_CHECK enum weir_status turn_page(struct whole_pg *p, struct pg *pg,
                                                  struct page *page)
{
    struct pg_rows *rows = NULL;
    enum weir_status st = pg_run(pg, &rows);
    page_fini(page);
    page->rows = rows;
    if (st != WEIR_OK) return told(p, st);
    page->has_ended = pg_n_rows(rows) == 0;
    return page->has_ended ? WEIR_NOT_FOUND : WEIR_OK;
}

/* What the row given last has in a column; empty at first. Borrowed from the page. */
static struct weir_slice last_given(const struct page *page, int column)
{
    return page->at > 0 ? pg_get_bytes(page->rows, page->at - 1, column) : SLICE("");
}

/* Where the events of a log are that another database has begin. */
static WEIR_MUST_CHECK enum weir_status find_carried(struct whole_pg *p, unsigned cluster,
                                                     struct whole_log *log)
{
    struct pg_rows *rows = NULL;
    const struct pg_cluster *c = pg_clusters_find(&p->clusters, cluster);
    if (!c || !c->pg) return WEIR_CORRUPT;
    p->log_pg = c->pg;
    pg_call(c->pg, "SELECT coalesce(min(first), $2 + 1) FROM weir.chunks WHERE log = $1"
                   " AND first <= $2");
    pg_int(c->pg, (int64_t)log->id);
    pg_int(c->pg, (int64_t)log->last);
    enum weir_status st = pg_run(c->pg, &rows);
    if (st == WEIR_OK) log->kept_from = (uint64_t)pg_get_int(rows, 0, 0);
    pg_rows_free(rows);
    return st;
}

static enum weir_status next_log(struct whole *w, struct whole_log *out)
{
    static const char *const sql =
        "SELECT name, id, last, is_sealed, coalesce(expires_ms, 9223372036854775807), coalesce("
        "(SELECT min(first) FROM weir.chunks c WHERE c.log = l.id), last + 1), cluster::bigint"
        " FROM weir.logs l WHERE name > $1 ORDER BY name LIMIT $2";
    struct whole_pg *p = on_pg(w);
    struct page *page = &p->logs;
    if (page->has_ended) return WEIR_NOT_FOUND;
    if (!has_row(page)) {
        pg_call(p->pg, sql);
        pg_bytes(p->pg, last_given(page, 0));
        pg_int(p->pg, ROWS);
        enum weir_status st = turn_page(p, p->pg, page);
        if (st != WEIR_OK) return st;
    }
    size_t i = page->at++;
    *out = (struct whole_log){
        .name = pg_get_bytes(page->rows, i, 0),
        .id = (uint64_t)pg_get_int(page->rows, i, 1),
        .last = (uint64_t)pg_get_int(page->rows, i, 2),
        .is_sealed = pg_get_bool(page->rows, i, 3),
        .expires_ms = pg_get_int(page->rows, i, 4),
        .kept_from = (uint64_t)pg_get_int(page->rows, i, 5),
    };
    p->log_pg = p->pg;
    p->log_last = out->last;
    unsigned cluster = (unsigned)pg_get_int(page->rows, i, 6);
    return cluster == 0 ? WEIR_OK : find_carried(p, cluster, out);
}

static enum weir_status next_events(struct whole *w, uint64_t log_id, uint64_t from,
                                    struct whole_events *out)
{
    static const char *const sql =
        "SELECT first, last, bytes FROM (SELECT first, last, bytes, sum(octet_length(bytes)) OVER"
        " (ORDER BY first ROWS UNBOUNDED PRECEDING) - octet_length(bytes) AS before FROM"
        " (SELECT first, last, bytes FROM weir.chunks WHERE log = $1 AND first BETWEEN $2 AND $5"
        " ORDER BY first LIMIT $4) rows) sums WHERE before < $3 ORDER BY first";
    struct whole_pg *p = on_pg(w);
    struct page *page = &p->events;
    if (p->events_of != log_id) page_fini(page);
    p->events_of = log_id;
    if (page->has_ended) return WEIR_NOT_FOUND;
    if (!has_row(page)) {
        struct pg *pg = p->log_pg;
        pg_call(pg, sql);
        pg_int(pg, (int64_t)log_id);
        pg_int(pg, (int64_t)from);
        pg_int(pg, PAGE_BYTES);
        pg_int(pg, ROWS);
        pg_int(pg, (int64_t)p->log_last);
        enum weir_status st = turn_page(p, pg, page);
        if (st != WEIR_OK) return st;
    }
    size_t i = page->at++;
    *out = (struct whole_events){(uint64_t)pg_get_int(page->rows, i, 0),
                                 (uint64_t)pg_get_int(page->rows, i, 1),
                                 pg_get_bytes(page->rows, i, 2)};
    return WEIR_OK;
}

static enum weir_status next_doc(struct whole *w, struct doc *out)
{
    static const char *const sql =
        "SELECT kind, id, owner, version, body FROM (SELECT kind, id, owner, version, body,"
        " sum(octet_length(body)) OVER (ORDER BY kind, id ROWS UNBOUNDED PRECEDING)"
        " - octet_length(body) AS before FROM (SELECT kind, id, owner, version, body FROM weir.docs"
        " WHERE (kind, id) > ($1, $2) ORDER BY kind, id LIMIT $4) rows) sums"
        " WHERE before < $3 ORDER BY kind, id";
    struct whole_pg *p = on_pg(w);
    struct page *page = &p->docs;
    if (page->has_ended) return WEIR_NOT_FOUND;
    if (!has_row(page)) {
        pg_call(p->pg, sql);
        pg_bytes(p->pg, last_given(page, 0));
        pg_bytes(p->pg, last_given(page, 1));
        pg_int(p->pg, PAGE_BYTES);
        pg_int(p->pg, ROWS);
        enum weir_status st = turn_page(p, p->pg, page);
        if (st != WEIR_OK) return st;
    }
    size_t i = page->at++;
    *out = (struct doc){.kind = pg_get_bytes(page->rows, i, 0),
                        .id = pg_get_bytes(page->rows, i, 1),
                        .owner = pg_get_bytes(page->rows, i, 2),
                        .version = pg_get_int(page->rows, i, 3),
                        .body = pg_get_bytes(page->rows, i, 4)};
    return WEIR_OK;
}

static void rewind_all(struct whole *w)
{
    struct whole_pg *p = on_pg(w);
    page_fini(&p->logs);
    page_fini(&p->events);
    page_fini(&p->docs);
    p->events_of = 0;
}

static enum weir_status facts(struct whole *w, struct whole_facts *out)
{
    static const char *const sql =
        "SELECT greatest((SELECT last_value - (NOT is_called)::int FROM weir.log_ids),"
        " (SELECT coalesce(max(id), 0) FROM weir.logs)), (SELECT count(*) FROM weir.logs),"
        " (SELECT count(*) FROM weir.docs), (SELECT count(*) FROM weir.passages)";
    struct whole_pg *p = on_pg(w);
    struct pg_rows *rows = NULL;
    pg_call(p->pg, sql);
    enum weir_status st = pg_run(p->pg, &rows);
    if (st == WEIR_OK)
        *out = (struct whole_facts){.last_id = (uint64_t)pg_get_int(rows, 0, 0),
                                    .n_logs = (uint64_t)pg_get_int(rows, 0, 1),
                                    .n_docs = (uint64_t)pg_get_int(rows, 0, 2),
                                    .n_passages = (uint64_t)pg_get_int(rows, 0, 3)};
    pg_rows_free(rows);
    return told(p, st);
}

/* ---- filling ---- */

static void send_logs(struct pg *pg, const struct batch *b)
{
    pg_call(pg,
            "INSERT INTO weir.logs (id, last, kept_from, is_sealed, expires_ms, name)"
            " SELECT id, last, kept_from, is_sealed, nullif(expires_ms, 9223372036854775807),"
            " name FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::boolean[],"
            " $5::bigint[], $6::bytea[]) AS t(id, last, kept_from, is_sealed, expires_ms, name)");
    pg_ints(pg, b->a, b->n);
    pg_ints(pg, b->b, b->n);
    pg_ints(pg, b->c, b->n);
    pg_bools(pg, b->flag, b->n);
    pg_ints(pg, b->d, b->n);
    pg_bytes_array(pg, b->s, b->n);
    pg_send(pg);
}

static void send_chunks(struct pg *pg, const struct batch *b)
{
    pg_call(pg, "INSERT INTO weir.chunks_kept (log, first, last, made, bytes)"
                " SELECT log, first, last, DATE '1999-12-31', bytes FROM unnest($1::bigint[],"
                " $2::bigint[], $3::bigint[], $4::bytea[]) AS t(log, first, last, bytes)");
    pg_ints(pg, b->a, b->n);
    pg_ints(pg, b->b, b->n);
    pg_ints(pg, b->c, b->n);
    pg_bytes_array(pg, b->s, b->n);
    pg_send(pg);
}

static void send_docs(struct pg *pg, const struct batch *b)
{
    pg_call(pg, "INSERT INTO weir.docs (version, kind, id, owner, body) SELECT * FROM"
                " unnest($1::bigint[], $2::bytea[], $3::bytea[], $4::bytea[], $5::bytea[])");
    pg_ints(pg, b->a, b->n);
    pg_bytes_array(pg, b->s, b->n);
    pg_bytes_array(pg, b->t, b->n);
    pg_bytes_array(pg, b->u, b->n);
    pg_bytes_array(pg, b->v, b->n);
    pg_send(pg);
}

static WEIR_MUST_CHECK enum weir_status flush(struct whole_pg *p)
{
    if (p->put_logs->n > 0) send_logs(p->pg, p->put_logs);
    if (p->put_chunks->n > 0) send_chunks(p->pg, p->put_chunks);
    if (p->put_docs->n > 0) send_docs(p->pg, p->put_docs);
    pg_words_send(p->words, p->pg);
    /* Of a store with nothing in it nothing was sent, and the end of nothing is never taken. */
    if (pg_n_pending(p->pg) > 0) pg_sync(p->pg);
    enum weir_status st = pg_take_all(p->pg);
    p->put_logs->n = p->put_chunks->n = p->put_docs->n = 0;
    pg_words_reset(p->words);
    arena_reset(&p->memory);
    p->n_bytes = 0;
    return told(p, st);
}

/* Room for one more row of so many bytes. */
static WEIR_MUST_CHECK enum weir_status make_room(struct whole_pg *p, const struct batch *b,
                                                  size_t n_bytes)
{
    bool is_full = b->n == ROWS || p->n_bytes + n_bytes > BATCH_BYTES;
    return is_full ? flush(p) : WEIR_OK;
}

static struct weir_slice keep(struct whole_pg *p, struct weir_slice s)
{
    char *bytes = arena_alloc(&p->memory, s.len + 1);
    if (!bytes) return (struct weir_slice){0};
    if (s.len > 0) memcpy(bytes, s.ptr, s.len);
    p->n_bytes += s.len;
    return slice_of(bytes, s.len);
}

static enum weir_status put_log(struct whole *w, const struct whole_log *log)
{
    struct whole_pg *p = on_pg(w);
    struct batch *b = p->put_logs;
    enum weir_status st = make_room(p, b, log->name.len);
    if (st != WEIR_OK) return st;
    b->a[b->n] = (int64_t)log->id;
    b->b[b->n] = (int64_t)log->last;
    b->c[b->n] = (int64_t)log->kept_from;
    b->d[b->n] = log->expires_ms;
    b->flag[b->n] = log->is_sealed;
    b->s[b->n] = keep(p, log->name);
    return b->s[b->n++].ptr ? WEIR_OK : WEIR_NOMEM;
}

static enum weir_status put_events(struct whole *w, uint64_t log_id, const struct whole_events *e)
{
    struct whole_pg *p = on_pg(w);
    struct batch *b = p->put_chunks;
    enum weir_status st = make_room(p, b, e->bytes.len);
    if (st != WEIR_OK) return st;
    b->a[b->n] = (int64_t)log_id;
    b->b[b->n] = (int64_t)e->first;
    b->c[b->n] = (int64_t)e->last;
    b->s[b->n] = keep(p, e->bytes);
    return b->s[b->n++].ptr ? WEIR_OK : WEIR_NOMEM;
}

static enum weir_status put_doc(struct whole *w, const struct doc *doc)
{
    struct whole_pg *p = on_pg(w);
    struct batch *b = p->put_docs;
    enum weir_status st = make_room(p, b, doc->body.len);
    if (st == WEIR_OK && slice_eq(doc->kind, passage_key(SLICE("")).kind))
        st = pg_words_put(p->words, doc);
    if (st != WEIR_OK) return st;
    b->a[b->n] = doc->version;
    b->s[b->n] = keep(p, doc->kind);
    b->t[b->n] = keep(p, doc->id);
    b->u[b->n] = keep(p, doc->owner);
    b->v[b->n] = keep(p, doc->body);
    bool is_kept = b->s[b->n].ptr && b->t[b->n].ptr && b->u[b->n].ptr && b->v[b->n].ptr;
    b->n++;
    return is_kept ? WEIR_OK : WEIR_NOMEM;
}

/* No log gets an id again. It is no part of the transaction, and does no harm without it. */
static WEIR_MUST_CHECK enum weir_status raise_ids(struct whole_pg *p, uint64_t last_id)
{
    if (last_id == 0) return WEIR_OK;
    pg_call(p->pg, "SELECT setval('weir.log_ids', $1)");
    pg_int(p->pg, (int64_t)last_id);
    return pg_run(p->pg, NULL);
}

static enum weir_status fill_end(struct whole *w, uint64_t last_id)
{
    struct whole_pg *p = on_pg(w);
    enum weir_status st = flush(p);
    if (st == WEIR_OK) st = told(p, raise_ids(p, last_id));
    if (st == WEIR_OK) st = told(p, pg_script(p->pg, "COMMIT"));
    if (st != WEIR_OK) return st;
    /* Or the planner knows nothing of it until autovacuum comes by. */
    st = pg_script(p->pg, "ANALYZE weir.logs, weir.chunks_kept, weir.docs, weir.passages, "
                          "weir.words");
    w->is_filling = false;
    return st == WEIR_OK ? told(p, begin_transaction(p)) : told(p, st);
}

static const struct whole_engine engine = {
    .close = close_database,
    .next_log = next_log,
    .next_events = next_events,
    .next_doc = next_doc,
    .rewind = rewind_all,
    .facts = facts,
    .put_log = put_log,
    .put_events = put_events,
    .put_doc = put_doc,
    .fill_end = fill_end,
};

enum weir_status whole_pg_open(struct whole **out, const char *url, enum whole_use use,
                               struct store_error *error)
{
    struct whole_pg *p = mem_zalloc(sizeof *p);
    *out = NULL;
    if (!p) return WEIR_NOMEM;
    p->whole = (struct whole){.engine = &engine, .is_filling = use == WHOLE_FILL};
    arena_init(&p->memory, BATCH_LARGEST_BYTES);
    *out = &p->whole;
    return open_database(p, url, error);
}
