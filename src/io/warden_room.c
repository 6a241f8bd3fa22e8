/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much there is in the folder of a job, which may change while somebody counts. What is gone
 * when its turn comes is not there; what cannot be looked at is too much, or it would be the place
 * to hide more.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/runner_impl.h"

enum { DEPTH = 16, BLOCK_BYTES = 512, TIMES = 8 /* of what may be; nobody counts further */ };

static const struct room may_be = {(uint64_t)RUNNER_FOLDER_MB << 20, RUNNER_FOLDER_FILES};
static const struct room counted = {(uint64_t)TIMES * RUNNER_FOLDER_MB << 20,
                                    (uint64_t)TIMES *RUNNER_FOLDER_FILES};

static bool is_within(const struct room *r, const struct room *most)
{
    return r->n_bytes <= most->n_bytes && r->n_files <= most->n_files;
}

/*
 * Whoever made it may have closed it for itself, and a warden without rights of its own is the same
 * user. A link that has taken its place meanwhile is not followed: it could lead to files of the
 * server.
 */
static int open_in(int parent, const char *name)
{
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int fd = openat(parent, name, flags);
    if (fd < 0 && errno == EACCES && fchmodat(parent, name, S_IRWXU, AT_SYMLINK_NOFOLLOW) == 0)
        fd = openat(parent, name, flags);
    return fd;
}

/* Names can be read without the right to see what they stand for. */
static bool stat_in(int fd, const char *name, struct stat *out)
{
    if (fstatat(fd, name, out, AT_SYMLINK_NOFOLLOW) == 0) return true;
    return errno == EACCES && fchmod(fd, S_IRWXU) == 0 &&
           fstatat(fd, name, out, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Or another thing has its name. */
static bool is_gone(void)
{
    return errno == ENOENT || errno == ENOTDIR || errno == ELOOP;
}

static bool count_in(int fd, unsigned depth, struct room *c);

/* False: it cannot be seen, or is more than is counted. */
static bool count_one(int fd, const char *name, unsigned depth, struct room *c)
{
    struct stat info;
    if (!stat_in(fd, name, &info)) return is_gone();
    c->n_files++;
    c->n_bytes += (uint64_t)info.st_blocks * BLOCK_BYTES;
    if (!S_ISDIR(info.st_mode)) return true;
    int next = open_in(fd, name);
    return next >= 0 ? count_in(next, depth + 1, c) : is_gone();
}

/* Takes the descriptor. False: it is more than is counted. */
static bool count_in(int fd, unsigned depth, struct room *c)
{
    const struct dirent *e;
    DIR *folder = depth <= DEPTH ? fdopendir(fd) : NULL;
    if (!folder) {
        close(fd);
        return false;
    }
    while (is_within(c, &counted) && (e = readdir(folder)) != NULL) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        if (!count_one(fd, e->d_name, depth, c)) c->n_files = UINT64_MAX;
    }
    closedir(folder);
    return is_within(c, &counted);
}

bool room_look(int folder, struct room *out)
{
    *out = (struct room){0, 0};
    int fd = open_in(folder, ".");
    return fd >= 0 && count_in(fd, 0, out);
}

bool room_is_enough(int folder, const struct room *before)
{
    struct room now, most = may_be;
    if (most.n_bytes < before->n_bytes) most.n_bytes = before->n_bytes;
    if (most.n_files < before->n_files) most.n_files = before->n_files;
    return room_look(folder, &now) && is_within(&now, &most);
}
