/* SPDX-License-Identifier: Apache-2.0 */
/* The check finds what is wrong, and nothing else. */
#include <stdlib.h>
#include <sys/stat.h>

#include "io/file.h"
#include "store/db_impl.h"
#include "t.h"
#include "unit/store/db_help.h"

struct complaints {
    char text[1024];
    uint64_t n;
};

static void add_complaint(void *user, const char *text)
{
    struct complaints *c = user;
    size_t len = strlen(c->text);
    snprintf(c->text + len, sizeof c->text - len, "%s; ", text);
    c->n++;
}

static void make_store(const char *folder)
{
    struct doc doc = {.kind = SLICE("k"), .id = SLICE("i"), .version = 1};
    struct db *db = open_db(folder);
    append(db, 1, "a", 1, 5);
    append(db, 1, "a", 6, 9);
    append(db, 2, "b", 1, 3);
    T_EQ(db_begin(db), WEIR_OK);
    put_log(db, 3, "empty", 0);
    T_EQ(db_put_doc(db, &doc), WEIR_OK);
    T_EQ(db_end(db, 4), WEIR_OK);
    db_close(db);
}

static void expect_complaint(const char *folder, const char *want)
{
    struct complaints c = {.n = 0};
    uint64_t n_wrong = 0;
    struct db_reader *r = open_reader(folder);
    T_EQ(db_check(r, add_complaint, &c, &n_wrong), WEIR_OK);
    T_OK(n_wrong > 0);
    T_EQ(n_wrong, c.n);
    if (!strstr(c.text, want)) t_fail(__FILE__, __LINE__, "\"%s\" lacks \"%s\"", c.text, want);
    T_EQ(db_check(r, NULL, NULL, &n_wrong), WEIR_OK);
    T_EQ(n_wrong, c.n);
    db_reader_close(r);
}

TEST(damage_by_sql_is_found)
{
    static const struct {
        const char *sql;
        const char *want;
    } rows[] = {
        {"UPDATE logs SET last = 10 WHERE id = 1", "log 1: events up to 9, but it says 10"},
        {"UPDATE logs SET last = 1 WHERE id = 3", "log 3: events up to 0, but it says 1"},
        {"DELETE FROM chunks WHERE log = 1 AND first = 1", "event 1 is due, a row begins with 6"},
        {"UPDATE chunks SET first = 5 WHERE first = 6", "event 6 is due, a row begins with 5"},
        {"UPDATE chunks SET last = 0 WHERE first = 6", "a row with events 6 to 0"},
        {"UPDATE chunks SET last = 10 WHERE first = 6", "row 6 to 10: bad event 10"},
        {"UPDATE chunks SET last = 8 WHERE first = 6", "row 6 to 8: bad event 9"},
        {"UPDATE chunks SET bytes = x'' WHERE first = 6", "row 6 to 9: bad event 6"},
        {"DELETE FROM logs WHERE id = 2", "log 2: there are events of it, but no such log"},
        {"UPDATE meta SET last_log_id = 2", "log 3: its id is not one that was given"},
        {"DELETE FROM meta", "the database's own row is not there"},
        {"UPDATE docs SET version = 0", "document k i: its version is 0"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char folder[256];
        sqlite3 *sqlite;
        snprintf(folder, sizeof folder, "%s/%zu", t_temp_dir(), i);
        T_EQ(mkdir(folder, 0700), 0);
        make_store(folder);
        T_EQ(sqlite3_open(in_folder(folder, "weir.db"), &sqlite), SQLITE_OK);
        T_EQ(sqlite3_exec(sqlite, rows[i].sql, NULL, NULL, NULL), SQLITE_OK);
        T_EQ(sqlite3_close(sqlite), SQLITE_OK);
        expect_complaint(folder, rows[i].want);
    }
}

/* Whether one row with these bytes, as events 1..last, is complained about. */
static bool is_wrong(const char *folder, uint64_t last, struct weir_slice bytes)
{
    uint64_t n_wrong = 0;
    struct db *db = open_db(folder);
    struct db_log log = log_of(db_last_id(db) + 1, "a", last);
    T_EQ(db_begin(db), WEIR_OK);
    if (log.id > 1) T_EQ(db_drop_log(db, log.id - 1), WEIR_OK);
    T_EQ(db_put_log(db, &log), WEIR_OK);
    T_EQ(db_put_events(db, log.id, 1, last, bytes), WEIR_OK);
    T_EQ(db_end(db, 1), WEIR_OK);
    struct db_reader *r = open_reader(folder);
    T_EQ(db_check(r, NULL, NULL, &n_wrong), WEIR_OK);
    db_reader_close(r);
    db_close(db);
    return n_wrong > 0;
}

TEST(rows_must_be_well_formed_events)
{
    static const struct weir_slice good[] = {SLICE("id: 1\n\n"), SLICE("id: 1\ndata: x\n\n"),
                                             SLICE("id: 1\ndata\n:\nevent: y\n\n")};
    static const struct weir_slice bad[] = {
        SLICE(""),
        SLICE("id: 1\n"),
        SLICE("id: 1\ndata: x\n"),
        SLICE("id: 2\ndata: x\n\n"),
        SLICE("id: 01\ndata: x\n\n"),
        SLICE("id: 1 \ndata: x\n\n"),
        SLICE("data: x\nid: 1\n\n"),
        SLICE("id: 1\ndata: x\n\n\n"),
        SLICE("id: 1\ndata: x\n\nid: 2\ndata: y\n\n"),
        SLICE("id: 1\r\ndata: x\n\n"),
        SLICE("id: 1\ndata: x\r\n\n"),
        SLICE("id: 1\ndata: \0\n\n"),
    };
    const char *folder = t_temp_dir();
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) T_OK(!is_wrong(folder, 1, good[i]));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (!is_wrong(folder, 1, bad[i])) t_fail(__FILE__, __LINE__, "bad row %zu is taken", i);
    T_OK(!is_wrong(folder, 2, SLICE("id: 1\ndata: x\n\nid: 2\ndata: y\n\n")));
    T_OK(is_wrong(folder, 3, SLICE("id: 1\ndata: x\n\nid: 2\ndata: y\n\n")));
}

/* Writes over some bytes of the database file. */
static void damage(const char *folder, uint64_t offset, size_t len)
{
    struct file f;
    char bytes[4096];
    memset(bytes, 0x5a, sizeof bytes);
    T_EQ(file_open(&f, in_folder(folder, "weir.db"), FILE_MUST_EXIST), WEIR_OK);
    T_EQ(file_write_at(&f, slice_of(bytes, len), offset), WEIR_OK);
    file_close(&f);
}

TEST(damaged_pages_are_found_and_never_a_crash)
{
    char folder[256];
    uint64_t n_pages = 2;
    for (uint64_t page = 1; page < n_pages; page++) {
        uint64_t n_wrong = 0;
        uint64_t size = 0;
        struct file f;
        snprintf(folder, sizeof folder, "%s/%u", t_temp_dir(), (unsigned)page);
        T_EQ(mkdir(folder, 0700), 0);
        make_store(folder);
        T_EQ(file_open(&f, in_folder(folder, "weir.db"), FILE_MUST_EXIST), WEIR_OK);
        T_EQ(file_size(&f, &size), WEIR_OK);
        file_close(&f);
        n_pages = size / 8192;
        damage(folder, page * 8192, 64);
        struct db_reader *r;
        enum weir_status st = db_reader_open(&r, folder);
        if (st != WEIR_OK) {
            T_EQ(st, WEIR_CORRUPT);
            continue;
        }
        T_EQ(db_check(r, NULL, NULL, &n_wrong), WEIR_OK);
        if (n_wrong == 0) t_fail(__FILE__, __LINE__, "damage to page %u", (unsigned)page);
        db_reader_close(r);
    }
    T_OK(n_pages >= 8);
}

TEST(random_damage_is_never_a_crash)
{
    const char *folder = t_temp_dir();
    make_store(folder);
    struct weir_slice whole = t_read_file(in_folder(folder, "weir.db"));
    for (int i = 0; i < 200; i++) {
        uint64_t n_wrong = 0;
        struct db_reader *r;
        struct db_log log;
        FILE *f = fopen(in_folder(folder, "weir.db"), "wb");
        T_OK(f && fwrite(whole.ptr, 1, whole.len, f) == whole.len);
        fclose(f);
        damage(folder, 100 + t_random() % (whole.len - 200), (size_t)(t_random() % 20 + 1));
        if (db_reader_open(&r, folder) != WEIR_OK) continue;
        T_EQ(db_check(r, NULL, NULL, &n_wrong), WEIR_OK);
        enum weir_status st = db_find_log(r, SLICE("a"), &log);
        T_OK(st == WEIR_OK || st == WEIR_NOT_FOUND || st == WEIR_CORRUPT);
        db_reader_close(r);
    }
}
