/* SPDX-License-Identifier: Apache-2.0 */
#include "history_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/slice.h"
#include "line_history.h"
#include "xdg.h"

enum {
    KEPT_BYTES = LINE_HISTORY_BYTES,
    FILE_BYTES = 2 * KEPT_BYTES, /* then it is cut to the newer half */
    PATH_BYTES = XDG_PATH_BYTES + 32,
    LINE_BYTES = 2 * (64 << 10) + 1, /* of a text in which everything is escaped */
};

static bool find_path(char out[PATH_BYTES])
{
    char folder[XDG_PATH_BYTES];
    if (!xdg_folder(XDG_STATE, folder)) return false;
    snprintf(out, PATH_BYTES, "%s/history", folder);
    return true;
}

/* All folders up to the last slash. */
static void make_folders(char path[PATH_BYTES])
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(path, 0700); /* that it is there already is no failure; the open will tell */
        *slash = '/';
    }
}

static bool write_all(int fd, struct weir_slice bytes)
{
    while (bytes.len > 0) {
        ssize_t n = write(fd, bytes.ptr, bytes.len);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        bytes = slice_from(bytes, (size_t)n);
    }
    return true;
}

/* Its regular file; -1: none. Nobody else may read it, whoever made it. */
static int open_file(const char *path, int flags)
{
    struct stat about;
    int fd = open(path, flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0600);
    if (fd < 0) return -1;
    if (fstat(fd, &about) == 0 && S_ISREG(about.st_mode) && fchmod(fd, 0600) == 0) return fd;
    close(fd);
    errno = EINVAL;
    return -1;
}

static void read_all(int fd, struct weir_buf *out)
{
    char piece[16 << 10];
    for (;;) {
        ssize_t n = read(fd, piece, sizeof piece);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return;
        weir_buf_append(out, piece, (size_t)n);
    }
}

/* In place of the file, at once; another program that adds a line meanwhile loses that one. */
static void replace(const char *path, struct weir_slice lines)
{
    char other[PATH_BYTES + 16];
    snprintf(other, sizeof other, "%s.%ld", path, (long)getpid());
    int fd = open_file(other, O_WRONLY | O_CREAT | O_TRUNC);
    if (fd < 0) return;
    bool is_whole = write_all(fd, lines);
    close(fd);
    if (!is_whole || rename(other, path) != 0) (void)unlink(other);
}

void history_file_read(struct weir_buf *lines)
{
    char path[PATH_BYTES];
    struct stat about;
    int fd = find_path(path) ? open_file(path, O_RDONLY) : -1;
    if (fd < 0) return;
    bool is_long = fstat(fd, &about) == 0 && about.st_size > FILE_BYTES;
    if (is_long) (void)lseek(fd, about.st_size - KEPT_BYTES, SEEK_SET);
    size_t begin = lines->len;
    read_all(fd, lines);
    close(fd);
    if (!is_long || weir_buf_status(lines) != WEIR_OK || lines->len == begin) return;
    /* The first line is cut somewhere. */
    const char *end = memchr(lines->ptr + begin, '\n', lines->len - begin);
    size_t skipped = end ? (size_t)(end - (lines->ptr + begin)) + 1 : lines->len - begin;
    memmove(lines->ptr + begin, lines->ptr + begin + skipped, lines->len - begin - skipped);
    lines->len -= skipped;
    replace(path, slice_of(lines->ptr + begin, lines->len - begin));
}

bool history_file_add(struct weir_slice text)
{
    char path[PATH_BYTES];
    struct weir_buf line;
    errno = ENOENT;
    if (!find_path(path)) return false;
    make_folders(path);
    int fd = open_file(path, O_WRONLY | O_CREAT | O_APPEND);
    if (fd < 0) return false;
    weir_buf_init(&line, LINE_BYTES);
    line_history_write(&line, text);
    bool is_kept = weir_buf_status(&line) == WEIR_OK && write_all(fd, weir_buf_slice(&line));
    weir_buf_fini(&line);
    close(fd);
    return is_kept;
}
