/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as the machine knows them, from the source text that a value keeps. */
#include <locale.h>
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/slice.h"
#include "codec/json_impl.h"

enum {
    INT64_DIGITS = 19,
    EXPONENT_CEILING = 100000000, /* far beyond any text that fits in memory */
    SHORT_TEXT = 64,
};

/* A number as 0.DIGITS × 10^point, leading and trailing zeros left out. */
struct decimal {
    char digits[INT64_DIGITS];
    size_t n_digits;
    int64_t point;
    bool is_negative;
    bool is_too_long; /* more digits than any int64_t has */
};

static int64_t read_exponent(struct weir_slice s)
{
    bool is_negative = s.len > 0 && s.ptr[0] == '-';
    int64_t n = 0;
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] == '-' || s.ptr[i] == '+') continue;
        n = n * 10 + (s.ptr[i] - '0');
        if (n > EXPONENT_CEILING) n = EXPONENT_CEILING;
    }
    return is_negative ? -n : n;
}

/* Adds one digit; zeros wait in *n_zeros until a digit follows that makes them count. */
static void add_digit(struct decimal *d, char digit, size_t *n_zeros)
{
    if (digit == '0') {
        if (d->n_digits > 0) (*n_zeros)++;
        return;
    }
    if (d->n_digits + *n_zeros + 1 > INT64_DIGITS) {
        d->is_too_long = true;
        return;
    }
    for (; *n_zeros > 0; (*n_zeros)--) d->digits[d->n_digits++] = '0';
    d->digits[d->n_digits++] = digit;
}

static struct decimal read_decimal(struct weir_slice s)
{
    struct decimal d = {.is_negative = s.len > 0 && s.ptr[0] == '-'};
    size_t n_zeros = 0;
    bool in_fraction = false;
    for (size_t i = d.is_negative ? 1 : 0; i < s.len; i++) {
        if (s.ptr[i] == 'e' || s.ptr[i] == 'E') {
            d.point += read_exponent(slice_from(s, i + 1));
            break;
        }
        if (s.ptr[i] == '.') {
            in_fraction = true;
            continue;
        }
        add_digit(&d, s.ptr[i], &n_zeros);
        /* The point moves right with integer digits, left with a fraction's leading zeros. */
        if (!in_fraction && d.n_digits > 0) d.point++;
        if (in_fraction && d.n_digits == 0) d.point--;
    }
    return d;
}

/* Up to 18 digits and nothing else: cannot overflow, and is what an integer mostly is. */
static bool read_short_int(struct weir_slice s, int64_t *out)
{
    int64_t n = 0;
    if (s.len == 0 || s.len > INT64_DIGITS - 1) return false;
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] < '0' || s.ptr[i] > '9') return false;
        n = n * 10 + (s.ptr[i] - '0');
    }
    *out = n;
    return true;
}

bool weir_json_int64(const struct weir_json *v, int64_t *out)
{
    if (weir_json_type_of(v) != WEIR_JSON_NUMBER) return false;
    if (read_short_int(weir_json_text(v), out)) return true;
    struct decimal d = read_decimal(weir_json_text(v));
    if (d.n_digits == 0) {
        *out = 0;
        return true;
    }
    if (d.is_too_long || d.point > INT64_DIGITS || d.point < (int64_t)d.n_digits) return false;
    uint64_t n = 0;
    for (int64_t i = 0; i < d.point; i++)
        n = n * 10 + (uint64_t)(i < (int64_t)d.n_digits ? d.digits[i] - '0' : 0);
    uint64_t most = d.is_negative ? (uint64_t)INT64_MAX + 1 : (uint64_t)INT64_MAX;
    if (n > most) return false;
    *out = d.is_negative ? (int64_t)(0 - n) : (int64_t)n;
    return true;
}

/* strtod in the C locale, whatever the program has chosen. */
static bool read_double(const char *text, double *out)
{
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!plain) return false;
    double x = strtod_l(text, NULL, plain);
    freelocale(plain);
    if (!isfinite(x)) return false;
    *out = x;
    return true;
}

bool weir_json_double(const struct weir_json *v, double *out)
{
    if (weir_json_type_of(v) != WEIR_JSON_NUMBER) return false;
    struct weir_slice s = weir_json_text(v);
    char small[SHORT_TEXT];
    char *text = s.len < sizeof small ? small : mem_alloc(s.len + 1);
    if (!text) return false;
    memcpy(text, s.ptr, s.len);
    text[s.len] = 0;
    bool is_read = read_double(text, out);
    if (text != small) mem_free(text);
    return is_read;
}
