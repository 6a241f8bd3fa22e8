/* SPDX-License-Identifier: Apache-2.0 */
/* Check digits. Digits are numbers 0 to 9, not characters; pure functions, any thread. */
#pragma once

#include <weir/types.h>

bool luhn_is_right(const uint8_t *digits, size_t n);

/* The weighted sum of n digits. */
unsigned weigh(const uint8_t *digits, const uint8_t *weights, size_t n);

/* ISO 7064: MOD 97-10 over letters and digits, in the order given. 97 when a byte is neither. */
unsigned mod97_of(const char *text, size_t n);
/* The remainder of a number of n digits. */
unsigned modulo_of(const uint8_t *digits, size_t n, unsigned by);
/* ISO 7064: MOD 11,10; the last digit is the check digit. */
bool mod11_10_is_right(const uint8_t *digits, size_t n);
/* EAN-13. */
bool ean13_is_right(const uint8_t digits[13]);
/* Verhoeff; the last digit is the check digit. */
bool verhoeff_is_right(const uint8_t *digits, size_t n);

/* Whether there is such a day. A year of 0 stands for one that is not known. */
bool day_exists(unsigned year, unsigned month, unsigned day);
