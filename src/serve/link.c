/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links. A token is checked by making the right one and comparing all of it, so there is one
 * text for each stream and time, and no second way to write it.
 */
#include "serve/link.h"

#include <assert.h>
#include <stdio.h>

#include <weir/json.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/slice.h"
#include "io/crypto.h"
#include "serve/secret.h"
#include "stream/stream.h"

enum {
    MAGIC = 0x6c696e6b,
    MAC_TEXT_BYTES = 43,
    EXPIRES_DIGITS = 11,
    MESSAGE_BYTES = 64 + STREAM_NAME_BYTES,
};

static const int64_t MAX_EXPIRES_S = 95617584000; /* the year 5000, in 11 digits */

static_assert((int)LINK_SECRET_BYTES == (int)SECRET_BYTES, "signed by one of them");

const char link_parameter[] = "link";

struct links {
    unsigned magic;
    const struct clock *clock;
    struct secret secret;
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

/* ---- with the store's secret ---- */

enum weir_status links_open(struct links **out, struct store *store, const struct clock *clock)
{
    *out = NULL;
    struct links *l = mem_zalloc(sizeof *l);
    if (!l) return WEIR_NOMEM;
    *l = (struct links){.magic = MAGIC, .clock = clock};
    enum weir_status st = secret_init(&l->secret, store, "link");
    if (st == WEIR_OK) *out = l;
    else links_close(l);
    return st;
}

void links_close(struct links *l)
{
    if (!l) return;
    CHECK(l->magic == MAGIC);
    secret_fini(&l->secret);
    l->magic = 0;
    mem_free(l);
}

enum weir_status links_refresh(struct links *l)
{
    CHECK(l->magic == MAGIC);
    return secret_refresh(&l->secret);
}

enum weir_status links_rotate(struct links *l)
{
    CHECK(l->magic == MAGIC);
    return secret_rotate(&l->secret);
}

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
    enum weir_status st = secret_need(&l->secret, secret);
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
    bool has_secret = secret_get(&l->secret, secret);
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
