/* SPDX-License-Identifier: Apache-2.0 */
/* The arithmetic of check digits, by the standards that define them. */
#include "shield/check_digit.h"

bool luhn_is_right(const uint8_t *digits, size_t n)
{
    unsigned sum = 0;
    for (size_t i = 0; i < n; i++) {
        unsigned d = digits[n - 1 - i];
        if (i % 2 == 1) d = d > 4 ? 2 * d - 9 : 2 * d;
        sum += d;
    }
    return sum % 10 == 0;
}

unsigned weigh(const uint8_t *digits, const uint8_t *weights, size_t n)
{
    unsigned sum = 0;
    for (size_t i = 0; i < n; i++) sum += (unsigned)digits[i] * weights[i];
    return sum;
}

unsigned mod97_of(const char *text, size_t n)
{
    unsigned rest = 0;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c >= '0' && c <= '9') rest = (rest * 10 + (c - '0')) % 97;
        else if (c >= 'A' && c <= 'Z') rest = (rest * 100 + (unsigned)(c - 'A' + 10)) % 97;
        else return 97;
    }
    return rest;
}

unsigned modulo_of(const uint8_t *digits, size_t n, unsigned by)
{
    unsigned rest = 0;
    for (size_t i = 0; i < n; i++) rest = (rest * 10 + digits[i]) % by;
    return rest;
}

bool mod11_10_is_right(const uint8_t *digits, size_t n)
{
    unsigned product = 10;
    for (size_t i = 0; i + 1 < n; i++) {
        unsigned sum = (digits[i] + product) % 10;
        product = 2 * (sum == 0 ? 10 : sum) % 11;
    }
    return (11 - product) % 10 == digits[n - 1];
}

bool ean13_is_right(const uint8_t digits[13])
{
    unsigned sum = 0;
    for (size_t i = 0; i < 13; i++) sum += digits[i] * (i % 2 == 1 ? 3U : 1U);
    return sum % 10 == 0;
}

/* The group is the symmetries of a pentagon: 0 to 4 turn, 5 to 9 turn and mirror. */
static unsigned turn(unsigned a, unsigned b)
{
    if (a < 5) return b < 5 ? (a + b) % 5 : 5 + (a + b - 5) % 5;
    return b < 5 ? 5 + (a - 5 + 5 - b) % 5 : (a - 5 + 5 - (b - 5)) % 5;
}

bool verhoeff_is_right(const uint8_t *digits, size_t n)
{
    static const uint8_t once[10] = {1, 5, 7, 6, 2, 8, 3, 0, 9, 4};
    unsigned sum = 0;
    for (size_t i = 0; i < n; i++) {
        unsigned d = digits[n - 1 - i];
        for (size_t k = 0; k < i % 8; k++) d = once[d];
        sum = turn(sum, d);
    }
    return sum == 0;
}

bool day_exists(unsigned year, unsigned month, unsigned day)
{
    static const uint8_t days[12] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    if (month < 1 || month > 12 || day < 1 || day > days[month - 1]) return false;
    if (month != 2 || day < 29 || year == 0) return true;
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}
