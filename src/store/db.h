/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The database: where committed things are kept, in SQLite. The journal makes them durable
 * first; they come here later, many at a time.
 *
 * 1. db_open() makes or migrates the file, with the one connection that writes and
 *    checkpoints (SQLite 3.40 has a bug when there are two). db_settled() tells up to which
 *    journal record it has everything.
 * 2. db_begin(), the put functions, db_end() with the new journal number: one transaction,
 *    on the disk when db_end() returns WEIR_OK. After a failure db_abort(): nothing happened.
 * 3. db_reader_open() for each thread that reads; readers see whole transactions.
 * 4. db_reader_close(), db_close().
 *
 * `struct db` and each `struct db_reader`: one thread at a time. The put functions copy.
 */
#pragma once

#include "store/passage.h"
#include "store/store.h"

struct db;
struct db_reader;

enum { DB_ROW_BYTES = 32 << 10 }; /* the settler joins a log's events to rows of about this */

/*
 * The file is FOLDER/weir.db. WEIR_NEWER when a newer weir made it, WEIR_INVALID when another
 * program did, WEIR_CORRUPT when it is no database or damaged: it is left as it was.
 * WEIR_IO, WEIR_NO_SPACE, WEIR_NOMEM. The error may be NULL.
 */
WEIR_MUST_CHECK enum weir_status db_open(struct db **out, const char *folder,
                                         struct store_error *error);
void db_close(struct db *db);

/* Journal records up to this number are in the database; 0 when it is new. */
uint64_t db_settled(const struct db *db);

/* The largest log id ever used. */
uint64_t db_last_id(const struct db *db);

/* ---- writing ---- */

/*
 * All of these: WEIR_NO_SPACE, WEIR_IO, WEIR_CORRUPT, WEIR_NOMEM; WEIR_INTERNAL when rows
 * contradict each other (events put twice, a name that another log has). A failure sticks
 * until db_abort(), after which the next transaction may well succeed. db_begin() makes the
 * checkpoint if one is due, and may fail for that.
 */
WEIR_MUST_CHECK enum weir_status db_begin(struct db *db);

struct db_log {
    uint64_t id;
    struct weir_slice name;
    uint64_t last;
    bool is_sealed;
    int64_t expires_ms; /* wall time; INT64_MAX: never */
};

/* No log gets an id up to this one any more. Within a transaction. */
void db_raise_id(struct db *db, uint64_t log_id);

/* Makes a log or changes it (by id); its name stays as it was first. */
WEIR_MUST_CHECK enum weir_status db_put_log(struct db *db, const struct db_log *log);

/*
 * Forgets a log. Its name is free at once; its events go a few at a time, with this and
 * later transactions, newest first, so that dropping a large log stops nobody and its
 * readers see a shorter one.
 */
WEIR_MUST_CHECK enum weir_status db_drop_log(struct db *db, uint64_t log_id);

/* Events first..last of a log, as one row. */
WEIR_MUST_CHECK enum weir_status db_put_events(struct db *db, uint64_t log_id, uint64_t first,
                                               uint64_t last, struct weir_slice bytes);

/* Forgets rows of a log whose events are all before this one. No such log: nothing happens. */
WEIR_MUST_CHECK enum weir_status db_trim_log(struct db *db, struct weir_slice name,
                                             uint64_t before);

/* An empty owner is a document of nobody. The words of passages are indexed (passage.h). */
WEIR_MUST_CHECK enum weir_status db_put_doc(struct db *db, const struct doc *doc);
WEIR_MUST_CHECK enum weir_status db_remove_doc(struct db *db, struct doc_key key);

/* Ends the transaction, with everything up to this journal number in it. */
WEIR_MUST_CHECK enum weir_status db_end(struct db *db, uint64_t settled);
void db_abort(struct db *db);

/* True while rows of dropped logs are left; a db_begin(), db_end() takes some more away. */
bool db_has_garbage(const struct db *db);

/* ---- reading ---- */

/*
 * WEIR_NOT_FOUND when there is no database, WEIR_INVALID when db_open() has not brought it to
 * this version yet, else as db_open(). A callback must not use the reader it is called for.
 */
WEIR_MUST_CHECK enum weir_status db_reader_open(struct db_reader **out, const char *folder);
void db_reader_close(struct db_reader *r);

/* WEIR_NOT_FOUND. log->name is not set. */
WEIR_MUST_CHECK enum weir_status db_find_log(struct db_reader *r, struct weir_slice name,
                                             struct db_log *log);

/* WEIR_OK to go on; another status ends the reading and is returned. */
typedef enum weir_status (*db_events_fn)(void *user, uint64_t first, uint64_t last,
                                         struct weir_slice bytes);

/* The rows of a log from the one that has event `from` on, in order, until told to stop. */
WEIR_MUST_CHECK enum weir_status db_read_events(struct db_reader *r, uint64_t log_id, uint64_t from,
                                                db_events_fn each, void *user);

/* WEIR_NOT_FOUND; free with doc_fini(). */
WEIR_MUST_CHECK enum weir_status db_get_doc(struct db_reader *r, struct doc_key key,
                                            struct doc *out);

/* As store_doc_list(), of what is in the database. The doc is borrowed. */
WEIR_MUST_CHECK enum weir_status db_list_docs(struct db_reader *r, const struct doc_query *query,
                                              doc_fn each, void *user);

/* As store_search(), of what is in the database. */
WEIR_MUST_CHECK enum weir_status db_search(struct db_reader *r, const struct passage_query *query,
                                           passage_fn each, void *user);

/* Logs that expired by `now_ms`, up to `limit`; each is called with its name. */
typedef enum weir_status (*db_log_fn)(void *user, const struct db_log *log);
WEIR_MUST_CHECK enum weir_status db_list_expired(struct db_reader *r, int64_t now_ms, size_t limit,
                                                 db_log_fn each, void *user);

/*
 * A copy of all that is settled, while writing goes on; on the disk when it returns WEIR_OK,
 * gone when it fails. WEIR_EXISTS when there is such a file. As weir.db in a folder of its
 * own it is a store.
 */
WEIR_MUST_CHECK enum weir_status db_backup(struct db_reader *r, const char *path,
                                           struct store_error *error);

/*
 * SQLite's own integrity check, then ours: events of each log without gap or overlap up to its
 * last, from 1 on or from where it was trimmed; each row's bytes as many well-formed frames as it
 * says with the right ids, documents with versions above 0, the index of passages as they are.
 * WEIR_OK when it could be told, whatever it was.
 */
WEIR_MUST_CHECK enum weir_status db_check(struct db_reader *r, store_complaint_fn complain,
                                          void *user, uint64_t *n_wrong);
