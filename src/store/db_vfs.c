/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file of ours is a head with the name, then the file of the unix VFS. Each method
 * forwards to that; four look and may fail on the way. An injected failure leaves the errno
 * that the real one would.
 *
 * What is written goes to the disk in pieces, not all at the sync: a sync of the journal, for
 * which clients wait, would have to wait for all of it. For the same reason a writer that has time
 * gives way after each write.
 *
 * The methods are those of version 2: without xFetch SQLite cannot map the file, so every
 * write passes here.
 */
#include "store/db_vfs.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "base/fault.h"
#include "base/slice.h"
#include "io/file.h"

struct shim_file {
    sqlite3_file base; /* first: SQLite sees only this */
    sqlite3_file *real;
    size_t n_unsynced; /* bytes written since the last sync */
    char name[FILE_NAME_BYTES];
};

enum { PIECE_BYTES = 512 << 10 };

static sqlite3_vfs *unix_vfs;
static sqlite3_vfs shim_vfs;

static struct shim_file *shim_of(sqlite3_file *file)
{
    return (struct shim_file *)(void *)file;
}

static sqlite3_file *real_of(sqlite3_file *file)
{
    return shim_of(file)->real;
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static int injected(int error, int rc)
{
    errno = error;
    return rc;
}

/* ---- giving way ---- */

static _Thread_local bool has_time;

void db_set_has_time(bool yes)
{
    has_time = yes;
}

void db_give_way(void)
{
    if (has_time) sched_yield();
}

/* ---- what we look at ---- */

static int sync_now(struct shim_file *f, int flags)
{
    f->n_unsynced = 0;
    return f->real->pMethods->xSync(f->real, flags);
}

static int shim_write(sqlite3_file *file, const void *bytes, int len, sqlite3_int64 offset)
{
    struct shim_file *f = shim_of(file);
    if (fault_hit(FAULT_WRITE)) return injected(ENOSPC, SQLITE_FULL);
    file_report_write(f->name, (uint64_t)offset, slice_of(bytes, (size_t)len));
    int rc = f->real->pMethods->xWrite(f->real, bytes, len, offset);
    f->n_unsynced += (size_t)len;
    if (rc == SQLITE_OK && f->n_unsynced >= PIECE_BYTES)
        rc = sync_now(f, SQLITE_SYNC_NORMAL | SQLITE_SYNC_DATAONLY);
    db_give_way();
    return rc;
}

static int shim_sync(sqlite3_file *file, int flags)
{
    struct shim_file *f = shim_of(file);
    if (fault_hit(FAULT_SYNC)) return injected(EIO, SQLITE_IOERR_FSYNC);
    int rc = sync_now(f, flags);
    if (rc == SQLITE_OK) file_report_sync(f->name);
    return rc;
}

static int shim_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    struct shim_file *f = shim_of(file);
    if (fault_hit(FAULT_WRITE)) return injected(EIO, SQLITE_IOERR_TRUNCATE);
    int rc = f->real->pMethods->xTruncate(f->real, size);
    if (rc == SQLITE_OK) file_report_truncate(f->name, (uint64_t)size);
    return rc;
}

static int shim_delete(sqlite3_vfs *vfs, const char *path, int must_sync_folder)
{
    (void)vfs;
    if (fault_hit(FAULT_WRITE)) return injected(EIO, SQLITE_IOERR_DELETE);
    int rc = unix_vfs->xDelete(unix_vfs, path, must_sync_folder);
    if (rc == SQLITE_OK) file_report_remove(last_part(path));
    return rc;
}

/* ---- what we only pass on ---- */

static int shim_close(sqlite3_file *file)
{
    return real_of(file)->pMethods->xClose(real_of(file));
}

static int shim_read(sqlite3_file *file, void *bytes, int len, sqlite3_int64 offset)
{
    return real_of(file)->pMethods->xRead(real_of(file), bytes, len, offset);
}

static int shim_file_size(sqlite3_file *file, sqlite3_int64 *size)
{
    return real_of(file)->pMethods->xFileSize(real_of(file), size);
}

static int shim_lock(sqlite3_file *file, int level)
{
    return real_of(file)->pMethods->xLock(real_of(file), level);
}

static int shim_unlock(sqlite3_file *file, int level)
{
    return real_of(file)->pMethods->xUnlock(real_of(file), level);
}

static int shim_check_reserved_lock(sqlite3_file *file, int *is_locked)
{
    return real_of(file)->pMethods->xCheckReservedLock(real_of(file), is_locked);
}

static int shim_file_control(sqlite3_file *file, int operation, void *arg)
{
    return real_of(file)->pMethods->xFileControl(real_of(file), operation, arg);
}

static int shim_sector_size(sqlite3_file *file)
{
    return real_of(file)->pMethods->xSectorSize(real_of(file));
}

static int shim_characteristics(sqlite3_file *file)
{
    return real_of(file)->pMethods->xDeviceCharacteristics(real_of(file));
}

static int shim_shm_map(sqlite3_file *file, int region, int size, int may_extend,
                        void volatile **out)
{
    return real_of(file)->pMethods->xShmMap(real_of(file), region, size, may_extend, out);
}

static int shim_shm_lock(sqlite3_file *file, int offset, int n, int flags)
{
    return real_of(file)->pMethods->xShmLock(real_of(file), offset, n, flags);
}

static void shim_shm_barrier(sqlite3_file *file)
{
    real_of(file)->pMethods->xShmBarrier(real_of(file));
}

static int shim_shm_unmap(sqlite3_file *file, int must_delete)
{
    return real_of(file)->pMethods->xShmUnmap(real_of(file), must_delete);
}

static const sqlite3_io_methods methods = {
    .iVersion = 2,
    .xClose = shim_close,
    .xRead = shim_read,
    .xWrite = shim_write,
    .xTruncate = shim_truncate,
    .xSync = shim_sync,
    .xFileSize = shim_file_size,
    .xLock = shim_lock,
    .xUnlock = shim_unlock,
    .xCheckReservedLock = shim_check_reserved_lock,
    .xFileControl = shim_file_control,
    .xSectorSize = shim_sector_size,
    .xDeviceCharacteristics = shim_characteristics,
    .xShmMap = shim_shm_map,
    .xShmLock = shim_shm_lock,
    .xShmBarrier = shim_shm_barrier,
    .xShmUnmap = shim_shm_unmap,
};

/* ---- the VFS ---- */

static int shim_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *file, int flags,
                     int *out_flags)
{
    (void)vfs;
    struct shim_file *f = shim_of(file);
    *f = (struct shim_file){.real = (sqlite3_file *)(void *)(f + 1)};
    snprintf(f->name, sizeof f->name, "%s", path ? last_part(path) : "");
    f->real->pMethods = NULL;
    int rc = unix_vfs->xOpen(unix_vfs, path, f->real, flags, out_flags);
    /* SQLite closes a file that failed to open if, and only if, it has methods. */
    if (f->real->pMethods) f->base.pMethods = &methods;
    return rc;
}

/*
 * The other functions of a VFS need no wrapping: those of the unix VFS look at nothing in
 * it but what is copied here.
 */
static void register_shim(void)
{
    if (sqlite3_initialize() != SQLITE_OK) return;
    unix_vfs = sqlite3_vfs_find("unix");
    if (!unix_vfs) return;
    shim_vfs = *unix_vfs;
    shim_vfs.zName = "weir";
    shim_vfs.szOsFile = (int)sizeof(struct shim_file) + unix_vfs->szOsFile;
    shim_vfs.pNext = NULL;
    shim_vfs.xOpen = shim_open;
    shim_vfs.xDelete = shim_delete;
    if (sqlite3_vfs_register(&shim_vfs, 0) != SQLITE_OK) shim_vfs.zName = NULL;
}

const char *db_vfs_name(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, register_shim);
    return shim_vfs.zName;
}
