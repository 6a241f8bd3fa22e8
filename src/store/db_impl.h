/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the database share: connections, statements, and the way from SQLite's
 * result codes to ours. Private to src/store/db*.c.
 */
#pragma once

#include <sqlite3.h>

#include "base/slice.h"
#include "store/db.h"

enum {
    DB_APPLICATION_ID = 0x77656972, /* "weir" */
    DB_PATH_BYTES = 1024,
    DB_WRITER_CACHE_KIB = 2048,
    DB_READER_CACHE_KIB = 512,
    DB_READER_MAGIC = 0x64627264,
};

/* ---- connections ---- */

/* FOLDER/weir.db; false when that is too long. */
bool db_path(char path[DB_PATH_BYTES], const char *folder);

/* Opens a connection through our VFS. It reads nothing yet. */
WEIR_MUST_CHECK enum weir_status db_connect(sqlite3 **out, const char *path, int flags);

/* What every connection is told; reads the head of the file. */
WEIR_MUST_CHECK enum weir_status db_configure(sqlite3 *sqlite, int cache_kib);

/* The status for what the connection's last call said. */
enum weir_status db_status(sqlite3 *sqlite, int rc);

/* Why that was: "the disk is full", or what SQLite says. */
const char *db_reason(sqlite3 *sqlite, enum weir_status st);

/* Writes a sentence for people; error may be NULL. */
void db_explain(struct store_error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- statements ---- */

WEIR_MUST_CHECK enum weir_status db_exec(sqlite3 *sqlite, const char *sql);

/* The first column of the first row. WEIR_NOT_FOUND when there is none. */
WEIR_MUST_CHECK enum weir_status db_ask_int(sqlite3 *sqlite, const char *sql, int64_t *out);

/* Prepares all, to be kept; the array was zeroed. */
WEIR_MUST_CHECK enum weir_status db_prepare(sqlite3 *sqlite, const char *const *sql, size_t n,
                                            sqlite3_stmt **out);
void db_finalize(sqlite3_stmt **statements, size_t n);

void db_bind_int(sqlite3_stmt *statement, int i, int64_t value);
void db_bind_number(sqlite3_stmt *statement, int i, uint64_t value); /* at most INT64_MAX */
/* Borrowed until the statement is reset. */
void db_bind_bytes(sqlite3_stmt *statement, int i, struct weir_slice bytes);

/* Borrowed until the statement goes on. */
struct weir_slice db_column_bytes(sqlite3_stmt *statement, int i);
uint64_t db_column_number(sqlite3_stmt *statement, int i);

/* ---- the schema ---- */

/* Whether a database is ours and what we can read; *version is its schema's. */
WEIR_MUST_CHECK enum weir_status db_recognize(sqlite3 *sqlite, int64_t *version,
                                              struct store_error *error);

/* Brings a database of ours, or an empty one, to the newest schema. */
WEIR_MUST_CHECK enum weir_status db_migrate(sqlite3 *sqlite, struct store_error *error);

int64_t db_newest_version(void);

/* Complains when the index of passages does not say what they do. Within a transaction. */
WEIR_MUST_CHECK enum weir_status db_check_search(sqlite3 *sqlite, store_complaint_fn complain,
                                                 void *user);

/* ---- readers ---- */

enum db_read_statement {
    READ_LOG,
    READ_EVENTS,
    READ_DOC,
    LIST_DOCS,
    LIST_DOCS_OF_OWNER,
    LIST_DOCS_FALLING,
    LIST_DOCS_OF_OWNER_FALLING,
    LIST_EXPIRED,
    N_READ_STATEMENTS,
};

struct db_reader {
    uint32_t magic;
    sqlite3 *sqlite;
    sqlite3_stmt *statements[N_READ_STATEMENTS];
};
