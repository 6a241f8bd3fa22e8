/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keccak-f[1600] with a rate of 136 bytes, by the Keccak reference (version 3.0). OpenSSL has only
 * SHA-3, whose padding differs. For a few bytes now and then: short rather than fast.
 */
#include "shield/keccak.h"

#include <string.h>

enum { RATE = 136, ROUNDS = 24 };

static uint64_t rotate(uint64_t v, unsigned by)
{
    return by == 0 ? v : v << by | v >> (64 - by);
}

/* Theta: each column gets the parity of two neighbours. */
static void mix_columns(uint64_t a[25])
{
    uint64_t parity[5];
    for (size_t x = 0; x < 5; x++) parity[x] = a[x] ^ a[x + 5] ^ a[x + 10] ^ a[x + 15] ^ a[x + 20];
    for (size_t i = 0; i < 25; i++)
        a[i] ^= parity[(i % 5 + 4) % 5] ^ rotate(parity[(i % 5 + 1) % 5], 1);
}

/* Rho and pi: lanes turn and move along one path through all places but the first. */
static void move_lanes(uint64_t a[25])
{
    size_t x = 1, y = 0;
    uint64_t held = a[1];
    for (unsigned t = 0; t < 24; t++) {
        size_t next = (2 * x + 3 * y) % 5;
        x = y;
        y = next;
        uint64_t turned = rotate(held, (t + 1) * (t + 2) / 2 % 64);
        held = a[x + 5 * y];
        a[x + 5 * y] = turned;
    }
}

/* Chi: rows, not linear. */
static void mix_rows(uint64_t a[25])
{
    for (size_t y = 0; y < 25; y += 5) {
        uint64_t row[5];
        memcpy(row, a + y, sizeof row);
        for (size_t x = 0; x < 5; x++) a[y + x] = row[x] ^ (~row[(x + 1) % 5] & row[(x + 2) % 5]);
    }
}

/* Iota: bits of a shift register, at the places 2^j - 1. */
static void add_constant(uint64_t a[25], uint8_t *lfsr)
{
    for (unsigned j = 0; j < 7; j++) {
        if (*lfsr & 1) a[0] ^= UINT64_C(1) << ((1U << j) - 1);
        *lfsr = (uint8_t)(*lfsr & 0x80 ? (*lfsr << 1) ^ 0x71 : *lfsr << 1);
    }
}

static void permute(uint64_t a[25])
{
    uint8_t lfsr = 1;
    for (unsigned round = 0; round < ROUNDS; round++) {
        mix_columns(a);
        move_lanes(a);
        mix_rows(a);
        add_constant(a, &lfsr);
    }
}

static void absorb(uint64_t a[25], const unsigned char block[RATE])
{
    for (size_t i = 0; i < RATE; i++) a[i / 8] ^= (uint64_t)block[i] << (8 * (i % 8));
    permute(a);
}

void keccak256(struct weir_slice bytes, unsigned char out[KECCAK_BYTES])
{
    uint64_t a[25] = {0};
    unsigned char last[RATE] = {0};
    const unsigned char *at = (const unsigned char *)bytes.ptr;
    size_t left = bytes.len;
    for (; left >= RATE; left -= RATE, at += RATE) absorb(a, at);
    if (left > 0) memcpy(last, at, left);
    last[left] ^= 0x01;
    last[RATE - 1] ^= 0x80;
    absorb(a, last);
    for (size_t i = 0; i < KECCAK_BYTES; i++) out[i] = (unsigned char)(a[i / 8] >> (8 * (i % 8)));
}
