/* SPDX-License-Identifier: Apache-2.0 */
/* What is trusted, as jwt_trust.c reads it and jwt.c uses it. */
#pragma once

#include "base/arena.h"
#include "io/public_key.h"
#include "serve/jwt.h"

enum jwt_alg { JWT_HS256, JWT_RS256, JWT_ES256, JWT_EDDSA, JWT_N_ALGS };
extern const char *const jwt_alg_names[JWT_N_ALGS];

/* An entry of the file. Texts are the trust's. */
struct jwt_issuer {
    enum jwt_alg alg;
    struct weir_slice iss; /* empty: any */
    struct weir_slice audiences[JWT_MAX_AUDIENCES];
    size_t n_audiences;            /* 0: a token must not have any */
    struct weir_slice scope_claim; /* empty: all may read and write */
    int64_t leeway_s;
};

struct jwt_key {
    const struct jwt_issuer *issuer;
    struct weir_slice kid;     /* empty: it has none */
    struct weir_slice secret;  /* HS256 */
    struct public_key *public; /* the others */
};

struct jwt_trust {
    struct arena memory;
    struct jwt_key keys[JWT_MAX_KEYS];
    size_t n_keys;
};
