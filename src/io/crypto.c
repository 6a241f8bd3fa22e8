/* SPDX-License-Identifier: Apache-2.0 */
#include "io/crypto.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <sys/random.h>

#include "base/check.h"

/* Looked up once: OpenSSL 3 takes longer to find an algorithm than to hash a key with it. */
static EVP_MD *sha256_method;

static void find_sha256(void)
{
    sha256_method = EVP_MD_fetch(NULL, "SHA256", NULL);
}

void sha256(struct weir_slice bytes, unsigned char out[SHA256_BYTES])
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_sha256);
    CHECK(sha256_method);
    /* Fails only without memory, and then there is no answer that would be safe. */
    CHECK(EVP_Digest(bytes.ptr, bytes.len, out, NULL, sha256_method, NULL) == 1);
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
