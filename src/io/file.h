/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files, as a store needs them: positioned reads and writes, syncs that are
 * believed only when they succeed, folders that are synced too.
 *
 * Writes and syncs pass the fault points "write" and "sync". A watcher may look
 * on, so that a test can build the disk that a power cut would have left.
 *
 * The struct is the caller's; file_open() and file_close() are a pair. One
 * thread at a time per file. Every call that fails says WEIR_IO, but WEIR_NO_SPACE
 * when the disk or a quota is full, and leaves errno for the trace line.
 */
#pragma once

#include <weir/status.h>

enum { FILE_NAME_BYTES = 64 };

struct file {
    int fd;
    char name[FILE_NAME_BYTES]; /* its last part, for watchers and messages */
};

/* FILE_MUST_CREATE fails, with errno EEXIST, when there is one already. */
enum file_mode { FILE_MUST_EXIST, FILE_MAY_CREATE, FILE_MUST_CREATE, FILE_READ_ONLY };

WEIR_MUST_CHECK enum weir_status file_open(struct file *f, const char *path, enum file_mode mode);
void file_close(struct file *f);

/* Writes all of it, or fails with an unknown part of it written. */
WEIR_MUST_CHECK enum weir_status file_write_at(struct file *f, struct weir_slice bytes,
                                               uint64_t offset);

/* Reads up to len bytes; fewer only at the end of the file. */
WEIR_MUST_CHECK enum weir_status file_read_at(struct file *f, char *bytes, size_t len,
                                              uint64_t offset, size_t *n_read);

/*
 * Puts what was written on the disk. After a failure nobody knows what is there:
 * the kernel may have dropped the pages, and the next sync would succeed without
 * them. So whoever gets one must stop writing and open anew.
 */
WEIR_MUST_CHECK enum weir_status file_sync(struct file *f);

WEIR_MUST_CHECK enum weir_status file_size(struct file *f, uint64_t *size);

/* Keeps other processes from locking it until it is closed. WEIR_LOCKED when one has. */
WEIR_MUST_CHECK enum weir_status file_lock(struct file *f);

/* Makes the names in a folder, new and gone ones, survive a power cut. */
WEIR_MUST_CHECK enum weir_status file_sync_folder(const char *path);

bool file_exists(const char *path);

#define FILE_FOLDER_NAME "." /* what a watcher hears when a folder is synced */

/* Looks on; for tests. Any member may be NULL. */
struct file_watcher {
    void *user;
    void (*on_write)(void *user, const char *name, uint64_t offset, struct weir_slice bytes);
    void (*on_sync)(void *user, const char *name);
    void (*on_truncate)(void *user, const char *name, uint64_t size);
    void (*on_remove)(void *user, const char *name);
};

/* NULL: nobody. Not while files are in use by another thread. */
void file_watch(const struct file_watcher *watcher);

/*
 * Tells the watcher what somebody else does to a file: a library that has ways of its own
 * to the disk. A write is told before it is done, for a part of it may be there when it
 * fails; the others when they succeeded. They cost a load and a branch when nobody looks.
 */
void file_report_write(const char *name, uint64_t offset, struct weir_slice bytes);
void file_report_sync(const char *name);
void file_report_truncate(const char *name, uint64_t size);
void file_report_remove(const char *name);
