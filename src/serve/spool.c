/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/spool.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/slice.h"

static atomic_uint n_spools;

static enum weir_status make_folder(const char *path)
{
    if (mkdir(path, 0700) == 0 || errno == EEXIST) return WEIR_OK;
    return errno == ENOSPC || errno == EDQUOT ? WEIR_NO_SPACE : WEIR_IO;
}

static enum weir_status open_file(struct spool *s, const char *imports, const char *id)
{
    int len = snprintf(s->path, sizeof s->path, "%s/%s/body", imports, id);
    if (len < 0 || (size_t)len >= sizeof s->path) return WEIR_INVALID;
    snprintf(s->id, sizeof s->id, "%s", id);
    enum weir_status st = make_folder(imports);
    if (st != WEIR_OK) return st;
    snprintf(s->folder, sizeof s->folder, "%s/%s", imports, id);
    st = make_folder(s->folder);
    if (st == WEIR_OK) st = file_open(&s->file, s->path, FILE_MUST_CREATE);
    s->is_open = st == WEIR_OK;
    return st;
}

enum weir_status spool_new(struct spool **out, const char *imports, const char *id)
{
    if (atomic_fetch_add(&n_spools, 1) >= SPOOL_MAX) {
        atomic_fetch_sub(&n_spools, 1);
        return WEIR_BUSY;
    }
    struct spool *s = mem_zalloc(sizeof *s);
    if (!s) {
        atomic_fetch_sub(&n_spools, 1);
        return WEIR_NOMEM;
    }
    s->hash = sha256_begin();
    enum weir_status st = s->hash ? open_file(s, imports, id) : WEIR_NOMEM;
    if (st == WEIR_OK) *out = s;
    else spool_free(s);
    return st;
}

static enum weir_status write_file(void *user, struct weir_slice bytes)
{
    struct spool *s = user;
    enum weir_status st = file_write_at(&s->file, bytes, s->len);
    if (st != WEIR_OK) return st;
    sha256_add(s->hash, bytes);
    s->len += bytes.len;
    return WEIR_OK;
}

enum weir_status spool_set_type(struct spool *s, struct weir_slice content_type)
{
    static const char form[] = "multipart/";
    struct weir_slice boundary;
    size_t len = sizeof form - 1;
    if (content_type.len < len || strncasecmp(content_type.ptr, form, len) != 0) return WEIR_OK;
    if (!multipart_boundary(content_type, &boundary)) return WEIR_BAD_TYPE;
    s->form = mem_alloc(sizeof *s->form);
    if (!s->form) return WEIR_NOMEM;
    multipart_init(s->form, boundary, write_file, s);
    return WEIR_OK;
}

enum weir_status spool_add(struct spool *s, struct weir_slice bytes)
{
    return s->form ? multipart_feed(s->form, bytes) : write_file(s, bytes);
}

const char *spool_error(const struct spool *s)
{
    return s->form ? s->form->error : NULL;
}

struct weir_slice spool_name(const struct spool *s)
{
    return weir_slice_of(s->form ? s->form->name : "");
}

void spool_end(struct spool *s)
{
    static const char digits[] = "0123456789abcdef";
    unsigned char hash[SHA256_BYTES];
    sha256_end(s->hash, hash);
    s->hash = NULL;
    s->status = s->form ? multipart_end(s->form) : WEIR_OK;
    for (size_t i = 0; i < SHA256_BYTES; i++) {
        s->digest[2 * i] = digits[hash[i] >> 4];
        s->digest[2 * i + 1] = digits[hash[i] & 15];
    }
}

void spool_free(struct spool *s)
{
    if (!s) return;
    sha256_end(s->hash, NULL);
    mem_free(s->form);
    if (s->is_open) file_close(&s->file);
    if (!s->is_taken && s->folder[0]) {
        (void)unlink(s->path);
        (void)rmdir(s->folder);
    }
    atomic_fetch_sub(&n_spools, 1);
    mem_free(s);
}
