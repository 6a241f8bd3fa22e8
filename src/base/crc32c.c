/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CRC-32C, reflected polynomial 0x82F63B78, eight bytes at a step: eight tables
 * say what each byte of a word does to the remainder (Kounavis, Berry 2005).
 */
#include "base/crc32c.h"

#include <pthread.h>
#include <string.h>

enum { N_TABLES = 8, POLYNOMIAL = (int)0x82F63B78 };

static uint32_t tables[N_TABLES][256];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_tables(void)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t crc = i;
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 1 ? crc >> 1 ^ (uint32_t)POLYNOMIAL : crc >> 1;
        tables[0][i] = crc;
    }
    for (uint32_t i = 0; i < 256; i++)
        for (int t = 1; t < N_TABLES; t++)
            tables[t][i] = tables[t - 1][i] >> 8 ^ tables[0][tables[t - 1][i] & 0xFF];
}

static uint32_t step_word(uint32_t crc, const unsigned char *p)
{
    uint32_t low =
        crc ^ ((uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24);
    return tables[7][low & 0xFF] ^ tables[6][low >> 8 & 0xFF] ^ tables[5][low >> 16 & 0xFF] ^
           tables[4][low >> 24] ^ tables[3][p[4]] ^ tables[2][p[5]] ^ tables[1][p[6]] ^
           tables[0][p[7]];
}

uint32_t crc32c(uint32_t seed, struct weir_slice s)
{
    const unsigned char *p = (const unsigned char *)s.ptr;
    size_t left = s.len;
    uint32_t crc = ~seed;
    pthread_once(&once, make_tables);
    for (; left >= 8; p += 8, left -= 8) crc = step_word(crc, p);
    for (; left > 0; p++, left--) crc = crc >> 8 ^ tables[0][(crc ^ *p) & 0xFF];
    return ~crc;
}
