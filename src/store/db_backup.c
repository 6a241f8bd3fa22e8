/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The copy of a database while it is written to. One transaction of the reader covers it
 * all, so the copy is one state; the write-ahead log cannot be used again meanwhile.
 *
 * The new file is ours alone until it is whole: it is made so that it cannot be another's,
 * synced once at the end, and taken away again if anything fails.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"
#include "io/file.h"
#include "store/db_impl.h"

static WEIR_MUST_CHECK enum weir_status make_file(const char *path, struct store_error *error)
{
    struct file f;
    enum weir_status st = file_open(&f, path, FILE_MUST_CREATE);
    if (st != WEIR_OK) db_explain(error, "%s cannot be made: %s", path, strerror(errno));
    if (st != WEIR_OK && errno == EEXIST) st = WEIR_EXISTS;
    file_close(&f);
    return st;
}

static WEIR_MUST_CHECK enum weir_status copy_pages(sqlite3 *from, sqlite3 *to)
{
    /* There is nothing to go back to: no journal on the disk, and the sync comes later. */
    enum weir_status st = db_exec(to, "PRAGMA journal_mode=MEMORY;PRAGMA synchronous=OFF");
    if (st != WEIR_OK) return st;
    sqlite3_backup *backup = sqlite3_backup_init(to, "main", from, "main");
    if (!backup) return db_status(to, sqlite3_errcode(to));
    int rc = sqlite3_backup_step(backup, -1);
    int rc_end = sqlite3_backup_finish(backup);
    if (rc != SQLITE_DONE) return rc == SQLITE_OK ? WEIR_INTERNAL : db_status(to, rc);
    return db_status(to, rc_end);
}

static WEIR_MUST_CHECK enum weir_status sync_file(const char *path)
{
    struct file f;
    char folder[DB_PATH_BYTES];
    const char *slash = strrchr(path, '/');
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) + 1 : 1,
             slash ? path : ".");
    enum weir_status st = file_open(&f, path, FILE_MUST_EXIST);
    if (st != WEIR_OK) return st;
    st = file_sync(&f);
    file_close(&f);
    return st == WEIR_OK ? file_sync_folder(folder) : st;
}

enum weir_status db_backup(struct db_reader *r, const char *path, struct store_error *error)
{
    sqlite3 *to = NULL;
    CHECK(r->magic == DB_READER_MAGIC);
    if (strlen(path) >= DB_PATH_BYTES) {
        db_explain(error, "the path of the copy is too long");
        return WEIR_INVALID;
    }
    enum weir_status st = make_file(path, error);
    if (st != WEIR_OK) return st;
    st = db_connect(&to, path, SQLITE_OPEN_READWRITE);
    if (st == WEIR_OK) st = copy_pages(r->sqlite, to);
    sqlite3_close(to);
    if (st == WEIR_OK) st = sync_file(path);
    if (st == WEIR_OK) return WEIR_OK;
    db_explain(error, "%s cannot be written: %s", path, weir_status_text(st));
    unlink(path);
    return st;
}
