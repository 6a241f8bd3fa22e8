/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Digits in groups, as people write numbers: "4012 8888 8888 1881", "(415) 555-0132",
 * "123.456.789-09". A chain begins at a digit and goes on over single separators; matchers then
 * take as many of its groups as they need.
 */
#pragma once

#include "shield/scan_impl.h"

enum {
    NUMBER_GROUPS = 12,
    NUMBER_DIGITS = 40,
    NUMBER_LAYOUT = 3 * NUMBER_GROUPS + 1,
};

struct number_group {
    size_t start, end; /* bytes */
    uint8_t n;         /* digits */
    uint8_t first;     /* its place among all digits */
    char sep;          /* what stands before it: space - . / ( ) or 0 for the first */
};

struct number {
    size_t start; /* of the first digit, or of "+", "(" or "(+" before it */
    uint8_t digits[NUMBER_DIGITS];
    struct number_group groups[NUMBER_GROUPS];
    size_t n_groups;
    bool has_plus, has_paren;
    bool is_tail; /* a hyphen or a slash joins it to letters before it */
};

/* Reads the chain at a digit. False when it is none: too long, or the rest of one before it. */
bool number_read(const struct scan *s, size_t at, struct number *out);

/* Digits in the first k groups. */
static inline size_t number_digits(const struct number *n, size_t k)
{
    return k == 0 ? 0 : n->groups[k - 1].first + (size_t)n->groups[k - 1].n;
}

/*
 * Whether the first k groups stand for themselves: nothing but a space may join more digits to
 * them, and no letter touches them.
 */
bool number_ends(const struct scan *s, const struct number *n, size_t k);

/* "3-2-4" of the first k groups: digits in each, and what stands between. */
void number_layout(const struct number *n, size_t k, char out[NUMBER_LAYOUT]);

/* ---- matchers over a chain; the end of what was found for sure, or 0 ---- */

size_t number_card(struct scan *s, const struct number *n);
/* The network that gives out such a card, with its Luhn digit; NULL: none does. */
const char *card_network(const uint8_t *digits, size_t n);
size_t number_national(struct scan *s, const struct number *n);
/* 12345678-Z, 12.345.670-K, AB 12 34 56 C. */
size_t number_lettered(struct scan *s, const struct number *n);
size_t number_phone(struct scan *s, const struct number *n);
void number_birth(struct scan *s, const struct number *n);
void number_document(struct scan *s, const struct number *n);

/* ---- what chains do not see (loose.c); the end of what was found, or 0 ---- */

/* Cards in groups with anything between them. */
size_t loose_card(struct scan *s, size_t at);
/* At a run of digits [at, end) that no chain begins with. */
size_t loose_number(struct scan *s, size_t at, size_t end);
/* At a run of letters and digits. */
size_t loose_mixed(struct scan *s, size_t at, size_t end);
/* Four numbers with dots. */
size_t number_ipv4(struct scan *s, size_t at);
