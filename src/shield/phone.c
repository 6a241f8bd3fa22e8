/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Telephone numbers (E.164 and the ways countries write their own).
 *
 * A plus with a country code that exists and a length that country has is enough. National forms
 * are taken by their shape: North America's 3-3-4, a trunk zero with groups, an area code in
 * parentheses. All else that has seven to fifteen digits needs a word such as "phone" or "Tel.".
 * Extensions belong to the number.
 */
#include <string.h>

#include "shield/number.h"

struct country {
    uint16_t code;
    uint8_t min, max; /* digits after the code */
};

/* Where the length is known better than ITU-T E.164 says. */
static const struct country countries[] = {
    {1, 10, 10},  {7, 10, 10},  {20, 8, 10},  {27, 9, 9},   {30, 10, 10}, {31, 9, 9},  {32, 8, 9},
    {33, 9, 9},   {34, 9, 9},   {36, 8, 9},   {39, 6, 12},  {40, 9, 9},   {41, 9, 9},  {43, 4, 13},
    {44, 7, 10},  {45, 8, 8},   {46, 7, 10},  {47, 8, 8},   {48, 9, 9},   {49, 5, 12}, {51, 8, 9},
    {52, 10, 11}, {54, 10, 11}, {55, 10, 11}, {56, 9, 9},   {57, 8, 10},  {60, 8, 10}, {61, 9, 9},
    {62, 7, 12},  {63, 8, 10},  {64, 8, 10},  {65, 8, 8},   {66, 8, 9},   {81, 9, 10}, {82, 8, 11},
    {84, 9, 10},  {86, 9, 11},  {90, 10, 10}, {91, 10, 10}, {92, 9, 10},  {94, 9, 9},  {98, 10, 10},
    {351, 9, 9},  {352, 5, 11}, {353, 7, 9},  {354, 7, 9},  {358, 5, 11}, {359, 7, 9}, {370, 8, 8},
    {371, 8, 8},  {372, 7, 8},  {380, 9, 9},  {385, 8, 9},  {386, 8, 8},  {420, 9, 9}, {421, 9, 9},
    {852, 8, 8},  {880, 8, 10}, {886, 8, 9},  {962, 8, 9},  {966, 8, 9},  {971, 8, 9}, {972, 8, 9},
};

/* Codes of two digits; all others but 1 and 7 have three. */
static bool has_two_digits(unsigned two)
{
    static const uint8_t codes[] = {20, 27, 30, 31, 32, 33, 34, 36, 39, 40, 41, 43, 44, 45, 46,
                                    47, 48, 49, 51, 52, 53, 54, 55, 56, 57, 58, 60, 61, 62, 63,
                                    64, 65, 66, 81, 82, 84, 86, 90, 91, 92, 93, 94, 95, 98};
    return memchr(codes, (int)two, sizeof codes) != NULL;
}

static bool has_three_digits(unsigned two)
{
    static const uint8_t starts[] = {21, 22, 23, 24, 25, 26, 29, 35, 37, 38, 42, 50,
                                     59, 67, 68, 69, 80, 85, 87, 88, 96, 97, 99};
    return memchr(starts, (int)two, sizeof starts) != NULL;
}

/* The country of a number of at least four digits; false: there is none. */
static bool country_of(const uint8_t *d, struct country *out, size_t *code_len)
{
    unsigned two = d[0] * 10U + d[1];
    unsigned code = d[0];
    *code_len = 1;
    if (d[0] != 1 && d[0] != 7) {
        *code_len = has_two_digits(two) ? 2 : 3;
        if (*code_len == 3 && !has_three_digits(two)) return false;
        code = *code_len == 2 ? two : two * 10 + d[2];
    }
    *out = (struct country){(uint16_t)code, 6, 12};
    for (size_t i = 0; i < sizeof countries / sizeof countries[0]; i++)
        if (countries[i].code == code) *out = countries[i];
    return true;
}

/* " ext. 123", "x123", "#123": the end of it, or where the number ends. */
static size_t extension(const struct scan *s, size_t end)
{
    static const char *const words[] = {"extension", "ext.",      "ext",   "extn", "x",
                                        "#",         "durchwahl", "poste", "int."};
    size_t at = end;
    if (scan_byte(s, at) == ',' || scan_byte(s, at) == ';') at++;
    if (scan_byte(s, at) == ' ') at++;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        size_t len = strlen(words[i]);
        size_t k = 0;
        while (k < len && lower_of(scan_byte(s, at + k)) == (unsigned char)words[i][k]) k++;
        if (k < len) continue;
        size_t from = at + len;
        if (scan_byte(s, from) == '.' || scan_byte(s, from) == ':') from++;
        if (scan_byte(s, from) == ' ') from++;
        size_t to = scan_run(s, from, BYTE_DIGIT, 8);
        if (to > from && to - from <= 7 && !scan_is(s, to, BYTE_ALNUM)) return to;
    }
    return end;
}

static size_t add_phone(struct scan *s, const struct number *n, size_t k, double score)
{
    size_t end = n->groups[k - 1].end;
    bool is_open = n->has_paren && scan_byte(s, end) == ')' && k == 1;
    struct shield_finding f = {.label = n->has_plus ? "international" : "national",
                               .score = (float)score,
                               .category = SHIELD_PHONE};
    scan_found_by(s, n->start, extension(s, is_open ? end + 1 : end), f);
    return end;
}

/* Whether more groups follow in the same manner: a row of numbers, or a longer one that is none. */
static bool goes_on(const struct number *n, size_t k)
{
    if (n->has_plus || k < 2 || k == n->n_groups || n->groups[1].sep != ' ') return false;
    return n->groups[k].sep == ' ' && n->groups[k].n >= 3 && n->digits[n->groups[k].first] != 0;
}

/* As number_ends(), and an extension may follow at once. */
static bool phone_ends(const struct scan *s, const struct number *n, size_t k)
{
    if (extension(s, n->groups[k - 1].end) > n->groups[k - 1].end) return true;
    return number_ends(s, n, k) && !goes_on(n, k);
}

/* The digits after `from` in k groups; a trunk zero in parentheses does not count. */
static size_t national_digits(const struct number *n, size_t k, size_t from)
{
    size_t count = number_digits(n, k) - from;
    for (size_t i = 1; i < k; i++)
        if (n->groups[i].n == 1 && n->groups[i].sep == '(' && n->digits[n->groups[i].first] == 0)
            count--;
    return count;
}

/* A country code after `skip` digits, "+" or "00". */
static size_t try_international(struct scan *s, const struct number *n, size_t skip, double score)
{
    struct country c;
    size_t code_len;
    if (number_digits(n, n->n_groups) < skip + 7) return 0;
    if (!country_of(n->digits + skip, &c, &code_len)) return 0;
    for (size_t k = n->n_groups; k > 0; k--) {
        size_t count = number_digits(n, k);
        if (count < skip + code_len + c.min) return 0;
        count = national_digits(n, k, skip + code_len);
        /* People leave the trunk zero in: +44 020 7946 0958. */
        size_t max = c.max + (n->digits[skip + code_len] == 0 ? 1U : 0U);
        if (count < c.min || count > max || !phone_ends(s, n, k)) continue;
        if (k > 1 && n->groups[k - 1].n < 2) continue;
        return add_phone(s, n, k, score);
    }
    return 0;
}

static bool is_nanp(const uint8_t *d)
{
    return d[0] >= 2 && d[3] >= 2 && !(d[1] == 9 && d[2] == 9 && d[0] == 9);
}

static bool is_one_of(const char *layout, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(layout, list[i]) == 0) return true;
    return false;
}

/* What number_layout() gives of numbers in North America, in order of how sure they are. */
static double nanp_score(const struct number *n, const char *layout, size_t skip)
{
    static const char *const area[] = {"3)3-4", "3)3 4", "3)3.4", "3)7", "3)3-2-2"};
    static const char *const joined[] = {"3-3-4", "3.3.4"};
    static const char *const loose[] = {"3 3 4", "3 3-4", "3/3-4"};
    bool is_right = is_nanp(n->digits + skip);
    if (is_one_of(layout, area, sizeof area / sizeof area[0]))
        return n->has_paren || skip > 0 ? 0.75 : 0;
    if (is_one_of(layout, joined, sizeof joined / sizeof joined[0])) return is_right ? 0.65 : 0.5;
    return is_right && is_one_of(layout, loose, sizeof loose / sizeof loose[0]) ? 0.5 : 0;
}

static size_t try_nanp(struct scan *s, const struct number *n)
{
    char layout[NUMBER_LAYOUT];
    for (size_t k = 2; k <= 5 && k <= n->n_groups; k++) {
        size_t count = number_digits(n, k);
        bool has_one = n->groups[0].n == 1 && (n->digits[0] == 1 || n->digits[0] == 8);
        if (count != (has_one ? 11U : 10U) || !phone_ends(s, n, k)) continue;
        number_layout(n, k, layout);
        double score = nanp_score(n, layout + (has_one ? 2 : 0), has_one ? 1 : 0);
        if (score > 0) return add_phone(s, n, k, score);
    }
    return 0;
}

/* Two and two and four, or four and two and two, digits: a day rather than a number. */
static bool is_date_like(const char *layout)
{
    static const char *const dates[] = {"2-2-4", "2.2.4", "2/2/4", "2 2 4", "4-2-2", "4.2.2",
                                        "4/2/2", "2-2-2", "2.2.2", "2/2/2", "4 2 2"};
    return is_one_of(layout, dates, sizeof dates / sizeof dates[0]);
}

/* Same separators but for the first, and no group so long or so short that it is something else. */
static bool is_even(const struct number *n, size_t k)
{
    for (size_t i = 1; i < k; i++) {
        const struct number_group *g = &n->groups[i];
        if (g->n < 2 || g->n > 8 || g->sep == '(') return false;
        if (i > 1 && (g->sep == ')' || g->sep == '/')) return false;
        if (i > 2 && g->sep != n->groups[2].sep) return false;
    }
    return true;
}

/* 020 7946 0958, 01 23 45 67 89, 030/1234567, 06-12345678, (0121) 496 0123. */
static size_t try_trunk(struct scan *s, const struct number *n)
{
    char layout[NUMBER_LAYOUT];
    if (n->digits[0] != 0 || n->digits[1] == 0 || n->groups[0].n < 2 || n->groups[0].n > 5)
        return 0;
    for (size_t k = n->n_groups; k > 1; k--) {
        size_t count = number_digits(n, k);
        if (count < 9) return 0;
        if (count > 12 || !is_even(n, k) || !phone_ends(s, n, k)) continue;
        number_layout(n, k, layout);
        bool is_decimal = k == 2 && n->groups[1].sep == '.';
        if (is_date_like(layout) || strcmp(layout, "5-4") == 0 || is_decimal) continue;
        return add_phone(s, n, k, 0.55);
    }
    return 0;
}

/* (11) 98456-5666. Years stand in parentheses, too. */
static size_t try_area(struct scan *s, const struct number *n)
{
    unsigned size = n->groups[0].n;
    unsigned year = size == 4 ? n->digits[0] * 10U + n->digits[1] : 0;
    if (!n->has_paren || size < 2 || size > 5 || year == 19 || year == 20) return 0;
    if (n->n_groups < 2 || n->groups[1].sep != ')') return 0;
    for (size_t k = n->n_groups; k > 1; k--) {
        size_t count = number_digits(n, k);
        if (count < 8) return 0;
        if (count > 12 || n->groups[1].n < 3 || !is_even(n, k) || !phone_ends(s, n, k)) continue;
        return add_phone(s, n, k, 0.55);
    }
    return 0;
}

/* 91-415-555-0132: a country code without its plus. */
static size_t try_code(struct scan *s, const struct number *n)
{
    char layout[NUMBER_LAYOUT];
    if (n->n_groups < 4 || !phone_ends(s, n, 4)) return 0;
    number_layout(n, 4, layout);
    bool is_shape = strcmp(layout + 1, "-3-3-4") == 0 && layout[0] <= '3';
    struct country c;
    size_t code_len;
    if (!is_shape || !country_of(n->digits, &c, &code_len)) return 0;
    return code_len == n->groups[0].n ? add_phone(s, n, 4, 0.5) : 0;
}

static bool is_counted(const struct number *n, size_t k)
{
    for (size_t i = 1; i < k; i++) {
        if (n->groups[i].n < 2 && n->groups[i].sep != '(') return false;
        if (n->groups[i].sep == '/' && i > 1) return false;
    }
    return true;
}

/* Anything that a word calls a telephone number. */
static size_t try_named(struct scan *s, const struct number *n)
{
    char layout[NUMBER_LAYOUT];
    for (size_t k = n->n_groups; k > 0; k--) {
        size_t count = number_digits(n, k);
        if (count < 7) return 0;
        if (count > 15 || !is_counted(n, k) || !phone_ends(s, n, k)) continue;
        number_layout(n, k, layout);
        bool is_decimal = k == 2 && n->groups[1].sep == '.' && n->groups[1].n < 6;
        if (is_date_like(layout) || is_decimal) continue;
        return add_phone(s, n, k, 0.5);
    }
    return 0;
}

/* A bare number with a trunk zero, of the length that most countries have. */
static size_t try_bare(struct scan *s, const struct number *n)
{
    unsigned size = n->groups[0].n;
    bool is_shape = n->digits[0] == 0 && n->digits[1] != 0 && (size == 10 || size == 11);
    bool is_counting = n->digits[1] == 1 && n->digits[2] == 2 && n->digits[3] == 3;
    return is_shape && !is_counting && phone_ends(s, n, 1) ? add_phone(s, n, 1, 0.4) : 0;
}

/* Orders, books, dates and the like have numbers of the same shape. */
static size_t try_shapes(struct scan *s, const struct number *n)
{
    size_t end = try_nanp(s, n);
    if (end == 0) end = try_area(s, n);
    if (end == 0) end = try_trunk(s, n);
    if (end == 0) end = try_code(s, n);
    if (end == 0 && n->digits[0] == 0 && n->digits[1] == 0 && n->n_groups > 1)
        end = try_international(s, n, 2, 0.6);
    return end > 0 ? end : try_bare(s, n);
}

/* A word that names a telephone, or one of its uses when the number has the look of one. */
static bool is_named(const struct number *n, unsigned context)
{
    if (context & CONTEXT_PHONE) return true;
    return (context & CONTEXT_CALL) && (n->n_groups > 1 || number_digits(n, n->n_groups) >= 10);
}

/* "tel-030...": the word that a hyphen or slash joins to the number. "CVE-2026-..." is none. */
static bool is_called(const struct scan *s, const struct number *n)
{
    size_t end = n->start - 1;
    size_t from = end;
    while (end - from < 16 && scan_is_before(s, from, BYTE_LETTER)) from--;
    struct weir_slice word = {(const char *)s->text + from, end - from};
    return (context_of(s->rules, word) & CONTEXT_PHONE) != 0;
}

size_t number_phone(struct scan *s, const struct number *n)
{
    if (n->has_plus) return try_international(s, n, 0, 0.8);
    size_t last = n->groups[n->n_groups - 1].end;
    unsigned context = context_near(s, n->start, last);
    bool has_name = is_named(n, context);
    if (n->is_tail && !is_called(s, n)) return 0;
    if ((context & CONTEXT_FIRM) && !has_name) return 0;
    size_t end = try_shapes(s, n);
    if (end > 0 || !has_name) return end;
    if (n->digits[0] == 0 && n->digits[1] == 0) end = try_international(s, n, 2, 0.6);
    return end > 0 ? end : try_named(s, n);
}
