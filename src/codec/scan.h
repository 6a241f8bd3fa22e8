/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sixteen bytes at a time, with the compilers' portable vectors: the searches
 * that the decoders spend their time in. No instruction set is named here; the
 * compiler picks SSE2, NEON or plain words.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { SCAN_WIDTH = 16 };

/* A vector type can only be made with a typedef. */
typedef uint8_t scan_bytes __attribute__((vector_size(SCAN_WIDTH)));

static inline scan_bytes scan_load(const char *p)
{
    scan_bytes x;
    memcpy(&x, p, sizeof x);
    return x;
}

static inline bool scan_any(scan_bytes hits)
{
    uint64_t half[2];
    memcpy(half, &hits, sizeof half);
    return (half[0] | half[1]) != 0;
}

/* Index of the first byte that is not zero; there must be one. Hits are 0x00 or 0xFF. */
static inline unsigned scan_first(scan_bytes hits)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    uint64_t half[2];
    memcpy(half, &hits, sizeof half);
    if (half[0] != 0) return (unsigned)__builtin_ctzll(half[0]) / 8;
    return 8 + (unsigned)__builtin_ctzll(half[1]) / 8;
#else
    unsigned i = 0;
    while (hits[i] == 0) i++;
    return i;
#endif
}
