/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/signer.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <weir/json.h>

#include "base/slice.h"
#include "t.h"

static void path_of(char *out, size_t size)
{
    snprintf(out, size, "%s/hooks.key", t_temp_dir());
}

TEST(keys_are_made_once_and_only_for_this_user)
{
    struct signer first, second;
    struct stat info;
    char path[1000];
    path_of(path, sizeof path);
    T_EQ(signer_open(&first, t_temp_dir()), WEIR_OK);
    T_EQ(signer_open(&second, t_temp_dir()), WEIR_OK);
    T_OK(memcmp(&first, &second, sizeof first) == 0);
    T_EQ(stat(path, &info), 0);
    T_EQ(info.st_mode & 0777, 0600);
    T_OK(strncmp(first.kid, "ds_", 3) == 0);
    T_EQ(strlen(first.kid), SIGNER_KID_BYTES - 1);
    T_OK(memcmp(first.seed, first.token_key, sizeof first.seed) != 0);
}

TEST(a_file_that_is_not_ours_is_not_replaced)
{
    struct signer s;
    char path[1000];
    path_of(path, sizeof path);
    for (size_t len = 0; len < 70; len++) {
        FILE *f = fopen(path, "w");
        for (size_t i = 0; i < len; i++) fputc('x', f);
        fclose(f);
        T_EQ(signer_open(&s, t_temp_dir()), len == 64 ? WEIR_OK : WEIR_CORRUPT);
    }
}

TEST(signatures_hold_with_the_public_key_and_nothing_else)
{
    struct signer s;
    struct weir_buf header;
    unsigned char signature[ED25519_SIGNATURE_BYTES];
    const char body[] = "1700000000.{\"a\":1}";
    T_EQ(signer_open(&s, t_temp_dir()), WEIR_OK);
    weir_buf_init(&header, 512);
    signer_sign(&s, SLICE("{\"a\":1}"), 1700000000, &header);
    weir_buf_append_char(&header, 0);
    T_EQ(weir_buf_status(&header), WEIR_OK);
    char *mark = strstr(header.ptr, ",ed25519=");
    T_OK(mark && strncmp(header.ptr, "t=1700000000,kid=ds_", 20) == 0);
    T_OK(base64url_read(weir_slice_of(mark + 9), signature, sizeof signature));
    EVP_PKEY *key = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, s.public, 32);
    for (size_t n = sizeof body - 2; n < sizeof body; n++) {
        EVP_MD_CTX *ctx = EVP_MD_CTX_new();
        EVP_DigestVerifyInit(ctx, NULL, NULL, NULL, key);
        int good =
            EVP_DigestVerify(ctx, signature, sizeof signature, (const unsigned char *)body, n);
        T_EQ(good == 1, n == sizeof body - 1);
        EVP_MD_CTX_free(ctx);
    }
    EVP_PKEY_free(key);
    weir_buf_fini(&header);
}

TEST(the_key_set_is_json_with_the_public_half)
{
    struct signer s;
    struct weir_buf out;
    const struct weir_json *v;
    unsigned char public[ED25519_PUBLIC_BYTES];
    struct weir_json_doc *doc = weir_json_doc_new(0);
    T_EQ(signer_open(&s, t_temp_dir()), WEIR_OK);
    weir_buf_init(&out, 1024);
    signer_put_jwks(&s, &out);
    T_EQ(weir_json_parse(doc, weir_buf_slice(&out), &v, NULL), WEIR_OK);
    const struct weir_json *key = weir_json_first(weir_json_get_str(v, "keys"));
    T_EQ_STR(weir_json_text(weir_json_get_str(key, "kty")), "OKP");
    T_EQ_STR(weir_json_text(weir_json_get_str(key, "crv")), "Ed25519");
    T_EQ_STR(weir_json_text(weir_json_get_str(key, "alg")), "EdDSA");
    T_EQ_STR(weir_json_text(weir_json_get_str(key, "kid")), s.kid);
    T_OK(base64url_read(weir_json_text(weir_json_get_str(key, "x")), public, sizeof public));
    T_OK(memcmp(public, s.public, sizeof public) == 0);
    weir_buf_fini(&out);
    weir_json_doc_free(doc);
}
