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
