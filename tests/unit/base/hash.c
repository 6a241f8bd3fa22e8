/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The published vector is of SipHash-2-4. A slow SipHash with the number of
 * rounds as parameters is held against it, and hash_bytes() against the slow one.
 */
#include "base/hash.h"

#include "base/slice.h"
#include "t.h"

static uint64_t left(uint64_t x, unsigned n)
{
    for (; n > 0; n--) x = x << 1 | x >> 63;
    return x;
}

/* Figure 2.1 of the paper, line by line. */
static void slow_rounds(uint64_t v[4], int n)
{
    for (; n > 0; n--) {
        v[0] += v[1], v[1] = left(v[1], 13), v[1] ^= v[0], v[0] = left(v[0], 32);
        v[2] += v[3], v[3] = left(v[3], 16), v[3] ^= v[2];
        v[0] += v[3], v[3] = left(v[3], 21), v[3] ^= v[0];
        v[2] += v[1], v[1] = left(v[1], 17), v[1] ^= v[2], v[2] = left(v[2], 32);
    }
}

static uint64_t slow_siphash(int c, int d, struct hash_key key, struct weir_slice s)
{
    static const char initial[] = "somepseudorandomlygeneratedbytes";
    uint64_t v[4] = {0};
    for (size_t i = 0; i < 32; i++) v[i / 8] = v[i / 8] << 8 | (unsigned char)initial[i];
    for (size_t i = 0; i < 4; i++) v[i] ^= i % 2 ? key.k1 : key.k0;
    for (size_t word = 0; word <= s.len / 8; word++) {
        uint64_t m = 0;
        for (size_t i = 0; i < 8; i++) {
            size_t at = word * 8 + i;
            uint64_t byte = at < s.len ? (unsigned char)s.ptr[at] : 0;
            if (word == s.len / 8 && i == 7) byte = s.len % 256;
            m += byte << (8 * i);
        }
        v[3] ^= m;
        slow_rounds(v, c);
        v[0] ^= m;
    }
    v[2] ^= 0xff;
    slow_rounds(v, d);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

static const struct hash_key paper_key = {0x0706050403020100, 0x0f0e0d0c0b0a0908};

TEST(slow_siphash_gives_the_published_2_4_vector)
{
    char message[15];
    for (size_t i = 0; i < sizeof message; i++) message[i] = (char)i;
    T_OK(slow_siphash(2, 4, paper_key, slice_of(message, sizeof message)) == 0xa129ca6149be45e5);
}

TEST(hash_is_siphash_1_3_for_every_length)
{
    char message[600];
    for (size_t i = 0; i < sizeof message; i++) message[i] = (char)t_random();
    for (size_t len = 0; len <= sizeof message; len++) {
        struct hash_key key = {t_random(), t_random()};
        struct weir_slice s = slice_of(message, len);
        T_OK(hash_bytes(key, s) == slow_siphash(1, 3, key, s));
        T_OK(hash_bytes(paper_key, s) == slow_siphash(1, 3, paper_key, s));
    }
}

TEST(hash_of_nothing_needs_no_pointer)
{
    T_OK(hash_bytes(paper_key, (struct weir_slice){NULL, 0}) == hash_bytes(paper_key, SLICE("")));
}

TEST(hash_does_not_depend_on_alignment)
{
    char bytes[40];
    for (size_t i = 0; i < 8; i++) {
        memcpy(bytes + i, "the same twenty bytes", 21);
        T_OK(hash_bytes(paper_key, slice_of(bytes + i, 21)) ==
             hash_bytes(paper_key, SLICE("the same twenty bytes")));
    }
}

TEST(random_keys_differ)
{
    struct hash_key a = hash_key_random();
    struct hash_key b = hash_key_random();
    T_OK(a.k0 != b.k0 || a.k1 != b.k1);
}
