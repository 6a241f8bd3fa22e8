/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The little that lies between SQLite's interface and ours. A bind that fails is a mistake
 * of ours, since nothing is copied: hence the CHECKs.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/check.h"
#include "store/db_impl.h"
#include "store/db_vfs.h"
#include "store/db_words.h"

enum { BUSY_MS = 5000 }; /* readers wait for each other only while the log's index is rebuilt */

bool db_path(char path[DB_PATH_BYTES], const char *folder)
{
    int len = snprintf(path, DB_PATH_BYTES, "%s/weir.db", folder);
    return len > 0 && len < DB_PATH_BYTES;
}

static bool is_full(sqlite3 *sqlite)
{
    int error = sqlite3_system_errno(sqlite);
    return error == ENOSPC || error == EDQUOT;
}

enum weir_status db_status(sqlite3 *sqlite, int rc)
{
    if (rc == SQLITE_IOERR_NOMEM) return WEIR_NOMEM;
    switch (rc & 0xff) {
    case SQLITE_OK:
    case SQLITE_ROW:
    case SQLITE_DONE: return WEIR_OK;
    case SQLITE_NOMEM: return WEIR_NOMEM;
    case SQLITE_FULL: return WEIR_NO_SPACE;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB: return WEIR_CORRUPT;
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return WEIR_BUSY;
    case SQLITE_TOOBIG: return WEIR_LIMIT;
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN: return sqlite && is_full(sqlite) ? WEIR_NO_SPACE : WEIR_IO;
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_PROTOCOL:
    case SQLITE_NOLFS: return WEIR_IO;
    default: return WEIR_INTERNAL; /* a constraint, a misuse: what we asked for was wrong */
    }
}

const char *db_reason(sqlite3 *sqlite, enum weir_status st)
{
    return st == WEIR_NO_SPACE ? weir_status_text(st) : sqlite3_errmsg(sqlite);
}

void db_explain(struct store_error *error, const char *format, ...)
{
    va_list args;
    if (!error) return;
    va_start(args, format);
    vsnprintf(error->text, sizeof error->text, format, args);
    va_end(args);
}

/* ---- connections ---- */

enum weir_status db_connect(sqlite3 **out, const char *path, int flags)
{
    *out = NULL;
    const char *vfs = db_vfs_name();
    if (!vfs) return WEIR_NOMEM;
    int rc = sqlite3_open_v2(path, out, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, vfs);
    if (rc == SQLITE_OK) return WEIR_OK;
    enum weir_status st = *out ? db_status(*out, rc) : WEIR_NOMEM;
    sqlite3_close(*out);
    *out = NULL;
    return st;
}

enum weir_status db_configure(sqlite3 *sqlite, int cache_kib)
{
    char sql[256];
    sqlite3_busy_timeout(sqlite, BUSY_MS);
    sqlite3_db_config(sqlite, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(sqlite, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    snprintf(sql, sizeof sql,
             "PRAGMA cache_size=-%d;"
             "PRAGMA temp_store=MEMORY;"
             "PRAGMA mmap_size=0;"
             "PRAGMA cell_size_check=ON;"
             "PRAGMA synchronous=FULL",
             cache_kib);
    enum weir_status st = db_exec(sqlite, sql);
    return st == WEIR_OK ? db_words_register(sqlite) : st;
}

/* ---- statements ---- */

enum weir_status db_exec(sqlite3 *sqlite, const char *sql)
{
    return db_status(sqlite, sqlite3_exec(sqlite, sql, NULL, NULL, NULL));
}

enum weir_status db_ask_int(sqlite3 *sqlite, const char *sql, int64_t *out)
{
    sqlite3_stmt *statement = NULL;
    int rc = sqlite3_prepare_v2(sqlite, sql, -1, &statement, NULL);
    if (rc == SQLITE_OK) rc = sqlite3_step(statement);
    enum weir_status st = rc == SQLITE_DONE ? WEIR_NOT_FOUND : db_status(sqlite, rc);
    if (rc == SQLITE_ROW) *out = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return st;
}

enum weir_status db_prepare(sqlite3 *sqlite, const char *const *sql, size_t n, sqlite3_stmt **out)
{
    int rc = SQLITE_OK;
    for (size_t i = 0; i < n && rc == SQLITE_OK; i++)
        rc = sqlite3_prepare_v3(sqlite, sql[i], -1, SQLITE_PREPARE_PERSISTENT, &out[i], NULL);
    /* Our tables are there by now: one that does not fit them was changed by somebody. */
    return rc == SQLITE_ERROR ? WEIR_CORRUPT : db_status(sqlite, rc);
}

void db_finalize(sqlite3_stmt **statements, size_t n)
{
    for (size_t i = 0; i < n; i++) sqlite3_finalize(statements[i]);
}

void db_bind_int(sqlite3_stmt *statement, int i, int64_t value)
{
    CHECK(sqlite3_bind_int64(statement, i, value) == SQLITE_OK);
}

void db_bind_number(sqlite3_stmt *statement, int i, uint64_t value)
{
    CHECK(value <= INT64_MAX);
    db_bind_int(statement, i, (int64_t)value);
}

void db_bind_bytes(sqlite3_stmt *statement, int i, struct weir_slice bytes)
{
    /* NULL would be SQL's null, which is not the empty string. */
    const char *ptr = bytes.len > 0 ? bytes.ptr : "";
    CHECK(sqlite3_bind_blob64(statement, i, ptr, bytes.len, SQLITE_STATIC) == SQLITE_OK);
}

struct weir_slice db_column_bytes(sqlite3_stmt *statement, int i)
{
    const void *ptr = sqlite3_column_blob(statement, i);
    return slice_of(ptr ? ptr : "", (size_t)sqlite3_column_bytes(statement, i));
}

uint64_t db_column_number(sqlite3_stmt *statement, int i)
{
    return (uint64_t)sqlite3_column_int64(statement, i);
}
