/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folders in the folder are emptied one after the other: files go, and what is a folder again moves
 * up to the top, where its turn comes. So two folders are open at any time, however deep they lie.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/folder.h"

enum { MOVED_BYTES = 32, MOVE_TRIES = 1 << 20 };

/* A folder whose entries are gone through. */
struct open_folder {
    DIR *list;
    int fd;
};

static bool open_at(int parent, const char *name, struct open_folder *out)
{
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    out->fd = openat(parent, name, flags);
    /* Whoever made it may have closed it for itself. */
    if (out->fd < 0 && errno == EACCES && fchmodat(parent, name, 0700, 0) == 0)
        out->fd = openat(parent, name, flags);
    if (out->fd < 0) return false;
    out->list = fchmod(out->fd, 0700) == 0 ? fdopendir(out->fd) : NULL;
    if (!out->list) close(out->fd);
    return out->list != NULL;
}

static const char *next_name(struct open_folder *f)
{
    const struct dirent *e;
    while ((e = readdir(f->list)))
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0) return e->d_name;
    return NULL;
}

/* False: it is a folder that is not empty, or it cannot be removed. */
static bool remove_at(int parent, const char *name)
{
    return unlinkat(parent, name, 0) == 0 || unlinkat(parent, name, AT_REMOVEDIR) == 0;
}

/* To a name at the top that is free. */
static bool move_up(int from, const char *name, int top, unsigned *n_moved)
{
    char to[MOVED_BYTES];
    for (unsigned i = 0; i < MOVE_TRIES; i++) {
        struct stat there;
        snprintf(to, sizeof to, "..moved-%u", (*n_moved)++);
        if (fstatat(top, to, &there, AT_SYMLINK_NOFOLLOW) == 0) continue;
        /* A folder without the right to write cannot be given another parent. */
        return fchmodat(from, name, 0700, 0) == 0 && renameat(from, name, top, to) == 0;
    }
    return false;
}

static bool empty_one(int top, const char *name, unsigned *n_moved)
{
    struct open_folder f;
    if (!open_at(top, name, &f)) return false;
    bool is_good = true;
    const char *inner;
    while (is_good && (inner = next_name(&f)))
        is_good = remove_at(f.fd, inner) || move_up(f.fd, inner, top, n_moved);
    closedir(f.list);
    return is_good && unlinkat(top, name, AT_REMOVEDIR) == 0;
}

/* Until nothing is left: what is moved up may come behind the place where the list is. */
static bool empty_all(struct open_folder *top)
{
    unsigned n_moved = 0;
    for (;;) {
        const char *name;
        bool is_empty = true;
        rewinddir(top->list);
        while ((name = next_name(top))) {
            is_empty = false;
            if (!remove_at(top->fd, name) && !empty_one(top->fd, name, &n_moved)) return false;
        }
        if (is_empty) return true;
    }
}

static enum weir_status remove_in(int parent, const char *name)
{
    struct open_folder top;
    if (!open_at(parent, name, &top)) {
        if (errno == ENOENT) return WEIR_OK;
        if (errno != ENOTDIR && errno != ELOOP) return WEIR_IO;
        return unlinkat(parent, name, 0) == 0 ? WEIR_OK : WEIR_IO;
    }
    bool is_good = empty_all(&top);
    int error = errno;
    closedir(top.list);
    errno = error;
    if (!is_good) return WEIR_IO;
    return unlinkat(parent, name, AT_REMOVEDIR) == 0 ? WEIR_OK : WEIR_IO;
}

enum weir_status folder_remove(const char *parent, const char *name)
{
    int fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return errno == ENOENT ? WEIR_OK : WEIR_IO;
    enum weir_status st = remove_in(fd, name);
    int error = errno;
    close(fd);
    errno = error;
    return st;
}
