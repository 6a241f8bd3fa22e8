/* SPDX-License-Identifier: Apache-2.0 */
/* What goes through the windows in SQLite's way to the disk: watching, failing, power cuts. */
#include "store/db_vfs.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "base/fault.h"
#include "io/file.h"
#include "store/db_impl.h"
#include "t.h"
#include "unit/store/db_help.h"

static const char *new_folder(const char *name, size_t number)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s-%zu", t_temp_dir(), name, number);
    T_EQ(mkdir(path, 0700), 0);
    return path;
}

/* ---- a tape of all that is done to the files ---- */

enum { MAX_OPS = 2000, N_FILES = 3, FILE_BYTES = 4 << 20, SECTOR = 512 };

static const char *const names[N_FILES] = {"weir.db", "weir.db-wal", "weir.db-journal"};

enum kind { WRITE, SYNC, TRUNCATE, REMOVE, SYNC_FOLDER };

struct op {
    enum kind kind;
    size_t file;
    uint64_t offset; /* or size */
    struct weir_slice bytes;
    uint64_t acked; /* transactions that were known to be there, and that might be */
    uint64_t begun;
};

struct tape {
    struct op ops[MAX_OPS];
    size_t n;
    uint64_t acked;
    uint64_t begun;
};

static size_t file_index(const char *name)
{
    size_t i = 0;
    while (i < N_FILES && strcmp(names[i], name) != 0) i++;
    if (i == N_FILES) t_fail(__FILE__, __LINE__, "no such file: %s", name);
    return i % N_FILES;
}

static void add_op(struct tape *tape, struct op op)
{
    T_OK(tape->n < MAX_OPS);
    op.acked = tape->acked;
    op.begun = tape->begun;
    tape->ops[tape->n++] = op;
}

static void tape_write(void *user, const char *name, uint64_t offset, struct weir_slice bytes)
{
    char *copy = malloc(bytes.len);
    memcpy(copy, bytes.ptr, bytes.len);
    T_OK(offset + bytes.len <= FILE_BYTES);
    add_op(user, (struct op){WRITE, file_index(name), offset, slice_of(copy, bytes.len), 0, 0});
}

static void tape_sync(void *user, const char *name)
{
    bool is_folder = strcmp(name, FILE_FOLDER_NAME) == 0;
    add_op(user, is_folder ? (struct op){.kind = SYNC_FOLDER}
                           : (struct op){.kind = SYNC, .file = file_index(name)});
}

static void tape_truncate(void *user, const char *name, uint64_t size)
{
    add_op(user, (struct op){.kind = TRUNCATE, .file = file_index(name), .offset = size});
}

static void tape_remove(void *user, const char *name)
{
    add_op(user, (struct op){.kind = REMOVE, .file = file_index(name)});
}

/* ---- the disk that a prefix of the tape makes ---- */

struct image {
    bool is_there;
    uint64_t size;
    char bytes[FILE_BYTES];
};

struct disk {
    struct image files[N_FILES];
};

static void apply_write(struct image *f, const struct op *op, bool is_whole)
{
    for (size_t at = 0; at < op->bytes.len;) {
        uint64_t to = op->offset + at;
        size_t n = SECTOR - (size_t)(to % SECTOR);
        if (n > op->bytes.len - at) n = op->bytes.len - at;
        if (is_whole || t_random() % 2) {
            memcpy(f->bytes + to, op->bytes.ptr + at, n);
            if (to + n > f->size) f->size = to + n;
        }
        at += n;
    }
    f->is_there = true;
}

static void apply_truncate(struct image *f, uint64_t size)
{
    if (size < f->size) memset(f->bytes + size, 0, (size_t)(f->size - size));
    f->size = size;
}

static void apply(struct disk *disk, const struct op *op, bool is_safe)
{
    struct image *f = &disk->files[op->file];
    switch (op->kind) {
    case WRITE: apply_write(f, op, is_safe); break;
    case TRUNCATE:
        if (is_safe || t_random() % 2) apply_truncate(f, op->offset);
        break;
    case REMOVE:
        if (!is_safe && t_random() % 2) break;
        apply_truncate(f, 0);
        f->is_there = false;
        break;
    case SYNC:
    case SYNC_FOLDER: break;
    }
}

/*
 * What a power cut behind the first n operations may leave: all that was synced, and of the
 * rest some sectors, some truncations, some removals.
 */
static void cut_power(const struct tape *tape, size_t n, struct disk *disk)
{
    size_t last_sync[N_FILES] = {0};
    size_t last_sync_folder = 0;
    memset(disk, 0, sizeof *disk);
    for (size_t i = 0; i < n; i++) {
        if (tape->ops[i].kind == SYNC) last_sync[tape->ops[i].file] = i;
        if (tape->ops[i].kind == SYNC_FOLDER) last_sync_folder = i;
    }
    for (size_t i = 0; i < n; i++) {
        const struct op *op = &tape->ops[i];
        apply(disk, op, i < (op->kind == REMOVE ? last_sync_folder : last_sync[op->file]));
    }
}

static void write_disk(const struct disk *disk, const char *folder)
{
    for (size_t i = 0; i < N_FILES; i++) {
        const struct image *file = &disk->files[i];
        if (!file->is_there) continue;
        FILE *f = fopen(in_folder(folder, names[i]), "wb");
        T_OK(f && fwrite(file->bytes, 1, file->size, f) == file->size);
        fclose(f);
    }
}

/* ---- runs ---- */

/* Transaction n puts a row of three events, a document with version n, and drops a log. */
static enum weir_status transact(struct db *db, uint64_t n)
{
    char name[32];
    struct doc doc = {.kind = SLICE("k"), .id = SLICE("i"), .version = (int64_t)n};
    struct db_log log = log_of(1, "log", 3 * n);
    enum weir_status st = db_begin(db);
    if (st == WEIR_OK) st = db_put_log(db, &log);
    if (st == WEIR_OK) st = db_put_events(db, 1, 3 * n - 2, 3 * n, events(3 * n - 2, 3 * n));
    if (st == WEIR_OK) st = db_put_doc(db, &doc);
    if (st == WEIR_OK) st = db_drop_log(db, n + 99);
    snprintf(name, sizeof name, "short %u", (unsigned)n);
    log = log_of(n + 100, name, 1);
    if (st == WEIR_OK) st = db_put_log(db, &log);
    if (st == WEIR_OK) st = db_put_events(db, n + 100, 1, 1, events(1, 1));
    if (st == WEIR_OK) st = db_end(db, n);
    return st;
}

/* After any number of transactions all of them are there, whole. Returns how many. */
static uint64_t expect_whole(const char *folder)
{
    struct doc doc;
    struct db_log log;
    struct db *db = open_db(folder);
    struct db_reader *r = open_reader(folder);
    uint64_t n = db_settled(db);
    check_db(r);
    T_EQ(read_from(r, 1, 1), 3 * n);
    T_EQ(db_find_log(r, SLICE("log"), &log), n > 0 ? WEIR_OK : WEIR_NOT_FOUND);
    T_EQ(log.last, 3 * n);
    T_EQ(db_get_doc(r, (struct doc_key){SLICE("k"), SLICE("i")}, &doc),
         n > 0 ? WEIR_OK : WEIR_NOT_FOUND);
    T_EQ(doc.version, n);
    doc_fini(&doc);
    T_EQ(db_last_id(db), n > 0 ? n + 100 : 0);
    db_reader_close(r);
    db_close(db);
    return n;
}

static void record_run(struct tape *tape, const char *folder)
{
    struct file_watcher watcher = {tape, tape_write, tape_sync, tape_truncate, tape_remove};
    file_watch(&watcher);
    for (int session = 0; session < 3; session++) {
        struct db *db = open_db(folder);
        for (int i = 0; i < 3; i++) {
            tape->begun++;
            T_EQ(transact(db, tape->begun), WEIR_OK);
            tape->acked++;
        }
        db_close(db);
    }
    file_watch(NULL);
}

static struct tape *new_tape(void)
{
    struct tape *tape = calloc(1, sizeof *tape);
    record_run(tape, new_folder("run", 0));
    return tape;
}

static void free_tape(struct tape *tape)
{
    for (size_t i = 0; i < tape->n; i++) free((void *)(uintptr_t)tape->ops[i].bytes.ptr);
    free(tape);
}

TEST(watcher_sees_all_that_makes_the_files)
{
    struct tape *tape = new_tape();
    struct disk *disk = calloc(1, sizeof *disk);
    char path[512];
    for (size_t i = 0; i < tape->n; i++) apply(disk, &tape->ops[i], true);
    T_OK(disk->files[0].is_there);
    T_OK(!disk->files[1].is_there);
    T_OK(!disk->files[2].is_there);
    snprintf(path, sizeof path, "%s/run-0/weir.db", t_temp_dir());
    T_OK(slice_eq(slice_of(disk->files[0].bytes, disk->files[0].size), t_read_file(path)));
    free(disk);
    free_tape(tape);
}

TEST(power_cut_at_every_write_boundary_leaves_whole_transactions)
{
    struct tape *tape = new_tape();
    struct disk *disk = malloc(sizeof *disk);
    for (size_t n = 1; n <= tape->n; n++) {
        const char *folder = new_folder("cut", n);
        cut_power(tape, n, disk);
        write_disk(disk, folder);
        uint64_t settled = expect_whole(folder);
        T_OK(settled >= tape->ops[n - 1].acked);
        T_OK(settled <= tape->ops[n - 1].begun);
        /* It goes on from there. */
        struct db *db = open_db(folder);
        T_EQ(transact(db, settled + 1), WEIR_OK);
        db_close(db);
        T_EQ(expect_whole(folder), settled + 1);
    }
    T_OK(tape->n > 100);
    free(disk);
    free_tape(tape);
}

/* ---- failures on purpose ---- */

static const enum fault_point points[] = {FAULT_WRITE, FAULT_SYNC};
static const enum weir_status statuses[] = {WEIR_NO_SPACE, WEIR_IO};

TEST(every_failing_write_or_sync_leaves_the_transaction_out)
{
    for (size_t p = 0; p < 2; p++) {
        const char *folder = new_folder("fault", p);
        struct db *db = open_db(folder);
        bool was_hit = true;
        for (uint64_t nth = 1; was_hit && nth < 500; nth++) {
            uint64_t before = db_settled(db);
            fault_arm(points[p], nth, FAULT_ONCE);
            enum weir_status st = transact(db, before + 1);
            was_hit = fault_count(points[p]) >= nth;
            fault_disarm_all();
            T_EQ(st, was_hit ? statuses[p] : WEIR_OK);
            T_EQ(db_settled(db), before + !was_hit);
            if (st != WEIR_OK) db_abort(db);
            T_EQ(transact(db, db_settled(db) + 1), WEIR_OK);
            if (nth % 2) continue; /* goes on with the same connection */
            db_close(db);
            T_EQ(expect_whole(folder), before + 1 + !was_hit);
            db = open_db(folder);
        }
        T_OK(db_settled(db) > 2);
        db_close(db);
        expect_whole(folder);
    }
}

TEST(failure_within_a_transaction_sticks_until_abort)
{
    const char *folder = t_temp_dir();
    struct db *db = open_db(folder);
    static char bytes[1 << 20];
    uint64_t first = 0;
    enum weir_status st = WEIR_OK;
    T_EQ(db_begin(db), WEIR_OK);
    put_log(db, 1, "log", 0);
    fault_arm(FAULT_WRITE, 1, FAULT_ONCE);
    /* More than the cache holds, so that SQLite writes before the end. */
    while (st == WEIR_OK && ++first < 100)
        st = db_put_events(db, 1, first, first, slice_of(bytes, sizeof bytes));
    fault_disarm_all();
    T_EQ(st, WEIR_NO_SPACE);
    struct db_log log = log_of(2, "other", 0);
    struct doc doc = {.kind = SLICE("k"), .id = SLICE("i"), .version = 1};
    T_EQ(db_put_log(db, &log), WEIR_NO_SPACE);
    T_EQ(db_put_events(db, 1, 200, 200, events(200, 200)), WEIR_NO_SPACE);
    T_EQ(db_put_doc(db, &doc), WEIR_NO_SPACE);
    T_EQ(db_remove_doc(db, (struct doc_key){doc.kind, doc.id}), WEIR_NO_SPACE);
    T_EQ(db_drop_log(db, 1), WEIR_NO_SPACE);
    T_EQ(db_end(db, 1), WEIR_NO_SPACE);
    db_abort(db);
    db_close(db);
    T_EQ(expect_whole(folder), 0);
}

TEST(every_failing_write_or_sync_of_a_life_is_survived)
{
    for (size_t p = 0; p < 2; p++) {
        bool was_hit = true;
        for (uint64_t nth = 1; was_hit && nth < 500; nth++) {
            const char *folder = new_folder(p == 0 ? "write" : "sync", nth);
            struct db *db;
            struct store_error error = {""};
            fault_arm(points[p], nth, FAULT_ONCE);
            enum weir_status st = db_open(&db, folder, &error);
            T_EQ(st != WEIR_OK, error.text[0] != 0);
            if (st == WEIR_OK) st = transact(db, 1);
            db_close(db);
            was_hit = fault_count(points[p]) >= nth;
            fault_disarm_all();
            T_OK(was_hit || st == WEIR_OK);
            T_EQ(expect_whole(folder), st == WEIR_OK);
        }
    }
}

/* ---- checkpoints ---- */

enum { DUE_BYTES = 2048 * (8192 + 24) }; /* of the write-ahead log: a checkpoint comes next */

/* One row of a megabyte for event n. */
static enum weir_status put_megabyte(struct db *db, uint64_t n)
{
    static char bytes[1 << 20];
    struct db_log log = log_of(1, "log", n);
    int len = snprintf(bytes, sizeof bytes, "id: %" PRIu64 "\n", n);
    memset(bytes + len, 'x', sizeof bytes - (size_t)len);
    memcpy(bytes + sizeof bytes - 2, "\n\n", 2);
    enum weir_status st = db_begin(db);
    if (st != WEIR_OK) return st;
    st = db_put_log(db, &log);
    if (st == WEIR_OK) st = db_put_events(db, 1, n, n, slice_of(bytes, sizeof bytes));
    if (st == WEIR_OK) st = db_end(db, n);
    if (st != WEIR_OK) db_abort(db);
    return st;
}

static uint64_t size_of(const char *folder, const char *name)
{
    struct stat info;
    return stat(in_folder(folder, name), &info) == 0 ? (uint64_t)info.st_size : 0;
}

TEST(write_ahead_log_does_not_grow_for_ever)
{
    const char *folder = t_temp_dir();
    struct db *db = open_db(folder);
    struct db_reader *r = open_reader(folder);
    for (uint64_t n = 1; n <= 60; n++) T_EQ(put_megabyte(db, n), WEIR_OK);
    T_OK(size_of(folder, "weir.db-wal") < 20 << 20);
    T_OK(size_of(folder, "weir.db") > 40 << 20);
    check_db(r);
    db_reader_close(r);
    db_close(db);
}

TEST(failing_checkpoint_fails_the_beginning_and_is_made_up_for)
{
    for (size_t p = 0; p < 2; p++) {
        const char *folder = new_folder("checkpoint", p);
        struct db *db = open_db(folder);
        uint64_t n = 0;
        while (n < 30 && size_of(folder, "weir.db-wal") < DUE_BYTES)
            T_EQ(put_megabyte(db, ++n), WEIR_OK);
        T_OK(n < 30);
        for (uint64_t nth = 1; nth <= 2; nth++) {
            fault_arm(points[p], nth, FAULT_ONCE);
            T_EQ(db_begin(db), statuses[p]);
            fault_disarm_all();
        }
        T_EQ(put_megabyte(db, n + 1), WEIR_OK);
        T_OK(size_of(folder, "weir.db") > 10 << 20);
        struct db_reader *r = open_reader(folder);
        check_db(r);
        db_reader_close(r);
        db_close(db);
    }
}

static void note_op(void *user, const char *name, uint64_t offset, struct weir_slice bytes)
{
    (void)name, (void)offset, (void)bytes;
    ++*(int *)user;
}

static void note_name(void *user, const char *name)
{
    (void)name;
    ++*(int *)user;
}

TEST(reader_writes_nothing_even_as_the_last_to_close)
{
    const char *folder = t_temp_dir();
    int n_ops = 0;
    struct file_watcher watcher = {
        .user = &n_ops, .on_write = note_op, .on_sync = note_name, .on_remove = note_name};
    struct db *db = open_db(folder);
    struct db_reader *r = open_reader(folder);
    T_EQ(transact(db, 1), WEIR_OK);
    T_EQ(transact(db, 2), WEIR_OK);
    db_close(db);
    T_OK(size_of(folder, "weir.db-wal") > 0);
    file_watch(&watcher);
    T_EQ(read_from(r, 1, 1), 6);
    T_EQ(sqlite3_exec(r->sqlite, "DELETE FROM docs", NULL, NULL, NULL), SQLITE_READONLY);
    db_reader_close(r);
    r = open_reader(folder); /* finds a log without its index */
    T_EQ(read_from(r, 1, 1), 6);
    db_reader_close(r);
    file_watch(NULL);
    T_EQ(n_ops, 0);
    T_EQ(expect_whole(folder), 2);
}

TEST(name_is_the_same_every_time)
{
    T_EQ_STR(str(db_vfs_name()), "weir");
    T_OK(db_vfs_name() == db_vfs_name());
}
