/* SPDX-License-Identifier: Apache-2.0 */
/*
 * International bank account numbers (ISO 13616): each country's length and structure, MOD 97-10,
 * in one piece or in groups with hyphens or a few blanks, the end of a line too. Upper or lower
 * case, but not mixed: that is how text looks that only happens to pass.
 */
#include "shield/mixed.h"

#include <string.h>
#include <strings.h>

#include "shield/check_digit.h"

enum { IBAN_MAX = 34 };

/* Country and structure after the two check digits: n digits, a letters, c either. */
static const char *const registry[] = {
    "AD8n12c",    "AE19n",   "AL8n16c",  "AO21n",      "AT16n",      "AZ4a20c",    "BA16n",
    "BE12n",      "BF2c22n", "BG4a6n8c", "BH4a14c",    "BI23n",      "BJ2c22n",    "BR23n1a1c",
    "BY4c4n16c",  "CF23n",   "CG23n",    "CH5n12c",    "CI2c22n",    "CM23n",      "CR18n",
    "CV21n",      "CY8n16c", "CZ20n",    "DE18n",      "DJ23n",      "DK14n",      "DO4c20n",
    "DZ22n",      "EE16n",   "EG25n",    "ES20n",      "FI14n",      "FK2a12n",    "FO14n",
    "FR10n11c2n", "GA23n",   "GB4a14n",  "GE2a16n",    "GI4a15c",    "GL14n",      "GQ23n",
    "GR7n16c",    "GT4c20c", "GW2c19n",  "HN4a20n",    "HR17n",      "HU24n",      "IE4a14n",
    "IL19n",      "IQ4a15n", "IR22n",    "IS22n",      "IT1a10n12c", "JO4a4n18c",  "KM23n",
    "KW4a22c",    "KZ3n13c", "LB4n20c",  "LC4a24c",    "LI5n12c",    "LT16n",      "LU3n13c",
    "LV4a13c",    "LY21n",   "MA24n",    "MC10n11c2n", "MD2c18c",    "ME18n",      "MG23n",
    "MK3n10c2n",  "ML2c22n", "MN16n",    "MR23n",      "MT4a5n18c",  "MU4a19n3a",  "MZ21n",
    "NE2c22n",    "NI4a20n", "NL4a10n",  "NO11n",      "OM3n16c",    "PK4a16c",    "PL24n",
    "PS4a21c",    "PT21n",   "QA4a21c",  "RO4a16c",    "RS18n",      "RU14n15c",   "SA2n18c",
    "SC4a20n3a",  "SD14n",   "SE20n",    "SI15n",      "SK20n",      "SM1a10n12c", "SN2c22n",
    "SO19n",      "ST21n",   "SV4a20n",  "TD23n",      "TG2c22n",    "TL19n",      "TN20n",
    "TR6n16c",    "UA6n19c", "VA18n",    "VG4a16n",    "XK16n",      "YE4a4n18c",
};

static const char *structure_of(const unsigned char country[2])
{
    for (size_t i = 0; i < sizeof registry / sizeof registry[0]; i++)
        if (registry[i][0] == country[0] && registry[i][1] == country[1]) return registry[i] + 2;
    return NULL;
}

static bool fits(unsigned char c, char kind)
{
    unsigned classes = kind == 'n'   ? BYTE_DIGIT
                       : kind == 'a' ? BYTE_UPPER
                                     : BYTE_DIGIT | BYTE_UPPER;
    return (shield_bytes[c] & classes) != 0;
}

/* Reads one part of a structure: its kind and size. */
static const char *next_part(const char *structure, char *kind, size_t *size)
{
    *size = 0;
    while (*structure >= '0' && *structure <= '9')
        *size = *size * 10 + (size_t)(*structure++ - '0');
    *kind = *structure;
    return structure + 1;
}

static size_t length_of(const char *structure)
{
    size_t sum = 4, size;
    char kind;
    while (*structure) {
        structure = next_part(structure, &kind, &size);
        sum += size;
    }
    return sum;
}

static bool has_structure(const char *text, const char *structure)
{
    size_t at = 4, size;
    char kind;
    while (*structure) {
        structure = next_part(structure, &kind, &size);
        for (size_t i = 0; i < size; i++)
            if (!fits((unsigned char)text[at++], kind)) return false;
    }
    return true;
}

static size_t gap_at(const struct scan *s, size_t at)
{
    enum { GAP_MAX = 6 };
    size_t n = 0;
    if (scan_byte(s, at) == '-' || scan_byte(s, at) == '_' || scan_byte(s, at) == '+') return 1;
    for (unsigned char c; n < GAP_MAX; n++) {
        c = scan_byte(s, at + n);
        if (c == 0xC2 && scan_byte(s, at + n + 1) == 0xA0) n++;
        else if (c != ' ' && c != '\t' && c != '\r' && c != '\n') break;
    }
    return n;
}

/* Underscores are emphasis, and what joins the names of files. "IBAN" may touch it, too. */
static bool is_free(const struct scan *s, size_t at, size_t end)
{
    bool is_named = at >= 4 && strncasecmp((const char *)s->text + at - 4, "iban", 4) == 0;
    return (is_named || !scan_is_before(s, at, BYTE_ALNUM)) && !scan_is(s, end, BYTE_ALNUM);
}

/* Collects `want` letters and digits in upper case; the end in the text, or 0. */
static size_t collect(const struct scan *s, size_t at, size_t want, char out[IBAN_MAX])
{
    unsigned cases = 0;
    for (size_t n = 0; n < want;) {
        size_t gap = n >= 4 ? gap_at(s, at) : 0;
        if (gap > 0) at += gap;
        if (!scan_is(s, at, BYTE_ALNUM)) return 0;
        /* "De89" is what a telephone makes of "de89": the first letter says nothing. */
        if (n > 0) cases |= shield_bytes[s->text[at]] & BYTE_LETTER;
        unsigned char c = s->text[at++];
        out[n++] = (char)(c >= 'a' && c <= 'z' ? c - ('a' - 'A') : c);
    }
    return cases == BYTE_LETTER ? 0 : at;
}

size_t mixed_iban(struct scan *s, size_t at, size_t end)
{
    unsigned char country[2];
    char text[IBAN_MAX], turned[IBAN_MAX];
    if (end - at > 8 && strncasecmp((const char *)s->text + at, "iban", 4) == 0) at += 4;
    if (end - at < 4 || !scan_is(s, at, BYTE_LETTER) || !scan_is(s, at + 1, BYTE_LETTER)) return 0;
    if (!scan_is(s, at + 2, BYTE_DIGIT) || !scan_is(s, at + 3, BYTE_DIGIT)) return 0;
    for (size_t i = 0; i < 2; i++)
        country[i] = (unsigned char)(lower_of(s->text[at + i]) - ('a' - 'A'));
    const char *structure = structure_of(country);
    if (!structure) return 0;
    size_t len = length_of(structure);
    size_t stop = collect(s, at, len, text);
    if (stop == 0 || !is_free(s, at, stop) || !has_structure(text, structure)) return 0;
    memcpy(turned, text + 4, len - 4);
    memcpy(turned + len - 4, text, 4);
    if (mod97_of(turned, len) != 1) return 0;
    scan_found(s, at, stop, SHIELD_IBAN, "iban", 1.0);
    return stop;
}
