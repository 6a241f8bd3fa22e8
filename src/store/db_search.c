/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding passages in the database: the best numbers first, then the texts of those that are shown.
 * Both see one state of it.
 */
#include <string.h>

#include "base/check.h"
#include "base/slice.h"
#include "store/hit.h"

enum { EXPRESSION_BYTES = 16 << 10 };

static const char find_text[] =
    "SELECT p.n, p.id, bm25(search, 0.0, 2.0, 1.0) AS r FROM search "
    "JOIN passages p ON p.n = search.rowid WHERE search MATCH ?1 ORDER BY r, p.id LIMIT ?2";
static const char show_text[] = "SELECT title, text FROM passage_texts WHERE n = ?1";

struct finding {
    struct db_reader *r;
    const struct passage_query *query;
    struct hits hits;
    struct db_words words;
    struct db_query parsed;
    struct weir_buf expression;
    sqlite3_stmt *find, *show;
};

static WEIR_MUST_CHECK enum weir_status show(struct finding *f)
{
    struct passage_hit hit = {.id = db_column_bytes(f->find, 1),
                              .rank = sqlite3_column_double(f->find, 2)};
    if (!hits_want(&f->hits, hit.id)) return WEIR_OK;
    db_bind_int(f->show, 1, sqlite3_column_int64(f->find, 0));
    int rc = sqlite3_step(f->show);
    enum weir_status st = rc == SQLITE_DONE ? WEIR_CORRUPT : db_status(f->r->sqlite, rc);
    if (st == WEIR_OK) {
        hit.title = db_column_bytes(f->show, 0);
        hit.text = db_column_bytes(f->show, 1);
        st = hits_show(&f->hits, hit);
    }
    sqlite3_reset(f->show);
    return st;
}

static int prepare(struct finding *f)
{
    size_t limit = f->query->per_source > 0 ? PASSAGE_LOOKED_AT : f->query->limit;
    int rc = sqlite3_prepare_v2(f->r->sqlite, show_text, -1, &f->show, NULL);
    if (rc == SQLITE_OK) rc = sqlite3_prepare_v2(f->r->sqlite, find_text, -1, &f->find, NULL);
    if (rc != SQLITE_OK) return rc;
    db_bind_number(f->find, 2, limit);
    return sqlite3_bind_text64(f->find, 1, f->expression.ptr, f->expression.len, SQLITE_STATIC,
                               SQLITE_UTF8);
}

static WEIR_MUST_CHECK enum weir_status walk(struct finding *f)
{
    enum weir_status st = WEIR_OK;
    int rc = prepare(f);
    while (rc == SQLITE_OK || rc == SQLITE_ROW) {
        rc = hits_are_enough(&f->hits) ? SQLITE_DONE : sqlite3_step(f->find);
        if (rc == SQLITE_ROW) st = show(f);
        if (st != WEIR_OK) return st;
    }
    return db_status(f->r->sqlite, rc);
}

static WEIR_MUST_CHECK enum weir_status find_all(struct finding *f)
{
    sqlite3 *sqlite = f->r->sqlite;
    enum weir_status st = db_exec(sqlite, "BEGIN");
    if (st == WEIR_OK) st = walk(f);
    sqlite3_finalize(f->find);
    sqlite3_finalize(f->show);
    if (!sqlite3_get_autocommit(sqlite)) sqlite3_exec(sqlite, "ROLLBACK", NULL, NULL, NULL);
    return st;
}

enum weir_status db_search(struct db_reader *r, const struct passage_query *query, passage_fn each,
                           void *user)
{
    struct finding f = {.r = r, .query = query};
    CHECK(r->magic == DB_READER_MAGIC);
    CHECK(query->limit > 0 && query->limit <= PASSAGE_MAX_HITS && query->owner.len > 0);
    enum weir_status st = db_words_open(&f.words, r->sqlite);
    if (st != WEIR_OK) return st;
    weir_buf_init(&f.expression, EXPRESSION_BYTES);
    hits_init(&f.hits, query, &f.words, &f.parsed);
    f.hits.each = each;
    f.hits.user = user;
    st = db_query_read(&f.parsed, &f.words, query->words);
    if (st == WEIR_OK) {
        db_query_put(&f.expression, &f.parsed, query->owner, query->is_any);
        st = weir_buf_status(&f.expression);
    }
    if (st == WEIR_OK) st = find_all(&f);
    hits_fini(&f.hits);
    weir_buf_fini(&f.expression);
    db_query_fini(&f.parsed);
    db_words_close(&f.words);
    return st;
}
