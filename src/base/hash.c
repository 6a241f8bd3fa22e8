/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SipHash (Aumasson, Bernstein 2012) with one compression round per word and
 * three at the end; words are read little-endian, so hashes do not depend on
 * the machine.
 */
#include "base/hash.h"

#include <string.h>
#include <sys/random.h>
#include <time.h>

struct sip {
    uint64_t a, b, c, d;
};

static uint64_t rotate(uint64_t x, int n)
{
    return x << n | x >> (64 - n);
}

static inline void sip_round(struct sip *s)
{
    s->a += s->b;
    s->c += s->d;
    s->b = rotate(s->b, 13) ^ s->a;
    s->d = rotate(s->d, 16) ^ s->c;
    s->a = rotate(s->a, 32);
    s->c += s->b;
    s->a += s->d;
    s->b = rotate(s->b, 17) ^ s->c;
    s->d = rotate(s->d, 21) ^ s->a;
    s->c = rotate(s->c, 32);
}

static uint64_t load_le(const unsigned char *p, size_t n)
{
    uint64_t x = 0;
    for (size_t i = 0; i < n; i++) x |= (uint64_t)p[i] << (8 * i);
    return x;
}

uint64_t hash_bytes(struct hash_key key, struct weir_slice s)
{
    struct sip v = {key.k0 ^ UINT64_C(0x736f6d6570736575), key.k1 ^ UINT64_C(0x646f72616e646f6d),
                    key.k0 ^ UINT64_C(0x6c7967656e657261), key.k1 ^ UINT64_C(0x7465646279746573)};
    const unsigned char *p = (const unsigned char *)s.ptr;
    size_t left = s.len;
    for (; left >= 8; p += 8, left -= 8) {
        uint64_t word = load_le(p, 8);
        v.d ^= word;
        sip_round(&v);
        v.a ^= word;
    }
    uint64_t last = load_le(p, left) | (uint64_t)s.len << 56;
    v.d ^= last;
    sip_round(&v);
    v.a ^= last;
    v.c ^= 0xff;
    for (int i = 0; i < 3; i++) sip_round(&v);
    return v.a ^ v.b ^ v.c ^ v.d;
}

struct hash_key hash_key_random(void)
{
    struct hash_key key;
    if (getrandom(&key, sizeof key, GRND_NONBLOCK) == (ssize_t)sizeof key) return key;
    /* Before the kernel has gathered randomness, an address and the time must do. */
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    key.k0 = (uint64_t)(uintptr_t)&key ^ (uint64_t)now.tv_nsec << 20;
    key.k1 = (uint64_t)now.tv_sec << 32 ^ (uint64_t)now.tv_nsec;
    return key;
}
