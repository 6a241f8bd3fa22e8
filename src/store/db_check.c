/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The check of a whole database: SQLite's own, then what must hold among the rows, all in
 * one state of it. It goes on after a complaint as far as there is something to read.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/check.h"
#include "store/db_impl.h"

enum { COMPLAINT_BYTES = 512 };

struct check {
    sqlite3 *sqlite;
    store_complaint_fn complain;
    void *user;
    uint64_t n_wrong;
};

static __attribute__((format(printf, 2, 3))) void complain(struct check *c, const char *format, ...)
{
    char text[COMPLAINT_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    c->n_wrong++;
    if (c->complain) c->complain(c->user, text);
}

/* Calls a function for each row of a statement. */
typedef void (*row_fn)(struct check *c, sqlite3_stmt *row);

static WEIR_MUST_CHECK enum weir_status for_each(struct check *c, const char *sql, row_fn each)
{
    sqlite3_stmt *s = NULL;
    int rc = sqlite3_prepare_v2(c->sqlite, sql, -1, &s, NULL);
    while (rc == SQLITE_OK || rc == SQLITE_ROW) {
        rc = sqlite3_step(s);
        if (rc == SQLITE_ROW) each(c, s);
    }
    enum weir_status st = db_status(c->sqlite, rc);
    sqlite3_finalize(s);
    return st;
}

/* ---- logs ---- */

/* One row for each log, joined with its chunks in order: where we are in the walk. */
struct walk {
    struct check *c;
    uint64_t log;
    uint64_t last; /* that the log is said to have */
    uint64_t next; /* id that is due */
    uint64_t kept; /* from here on all has to be there */
};

static void end_log(struct walk *w)
{
    if (w->log != 0 && w->next != w->last + 1)
        complain(w->c, "log %" PRIu64 ": events up to %" PRIu64 ", but it says %" PRIu64, w->log,
                 w->next - 1, w->last);
}

static void check_chunk(struct walk *w, sqlite3_stmt *row)
{
    uint64_t first = db_column_number(row, 2);
    uint64_t last = db_column_number(row, 3);
    uint64_t bad = 0;
    if (first == 0 || last < first || last > INT64_MAX) {
        complain(w->c, "log %" PRIu64 ": a row with events %" PRIu64 " to %" PRIu64, w->log, first,
                 last);
        return;
    }
    bool was_trimmed = w->next == 1 && first > 1 && first <= w->kept;
    if (first != w->next && !was_trimmed)
        complain(w->c, "log %" PRIu64 ": event %" PRIu64 " is due, a row begins with %" PRIu64,
                 w->log, w->next, first);
    if (!chunk_are_events(db_column_bytes(row, 4), first, last, &bad))
        complain(w->c, "log %" PRIu64 ": row %" PRIu64 " to %" PRIu64 ": bad event %" PRIu64,
                 w->log, first, last, bad);
    w->next = last + 1;
}

static WEIR_MUST_CHECK enum weir_status check_logs(struct check *c)
{
    static const char sql[] = "SELECT logs.id, logs.last, chunks.first, chunks.last, bytes, "
                              "coalesce(trimmed.before, 1) "
                              "FROM logs LEFT JOIN chunks ON chunks.log = logs.id "
                              "LEFT JOIN trimmed ON trimmed.log = logs.id "
                              "ORDER BY logs.id, chunks.first";
    struct walk w = {.c = c};
    sqlite3_stmt *s = NULL;
    int rc = sqlite3_prepare_v2(c->sqlite, sql, -1, &s, NULL);
    while (rc == SQLITE_OK || rc == SQLITE_ROW) {
        rc = sqlite3_step(s);
        if (rc != SQLITE_ROW) break;
        if (db_column_number(s, 0) != w.log) {
            end_log(&w);
            w = (struct walk){c, db_column_number(s, 0), db_column_number(s, 1), 1,
                              db_column_number(s, 5)};
        }
        if (sqlite3_column_type(s, 2) != SQLITE_NULL) check_chunk(&w, s);
    }
    end_log(&w);
    enum weir_status st = db_status(c->sqlite, rc);
    sqlite3_finalize(s);
    return st;
}

/* ---- the rest ---- */

static void take_sqlite_row(struct check *c, sqlite3_stmt *row)
{
    struct weir_slice text = db_column_bytes(row, 0);
    if (!slice_eq(text, SLICE("ok"))) complain(c, "SQLite: %.*s", (int)text.len, text.ptr);
}

static void take_orphan(struct check *c, sqlite3_stmt *row)
{
    complain(c, "log %" PRIu64 ": there are events of it, but no such log",
             db_column_number(row, 0));
}

static void take_unknown_id(struct check *c, sqlite3_stmt *row)
{
    complain(c, "log %" PRIu64 ": its id is not one that was given", db_column_number(row, 0));
}

static void take_unborn_doc(struct check *c, sqlite3_stmt *row)
{
    struct weir_slice kind = db_column_bytes(row, 0);
    struct weir_slice id = db_column_bytes(row, 1);
    complain(c, "document %.*s %.*s: its version is %lld", (int)kind.len, kind.ptr, (int)id.len,
             id.ptr, (long long)sqlite3_column_int64(row, 2));
}

static void take_meta(struct check *c, sqlite3_stmt *row)
{
    if (sqlite3_column_int64(row, 0) != 1) complain(c, "the database's own row is not there");
}

static void take_complaint(void *check, const char *text)
{
    complain(check, "%s", text);
}

static WEIR_MUST_CHECK enum weir_status check_all(struct check *c)
{
    enum weir_status st = for_each(c, "PRAGMA integrity_check", take_sqlite_row);
    if (st == WEIR_OK)
        st = for_each(c, "SELECT count(*) FROM meta WHERE settled >= 0 AND last_log_id >= 0",
                      take_meta);
    if (st == WEIR_OK) st = check_logs(c);
    if (st == WEIR_OK)
        st = for_each(c,
                      "SELECT DISTINCT log FROM chunks WHERE log NOT IN (SELECT id FROM logs) "
                      "AND log NOT IN (SELECT log FROM garbage)",
                      take_orphan);
    if (st == WEIR_OK)
        st = for_each(c, "SELECT id FROM logs WHERE id < 1 OR id > (SELECT last_log_id FROM meta)",
                      take_unknown_id);
    if (st == WEIR_OK)
        st = for_each(c, "SELECT kind, id, version FROM docs WHERE version < 1", take_unborn_doc);
    if (st == WEIR_OK) st = db_check_search(c->sqlite, take_complaint, c);
    return st;
}

enum weir_status db_check(struct db_reader *r, store_complaint_fn complain_fn, void *user,
                          uint64_t *n_wrong)
{
    CHECK(r->magic == DB_READER_MAGIC);
    struct check c = {.sqlite = r->sqlite, .complain = complain_fn, .user = user};
    enum weir_status st = db_exec(r->sqlite, "BEGIN");
    if (st == WEIR_OK) st = check_all(&c);
    if (st == WEIR_CORRUPT) {
        complain(&c, "SQLite: %s", sqlite3_errmsg(r->sqlite));
        st = WEIR_OK; /* that is what was asked */
    }
    /* Nothing was changed: how it ends tells no more than what was read. */
    if (!sqlite3_get_autocommit(r->sqlite)) sqlite3_exec(r->sqlite, "ROLLBACK", NULL, NULL, NULL);
    *n_wrong = c.n_wrong;
    return st;
}
