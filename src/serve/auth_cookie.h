/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cookies: what a browser shows in place of a key, so that no page has to keep one. It stands for
 * the key that it was made with, and is worth no more: when the key is revoked or expires, so is
 * the cookie, at once; its scopes, prefix and rate are the key's.
 *
 * "1.KEY.ISSUED.EXPIRES.NONCE.MAC": the version of the form, the name of the key, two moments of
 * the wall clock in milliseconds, 128 random bits, and HMAC-SHA-256 in base64url over all these
 * and the moment at which the key was made. The secret is the document "cookie" of kind "secret".
 *
 * Nothing is kept of a cookie until it is taken back. Then its nonce is, until it would have
 * expired: a document of kind "cookie" for each key. A key has room for COOKIES_REVOKED; when more
 * than that are taken back, all cookies of this key that were made before are.
 *
 * 1. cookies_open() reads the secret and what was taken back.
 * 2. cookies_find() for each request; cookies_make(), cookies_revoke(), cookies_sweep().
 *    cookies_refresh() when another node may have made the secret or taken cookies back.
 * 3. cookies_close().
 *
 * cookies_find() never waits for the disk; the others may. Any thread.
 */
#pragma once

#include "serve/access.h"
#include "serve/secret.h"

struct cookies;

enum {
    COOKIE_LIFE_S = 7 * 86400,
    COOKIE_NONCE_LEN = 22,
    COOKIE_TIME_DIGITS = 14,
    COOKIE_MAC_LEN = 43,
    COOKIE_BYTES = 2 + KEY_NAME_BYTES + 1 + 2 * (COOKIE_TIME_DIGITS + 1) + COOKIE_NONCE_LEN + 1 +
                   COOKIE_MAC_LEN + 1, /* with the NUL */
    COOKIES_REVOKED = 64,              /* of one key, one by one */
};

struct cookie {
    char key[KEY_NAME_BYTES + 1];
    char nonce[COOKIE_NONCE_LEN + 1];
    int64_t issued_ms, expires_ms;
};

WEIR_MUST_CHECK enum weir_status cookies_open(struct cookies **out, struct store *store,
                                              struct keys *keys, const struct clock *clock);
void cookies_close(struct cookies *c); /* NULL is allowed */

/* For a key that is good; it lasts no longer than that. WEIR_NOT_FOUND: there is no such key. */
WEIR_MUST_CHECK enum weir_status cookies_make(struct cookies *c, struct weir_slice key,
                                              struct cookie *out, char text[COOKIE_BYTES]);

/* Who shows it, as keys_find(). *out is filled in when the cookie was ours. */
WEIR_MUST_CHECK enum weir_status cookies_find(struct cookies *c, struct weir_slice text,
                                              struct key_found *found, struct cookie *out);

/* The same without a request of the key's rate: whether it is good now. */
bool cookies_read(struct cookies *c, struct weir_slice text, struct cookie *out);

/*
 * No request passes with it from now on. A status but WEIR_OK: the store could not write that down,
 * and it works again after a restart.
 */
WEIR_MUST_CHECK enum weir_status cookies_revoke(struct cookies *c, const struct cookie *cookie);

/* Reads what other nodes wrote. */
WEIR_MUST_CHECK enum weir_status cookies_refresh(struct cookies *c);

/* Forgets what has expired anyway. */
void cookies_sweep(struct cookies *c);

/* ---- texts; pure ---- */

/* The one text of a cookie; its times have COOKIE_TIME_DIGITS at most. */
void cookie_write(const unsigned char secret[SECRET_BYTES], const struct cookie *cookie,
                  int64_t key_made_ms, char text[COOKIE_BYTES]);

/* Its parts, of which nobody knows yet whether we wrote them; false: it cannot be. */
bool cookie_parse(struct weir_slice text, struct cookie *out);

/* ---- what requests and answers have; pure ---- */

/*
 * What ours is called. Browsers take a name with "__Host-" from the host itself only, so that no
 * neighbour's domain can put one of its own beside it; but they want it to be Secure.
 */
const char *cookie_name(bool is_secure);

/*
 * The value of the next cookie of that name in a Cookie field, which begins behind it afterwards.
 * False: there is no more.
 */
bool cookie_next(struct weir_slice *field, const char *name, struct weir_slice *value);

/* Set-Cookie: `text` for so long; "" takes it away. */
void cookie_put(struct weir_buf *out, const char *text, int64_t lasts_s, bool is_secure);

/*
 * Whether a request with this Origin comes from a page of the server's own: scheme and host by
 * which it was asked, or its public address (NULL: none). With a public address by https, plain
 * HTTP at the same host is none of ours.
 */
struct own_origin {
    const char *scheme;     /* "https" */
    struct weir_slice host; /* with the port, if it is not the scheme's */
    const char *public_url;
};
bool origin_is_own(struct weir_slice origin, const struct own_origin *own);
