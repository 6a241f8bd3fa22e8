/* SPDX-License-Identifier: Apache-2.0 */
#include "io/secret_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/file.h"

__attribute__((format(printf, 3, 4))) static enum weir_status refuse(struct secret_file_error *why,
                                                                     enum weir_status st,
                                                                     const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(why->text, sizeof why->text, format, args);
    va_end(args);
    return st;
}

static enum weir_status check(const struct stat *info, const char *path, size_t cap,
                              struct secret_file_error *why)
{
    if (!S_ISREG(info->st_mode)) return refuse(why, WEIR_FORBIDDEN, "%s is no regular file", path);
    if (info->st_uid != geteuid() && info->st_uid != 0)
        return refuse(why, WEIR_FORBIDDEN, "%s belongs to somebody else: chown it to this user",
                      path);
    if ((info->st_mode & (S_IRWXG | S_IRWXO)) != 0)
        return refuse(why, WEIR_FORBIDDEN, "%s can be used by others: chmod 600 it", path);
    if (info->st_size >= (off_t)cap)
        return refuse(why, WEIR_BAD_FIELD, "%s is too long (%zu bytes at most)", path, cap - 1);
    return WEIR_OK;
}

enum weir_status secret_file_read(const char *path, char *out, size_t cap, size_t *len,
                                  struct secret_file_error *why)
{
    struct stat info;
    /* Not to wait for the other end of what may be a pipe. */
    struct file f = {.fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)};
    if (f.fd < 0 && errno == ELOOP)
        return refuse(why, WEIR_FORBIDDEN, "%s: it is a link: name the file itself", path);
    if (f.fd < 0)
        return refuse(why, errno == ENOENT || errno == ENOTDIR ? WEIR_NOT_FOUND : WEIR_FORBIDDEN,
                      "%s: %s", path, strerror(errno));
    enum weir_status st = fstat(f.fd, &info) == 0 ? check(&info, path, cap, why) : WEIR_IO;
    if (st == WEIR_OK) st = file_read_at(&f, out, cap, 0, len);
    if (st == WEIR_IO) refuse(why, st, "%s: %s", path, strerror(errno));
    file_close(&f);
    return st;
}
