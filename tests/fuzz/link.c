/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tokens of links from any bytes: nothing is read beyond the end (the input is copied to memory
 * just as large), and the only bytes that are taken for a token are those that are made for the
 * time they name. Its MAC is put in by the fuzzer when the input ends in a '!', or it would
 * never see a good one.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "serve/link.h"

static const unsigned char secret[LINK_SECRET_BYTES] = "the fuzzer's, which is no secret";

static void check(struct weir_slice token)
{
    const struct weir_slice stream = {"a/b", 3};
    char right[LINK_TOKEN_BYTES];
    int64_t expires_s;
    if (!link_read(secret, stream, token, &expires_s)) return;
    link_write(secret, stream, expires_s, right);
    fuzz_true("there is one token for each time",
              strlen(right) == token.len && memcmp(right, token.ptr, token.len) == 0);
    fuzz_true("it is for one stream", !link_read(secret, token, token, &expires_s));
}

/* What comes before the '!', with the MAC of the token for that time. */
static void check_signed(struct weir_slice begin)
{
    const struct weir_slice stream = {"a/b", 3};
    struct text token = {0};
    char right[LINK_TOKEN_BYTES];
    int64_t expires_s = 0;
    for (size_t i = 2; i + 1 < begin.len && i < 12; i++)
        if (begin.ptr[i] >= '0' && begin.ptr[i] <= '9')
            expires_s = expires_s * 10 + (begin.ptr[i] - '0');
    link_write(secret, stream, expires_s, right);
    text_add(&token, begin.ptr, begin.len);
    text_printf(&token, "%s", strrchr(right, '.') + 1);
    check(text_slice(&token));
    text_fini(&token);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = malloc(size);
    struct weir_slice input = {copy, size};
    fuzz_true("memory", copy || size == 0);
    if (size > 0) memcpy(copy, data, size);
    check(input);
    if (size > 0 && copy[size - 1] == '!') check_signed((struct weir_slice){copy, size - 1});
    free(copy);
    return 0;
}
