/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/signer.h"

#include <stdio.h>

#include <weir/json.h>

#include "base/slice.h"
#include "io/file.h"

enum {
    KEY_FILE_BYTES = ED25519_SEED_BYTES + TOKEN_KEY_BYTES,
    PATH_BYTES = 1024,
    JWK_BYTES = 256,
    SIGNED_BYTES = 2 << 20, /* largest body */
};

static const char file_name[] = "hooks.key";

static WEIR_MUST_CHECK enum weir_status read_keys(struct signer *s, const char *path)
{
    struct file f;
    char bytes[KEY_FILE_BYTES + 1];
    size_t n = 0;
    enum weir_status st = file_open(&f, path, FILE_MUST_EXIST);
    if (st != WEIR_OK) return st;
    st = file_read_at(&f, bytes, sizeof bytes, 0, &n);
    file_close(&f);
    if (st != WEIR_OK) return st;
    if (n != KEY_FILE_BYTES) return WEIR_CORRUPT;
    memcpy(s->seed, bytes, sizeof s->seed);
    memcpy(s->token_key, bytes + sizeof s->seed, sizeof s->token_key);
    explicit_bzero(bytes, sizeof bytes);
    return WEIR_OK;
}

static WEIR_MUST_CHECK enum weir_status write_file(const char *path, struct weir_slice bytes)
{
    struct file f;
    enum weir_status st = file_open(&f, path, FILE_MAY_CREATE);
    if (st != WEIR_OK) return st;
    st = file_write_at(&f, bytes, 0);
    if (st == WEIR_OK) st = file_sync(&f);
    file_close(&f);
    return st;
}

/* Whole under its name or not there: a half key would be for ever. */
static WEIR_MUST_CHECK enum weir_status make_keys(const char *folder, const char *path)
{
    char new_path[PATH_BYTES];
    unsigned char bytes[KEY_FILE_BYTES];
    if (snprintf(new_path, sizeof new_path, "%s.new", path) >= PATH_BYTES) return WEIR_INVALID;
    random_bytes(bytes, sizeof bytes);
    enum weir_status st = write_file(new_path, slice_of(bytes, sizeof bytes));
    explicit_bzero(bytes, sizeof bytes);
    if (st != WEIR_OK) return st;
    if (rename(new_path, path) != 0) return WEIR_IO;
    return file_sync_folder(folder);
}

/* {"crv","kty","x"}, in this order and without blanks, is what a thumbprint is made of. */
static void put_thumbprint(struct signer *s)
{
    char bytes[JWK_BYTES];
    unsigned char digest[SHA256_BYTES];
    struct weir_buf text = {.ptr = bytes, .cap = sizeof bytes, .max = sizeof bytes};
    struct weir_buf kid = {.ptr = s->kid, .cap = sizeof s->kid, .max = sizeof s->kid};
    weir_buf_append_str(&text, "{\"crv\":\"Ed25519\",\"kty\":\"OKP\",\"x\":\"");
    base64url_write(&text, slice_of(s->public, sizeof s->public));
    weir_buf_append_str(&text, "\"}");
    sha256(weir_buf_slice(&text), digest);
    weir_buf_append_str(&kid, "ds_");
    base64url_write(&kid, slice_of(digest, sizeof digest));
    weir_buf_append_char(&kid, 0);
}

enum weir_status signer_open(struct signer *s, const char *folder)
{
    char path[PATH_BYTES];
    enum weir_status st = WEIR_OK;
    memset(s, 0, sizeof *s);
    if (snprintf(path, sizeof path, "%s/%s", folder, file_name) >= PATH_BYTES) return WEIR_INVALID;
    if (!file_exists(path)) st = make_keys(folder, path);
    if (st == WEIR_OK) st = read_keys(s, path);
    if (st != WEIR_OK) return st;
    ed25519_public(s->seed, s->public);
    put_thumbprint(s);
    return WEIR_OK;
}

void signer_put_jwks(const struct signer *s, struct weir_buf *out)
{
    weir_buf_append_str(out, "{\"keys\":[{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"");
    base64url_write(out, slice_of(s->public, sizeof s->public));
    weir_buf_append_str(out, "\",\"kid\":");
    weir_json_put_str(out, s->kid);
    weir_buf_append_str(out, ",\"use\":\"sig\",\"alg\":\"EdDSA\"}]}");
}

void signer_sign(const struct signer *s, struct weir_slice body, int64_t now_s,
                 struct weir_buf *out)
{
    unsigned char signature[ED25519_SIGNATURE_BYTES];
    struct weir_buf text;
    weir_buf_init(&text, SIGNED_BYTES);
    weir_buf_printf(&text, "%lld.", (long long)now_s);
    weir_buf_append_slice(&text, body);
    ed25519_sign(s->seed, weir_buf_slice(&text), signature);
    weir_buf_printf(out, "t=%lld,kid=%s,ed25519=", (long long)now_s, s->kid);
    base64url_write(out, slice_of(signature, sizeof signature));
    if (weir_buf_status(&text) != WEIR_OK) out->status = weir_buf_status(&text);
    weir_buf_fini(&text);
}
