/* SPDX-License-Identifier: Apache-2.0 */
#include "io/crypto.h"

#include <errno.h>
#include <limits.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <pthread.h>
#include <sys/random.h>

#include "base/check.h"

/* Looked up once: OpenSSL 3 takes longer to find an algorithm than to hash a key with it. */
static EVP_MD *sha256_method;

static void find_sha256(void)
{
    sha256_method = EVP_MD_fetch(NULL, "SHA256", NULL);
}

static const EVP_MD *get_sha256(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_sha256);
    CHECK(sha256_method);
    return sha256_method;
}

void sha256(struct weir_slice bytes, unsigned char out[SHA256_BYTES])
{
    /* Fails only without memory, and then there is no answer that would be safe. */
    CHECK(EVP_Digest(bytes.ptr, bytes.len, out, NULL, get_sha256(), NULL) == 1);
}

/* The name that others know it by; nobody looks inside. */
static EVP_MD_CTX *inside(struct sha256_run *run)
{
    return (EVP_MD_CTX *)run;
}

struct sha256_run *sha256_begin(void)
{
    EVP_MD_CTX *digest = EVP_MD_CTX_new();
    if (digest && EVP_DigestInit_ex2(digest, get_sha256(), NULL) == 1)
        return (struct sha256_run *)digest;
    EVP_MD_CTX_free(digest);
    return NULL;
}

void sha256_add(struct sha256_run *run, struct weir_slice bytes)
{
    CHECK(EVP_DigestUpdate(inside(run), bytes.ptr, bytes.len) == 1);
}

void sha256_end(struct sha256_run *run, unsigned char out[SHA256_BYTES])
{
    if (run && out) CHECK(EVP_DigestFinal_ex(inside(run), out, NULL) == 1);
    EVP_MD_CTX_free(inside(run));
}

void hmac_sha256(struct weir_slice key, struct weir_slice bytes, unsigned char out[SHA256_BYTES])
{
    const unsigned char *from = (const unsigned char *)bytes.ptr;
    CHECK(key.len <= INT_MAX);
    CHECK(HMAC(EVP_sha256(), key.ptr, (int)key.len, from, bytes.len, out, NULL));
}

void random_bytes(void *out, size_t len)
{
    char *at = out;
    while (len > 0) {
        ssize_t n = getrandom(at, len, 0);
        CHECK(n > 0 || errno == EINTR);
        if (n < 0) continue;
        at += n;
        len -= (size_t)n;
    }
}

bool bytes_equal_ct(const void *a, const void *b, size_t len)
{
    return CRYPTO_memcmp(a, b, len) == 0;
}

/* ---- signatures ---- */

/* Whatever fails here fails only without memory, and then nothing that is signed would be true. */
static EVP_PKEY *private_key(const unsigned char seed[ED25519_SEED_BYTES])
{
    EVP_PKEY *key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, seed, ED25519_SEED_BYTES);
    CHECK(key);
    return key;
}

void ed25519_public(const unsigned char seed[ED25519_SEED_BYTES],
                    unsigned char out[ED25519_PUBLIC_BYTES])
{
    size_t len = ED25519_PUBLIC_BYTES;
    EVP_PKEY *key = private_key(seed);
    CHECK(EVP_PKEY_get_raw_public_key(key, out, &len) == 1 && len == ED25519_PUBLIC_BYTES);
    EVP_PKEY_free(key);
}

void ed25519_sign(const unsigned char seed[ED25519_SEED_BYTES], struct weir_slice bytes,
                  unsigned char out[ED25519_SIGNATURE_BYTES])
{
    size_t len = ED25519_SIGNATURE_BYTES;
    const unsigned char *from = (const unsigned char *)bytes.ptr;
    EVP_PKEY *key = private_key(seed);
    EVP_MD_CTX *signer = EVP_MD_CTX_new();
    CHECK(signer && EVP_DigestSignInit(signer, NULL, NULL, NULL, key) == 1);
    CHECK(EVP_DigestSign(signer, out, &len, from, bytes.len) == 1);
    CHECK(len == ED25519_SIGNATURE_BYTES);
    EVP_MD_CTX_free(signer);
    EVP_PKEY_free(key);
}

/* ---- base64url ---- */

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

enum { BYTE_BITS = 8, LETTER_BITS = 6, LETTER_MASK = 63 };

void base64url_write(struct weir_buf *out, struct weir_slice bytes)
{
    unsigned held = 0;
    unsigned n_bits = 0;
    for (size_t i = 0; i < bytes.len; i++) {
        held = held << BYTE_BITS | (unsigned char)bytes.ptr[i];
        for (n_bits += BYTE_BITS; n_bits >= LETTER_BITS; n_bits -= LETTER_BITS)
            weir_buf_append_char(out, letters[held >> (n_bits - LETTER_BITS) & LETTER_MASK]);
    }
    if (n_bits > 0)
        weir_buf_append_char(out, letters[held << (LETTER_BITS - n_bits) & LETTER_MASK]);
}

bool base64url_read(struct weir_slice text, void *out, size_t len)
{
    unsigned char *to = out;
    unsigned held = 0;
    unsigned n_bits = 0;
    if (text.len != (len * BYTE_BITS + LETTER_BITS - 1) / LETTER_BITS) return false;
    for (size_t i = 0; i < text.len; i++) {
        const char *letter = memchr(letters, text.ptr[i], sizeof letters - 1);
        if (!letter) return false;
        held = held << LETTER_BITS | (unsigned)(letter - letters);
        n_bits += LETTER_BITS;
        if (n_bits < BYTE_BITS) continue;
        n_bits -= BYTE_BITS;
        *to++ = (unsigned char)(held >> n_bits);
    }
    /* What is left over is zero, or one text would have several spellings. */
    return (held & ((1u << n_bits) - 1)) == 0;
}

/* One direction of GCM with the key, nonce and bound bytes given; NULL: no memory. */
static EVP_CIPHER_CTX *gcm_begin(const unsigned char *key, const unsigned char *nonce,
                                 struct weir_slice bound, int is_sealing)
{
    int n;
    EVP_CIPHER_CTX *gcm = EVP_CIPHER_CTX_new();
    if (!gcm) return NULL;
    CHECK(bound.len <= INT_MAX);
    CHECK(EVP_CipherInit_ex(gcm, EVP_aes_256_gcm(), NULL, key, nonce, is_sealing) == 1);
    if (bound.len > 0)
        CHECK(EVP_CipherUpdate(gcm, NULL, &n, (const unsigned char *)bound.ptr, (int)bound.len) ==
              1);
    return gcm;
}

/* Room for len more bytes at the end of the buffer; NULL: a failure sticks. */
static unsigned char *grow(struct weir_buf *out, size_t len)
{
    static const char zeros[256];
    size_t at = out->len;
    for (size_t left = len; left > 0 && weir_buf_status(out) == WEIR_OK;) {
        size_t n = left < sizeof zeros ? left : sizeof zeros;
        weir_buf_append(out, zeros, n);
        left -= n;
    }
    return weir_buf_status(out) == WEIR_OK ? (unsigned char *)out->ptr + at : NULL;
}

void aead_seal(struct weir_buf *out, const unsigned char key[AEAD_KEY_BYTES],
               const unsigned char nonce[AEAD_NONCE_BYTES], struct weir_slice bound,
               struct weir_slice plain)
{
    int n = 0;
    CHECK(plain.len <= INT_MAX);
    unsigned char *to = grow(out, plain.len + AEAD_TAG_BYTES);
    if (!to) return;
    EVP_CIPHER_CTX *gcm = gcm_begin(key, nonce, bound, 1);
    if (!gcm) {
        out->status = WEIR_NOMEM;
        return;
    }
    if (plain.len > 0)
        CHECK(EVP_CipherUpdate(gcm, to, &n, (const unsigned char *)plain.ptr, (int)plain.len) == 1);
    CHECK(EVP_CipherFinal_ex(gcm, to + n, &n) == 1);
    CHECK(EVP_CIPHER_CTX_ctrl(gcm, EVP_CTRL_GCM_GET_TAG, AEAD_TAG_BYTES, to + plain.len) == 1);
    EVP_CIPHER_CTX_free(gcm);
}

bool aead_open(struct weir_buf *out, const unsigned char key[AEAD_KEY_BYTES],
               const unsigned char nonce[AEAD_NONCE_BYTES], struct weir_slice bound,
               struct weir_slice sealed)
{
    unsigned char tag[AEAD_TAG_BYTES];
    int n = 0;
    size_t before = out->len;
    if (sealed.len < AEAD_TAG_BYTES || sealed.len > INT_MAX) return false;
    size_t len = sealed.len - AEAD_TAG_BYTES;
    memcpy(tag, sealed.ptr + len, sizeof tag);
    unsigned char *to = grow(out, len);
    EVP_CIPHER_CTX *gcm = to || len == 0 ? gcm_begin(key, nonce, bound, 0) : NULL;
    if (!gcm) return false;
    if (len > 0)
        CHECK(EVP_CipherUpdate(gcm, to, &n, (const unsigned char *)sealed.ptr, (int)len) == 1);
    CHECK(EVP_CIPHER_CTX_ctrl(gcm, EVP_CTRL_GCM_SET_TAG, AEAD_TAG_BYTES, tag) == 1);
    unsigned char none[AEAD_TAG_BYTES];
    bool is_right = EVP_CipherFinal_ex(gcm, none, &n) == 1;
    EVP_CIPHER_CTX_free(gcm);
    /* What was decrypted and is not right is nobody's business. */
    if (!is_right && len > 0) {
        OPENSSL_cleanse(to, len);
        out->len = before;
    }
    return is_right;
}
