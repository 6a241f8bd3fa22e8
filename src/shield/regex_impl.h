/* SPDX-License-Identifier: Apache-2.0 */
/* The program that a pattern becomes. Jumps are relative, so that blocks can be moved and copied.
 */
#pragma once

#include "shield/regex.h"

enum regex_op {
    REGEX_BYTE,   /* one byte of the set `a` */
    REGEX_SPLIT,  /* goes on at both `a` and `b` */
    REGEX_JUMP,   /* goes on at `a` */
    REGEX_ASSERT, /* goes on when `a` (enum regex_place) holds here */
    REGEX_MATCH,
};

enum regex_place { REGEX_LINE_START, REGEX_LINE_END, REGEX_WORD_EDGE, REGEX_NO_WORD_EDGE };

struct regex_set {
    uint64_t bits[4];
};

struct regex_step {
    uint8_t op;
    int16_t a, b;
};

struct regex {
    struct regex_step *steps;
    struct regex_set *sets;
    size_t n, n_sets;
    struct regex_set first; /* bytes that a match can begin with */
};

static inline bool regex_set_has(const struct regex_set *s, unsigned char c)
{
    return (s->bits[c / 64] >> (c % 64) & 1) != 0;
}
