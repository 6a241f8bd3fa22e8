/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs of letters and digits: which matchers see them, and the national numbers among them whose
 * last letter is a check digit. Digits only are in national.c.
 */
#include "shield/mixed.h"

#include <string.h>

#include "shield/check_digit.h"
#include "shield/national.h"
#include "shield/number.h"

enum { MIXED_MAX = 18 };

/* A run in upper case with its shape: '9' for a digit, 'A' for a letter. */
struct run {
    char text[MIXED_MAX + 1];
    char shape[MIXED_MAX + 1];
    uint8_t digits[MIXED_MAX]; /* values; of letters 0 */
    size_t len;
    bool is_lower; /* as hex digits of hashes are */
};

typedef bool (*run_check_fn)(const struct run *r);

static bool read_run(const struct scan *s, size_t at, size_t end, struct run *r)
{
    unsigned cases = 0;
    r->len = end - at;
    if (r->len > MIXED_MAX) return false;
    for (size_t i = 0; i < r->len; i++) {
        unsigned char c = s->text[at + i];
        bool is_digit = (shield_bytes[c] & BYTE_DIGIT) != 0;
        cases |= shield_bytes[c] & BYTE_LETTER;
        r->text[i] = (char)(c >= 'a' && c <= 'z' ? c - 32 : c);
        r->shape[i] = is_digit ? '9' : 'A';
        r->digits[i] = is_digit ? (uint8_t)(c - '0') : 0;
    }
    r->text[r->len] = r->shape[r->len] = 0;
    r->is_lower = cases == BYTE_LOWER;
    return cases != BYTE_LETTER;
}

static char dni_letter(const uint8_t *d, size_t n)
{
    return "TRWAGMYFPDXBNJZSQVHLCKE"[modulo_of(d, n, 23)];
}

static bool es_dni(const struct run *r)
{
    return dni_letter(r->digits, 8) == r->text[8];
}

static bool es_nie(const struct run *r)
{
    uint8_t d[8];
    if (!strchr("XYZ", r->text[0])) return false;
    memcpy(d, r->digits, 8);
    d[0] = (uint8_t)(r->text[0] - 'X');
    return dni_letter(d, 8) == r->text[8];
}

static bool sg_nric(const struct run *r)
{
    static const uint8_t weights[7] = {2, 7, 6, 5, 4, 3, 2};
    unsigned sum = weigh(r->digits + 1, weights, 7);
    switch (r->text[0]) {
    case 'S': return "JZIHGFEDCBA"[sum % 11] == r->text[8];
    case 'T': return "JZIHGFEDCBA"[(sum + 4) % 11] == r->text[8];
    case 'F': return "XWUTRQPNMLK"[sum % 11] == r->text[8];
    case 'G': return "XWUTRQPNMLK"[(sum + 4) % 11] == r->text[8];
    case 'M': return "XWUTRQPNJLK"[10 - (sum + 3) % 11] == r->text[8];
    default: return false;
    }
}

/* No check digit, but letters that are never given. */
static bool uk_nino(const struct run *r)
{
    static const char *const never[] = {"BG", "GB", "KN", "NK", "NT", "TN", "ZZ"};
    if (strchr("DFIQUV", r->text[0]) || strchr("DFIQUVO", r->text[1])) return false;
    for (size_t i = 0; i < sizeof never / sizeof never[0]; i++)
        if (memcmp(r->text, never[i], 2) == 0) return false;
    return r->text[8] <= 'D';
}

static bool ie_pps(const struct run *r)
{
    static const uint8_t weights[7] = {8, 7, 6, 5, 4, 3, 2};
    unsigned sum = weigh(r->digits, weights, 7);
    if (r->len == 9 && r->text[8] != 'W') sum += 9U * (unsigned)(r->text[8] - 'A' + 1);
    return "WABCDEFGHIJKLMNOPQRSTUV"[sum % 23] == r->text[7];
}

static bool tw_id(const struct run *r)
{
    static const uint8_t codes[26] = {10, 11, 12, 13, 14, 15, 16, 17, 34, 18, 19, 20, 21,
                                      22, 35, 23, 24, 25, 26, 27, 28, 29, 32, 30, 31, 33};
    static const uint8_t weights[9] = {8, 7, 6, 5, 4, 3, 2, 1, 1};
    unsigned code = codes[r->text[0] - 'A'];
    if (r->digits[1] != 1 && r->digits[1] != 2) return false;
    return (code / 10 + code % 10 * 9 + weigh(r->digits + 1, weights, 9)) % 10 == 0;
}

static bool dea(const struct run *r)
{
    const uint8_t *d = r->digits + 2;
    if (!strchr("ABCDEFGHJKLMPRSTUX", r->text[0])) return false;
    return ((unsigned)d[0] + d[2] + d[4] + 2U * ((unsigned)d[1] + d[3] + d[5])) % 10 == d[6];
}

static bool in_pan(const struct run *r)
{
    return strchr("PCHFATBLJG", r->text[3]) != NULL;
}

static bool cn_id_x(const struct run *r)
{
    uint8_t d[18];
    memcpy(d, r->digits, 17);
    d[17] = 10;
    return r->text[17] == 'X' && cn_id_is_right(d);
}

/* Consonants, year, month letter, day (women: plus 40), place; every second place has odd values.
 */
static bool it_cf(const struct run *r)
{
    static const uint8_t odd[26] = {1,  0,  5, 7, 9, 13, 15, 17, 19, 21, 2,  4,  18,
                                    20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23};
    unsigned sum = 0;
    for (size_t i = 0; i < 15; i++) {
        unsigned v = r->shape[i] == '9' ? r->digits[i] : (unsigned)(r->text[i] - 'A');
        sum += i % 2 == 0 ? odd[v] : v;
    }
    return strchr("ABCDEHLMPRST", r->text[8]) && (char)('A' + sum % 26) == r->text[15];
}

/* Letters count from 10, with the place of Ñ left free. */
static bool mx_curp(const struct run *r)
{
    unsigned sum = 0;
    if (!strchr("HMX", r->text[10])) return false;
    for (size_t i = 0; i < 17; i++) {
        unsigned v = r->digits[i];
        if (r->shape[i] == 'A') v = (unsigned)(r->text[i] - 'A') + (r->text[i] > 'N' ? 11 : 10);
        sum += v * (18U - (unsigned)i);
    }
    return r->shape[17] == '9' && (10 - sum % 10) % 10 == r->digits[17];
}

static char hetu_letter(const uint8_t *day, const uint8_t *number)
{
    uint8_t d[9];
    memcpy(d, day, 6);
    memcpy(d + 6, number, 3);
    return "0123456789ABCDEFHJKLMNPRSTUVWXY"[modulo_of(d, 9, 31)];
}

/* Since 2000 a letter stands where the hyphen was. */
static bool fi_hetu(const struct run *r)
{
    return strchr("ABCDEFYXWVU", r->text[6]) &&
           day_exists(0, r->digits[2] * 10U + r->digits[3], r->digits[0] * 10U + r->digits[1]) &&
           hetu_letter(r->digits, r->digits + 7) == r->text[10];
}

/* Corsica's departments are 2A and 2B, which count as 19 and 18. */
static bool fr_nir_corsica(const struct run *r)
{
    uint8_t d[15];
    memcpy(d, r->digits, 15);
    if (r->text[5] != '2' || (r->text[6] != 'A' && r->text[6] != 'B')) return false;
    d[5] = 1;
    d[6] = r->text[6] == 'A' ? 9 : 8;
    return fr_nir_is_right(d);
}

static bool hk_id(const struct run *r)
{
    unsigned sum = 36 * 9;
    sum += (unsigned)(r->text[0] - 'A' + 10) * 8;
    for (size_t i = 1; i < 7; i++) sum += r->digits[i] * (8U - (unsigned)i);
    unsigned check = (11 - sum % 11) % 11;
    return check == 10 ? r->text[7] == 'A' : r->shape[7] == '9' && check == r->digits[7];
}

struct mixed_row {
    const char *shape, *label;
    run_check_fn check;
    unsigned context; /* 0: none is needed */
    uint8_t category;
    float score;
};

/* Where the check leaves more than one in a few hundred, a word is needed. */
static const struct mixed_row rows[] = {
    {"99999999A", "es_dni", es_dni, 0, SHIELD_NATIONAL_ID, 0.95F},
    {"A9999999A", "es_nie", es_nie, 0, SHIELD_NATIONAL_ID, 0.95F},
    {"A9999999A", "sg_nric", sg_nric, 0, SHIELD_NATIONAL_ID, 0.95F},
    {"AA999999A", "uk_nino", uk_nino, 0, SHIELD_NATIONAL_ID, 0.75F},
    {"9999999A", "ie_pps", ie_pps, 0, SHIELD_NATIONAL_ID, 0.95F},
    {"9999999AA", "ie_pps", ie_pps, 0, SHIELD_NATIONAL_ID, 0.95F},
    {"A999999999", "tw_id", tw_id, 0, SHIELD_NATIONAL_ID, 0.95F},
    {"AA9999999", "dea_number", dea, CONTEXT_DEA, SHIELD_MEDICAL, 0.95F},
    {"AAAAA9999A", "in_pan", in_pan, 0, SHIELD_NATIONAL_ID, 0.6F},
    {"99999999999999999A", "cn_resident_id", cn_id_x, 0, SHIELD_NATIONAL_ID, 0.95F},
    {"AAAAAA99A99A999A", "it_codice_fiscale", it_cf, 0, SHIELD_NATIONAL_ID, 0.95F},
    {"AAAA999999AAAAAA99", "mx_curp", mx_curp, 0, SHIELD_NATIONAL_ID, 0.95F},
    {"AAAA999999AAAAAAA9", "mx_curp", mx_curp, 0, SHIELD_NATIONAL_ID, 0.95F},
    {"999999A999A", "fi_hetu", fi_hetu, 0, SHIELD_NATIONAL_ID, 0.95F},
    {"999999A9999", "fi_hetu", fi_hetu, 0, SHIELD_NATIONAL_ID, 0.95F},
    {"999999A99999999", "fr_nir", fr_nir_corsica, 0, SHIELD_NATIONAL_ID, 0.95F},
    {"A9999999", "hk_id", hk_id, CONTEXT_NATIONAL, SHIELD_NATIONAL_ID, 0.95F},
    {"A999999A", "hk_id", hk_id, CONTEXT_NATIONAL, SHIELD_NATIONAL_ID, 0.95F},
};

/* 131052-308T: the run is the end of it, and six digits of a day stand before the sign. */
static size_t try_hetu(struct scan *s, size_t at, const struct run *r)
{
    uint8_t day[6];
    if (r->len != 4 || memcmp(r->shape, "999", 3) != 0 || at < 7) return 0;
    if (s->text[at - 1] != '-' && s->text[at - 1] != '+') return 0;
    for (size_t i = 0; i < 6; i++) {
        if (!scan_is(s, at - 7 + i, BYTE_DIGIT)) return 0;
        day[i] = (uint8_t)(s->text[at - 7 + i] - '0');
    }
    if (!day_exists(0, day[2] * 10U + day[3], day[0] * 10U + day[1])) return 0;
    if (hetu_letter(day, r->digits) != r->text[3] || !scan_is_apart(s, at - 7, at + 4)) return 0;
    scan_found(s, at - 7, at + 4, SHIELD_NATIONAL_ID, "fi_hetu", 0.95);
    return at + 4;
}

/* A123456(3): the check digit of Hong Kong stands in parentheses. */
static size_t try_hkid(struct scan *s, size_t at, struct run *r)
{
    size_t end = at + r->len;
    if (r->len != 7 || strcmp(r->shape, "A999999") != 0 || scan_byte(s, end) != '(') return 0;
    if (!scan_is(s, end + 1, BYTE_DIGIT | BYTE_UPPER) || scan_byte(s, end + 2) != ')') return 0;
    r->text[7] = (char)s->text[end + 1];
    r->shape[7] = scan_is(s, end + 1, BYTE_DIGIT) ? '9' : 'A';
    r->digits[7] = r->shape[7] == '9' ? (uint8_t)(r->text[7] - '0') : 0;
    if (!hk_id(r)) return 0;
    scan_found(s, at, end + 3, SHIELD_NATIONAL_ID, "hk_id", 0.95);
    return end + 3;
}

size_t mixed_national(struct scan *s, size_t at, size_t end)
{
    struct run r;
    if (!read_run(s, at, end, &r)) return 0;
    size_t found = try_hetu(s, at, &r);
    if (found == 0) found = try_hkid(s, at, &r);
    if (found > 0 || r.len < 8 || !scan_is_apart(s, at, end) || scan_before(s, at) == '-')
        return found;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strcmp(rows[i].shape, r.shape) != 0 || !rows[i].check(&r)) continue;
        unsigned needed = rows[i].context ? rows[i].context : r.is_lower ? CONTEXT_NATIONAL : 0;
        if (needed && !(context_near(s, at, end) & needed)) continue;
        scan_found(s, at, end, (enum shield_category)rows[i].category, rows[i].label,
                   rows[i].score);
        return end;
    }
    return 0;
}

/* One letter apart from all else at a place, perhaps after a hyphen or a space; 0: there is none.
 */
static char letter_after(const struct scan *s, size_t end, size_t *letter_end)
{
    size_t at = end + (scan_byte(s, end) == '-' || scan_byte(s, end) == ' ');
    if (!scan_is(s, at, BYTE_UPPER) || scan_is(s, at + 1, BYTE_ALNUM)) return 0;
    *letter_end = at + 1;
    return (char)s->text[at];
}

/* AB 12 34 56 C: two letters before the digits, one after them. */
static size_t try_nino(struct scan *s, const struct number *n, char letter, size_t end)
{
    struct run r = {.len = 9};
    size_t at = n->start;
    if (number_digits(n, n->n_groups) != 6 || n->n_groups != 3 || at < 3) return 0;
    if (s->text[at - 1] != ' ' || !scan_is(s, at - 2, BYTE_UPPER) ||
        !scan_is(s, at - 3, BYTE_UPPER))
        return 0;
    memcpy(r.text, s->text + at - 3, 2);
    r.text[8] = letter;
    if (!uk_nino(&r) || !scan_is_apart(s, at - 3, end)) return 0;
    scan_found(s, at - 3, end, SHIELD_NATIONAL_ID, "uk_nino", 0.75);
    return end;
}

size_t number_lettered(struct scan *s, const struct number *n)
{
    size_t end = 0;
    size_t n_digits = number_digits(n, n->n_groups);
    const struct number_group *last = &n->groups[n->n_groups - 1];
    if (n->has_plus || n->has_paren || n->is_tail || n_digits < 6 || n_digits > 8) return 0;
    char letter = letter_after(s, last->end, &end);
    if (letter == 0) return 0;
    const char *label = NULL;
    if (n_digits == 8 && n->n_groups == 1 && letter == dni_letter(n->digits, 8)) label = "es_dni";
    if (n->n_groups == 3 && letter == 'K' && cl_rut_check(n->digits, n_digits) == 10)
        label = "cl_rut";
    if (!label) return try_nino(s, n, letter, end);
    scan_found(s, n->start, end, SHIELD_NATIONAL_ID, label, 0.95);
    return end;
}

size_t match_mixed(struct scan *s, size_t at, size_t end)
{
    size_t found = mixed_iban(s, at, end);
    if (found == 0) found = mixed_coin(s, at, end);
    if (found == 0) found = mixed_national(s, at, end);
    if (found == 0) found = loose_mixed(s, at, end);
    if (found == 0) found = mixed_document(s, at, end);
    return found > end ? found : end;
}
