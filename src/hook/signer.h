/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server's own secrets for subscriptions: the key that webhooks are signed with (Ed25519), of
 * which everybody may have the public half, and the key of the tokens. Made at first use and kept
 * in the data folder, in a file that only this user can read; not in the store, for a backup of
 * that shall not be able to speak for the server.
 *
 * signer_open() may wait for the disk; the rest is pure and for any thread.
 */
#pragma once

#include <weir/buf.h>

#include "hook/token.h"
#include "io/crypto.h"

enum { SIGNER_KID_BYTES = 3 + 43 + 1 }; /* "ds_", a SHA-256 and a NUL */

struct signer {
    unsigned char seed[ED25519_SEED_BYTES];
    unsigned char token_key[TOKEN_KEY_BYTES];
    unsigned char public[ED25519_PUBLIC_BYTES];
    char kid[SIGNER_KID_BYTES]; /* names the key, by its RFC 7638 thumbprint */
};

/* Reads the file, or makes it. WEIR_CORRUPT: it is none of ours. */
WEIR_MUST_CHECK enum weir_status signer_open(struct signer *s, const char *folder);

/* {"keys":[{"kty":"OKP",…}]} */
void signer_put_jwks(const struct signer *s, struct weir_buf *out);

/* "t=1700000000,kid=ds_…,ed25519=…": the signature of "1700000000." and the body. */
void signer_sign(const struct signer *s, struct weir_slice body, int64_t now_s,
                 struct weir_buf *out);
