/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the cells of tables say: numbers, durations, yes and no. Dates are in cell_time.c. Nothing
 * here guesses: a text that is not wholly understood is refused, so that "12abc" is never 12.
 */
#include "import/cell.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <strings.h>

#include "base/slice.h"

enum {
    NUMBER_BYTES = 64, /* longest text of a number */
    EXACT_DIGITS = 15, /* as many fit in a double whatever they are */
    EXACT_POWER = 22,  /* 10^22 is the last that a double holds exactly */
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_nbsp(const char *p, size_t len)
{
    return len >= 2 && (unsigned char)p[0] == 0xC2 && (unsigned char)p[1] == 0xA0;
}

struct weir_slice cell_trim(struct weir_slice s)
{
    while (s.len > 0 && (is_blank(s.ptr[0]) || is_nbsp(s.ptr, s.len)))
        s = slice_from(s, is_blank(s.ptr[0]) ? 1 : 2);
    while (s.len > 0) {
        if (is_blank(s.ptr[s.len - 1])) s.len--;
        else if (s.len >= 2 && is_nbsp(s.ptr + s.len - 2, 2)) s.len -= 2;
        else break;
    }
    return s;
}

static bool is_one_of(struct weir_slice s, const char *const *words)
{
    for (; *words; words++)
        if (strlen(*words) == s.len && strncasecmp(s.ptr, *words, s.len) == 0) return true;
    return false;
}

bool cell_is_missing(struct weir_slice text)
{
    static const char *const words[] = {"-",   "--",      "---", "–",    "—",    "none", "null",
                                        "nil", "nan",     "n/a", "na",   "n.a.", "#n/a", "#value!",
                                        "?",   "missing", ".",   "n.v.", "k.a.", "k.A.", NULL};
    struct weir_slice s = cell_trim(text);
    return s.len == 0 || is_one_of(s, words);
}

bool cell_yes_no(struct weir_slice text, bool *yes)
{
    static const char *const yeses[] = {"true", "yes", "y",  "1", "ja",
                                        "oui",  "si",  "sí", "x", NULL};
    static const char *const noes[] = {"false", "no", "n", "0", "nein", "non", NULL};
    struct weir_slice s = cell_trim(text);
    *yes = is_one_of(s, yeses);
    return *yes || is_one_of(s, noes);
}

/* ---- numbers ---- */

/* strtod in the C locale, for the few texts with more digits than can be exact at once. */
static bool read_slowly(struct weir_slice s, double *out)
{
    char text[NUMBER_BYTES];
    char *end;
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!plain) return false;
    memcpy(text, s.ptr, s.len);
    text[s.len] = 0;
    *out = strtod_l(text, &end, plain);
    freelocale(plain);
    return *end == 0 && isfinite(*out);
}

static size_t skip_digits(struct weir_slice s, size_t i)
{
    while (i < s.len && is_digit(s.ptr[i])) i++;
    return i;
}

static size_t skip_sign(struct weir_slice s, size_t i)
{
    return i < s.len && (s.ptr[i] == '-' || s.ptr[i] == '+') ? i + 1 : i;
}

/* Whether s is [+-] digits [. digits] [e [+-] digits], with at least one digit. */
static bool is_decimal(struct weir_slice s)
{
    size_t from = skip_sign(s, 0);
    size_t i = skip_digits(s, from);
    size_t n = i - from;
    if (i < s.len && s.ptr[i] == '.') {
        from = i + 1;
        i = skip_digits(s, from);
        n += i - from;
    }
    if (n == 0 || i == s.len) return n > 0;
    if (s.ptr[i] != 'e' && s.ptr[i] != 'E') return false;
    i = skip_sign(s, i + 1);
    return i < s.len && skip_digits(s, i) == s.len;
}

bool cell_decimal(struct weir_slice s, double *out)
{
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                    1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if (s.len >= NUMBER_BYTES || !is_decimal(s)) return false;
    uint64_t digits = 0;
    size_t n_digits = 0;
    size_t n_fraction = 0;
    bool is_fraction = false;
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] == 'e' || s.ptr[i] == 'E') return read_slowly(s, out);
        if (s.ptr[i] == '.') is_fraction = true;
        if (!is_digit(s.ptr[i])) continue;
        digits = n_digits <= EXACT_DIGITS ? digits * 10 + (uint64_t)(s.ptr[i] - '0') : digits;
        if (digits > 0) n_digits++;
        if (is_fraction) n_fraction++;
    }
    if (n_digits > EXACT_DIGITS || n_fraction > EXACT_POWER) return read_slowly(s, out);
    /* Both are exact, so that the one division rounds as it should. */
    double value = (double)digits / powers[n_fraction];
    *out = s.ptr[0] == '-' ? -value : value;
    return true;
}

/* Whether the digits stand in groups of three: "6,904", "1,234,567", but not "0,125". */
static bool is_grouped(struct weir_slice s, char mark)
{
    size_t from = skip_sign(s, 0);
    size_t i = skip_digits(s, from);
    size_t first = i - from;
    if (first == 0 || first > 3 || (first == 1 && s.ptr[from] == '0')) return false;
    size_t n_groups = 0;
    for (; i < s.len && s.ptr[i] == mark; n_groups++) {
        size_t end = skip_digits(s, i + 1);
        if (end - i != 4) return false;
        i = end;
    }
    return n_groups > 0 && (i == s.len || s.ptr[i] == '.' || s.ptr[i] == ',');
}

static size_t count(struct weir_slice s, char c)
{
    size_t n = 0;
    for (size_t i = 0; i < s.len; i++) n += s.ptr[i] == c;
    return n;
}

static bool is_number_like(struct weir_slice s)
{
    if (!s.ptr || s.len == 0 || s.len >= NUMBER_BYTES) return false;
    for (size_t i = 0; i < s.len; i++)
        if (!is_digit(s.ptr[i]) && !strchr("+-.,", s.ptr[i])) return false;
    return true;
}

/* Of a number with one kind of mark alone: several group, and one does when three digits follow. */
static enum number_style style_of_mark(struct weir_slice s, char mark, size_t n)
{
    enum number_style as_decimal = mark == ',' ? NUMBERS_COMMA : NUMBERS_POINT;
    enum number_style as_group = mark == ',' ? NUMBERS_POINT : NUMBERS_COMMA;
    if (n > 1) return as_group;
    return is_grouped(s, mark) ? NUMBERS_UNKNOWN : as_decimal;
}

enum number_style cell_style_of(struct weir_slice text)
{
    struct weir_slice s = cell_trim(text);
    if (!is_number_like(s)) return NUMBERS_UNKNOWN;
    size_t n_commas = count(s, ',');
    size_t n_points = count(s, '.');
    if (n_commas == 0 && n_points == 0) return NUMBERS_UNKNOWN;
    if (n_commas == 0) return style_of_mark(s, '.', n_points);
    if (n_points == 0) return style_of_mark(s, ',', n_commas);
    return memrchr(s.ptr, ',', s.len) > memrchr(s.ptr, '.', s.len) ? NUMBERS_COMMA : NUMBERS_POINT;
}

/* The bytes of a blank or apostrophe, which group in French and Swiss tables; 0: it is none. */
static size_t group_mark(struct weir_slice s)
{
    static const char *const marks[] = {" ", "'", "\u00a0", "\u202f", "\u2009", "\u2019"};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        size_t len = strlen(marks[i]);
        if (s.len >= len && memcmp(s.ptr, marks[i], len) == 0) return len;
    }
    return 0;
}

/* The same where it does group: between digits, of which three follow. */
static size_t group_mark_at(struct weir_slice s, size_t i)
{
    size_t len = i > 0 && is_digit(s.ptr[i - 1]) ? group_mark(slice_from(s, i)) : 0;
    return len > 0 && skip_digits(s, i + len) == i + len + 3 ? len : 0;
}

/* Marks that only group are left out; the decimal mark becomes a point. */
static bool normalise(struct weir_slice s, enum number_style style, char out[NUMBER_BYTES],
                      size_t *len)
{
    enum number_style own = cell_style_of(s);
    if (own != NUMBERS_UNKNOWN) style = own;
    bool is_comma = style == NUMBERS_COMMA;
    char decimal = is_comma ? ',' : '.';
    char group = is_comma ? '.' : ',';
    if (memchr(s.ptr, group, s.len) && !is_grouped(s, group)) return false;
    *len = 0;
    for (size_t i = 0, mark; i<s.len; i += mark> 0 ? mark : 1) {
        char c = s.ptr[i];
        mark = group_mark_at(s, i);
        if (c == group || mark > 0) continue;
        out[(*len)++] = c == decimal ? '.' : c;
    }
    return true;
}

bool cell_number(struct weir_slice text, enum number_style style, double *out)
{
    char plain[NUMBER_BYTES];
    size_t len;
    struct weir_slice s = cell_trim(text);
    if (s.len > 0 && s.ptr[s.len - 1] == '%') s = cell_trim(slice_of(s.ptr, s.len - 1));
    if (s.len == 0 || s.len >= sizeof plain) return false;
    if (cell_decimal(s, out) && style != NUMBERS_COMMA) return true;
    return normalise(s, style, plain, &len) && cell_decimal(slice_of(plain, len), out);
}

/* ---- durations ---- */

/* "1:02:03.5": two or three parts of digits; the last may have a fraction. */
static bool read_parts(struct weir_slice s, double parts[3], size_t *n)
{
    *n = 0;
    while (*n < 3) {
        const char *colon = memchr(s.ptr, ':', s.len);
        struct weir_slice part = slice_of(s.ptr, colon ? (size_t)(colon - s.ptr) : s.len);
        if (part.len == 0 || !is_digit(part.ptr[0])) return false;
        if (!cell_number(part, NUMBERS_COMMA, &parts[*n])) return false;
        if (colon && skip_digits(part, 0) < part.len) return false;
        (*n)++;
        if (!colon) return *n >= 2;
        s = slice_from(s, part.len + 1);
    }
    return false;
}

static bool read_colons(struct weir_slice s, bool is_short, double *minutes)
{
    double parts[3];
    size_t n;
    if (!read_parts(s, parts, &n) || parts[1] >= 60 || (n == 3 && parts[2] >= 60)) return false;
    if (n == 3) *minutes = parts[0] * 60 + parts[1] + parts[2] / 60;
    else *minutes = is_short ? parts[0] + parts[1] / 60 : parts[0] * 60 + parts[1];
    return true;
}

/* Minutes of "h", "hrs", "min", "s", …; 0 when it is no unit of time. */
static double unit_minutes(struct weir_slice s)
{
    double minutes;
    char name[16];
    if (s.len == 0 || s.len >= sizeof name) return 0;
    memcpy(name, s.ptr, s.len);
    name[s.len] = 0;
    return unit_convert(name, "min", 1, &minutes) ? minutes : 0;
}

static size_t skip_blanks(struct weir_slice s, size_t i)
{
    while (i < s.len && (is_blank(s.ptr[i]) || s.ptr[i] == ',')) i++;
    return i;
}

/* A number and its unit, from *at; false when it is anything else. */
static bool take_part(struct weir_slice s, size_t *at, double *minutes)
{
    double value;
    size_t i = skip_digits(s, *at);
    if (i < s.len && s.ptr[i] == '.') i = skip_digits(s, i + 1);
    if (!cell_decimal(slice_of(s.ptr + *at, i - *at), &value)) return false;
    size_t from = skip_blanks(s, i);
    for (i = from; i < s.len && (s.ptr[i] | 32) >= 'a' && (s.ptr[i] | 32) <= 'z';) i++;
    *minutes = value * unit_minutes(slice_of(s.ptr + from, i - from));
    if (unit_minutes(slice_of(s.ptr + from, i - from)) == 0) return false;
    if (i < s.len && s.ptr[i] == '.') i++;
    *at = skip_blanks(s, i);
    return true;
}

/* "7h 32m", "1 h 5 min", "45 min", "PT7H32M10S": numbers, each with its unit. */
static bool read_units(struct weir_slice s, double *minutes)
{
    size_t at = s.len > 2 && strncasecmp(s.ptr, "pt", 2) == 0 ? 2 : 0;
    double part;
    *minutes = 0;
    if (at == s.len) return false;
    while (at < s.len) {
        if (!take_part(s, &at, &part)) return false;
        *minutes += part;
    }
    return true;
}

bool cell_duration(struct weir_slice text, bool is_short, double *minutes)
{
    struct weir_slice s = cell_trim(text);
    if (s.len == 0 || s.len >= NUMBER_BYTES) return false;
    if (memchr(s.ptr, ':', s.len)) return read_colons(s, is_short, minutes);
    return read_units(s, minutes);
}
