/* SPDX-License-Identifier: Apache-2.0 */
#include "io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/slice.h"

enum { OWNER_ONLY = 0600 };

static const struct file_watcher *watcher;

void file_watch(const struct file_watcher *w)
{
    watcher = w;
}

void file_report_write(const char *name, uint64_t offset, struct weir_slice bytes)
{
    if (watcher && watcher->on_write) watcher->on_write(watcher->user, name, offset, bytes);
}

void file_report_sync(const char *name)
{
    if (watcher && watcher->on_sync) watcher->on_sync(watcher->user, name);
}

void file_report_truncate(const char *name, uint64_t size)
{
    if (watcher && watcher->on_truncate) watcher->on_truncate(watcher->user, name, size);
}

void file_report_remove(const char *name)
{
    if (watcher && watcher->on_remove) watcher->on_remove(watcher->user, name);
}

static enum weir_status status_of_errno(void)
{
    return errno == ENOSPC || errno == EDQUOT ? WEIR_NO_SPACE : WEIR_IO;
}

static enum weir_status injected(int error)
{
    errno = error;
    return status_of_errno();
}

enum weir_status file_open(struct file *f, const char *path, enum file_mode mode)
{
    const char *slash = strrchr(path, '/');
    static const int access[] = {[FILE_MUST_EXIST] = O_RDWR,
                                 [FILE_MAY_CREATE] = O_RDWR | O_CREAT,
                                 [FILE_MUST_CREATE] = O_RDWR | O_CREAT | O_EXCL,
                                 [FILE_READ_ONLY] = O_RDONLY | O_NOCTTY};
    int flags = O_CLOEXEC | access[mode];
    snprintf(f->name, sizeof f->name, "%s", slash ? slash + 1 : path);
    f->fd = open(path, flags, OWNER_ONLY);
    return f->fd >= 0 ? WEIR_OK : status_of_errno();
}

void file_close(struct file *f)
{
    if (f->fd >= 0) close(f->fd);
    f->fd = -1;
}

enum weir_status file_write_at(struct file *f, struct weir_slice bytes, uint64_t offset)
{
    if (fault_hit(FAULT_WRITE)) return injected(ENOSPC);
    file_report_write(f->name, offset, bytes);
    while (bytes.len > 0) {
        ssize_t n = pwrite(f->fd, bytes.ptr, bytes.len, (off_t)offset);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return status_of_errno();
        if (n == 0) return injected(ENOSPC);
        bytes = slice_from(bytes, (size_t)n);
        offset += (uint64_t)n;
    }
    return WEIR_OK;
}

enum weir_status file_read_at(struct file *f, char *bytes, size_t len, uint64_t offset,
                              size_t *n_read)
{
    *n_read = 0;
    while (*n_read < len) {
        ssize_t n = pread(f->fd, bytes + *n_read, len - *n_read, (off_t)(offset + *n_read));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return status_of_errno();
        if (n == 0) break;
        *n_read += (size_t)n;
    }
    return WEIR_OK;
}

enum weir_status file_sync(struct file *f)
{
    if (fault_hit(FAULT_SYNC)) return injected(EIO);
    if (fdatasync(f->fd) != 0) return status_of_errno();
    file_report_sync(f->name);
    return WEIR_OK;
}

enum weir_status file_size(struct file *f, uint64_t *size)
{
    struct stat info;
    if (fstat(f->fd, &info) != 0) return status_of_errno();
    *size = (uint64_t)info.st_size;
    return WEIR_OK;
}

enum weir_status file_lock(struct file *f)
{
    if (flock(f->fd, LOCK_EX | LOCK_NB) == 0) return WEIR_OK;
    return errno == EWOULDBLOCK ? WEIR_LOCKED : WEIR_IO;
}

enum weir_status file_sync_folder(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return status_of_errno();
    bool is_synced = fsync(fd) == 0;
    int error = errno;
    close(fd);
    errno = error;
    if (is_synced) file_report_sync(FILE_FOLDER_NAME);
    return is_synced ? WEIR_OK : status_of_errno();
}

bool file_exists(const char *path)
{
    return access(path, F_OK) == 0;
}
