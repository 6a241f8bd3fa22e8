/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/upload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/slice.h"
#include "base/ulid.h"
#include "io/file.h"

enum {
    ID_BYTES = 64,
    COMMIT_BYTES = 1024, /* beside the piece */
    SWEEP_FILES = 64,    /* looked at together */
    PREFIX_LEN = 4,      /* "imp_", before the ULID, */
    TIME_BYTES = 6,      /* which begins with a time */
};

static struct doc_key file_key(const char *id)
{
    return (struct doc_key){SLICE("upload-file"), weir_slice_of(id)};
}

/* `out` is the memory of the name. */
static struct doc_key piece_key(char out[ID_BYTES], const char *id, uint64_t n)
{
    int len = snprintf(out, ID_BYTES, "%s/%08llu", id, (unsigned long long)n);
    return (struct doc_key){SLICE("upload-piece"), slice_of(out, (size_t)len)};
}

static uint64_t n_pieces(uint64_t bytes)
{
    return (bytes + UPLOAD_PIECE_BYTES - 1) / UPLOAD_PIECE_BYTES;
}

/* ---- putting ---- */

static enum weir_status put_doc(struct store *store, struct doc_key key, struct weir_slice owner,
                                struct weir_slice body)
{
    struct commit *c = commit_new(body.len + COMMIT_BYTES);
    if (!c) return WEIR_NOMEM;
    commit_put(c, key, DOC_ANY_VERSION, owner, body);
    return store_commit_wait(store, c).status;
}

static enum weir_status put_pieces(struct store *store, const char *id, struct weir_slice owner,
                                   struct file *f)
{
    char number[32], name[ID_BYTES];
    uint64_t bytes = 0;
    enum weir_status st = file_size(f, &bytes);
    char *piece = mem_alloc(UPLOAD_PIECE_BYTES);
    if (st == WEIR_OK && !piece) st = WEIR_NOMEM;
    snprintf(number, sizeof number, "%llu", (unsigned long long)bytes);
    if (st == WEIR_OK) st = put_doc(store, file_key(id), owner, weir_slice_of(number));
    for (uint64_t i = 0; st == WEIR_OK && i < n_pieces(bytes); i++) {
        size_t len = 0;
        st = file_read_at(f, piece, UPLOAD_PIECE_BYTES, i * UPLOAD_PIECE_BYTES, &len);
        if (st == WEIR_OK) st = put_doc(store, piece_key(name, id, i), owner, slice_of(piece, len));
    }
    mem_free(piece);
    return st;
}

enum weir_status upload_put(struct store *store, const char *id, struct weir_slice owner,
                            const char *path)
{
    struct file f;
    enum weir_status st = file_open(&f, path, FILE_READ_ONLY);
    if (st != WEIR_OK) return st;
    st = put_pieces(store, id, owner, &f);
    file_close(&f);
    return st;
}

/* ---- getting ---- */

static enum weir_status find_size(struct store *store, const char *id, uint64_t *bytes)
{
    struct doc doc;
    char digits[32] = {0};
    enum weir_status st = store_doc_get(store, file_key(id), &doc);
    if (st != WEIR_OK) return st;
    if (doc.body.len > 0 && doc.body.len < sizeof digits)
        memcpy(digits, doc.body.ptr, doc.body.len);
    *bytes = strtoull(digits, NULL, 10);
    doc_fini(&doc);
    return WEIR_OK;
}

static enum weir_status get_pieces(struct store *store, const char *id, uint64_t bytes,
                                   struct file *f)
{
    char name[ID_BYTES];
    uint64_t at = 0;
    enum weir_status st = WEIR_OK;
    for (uint64_t i = 0; st == WEIR_OK && i < n_pieces(bytes); i++) {
        struct doc doc;
        st = store_doc_get(store, piece_key(name, id, i), &doc);
        if (st != WEIR_OK) break;
        st = file_write_at(f, doc.body, at);
        at += doc.body.len;
        doc_fini(&doc);
    }
    return st == WEIR_OK && at != bytes ? WEIR_NOT_FOUND : st;
}

enum weir_status upload_get(struct store *store, const char *id, const char *path)
{
    struct file f;
    uint64_t bytes = 0;
    enum weir_status st = find_size(store, id, &bytes);
    if (st != WEIR_OK) return st;
    (void)unlink(path);
    st = file_open(&f, path, FILE_MUST_CREATE);
    if (st != WEIR_OK) return st;
    st = get_pieces(store, id, bytes, &f);
    file_close(&f);
    if (st != WEIR_OK) (void)unlink(path);
    return st;
}

/* ---- removing ---- */

/* Another node may have removed it before. */
static bool remove_doc(struct store *store, struct doc_key key)
{
    struct commit *c = commit_new(COMMIT_BYTES);
    if (!c) return false;
    commit_remove(c, key, DOC_ANY_VERSION);
    enum weir_status st = store_commit_wait(store, c).status;
    return st == WEIR_OK || st == WEIR_NOT_FOUND;
}

void upload_remove(struct store *store, const char *id)
{
    char name[ID_BYTES];
    uint64_t bytes = 0;
    if (find_size(store, id, &bytes) != WEIR_OK) return;
    for (uint64_t i = 0; i < n_pieces(bytes); i++)
        if (!remove_doc(store, piece_key(name, id, i))) return;
    (void)remove_doc(store, file_key(id));
}

struct page {
    char ids[SWEEP_FILES][ID_BYTES];
    size_t n;
};

static enum weir_status note(void *user, const struct doc *doc)
{
    struct page *p = user;
    if (doc->id.len >= ID_BYTES) return WEIR_OK;
    memcpy(p->ids[p->n], doc->id.ptr, doc->id.len);
    p->ids[p->n++][doc->id.len] = 0;
    return WEIR_OK;
}

static bool is_old(const char *id, int64_t now_ms)
{
    struct ulid ulid;
    int64_t made_ms = 0;
    if (strlen(id) < PREFIX_LEN || ulid_parse(weir_slice_of(id + PREFIX_LEN), &ulid) != WEIR_OK)
        return true;
    for (int i = 0; i < TIME_BYTES; i++) made_ms = made_ms * 256 + ulid.bytes[i];
    return now_ms - made_ms > UPLOAD_LOST_MS;
}

void upload_sweep(struct store *store, int64_t now_ms, upload_needed_fn is_needed, void *user)
{
    char after[ID_BYTES] = "";
    size_t n = SWEEP_FILES;
    struct page *p = mem_alloc(sizeof *p);
    while (p && n == SWEEP_FILES) {
        const struct doc_query query = {
            .kind = SLICE("upload-file"), .after = weir_slice_of(after), .limit = SWEEP_FILES};
        p->n = 0;
        if (store_doc_list(store, &query, note, p) != WEIR_OK) break;
        n = p->n;
        for (size_t i = 0; i < n; i++)
            if (!is_needed(user, p->ids[i], is_old(p->ids[i], now_ms)))
                upload_remove(store, p->ids[i]);
        if (n > 0) memcpy(after, p->ids[n - 1], sizeof after);
    }
    mem_free(p);
}
