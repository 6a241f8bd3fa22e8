/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/token.h"

#include "base/slice.h"
#include "t.h"

static const unsigned char key[TOKEN_KEY_BYTES] = "0123456789abcdef0123456789abcdef";
static const unsigned char other_key[TOKEN_KEY_BYTES] = "0123456789abcdef0123456789abcdeX";

static void make(struct weir_buf *out, char bytes[TOKEN_TEXT_BYTES])
{
    *out = (struct weir_buf){.ptr = bytes, .cap = TOKEN_TEXT_BYTES, .max = TOKEN_TEXT_BYTES};
    token_write(out, key, SLICE("sub"), &(struct token){.generation = 7, .expires_s = 1000});
    T_EQ(weir_buf_status(out), WEIR_OK);
    T_EQ(out->len, TOKEN_TEXT_BYTES);
}

TEST(a_token_says_what_it_was_made_of)
{
    char bytes[TOKEN_TEXT_BYTES];
    struct weir_buf text;
    struct token token;
    make(&text, bytes);
    T_EQ(token_read(weir_buf_slice(&text), key, SLICE("sub"), 1000, &token), TOKEN_GOOD);
    T_EQ(token.generation, 7);
    T_EQ(token.expires_s, 1000);
}

TEST(a_token_ends)
{
    char bytes[TOKEN_TEXT_BYTES];
    struct weir_buf text;
    struct token token;
    make(&text, bytes);
    T_EQ(token_read(weir_buf_slice(&text), key, SLICE("sub"), 1001, &token), TOKEN_EXPIRED);
}

TEST(a_token_is_for_its_subscription_and_key_alone)
{
    char bytes[TOKEN_TEXT_BYTES];
    struct weir_buf text;
    struct token token;
    make(&text, bytes);
    T_EQ(token_read(weir_buf_slice(&text), key, SLICE("su"), 0, &token), TOKEN_INVALID);
    T_EQ(token_read(weir_buf_slice(&text), key, SLICE("subs"), 0, &token), TOKEN_INVALID);
    T_EQ(token_read(weir_buf_slice(&text), key, SLICE(""), 0, &token), TOKEN_INVALID);
    T_EQ(token_read(weir_buf_slice(&text), other_key, SLICE("sub"), 0, &token), TOKEN_INVALID);
}

TEST(a_token_that_was_changed_anywhere_is_none)
{
    char bytes[TOKEN_TEXT_BYTES];
    struct weir_buf text;
    struct token token;
    make(&text, bytes);
    for (size_t i = 0; i < TOKEN_TEXT_BYTES; i++) {
        char old = bytes[i];
        for (int bit = 0; bit < 8; bit++) {
            bytes[i] = (char)(old ^ (1 << bit));
            T_EQ(token_read(weir_buf_slice(&text), key, SLICE("sub"), 0, &token), TOKEN_INVALID);
        }
        bytes[i] = old;
        T_EQ(token_read(slice_of(bytes, i), key, SLICE("sub"), 0, &token), TOKEN_INVALID);
    }
    T_EQ(token_read(weir_buf_slice(&text), key, SLICE("sub"), 0, &token), TOKEN_GOOD);
}
