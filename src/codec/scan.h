/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sixteen bytes at a time, with the compilers' portable vectors: the searches
 * that the decoders spend their time in. The compiler picks the instructions;
 * only on x86-64 one of them has to be asked for by name.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { SCAN_WIDTH = 16 };

/* A vector type can only be made with a typedef. */
typedef uint8_t scan_bytes __attribute__((vector_size(SCAN_WIDTH)));

static inline scan_bytes scan_load(const char *p)
{
    scan_bytes x;
    memcpy(&x, p, sizeof x);
    return x;
}

#ifdef __SSE2__

/* The one instruction that the portable form below cannot be turned into: worth 15 %. */
static inline unsigned scan_mask(scan_bytes hits)
{
    return (unsigned)_mm_movemask_epi8((__m128i)hits);
}

static inline bool scan_any(scan_bytes hits)
{
    return scan_mask(hits) != 0;
}

/* Index of the first byte that is not zero; there must be one. Hits are 0x00 or 0xFF. */
static inline unsigned scan_first(scan_bytes hits)
{
    return (unsigned)__builtin_ctz(scan_mask(hits));
}

#else

static inline bool scan_any(scan_bytes hits)
{
    uint64_t half[2];
    memcpy(half, &hits, sizeof half);
    return (half[0] | half[1]) != 0;
}

static inline unsigned scan_first(scan_bytes hits)
{
    unsigned i = 0;
    while (hits[i] == 0) i++;
    return i;
}

#endif

/* The first byte that does not stand for itself in a JSON string of ASCII: " \\ control, or above.
 */
static inline const char *scan_plain_text(const char *p, const char *end)
{
    while (end - p >= SCAN_WIDTH) {
        scan_bytes x = scan_load(p);
        scan_bytes hits = (scan_bytes)(x == '"') | (scan_bytes)(x == '\\') |
                          (scan_bytes)(x < 0x20) | (scan_bytes)(x >= 0x80);
        if (scan_any(hits)) return p + scan_first(hits);
        p += SCAN_WIDTH;
    }
    while (p < end && *p != '"' && *p != '\\' && (unsigned char)(*p - 0x20) < 0x60) p++;
    return p;
}
