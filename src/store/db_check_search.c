/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The check of the index of passages: each passage has a number and the other way round, and the
 * words of all passages are those of the index, each at its place. That is told by sums over hashes
 * of (word, number, column, place), which need no memory and do not depend on the order.
 */
#include <stdio.h>

#include "base/hash.h"
#include "base/slice.h"
#include "store/db_words.h"

enum { N_COLUMNS = 3, COMPLAINT_BYTES = 512 };

static const char *const columns[N_COLUMNS] = {"owner", "title", "text"};

struct sum {
    uint64_t n, hashes;
};

/* Where a word stands. */
struct place {
    int64_t passage, column, offset;
};

static void add(struct sum *sum, struct weir_slice word, struct place place)
{
    static const struct hash_key key; /* nobody is to be kept from collisions */
    uint64_t both[2] = {hash_bytes(key, word), hash_bytes(key, slice_of(&place, sizeof place))};
    sum->n++;
    sum->hashes += hash_bytes(key, slice_of(both, sizeof both));
}

/* ---- what the passages say ---- */

struct text {
    struct sum *sum;
    struct place place;
};

static bool add_word(void *user, struct weir_slice word, size_t start, size_t end)
{
    struct text *t = user;
    (void)start;
    (void)end;
    add(t->sum, word, t->place);
    t->place.offset++;
    return true;
}

static WEIR_MUST_CHECK enum weir_status add_passage(struct sum *sum, const struct db_words *words,
                                                    sqlite3_stmt *row)
{
    enum weir_status st = WEIR_OK;
    for (int i = 0; i < N_COLUMNS && st == WEIR_OK; i++) {
        struct text t = {sum, {sqlite3_column_int64(row, 0), i, 0}};
        st = db_words_each(words, db_column_bytes(row, i + 1), add_word, &t);
    }
    return st;
}

static WEIR_MUST_CHECK enum weir_status sum_passages(sqlite3 *sqlite, struct sum *sum)
{
    static const char sql[] = "SELECT n, owner, title, text FROM passage_texts";
    struct db_words words;
    sqlite3_stmt *s = NULL;
    enum weir_status st = db_words_open(&words, sqlite);
    int rc = sqlite3_prepare_v2(sqlite, sql, -1, &s, NULL);
    while (st == WEIR_OK && (rc == SQLITE_OK || rc == SQLITE_ROW)) {
        rc = sqlite3_step(s);
        if (rc == SQLITE_ROW) st = add_passage(sum, &words, s);
    }
    if (st == WEIR_OK) st = db_status(sqlite, rc);
    sqlite3_finalize(s);
    db_words_close(&words);
    return st;
}

/* ---- what the index says ---- */

static void add_entry(struct sum *sum, sqlite3_stmt *row)
{
    struct place place = {sqlite3_column_int64(row, 1), 0, sqlite3_column_int64(row, 3)};
    while (place.column < N_COLUMNS &&
           !weir_slice_is(db_column_bytes(row, 2), columns[place.column]))
        place.column++;
    add(sum, db_column_bytes(row, 0), place);
}

/* The table is the connection's own and goes with the transaction. */
static WEIR_MUST_CHECK enum weir_status sum_index(sqlite3 *sqlite, struct sum *sum)
{
    sqlite3_stmt *s = NULL;
    enum weir_status st = db_exec(sqlite, "PRAGMA query_only=OFF;"
                                          "CREATE VIRTUAL TABLE temp.search_words USING "
                                          "fts5vocab('main', 'search', 'instance')");
    if (st != WEIR_OK) return st;
    int rc = sqlite3_prepare_v2(sqlite, "SELECT term, doc, col, offset FROM temp.search_words", -1,
                                &s, NULL);
    while (rc == SQLITE_OK || rc == SQLITE_ROW) {
        rc = sqlite3_step(s);
        if (rc == SQLITE_ROW) add_entry(sum, s);
    }
    sqlite3_finalize(s);
    return db_status(sqlite, rc);
}

/* ---- both ---- */

static WEIR_MUST_CHECK enum weir_status compare(sqlite3 *sqlite, char why[COMPLAINT_BYTES])
{
    struct sum texts = {0};
    struct sum index = {0};
    int64_t n_lost = 0;
    enum weir_status st =
        db_ask_int(sqlite,
                   "SELECT (SELECT count(*) FROM docs WHERE kind = x'70617373616765' AND id NOT IN"
                   " (SELECT id FROM passages)) + (SELECT count(*) FROM passages WHERE id NOT IN"
                   " (SELECT id FROM docs WHERE kind = x'70617373616765'))",
                   &n_lost);
    if (st == WEIR_OK && n_lost > 0)
        snprintf(why, COMPLAINT_BYTES, "passages: %lld of them are known on one side only",
                 (long long)n_lost);
    if (st == WEIR_OK) st = sum_passages(sqlite, &texts);
    if (st == WEIR_OK) st = sum_index(sqlite, &index);
    if (st == WEIR_OK && n_lost == 0 && (texts.n != index.n || texts.hashes != index.hashes))
        snprintf(why, COMPLAINT_BYTES,
                 "passages: the index of their words (%llu) does not say what they do (%llu)",
                 (unsigned long long)index.n, (unsigned long long)texts.n);
    return st;
}

enum weir_status db_check_search(sqlite3 *sqlite, store_complaint_fn complain, void *user)
{
    char why[COMPLAINT_BYTES] = "";
    enum weir_status st = compare(sqlite, why);
    /* SQLite's own check looks at pages, not at what the index has in them. */
    if (st == WEIR_CORRUPT || st == WEIR_INTERNAL) {
        snprintf(why, sizeof why, "passages: the index of their words: %s", sqlite3_errmsg(sqlite));
        st = WEIR_OK;
    }
    if (why[0]) complain(user, why);
    enum weir_status st_mode = db_exec(sqlite, "PRAGMA query_only=ON");
    return st == WEIR_OK ? st_mode : st;
}
