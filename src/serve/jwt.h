/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON Web Tokens (RFC 7519, RFC 7515) that others have signed: who asks, as an issuer says.
 *
 * 1. jwt_trust_read() from a file that names the issuers (docs/serve.md).
 * 2. jwt_check() for each request.
 * 3. jwt_trust_free().
 *
 * Each key is for one algorithm, which the file names: HS256, RS256, ES256 or EdDSA (Ed25519). A
 * token never says how it is to be verified, it only says which of these it claims to be; so
 * "none", and a public key taken for a secret, are nothing special. Keys that a token brings along
 * or points to (jwk, jku, x5c, x5u) are not looked at. Tokens with "crit", with a member twice, in
 * base64 that is not canonical, or without "exp" are refused.
 *
 * What is trusted does not change once it is read: any thread.
 */
#pragma once

#include <weir/buf.h>

#include "serve/access.h"

enum {
    JWT_BYTES = 8 << 10, /* longest token that is looked at */
    JWT_WHY_BYTES = 256,
    JWT_MAX_KEYS = 64, /* of all issuers together */
    JWT_MAX_AUDIENCES = 8,
    JWT_MIN_SECRET_BYTES = 32, /* RFC 7518, 3.2 */
    JWT_LEEWAY_S = 60,         /* of clocks, unless the file says otherwise */
    JWT_MAX_LEEWAY_S = 600,
};

struct jwt_trust;

/* WEIR_NOT_FOUND, WEIR_FORBIDDEN, WEIR_BAD_FIELD, WEIR_IO, WEIR_NOMEM: `why` says what and where.
 */
WEIR_MUST_CHECK enum weir_status jwt_trust_read(struct jwt_trust **out, const char *path,
                                                char why[JWT_WHY_BYTES]);
void jwt_trust_free(struct jwt_trust *t); /* NULL is allowed; secrets are wiped */

/* Whether it could be one: three parts. Keys of ours have no dot. */
bool jwt_has_form(struct weir_slice token);

/*
 * Who asks: `out` gets the owner ("sub") and the scopes, never that of administrators. WEIR_NOMEM;
 * WEIR_BAD_TOKEN: *why is a sentence; only of a token that is truly signed it tells more than that
 * it is not good.
 */
WEIR_MUST_CHECK enum weir_status jwt_check(const struct jwt_trust *t, struct weir_slice token,
                                           int64_t now_ms, struct access *out, const char **why);
