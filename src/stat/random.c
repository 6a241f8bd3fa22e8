/* SPDX-License-Identifier: Apache-2.0 */
/*
 * xoshiro256** by Blackman and Vigna, seeded by splitmix64 as they advise: fast, and good enough
 * that no resampling can tell.
 */
#include "stat/random.h"

#include "stat/dist.h"

static uint64_t mix(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

struct stat_random stat_random_of(uint64_t seed, uint64_t stream)
{
    struct stat_random r;
    uint64_t state = seed;
    state = mix(&state) ^ stream;
    for (int i = 0; i < 4; i++) r.state[i] = mix(&state);
    return r;
}

static uint64_t rotate(uint64_t x, int by)
{
    return x << by | x >> (64 - by);
}

uint64_t stat_random_next(struct stat_random *r)
{
    uint64_t *s = r->state;
    uint64_t result = rotate(s[1] * 5, 7) * 9, t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate(s[3], 45);
    return result;
}

uint64_t stat_random_below(struct stat_random *r, uint64_t n)
{
    /* Draws from the incomplete last round of n are drawn again, so that none is favoured. */
    uint64_t least = (0 - n) % n, x;
    do x = stat_random_next(r);
    while (x < least);
    return x % n;
}

double stat_random_unit(struct stat_random *r)
{
    return (double)(stat_random_next(r) >> 11) * 0x1p-53;
}

double stat_random_normal(struct stat_random *r)
{
    return stat_normal_quantile(((double)(stat_random_next(r) >> 12) + 0.5) * 0x1p-52);
}
