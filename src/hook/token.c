/* SPDX-License-Identifier: Apache-2.0 */
/* A token is generation and end, eight bytes each, and the MAC of both and the name. */
#include "hook/token.h"

#include "base/slice.h"
#include "io/crypto.h"

enum {
    NUMBER_BYTES = 8,
    PLAIN_BYTES = 2 * NUMBER_BYTES,
    ALL_BYTES = PLAIN_BYTES + SHA256_BYTES,
    SIGNED_BYTES = 512, /* most of what a MAC is made of */
};

static const char purpose[] = "weir subscription token";

static void put_number(unsigned char *to, uint64_t n)
{
    for (int i = NUMBER_BYTES - 1; i >= 0; i--, n >>= 8) to[i] = (unsigned char)n;
}

static uint64_t get_number(const unsigned char *from)
{
    uint64_t n = 0;
    for (int i = 0; i < NUMBER_BYTES; i++) n = n << 8 | from[i];
    return n;
}

/* The purpose keeps the same key from signing anything else that looks alike. */
static void make_mac(const unsigned char key[TOKEN_KEY_BYTES], const unsigned char *plain,
                     struct weir_slice subscription, unsigned char out[SHA256_BYTES])
{
    char bytes[SIGNED_BYTES];
    struct weir_buf text = {.ptr = bytes, .cap = sizeof bytes, .max = sizeof bytes};
    weir_buf_append(&text, purpose, sizeof purpose);
    weir_buf_append(&text, plain, PLAIN_BYTES);
    weir_buf_append_slice(&text, subscription);
    hmac_sha256(slice_of(key, TOKEN_KEY_BYTES), weir_buf_slice(&text), out);
}

void token_write(struct weir_buf *out, const unsigned char key[TOKEN_KEY_BYTES],
                 struct weir_slice subscription, const struct token *token)
{
    unsigned char bytes[ALL_BYTES];
    put_number(bytes, token->generation);
    put_number(bytes + NUMBER_BYTES, (uint64_t)token->expires_s);
    make_mac(key, bytes, subscription, bytes + PLAIN_BYTES);
    base64url_write(out, slice_of(bytes, sizeof bytes));
}

enum token_verdict token_read(struct weir_slice text, const unsigned char key[TOKEN_KEY_BYTES],
                              struct weir_slice subscription, int64_t now_s, struct token *out)
{
    unsigned char bytes[ALL_BYTES];
    unsigned char mac[SHA256_BYTES];
    if (!base64url_read(text, bytes, sizeof bytes)) return TOKEN_INVALID;
    make_mac(key, bytes, subscription, mac);
    if (!bytes_equal_ct(mac, bytes + PLAIN_BYTES, sizeof mac)) return TOKEN_INVALID;
    out->generation = get_number(bytes);
    out->expires_s = (int64_t)get_number(bytes + NUMBER_BYTES);
    return now_s > out->expires_s ? TOKEN_EXPIRED : TOKEN_GOOD;
}
