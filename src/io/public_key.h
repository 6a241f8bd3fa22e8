/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Public keys of others, and whether something was signed with the private half.
 *
 * A key is made for one kind of signature and verifies that kind alone. It does not change: any
 * thread. The caller frees it.
 */
#pragma once

#include <weir/buf.h>

enum {
    PUBLIC_KEY_MIN_RSA_BITS = 2048, /* smaller ones can be broken */
    PUBLIC_KEY_MAX_RSA_BITS = 16384,
    PUBLIC_KEY_POINT_BYTES = 32,     /* of a coordinate of Ed25519 or P-256 */
    PUBLIC_KEY_SIGNATURE_BYTES = 64, /* of Ed25519; of P-256 as r and s, as JOSE has it */
};

enum public_key_kind {
    PUBLIC_KEY_RSA,     /* RSASSA-PKCS1-v1_5 with SHA-256 */
    PUBLIC_KEY_ED25519, /* RFC 8032 */
    PUBLIC_KEY_P256,    /* ECDSA with SHA-256 */
};

struct public_key;

/*
 * From the first "-----BEGIN PUBLIC KEY-----" of a PEM text. WEIR_INVALID: there is none;
 * WEIR_BAD_TYPE: it is of another kind; WEIR_LIMIT: an RSA key that is too small or too large;
 * WEIR_NOMEM.
 */
WEIR_MUST_CHECK enum weir_status public_key_from_pem(struct public_key **out,
                                                     enum public_key_kind kind,
                                                     struct weir_slice pem);
/*
 * From its numbers, big-endian: RSA from modulus and exponent; Ed25519 from its point, with an
 * empty `second`; P-256 from x and y. Failures as above.
 */
WEIR_MUST_CHECK enum weir_status public_key_from_numbers(struct public_key **out,
                                                         enum public_key_kind kind,
                                                         struct weir_slice first,
                                                         struct weir_slice second);
void public_key_free(struct public_key *key); /* NULL is allowed */

/* False for everything that is not a signature of exactly these bytes. */
bool public_key_verify(const struct public_key *key, struct weir_slice bytes,
                       struct weir_slice signature);
