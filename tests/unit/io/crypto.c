/* SPDX-License-Identifier: Apache-2.0 */
#include "io/crypto.h"

#include <stdio.h>

#include "base/slice.h"
#include "t.h"

TEST(sha256_gives_the_digests_of_fips_180)
{
    static const struct {
        struct weir_slice input;
        const char *digest;
    } cases[] = {
        {SLICE(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {SLICE("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {SLICE("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        unsigned char out[SHA256_BYTES];
        char hex[2 * SHA256_BYTES + 1];
        sha256(cases[i].input, out);
        for (size_t k = 0; k < sizeof out; k++) snprintf(hex + 2 * k, 3, "%02x", out[k]);
        T_EQ_STR(weir_slice_of(hex), cases[i].digest);
    }
}

TEST(random_bytes_fill_all_of_it_and_differ)
{
    static unsigned char a[1000];
    static unsigned char b[1000];
    random_bytes(a, sizeof a);
    random_bytes(b, sizeof b);
    T_OK(memcmp(a, b, sizeof a) != 0);
    /* 16 zeros at either end come once in 2^128 times. */
    static const unsigned char zeros[16];
    T_OK(memcmp(a, zeros, sizeof zeros) != 0);
    T_OK(memcmp(a + sizeof a - sizeof zeros, zeros, sizeof zeros) != 0);
    random_bytes(a, 0);
}

TEST(bytes_are_equal_only_when_all_are)
{
    T_OK(bytes_equal_ct("abc", "abc", 3));
    T_OK(!bytes_equal_ct("abc", "abd", 3));
    T_OK(!bytes_equal_ct("xbc", "abc", 3));
    T_OK(bytes_equal_ct("a", "b", 0));
}

static void hex_of(const unsigned char *bytes, size_t len, char *out)
{
    for (size_t i = 0; i < len; i++) snprintf(out + 2 * i, 3, "%02x", bytes[i]);
}

TEST(hmac_is_that_of_rfc_4231)
{
    unsigned char out[SHA256_BYTES];
    char hex[2 * SHA256_BYTES + 1];
    hmac_sha256(SLICE("Jefe"), SLICE("what do ya want for nothing?"), out);
    hex_of(out, sizeof out, hex);
    T_EQ_STR(weir_slice_of(hex),
             "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    hmac_sha256(SLICE("\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b"
                      "\x0b"),
                SLICE("Hi There"), out);
    hex_of(out, sizeof out, hex);
    T_EQ_STR(weir_slice_of(hex),
             "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
}

TEST(signatures_are_those_of_rfc_8032)
{
    /* The third test of section 7.1. */
    static const unsigned char seed[ED25519_SEED_BYTES] =
        "\xc5\xaa\x8d\xf4\x3f\x9f\x83\x7b\xed\xb7\x44\x2f\x31\xdc\xb7\xb1"
        "\x66\xd3\x85\x35\x07\x6f\x09\x4b\x85\xce\x3a\x2e\x0b\x44\x58\xf7";
    unsigned char public[ED25519_PUBLIC_BYTES];
    unsigned char signature[ED25519_SIGNATURE_BYTES];
    char hex[2 * ED25519_SIGNATURE_BYTES + 1];
    ed25519_public(seed, public);
    hex_of(public, sizeof public, hex);
    T_EQ_STR(weir_slice_of(hex),
             "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025");
    ed25519_sign(seed, SLICE("\xaf\x82"), signature);
    hex_of(signature, sizeof signature, hex);
    T_EQ_STR(weir_slice_of(hex),
             "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac"
             "18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a");
}

TEST(base64url_is_read_as_it_is_written_and_in_no_other_way)
{
    static const struct {
        struct weir_slice bytes;
        const char *text;
    } cases[] = {
        {SLICE(""), ""},
        {SLICE("f"), "Zg"},
        {SLICE("fo"), "Zm8"},
        {SLICE("foo"), "Zm9v"},
        {SLICE("foobar"), "Zm9vYmFy"},
        {SLICE("\xfb\xff\xfe"), "-__-"},
    };
    static const char *const wrong[] = {"Zh", "Zm9=", "Z", "Z ", "Z+", "Z/", "Zg=="};
    char bytes[16];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct weir_buf out;
        weir_buf_init(&out, 64);
        base64url_write(&out, cases[i].bytes);
        T_EQ_STR(weir_buf_slice(&out), cases[i].text);
        T_OK(base64url_read(weir_buf_slice(&out), bytes, cases[i].bytes.len));
        T_EQ_SLICE(slice_of(bytes, cases[i].bytes.len), cases[i].bytes);
        T_OK(!base64url_read(weir_buf_slice(&out), bytes, cases[i].bytes.len + 1));
        weir_buf_fini(&out);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        for (size_t len = 0; len < 4; len++)
            T_OK(!base64url_read(weir_slice_of(wrong[i]), bytes, len));
}

/* Test cases 13 and 14 of the paper that proposed GCM (McGrew and Viega). */
TEST(aes_gcm_gives_the_published_bytes)
{
    static const unsigned char zeros[AEAD_KEY_BYTES];
    static const unsigned char want[32] = {0xce, 0xa7, 0x40, 0x3d, 0x4d, 0x60, 0x6b, 0x6e,
                                           0x07, 0x4e, 0xc5, 0xd3, 0xba, 0xf3, 0x9d, 0x18,
                                           0xd0, 0xd1, 0xc8, 0xa7, 0x99, 0x99, 0x6b, 0xf0,
                                           0x26, 0x5b, 0x98, 0xb5, 0xd4, 0x8a, 0xb9, 0x19};
    static const unsigned char empty[16] = {0x53, 0x0f, 0x8a, 0xfb, 0xc7, 0x45, 0x36, 0xb9,
                                            0xa9, 0x63, 0xb4, 0xf1, 0xc4, 0xcb, 0x73, 0x8b};
    struct weir_slice none = {NULL, 0};
    struct weir_buf out, back;
    weir_buf_init(&out, 1024);
    weir_buf_init(&back, 1024);
    aead_seal(&out, zeros, zeros, none, (struct weir_slice){(const char *)zeros, 16});
    T_EQ_SLICE(weir_buf_slice(&out), ((struct weir_slice){(const char *)want, sizeof want}));
    T_OK(aead_open(&back, zeros, zeros, none, weir_buf_slice(&out)));
    T_EQ_SLICE(weir_buf_slice(&back), ((struct weir_slice){(const char *)zeros, 16}));
    weir_buf_reset(&out);
    aead_seal(&out, zeros, zeros, none, none);
    T_EQ_SLICE(weir_buf_slice(&out), ((struct weir_slice){(const char *)empty, sizeof empty}));
    weir_buf_reset(&back);
    T_OK(aead_open(&back, zeros, zeros, none, weir_buf_slice(&out)));
    T_OK(!aead_open(&back, zeros, zeros, (struct weir_slice){"x", 1}, weir_buf_slice(&out)));
    T_EQ(back.len, 0);
    weir_buf_fini(&back);
    weir_buf_fini(&out);
}
