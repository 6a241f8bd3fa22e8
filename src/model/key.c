/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys: where they come from, and that they leave nothing behind. A key is one line of visible
 * ASCII, for it becomes a field of a request. A file that has one must be its owner's alone, and
 * be that file itself: whoever can put a link in its place could make us read another.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/slice.h"
#include "io/file.h"
#include "model/model_impl.h"

void model_key_free(char *key)
{
    if (!key) return;
    explicit_bzero(key, strlen(key));
    mem_free(key);
}

static bool is_line(struct weir_slice s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.ptr[i] <= ' ' || s.ptr[i] > '~') return false;
    return s.len > 0;
}

/* Neither the key nor its length is said. */
static enum weir_status keep(struct weir_slice text, char **key, char *why)
{
    while (text.len > 0 && (text.ptr[text.len - 1] == '\n' || text.ptr[text.len - 1] == '\r'))
        text.len--;
    if (!is_line(text)) {
        snprintf(why, MODEL_WHY_BYTES,
                 "it has to be one line of visible ASCII without blanks: the key and nothing else");
        return WEIR_BAD_FIELD;
    }
    char *copy = mem_alloc(text.len + 1);
    if (!copy) {
        snprintf(why, MODEL_WHY_BYTES, "%s", weir_status_text(WEIR_NOMEM));
        return WEIR_NOMEM;
    }
    memcpy(copy, text.ptr, text.len);
    copy[text.len] = 0;
    *key = copy;
    return WEIR_OK;
}

enum weir_status model_key_from_env(const char *name, char **key, char *why)
{
    const char *value = getenv(name);
    if (!value || value[0] == 0) {
        snprintf(why, MODEL_WHY_BYTES,
                 "the environment has no %s: export it, or name a file with key_file", name);
        return WEIR_NOT_FOUND;
    }
    struct weir_slice text = weir_slice_of(value);
    if (text.len < MODEL_KEY_BYTES) return keep(text, key, why);
    snprintf(why, MODEL_WHY_BYTES, "%s is too long for a key (%d bytes at most)", name,
             MODEL_KEY_BYTES - 1);
    return WEIR_BAD_FIELD;
}

static enum weir_status check_file(const struct stat *info, const char *path, char *why)
{
    if (!S_ISREG(info->st_mode)) {
        snprintf(why, MODEL_WHY_BYTES, "%s is no regular file", path);
        return WEIR_FORBIDDEN;
    }
    if (info->st_uid != geteuid() && info->st_uid != 0) {
        snprintf(why, MODEL_WHY_BYTES, "%s belongs to somebody else: chown it to this user", path);
        return WEIR_FORBIDDEN;
    }
    if ((info->st_mode & (S_IRWXG | S_IRWXO)) != 0) {
        snprintf(why, MODEL_WHY_BYTES, "%s can be used by others: chmod 600 it", path);
        return WEIR_FORBIDDEN;
    }
    if (info->st_size >= MODEL_KEY_BYTES) {
        snprintf(why, MODEL_WHY_BYTES, "%s is too long for a key (%d bytes at most)", path,
                 MODEL_KEY_BYTES - 1);
        return WEIR_BAD_FIELD;
    }
    return WEIR_OK;
}

static enum weir_status read_key(struct file *f, const char *path, char **key, char *why)
{
    char text[MODEL_KEY_BYTES];
    struct stat info;
    size_t len = 0;
    enum weir_status st = WEIR_IO;
    if (fstat(f->fd, &info) == 0) {
        st = check_file(&info, path, why);
        if (st != WEIR_OK) return st;
        st = file_read_at(f, text, sizeof text, 0, &len);
    }
    if (st == WEIR_OK) st = keep(slice_of(text, len), key, why);
    else snprintf(why, MODEL_WHY_BYTES, "%s: %s", path, strerror(errno));
    explicit_bzero(text, sizeof text);
    return st;
}

enum weir_status model_key_from_file(const char *path, char **key, char *why)
{
    /* Not to wait for the other end of what may be a pipe. */
    struct file f = {.fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)};
    if (f.fd < 0) {
        bool is_link = errno == ELOOP;
        bool is_missing = errno == ENOENT || errno == ENOTDIR;
        snprintf(why, MODEL_WHY_BYTES, "%s: %s", path,
                 is_link ? "it is a link: name the file itself" : strerror(errno));
        return is_missing ? WEIR_NOT_FOUND : WEIR_FORBIDDEN;
    }
    enum weir_status st = read_key(&f, path, key, why);
    file_close(&f);
    return st;
}

void model_key_blot(const char *key, char *bytes, size_t len)
{
    size_t key_len = key ? strlen(key) : 0;
    if (key_len == 0 || len == 0) return;
    char *end = bytes + len;
    for (char *at = bytes; (at = memmem(at, (size_t)(end - at), key, key_len)); at += key_len)
        memset(at, '*', key_len);
}
