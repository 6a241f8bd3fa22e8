/* SPDX-License-Identifier: Apache-2.0 */
/* The database over real files: what a transaction put is there, or nothing of it. */
#include "store/db.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/slice.h"
#include "io/file.h"
#include "store/db_impl.h"
#include "t.h"
#include "unit/store/db_help.h"

/* ---- opening ---- */

TEST(new_database_is_empty_and_owner_only)
{
    const char *folder = t_temp_dir();
    struct stat info;
    struct db_log log;
    struct db *db = open_db(folder);
    T_EQ(db_settled(db), 0);
    T_EQ(db_last_id(db), 0);
    T_OK(!db_has_garbage(db));
    struct db_reader *r = open_reader(folder);
    T_EQ(db_find_log(r, SLICE("none"), &log), WEIR_NOT_FOUND);
    T_EQ(read_from(r, 1, 1), 0);
    T_EQ(read_from(r, 1, UINT64_MAX), 0);
    check_db(r);
    db_reader_close(r);
    T_EQ(stat(in_folder(folder, "weir.db"), &info), 0);
    T_EQ(info.st_mode & 0777, 0600);
    T_EQ(stat(in_folder(folder, "weir.db-wal"), &info), 0);
    T_EQ(info.st_mode & 0777, 0600);
    db_close(db);
}

TEST(empty_file_becomes_a_database)
{
    const char *folder = t_temp_dir();
    struct file f;
    T_EQ(file_open(&f, in_folder(folder, "weir.db"), FILE_MAY_CREATE), WEIR_OK);
    file_close(&f);
    db_close(open_db(folder));
    struct db *db = open_db(folder);
    append(db, 1, "a", 1, 3);
    db_close(db);
}

TEST(closing_takes_the_write_ahead_log_away)
{
    const char *folder = t_temp_dir();
    struct db *db = open_db(folder);
    append(db, 1, "a", 1, 3);
    T_OK(file_exists(in_folder(folder, "weir.db-wal")));
    db_close(db);
    T_OK(!file_exists(in_folder(folder, "weir.db-wal")));
}

/* Runs SQL on the file with no more than SQLite. */
static void change_file(const char *path, const char *sql)
{
    sqlite3 *sqlite;
    T_EQ(sqlite3_open(path, &sqlite), SQLITE_OK);
    T_EQ(sqlite3_exec(sqlite, sql, NULL, NULL, NULL), SQLITE_OK);
    T_EQ(sqlite3_close(sqlite), SQLITE_OK);
}

/* Opening fails with a sentence and changes nothing. */
static void expect_refusal(const char *folder, enum weir_status want)
{
    struct db *db;
    struct db_reader *r;
    struct store_error error = {""};
    struct weir_slice before = t_read_file(in_folder(folder, "weir.db"));
    T_EQ(db_open(&db, folder, &error), want);
    T_OK(!db);
    T_OK(strlen(error.text) > 10);
    T_EQ(db_open(&db, folder, NULL), want);
    T_EQ(db_reader_open(&r, folder), want);
    T_OK(!r);
    T_EQ_SLICE(t_read_file(in_folder(folder, "weir.db")), before);
}

TEST(newer_database_is_refused)
{
    const char *folder = t_temp_dir();
    db_close(open_db(folder));
    change_file(in_folder(folder, "weir.db"), "PRAGMA user_version=1000");
    expect_refusal(folder, WEIR_NEWER);
}

TEST(database_of_another_program_is_refused)
{
    const char *folder = t_temp_dir();
    change_file(in_folder(folder, "weir.db"), "PRAGMA journal_mode=WAL; CREATE TABLE theirs(x)");
    expect_refusal(folder, WEIR_INVALID);
}

TEST(file_that_is_no_database_is_refused)
{
    static const char *const contents[] = {"xy", "SQLite format 3", "some words "};
    for (size_t i = 0; i < sizeof contents / sizeof *contents; i++) {
        const char *folder = t_temp_dir();
        FILE *f = fopen(in_folder(folder, "weir.db"), "w");
        T_OK(f);
        for (size_t n = 0; n < (i == 2 ? 1000 : 1); n++) fputs(contents[i], f);
        fclose(f);
        expect_refusal(folder, WEIR_CORRUPT);
    }
}

TEST(unmigrated_or_missing_database_has_no_readers)
{
    const char *folder = t_temp_dir();
    struct db_reader *r;
    struct db *db;
    struct store_error error;
    T_EQ(db_reader_open(&r, folder), WEIR_NOT_FOUND);
    T_EQ(db_open(&db, in_folder(folder, "none"), &error), WEIR_IO);
    db_close(open_db(folder));
    change_file(in_folder(folder, "weir.db"), "PRAGMA user_version=0");
    T_EQ(db_reader_open(&r, folder), WEIR_INVALID);
}

TEST(database_without_its_tables_is_corrupt)
{
    const char *folder = t_temp_dir();
    struct db *db;
    struct store_error error = {""};
    db_close(open_db(folder));
    change_file(in_folder(folder, "weir.db"), "DELETE FROM meta");
    T_EQ(db_open(&db, folder, &error), WEIR_CORRUPT);
    change_file(in_folder(folder, "weir.db"), "DROP TABLE chunks");
    T_EQ(db_open(&db, folder, &error), WEIR_CORRUPT);
    T_OK(strlen(error.text) > 10);
}

TEST(path_that_is_too_long_is_refused)
{
    char folder[1100];
    struct db *db;
    struct db_reader *r;
    memset(folder, 'x', sizeof folder - 1);
    folder[sizeof folder - 1] = 0;
    T_EQ(db_open(&db, folder, NULL), WEIR_INVALID);
    T_EQ(db_reader_open(&r, folder), WEIR_INVALID);
}

/* ---- logs and events ---- */

TEST(what_was_put_is_there_after_reopening)
{
    const char *folder = t_temp_dir();
    struct db_log log;
    struct db *db = open_db(folder);
    append(db, 7, "a", 1, 10);
    append(db, 7, "a", 11, 11);
    append(db, 7, "a", 12, 40);
    append(db, 9, "b", 1, 2);
    db_close(db);
    db = open_db(folder);
    T_EQ(db_settled(db), 4);
    T_EQ(db_last_id(db), 9);
    struct db_reader *r = open_reader(folder);
    T_EQ(db_find_log(r, SLICE("a"), &log), WEIR_OK);
    T_EQ(log.id, 7);
    T_EQ(log.last, 40);
    T_OK(!log.is_sealed);
    T_EQ(log.expires_ms, INT64_MAX);
    for (uint64_t from = 1; from <= 40; from++) T_EQ(read_from(r, 7, from), 40);
    T_EQ(read_from(r, 7, 41), 0);
    T_EQ(read_from(r, 9, 1), 2);
    check_db(r);
    db_reader_close(r);
    db_close(db);
}

TEST(reading_stops_when_told)
{
    const char *folder = t_temp_dir();
    struct db *db = open_db(folder);
    for (uint64_t i = 1; i <= 5; i++) append(db, 1, "a", i, i);
    struct db_reader *r = open_reader(folder);
    struct seen seen = {.from = 2, .stop_after = 2};
    T_EQ(db_read_events(r, 1, 2, see_events, &seen), WEIR_CONFLICT);
    T_EQ(seen.n_rows, 2);
    T_EQ(seen.next, 4);
    T_EQ(read_from(r, 1, 1), 5);
    db_reader_close(r);
    db_close(db);
}

TEST(names_are_bytes)
{
    static const struct weir_slice names[] = {{"a", 1},   {"a\0", 2},      {"a\0b", 3},
                                              {"A", 1},   {"\xc3\xa4", 2}, {"a\xcc\x88", 3},
                                              {"\xff", 1}};
    const char *folder = t_temp_dir();
    size_t n = sizeof names / sizeof *names;
    struct db_log log;
    struct db *db = open_db(folder);
    T_EQ(db_begin(db), WEIR_OK);
    for (size_t i = 0; i < n; i++) {
        log = (struct db_log){.id = i + 1, .name = names[i], .expires_ms = INT64_MAX};
        T_EQ(db_put_log(db, &log), WEIR_OK);
    }
    T_EQ(db_end(db, 1), WEIR_OK);
    struct db_reader *r = open_reader(folder);
    for (size_t i = 0; i < n; i++) {
        T_EQ(db_find_log(r, names[i], &log), WEIR_OK);
        T_EQ(log.id, i + 1);
    }
    db_reader_close(r);
    db_close(db);
}

TEST(thousand_logs_keep_their_events_apart)
{
    const char *folder = t_temp_dir();
    char name[16];
    struct db *db = open_db(folder);
    for (uint64_t round = 0; round < 5; round++) {
        T_EQ(db_begin(db), WEIR_OK);
        for (uint64_t id = 1; id <= 1000; id++) {
            uint64_t first = round * (id % 5 + 1) + 1;
            uint64_t last = first + id % 5;
            snprintf(name, sizeof name, "log%" PRIu64, id);
            put_log(db, id, name, last);
            T_EQ(db_put_events(db, id, first, last, events(first, last)), WEIR_OK);
        }
        T_EQ(db_end(db, round + 1), WEIR_OK);
    }
    struct db_reader *r = open_reader(folder);
    for (uint64_t id = 1; id <= 1000; id++) T_EQ(read_from(r, id, 1), 5 * (id % 5 + 1));
    check_db(r);
    db_reader_close(r);
    db_close(db);
}

/* An event of many bytes, and a small one behind it. */
static struct weir_slice large_event(char *bytes, size_t len)
{
    memset(bytes, 'x', len);
    memcpy(bytes, "id: 1\ndata: ", 12);
    memcpy(bytes + len - 2, "\n\n", 2);
    return slice_of(bytes, len);
}

struct large {
    struct weir_slice want;
    int n;
};

static enum weir_status see_large(void *user, uint64_t first, uint64_t last,
                                  struct weir_slice bytes)
{
    struct large *large = user;
    T_EQ(first, 1);
    T_EQ(last, 1);
    T_OK(slice_eq(bytes, large->want));
    large->n++;
    return WEIR_OK;
}

TEST(large_rows_come_back_whole)
{
    static const size_t sizes[] = {8191, 8192, 8193, 100000, 8 << 20};
    const char *folder = t_temp_dir();
    char *bytes = malloc(8 << 20);
    struct db *db = open_db(folder);
    struct db_reader *r = open_reader(folder);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char name[16];
        struct large large = {.want = large_event(bytes, sizes[i])};
        snprintf(name, sizeof name, "log%zu", i);
        T_EQ(db_begin(db), WEIR_OK);
        put_log(db, i + 1, name, 1);
        T_EQ(db_put_events(db, i + 1, 1, 1, large.want), WEIR_OK);
        T_EQ(db_end(db, i + 1), WEIR_OK);
        T_EQ(db_read_events(r, i + 1, 1, see_large, &large), WEIR_OK);
        T_EQ(large.n, 1);
    }
    check_db(r);
    free(bytes);
    db_reader_close(r);
    db_close(db);
}

TEST(same_events_twice_are_our_mistake)
{
    const char *folder = t_temp_dir();
    struct db *db = open_db(folder);
    append(db, 1, "a", 1, 3);
    T_EQ(db_begin(db), WEIR_OK);
    T_EQ(db_put_events(db, 1, 1, 1, events(1, 1)), WEIR_INTERNAL);
    db_abort(db);
    struct db_log log = log_of(2, "a", 0);
    T_EQ(db_begin(db), WEIR_OK);
    T_EQ(db_put_log(db, &log), WEIR_INTERNAL);
    db_abort(db);
    append(db, 1, "a", 4, 4);
    db_close(db);
}

/* ---- transactions ---- */

TEST(abort_leaves_nothing)
{
    const char *folder = t_temp_dir();
    struct db_log log;
    struct doc doc = {.kind = SLICE("k"), .id = SLICE("i"), .version = 1};
    struct db *db = open_db(folder);
    append(db, 1, "a", 1, 3);
    T_EQ(db_begin(db), WEIR_OK);
    put_log(db, 5, "b", 1);
    T_EQ(db_put_events(db, 5, 1, 1, events(1, 1)), WEIR_OK);
    T_EQ(db_put_doc(db, &doc), WEIR_OK);
    T_EQ(db_drop_log(db, 1), WEIR_OK);
    db_abort(db);
    T_EQ(db_settled(db), 1);
    T_EQ(db_last_id(db), 1);
    T_OK(!db_has_garbage(db));
    struct db_reader *r = open_reader(folder);
    T_EQ(db_find_log(r, SLICE("b"), &log), WEIR_NOT_FOUND);
    T_EQ(db_get_doc(r, (struct doc_key){doc.kind, doc.id}, &doc), WEIR_NOT_FOUND);
    T_EQ(read_from(r, 1, 1), 3);
    db_abort(db); /* once too often does no harm */
    append(db, 1, "a", 4, 4);
    T_EQ(read_from(r, 1, 1), 4);
    check_db(r);
    db_reader_close(r);
    T_EQ(db_begin(db), WEIR_OK);
    put_log(db, 6, "c", 0);
    db_close(db); /* aborts */
    db = open_db(folder);
    T_EQ(db_last_id(db), 1);
    db_close(db);
}

TEST(readers_see_whole_transactions_only)
{
    const char *folder = t_temp_dir();
    struct db_log log;
    struct db *db = open_db(folder);
    struct db_reader *r = open_reader(folder);
    append(db, 1, "a", 1, 1);
    T_EQ(db_begin(db), WEIR_OK);
    put_log(db, 1, "a", 2);
    T_EQ(db_put_events(db, 1, 2, 2, events(2, 2)), WEIR_OK);
    T_EQ(db_find_log(r, SLICE("a"), &log), WEIR_OK);
    T_EQ(log.last, 1);
    T_EQ(read_from(r, 1, 1), 1);
    T_EQ(db_end(db, 2), WEIR_OK);
    T_EQ(db_find_log(r, SLICE("a"), &log), WEIR_OK);
    T_EQ(log.last, 2);
    T_EQ(read_from(r, 1, 1), 2);
    db_reader_close(r);
    db_close(db);
}

/* ---- dropping and expiry ---- */

static uint64_t count_rows(const char *folder, const char *sql)
{
    sqlite3 *sqlite;
    sqlite3_stmt *s;
    T_EQ(sqlite3_open_v2(in_folder(folder, "weir.db"), &sqlite, SQLITE_OPEN_READONLY, NULL),
         SQLITE_OK);
    T_EQ(sqlite3_prepare_v2(sqlite, sql, -1, &s, NULL), SQLITE_OK);
    T_EQ(sqlite3_step(s), SQLITE_ROW);
    uint64_t n = (uint64_t)sqlite3_column_int64(s, 0);
    sqlite3_finalize(s);
    sqlite3_db_config(sqlite, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    sqlite3_close(sqlite);
    return n;
}

static void turn_over(struct db *db)
{
    T_EQ(db_begin(db), WEIR_OK);
    T_EQ(db_end(db, db_settled(db) + 1), WEIR_OK);
}

TEST(dropped_log_frees_its_name_at_once_and_its_rows_in_time)
{
    static const char rows[] = "SELECT count(*) FROM chunks";
    const char *folder = t_temp_dir();
    struct db_log log;
    struct db *db = open_db(folder);
    T_EQ(db_begin(db), WEIR_OK);
    put_log(db, 1, "a", 600);
    for (uint64_t i = 1; i <= 600; i++) T_EQ(db_put_events(db, 1, i, i, events(i, i)), WEIR_OK);
    T_EQ(db_end(db, 1), WEIR_OK);
    T_EQ(db_begin(db), WEIR_OK);
    T_EQ(db_drop_log(db, 1), WEIR_OK);
    put_log(db, 2, "a", 2);
    T_EQ(db_put_events(db, 2, 1, 2, events(1, 2)), WEIR_OK);
    T_EQ(db_end(db, 2), WEIR_OK);
    T_OK(db_has_garbage(db));
    struct db_reader *r = open_reader(folder);
    T_EQ(db_find_log(r, SLICE("a"), &log), WEIR_OK);
    T_EQ(log.id, 2);
    T_EQ(read_from(r, 2, 1), 2);
    T_EQ(read_from(r, 1, 1), 600 - 256); /* a shorter log, but one without a hole */
    check_db(r);
    T_EQ(count_rows(folder, rows), 601 - 256);
    db_close(db);
    db = open_db(folder);
    T_OK(db_has_garbage(db)); /* over restarts too */
    turn_over(db);
    T_OK(db_has_garbage(db));
    turn_over(db);
    T_OK(!db_has_garbage(db));
    T_EQ(count_rows(folder, rows), 1);
    T_EQ(count_rows(folder, "SELECT count(*) FROM garbage"), 0);
    T_EQ(db_last_id(db), 2);
    check_db(r);
    db_reader_close(r);
    db_close(db);
}

TEST(garbage_of_large_rows_goes_a_few_megabytes_at_a_time)
{
    const char *folder = t_temp_dir();
    char *bytes = malloc(1 << 20);
    struct db *db = open_db(folder);
    T_EQ(db_begin(db), WEIR_OK);
    put_log(db, 1, "a", 10);
    for (uint64_t i = 1; i <= 10; i++)
        T_EQ(db_put_events(db, 1, i, i, large_event(bytes, 1 << 20)), WEIR_OK);
    T_EQ(db_end(db, 1), WEIR_OK);
    T_EQ(db_begin(db), WEIR_OK);
    T_EQ(db_drop_log(db, 1), WEIR_OK);
    T_EQ(db_end(db, 2), WEIR_OK);
    T_EQ(count_rows(folder, "SELECT count(*) FROM chunks"), 6);
    turn_over(db);
    T_EQ(count_rows(folder, "SELECT count(*) FROM chunks"), 2);
    turn_over(db);
    T_OK(!db_has_garbage(db));
    free(bytes);
    db_close(db);
}

TEST(dropping_many_logs_without_rows_is_bounded_too)
{
    const char *folder = t_temp_dir();
    struct db *db = open_db(folder);
    T_EQ(db_begin(db), WEIR_OK);
    for (uint64_t id = 1; id <= 600; id++) T_EQ(db_drop_log(db, id), WEIR_OK);
    T_EQ(db_drop_log(db, 600), WEIR_OK);
    T_EQ(db_end(db, 1), WEIR_OK);
    T_EQ(count_rows(folder, "SELECT count(*) FROM garbage"), 600 - 256);
    turn_over(db);
    turn_over(db);
    T_OK(!db_has_garbage(db));
    db_close(db);
}

struct expired {
    char names[64];
    size_t limit;
};

static enum weir_status see_expired(void *user, const struct db_log *log)
{
    struct expired *e = user;
    size_t len = strlen(e->names);
    snprintf(e->names + len, sizeof e->names - len, "%.*s@%d%s ", (int)log->name.len, log->name.ptr,
             (int)log->expires_ms, log->is_sealed ? "!" : "");
    return WEIR_OK;
}

static void expect_expired(struct db_reader *r, int64_t now, size_t limit, const char *want)
{
    struct expired e = {.names = ""};
    T_EQ(db_list_expired(r, now, limit, see_expired, &e), WEIR_OK);
    T_EQ_STR(str(e.names), want);
}

TEST(expired_logs_are_listed_by_time)
{
    static const struct db_log logs[] = {
        {1, {"a", 1}, 0, true, 300},        {2, {"b", 1}, 0, true, 100},
        {3, {"c", 1}, 0, false, INT64_MAX}, {4, {"d", 1}, 0, false, 200},
        {5, {"e", 1}, 0, true, -5},
    };
    const char *folder = t_temp_dir();
    struct db *db = open_db(folder);
    struct db_reader *r = open_reader(folder);
    T_EQ(db_begin(db), WEIR_OK);
    for (size_t i = 0; i < 5; i++) T_EQ(db_put_log(db, &logs[i]), WEIR_OK);
    T_EQ(db_end(db, 1), WEIR_OK);
    expect_expired(r, -6, 10, "");
    expect_expired(r, 199, 10, "e@-5! b@100! ");
    expect_expired(r, 200, 10, "e@-5! b@100! d@200 ");
    expect_expired(r, INT64_MAX, 10, "e@-5! b@100! d@200 a@300! ");
    expect_expired(r, INT64_MAX, 2, "e@-5! b@100! ");
    expect_expired(r, INT64_MAX, 0, "");
    struct db_log kept = logs[4];
    kept.expires_ms = INT64_MAX;
    T_EQ(db_begin(db), WEIR_OK);
    T_EQ(db_put_log(db, &kept), WEIR_OK);
    T_EQ(db_drop_log(db, 2), WEIR_OK);
    T_EQ(db_end(db, 2), WEIR_OK);
    expect_expired(r, 1000, 10, "d@200 a@300! ");
    db_reader_close(r);
    db_close(db);
}

/* ---- documents ---- */

static void put_doc(struct db *db, struct weir_slice kind, struct weir_slice id,
                    struct weir_slice owner)
{
    struct doc doc = {.kind = kind, .id = id, .owner = owner, .version = 1, .body = id};
    T_EQ(db_put_doc(db, &doc), WEIR_OK);
}

TEST(documents_are_put_changed_and_removed)
{
    const char *folder = t_temp_dir();
    struct doc_key key = {SLICE("kind"), SLICE("i\0d")};
    struct doc doc = {.kind = key.kind, .id = key.id, .owner = SLICE("o"), .version = 1};
    struct doc got;
    struct db *db = open_db(folder);
    struct db_reader *r = open_reader(folder);
    T_EQ(db_get_doc(r, key, &got), WEIR_NOT_FOUND);
    T_OK(!got.memory);
    for (int i = 1; i <= 3; i++) {
        char body[32];
        snprintf(body, sizeof body, "body %d", i);
        doc.version = i;
        doc.body = i == 3 ? (struct weir_slice){0} : str(body);
        doc.owner = i == 3 ? (struct weir_slice){0} : SLICE("o");
        T_EQ(db_begin(db), WEIR_OK);
        T_EQ(db_put_doc(db, &doc), WEIR_OK);
        T_EQ(db_end(db, (uint64_t)i), WEIR_OK);
        T_EQ(db_get_doc(r, key, &got), WEIR_OK);
        T_EQ(got.version, i);
        T_EQ_SLICE(got.kind, doc.kind);
        T_EQ_SLICE(got.id, doc.id);
        T_EQ_SLICE(got.owner, doc.owner);
        T_EQ_SLICE(got.body, doc.body);
        doc_fini(&got);
    }
    T_EQ(db_begin(db), WEIR_OK);
    T_EQ(db_remove_doc(db, key), WEIR_OK);
    T_EQ(db_remove_doc(db, key), WEIR_OK);
    T_EQ(db_end(db, 4), WEIR_OK);
    T_EQ(db_get_doc(r, key, &got), WEIR_NOT_FOUND);
    db_reader_close(r);
    db_close(db);
}

TEST(document_without_memory_for_it_is_an_error)
{
    const char *folder = t_temp_dir();
    struct doc got;
    struct db *db = open_db(folder);
    struct db_reader *r = open_reader(folder);
    T_EQ(db_begin(db), WEIR_OK);
    put_doc(db, SLICE("k"), SLICE("i"), SLICE("o"));
    T_EQ(db_end(db, 1), WEIR_OK);
    fault_arm(FAULT_ALLOC, 1, FAULT_ONCE);
    T_EQ(db_get_doc(r, (struct doc_key){SLICE("k"), SLICE("i")}, &got), WEIR_NOMEM);
    T_OK(!got.memory);
    struct db *none;
    fault_arm(FAULT_ALLOC, 1, FAULT_ONCE);
    T_EQ(db_open(&none, folder, NULL), WEIR_NOMEM);
    struct db_reader *no_reader;
    fault_arm(FAULT_ALLOC, 1, FAULT_ONCE);
    T_EQ(db_reader_open(&no_reader, folder), WEIR_NOMEM);
    fault_disarm_all();
    db_reader_close(r);
    db_close(db);
}

/* Ids that rise byte for byte. */
static const struct weir_slice ids[] = {
    {"\0", 1},   {"\0\0", 2}, {"A", 1}, {"Z", 1},        {"a", 1},    {"a\0", 2},
    {"a\0z", 3}, {"aa", 2},   {"b", 1}, {"\xc3\xa4", 2}, {"\xff", 1}, {"\xff\xff", 2},
};
enum { N_IDS = sizeof ids / sizeof *ids };

struct listed {
    size_t next; /* index into ids */
    size_t step; /* every which one is due */
    size_t n;
    struct weir_slice owner;
};

static enum weir_status see_doc(void *user, const struct doc *doc)
{
    struct listed *l = user;
    T_OK(l->next < N_IDS);
    if (l->next >= N_IDS) return WEIR_INTERNAL;
    T_EQ_SLICE(doc->id, ids[l->next]);
    T_EQ_SLICE(doc->body, ids[l->next]);
    T_EQ_SLICE(doc->kind, SLICE("k"));
    if (l->owner.len > 0) T_EQ_SLICE(doc->owner, l->owner);
    T_OK(!doc->memory);
    l->next += l->step;
    l->n++;
    return WEIR_OK;
}

/* Pages through documents, each page from the last id of the one before. */
static void page_through(struct db_reader *r, struct listed want, size_t limit)
{
    struct weir_slice after = {0};
    size_t n_before = 0;
    struct listed l = want;
    do {
        n_before = l.n;
        struct doc_query query = {
            .kind = SLICE("k"), .owner = want.owner, .after = after, .limit = limit};
        T_EQ(db_list_docs(r, &query, see_doc, &l), WEIR_OK);
        T_OK(l.n - n_before <= limit);
        if (l.n > n_before) after = ids[l.next - l.step];
    } while (l.n > n_before);
    T_EQ(l.n, (N_IDS - want.next + want.step - 1) / want.step);
}

TEST(documents_are_listed_by_bytes_in_pages)
{
    const char *folder = t_temp_dir();
    struct db *db = open_db(folder);
    struct db_reader *r = open_reader(folder);
    T_EQ(db_begin(db), WEIR_OK);
    for (size_t i = N_IDS; i-- > 0;) {
        put_doc(db, SLICE("k"), ids[i],
                i % 3 == 0   ? SLICE("odin")
                : i % 3 == 1 ? SLICE("thor")
                             : SLICE(""));
        put_doc(db, SLICE("j"), ids[i], SLICE("odin"));
        put_doc(db, SLICE("kk"), ids[i], SLICE("thor"));
    }
    T_EQ(db_end(db, 1), WEIR_OK);
    for (size_t limit = 1; limit <= N_IDS + 1; limit++) {
        page_through(r, (struct listed){.next = 0, .step = 1}, limit);
        page_through(r, (struct listed){.next = 0, .step = 3, .owner = SLICE("odin")}, limit);
        page_through(r, (struct listed){.next = 1, .step = 3, .owner = SLICE("thor")}, limit);
    }
    static const struct doc_query empty[] = {
        {.kind = SLICE("k"), .owner = SLICE("loki"), .limit = 9},
        {.kind = SLICE(""), .limit = 9},
        {.kind = SLICE("k"), .limit = 0},
        {.kind = SLICE("k"), .after = SLICE("\xff\xff"), .limit = 9},
    };
    struct listed none = {.step = 1};
    for (size_t i = 0; i < sizeof empty / sizeof *empty; i++)
        T_EQ(db_list_docs(r, &empty[i], see_doc, &none), WEIR_OK);
    T_EQ(none.n, 0);
    db_reader_close(r);
    db_close(db);
}

TEST(readers_scan_and_sort_nothing)
{
    const char *folder = t_temp_dir();
    struct db *db = open_db(folder);
    struct db_reader *r = open_reader(folder);
    for (size_t i = 0; i < N_READ_STATEMENTS; i++) {
        char sql[512];
        sqlite3_stmt *s;
        snprintf(sql, sizeof sql, "EXPLAIN QUERY PLAN %s", sqlite3_sql(r->statements[i]));
        T_EQ(sqlite3_prepare_v2(r->sqlite, sql, -1, &s, NULL), SQLITE_OK);
        while (sqlite3_step(s) == SQLITE_ROW) {
            const char *plan = (const char *)sqlite3_column_text(s, 3);
            if (strncmp(plan, "SCAN", 4) == 0 || strstr(plan, "TEMP"))
                t_fail(__FILE__, __LINE__, "statement %zu: %s", i, plan);
        }
        sqlite3_finalize(s);
    }
    db_reader_close(r);
    db_close(db);
}

/* ---- threads ---- */

struct reading {
    const char *folder;
    atomic_bool *is_over;
    uint64_t n_reads;
};

/* Reads what there is, again and again; it never gets less, and is never without a part. */
static void *read_on(void *user)
{
    struct reading *reading = user;
    struct db_reader *r = open_reader(reading->folder);
    uint64_t before = 0;
    bool is_last = false;
    while (!is_last) {
        struct db_log log;
        is_last = atomic_load(reading->is_over);
        enum weir_status st = db_find_log(r, SLICE("a"), &log);
        T_OK(st == WEIR_OK || (st == WEIR_NOT_FOUND && before == 0));
        T_OK(log.last >= before);
        T_OK(read_from(r, 1, 1) >= log.last);
        before = log.last;
        reading->n_reads++;
    }
    T_EQ(before, 300);
    db_reader_close(r);
    return NULL;
}

TEST(readers_in_other_threads_see_a_growing_log)
{
    const char *folder = t_temp_dir();
    pthread_t threads[3];
    struct reading readings[3];
    atomic_bool is_over = false;
    struct db *db = open_db(folder);
    for (size_t i = 0; i < 3; i++) {
        readings[i] = (struct reading){folder, &is_over, 0};
        T_EQ(pthread_create(&threads[i], NULL, read_on, &readings[i]), 0);
    }
    for (uint64_t n = 1; n <= 100; n++) append(db, 1, "a", 3 * n - 2, 3 * n);
    atomic_store(&is_over, true);
    for (size_t i = 0; i < 3; i++) {
        T_EQ(pthread_join(threads[i], NULL), 0);
        T_OK(readings[i].n_reads > 0);
    }
    db_close(db);
}
