/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All of an embedded store. It is opened and closed once as ever: that recovers it, and brings all
 * there is into the database. Then the folder is locked and the database used without the store.
 *
 * Filling is one transaction; SQLite's write-ahead log grows as large as all of it.
 */
#include <stdio.h>

#include "base/check.h"
#include "base/mem.h"
#include "io/file.h"
#include "store/db_impl.h"
#include "store/whole_impl.h"

enum { PENDING_BYTES = 4 << 20, FOLDER_BYTES = DB_PATH_BYTES };

enum statement { NEXT_LOG, NEXT_EVENTS, NEXT_DOC, N_STATEMENTS };

static const char *const texts[N_STATEMENTS] = {
    [NEXT_LOG] = "SELECT id, name, last, is_sealed, expires_ms, coalesce((SELECT min(first) "
                 "FROM chunks WHERE log = logs.id), last + 1) FROM logs ORDER BY name",
    [NEXT_EVENTS] = "SELECT first, last, bytes FROM chunks WHERE log = ?1 AND first >= ?2 "
                    "ORDER BY first",
    [NEXT_DOC] = "SELECT kind, id, owner, version, body FROM docs ORDER BY kind, id",
};

struct whole_embedded {
    struct whole whole;
    char folder[FOLDER_BYTES];
    struct file lock;
    struct db *db;            /* while it is filled */
    struct db_reader *reader; /* while it is read: one transaction */
    sqlite3_stmt *statements[N_STATEMENTS];
    bool has_ended[N_STATEMENTS];
    uint64_t events_of; /* whose events NEXT_EVENTS is at; 0: nobody's */
};

static struct whole_embedded *embedded(struct whole *w)
{
    return (struct whole_embedded *)w;
}

/* ---- life ---- */

static void end_reading(struct whole_embedded *e)
{
    db_finalize(e->statements, N_STATEMENTS);
    db_reader_close(e->reader); /* and its transaction with it */
    e->reader = NULL;
}

static WEIR_MUST_CHECK enum weir_status begin_reading(struct whole_embedded *e)
{
    enum weir_status st = db_reader_open(&e->reader, e->folder);
    if (st == WEIR_OK) st = db_exec(e->reader->sqlite, "BEGIN");
    if (st == WEIR_OK) st = db_prepare(e->reader->sqlite, texts, N_STATEMENTS, e->statements);
    return st;
}

/* Everything that is durable is in the database afterwards, in this version's form. */
static WEIR_MUST_CHECK enum weir_status recover(const char *folder, struct store_error *error)
{
    const struct store_options options = {.pending_bytes = PENDING_BYTES};
    struct store *store = NULL;
    enum weir_status st = store_open(&store, folder, &options, error);
    if (st == WEIR_OK) st = store_settle(store);
    store_close(store);
    return st;
}

static WEIR_MUST_CHECK enum weir_status take_lock(struct whole_embedded *e)
{
    char path[FOLDER_BYTES + 8];
    snprintf(path, sizeof path, "%s/lock", e->folder);
    enum weir_status st = file_open(&e->lock, path, FILE_MAY_CREATE);
    return st == WEIR_OK ? file_lock(&e->lock) : st;
}

static WEIR_MUST_CHECK enum weir_status open_files(struct whole_embedded *e,
                                                   struct store_error *error)
{
    char path[DB_PATH_BYTES];
    if (!db_path(path, e->folder)) return WEIR_INVALID;
    if (!e->whole.is_filling && !file_exists(path)) {
        db_explain(error, "there is no store in it");
        return WEIR_NOT_FOUND;
    }
    enum weir_status st = recover(e->folder, error);
    if (st == WEIR_OK) st = take_lock(e);
    if (st == WEIR_LOCKED) db_explain(error, "another process has it open");
    if (st != WEIR_OK) return st;
    if (!e->whole.is_filling) return begin_reading(e);
    st = db_open(&e->db, e->folder, error);
    return st == WEIR_OK ? db_begin(e->db) : st;
}

static void close_files(struct whole *w)
{
    struct whole_embedded *e = embedded(w);
    end_reading(e);
    db_close(e->db); /* undoes what was not ended */
    if (e->lock.fd >= 0) file_close(&e->lock);
    mem_free(e);
}

/* ---- reading ---- */

static const char *because(struct whole_embedded *e, enum weir_status st)
{
    return e->reader ? db_reason(e->reader->sqlite, st) : weir_status_text(st);
}

static void begin_anew(struct whole_embedded *e, enum statement which)
{
    sqlite3_reset(e->statements[which]);
    e->has_ended[which] = false;
}

/* WEIR_NOT_FOUND at its end, where it stays: SQLite would begin anew. */
static WEIR_MUST_CHECK enum weir_status step(struct whole_embedded *e, enum statement which)
{
    if (e->has_ended[which]) return WEIR_NOT_FOUND;
    int rc = sqlite3_step(e->statements[which]);
    if (rc == SQLITE_ROW) return WEIR_OK;
    e->has_ended[which] = true;
    enum weir_status st = db_status(e->reader->sqlite, rc);
    if (st == WEIR_OK) return WEIR_NOT_FOUND;
    db_explain(&e->whole.error, "%s", because(e, st));
    return st;
}

static enum weir_status next_log(struct whole *w, struct whole_log *out)
{
    struct whole_embedded *e = embedded(w);
    sqlite3_stmt *s = e->statements[NEXT_LOG];
    enum weir_status st = step(e, NEXT_LOG);
    if (st != WEIR_OK) return st;
    *out = (struct whole_log){
        .id = db_column_number(s, 0),
        .name = db_column_bytes(s, 1),
        .last = db_column_number(s, 2),
        .is_sealed = sqlite3_column_int(s, 3) != 0,
        .expires_ms =
            sqlite3_column_type(s, 4) == SQLITE_NULL ? INT64_MAX : sqlite3_column_int64(s, 4),
        .kept_from = db_column_number(s, 5),
    };
    return WEIR_OK;
}

static enum weir_status next_events(struct whole *w, uint64_t log_id, uint64_t from,
                                    struct whole_events *out)
{
    struct whole_embedded *e = embedded(w);
    sqlite3_stmt *s = e->statements[NEXT_EVENTS];
    if (e->events_of != log_id) {
        begin_anew(e, NEXT_EVENTS);
        db_bind_number(s, 1, log_id);
        db_bind_number(s, 2, from);
        e->events_of = log_id;
    }
    enum weir_status st = step(e, NEXT_EVENTS);
    if (st != WEIR_OK) return st;
    *out = (struct whole_events){db_column_number(s, 0), db_column_number(s, 1),
                                 db_column_bytes(s, 2)};
    return WEIR_OK;
}

static enum weir_status next_doc(struct whole *w, struct doc *out)
{
    struct whole_embedded *e = embedded(w);
    sqlite3_stmt *s = e->statements[NEXT_DOC];
    enum weir_status st = step(e, NEXT_DOC);
    if (st != WEIR_OK) return st;
    *out = (struct doc){.kind = db_column_bytes(s, 0),
                        .id = db_column_bytes(s, 1),
                        .owner = db_column_bytes(s, 2),
                        .version = sqlite3_column_int64(s, 3),
                        .body = db_column_bytes(s, 4)};
    return WEIR_OK;
}

static void rewind_all(struct whole *w)
{
    struct whole_embedded *e = embedded(w);
    for (enum statement i = 0; i < N_STATEMENTS; i++) begin_anew(e, i);
    e->events_of = 0;
}

static enum weir_status facts(struct whole *w, struct whole_facts *out)
{
    static const char *const questions[] = {
        "SELECT last_log_id FROM meta", "SELECT count(*) FROM logs", "SELECT count(*) FROM docs",
        "SELECT count(*) FROM passages"};
    struct whole_embedded *e = embedded(w);
    uint64_t *const answers[] = {&out->last_id, &out->n_logs, &out->n_docs, &out->n_passages};
    struct db_reader *reader = e->reader;
    enum weir_status st = reader ? WEIR_OK : db_reader_open(&reader, e->folder);
    for (size_t i = 0; i < sizeof answers / sizeof *answers && st == WEIR_OK; i++) {
        int64_t n = 0;
        st = db_ask_int(reader->sqlite, questions[i], &n);
        *answers[i] = (uint64_t)n;
    }
    if (reader != e->reader) db_reader_close(reader);
    return st;
}

/* ---- filling ---- */

static enum weir_status told(struct whole_embedded *e, enum weir_status st)
{
    if (st != WEIR_OK) db_explain(&e->whole.error, "%s", weir_status_text(st));
    return st;
}

static enum weir_status put_log(struct whole *w, const struct whole_log *log)
{
    struct whole_embedded *e = embedded(w);
    const struct db_log row = {.id = log->id,
                               .name = log->name,
                               .last = log->last,
                               .is_sealed = log->is_sealed,
                               .expires_ms = log->expires_ms};
    enum weir_status st = db_put_log(e->db, &row);
    if (st == WEIR_OK && log->kept_from > 1) st = db_trim_log(e->db, log->name, log->kept_from);
    return told(e, st);
}

static enum weir_status put_events(struct whole *w, uint64_t log_id,
                                   const struct whole_events *events)
{
    struct whole_embedded *e = embedded(w);
    return told(e, db_put_events(e->db, log_id, events->first, events->last, events->bytes));
}

static enum weir_status put_doc(struct whole *w, const struct doc *doc)
{
    struct whole_embedded *e = embedded(w);
    if (doc->version <= 0) {
        db_explain(&w->error, "a document has version %lld", (long long)doc->version);
        return WEIR_CORRUPT;
    }
    return told(e, db_put_doc(e->db, doc));
}

static enum weir_status fill_end(struct whole *w, uint64_t last_id)
{
    struct whole_embedded *e = embedded(w);
    db_raise_id(e->db, last_id);
    enum weir_status st = db_end(e->db, db_settled(e->db));
    if (st != WEIR_OK) return told(e, st);
    db_close(e->db);
    e->db = NULL;
    return told(e, begin_reading(e));
}

static const struct whole_engine engine = {
    .close = close_files,
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

enum weir_status whole_embedded_open(struct whole **out, const char *folder, enum whole_use use,
                                     struct store_error *error)
{
    struct whole_embedded *e = mem_zalloc(sizeof *e);
    *out = NULL;
    if (!e) return WEIR_NOMEM;
    e->whole = (struct whole){.engine = &engine, .is_filling = use == WHOLE_FILL};
    e->lock.fd = -1;
    *out = &e->whole;
    int len = snprintf(e->folder, sizeof e->folder, "%s", folder);
    if (len < 0 || (size_t)len >= sizeof e->folder) return WEIR_INVALID;
    return open_files(e, error);
}
