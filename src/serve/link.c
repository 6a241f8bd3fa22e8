/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links. A token is checked by making the right one and comparing all of it, so there is one
 * text for each stream and time, and no second way to write it.
 *
 * `lock` guards the secret, which is copied out; `changing` is held by whoever changes the
 * document, so that document and secret cannot go different ways.
 */
#include "serve/link.h"

#include <pthread.h>
#include <stdio.h>

#include <weir/json.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/slice.h"
#include "io/crypto.h"
#include "stream/stream.h"

enum {
    MAGIC = 0x6c696e6b,
    MAC_TEXT_BYTES = 43,
    EXPIRES_DIGITS = 11,
    MESSAGE_BYTES = 64 + STREAM_NAME_BYTES,
    SECRET_DOC_BYTES = 256,
};

static const int64_t MAX_EXPIRES_S = 95617584000; /* the year 5000, in 11 digits */

const char link_parameter[] = "link";

struct links {
    unsigned magic;
    struct store *store;
    const struct clock *clock;
    pthread_mutex_t changing;
    pthread_rwlock_t lock;
    bool has_secret; /* under the lock */
    unsigned char secret[LINK_SECRET_BYTES];
};

/* ---- tokens ---- */

/* "weir link", the two parts of the token before the MAC, and the name: nothing else reads so. */
static void make_mac(const unsigned char secret[LINK_SECRET_BYTES], struct weir_slice stream,
                     const char *begin, unsigned char mac[SHA256_BYTES])
{
    char bytes[MESSAGE_BYTES];
    int len = snprintf(bytes, sizeof bytes, "weir link %s\n", begin);
    CHECK(len > 0 && stream.len <= sizeof bytes - (size_t)len);
    if (stream.len > 0) memcpy(bytes + len, stream.ptr, stream.len);
    hmac_sha256(slice_of((const char *)secret, LINK_SECRET_BYTES),
                slice_of(bytes, (size_t)len + stream.len), mac);
}

void link_write(const unsigned char secret[LINK_SECRET_BYTES], struct weir_slice stream,
                int64_t expires_s, char token[LINK_TOKEN_BYTES])
{
    unsigned char mac[SHA256_BYTES];
    CHECK(expires_s >= 0 && expires_s <= MAX_EXPIRES_S && stream.len <= STREAM_NAME_BYTES);
    int len = snprintf(token, LINK_TOKEN_BYTES, "1.%lld.", (long long)expires_s);
    make_mac(secret, stream, token, mac);
    struct weir_buf rest = {.ptr = token + len, .cap = MAC_TEXT_BYTES, .max = MAC_TEXT_BYTES};
    base64url_write(&rest, slice_of((const char *)mac, sizeof mac));
    CHECK(weir_buf_status(&rest) == WEIR_OK && rest.len == MAC_TEXT_BYTES);
    token[(size_t)len + MAC_TEXT_BYTES] = 0;
}

/* The number between the dots; false when there is none that fits. */
static bool get_expires(struct weir_slice token, int64_t *expires_s)
{
    size_t i = 2;
    *expires_s = 0;
    if (token.len < i || token.len >= LINK_TOKEN_BYTES) return false;
    for (; i < token.len && token.ptr[i] >= '0' && token.ptr[i] <= '9'; i++) {
        if (i >= 2 + EXPIRES_DIGITS) return false;
        *expires_s = *expires_s * 10 + (token.ptr[i] - '0');
    }
    return *expires_s <= MAX_EXPIRES_S;
}

bool link_read(const unsigned char secret[LINK_SECRET_BYTES], struct weir_slice stream,
               struct weir_slice token, int64_t *expires_s)
{
    char right[LINK_TOKEN_BYTES];
    if (stream.len > STREAM_NAME_BYTES || !get_expires(token, expires_s)) return false;
    link_write(secret, stream, *expires_s, right);
    bool is_equal = token.len == strlen(right) && bytes_equal_ct(token.ptr, right, token.len);
    explicit_bzero(right, sizeof right);
    return is_equal;
}

/* ---- the secret ---- */

static const struct doc_key secret_key = {.kind = {"secret", 6}, .id = {"link", 4}};

static WEIR_MUST_CHECK enum weir_status load(struct links *l)
{
    struct doc doc;
    enum weir_status st = store_doc_get(l->store, secret_key, &doc);
    if (st == WEIR_NOT_FOUND) return WEIR_OK;
    if (st != WEIR_OK) return st;
    l->has_secret = base64url_read(doc.body, l->secret, sizeof l->secret);
    doc_fini(&doc);
    return l->has_secret ? WEIR_OK : WEIR_CORRUPT;
}

enum weir_status links_open(struct links **out, struct store *store, const struct clock *clock)
{
    *out = NULL;
    struct links *l = mem_zalloc(sizeof *l);
    if (!l) return WEIR_NOMEM;
    *l = (struct links){.magic = MAGIC, .store = store, .clock = clock};
    CHECK(pthread_mutex_init(&l->changing, NULL) == 0);
    CHECK(pthread_rwlock_init(&l->lock, NULL) == 0);
    enum weir_status st = load(l);
    if (st == WEIR_OK) *out = l;
    else links_close(l);
    return st;
}

void links_close(struct links *l)
{
    if (!l) return;
    CHECK(l->magic == MAGIC);
    pthread_rwlock_destroy(&l->lock);
    pthread_mutex_destroy(&l->changing);
    explicit_bzero(l, sizeof *l);
    mem_free(l);
}

/* A copy; false when there is none yet. */
static bool get_secret(struct links *l, unsigned char secret[LINK_SECRET_BYTES])
{
    CHECK(pthread_rwlock_rdlock(&l->lock) == 0);
    bool has_secret = l->has_secret;
    memcpy(secret, l->secret, LINK_SECRET_BYTES);
    CHECK(pthread_rwlock_unlock(&l->lock) == 0);
    return has_secret;
}

static void set_secret(struct links *l, const unsigned char secret[LINK_SECRET_BYTES])
{
    CHECK(pthread_rwlock_wrlock(&l->lock) == 0);
    memcpy(l->secret, secret, LINK_SECRET_BYTES);
    l->has_secret = true;
    CHECK(pthread_rwlock_unlock(&l->lock) == 0);
}

static WEIR_MUST_CHECK enum weir_status write_secret(struct links *l,
                                                     const unsigned char secret[LINK_SECRET_BYTES])
{
    struct weir_buf body;
    struct commit *c = commit_new(SECRET_DOC_BYTES);
    if (!c) return WEIR_NOMEM;
    weir_buf_init(&body, SECRET_DOC_BYTES);
    base64url_write(&body, slice_of((const char *)secret, LINK_SECRET_BYTES));
    enum weir_status st = weir_buf_status(&body);
    if (st == WEIR_OK) {
        commit_put(c, secret_key, DOC_ANY_VERSION, SLICE(""), weir_buf_slice(&body));
        st = store_commit_wait(l->store, c).status;
    } else {
        commit_free(c);
    }
    if (body.len > 0) explicit_bzero(body.ptr, body.len);
    weir_buf_fini(&body);
    return st;
}

/* The secret, made if there is none; nothing is signed by one that could be forgotten. */
static WEIR_MUST_CHECK enum weir_status need_secret(struct links *l,
                                                    unsigned char secret[LINK_SECRET_BYTES])
{
    enum weir_status st = WEIR_OK;
    CHECK(pthread_mutex_lock(&l->changing) == 0);
    if (!get_secret(l, secret)) {
        random_bytes(secret, LINK_SECRET_BYTES);
        st = write_secret(l, secret);
        if (st == WEIR_OK) set_secret(l, secret);
    }
    CHECK(pthread_mutex_unlock(&l->changing) == 0);
    return st;
}

enum weir_status links_rotate(struct links *l)
{
    CHECK(l->magic == MAGIC);
    unsigned char secret[LINK_SECRET_BYTES];
    random_bytes(secret, sizeof secret);
    CHECK(pthread_mutex_lock(&l->changing) == 0);
    /* Before the document: a link that leaked is refused even when the disk is full. */
    set_secret(l, secret);
    enum weir_status st = write_secret(l, secret);
    CHECK(pthread_mutex_unlock(&l->changing) == 0);
    explicit_bzero(secret, sizeof secret);
    return st;
}

/* ---- making and checking ---- */

bool link_is_valid(const struct link *link, const char **why)
{
    *why = NULL;
    if (!stream_is_name(link->stream))
        *why = "a stream's name is 1 to 200 bytes of UTF-8 without control characters";
    else if (link->lasts_s < 1 || link->lasts_s > LINK_MAX_LIFE_S)
        *why = "a link lasts from a second to 366 days";
    return *why == NULL;
}

enum weir_status links_make(struct links *l, struct link *link)
{
    CHECK(l->magic == MAGIC);
    unsigned char secret[LINK_SECRET_BYTES];
    const char *why;
    bool is_good = link_is_valid(link, &why);
    int64_t now_s = (clock_wall_ms(l->clock) + 999) / 1000; /* no shorter than was asked */
    if (!is_good || now_s < 0 || now_s > MAX_EXPIRES_S - LINK_MAX_LIFE_S) return WEIR_INVALID;
    enum weir_status st = need_secret(l, secret);
    if (st != WEIR_OK) return st;
    link->expires_s = now_s + link->lasts_s;
    link_write(secret, link->stream, link->expires_s, link->token);
    explicit_bzero(secret, sizeof secret);
    return WEIR_OK;
}

enum weir_status links_check(struct links *l, struct weir_slice stream, struct weir_slice token,
                             bool *is_expired)
{
    CHECK(l->magic == MAGIC);
    unsigned char secret[LINK_SECRET_BYTES];
    int64_t expires_s = 0;
    *is_expired = false;
    bool has_secret = get_secret(l, secret);
    bool is_ours = has_secret && link_read(secret, stream, token, &expires_s);
    explicit_bzero(secret, sizeof secret);
    if (!is_ours) return WEIR_BAD_TOKEN;
    *is_expired = clock_wall_ms(l->clock) >= expires_s * 1000;
    return *is_expired ? WEIR_BAD_TOKEN : WEIR_OK;
}

/* ---- as text ---- */

static bool needs_no_escape(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_' || c == '~';
}

/* As one segment of a path. "." and ".." would be taken for something else by whoever sends it. */
static void put_escaped(struct weir_buf *out, struct weir_slice name)
{
    static const char digits[] = "0123456789ABCDEF";
    bool is_dots = weir_slice_is(name, ".") || weir_slice_is(name, "..");
    for (size_t i = 0; i < name.len; i++) {
        unsigned char c = (unsigned char)name.ptr[i];
        if (needs_no_escape(name.ptr[i]) && !is_dots) {
            weir_buf_append_char(out, name.ptr[i]);
            continue;
        }
        weir_buf_append_char(out, '%');
        weir_buf_append_char(out, digits[c >> 4]);
        weir_buf_append_char(out, digits[c & 15]);
    }
}

void link_put_path(struct weir_buf *out, const struct link *link)
{
    weir_buf_append_str(out, "/v1/streams/");
    put_escaped(out, link->stream);
    weir_buf_append_char(out, '?');
    weir_buf_append_str(out, link_parameter);
    weir_buf_append_char(out, '=');
    weir_buf_append_str(out, link->token);
}

void link_put(struct weir_buf *out, const struct link *link)
{
    char time[CLOCK_TEXT_BYTES];
    struct weir_buf path;
    weir_buf_init(&path, LINK_JSON_BYTES);
    link_put_path(&path, link);
    clock_format(time, link->expires_s * 1000);
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "stream");
    weir_json_put_string(out, link->stream);
    weir_json_put_key(out, "expires");
    weir_json_put_str(out, time);
    weir_json_put_key(out, "token");
    weir_json_put_str(out, link->token);
    weir_json_put_key(out, "path");
    weir_json_put_string(out, weir_buf_slice(&path));
    weir_json_put_end_object(out);
    if (weir_buf_status(&path) != WEIR_OK) out->status = weir_buf_status(&path);
    weir_buf_fini(&path);
}
