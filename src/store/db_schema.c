/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables, and how a database gets from one form of them to the next.
 *
 * Step i brings a database from schema version i to i + 1. Steps are never changed once a
 * release had them: a new form is a new step at the end. All steps that are due, the new
 * version and our mark on the file are one transaction.
 *
 *   meta     one row: records of the journal that are in here; the largest log id ever
 *   logs     one row for a log; expires_ms is null for those that never do
 *   chunks   events first..last of a log as they go on the wire. Rows are appended in the
 *            order they come, for a table clustered by log is four times slower to write;
 *            the index finds them
 *   docs     documents; the second index has only those with an owner
 *   garbage  logs that were dropped and have chunks left
 *   trimmed  logs whose events before some id are not kept any more; whole rows have gone
 *   passages numbers of the documents of kind "passage", for the index of their words, "search";
 *            the view is how that sees them. A body is title, line feed, text. The owner is one
 *            word: a letter and hexadecimal digits
 *
 * Names and ids are blobs, so that they are compared byte for byte.
 */
#include "store/db_impl.h"

static const char *const steps[] = {
    /* 0 to 1 */
    "CREATE TABLE meta("
    " id INTEGER PRIMARY KEY CHECK (id = 1),"
    " settled INTEGER NOT NULL,"
    " last_log_id INTEGER NOT NULL) STRICT;"
    "INSERT INTO meta VALUES (1, 0, 0);"
    "CREATE TABLE logs("
    " id INTEGER PRIMARY KEY,"
    " name BLOB NOT NULL UNIQUE,"
    " last INTEGER NOT NULL,"
    " is_sealed INTEGER NOT NULL,"
    " expires_ms INTEGER) STRICT;"
    "CREATE INDEX logs_by_expiry ON logs(expires_ms) WHERE expires_ms IS NOT NULL;"
    "CREATE TABLE chunks("
    " log INTEGER NOT NULL,"
    " first INTEGER NOT NULL,"
    " last INTEGER NOT NULL,"
    " bytes BLOB NOT NULL) STRICT;"
    "CREATE UNIQUE INDEX chunks_by_log ON chunks(log, first);"
    "CREATE TABLE docs("
    " kind BLOB NOT NULL,"
    " id BLOB NOT NULL,"
    " owner BLOB NOT NULL,"
    " version INTEGER NOT NULL,"
    " body BLOB NOT NULL,"
    " PRIMARY KEY (kind, id)) STRICT;"
    "CREATE INDEX docs_by_owner ON docs(owner, kind, id) WHERE owner <> x'';"
    "CREATE TABLE garbage(log INTEGER PRIMARY KEY) STRICT;",
    /* 1 to 2 */
    "CREATE TABLE passages(n INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE) STRICT;"
    "CREATE VIEW passage_texts AS SELECT p.n AS n, p.id AS id, 'o' || hex(d.owner) AS owner,"
    " CAST(substr(d.body, 1, instr(d.body, x'0a') - 1) AS TEXT) AS title,"
    " CAST(substr(d.body, instr(d.body, x'0a') + 1) AS TEXT) AS text "
    "FROM passages p JOIN docs d ON d.kind = x'70617373616765' AND d.id = p.id;"
    "CREATE VIRTUAL TABLE search USING fts5(owner, title, text,"
    " content='passage_texts', content_rowid='n', tokenize='weir');"
    "INSERT INTO passages(id) SELECT id FROM docs WHERE kind = x'70617373616765' ORDER BY id;"
    "INSERT INTO search(search) VALUES ('rebuild');",
    /* 2 to 3 */
    "CREATE TABLE trimmed(log INTEGER PRIMARY KEY, before INTEGER NOT NULL) STRICT;",
};

int64_t db_newest_version(void)
{
    return sizeof steps / sizeof *steps;
}

enum weir_status db_recognize(sqlite3 *sqlite, int64_t *version, struct store_error *error)
{
    int64_t n_pages = 0;
    int64_t application = 0;
    enum weir_status st = db_ask_int(sqlite, "PRAGMA page_count", &n_pages);
    if (st == WEIR_OK) st = db_ask_int(sqlite, "PRAGMA application_id", &application);
    if (st == WEIR_OK) st = db_ask_int(sqlite, "PRAGMA user_version", version);
    if (st != WEIR_OK) {
        db_explain(error, "weir.db cannot be read: %s", db_reason(sqlite, st));
        return st;
    }
    if (n_pages > 0 && application != DB_APPLICATION_ID) {
        db_explain(error, "weir.db is a database of another program");
        return WEIR_INVALID;
    }
    if (*version > db_newest_version()) {
        db_explain(error, "weir.db has schema %lld, this weir knows up to %lld",
                   (long long)*version, (long long)db_newest_version());
        return WEIR_NEWER;
    }
    return WEIR_OK;
}

/* Inside a transaction. */
static WEIR_MUST_CHECK enum weir_status run_steps(sqlite3 *sqlite, int64_t version)
{
    enum weir_status st = WEIR_OK;
    char sql[128];
    for (int64_t i = version; i < db_newest_version() && st == WEIR_OK; i++)
        st = db_exec(sqlite, steps[i]);
    if (st != WEIR_OK) return st;
    sqlite3_snprintf(sizeof sql, sql, "PRAGMA application_id=%d;PRAGMA user_version=%lld",
                     DB_APPLICATION_ID, (long long)db_newest_version());
    return db_exec(sqlite, sql);
}

enum weir_status db_migrate(sqlite3 *sqlite, struct store_error *error)
{
    int64_t version = 0;
    enum weir_status st = db_recognize(sqlite, &version, error);
    if (st != WEIR_OK || version == db_newest_version()) return st;
    st = db_exec(sqlite, "BEGIN IMMEDIATE");
    if (st == WEIR_OK) st = run_steps(sqlite, version);
    if (st == WEIR_OK) st = db_exec(sqlite, "COMMIT");
    if (st == WEIR_OK) return WEIR_OK;
    db_explain(error, "weir.db cannot be brought from schema %lld to %lld: %s", (long long)version,
               (long long)db_newest_version(), sqlite3_errmsg(sqlite));
    if (!sqlite3_get_autocommit(sqlite)) sqlite3_exec(sqlite, "ROLLBACK", NULL, NULL, NULL);
    return st;
}
