/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cassettes. See cassette.h. Bytes are written as text where they are UTF-8, so that people can
 * read and edit them, else as base64: a piece may end in the middle of a character.
 */
#include "model/cassette.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/slice.h"
#include "base/utf8.h"
#include "codec/json_member.h"
#include "io/crypto.h"
#include "io/file.h"

enum {
    FORMAT = 1,
    FILE_BYTES = 4 * CASSETTE_BYTES,
    VALUE_BYTES = 64 << 20,
    MAX_SAME = 10000, /* cassettes of one request */
};

/* ---- in memory ---- */

void cassette_init(struct cassette *c)
{
    *c = (struct cassette){.http_status = 0};
    weir_buf_init(&c->bytes, CASSETTE_BYTES);
}

void cassette_fini(struct cassette *c)
{
    weir_buf_fini(&c->bytes);
    mem_free(c->pieces);
    *c = (struct cassette){.http_status = 0};
}

void cassette_reset(struct cassette *c)
{
    cassette_fini(c);
    cassette_init(c);
}

static bool grow(struct cassette *c)
{
    if (c->n_pieces < c->cap_pieces) return true;
    if (c->n_pieces == CASSETTE_MAX_PIECES) return false;
    size_t cap = c->cap_pieces > 0 ? 2 * c->cap_pieces : 64;
    struct cassette_piece *pieces = mem_realloc(c->pieces, cap * sizeof *pieces);
    if (!pieces) return false;
    c->pieces = pieces;
    c->cap_pieces = cap;
    return true;
}

void cassette_add(struct cassette *c, struct weir_slice bytes, uint64_t at_ms)
{
    if (bytes.len == 0 || weir_buf_status(&c->bytes) != WEIR_OK || !grow(c)) return;
    weir_buf_append_slice(&c->bytes, bytes);
    if (weir_buf_status(&c->bytes) != WEIR_OK) return;
    c->pieces[c->n_pieces++] = (struct cassette_piece){at_ms, c->bytes.len};
}

void cassette_hash(const struct model_request *request, char out[CASSETTE_HASH_BYTES])
{
    unsigned char hash[SHA256_BYTES];
    struct weir_buf text;
    weir_buf_init(&text, 8 * MODEL_REQUEST_BYTES);
    model_request_put(&text, request);
    sha256(weir_buf_slice(&text), hash);
    for (int i = 0; i < SHA256_BYTES; i++) snprintf(out + 2 * (size_t)i, 3, "%02x", hash[i]);
    weir_buf_fini(&text);
}

/* ---- as text ---- */

static const char *const type_names[] = {
    [MODEL_ANTHROPIC] = "anthropic", [MODEL_OPENAI] = "openai"};

static void put_head(struct weir_buf *out, const struct cassette *c,
                     const struct model_request *request, const struct model_player *player)
{
    char hash[CASSETTE_HASH_BYTES];
    cassette_hash(request, hash);
    weir_json_put_begin_object(out);
    member_uint(out, "cassette", FORMAT);
    member_str(out, "sha256", hash);
    member_str(out, "type", type_names[player->provider->type]);
    member_str(out, "provider", player->provider->name);
    member_str(out, "model", player->model);
    member_uint(out, "http_status", (uint64_t)c->http_status);
    member_str(out, "content_type", c->content_type);
    if (c->retry_after_ms > 0) member_uint(out, "retry_after_ms", c->retry_after_ms);
    weir_json_put_key(out, "request");
    model_request_put(out, request);
    weir_json_put_end_object(out);
    weir_buf_append_char(out, '\n');
}

static void put_piece(struct weir_buf *out, struct weir_slice bytes, uint64_t at_ms)
{
    weir_json_put_begin_object(out);
    member_uint(out, "at_ms", at_ms);
    if (utf8_valid_prefix(bytes) == bytes.len) {
        weir_json_put_key(out, "text");
        weir_json_put_string(out, bytes);
    } else {
        weir_buf_append_str(out, ",\"base64\":\"");
        base64url_write(out, bytes);
        weir_buf_append_char(out, '"');
    }
    weir_json_put_end_object(out);
    weir_buf_append_char(out, '\n');
}

void cassette_put(struct weir_buf *out, struct cassette *c, const struct model_request *request,
                  const struct model_player *player)
{
    size_t begin = 0, from = out->len;
    model_key_blot(player->provider->key, c->bytes.ptr, c->bytes.len);
    put_head(out, c, request, player);
    for (size_t i = 0; i < c->n_pieces; i++) {
        put_piece(out, slice_of(c->bytes.ptr + begin, c->pieces[i].end - begin),
                  c->pieces[i].at_ms);
        begin = c->pieces[i].end;
    }
    weir_json_put_begin_object(out);
    member_uint(out, "at_ms", c->end_ms);
    member_str(out, "end", c->cut[0] != 0 ? c->cut : "whole");
    weir_json_put_end_object(out);
    weir_buf_append_char(out, '\n');
    if (out->status == WEIR_OK)
        model_key_blot(player->provider->key, out->ptr + from, out->len - from);
}

/* ---- and back ---- */

static bool read_type(const struct weir_json *v, enum model_type *out)
{
    for (int i = 0; i < 2; i++)
        if (weir_slice_is(weir_json_text(v), type_names[i])) {
            *out = (enum model_type)i;
            return true;
        }
    return false;
}

static void copy_text(char *out, size_t size, const struct weir_json *v)
{
    struct weir_slice text = weir_json_text(v);
    snprintf(out, size, "%.*s", (int)(text.len < size ? text.len : size), text.len ? text.ptr : "");
}

static bool read_head(struct cassette *c, const struct weir_json *v)
{
    uint64_t format = 0, http_status = 0;
    model_count(&format, weir_json_get_str(v, "cassette"));
    model_count(&http_status, weir_json_get_str(v, "http_status"));
    model_count(&c->retry_after_ms, weir_json_get_str(v, "retry_after_ms"));
    copy_text(c->content_type, sizeof c->content_type, weir_json_get_str(v, "content_type"));
    c->http_status = (int)http_status;
    return format == FORMAT && http_status >= 100 && http_status <= 599 &&
           read_type(weir_json_get_str(v, "type"), &c->type);
}

static bool add_base64(struct cassette *c, struct weir_slice text, uint64_t at_ms)
{
    size_t len = text.len / 4 * 3 + (text.len % 4 > 0 ? text.len % 4 - 1 : 0);
    char *bytes = mem_alloc(len + 1);
    bool is_good = bytes && base64url_read(text, bytes, len);
    if (is_good) cassette_add(c, slice_of(bytes, len), at_ms);
    mem_free(bytes);
    return is_good;
}

static bool read_piece(struct cassette *c, const struct weir_json *v, bool *is_last)
{
    const struct weir_json *text = weir_json_get_str(v, "text");
    const struct weir_json *base64 = weir_json_get_str(v, "base64");
    const struct weir_json *end = weir_json_get_str(v, "end");
    uint64_t at_ms = 0;
    model_count(&at_ms, weir_json_get_str(v, "at_ms"));
    if (text) cassette_add(c, weir_json_text(text), at_ms);
    else if (base64) return add_base64(c, weir_json_text(base64), at_ms);
    else if (!end) return false;
    if (!end) return true;
    *is_last = true;
    c->end_ms = at_ms;
    if (!weir_slice_is(weir_json_text(end), "whole")) copy_text(c->cut, sizeof c->cut, end);
    return true;
}

static struct weir_slice take_line(struct weir_slice *rest)
{
    const char *lf = rest->len > 0 ? memchr(rest->ptr, '\n', rest->len) : NULL;
    size_t len = lf ? (size_t)(lf - rest->ptr) : rest->len;
    struct weir_slice line = slice_of(rest->ptr, len);
    *rest = slice_from(*rest, lf ? len + 1 : len);
    return line;
}

bool cassette_read(struct cassette *c, struct weir_slice text)
{
    struct weir_json_doc *doc = weir_json_doc_new(VALUE_BYTES);
    bool is_good = doc != NULL, is_last = false;
    for (bool is_head = true; is_good && !is_last; is_head = false) {
        const struct weir_json *v = NULL;
        is_good = weir_json_parse(doc, take_line(&text), &v, NULL) == WEIR_OK &&
                  (is_head ? read_head(c, v) : read_piece(c, v, &is_last));
        weir_json_doc_reset(doc);
    }
    weir_json_doc_free(doc);
    return is_good && text.len == 0 && weir_buf_status(&c->bytes) == WEIR_OK;
}

/* ---- files ---- */

static bool make_path(char path[PATH_MAX], const char *folder, const char *hash, unsigned n)
{
    int len = snprintf(path, PATH_MAX, "%s/%s-%u.jsonl", folder, hash, n);
    return len > 0 && len < PATH_MAX;
}

enum weir_status cassette_save(const char *folder, const char *hash, struct weir_slice text)
{
    char path[PATH_MAX];
    struct file f;
    enum weir_status st = WEIR_IO;
    errno = EEXIST;
    for (unsigned n = 1; st != WEIR_OK && errno == EEXIST && n <= MAX_SAME; n++) {
        if (!make_path(path, folder, hash, n)) return WEIR_IO;
        st = file_open(&f, path, FILE_MUST_CREATE);
    }
    if (st != WEIR_OK) return st;
    st = file_write_at(&f, text, 0);
    file_close(&f);
    return st;
}

static enum weir_status read_file(struct cassette *c, struct file *f)
{
    uint64_t size = 0;
    size_t n = 0;
    enum weir_status st = file_size(f, &size);
    if (st != WEIR_OK) return st;
    if (size > FILE_BYTES) return WEIR_CORRUPT;
    char *bytes = mem_alloc((size_t)size + 1);
    if (!bytes) return WEIR_NOMEM;
    st = file_read_at(f, bytes, (size_t)size, 0, &n);
    if (st == WEIR_OK && !cassette_read(c, slice_of(bytes, n))) st = WEIR_CORRUPT;
    mem_free(bytes);
    return st;
}

enum weir_status cassette_load(struct cassette *c, const char *folder, const char *hash, unsigned n)
{
    char path[PATH_MAX];
    for (; n > 0; n--) {
        if (!make_path(path, folder, hash, n)) return WEIR_IO;
        if (file_exists(path)) break;
    }
    if (n == 0) return WEIR_NOT_FOUND;
    struct file f;
    enum weir_status st = file_open(&f, path, FILE_READ_ONLY);
    if (st != WEIR_OK) return st;
    st = read_file(c, &f);
    file_close(&f);
    return st;
}
