/* SPDX-License-Identifier: Apache-2.0 */
/* The copy is a store, or it is not there. */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>

#include "base/fault.h"
#include "io/file.h"
#include "store/db_impl.h"
#include "t.h"
#include "unit/store/db_help.h"

/* A path for a copy, in a folder of its own that can be opened as a store. */
static const char *copy_path(unsigned number, char folder[256])
{
    static char path[300];
    snprintf(folder, 256, "%s/copy-%u", t_temp_dir(), number);
    T_EQ(mkdir(folder, 0700), 0);
    snprintf(path, sizeof path, "%s/weir.db", folder);
    return path;
}

TEST(copy_opens_as_a_store_and_goes_on)
{
    char folder[256];
    struct stat info;
    struct store_error error;
    struct db *db = open_db(t_temp_dir());
    append(db, 1, "a", 1, 5);
    append(db, 2, "b", 1, 50);
    struct db_reader *r = open_reader(t_temp_dir());
    const char *path = copy_path(1, folder);
    T_EQ(db_backup(r, path, &error), WEIR_OK);
    append(db, 1, "a", 6, 7);
    T_EQ(stat(path, &info), 0);
    T_EQ(info.st_mode & 0777, 0600);
    T_OK(!file_exists(in_folder(folder, "weir.db-journal")));
    T_OK(!file_exists(in_folder(folder, "weir.db-wal")));
    struct db *copy = open_db(folder);
    struct db_reader *copy_reader = open_reader(folder);
    T_EQ(db_settled(copy), 2);
    T_EQ(db_last_id(copy), 2);
    T_EQ(read_from(copy_reader, 1, 1), 5);
    T_EQ(read_from(copy_reader, 2, 1), 50);
    append(copy, 1, "a", 6, 6);
    check_db(copy_reader);
    T_EQ(read_from(r, 1, 1), 7);
    db_reader_close(copy_reader);
    db_close(copy);
    db_reader_close(r);
    db_close(db);
}

TEST(copy_never_takes_a_file_that_is_there)
{
    char path[300];
    struct store_error error = {""};
    struct db *db = open_db(t_temp_dir());
    struct db_reader *r = open_reader(t_temp_dir());
    snprintf(path, sizeof path, "%s/copy", t_temp_dir());
    FILE *f = fopen(path, "w");
    T_OK(f && fputs("mine", f) >= 0);
    fclose(f);
    T_EQ(db_backup(r, path, &error), WEIR_EXISTS);
    T_OK(strstr(error.text, path));
    T_EQ_STR(t_read_file(path), "mine");
    snprintf(path, sizeof path, "%s/none/copy", t_temp_dir());
    T_EQ(db_backup(r, path, &error), WEIR_IO);
    T_EQ(db_backup(r, path, NULL), WEIR_IO);
    db_reader_close(r);
    db_close(db);
}

TEST(failing_copy_is_taken_away)
{
    static const enum fault_point points[] = {FAULT_WRITE, FAULT_SYNC};
    static const enum weir_status statuses[] = {WEIR_NO_SPACE, WEIR_IO};
    struct db *db = open_db(t_temp_dir());
    for (uint64_t i = 1; i <= 5; i++) append(db, i, (const char[]){(char)('a' + i), 0}, 1, 100);
    struct db_reader *r = open_reader(t_temp_dir());
    char path[300];
    for (size_t p = 0; p < 2; p++) {
        snprintf(path, sizeof path, "%s/copy-%zu", t_temp_dir(), p);
        bool was_hit = true;
        for (uint64_t nth = 1; was_hit && nth < 500; nth++) {
            struct store_error error = {""};
            fault_arm(points[p], nth, FAULT_ONCE);
            enum weir_status st = db_backup(r, path, &error);
            was_hit = fault_count(points[p]) >= nth;
            fault_disarm_all();
            T_EQ(st, was_hit ? statuses[p] : WEIR_OK);
            T_EQ(error.text[0] != 0, was_hit);
            T_EQ(file_exists(path), !was_hit);
        }
    }
    check_db(r);
    db_reader_close(r);
    db_close(db);
}

/* ---- while writing goes on ---- */

static void *write_on(void *user)
{
    struct db *db = user;
    for (uint64_t i = 1; i <= 100; i++) append(db, 1, "a", 4 * i - 3, 4 * i);
    return NULL;
}

TEST(copies_made_while_writing_goes_on_are_whole)
{
    pthread_t thread;
    struct db *db = open_db(t_temp_dir());
    struct db_reader *r = open_reader(t_temp_dir());
    T_EQ(pthread_create(&thread, NULL, write_on, db), 0);
    for (unsigned i = 0; i < 10; i++) {
        char folder[256];
        struct store_error error;
        T_EQ(db_backup(r, copy_path(i, folder), &error), WEIR_OK);
        struct db *copy = open_db(folder);
        struct db_reader *copy_reader = open_reader(folder);
        check_db(copy_reader);
        T_EQ(read_from(copy_reader, 1, 1), 4 * db_settled(copy));
        db_reader_close(copy_reader);
        db_close(copy);
    }
    T_EQ(pthread_join(thread, NULL), 0);
    T_EQ(read_from(r, 1, 1), 400);
    db_reader_close(r);
    db_close(db);
}
