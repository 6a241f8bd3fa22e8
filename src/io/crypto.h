/* SPDX-License-Identifier: Apache-2.0 */
/* Random bytes, hashes, signatures and comparisons that tell nothing by their time. Any thread. */
#pragma once

#include <weir/buf.h>

enum {
    SHA256_BYTES = 32,
    ED25519_SEED_BYTES = 32, /* a private key, which is any random bytes */
    ED25519_PUBLIC_BYTES = 32,
    ED25519_SIGNATURE_BYTES = 64,
};

void sha256(struct weir_slice bytes, unsigned char out[SHA256_BYTES]);

/* The same of bytes that come in pieces. NULL: no memory. sha256_end() frees; out may be NULL. */
struct sha256_run;
struct sha256_run *sha256_begin(void);
void sha256_add(struct sha256_run *run, struct weir_slice bytes);
void sha256_end(struct sha256_run *run, unsigned char out[SHA256_BYTES]);

void hmac_sha256(struct weir_slice key, struct weir_slice bytes, unsigned char out[SHA256_BYTES]);

/* Ends the process when the system has no random bytes: nothing is safe then. */
void random_bytes(void *out, size_t len);

/* Whether both are equal, in a time that depends on len alone. */
bool bytes_equal_ct(const void *a, const void *b, size_t len);

/* ---- signatures (RFC 8032) ---- */

void ed25519_public(const unsigned char seed[ED25519_SEED_BYTES],
                    unsigned char out[ED25519_PUBLIC_BYTES]);
void ed25519_sign(const unsigned char seed[ED25519_SEED_BYTES], struct weir_slice bytes,
                  unsigned char out[ED25519_SIGNATURE_BYTES]);

/* ---- base64url (RFC 4648), without padding ---- */

void base64url_write(struct weir_buf *out, struct weir_slice bytes);

/* Exactly len bytes; false when the text is not what base64url_write() makes of any such. */
bool base64url_read(struct weir_slice text, void *out, size_t len);

/* ---- AES-256-GCM (NIST SP 800-38D) ---- */

enum { AEAD_KEY_BYTES = 32, AEAD_NONCE_BYTES = 12, AEAD_TAG_BYTES = 16 };

/*
 * Appends what `plain` is under the key, and the tag. A nonce must never be used twice with a key.
 * `bound` is not hidden, but opening needs the same. A failure sticks in the buffer.
 */
void aead_seal(struct weir_buf *out, const unsigned char key[AEAD_KEY_BYTES],
               const unsigned char nonce[AEAD_NONCE_BYTES], struct weir_slice bound,
               struct weir_slice plain);

/* Appends the plain bytes; false, with nothing appended, when any of the bytes is not right. */
bool aead_open(struct weir_buf *out, const unsigned char key[AEAD_KEY_BYTES],
               const unsigned char nonce[AEAD_NONCE_BYTES], struct weir_slice bound,
               struct weir_slice sealed);
