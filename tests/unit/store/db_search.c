/* SPDX-License-Identifier: Apache-2.0 */
/* The index of passages: older databases get it, and damage to it is found. */
#include <stdlib.h>
#include <sys/stat.h>

#include "base/fault.h"
#include "store/db_words.h"
#include "t.h"
#include "unit/store/db_help.h"

static void put_passage(struct db *db, const char *id, const char *body)
{
    struct doc doc = {.kind = SLICE("passage"),
                      .id = str(id),
                      .owner = SLICE("ann"),
                      .version = 1,
                      .body = str(body)};
    T_EQ(db_begin(db), WEIR_OK);
    T_EQ(db_put_doc(db, &doc), WEIR_OK);
    T_EQ(db_end(db, db_settled(db) + 1), WEIR_OK);
}

static enum weir_status count_hit(void *user, const struct passage_hit *hit)
{
    T_OK(hit->n_in_text > 0);
    ++*(size_t *)user;
    return WEIR_OK;
}

static size_t count(const char *folder, const char *words)
{
    size_t n = 0;
    struct db_reader *r = open_reader(folder);
    struct passage_query q = {.owner = SLICE("ann"), .words = str(words), .limit = 10};
    T_EQ(db_search(r, &q, count_hit, &n), WEIR_OK);
    check_db(r);
    db_reader_close(r);
    return n;
}

/* By a connection that knows our words. */
static void change(const char *folder, const char *sql)
{
    sqlite3 *sqlite = NULL;
    T_EQ(db_connect(&sqlite, in_folder(folder, "weir.db"), SQLITE_OPEN_READWRITE), WEIR_OK);
    T_EQ(db_configure(sqlite, 100), WEIR_OK);
    T_EQ(sqlite3_exec(sqlite, sql, NULL, NULL, NULL), SQLITE_OK);
    T_EQ(sqlite3_close(sqlite), SQLITE_OK);
}

TEST(a_database_of_the_first_schema_gets_an_index)
{
    const char *folder = t_temp_dir();
    struct db *db = open_db(folder);
    append(db, 1, "a", 1, 5);
    db_close(db);
    change(folder, "DROP TABLE trimmed; DROP TABLE search; DROP VIEW passage_texts;"
                   "DROP TABLE passages;"
                   "INSERT INTO docs VALUES (x'70617373616765', x'31', x'616e6e', 1, "
                   "CAST('title' || char(10) || 'an old needle' AS BLOB));"
                   "PRAGMA user_version=1");
    struct db_reader *r;
    T_EQ(db_reader_open(&r, folder), WEIR_INVALID);
    db_close(open_db(folder));
    T_EQ(count(folder, "needle"), 1);
    r = open_reader(folder);
    T_EQ(read_from(r, 1, 1), 5);
    db_reader_close(r);
    db = open_db(folder);
    put_passage(db, "1", "t\nnew pin");
    put_passage(db, "2", "t\nnew needle");
    db_close(db);
    T_EQ(count(folder, "needle"), 1);
    T_EQ(count(folder, "new"), 2);
}

static void note_complaint(void *user, const char *text)
{
    snprintf(user, 256, "%s", text);
}

TEST(an_index_that_says_something_else_is_found)
{
    static const struct {
        const char *sql;
        const char *want;
    } rows[] = {
        {"DELETE FROM passages WHERE n = 1", "known on one side only"},
        {"DELETE FROM docs WHERE kind = x'70617373616765' AND id = x'61'",
         "known on one side only"},
        {"UPDATE docs SET body = CAST('t' || char(10) || 'another' AS BLOB)", "does not say"},
        {"UPDATE docs SET owner = x'62'", "does not say"},
        {"INSERT INTO search(rowid, owner, title, text) VALUES (9, 'o', 't', 'ghost')",
         "does not say"},
        {"INSERT INTO search(search, rowid, owner, title, text) SELECT 'delete', n, owner, title, "
         "text FROM passage_texts WHERE n = 2",
         "does not say"},
        {"INSERT INTO search(search) VALUES ('delete-all')", "does not say"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char folder[256];
        char why[256] = "";
        uint64_t n_wrong = 0;
        snprintf(folder, sizeof folder, "%s/%zu", t_temp_dir(), i);
        T_EQ(mkdir(folder, 0700), 0);
        struct db *db = open_db(folder);
        put_passage(db, "a", "t\none two");
        put_passage(db, "b", "t\nthree");
        db_close(db);
        T_EQ(count(folder, "two"), 1);
        change(folder, rows[i].sql);
        struct db_reader *r = open_reader(folder);
        T_EQ(db_check(r, note_complaint, why, &n_wrong), WEIR_OK);
        T_EQ(n_wrong, 1);
        if (!strstr(why, rows[i].want))
            t_fail(__FILE__, __LINE__, "%zu: \"%s\" lacks \"%s\"", i, why, rows[i].want);
        /* It is a reader still, which writes nothing. */
        T_OK(sqlite3_exec(r->sqlite, "DELETE FROM docs", NULL, NULL, NULL) != SQLITE_OK);
        db_reader_close(r);
    }
}

TEST(a_passage_without_a_title_line_is_a_text)
{
    const char *folder = t_temp_dir();
    struct db *db = open_db(folder);
    put_passage(db, "a", "needle");
    put_passage(db, "b", "");
    put_passage(db, "c", "\n");
    db_close(db);
    T_EQ(count(folder, "needle"), 1);
}

TEST(an_aborted_transaction_leaves_the_index_as_it_was)
{
    const char *folder = t_temp_dir();
    struct db *db = open_db(folder);
    put_passage(db, "a", "t\nneedle");
    T_EQ(db_begin(db), WEIR_OK);
    T_EQ(db_remove_doc(db, passage_key(SLICE("a"))), WEIR_OK);
    db_abort(db);
    T_EQ(count(folder, "needle"), 1);
    T_EQ(db_begin(db), WEIR_OK);
    T_EQ(db_remove_doc(db, passage_key(SLICE("a"))), WEIR_OK);
    T_EQ(db_remove_doc(db, passage_key(SLICE("never"))), WEIR_OK);
    T_EQ(db_end(db, db_settled(db) + 1), WEIR_OK);
    db_close(db);
    T_EQ(count(folder, "needle"), 0);
}

TEST(a_search_without_memory_says_so)
{
    const char *folder = t_temp_dir();
    struct db *db = open_db(folder);
    put_passage(db, "a", "t\nneedle");
    db_close(db);
    struct db_reader *r = open_reader(folder);
    enum weir_status st = WEIR_NOMEM;
    for (uint64_t i = 1; i < 100 && st != WEIR_OK; i++) {
        size_t n = 0;
        struct passage_query q = {.owner = SLICE("ann"), .words = SLICE("needle"), .limit = 10};
        fault_arm(FAULT_ALLOC, i, FAULT_ONCE);
        st = db_search(r, &q, count_hit, &n);
        fault_disarm_all();
        T_OK(st == WEIR_NOMEM || (st == WEIR_OK && n == 1));
    }
    T_EQ(st, WEIR_OK);
    db_reader_close(r);
}
