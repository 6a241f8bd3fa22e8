/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connection that writes: opening, transactions, garbage, checkpoints.
 *
 * A new file gets its tables and our mark in one transaction before it is switched to the
 * write-ahead log, so whatever a power cut leaves is either empty or has the mark; a file
 * without it is not ours and is not touched.
 *
 * A failure within a transaction sticks until db_abort(): SQLite may have rolled back on
 * its own, and what came next would be a transaction for itself.
 *
 * Checkpoints are made here and nowhere else, at the beginning of a transaction when the
 * log has grown long: a failing one is then an ordinary failure of db_begin().
 */
#include "store/db.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "io/file.h"
#include "store/db_impl.h"

enum {
    MAGIC = 0x64627772,
    CHECKPOINT_PAGES = 2048, /* of the write-ahead log; 16 MB */
    GARBAGE_ROWS = 256,      /* and emptied logs, taken away by one transaction */
    GARBAGE_BYTES = 4 << 20, /* the same; a row more at most */
    HEAD_BYTES = 100,        /* of an SQLite file */
    HEAD_APPLICATION_AT = 68,
};

enum write_statement {
    BEGIN,
    COMMIT,
    ROLLBACK,
    PUT_LOG,
    DROP_LOG,
    PUT_GARBAGE,
    PUT_EVENTS,
    TRIM_EVENTS,
    PUT_TRIMMED,
    DROP_TRIMMED,
    PUT_DOC,
    REMOVE_DOC,
    FORGET_WORDS,
    PUT_PASSAGE,
    PUT_WORDS,
    REMOVE_PASSAGE,
    PUT_META,
    NEXT_GARBAGE,
    LIST_GARBAGE_ROWS,
    REMOVE_ROW,
    REMOVE_GARBAGE,
    N_WRITE_STATEMENTS,
};

static const char *const texts[N_WRITE_STATEMENTS] = {
    [BEGIN] = "BEGIN IMMEDIATE",
    [COMMIT] = "COMMIT",
    [ROLLBACK] = "ROLLBACK",
    [PUT_LOG] = "INSERT INTO logs(id, name, last, is_sealed, expires_ms) VALUES (?1,?2,?3,?4,?5) "
                "ON CONFLICT (id) DO UPDATE SET last = ?3, is_sealed = ?4, expires_ms = ?5",
    [DROP_LOG] = "DELETE FROM logs WHERE id = ?1",
    [PUT_GARBAGE] = "INSERT INTO garbage(log) VALUES (?1) ON CONFLICT DO NOTHING",
    [PUT_EVENTS] = "INSERT INTO chunks(log, first, last, bytes) VALUES (?1, ?2, ?3, ?4)",
    /* The row with the newest event stays: a log without any would seem to be gone. */
    [TRIM_EVENTS] = "DELETE FROM chunks WHERE log = (SELECT id FROM logs WHERE name = ?1) "
                    "AND last < min(?2, (SELECT last FROM logs WHERE name = ?1))",
    [PUT_TRIMMED] = "INSERT INTO trimmed(log, before) SELECT id, ?2 FROM logs WHERE name = ?1 "
                    "ON CONFLICT (log) DO UPDATE SET before = max(before, excluded.before)",
    [DROP_TRIMMED] = "DELETE FROM trimmed WHERE log = ?1",
    [PUT_DOC] = "INSERT INTO docs(kind, id, owner, version, body) VALUES (?1, ?2, ?3, ?4, ?5) "
                "ON CONFLICT (kind, id) DO UPDATE SET owner = ?3, version = ?4, body = ?5",
    [REMOVE_DOC] = "DELETE FROM docs WHERE kind = ?1 AND id = ?2",
    /* Those of the passage as it is, for which it has to be there still. */
    [FORGET_WORDS] = "INSERT INTO search(search, rowid, owner, title, text) "
                     "SELECT 'delete', n, owner, title, text FROM passage_texts WHERE id = ?1",
    [PUT_PASSAGE] = "INSERT INTO passages(id) VALUES (?1) ON CONFLICT (id) DO NOTHING",
    [PUT_WORDS] = "INSERT INTO search(rowid, owner, title, text) "
                  "SELECT n, owner, title, text FROM passage_texts WHERE id = ?1",
    [REMOVE_PASSAGE] = "DELETE FROM passages WHERE id = ?1",
    [PUT_META] = "UPDATE meta SET settled = ?1, last_log_id = ?2",
    [NEXT_GARBAGE] = "SELECT log FROM garbage ORDER BY log LIMIT 1",
    /* The newest first: who still reads the log sees a shorter one, not one with a hole. */
    [LIST_GARBAGE_ROWS] = "SELECT rowid, length(bytes) FROM chunks WHERE log = ?1 "
                          "ORDER BY first DESC LIMIT ?2",
    [REMOVE_ROW] = "DELETE FROM chunks WHERE rowid = ?1",
    [REMOVE_GARBAGE] = "DELETE FROM garbage WHERE log = ?1",
};

struct state {
    uint64_t settled;
    uint64_t last_id;
    bool has_garbage;
};

struct db {
    uint32_t magic;
    sqlite3 *sqlite;
    sqlite3_stmt *statements[N_WRITE_STATEMENTS];
    struct state committed;
    struct state pending; /* of the transaction */
    bool is_writing;
    enum weir_status failure; /* of the transaction; sticks */
    int wal_pages;
};

/* ---- opening ---- */

static int note_wal_size(void *user, sqlite3 *sqlite, const char *name, int n_pages)
{
    struct db *db = user;
    (void)sqlite;
    (void)name;
    db->wal_pages = n_pages;
    return SQLITE_OK;
}

/* Made here, and not by SQLite, for the mode: what the store holds is its owner's. */
static WEIR_MUST_CHECK enum weir_status make_file(const char *path, struct store_error *error)
{
    struct file f;
    if (file_exists(path)) return WEIR_OK;
    enum weir_status st = file_open(&f, path, FILE_MUST_CREATE);
    if (st != WEIR_OK) db_explain(error, "weir.db cannot be made: %s", strerror(errno));
    file_close(&f);
    return st;
}

/*
 * Looks at the head of the file before SQLite does, which would recover, and so change, a
 * stranger's database. With a hot journal beside it the head may be half written; then the
 * journal puts it right, and db_recognize() looks again. Reading goes through SQLite's own
 * descriptor: closing another one of the same file would lose its locks.
 */
static WEIR_MUST_CHECK enum weir_status look_at_head(sqlite3 *sqlite, const char *path,
                                                     struct store_error *error)
{
    static const unsigned char mark[4] = {DB_APPLICATION_ID >> 24, DB_APPLICATION_ID >> 16 & 0xff,
                                          DB_APPLICATION_ID >> 8 & 0xff, DB_APPLICATION_ID & 0xff};
    char journal[DB_PATH_BYTES + 16];
    unsigned char head[HEAD_BYTES];
    sqlite3_file *file = NULL;
    sqlite3_int64 size = 0;
    snprintf(journal, sizeof journal, "%s-journal", path);
    int rc = sqlite3_file_control(sqlite, "main", SQLITE_FCNTL_FILE_POINTER, &file);
    if (rc == SQLITE_OK) rc = file->pMethods->xFileSize(file, &size);
    if (rc == SQLITE_OK && (size == 0 || file_exists(journal))) return WEIR_OK;
    if (rc == SQLITE_OK) rc = file->pMethods->xRead(file, head, sizeof head, 0);
    bool is_database = rc == SQLITE_OK && memcmp(head, "SQLite format 3", 16) == 0;
    if (rc != SQLITE_OK && rc != SQLITE_IOERR_SHORT_READ) {
        db_explain(error, "weir.db cannot be read: %s", strerror(errno));
        return db_status(NULL, rc);
    }
    if (is_database && memcmp(head + HEAD_APPLICATION_AT, mark, sizeof mark) == 0) return WEIR_OK;
    db_explain(error, "weir.db is %s",
               is_database ? "a database of another program" : "no database, or its head is lost");
    return is_database ? WEIR_INVALID : WEIR_CORRUPT;
}

/* The answer is the mode that there is now. */
static WEIR_MUST_CHECK enum weir_status switch_to_wal(sqlite3 *sqlite)
{
    sqlite3_stmt *statement = NULL;
    int rc = sqlite3_prepare_v2(sqlite, "PRAGMA journal_mode=WAL", -1, &statement, NULL);
    if (rc == SQLITE_OK) rc = sqlite3_step(statement);
    enum weir_status st = db_status(sqlite, rc);
    if (st == WEIR_OK && !slice_eq(db_column_bytes(statement, 0), SLICE("wal"))) st = WEIR_IO;
    sqlite3_finalize(statement);
    return st;
}

static WEIR_MUST_CHECK enum weir_status set_up(sqlite3 *sqlite, struct store_error *error)
{
    if (sqlite3_db_readonly(sqlite, "main") == 1) {
        db_explain(error, "weir.db may not be written");
        return WEIR_IO;
    }
    /*
     * Rows are up to some 32 KB and are read whole: larger pages make shorter chains of them.
     * The limit is for the file of the log, after a long reader made it grow.
     */
    enum weir_status st = db_exec(sqlite, "PRAGMA page_size=8192;"
                                          "PRAGMA journal_size_limit=33554432");
    if (st == WEIR_OK) st = db_configure(sqlite, DB_WRITER_CACHE_KIB);
    if (st != WEIR_OK) db_explain(error, "weir.db cannot be read: %s", db_reason(sqlite, st));
    if (st == WEIR_OK) st = db_migrate(sqlite, error);
    if (st != WEIR_OK) return st;
    st = switch_to_wal(sqlite);
    if (st != WEIR_OK)
        db_explain(error, "weir.db cannot have a write-ahead log: %s", weir_status_text(st));
    return st;
}

static WEIR_MUST_CHECK enum weir_status read_state(struct db *db)
{
    int64_t n[3] = {0};
    enum weir_status st = db_ask_int(db->sqlite, "SELECT settled FROM meta", &n[0]);
    if (st == WEIR_OK) st = db_ask_int(db->sqlite, "SELECT last_log_id FROM meta", &n[1]);
    if (st == WEIR_OK) st = db_ask_int(db->sqlite, "SELECT count(*) FROM garbage", &n[2]);
    if (st == WEIR_NOT_FOUND || n[0] < 0 || n[1] < 0) return WEIR_CORRUPT;
    db->committed = (struct state){(uint64_t)n[0], (uint64_t)n[1], n[2] > 0};
    return st;
}

static WEIR_MUST_CHECK enum weir_status open_writer(struct db *db, const char *folder,
                                                    struct store_error *error)
{
    char path[DB_PATH_BYTES];
    if (!db_path(path, folder)) {
        db_explain(error, "the path of the folder is too long");
        return WEIR_INVALID;
    }
    enum weir_status st = make_file(path, error);
    if (st != WEIR_OK) return st;
    st = db_connect(&db->sqlite, path, SQLITE_OPEN_READWRITE);
    if (st != WEIR_OK) {
        db_explain(error, "weir.db cannot be opened: %s", weir_status_text(st));
        return st;
    }
    /* Not even closing may change it until it is known to be ours. */
    sqlite3_db_config(db->sqlite, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    st = look_at_head(db->sqlite, path, error);
    if (st == WEIR_OK) st = set_up(db->sqlite, error);
    if (st != WEIR_OK) return st;
    sqlite3_db_config(db->sqlite, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, NULL);
    sqlite3_wal_hook(db->sqlite, note_wal_size, db);
    /*
     * A rollback journal that SQLite removed while it made the database could come back with a
     * power cut, and undo what was committed since.
     */
    st = file_sync_folder(folder);
    if (st == WEIR_OK) st = db_prepare(db->sqlite, texts, N_WRITE_STATEMENTS, db->statements);
    if (st == WEIR_OK) st = read_state(db);
    if (st != WEIR_OK) db_explain(error, "weir.db cannot be used: %s", weir_status_text(st));
    return st;
}

enum weir_status db_open(struct db **out, const char *folder, struct store_error *error)
{
    *out = NULL;
    struct db *db = mem_zalloc(sizeof *db);
    if (!db) {
        db_explain(error, "%s", weir_status_text(WEIR_NOMEM));
        return WEIR_NOMEM;
    }
    db->magic = MAGIC;
    enum weir_status st = open_writer(db, folder, error);
    if (st != WEIR_OK) {
        db_close(db);
        return st;
    }
    *out = db;
    return WEIR_OK;
}

void db_close(struct db *db)
{
    if (!db) return;
    CHECK(db->magic == MAGIC);
    db_abort(db);
    db_finalize(db->statements, N_WRITE_STATEMENTS);
    CHECK(sqlite3_close(db->sqlite) == SQLITE_OK);
    db->magic = 0;
    mem_free(db);
}

uint64_t db_settled(const struct db *db)
{
    return db->committed.settled;
}

uint64_t db_last_id(const struct db *db)
{
    return db->committed.last_id;
}

bool db_has_garbage(const struct db *db)
{
    return db->committed.has_garbage;
}

/* ---- transactions ---- */

static enum weir_status note_failure(struct db *db, enum weir_status st)
{
    if (db->failure == WEIR_OK) db->failure = st;
    return st;
}

static WEIR_MUST_CHECK enum weir_status run(struct db *db, enum write_statement which)
{
    int rc = sqlite3_step(db->statements[which]);
    enum weir_status st = db_status(db->sqlite, rc);
    sqlite3_reset(db->statements[which]);
    return note_failure(db, st);
}

/* A statement to bind to and run, within a transaction. */
static sqlite3_stmt *statement_of(struct db *db, enum write_statement which)
{
    CHECK(db->magic == MAGIC);
    CHECK(db->is_writing);
    return db->statements[which];
}

static WEIR_MUST_CHECK enum weir_status checkpoint(struct db *db)
{
    int rc = sqlite3_wal_checkpoint_v2(db->sqlite, "main", SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    enum weir_status st = db_status(db->sqlite, rc);
    return st == WEIR_BUSY ? WEIR_OK : st;
}

enum weir_status db_begin(struct db *db)
{
    CHECK(db->magic == MAGIC);
    CHECK(!db->is_writing);
    enum weir_status st = db->wal_pages >= CHECKPOINT_PAGES ? checkpoint(db) : WEIR_OK;
    if (st != WEIR_OK) return st;
    db->failure = WEIR_OK;
    db->pending = db->committed;
    st = run(db, BEGIN);
    db->is_writing = st == WEIR_OK;
    return st;
}

void db_abort(struct db *db)
{
    CHECK(db->magic == MAGIC);
    if (db->sqlite && !sqlite3_get_autocommit(db->sqlite)) {
        /* It cannot fail for good: what was not committed is not there. */
        sqlite3_step(db->statements[ROLLBACK]);
        sqlite3_reset(db->statements[ROLLBACK]);
    }
    db->is_writing = false;
    db->failure = WEIR_OK;
}

/* ---- puts ---- */

void db_raise_id(struct db *db, uint64_t id)
{
    CHECK(db->is_writing);
    if (id > db->pending.last_id) db->pending.last_id = id;
}

enum weir_status db_put_log(struct db *db, const struct db_log *log)
{
    sqlite3_stmt *s = statement_of(db, PUT_LOG);
    if (db->failure != WEIR_OK) return db->failure;
    db_bind_number(s, 1, log->id);
    db_bind_bytes(s, 2, log->name);
    db_bind_number(s, 3, log->last);
    db_bind_int(s, 4, log->is_sealed);
    if (log->expires_ms == INT64_MAX) CHECK(sqlite3_bind_null(s, 5) == SQLITE_OK);
    else db_bind_int(s, 5, log->expires_ms);
    db_raise_id(db, log->id);
    return run(db, PUT_LOG);
}

enum weir_status db_drop_log(struct db *db, uint64_t log_id)
{
    db_bind_number(statement_of(db, DROP_LOG), 1, log_id);
    if (db->failure != WEIR_OK) return db->failure;
    db_bind_number(statement_of(db, PUT_GARBAGE), 1, log_id);
    db_bind_number(statement_of(db, DROP_TRIMMED), 1, log_id);
    enum weir_status st = run(db, DROP_LOG);
    if (st == WEIR_OK) st = run(db, DROP_TRIMMED);
    if (st == WEIR_OK) st = run(db, PUT_GARBAGE);
    db->pending.has_garbage = true;
    return st;
}

enum weir_status db_put_events(struct db *db, uint64_t log_id, uint64_t first, uint64_t last,
                               struct weir_slice bytes)
{
    sqlite3_stmt *s = statement_of(db, PUT_EVENTS);
    CHECK(first >= 1 && first <= last);
    if (db->failure != WEIR_OK) return db->failure;
    db_bind_number(s, 1, log_id);
    db_bind_number(s, 2, first);
    db_bind_number(s, 3, last);
    db_bind_bytes(s, 4, bytes);
    return run(db, PUT_EVENTS);
}

enum weir_status db_trim_log(struct db *db, struct weir_slice name, uint64_t before)
{
    if (db->failure != WEIR_OK) return db->failure;
    for (enum write_statement i = TRIM_EVENTS; i <= PUT_TRIMMED; i++) {
        sqlite3_stmt *s = statement_of(db, i);
        db_bind_bytes(s, 1, name);
        db_bind_number(s, 2, before);
        enum weir_status st = run(db, i);
        if (st != WEIR_OK) return st;
    }
    return WEIR_OK;
}

static WEIR_MUST_CHECK enum weir_status run_on(struct db *db, enum write_statement which,
                                               struct weir_slice id)
{
    db_bind_bytes(statement_of(db, which), 1, id);
    return run(db, which);
}

static bool is_passage(struct weir_slice kind)
{
    return slice_eq(kind, passage_key((struct weir_slice){0}).kind);
}

static WEIR_MUST_CHECK enum weir_status put_row(struct db *db, const struct doc *doc)
{
    sqlite3_stmt *s = statement_of(db, PUT_DOC);
    db_bind_bytes(s, 1, doc->kind);
    db_bind_bytes(s, 2, doc->id);
    db_bind_bytes(s, 3, doc->owner);
    db_bind_int(s, 4, doc->version);
    db_bind_bytes(s, 5, doc->body);
    return run(db, PUT_DOC);
}

enum weir_status db_put_doc(struct db *db, const struct doc *doc)
{
    CHECK(doc->version > 0);
    if (db->failure != WEIR_OK) return db->failure;
    if (!is_passage(doc->kind)) return put_row(db, doc);
    enum weir_status st = run_on(db, FORGET_WORDS, doc->id);
    if (st == WEIR_OK) st = put_row(db, doc);
    if (st == WEIR_OK) st = run_on(db, PUT_PASSAGE, doc->id);
    if (st == WEIR_OK) st = run_on(db, PUT_WORDS, doc->id);
    return st;
}

enum weir_status db_remove_doc(struct db *db, struct doc_key key)
{
    sqlite3_stmt *s = statement_of(db, REMOVE_DOC);
    if (db->failure != WEIR_OK) return db->failure;
    if (is_passage(key.kind)) {
        enum weir_status st = run_on(db, FORGET_WORDS, key.id);
        if (st == WEIR_OK) st = run_on(db, REMOVE_PASSAGE, key.id);
        if (st != WEIR_OK) return st;
    }
    db_bind_bytes(s, 1, key.kind);
    db_bind_bytes(s, 2, key.id);
    return run(db, REMOVE_DOC);
}

/* ---- garbage ---- */

/* What one transaction may still take away. */
struct budget {
    int64_t rows;
    int64_t bytes;
};

/* The rows of a dropped log to remove now, into `rows`; *n is 0 when none are left. */
static WEIR_MUST_CHECK enum weir_status find_garbage_rows(struct db *db, int64_t log,
                                                          struct budget *budget,
                                                          int64_t rows[GARBAGE_ROWS], size_t *n)
{
    sqlite3_stmt *s = statement_of(db, LIST_GARBAGE_ROWS);
    int rc = SQLITE_DONE;
    db_bind_int(s, 1, log);
    db_bind_int(s, 2, budget->rows);
    *n = 0;
    while (budget->rows > 0 && budget->bytes > 0 && (rc = sqlite3_step(s)) == SQLITE_ROW) {
        rows[(*n)++] = sqlite3_column_int64(s, 0);
        budget->bytes -= sqlite3_column_int64(s, 1);
        budget->rows--;
    }
    enum weir_status st = db_status(db->sqlite, rc);
    sqlite3_reset(s);
    return note_failure(db, st);
}

/* Takes some rows of a dropped log away, and its mark when none are left. */
static WEIR_MUST_CHECK enum weir_status sweep_log(struct db *db, int64_t log, struct budget *budget)
{
    int64_t rows[GARBAGE_ROWS];
    size_t n = 0;
    enum weir_status st = find_garbage_rows(db, log, budget, rows, &n);
    for (size_t i = 0; i < n && st == WEIR_OK; i++) {
        db_bind_int(statement_of(db, REMOVE_ROW), 1, rows[i]);
        st = run(db, REMOVE_ROW);
    }
    if (st != WEIR_OK || budget->rows == 0 || budget->bytes <= 0) return st;
    budget->rows--; /* a log without rows is not for free either */
    db_bind_int(statement_of(db, REMOVE_GARBAGE), 1, log);
    return run(db, REMOVE_GARBAGE);
}

static WEIR_MUST_CHECK enum weir_status sweep(struct db *db)
{
    struct budget budget = {GARBAGE_ROWS, GARBAGE_BYTES};
    enum weir_status st = WEIR_OK;
    while (st == WEIR_OK && db->pending.has_garbage && budget.rows > 0 && budget.bytes > 0) {
        sqlite3_stmt *s = statement_of(db, NEXT_GARBAGE);
        int rc = sqlite3_step(s);
        int64_t log = rc == SQLITE_ROW ? sqlite3_column_int64(s, 0) : 0;
        st = note_failure(db, db_status(db->sqlite, rc));
        sqlite3_reset(s);
        db->pending.has_garbage = rc == SQLITE_ROW;
        if (rc == SQLITE_ROW) st = sweep_log(db, log, &budget);
    }
    return st;
}

enum weir_status db_end(struct db *db, uint64_t settled)
{
    sqlite3_stmt *s = statement_of(db, PUT_META);
    if (db->failure != WEIR_OK) return db->failure;
    enum weir_status st = sweep(db);
    if (st != WEIR_OK) return st;
    db->pending.settled = settled;
    db_bind_number(s, 1, settled);
    db_bind_number(s, 2, db->pending.last_id);
    st = run(db, PUT_META);
    if (st == WEIR_OK) st = run(db, COMMIT);
    if (st != WEIR_OK) return st;
    db->committed = db->pending;
    db->is_writing = false;
    return WEIR_OK;
}
