/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A batch as the statements of one transaction, sent at once: who we are, locks, comparisons,
 * logs, events, documents, words. What is not as it was seen raises WR001 by weir.stale(), and
 * nothing happens. Rows go as columns: one array for each, whatever their number.
 *
 * The session's settings (pg_link.c) leave the planner nothing but to go through the arrays in
 * their order and look each row up by its key. So rows are locked in the order of the arrays.
 */
#include <stdlib.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/slice.h"
#include "store/pg_impl.h"

#define NEVER "9223372036854775807"

static const char writer_sql[] = "WITH done AS (UPDATE weir.writers SET batch = $2, seen = now()"
                                 " WHERE id = $1 AND batch = $2 - 1 RETURNING 1)"
                                 " SELECT weir.stale() WHERE NOT EXISTS (SELECT FROM done)";

static const char turn_sql[] = "SELECT pg_advisory_xact_lock_shared($1::int, $2::int)::text";

static const char locks_sql[] =
    "SELECT count(CASE WHEN w.is_ours THEN pg_advisory_xact_lock(w.key)::text"
    " ELSE pg_advisory_xact_lock_shared(w.key)::text END)"
    " FROM unnest($1::bigint[], $2::boolean[]) AS w(key, is_ours)";

static const char same_docs_sql[] =
    "SELECT weir.stale() FROM unnest($1::bytea[], $2::bytea[], $3::bigint[])"
    " AS w(kind, id, version) LEFT JOIN weir.docs d ON d.kind = w.kind AND d.id = w.id"
    " WHERE coalesce(d.version, 0) <> w.version LIMIT 1";

static const char same_logs_sql[] =
    "SELECT weir.stale() WHERE $4::bigint <> (SELECT count(*) FROM (SELECT 1"
    " FROM unnest($1::bigint[], $2::bigint[], $3::boolean[]) AS w(id, last, is_sealed)"
    " JOIN weir.logs l ON l.id = w.id"
    " WHERE l.last = w.last AND l.is_sealed = w.is_sealed FOR SHARE OF l) same)";

static const char no_logs_sql[] = "SELECT weir.stale() FROM unnest($1::bytea[]) AS w(name)"
                                  " JOIN weir.logs l ON l.name = w.name LIMIT 1";

/* Whoever takes a database away relies on it: none is made where it is not open any more. */
static const char make_logs_sql[] =
    "INSERT INTO weir.logs (id, name, last, is_sealed, expires_ms, cluster)"
    " SELECT w.id, w.name, w.last, w.is_sealed, nullif(w.expires, " NEVER "),"
    " CASE WHEN w.cluster = 0 OR EXISTS (SELECT FROM weir.clusters c WHERE c.number = w.cluster"
    " AND c.is_open) THEN w.cluster ELSE weir.stale() END"
    " FROM unnest($1::bigint[], $2::bytea[], $3::bigint[], $4::boolean[], $5::bigint[],"
    " $6::bigint[]) AS w(id, name, last, is_sealed, expires, cluster)";

static const char append_sql[] =
    "WITH done AS (UPDATE weir.logs l SET last = w.last"
    " FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS w(id, before, last)"
    " WHERE l.id = w.id AND l.last = w.before AND NOT l.is_sealed RETURNING 1)"
    " SELECT weir.stale() WHERE (SELECT count(*) FROM done) <> $4::bigint";

static const char seal_sql[] =
    "WITH done AS (UPDATE weir.logs l SET last = w.last, is_sealed = true,"
    " expires_ms = nullif(w.expires, " NEVER ")"
    " FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[])"
    " AS w(id, before, last, expires)"
    " WHERE l.id = w.id AND l.last = w.before AND NOT l.is_sealed RETURNING 1)"
    " SELECT weir.stale() WHERE (SELECT count(*) FROM done) <> $5::bigint";

static const char drop_logs_sql[] =
    "WITH done AS (DELETE FROM weir.logs l"
    " USING unnest($1::bigint[], $2::bigint[], $3::boolean[]) AS w(id, last, is_sealed)"
    " WHERE l.id = w.id AND l.last = w.last AND l.is_sealed = w.is_sealed RETURNING 1)"
    " SELECT weir.stale() WHERE (SELECT count(*) FROM done) <> $4::bigint";

static const char events_sql[] =
    "INSERT INTO weir.chunks (log, first, last, bytes)"
    " SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bytea[])";

static const char make_docs_sql[] =
    "INSERT INTO weir.docs (kind, id, owner, body, version)"
    " SELECT * FROM unnest($1::bytea[], $2::bytea[], $3::bytea[], $4::bytea[], $5::bigint[])";

static const char put_docs_sql[] =
    "WITH done AS (UPDATE weir.docs d SET owner = w.owner, body = w.body, version = w.version"
    " FROM unnest($1::bytea[], $2::bytea[], $3::bytea[], $4::bytea[], $5::bigint[], $6::bigint[])"
    " AS w(kind, id, owner, body, version, before)"
    " WHERE d.kind = w.kind AND d.id = w.id AND d.version = w.before RETURNING 1)"
    " SELECT weir.stale() WHERE (SELECT count(*) FROM done) <> $7::bigint";

static const char remove_docs_sql[] =
    "WITH done AS (DELETE FROM weir.docs d"
    " USING unnest($1::bytea[], $2::bytea[], $3::bigint[]) AS w(kind, id, before)"
    " WHERE d.kind = w.kind AND d.id = w.id AND d.version = w.before RETURNING 1)"
    " SELECT weir.stale() WHERE (SELECT count(*) FROM done) <> $4::bigint";

/* ---- columns ---- */

enum { N_INTS = 5, N_SLICES = 4 };

struct key {
    int64_t hash;
    bool is_ours; /* not shared */
};

/* A document that the batch has looked at: what it was, and what becomes of it. */
struct doc_change {
    const struct pg_doc *was;
    const struct pending_doc *is; /* NULL: as it was */
};

struct pg_columns {
    size_t cap; /* rows that fit */
    size_t n;   /* rows of the statement that is being made */
    int64_t *ints[N_INTS];
    struct weir_slice *slices[N_SLICES];
    bool *bools;
    /* What the batch has, in order. */
    struct log **logs;
    size_t n_logs;
    struct doc_change *docs;
    size_t n_docs;
    struct key *keys;
    size_t n_keys;
};

enum weir_status pg_columns_new(struct pg_columns **out)
{
    *out = mem_zalloc(sizeof **out);
    return *out ? WEIR_OK : WEIR_NOMEM;
}

static void free_all(struct pg_columns *c)
{
    for (int i = 0; i < N_INTS; i++) mem_free(c->ints[i]);
    for (int i = 0; i < N_SLICES; i++) mem_free(c->slices[i]);
    mem_free(c->bools);
    mem_free(c->logs);
    mem_free(c->docs);
    mem_free(c->keys);
    *c = (struct pg_columns){0};
}

void pg_columns_free(struct pg_columns *c)
{
    if (!c) return;
    free_all(c);
    mem_free(c);
}

static WEIR_MUST_CHECK enum weir_status reserve(struct pg_columns *c, size_t n)
{
    if (n <= c->cap) return WEIR_OK;
    free_all(c);
    n *= 2;
    bool is_there = true;
    for (int i = 0; i < N_INTS; i++) is_there &= (c->ints[i] = mem_alloc(n * 8)) != NULL;
    for (int i = 0; i < N_SLICES; i++)
        is_there &= (c->slices[i] = mem_alloc(n * sizeof(struct weir_slice))) != NULL;
    c->bools = mem_alloc(n * sizeof *c->bools);
    c->logs = mem_alloc(n * sizeof(struct log *));
    c->docs = mem_alloc(n * sizeof *c->docs);
    c->keys = mem_alloc(n * sizeof *c->keys);
    is_there &= c->bools && c->logs && c->docs && c->keys;
    if (is_there) c->cap = n;
    else free_all(c);
    return is_there ? WEIR_OK : WEIR_NOMEM;
}

/* ---- what the batch has ---- */

/* The same on every node: no key of a process's own. */
static void add_key(struct pg_columns *c, struct weir_slice name, bool is_log, bool is_ours)
{
    struct hash_key seed = {is_log ? 0x77656972206c6f67 : 0x7765697220646f63, 0};
    c->keys[c->n_keys++] = (struct key){(int64_t)hash_bytes(seed, name), is_ours};
}

static int by_hash(const void *a, const void *b)
{
    const struct key *x = a;
    const struct key *y = b;
    if (x->hash != y->hash) return x->hash < y->hash ? -1 : 1;
    return (int)y->is_ours - (int)x->is_ours; /* of two that are one, the stronger counts */
}

static int by_id(const void *a, const void *b)
{
    const struct log *const *x = a;
    const struct log *const *y = b;
    if ((*x)->id != (*y)->id) return (*x)->id < (*y)->id ? -1 : 1;
    return 0;
}

static bool is_changed(const struct doc_change *d)
{
    /* Made and removed within the batch: it was not there and is not. */
    return d->is && !(d->is->is_removed && d->was->doc->version == 0);
}

static WEIR_MUST_CHECK enum weir_status gather(struct pg_store *s)
{
    struct pg_columns *c = s->columns;
    size_t n_logs = 0;
    for (struct list_node *n = list_first(&s->ahead.logs); n; n = list_next(&s->ahead.logs, n))
        n_logs++;
    enum weir_status st = reserve(c, n_logs + s->n_batch_docs);
    if (st != WEIR_OK) return st;
    c->n_logs = c->n_docs = c->n_keys = 0;
    for (struct list_node *n = list_first(&s->ahead.logs); n; n = list_next(&s->ahead.logs, n)) {
        struct log *log = CONTAINER_OF(n, struct log, batch);
        c->logs[c->n_logs++] = log;
        if (!log->is_visible) add_key(c, log_name(log), true, !log->next_dropped);
    }
    for (struct list_node *n = list_first(&s->batch_docs); n; n = list_next(&s->batch_docs, n)) {
        struct pg_doc *d = CONTAINER_OF(n, struct pg_doc, batch);
        struct weir_slice key = pending_doc_key(d->doc);
        struct doc_change change = {d, map_get(&s->ahead.docs, key)};
        c->docs[c->n_docs++] = change;
        add_key(c, key, false, is_changed(&change));
    }
    if (c->n_logs > 1) qsort(c->logs, c->n_logs, sizeof(struct log *), by_id);
    if (c->n_keys > 1) qsort(c->keys, c->n_keys, sizeof *c->keys, by_hash);
    return WEIR_OK;
}

/* ---- statements about logs ---- */

enum log_fate { FATE_ABSENT, FATE_SAME, FATE_MADE, FATE_DROPPED, FATE_SEALED, FATE_APPENDED };

static enum log_fate fate_of(const struct log *log)
{
    if (!log->is_visible) return log->next_dropped ? FATE_ABSENT : FATE_MADE;
    if (log->next_dropped) return FATE_DROPPED;
    if (log->next_sealed != log->is_sealed) return FATE_SEALED;
    return log->chunk ? FATE_APPENDED : FATE_SAME;
}

static uint64_t last_of(const struct log *log)
{
    return log->chunk ? log->chunk->last : log->last;
}

/* A row for each log of that fate; false when there is none. */
static bool pick_logs(struct pg_columns *c, enum log_fate fate)
{
    c->n = 0;
    for (size_t i = 0; i < c->n_logs; i++) {
        const struct log *log = c->logs[i];
        if (fate_of(log) != fate) continue;
        c->ints[0][c->n] = (int64_t)log->id;
        c->ints[1][c->n] = (int64_t)log->last;
        c->ints[2][c->n] = (int64_t)last_of(log);
        c->ints[3][c->n] = log->next_expires_ms;
        c->ints[4][c->n] = log->cluster;
        c->slices[0][c->n] = log_name(log);
        c->bools[c->n] = fate == FATE_MADE ? log->next_sealed : log->is_sealed;
        c->n++;
    }
    return c->n > 0;
}

static void send_int_columns(struct pg *pg, const struct pg_columns *c, int n)
{
    for (int i = 0; i < n; i++) pg_ints(pg, c->ints[i], c->n);
}

/* With the number of rows that have to be found. */
static void send_counted(struct pg *pg, const struct pg_columns *c)
{
    pg_int(pg, (int64_t)c->n);
    pg_send(pg);
}

static void send_same_logs(struct pg *pg, const struct pg_columns *c, const char *sql)
{
    pg_call(pg, sql);
    send_int_columns(pg, c, 2);
    pg_bools(pg, c->bools, c->n);
    send_counted(pg, c);
}

static void send_made_logs(struct pg *pg, const struct pg_columns *c)
{
    pg_call(pg, make_logs_sql);
    pg_ints(pg, c->ints[0], c->n);
    pg_bytes_array(pg, c->slices[0], c->n);
    pg_ints(pg, c->ints[2], c->n);
    pg_bools(pg, c->bools, c->n);
    pg_ints(pg, c->ints[3], c->n);
    pg_ints(pg, c->ints[4], c->n);
    pg_send(pg);
}

/* New events of logs that are on that database. */
static bool pick_chunks(struct pg_columns *c, unsigned cluster)
{
    c->n = 0;
    for (size_t i = 0; i < c->n_logs; i++) {
        const struct log *log = c->logs[i];
        if (!log->chunk || log->cluster != cluster) continue;
        c->ints[0][c->n] = (int64_t)log->id;
        c->ints[1][c->n] = (int64_t)log->chunk->first;
        c->ints[2][c->n] = (int64_t)log->chunk->last;
        c->slices[0][c->n++] = slice_of(log->chunk->bytes, log->chunk->len);
    }
    return c->n > 0;
}

static void compare_logs(struct pg *pg, struct pg_columns *c)
{
    if (pick_logs(c, FATE_ABSENT)) {
        pg_call(pg, no_logs_sql);
        pg_bytes_array(pg, c->slices[0], c->n);
        pg_send(pg);
    }
    if (pick_logs(c, FATE_SAME)) send_same_logs(pg, c, same_logs_sql);
}

static void change_logs(struct pg *pg, struct pg_columns *c)
{
    if (pick_logs(c, FATE_MADE)) send_made_logs(pg, c);
    if (pick_logs(c, FATE_APPENDED)) {
        pg_call(pg, append_sql);
        send_int_columns(pg, c, 3);
        send_counted(pg, c);
    }
    if (pick_logs(c, FATE_SEALED)) {
        pg_call(pg, seal_sql);
        send_int_columns(pg, c, 4);
        send_counted(pg, c);
    }
    if (pick_logs(c, FATE_DROPPED)) send_same_logs(pg, c, drop_logs_sql);
    if (pick_chunks(c, 0)) {
        pg_call(pg, events_sql);
        send_int_columns(pg, c, 3);
        pg_bytes_array(pg, c->slices[0], c->n);
        pg_send(pg);
    }
}

/* ---- statements about documents ---- */

enum doc_fate { DOC_SAME, DOC_MADE, DOC_PUT, DOC_REMOVED };

static enum doc_fate doc_fate_of(const struct doc_change *d)
{
    if (!is_changed(d)) return DOC_SAME;
    if (d->is->is_removed) return DOC_REMOVED;
    return d->was->doc->version == 0 ? DOC_MADE : DOC_PUT;
}

static bool pick_docs(struct pg_columns *c, enum doc_fate fate)
{
    c->n = 0;
    for (size_t i = 0; i < c->n_docs; i++) {
        const struct doc_change *d = &c->docs[i];
        if (doc_fate_of(d) != fate) continue;
        struct doc view = pending_doc_view(d->is ? d->is : d->was->doc);
        c->slices[0][c->n] = view.kind;
        c->slices[1][c->n] = view.id;
        c->slices[2][c->n] = view.owner;
        c->slices[3][c->n] = view.body;
        c->ints[0][c->n] = view.version;
        c->ints[1][c->n] = d->was->doc->version;
        c->n++;
    }
    return c->n > 0;
}

static void send_slice_columns(struct pg *pg, const struct pg_columns *c, int n)
{
    for (int i = 0; i < n; i++) pg_bytes_array(pg, c->slices[i], c->n);
}

static void compare_docs(struct pg *pg, struct pg_columns *c)
{
    if (!pick_docs(c, DOC_SAME)) return;
    pg_call(pg, same_docs_sql);
    send_slice_columns(pg, c, 2);
    pg_ints(pg, c->ints[1], c->n);
    pg_send(pg);
}

static void change_docs(struct pg *pg, struct pg_columns *c)
{
    if (pick_docs(c, DOC_MADE)) {
        pg_call(pg, make_docs_sql);
        send_slice_columns(pg, c, 4);
        pg_ints(pg, c->ints[0], c->n);
        pg_send(pg);
    }
    if (pick_docs(c, DOC_PUT)) {
        pg_call(pg, put_docs_sql);
        send_slice_columns(pg, c, 4);
        send_int_columns(pg, c, 2);
        send_counted(pg, c);
    }
    if (pick_docs(c, DOC_REMOVED)) {
        pg_call(pg, remove_docs_sql);
        send_slice_columns(pg, c, 2);
        pg_ints(pg, c->ints[1], c->n);
        send_counted(pg, c);
    }
}

/* Passages are found by their words, which change with them. */
static WEIR_MUST_CHECK enum weir_status change_words(struct pg_store *s)
{
    struct weir_slice kind = passage_key((struct weir_slice){0}).kind;
    const struct pg_columns *c = s->columns;
    enum weir_status st = WEIR_OK;
    pg_words_reset(s->words);
    for (size_t i = 0; i < c->n_docs && st == WEIR_OK; i++) {
        const struct doc_change *d = &c->docs[i];
        if (!is_changed(d)) continue;
        struct doc view = pending_doc_view(d->is);
        if (!slice_eq(view.kind, kind)) continue;
        st = d->is->is_removed ? pg_words_remove(s->words, view.id) : pg_words_put(s->words, &view);
    }
    return st;
}

/* ---- all of it ---- */

static void send_locks(struct pg *pg, struct pg_columns *c)
{
    c->n = 0;
    for (size_t i = 0; i < c->n_keys; i++) {
        if (i > 0 && c->keys[i].hash == c->keys[i - 1].hash) continue;
        c->ints[0][c->n] = c->keys[i].hash;
        c->bools[c->n++] = c->keys[i].is_ours;
    }
    if (c->n == 0) return;
    pg_call(pg, locks_sql);
    pg_ints(pg, c->ints[0], c->n);
    pg_bools(pg, c->bools, c->n);
    pg_send(pg);
}

static bool writes(const struct pg_columns *c)
{
    for (size_t i = 0; i < c->n_logs; i++)
        if (fate_of(c->logs[i]) > FATE_SAME) return true;
    for (size_t i = 0; i < c->n_docs; i++)
        if (is_changed(&c->docs[i])) return true;
    return false;
}

static void send_writer(struct pg_store *s, uint64_t number)
{
    pg_call(s->pg, writer_sql);
    pg_text(s->pg, weir_slice_of(s->writer));
    pg_int(s->pg, (int64_t)number);
    pg_send(s->pg);
}

/* Everything but the end of the transaction. */
static void send_changes(struct pg_store *s, bool is_locked)
{
    struct pg *pg = s->pg;
    struct pg_columns *c = s->columns;
    if (!is_locked) {
        pg_call(pg, turn_sql);
        pg_int(pg, PG_LOCKS);
        pg_int(pg, PG_LOCK_TURN);
        pg_send(pg);
        send_locks(pg, c);
    }
    compare_docs(pg, c);
    compare_logs(pg, c);
    change_logs(pg, c);
    change_docs(pg, c);
    pg_words_send(s->words, pg);
}

static void send_text(struct pg *pg, const char *sql)
{
    pg_call(pg, sql);
    pg_send(pg);
}

/* ---- events on other databases ---- */

static bool has_carried(const struct pg_columns *c)
{
    for (size_t i = 0; i < c->n_logs; i++)
        if (c->logs[i]->chunk && c->logs[i]->cluster != 0) return true;
    return false;
}

/* The answers to all that was sent; that of the last one is a number. */
static WEIR_MUST_CHECK enum weir_status take_number(struct pg *pg, int64_t *number)
{
    struct pg_rows *rows = NULL;
    enum weir_status all = WEIR_OK;
    while (pg_n_pending(pg) > 1) {
        enum weir_status st = pg_take(pg, NULL);
        if (all == WEIR_OK) all = st;
    }
    enum weir_status st = pg_take(pg, &rows);
    if (st == WEIR_OK && pg_n_rows(rows) == 1) *number = pg_get_int(rows, 0, 0);
    pg_rows_free(rows);
    return all == WEIR_OK ? st : all;
}

static WEIR_MUST_CHECK enum weir_status carry(struct pg_store *s, int64_t token)
{
    struct pg_columns *c = s->columns;
    enum weir_status st = WEIR_OK;
    for (size_t i = 1; i < s->clusters.n && st == WEIR_OK; i++) {
        struct pg_cluster *to = &s->clusters.all[i];
        if (!pick_chunks(c, to->number)) continue;
        const struct pg_carried events = {.logs = c->ints[0],
                                          .first = c->ints[1],
                                          .last = c->ints[2],
                                          .bytes = c->slices[0],
                                          .n = c->n,
                                          .token = token};
        st = pg_carry_send(to, &events);
    }
    enum weir_status st_end = pg_carry_wait(s);
    return st == WEIR_OK ? st_end : st;
}

/*
 * The transaction stays open until all events are where they belong: it has the locks that make
 * them ours to write. *is_ending: its end was sent.
 */
static WEIR_MUST_CHECK enum weir_status write_carried(struct pg_store *s, bool is_locked,
                                                      bool *is_ending)
{
    int64_t token = 0;
    struct pg *pg = s->pg;
    send_changes(s, is_locked);
    send_text(pg, "SELECT nextval('weir.tokens')");
    pg_sync(pg);
    enum weir_status st = take_number(pg, &token);
    if (st == WEIR_OK) st = carry(s, token);
    if (st == WEIR_OK) {
        *is_ending = true;
        send_text(pg, "COMMIT");
        pg_sync(pg);
        return pg_take_all(pg);
    }
    if (!is_locked && !pg_is_broken(pg)) { /* else whoever took the lock does that */
        enum weir_status st_back = pg_script(pg, "ROLLBACK");
        (void)st_back;
    }
    return st;
}

enum weir_status pg_write(struct pg_store *s, uint64_t number, bool is_locked, bool *is_written)
{
    struct pg *pg = s->pg;
    struct pg_columns *c = s->columns;
    *is_written = false;
    enum weir_status st = gather(s);
    if (st == WEIR_OK) st = change_words(s);
    if (st != WEIR_OK || (c->n_logs == 0 && c->n_docs == 0 && !is_locked)) return st;
    bool is_carried = has_carried(c);
    if (is_carried && !is_locked) send_text(pg, "BEGIN");
    if (writes(c)) send_writer(s, number);
    if (is_carried) return write_carried(s, is_locked, is_written);
    *is_written = writes(c);
    send_changes(s, is_locked);
    if (is_locked) send_text(pg, "COMMIT");
    pg_sync(pg);
    return pg_take_all(pg);
}
