/* SPDX-License-Identifier: Apache-2.0 */
#include "io/public_key.h"

#include <limits.h>
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include "base/mem.h"
#include "base/slice.h"

enum {
    MAX_DER_BYTES = 80,  /* of a P-256 signature */
    UNCOMPRESSED = 0x04, /* how a point with both coordinates begins (SEC 1, 2.3.3) */
};

struct public_key {
    enum public_key_kind kind;
    EVP_PKEY *key;
};

/* ---- making ---- */

static bool is_of_kind(EVP_PKEY *key, enum public_key_kind kind)
{
    char group[64];
    switch (kind) {
    case PUBLIC_KEY_RSA: return EVP_PKEY_is_a(key, "RSA") == 1;
    case PUBLIC_KEY_ED25519: return EVP_PKEY_is_a(key, "ED25519") == 1;
    case PUBLIC_KEY_P256:
        return EVP_PKEY_is_a(key, "EC") == 1 &&
               EVP_PKEY_get_group_name(key, group, sizeof group, NULL) == 1 &&
               strcmp(group, SN_X9_62_prime256v1) == 0;
    }
    return false;
}

/* Takes the key over; NULL: it could not be made. */
static enum weir_status keep(struct public_key **out, enum public_key_kind kind, EVP_PKEY *key)
{
    enum weir_status st = WEIR_OK;
    /* What OpenSSL has to say stays in a queue of the thread, where TLS would find it. */
    ERR_clear_error();
    if (!key) return WEIR_INVALID;
    if (!is_of_kind(key, kind)) st = WEIR_BAD_TYPE;
    else if (kind == PUBLIC_KEY_RSA && (EVP_PKEY_get_bits(key) < PUBLIC_KEY_MIN_RSA_BITS ||
                                        EVP_PKEY_get_bits(key) > PUBLIC_KEY_MAX_RSA_BITS))
        st = WEIR_LIMIT;
    struct public_key *made = st == WEIR_OK ? mem_zalloc(sizeof *made) : NULL;
    if (made) {
        *made = (struct public_key){kind, key};
        *out = made;
        return WEIR_OK;
    }
    EVP_PKEY_free(key);
    return st == WEIR_OK ? WEIR_NOMEM : st;
}

enum weir_status public_key_from_pem(struct public_key **out, enum public_key_kind kind,
                                     struct weir_slice pem)
{
    *out = NULL;
    BIO *text = pem.len <= INT_MAX ? BIO_new_mem_buf(pem.ptr, (int)pem.len) : NULL;
    if (!text) return WEIR_NOMEM;
    EVP_PKEY *key = PEM_read_bio_PUBKEY(text, NULL, NULL, NULL);
    BIO_free(text);
    return keep(out, kind, key);
}

/* NULL: the numbers are no such key, or there is no memory. */
static EVP_PKEY *key_of_params(const char *type, OSSL_PARAM_BLD *build)
{
    EVP_PKEY *key = NULL;
    OSSL_PARAM *params = OSSL_PARAM_BLD_to_param(build);
    EVP_PKEY_CTX *maker = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
    if (params && maker && EVP_PKEY_fromdata_init(maker) == 1 &&
        EVP_PKEY_fromdata(maker, &key, EVP_PKEY_PUBLIC_KEY, params) != 1)
        key = NULL;
    EVP_PKEY_CTX_free(maker);
    OSSL_PARAM_free(params);
    return key;
}

static EVP_PKEY *rsa_of(struct weir_slice n, struct weir_slice e)
{
    EVP_PKEY *key = NULL;
    enum { MAX_BYTES = PUBLIC_KEY_MAX_RSA_BITS / 8 };
    if (n.len == 0 || n.len > MAX_BYTES || e.len == 0 || e.len > MAX_BYTES) return NULL;
    BIGNUM *modulus = BN_bin2bn((const unsigned char *)n.ptr, (int)n.len, NULL);
    BIGNUM *exponent = BN_bin2bn((const unsigned char *)e.ptr, (int)e.len, NULL);
    OSSL_PARAM_BLD *build = OSSL_PARAM_BLD_new();
    if (modulus && exponent && build && BN_is_odd(exponent) && !BN_is_one(exponent) &&
        OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_N, modulus) == 1 &&
        OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_E, exponent) == 1)
        key = key_of_params("RSA", build);
    OSSL_PARAM_BLD_free(build);
    BN_free(modulus);
    BN_free(exponent);
    return key;
}

static EVP_PKEY *p256_of(struct weir_slice x, struct weir_slice y)
{
    unsigned char point[1 + 2 * PUBLIC_KEY_POINT_BYTES] = {UNCOMPRESSED};
    EVP_PKEY *key = NULL;
    if (x.len != PUBLIC_KEY_POINT_BYTES || y.len != PUBLIC_KEY_POINT_BYTES) return NULL;
    memcpy(point + 1, x.ptr, PUBLIC_KEY_POINT_BYTES);
    memcpy(point + 1 + PUBLIC_KEY_POINT_BYTES, y.ptr, PUBLIC_KEY_POINT_BYTES);
    OSSL_PARAM_BLD *build = OSSL_PARAM_BLD_new();
    if (build &&
        OSSL_PARAM_BLD_push_utf8_string(build, OSSL_PKEY_PARAM_GROUP_NAME, SN_X9_62_prime256v1,
                                        0) == 1 &&
        OSSL_PARAM_BLD_push_octet_string(build, OSSL_PKEY_PARAM_PUB_KEY, point, sizeof point) == 1)
        key = key_of_params("EC", build);
    OSSL_PARAM_BLD_free(build);
    return key;
}

enum weir_status public_key_from_numbers(struct public_key **out, enum public_key_kind kind,
                                         struct weir_slice first, struct weir_slice second)
{
    EVP_PKEY *key = NULL;
    *out = NULL;
    switch (kind) {
    case PUBLIC_KEY_RSA: key = rsa_of(first, second); break;
    case PUBLIC_KEY_P256: key = p256_of(first, second); break;
    case PUBLIC_KEY_ED25519:
        if (first.len == PUBLIC_KEY_POINT_BYTES && second.len == 0)
            key = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL,
                                              (const unsigned char *)first.ptr, first.len);
        break;
    }
    return keep(out, kind, key);
}

void public_key_free(struct public_key *key)
{
    if (!key) return;
    EVP_PKEY_free(key->key);
    mem_free(key);
}

/* ---- verifying ---- */

/* r and s as OpenSSL wants them; the length, or 0 when there is no memory. */
static size_t to_der(struct weir_slice raw, unsigned char out[MAX_DER_BYTES])
{
    const unsigned char *from = (const unsigned char *)raw.ptr;
    enum { HALF = PUBLIC_KEY_SIGNATURE_BYTES / 2 };
    int len = 0;
    ECDSA_SIG *pair = ECDSA_SIG_new();
    BIGNUM *r = BN_bin2bn(from, HALF, NULL);
    BIGNUM *s = BN_bin2bn(from + HALF, HALF, NULL);
    if (pair && r && s && ECDSA_SIG_set0(pair, r, s) == 1) {
        r = s = NULL; /* they are the pair's now */
        if (i2d_ECDSA_SIG(pair, NULL) <= MAX_DER_BYTES) len = i2d_ECDSA_SIG(pair, &out);
    }
    BN_free(r);
    BN_free(s);
    ECDSA_SIG_free(pair);
    return len > 0 ? (size_t)len : 0;
}

static bool verify(const struct public_key *key, struct weir_slice bytes, const unsigned char *sig,
                   size_t sig_len)
{
    const EVP_MD *digest = key->kind == PUBLIC_KEY_ED25519 ? NULL : EVP_sha256();
    EVP_MD_CTX *verifier = EVP_MD_CTX_new();
    bool is_good =
        verifier && EVP_DigestVerifyInit(verifier, NULL, digest, NULL, key->key) == 1 &&
        EVP_DigestVerify(verifier, sig, sig_len, (const unsigned char *)bytes.ptr, bytes.len) == 1;
    EVP_MD_CTX_free(verifier);
    ERR_clear_error();
    return is_good;
}

bool public_key_verify(const struct public_key *key, struct weir_slice bytes,
                       struct weir_slice signature)
{
    unsigned char der[MAX_DER_BYTES];
    const unsigned char *sig = (const unsigned char *)signature.ptr;
    if (key->kind == PUBLIC_KEY_RSA)
        return signature.len == (size_t)EVP_PKEY_get_size(key->key) &&
               verify(key, bytes, sig, signature.len);
    if (signature.len != PUBLIC_KEY_SIGNATURE_BYTES) return false;
    if (key->kind == PUBLIC_KEY_ED25519) return verify(key, bytes, sig, signature.len);
    size_t der_len = to_der(signature, der);
    return der_len > 0 && verify(key, bytes, der, der_len);
}
