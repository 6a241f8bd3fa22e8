/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Readers: connections that cannot write. Each call is one statement, and so sees one state
 * of the database. A reader makes no checkpoint, not even when it is the last to close.
 */
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "io/file.h"
#include "store/db_impl.h"

static const char *const texts[N_READ_STATEMENTS] = {
    [READ_LOG] = "SELECT id, name, last, is_sealed, expires_ms FROM logs WHERE name = ?1",
    [READ_EVENTS] = "SELECT first, last, bytes FROM chunks WHERE log = ?1 AND first >= coalesce("
                    "(SELECT max(first) FROM chunks WHERE log = ?1 AND first <= ?2), 0) "
                    "AND last >= ?2 ORDER BY first",
    [READ_DOC] = "SELECT kind, id, owner, version, body FROM docs WHERE kind = ?1 AND id = ?2",
    [LIST_DOCS] = "SELECT kind, id, owner, version, body FROM docs "
                  "WHERE kind = ?1 AND id > ?2 ORDER BY id LIMIT ?3",
    /* The comparison with nothing lets SQLite use the index, which has no others. */
    [LIST_DOCS_OF_OWNER] = "SELECT kind, id, owner, version, body FROM docs "
                           "WHERE owner = ?4 AND owner <> x'' AND kind = ?1 AND id > ?2 "
                           "ORDER BY id LIMIT ?3",
    [LIST_DOCS_FALLING] = "SELECT kind, id, owner, version, body FROM docs "
                          "WHERE kind = ?1 AND id < ?2 ORDER BY id DESC LIMIT ?3",
    [LIST_DOCS_OF_OWNER_FALLING] = "SELECT kind, id, owner, version, body FROM docs "
                                   "WHERE owner = ?4 AND owner <> x'' AND kind = ?1 AND id < ?2 "
                                   "ORDER BY id DESC LIMIT ?3",
    [LIST_EXPIRED] = "SELECT id, name, last, is_sealed, expires_ms FROM logs "
                     "WHERE expires_ms <= ?1 ORDER BY expires_ms LIMIT ?2",
};

/* ---- life ---- */

static WEIR_MUST_CHECK enum weir_status open_reader(struct db_reader *r, const char *path)
{
    int64_t version = 0;
    enum weir_status st = db_connect(&r->sqlite, path, SQLITE_OPEN_READONLY);
    if (st != WEIR_OK) return st;
    sqlite3_db_config(r->sqlite, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    st = db_configure(r->sqlite, DB_READER_CACHE_KIB);
    if (st == WEIR_OK) st = db_exec(r->sqlite, "PRAGMA query_only=ON");
    if (st == WEIR_OK) st = db_recognize(r->sqlite, &version, NULL);
    if (st != WEIR_OK) return st;
    /* It is the writer who migrates. */
    if (version < db_newest_version()) return WEIR_INVALID;
    return db_prepare(r->sqlite, texts, N_READ_STATEMENTS, r->statements);
}

enum weir_status db_reader_open(struct db_reader **out, const char *folder)
{
    char path[DB_PATH_BYTES];
    *out = NULL;
    if (!db_path(path, folder)) return WEIR_INVALID;
    if (!file_exists(path)) return WEIR_NOT_FOUND;
    struct db_reader *r = mem_zalloc(sizeof *r);
    if (!r) return WEIR_NOMEM;
    r->magic = DB_READER_MAGIC;
    enum weir_status st = open_reader(r, path);
    if (st != WEIR_OK) {
        db_reader_close(r);
        return st;
    }
    *out = r;
    return WEIR_OK;
}

void db_reader_close(struct db_reader *r)
{
    if (!r) return;
    CHECK(r->magic == DB_READER_MAGIC);
    db_finalize(r->statements, N_READ_STATEMENTS);
    CHECK(sqlite3_close(r->sqlite) == SQLITE_OK);
    r->magic = 0;
    mem_free(r);
}

/* A statement to bind to and step through. A callback may not come back for the same. */
static sqlite3_stmt *statement_of(struct db_reader *r, enum db_read_statement which)
{
    CHECK(r->magic == DB_READER_MAGIC);
    CHECK(!sqlite3_stmt_busy(r->statements[which]));
    return r->statements[which];
}

/* Ends a statement: the status of the callback if it stopped, else that of SQLite. */
static enum weir_status finish(struct db_reader *r, sqlite3_stmt *s, enum weir_status st, int rc)
{
    if (st == WEIR_OK) st = db_status(r->sqlite, rc);
    sqlite3_reset(s);
    return st;
}

/* ---- logs ---- */

static void take_log(sqlite3_stmt *s, struct db_log *log)
{
    *log = (struct db_log){
        .id = db_column_number(s, 0),
        .name = db_column_bytes(s, 1),
        .last = db_column_number(s, 2),
        .is_sealed = sqlite3_column_int(s, 3) != 0,
        .expires_ms = INT64_MAX,
    };
    if (sqlite3_column_type(s, 4) != SQLITE_NULL) log->expires_ms = sqlite3_column_int64(s, 4);
}

enum weir_status db_find_log(struct db_reader *r, struct weir_slice name, struct db_log *log)
{
    sqlite3_stmt *s = statement_of(r, READ_LOG);
    *log = (struct db_log){0};
    db_bind_bytes(s, 1, name);
    int rc = sqlite3_step(s);
    if (rc == SQLITE_ROW) take_log(s, log);
    log->name = (struct weir_slice){0};
    return finish(r, s, rc == SQLITE_DONE ? WEIR_NOT_FOUND : WEIR_OK, rc);
}

enum weir_status db_list_expired(struct db_reader *r, int64_t now_ms, size_t limit, db_log_fn each,
                                 void *user)
{
    sqlite3_stmt *s = statement_of(r, LIST_EXPIRED);
    enum weir_status st = WEIR_OK;
    int rc = SQLITE_DONE;
    db_bind_int(s, 1, now_ms);
    db_bind_int(s, 2, limit < INT64_MAX ? (int64_t)limit : INT64_MAX);
    while (st == WEIR_OK && (rc = sqlite3_step(s)) == SQLITE_ROW) {
        struct db_log log;
        take_log(s, &log);
        st = each(user, &log);
    }
    return finish(r, s, st, rc);
}

enum weir_status db_read_events(struct db_reader *r, uint64_t log_id, uint64_t from,
                                db_events_fn each, void *user)
{
    sqlite3_stmt *s = statement_of(r, READ_EVENTS);
    enum weir_status st = WEIR_OK;
    int rc = SQLITE_DONE;
    if (from > INT64_MAX) return WEIR_OK; /* a reader may ask for any id */
    db_bind_number(s, 1, log_id);
    db_bind_number(s, 2, from);
    while (st == WEIR_OK && (rc = sqlite3_step(s)) == SQLITE_ROW) {
        uint64_t first = db_column_number(s, 0);
        uint64_t last = db_column_number(s, 1);
        if (first == 0 || last < first || last > INT64_MAX) st = WEIR_CORRUPT;
        else st = each(user, first, last, db_column_bytes(s, 2));
    }
    return finish(r, s, st, rc);
}

/* ---- documents ---- */

/* Borrowed from the row. */
static void take_doc(sqlite3_stmt *s, struct doc *doc)
{
    *doc = (struct doc){
        .kind = db_column_bytes(s, 0),
        .id = db_column_bytes(s, 1),
        .owner = db_column_bytes(s, 2),
        .version = sqlite3_column_int64(s, 3),
        .body = db_column_bytes(s, 4),
    };
}

/* Moves what a slice shows to *at, and *at behind it. */
static void move(struct weir_slice *s, char **at)
{
    memcpy(*at, s->ptr, s->len);
    s->ptr = *at;
    *at += s->len;
}

static WEIR_MUST_CHECK enum weir_status copy_doc(struct doc *doc)
{
    size_t n_bytes = doc->kind.len + doc->id.len + doc->owner.len + doc->body.len;
    char *at = mem_alloc(n_bytes + 1);
    if (!at) return WEIR_NOMEM;
    doc->memory = at;
    move(&doc->kind, &at);
    move(&doc->id, &at);
    move(&doc->owner, &at);
    move(&doc->body, &at);
    return WEIR_OK;
}

enum weir_status db_get_doc(struct db_reader *r, struct doc_key key, struct doc *out)
{
    sqlite3_stmt *s = statement_of(r, READ_DOC);
    enum weir_status st = WEIR_OK;
    *out = (struct doc){0};
    db_bind_bytes(s, 1, key.kind);
    db_bind_bytes(s, 2, key.id);
    int rc = sqlite3_step(s);
    if (rc == SQLITE_DONE) st = WEIR_NOT_FOUND;
    if (rc == SQLITE_ROW) {
        take_doc(s, out);
        st = copy_doc(out);
    }
    if (st == WEIR_NOMEM) *out = (struct doc){0};
    return finish(r, s, st, rc);
}

enum weir_status db_list_docs(struct db_reader *r, const struct doc_query *query, doc_fn each,
                              void *user)
{
    /* Longer than any id can be, so that it stands behind them all. */
    static const char beyond[STORE_NAME_BYTES + 1] = {[0 ... STORE_NAME_BYTES] = '\xff'};
    static const struct weir_slice end = {beyond, sizeof beyond};
    bool has_owner = query->owner.len > 0;
    sqlite3_stmt *s = statement_of(
        r, query->is_falling ? (has_owner ? LIST_DOCS_OF_OWNER_FALLING : LIST_DOCS_FALLING)
                             : (has_owner ? LIST_DOCS_OF_OWNER : LIST_DOCS));
    enum weir_status st = WEIR_OK;
    int rc = SQLITE_DONE;
    db_bind_bytes(s, 1, query->kind);
    db_bind_bytes(s, 2, query->is_falling && query->after.len == 0 ? end : query->after);
    db_bind_int(s, 3, query->limit < INT64_MAX ? (int64_t)query->limit : INT64_MAX);
    if (has_owner) db_bind_bytes(s, 4, query->owner);
    while (st == WEIR_OK && (rc = sqlite3_step(s)) == SQLITE_ROW) {
        struct doc doc;
        take_doc(s, &doc);
        st = each(user, &doc);
    }
    return finish(r, s, st, rc);
}
