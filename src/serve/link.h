/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links: whoever has one may read one stream until it expires, and do nothing else. It is for a
 * browser's EventSource, which cannot send a key and should not be given one.
 *
 * A link is an address with a token in its query. The token is "1.EXPIRES.MAC": the version of
 * its form, the second of the wall clock at which it ends, and HMAC-SHA-256 in base64url over
 * these two and the stream's name. So nothing is kept for a link, and a single one cannot be
 * taken back; rotating the secret ends all that there are.
 *
 * The secret is a document of kind "secret" in the store, made for the first link. Whoever has a
 * copy of the store can make links to it.
 *
 * 1. links_open() reads the secret, if there is one.
 * 2. links_check() for each request with a token; links_make(), links_rotate() for the commands.
 * 3. links_close().
 *
 * links_check() never waits for the disk; the others may. Any thread.
 */
#pragma once

#include <weir/buf.h>

#include "base/clock.h"
#include "store/store.h"

enum {
    LINK_SECRET_BYTES = 32,
    LINK_TOKEN_BYTES = 2 + 11 + 1 + 43 + 1, /* with the NUL */
    LINK_MAX_LIFE_S = 366 * 86400,
    LINK_DEFAULT_LIFE_S = 3600,
    LINK_JSON_BYTES = 4096, /* what link_put() writes is shorter */
};

/* What the query's parameter is called. */
extern const char link_parameter[];

/* ---- tokens; pure ---- */

/* Writes the token that opens a stream until `expires_s`, which is from 0 to the year 5000. */
void link_write(const unsigned char secret[LINK_SECRET_BYTES], struct weir_slice stream,
                int64_t expires_s, char token[LINK_TOKEN_BYTES]);

/*
 * Whether this is, byte by byte, a token that link_write() made for the stream, and when it
 * ends. In a time that tells nothing about the right one.
 */
bool link_read(const unsigned char secret[LINK_SECRET_BYTES], struct weir_slice stream,
               struct weir_slice token, int64_t *expires_s);

/* ---- with the store's secret ---- */

struct links;

WEIR_MUST_CHECK enum weir_status links_open(struct links **out, struct store *store,
                                            const struct clock *clock);
void links_close(struct links *l);

/* Another node may have made or rotated the secret. May wait for the disk. */
WEIR_MUST_CHECK enum weir_status links_refresh(struct links *l);

/*
 * WEIR_BAD_TOKEN: it is not of this stream and secret, or it has expired, which *is_expired
 * says.
 */
WEIR_MUST_CHECK enum weir_status links_check(struct links *l, struct weir_slice stream,
                                             struct weir_slice token, bool *is_expired);

/* A link. */
struct link {
    struct weir_slice stream; /* borrowed */
    int64_t lasts_s;          /* for links_make(): from 1 to LINK_MAX_LIFE_S */
    int64_t expires_s;
    char token[LINK_TOKEN_BYTES];
};

/* Whether there can be such a stream, and such a life; `why` gets a sentence when not. */
bool link_is_valid(const struct link *link, const char **why);

/* Fills in the rest. WEIR_INVALID: see link_is_valid(). */
WEIR_MUST_CHECK enum weir_status links_make(struct links *l, struct link *link);

/*
 * When it returns, no link that was made before opens anything. Another status than WEIR_OK:
 * the store could not write it down, and after a restart the old ones work again, and the new
 * ones do not.
 */
WEIR_MUST_CHECK enum weir_status links_rotate(struct links *l);

/* "/v1/streams/NAME?link=TOKEN". */
void link_put_path(struct weir_buf *out, const struct link *link);
/* {"stream","expires","token","path"}. */
void link_put(struct weir_buf *out, const struct link *link);
