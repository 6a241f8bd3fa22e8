/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Days of birth: a date in any common form, when words of birth stand before it in its sentence.
 * A date alone is nobody's.
 */
#include <string.h>

#include "shield/check_digit.h"
#include "shield/number.h"

enum { BIRTH_WINDOW = 56, MONTH_LETTERS = 12 };

/* Three letters, which suffice in most languages that use this alphabet; 0: no month. */
static unsigned month_of(const struct scan *s, size_t start, size_t end)
{
    static const char names[][4] = {"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep",
                                    "oct", "nov", "dec", "ene", "fev", "mrz", "abr", "mai", "giu",
                                    "lug", "ago", "set", "okt", "gen", "dez", "dic", "mei", "avr",
                                    "jui", "aou", "ott", "out", "maa", "maj", "mag"};
    static const uint8_t months[] = {1, 2, 3, 4, 5,  6, 7,  8,  9, 10, 11, 12, 1,  2,  3, 4, 5,
                                     6, 7, 8, 9, 10, 1, 12, 12, 5, 4,  6,  8,  10, 10, 3, 5, 5};
    if (end - start < 3) return 0;
    for (size_t i = 0; i < sizeof months; i++) {
        const char *name = names[i];
        size_t k = 0;
        while (k < 3 && lower_of(s->text[start + k]) == (unsigned char)name[k]) k++;
        if (k == 3) return months[i];
    }
    return 0;
}

static unsigned value_of(const struct number *n, size_t i)
{
    unsigned v = 0;
    for (size_t k = 0; k < n->groups[i].n && k < 8; k++)
        v = v * 10 + n->digits[n->groups[i].first + k];
    return v;
}

static bool is_year(unsigned year, unsigned digits)
{
    return digits == 2 || (digits == 4 && year >= 1850 && year <= 2100);
}

static bool is_day(unsigned year, unsigned year_digits, unsigned month, unsigned day)
{
    return is_year(year, year_digits) && day_exists(year_digits == 4 ? year : 0, month, day);
}

/* 1985-03-12, 12.03.1985, 3/12/85: the end, or 0. */
static size_t numeric_date(const struct number *n)
{
    if (n->n_groups < 3 || n->groups[1].sep != n->groups[2].sep) return 0;
    if (!strchr("-./ ", n->groups[1].sep)) return 0;
    unsigned a = value_of(n, 0), b = value_of(n, 1), c = value_of(n, 2);
    unsigned na = n->groups[0].n, nb = n->groups[1].n, nc = n->groups[2].n;
    if (nb > 2) return 0;
    bool is_first = na == 4 && nc <= 2 && is_day(a, na, b, c);
    bool is_last = na <= 2 && (is_day(c, nc, b, a) || is_day(c, nc, a, b));
    return is_first || is_last ? n->groups[2].end : 0;
}

/* 19850312. */
static size_t packed_date(const struct number *n)
{
    const uint8_t *d = n->digits;
    if (n->groups[0].n != 8) return 0;
    unsigned year = d[0] * 1000U + d[1] * 100U + d[2] * 10U + d[3];
    unsigned last = d[4] * 1000U + d[5] * 100U + d[6] * 10U + d[7];
    bool is_first = is_day(year, 4, d[4] * 10U + d[5], d[6] * 10U + d[7]);
    bool is_last = is_day(last, 4, d[2] * 10U + d[3], d[0] * 10U + d[1]) ||
                   is_day(last, 4, d[0] * 10U + d[1], d[2] * 10U + d[3]);
    return is_first || is_last ? n->groups[0].end : 0;
}

static size_t skip_marks(const struct scan *s, size_t at)
{
    while (at < s->len && strchr(" ,.-/", s->text[at]) && s->text[at]) at++;
    return at;
}

/* After a month's name: " 1985", ", 1985", " de 1985", "'85". */
static size_t year_after(const struct scan *s, size_t at)
{
    at = skip_marks(s, at);
    if (lower_of(scan_byte(s, at)) == 'd' && lower_of(scan_byte(s, at + 1)) == 'e')
        at = skip_marks(s, at + (lower_of(scan_byte(s, at + 2)) == 'l' ? 3 : 2));
    if (scan_byte(s, at) == '\'') at++;
    size_t end = scan_run(s, at, BYTE_DIGIT, 5);
    if (end - at != 4 && end - at != 2) return 0;
    return scan_is(s, end, BYTE_ALNUM) ? 0 : end;
}

/* 12 March 1985, 12th of March, 1985, 12. März 1985, 12-Mar-85. */
static size_t day_first(const struct scan *s, const struct number *n)
{
    size_t at = n->groups[0].end;
    if (n->groups[0].n > 2 || value_of(n, 0) < 1 || value_of(n, 0) > 31) return 0;
    size_t suffix = scan_run(s, at, BYTE_LETTER, 3);
    if (suffix - at == 2) at = suffix;
    at = skip_marks(s, at);
    if (lower_of(scan_byte(s, at)) == 'o' && lower_of(scan_byte(s, at + 1)) == 'f')
        at = skip_marks(s, at + 2);
    else if (lower_of(scan_byte(s, at)) == 'd' && lower_of(scan_byte(s, at + 1)) == 'e' &&
             scan_byte(s, at + 2) == ' ')
        at += 3;
    size_t end = scan_run(s, at, BYTE_LETTER | BYTE_HIGH, MONTH_LETTERS);
    /* "März" and "février": the accents do not matter for three letters but these. */
    bool is_marz = end - at >= 4 && scan_byte(s, at + 1) == 0xC3;
    if (!is_marz && month_of(s, at, end) == 0) return 0;
    return year_after(s, end);
}

/* March 12, 1985: the number is the day, and the month stands before it. */
static size_t month_first(const struct scan *s, const struct number *n, size_t *start)
{
    size_t at = n->groups[0].start;
    if (n->groups[0].n > 2 || at < 4 || scan_before(s, at) != ' ') return 0;
    size_t word = at - 1;
    if (scan_before(s, word) == '.') word--;
    size_t end = word;
    while (word > 0 && end - word < MONTH_LETTERS && scan_is_before(s, word, BYTE_LETTER)) word--;
    if (month_of(s, word, end) == 0) return 0;
    at = n->groups[0].end;
    size_t suffix = scan_run(s, at, BYTE_LETTER, 3);
    size_t year = year_after(s, suffix - at == 2 ? suffix : at);
    if (year > 0) *start = word;
    return year;
}

/* 1985年3月12日. */
static size_t han_date(const struct scan *s, const struct number *n)
{
    size_t at = n->groups[0].end;
    if (n->groups[0].n != 4 || s->len - at < 8) return 0;
    if (memcmp(s->text + at, "\xE5\xB9\xB4", 3) != 0) return 0;
    at = scan_run(s, at + 3, BYTE_DIGIT, 3);
    if (s->len - at < 3 || memcmp(s->text + at, "\xE6\x9C\x88", 3) != 0) return 0;
    at = scan_run(s, at + 3, BYTE_DIGIT, 3);
    if (s->len - at < 3 || memcmp(s->text + at, "\xE6\x97\xA5", 3) != 0) return 0;
    return at + 3;
}

/* Where the sentence begins, as far as the window goes: short words may end in a dot. */
static size_t sentence_start(const struct scan *s, size_t at)
{
    size_t from = at > BIRTH_WINDOW ? at - BIRTH_WINDOW : 0;
    for (size_t i = at; i > from + 5; i--) {
        unsigned char c = s->text[i - 1];
        if (c == ';') return i;
        if ((c != ' ' && c != '\n') || s->text[i - 2] != '.') continue;
        if (scan_is(s, i - 3, BYTE_ALNUM) && scan_is(s, i - 4, BYTE_ALNUM) &&
            scan_is(s, i - 5, BYTE_ALNUM))
            return i;
    }
    return from;
}

void number_birth(struct scan *s, const struct number *n)
{
    size_t start = n->groups[0].start;
    if (n->has_plus || n->groups[0].n > 8 || !(context_before(s, start) & CONTEXT_BIRTH)) return;
    size_t end = numeric_date(n);
    if (end == 0) end = packed_date(n);
    if (end == 0) end = day_first(s, n);
    if (end == 0) end = month_first(s, n, &start);
    if (end == 0) end = han_date(s, n);
    if (end == 0 || scan_is(s, end, BYTE_ALNUM)) return;
    if (!(context_since(s, sentence_start(s, start), start) & CONTEXT_BIRTH)) return;
    struct shield_finding f = {.label = "date_of_birth",
                               .score = 0.85F,
                               .category = SHIELD_DATE_OF_BIRTH,
                               .source = SHIELD_CONTEXT};
    scan_found_by(s, start, end, f);
}
