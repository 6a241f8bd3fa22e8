/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cards and social security numbers where the chains of number.c do not see them: more than one
 * space, a tab, a plus or the end of a line between the groups, single digits with spaces, a
 * fraction of zeros behind them, letters or underscores that touch them ("card_4012….pdf",
 * "SSN536904399").
 *
 * Such forms are wider than those that people mean, so what stands in them has to be right in all
 * else: a network's range, its length, the Luhn digit, and nothing that makes it part of a table.
 */
#include <string.h>

#include "shield/check_digit.h"
#include "shield/national.h"
#include "shield/number.h"

enum { LOOSE_GROUPS = 20, LOOSE_DIGITS = 19, GAP_MAX = 6 };

struct loose {
    uint8_t digits[LOOSE_DIGITS];
    size_t n_digits;
    size_t sizes[LOOSE_GROUPS];
    size_t n_groups;
    size_t end;
    bool is_wide; /* a tab or a line's end is between its groups, as in tables */
};

/* What may stand between groups: blanks with one end of a line among them, or one plus. */
static size_t gap_at(const struct scan *s, size_t at, bool *is_wide)
{
    size_t n = 0, lines = 0;
    if (scan_byte(s, at) == '+' || scan_byte(s, at) == '_') return 1;
    while (n < GAP_MAX) {
        unsigned char c = scan_byte(s, at + n);
        if (c == 0xC2 && scan_byte(s, at + n + 1) == 0xA0) n++;
        else if (c == '\n') lines++;
        else if (c != ' ' && c != '\t' && c != '\r') break;
        *is_wide = *is_wide || c == '\n' || c == '\t';
        n++;
    }
    return lines > 1 ? 0 : n;
}

static void read_loose(const struct scan *s, size_t at, struct loose *l)
{
    memset(l, 0, sizeof *l);
    while (l->n_groups < LOOSE_GROUPS) {
        size_t end = scan_run(s, at, BYTE_DIGIT, LOOSE_DIGITS + 1);
        bool is_wide = l->is_wide;
        if (l->n_digits + (end - at) > LOOSE_DIGITS) return;
        for (size_t i = at; i < end; i++) l->digits[l->n_digits++] = (uint8_t)(s->text[i] - '0');
        l->sizes[l->n_groups++] = end - at;
        l->end = end;
        size_t gap = gap_at(s, end, &is_wide);
        if (gap == 0 || !scan_is(s, end + gap, BYTE_DIGIT)) return;
        l->is_wide = is_wide;
        at = end + gap;
    }
}

/* Groups as cards have them, or single digits. */
static bool is_layout(const struct loose *l)
{
    static const uint8_t layouts[][5] = {{4, 4, 4, 4}, {4, 6, 5}, {4, 6, 4}, {4, 4, 4, 4, 3}};
    bool is_single = true;
    for (size_t i = 0; i < l->n_groups; i++) is_single = is_single && l->sizes[i] == 1;
    if (is_single) return l->n_groups == 15 || l->n_groups == 16;
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++) {
        size_t n = 0;
        while (n < 5 && n < l->n_groups && layouts[i][n] == l->sizes[n]) n++;
        if (n == l->n_groups && (n == 5 || layouts[i][n] == 0)) return true;
    }
    return false;
}

/* The first k groups alone: a month of expiry may follow. */
static void cut(const struct scan *s, size_t at, struct loose *l, size_t k)
{
    bool is_wide = false;
    for (size_t i = 0; i < k; i++) {
        size_t end = at + l->sizes[i];
        l->end = end;
        at = end + gap_at(s, end, &is_wide);
    }
    l->n_groups = k;
    l->n_digits = 0;
    for (size_t i = 0; i < k; i++) l->n_digits += l->sizes[i];
}

/* A row of a table has numbers before it. */
static bool is_after_number(const struct scan *s, size_t at)
{
    size_t from = at;
    while (from > 0 && at - from < GAP_MAX && strchr(" \t\r\n,;|", s->text[from - 1]) &&
           s->text[from - 1])
        from--;
    return scan_is_before(s, from, BYTE_DIGIT);
}

/* And others behind it. */
static bool is_before_number(const struct scan *s, size_t end)
{
    bool is_wide = false;
    size_t gap = gap_at(s, end, &is_wide);
    return gap > 0 && scan_run(s, end + gap, BYTE_DIGIT, 4) == end + gap + 4;
}

static size_t add_card(struct scan *s, size_t at, const struct loose *l)
{
    const char *label = card_network(l->digits, l->n_digits);
    if (!label) return 0;
    scan_found(s, at, l->end, SHIELD_CREDIT_CARD, label, 1.0);
    return l->end;
}

size_t loose_card(struct scan *s, size_t at)
{
    struct loose l;
    if (is_after_number(s, at) || scan_before(s, at) == '.') return 0;
    read_loose(s, at, &l);
    if (l.n_groups < 3 || l.n_digits < 14) return 0;
    if (!is_layout(&l)) {
        cut(s, at, &l, l.sizes[1] == 6 || l.n_groups == 3 ? 3 : 4);
        if (!is_layout(&l)) return 0;
    }
    if (scan_is(s, l.end, BYTE_DIGIT) || (l.is_wide && is_before_number(s, l.end))) return 0;
    return add_card(s, at, &l);
}

/* ".0", ",00": a number of a spreadsheet. */
static bool is_fraction(const struct scan *s, size_t end)
{
    size_t from = end + 1;
    if (scan_byte(s, end) != '.' || !scan_is(s, from, BYTE_DIGIT)) return false;
    size_t to = scan_run(s, from, BYTE_DIGIT, 4);
    for (size_t i = from; i < to; i++)
        if (s->text[i] != '0') return true;
    return to - from > 2;
}

/* A part of something longer: an UUID, a path, a decimal. */
static bool is_part(const struct scan *s, size_t at, size_t end)
{
    unsigned char before = scan_before(s, at), after = scan_byte(s, end);
    if (before == '.' || (before == '-' && scan_is_before(s, at - 1, BYTE_ALNUM))) return true;
    return (after == '-' && scan_is(s, end + 1, BYTE_ALNUM)) || is_fraction(s, end);
}

/* 15 or 16 digits in one piece, whatever touches them. */
static size_t glued_card(struct scan *s, size_t at, size_t end)
{
    struct loose l;
    if ((end - at != 15 && end - at != 16) || is_part(s, at, end)) return 0;
    read_loose(s, at, &l);
    if (l.n_groups == 0 || l.sizes[0] != end - at) return 0;
    cut(s, at, &l, 1);
    return add_card(s, at, &l);
}

/* 536-90-4399 with underscores around it, or a word before it; or nine digits after the word. */
static size_t glued_ssn(struct scan *s, size_t at, size_t end, bool is_named)
{
    uint8_t d[9];
    size_t n = 0, stop = at;
    bool has_hyphens = end - at == 3;
    if (!has_hyphens && !(is_named && end - at == 9)) return 0;
    while (n < 9 && scan_is(s, stop, BYTE_DIGIT)) {
        d[n++] = (uint8_t)(s->text[stop++] - '0');
        if (has_hyphens && (n == 3 || n == 5) && scan_byte(s, stop++) != '-') return 0;
    }
    if (n < 9 || scan_is(s, stop, BYTE_ALNUM) || scan_byte(s, stop) == '-') return 0;
    if (!us_ssn_is_right(d)) return 0;
    scan_found(s, at, stop, SHIELD_US_SSN, "us_ssn", 0.85);
    return stop;
}

size_t loose_number(struct scan *s, size_t at, size_t end)
{
    bool is_free = scan_before(s, at) == '_' || !scan_is_before(s, at, BYTE_ALNUM);
    size_t found = is_free ? loose_card(s, at) : 0;
    if (found == 0) found = glued_card(s, at, end);
    if (found == 0 && scan_before(s, at) == '_') found = glued_ssn(s, at, end, false);
    return found;
}

size_t loose_mixed(struct scan *s, size_t at, size_t end)
{
    enum { LETTERS_MAX = 12 };
    size_t from = at;
    while (from < end && !scan_is(s, from, BYTE_DIGIT)) from++;
    size_t to = scan_run(s, from, BYTE_DIGIT, end - from);
    if (scan_run(s, to, BYTE_LETTER, LETTERS_MAX) < end || from - at > LETTERS_MAX) return 0;
    size_t found = glued_card(s, from, to);
    if (found > 0 || from == at) return found;
    struct weir_slice word = {(const char *)s->text + at, from - at};
    return context_of(s->rules, word) & CONTEXT_SSN ? glued_ssn(s, from, to, true) : 0;
}
