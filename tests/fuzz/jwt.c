/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tokens from any bytes: nothing is read beyond the end (the input is copied to memory just as
 * large), and nobody is let in by anything that was not signed. An input "HEAD.CLAIMS" in plain
 * JSON is signed by the fuzzer, or it would never see a good token; what such a token gives is
 * never more than it may.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz/fuzz.h"
#include "io/crypto.h"
#include "serve/jwt.h"

static const char secret[] = "the fuzzer's secret, which is no secret";

static struct jwt_trust *trust;

static void put_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    fuzz_true("a file", f && fputs(text, f) >= 0 && fclose(f) == 0 && chmod(path, 0600) == 0);
}

static void make_trust(void)
{
    char folder[] = "/tmp/fuzz-jwt-XXXXXX";
    char secret_path[64], path[64], config[256], why[JWT_WHY_BYTES];
    fuzz_true("a folder", mkdtemp(folder) != NULL);
    snprintf(secret_path, sizeof secret_path, "%s/secret", folder);
    snprintf(path, sizeof path, "%s/jwt.json", folder);
    snprintf(config, sizeof config,
             "[{\"alg\":\"HS256\",\"secret_file\":\"%s\",\"scope_claim\":\"scope\"}]", secret_path);
    put_file(secret_path, secret);
    put_file(path, config);
    fuzz_true("a configuration", jwt_trust_read(&trust, path, why) == WEIR_OK);
    unlink(path);
    unlink(secret_path);
    rmdir(folder);
}

static enum weir_status check(struct weir_slice token, struct access *who)
{
    const char *why = NULL;
    char *copy = malloc(token.len > 0 ? token.len : 1);
    fuzz_true("memory", copy != NULL);
    if (token.len > 0) memcpy(copy, token.ptr, token.len);
    enum weir_status st =
        jwt_check(trust, (struct weir_slice){copy, token.len}, 1000 * 1000, who, &why);
    fuzz_true("a sentence", st == WEIR_OK || why);
    fuzz_true("nothing by a bad one", st == WEIR_OK || (who->scopes == 0 && who->owner[0] == 0));
    fuzz_true("never an administrator", (who->scopes & SCOPE_ADMIN) == 0);
    free(copy);
    return st;
}

static void check_signed(struct weir_slice input)
{
    unsigned char mac[SHA256_BYTES];
    struct access who;
    struct weir_buf token;
    const char *dot = input.len > 0 ? memchr(input.ptr, '.', input.len) : NULL;
    if (!dot) return;
    size_t len = (size_t)(dot - input.ptr);
    weir_buf_init(&token, 1 << 20);
    base64url_write(&token, (struct weir_slice){input.ptr, len});
    weir_buf_append_char(&token, '.');
    base64url_write(&token, (struct weir_slice){dot + 1, input.len - len - 1});
    hmac_sha256((struct weir_slice){secret, sizeof secret - 1}, weir_buf_slice(&token), mac);
    weir_buf_append_char(&token, '.');
    base64url_write(&token, (struct weir_slice){(const char *)mac, sizeof mac});
    if (weir_buf_status(&token) == WEIR_OK && check(weir_buf_slice(&token), &who) == WEIR_OK)
        fuzz_true("somebody", owner_is_name(weir_slice_of(who.owner)));
    weir_buf_fini(&token);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct access who;
    struct weir_slice input = {(const char *)data, size};
    if (!trust) make_trust();
    fuzz_true("a token that nobody signed", check(input, &who) != WEIR_OK);
    check_signed(input);
    return 0;
}
