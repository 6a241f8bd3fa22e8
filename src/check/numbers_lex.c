/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tokens of a text in Markdown. Marks of emphasis, tags, addresses and targets of links are left
 * out; a word that has digits (B12, ds-001, COVID-19, VO2max, 25-OH) is one token and no number.
 * Digits of other scripts are digits, so that no number hides in them.
 */
#include <math.h>
#include <string.h>

#include "base/utf8.h"
#include "check/numbers_impl.h"
#include "data/catalogue.h"

enum {
    MINUS = 0x2212,
    EN_DASH = 0x2013,
    PLUS_MINUS = 0xB1,
    TAG_BYTES = 200, /* a tag of HTML is not longer */
    YEAR_DIGITS = 4,
    GROUP_DIGITS = 3,
    DIGITS_READ = 300, /* more than a double can tell apart, and no overflow of the counters */
};

struct lexer {
    struct weir_slice text;
    size_t at;
    struct token *t;
    size_t n, cap;
    struct arena *arena;
};

/* The character at i and its length; a byte that is no character counts as one. */
static uint32_t char_at(const struct lexer *x, size_t i, size_t *len)
{
    *len = 1;
    if (i >= x->text.len) {
        *len = 0;
        return 0;
    }
    const unsigned char *p = (const unsigned char *)x->text.ptr + i;
    if (p[0] < 0x80) return p[0];
    if (utf8_first((struct weir_slice){x->text.ptr + i, x->text.len - i}, len) != UTF8_WHOLE) {
        *len = 1;
        return 0xFFFD;
    }
    if (*len == 2) return (p[0] & 0x1Fu) << 6 | (p[1] & 0x3Fu);
    if (*len == 3) return (p[0] & 0xFu) << 12 | (p[1] & 0x3Fu) << 6 | (p[2] & 0x3Fu);
    return (p[0] & 7u) << 18 | (p[1] & 0x3Fu) << 12 | (p[2] & 0x3Fu) << 6 | (p[3] & 0x3Fu);
}

static char byte_at(const struct lexer *x, size_t i)
{
    return i < x->text.len ? x->text.ptr[i] : '\0';
}

/* The digit at i, or -1: of ours, full width, Arabic, Persian, Devanagari, mathematical. */
static int digit_at(const struct lexer *x, size_t i, size_t *len)
{
    static const uint32_t zeros[] = {'0', 0xFF10, 0x660, 0x6F0, 0x966};
    uint32_t c = char_at(x, i, len);
    for (size_t k = 0; k < sizeof zeros / sizeof *zeros; k++)
        if (c >= zeros[k] && c < zeros[k] + 10) return (int)(c - zeros[k]);
    if (c >= 0x1D7CE && c <= 0x1D7FF) return (int)((c - 0x1D7CE) % 10);
    return -1;
}

static bool is_digit(const struct lexer *x, size_t i)
{
    size_t len;
    return digit_at(x, i, &len) >= 0;
}

static bool is_symbol_range(uint32_t c)
{
    return (c >= 0x2000 && c <= 0x207F) || (c >= 0x20A0 && c <= 0x20FF) ||
           (c >= 0x2150 && c <= 0x215F) || (c >= 0x2190 && c <= 0x2BFF) ||
           (c >= 0x3000 && c <= 0x303F) || (c >= 0xFE00 && c <= 0xFE0F) || c == 0xFEFF ||
           c == 0xFFFD || c >= 0x1F000;
}

static bool is_letter(uint32_t c)
{
    if (c < 0x80) return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (c <= 0xBF) return c == 0xAA || c == 0xB5 || c == 0xBA;
    return c != 0xD7 && c != 0xF7 && !is_symbol_range(c);
}

static bool is_letter_at(const struct lexer *x, size_t i)
{
    size_t len;
    return !is_digit(x, i) && is_letter(char_at(x, i, &len));
}

/* Spaces that stand inside numbers: no-break, figure, thin, narrow. */
static bool is_thin_space(uint32_t c)
{
    return c == 0xA0 || c == 0x2007 || c == 0x2008 || c == 0x2009 || c == 0x200A || c == 0x202F;
}

static struct token *push(struct lexer *x, enum token_kind kind, size_t end)
{
    struct token *t = &x->t[x->n];
    *t = (struct token){.kind = kind, .start = (uint32_t)x->at, .end = (uint32_t)end};
    t->is_glued = x->n > 0 && t[-1].end == t->start && t[-1].kind != TOKEN_LINE;
    x->n++;
    x->at = end;
    return t;
}

/* ---- digits ---- */

/* Reads up to `max` digits; how many there were. */
static size_t take_digits(const struct lexer *x, size_t *i, size_t max, double *value)
{
    size_t n = 0, len;
    for (int d; n < max && (d = digit_at(x, *i, &len)) >= 0; n++) {
        if (n < DIGITS_READ) *value = *value * 10 + d;
        *i += len;
    }
    return n;
}

/* "1.204.300": points are separators where there are two of them, three digits behind each. */
static bool is_point_group(const struct lexer *x, size_t i)
{
    double ignored = 0;
    size_t ends[2] = {i, i};
    for (size_t way = 0; way < 2; way++) {
        if (way == 1 && byte_at(x, ends[0]) != '.') break;
        size_t at = way == 0 ? i + 1 : ends[0] + 1;
        if (take_digits(x, &at, GROUP_DIGITS + 1, &ignored) != GROUP_DIGITS) return false;
        ends[way] = at;
    }
    /* The second one is found behind it, or it stands behind the first. */
    bool is_second = i >= GROUP_DIGITS + 1 && byte_at(x, i - GROUP_DIGITS - 1) == '.' &&
                     i - x->at > GROUP_DIGITS;
    return ends[1] > ends[0] || is_second;
}

/* A separator of thousands at i, and three digits and no more behind it; its length. */
static size_t group_at(const struct lexer *x, size_t i)
{
    size_t len, n_digits = 0;
    uint32_t c = char_at(x, i, &len);
    if (c == '.') return is_point_group(x, i) ? len : 0;
    if (c != ',' && c != '\'' && c != 0x2019 && !is_thin_space(c)) return 0;
    double ignored = 0;
    size_t end = i + len;
    n_digits = take_digits(x, &end, GROUP_DIGITS + 1, &ignored);
    if (n_digits == GROUP_DIGITS) return len;
    /* 1,00,000 */
    return c == ',' && n_digits == 2 && byte_at(x, end) == ',' && is_digit(x, end + 1) ? len : 0;
}

static int read_fixed(const struct lexer *x, size_t *i, size_t min, size_t max)
{
    int value = 0;
    size_t n = 0;
    for (; n < max && byte_at(x, *i) >= '0' && byte_at(x, *i) <= '9'; n++)
        value = value * 10 + (x->text.ptr[(*i)++] - '0');
    return n >= min && !is_digit(x, *i) ? value : -1;
}

static bool is_month_day(int month, int day)
{
    return month >= 1 && month <= 12 && day >= 1 && day <= 31;
}

static bool push_date(struct lexer *x, size_t end, int year, int month, int day)
{
    struct token *t = push(x, TOKEN_DATE, end);
    t->year = year;
    t->month = month;
    t->day = day;
    return true;
}

static bool is_date_mark(char c)
{
    return c == '-' || c == '/' || c == '.';
}

static bool is_year(int year)
{
    return year >= 1900 && year <= 2199;
}

/* "T23:16:05.000+01:00" behind a date. */
static size_t skip_time(const struct lexer *x, size_t i)
{
    if (byte_at(x, i) != 'T' || !is_digit(x, i + 1)) return i;
    while (i < x->text.len && x->text.ptr[i] && strchr("T:.+-Z0123456789", x->text.ptr[i])) i++;
    return i;
}

/* 2025-03-14, 2025/3/14, 2025-03; a time behind it belongs to it. */
static bool lex_year_first(struct lexer *x)
{
    size_t i = x->at;
    int year = read_fixed(x, &i, YEAR_DIGITS, YEAR_DIGITS);
    char mark = byte_at(x, i++);
    if (!is_year(year) || !is_date_mark(mark)) return false;
    size_t month_at = i;
    int month = read_fixed(x, &i, 1, 2);
    bool has_zero = i - month_at == 2; /* 2025-3 may be a range */
    if (month < 1 || month > 12) return false;
    if (byte_at(x, i) != mark) return mark == '-' && has_zero && push_date(x, i, year, month, 0);
    i++;
    int day = read_fixed(x, &i, 1, 2);
    return is_month_day(month, day) && push_date(x, skip_time(x, i), year, month, day);
}

/* 14.3.2025, 3/14/25, 14-03-2025: the day is the first, unless it cannot be or is behind a "/". */
static bool lex_year_last(struct lexer *x)
{
    size_t i = x->at;
    int a = read_fixed(x, &i, 1, 2);
    char mark = byte_at(x, i++);
    if (a < 1 || !is_date_mark(mark)) return false;
    int b = read_fixed(x, &i, 1, 2);
    if (b < 1 || byte_at(x, i++) != mark) return false;
    size_t year_at = i;
    int year = read_fixed(x, &i, 2, YEAR_DIGITS);
    if (i - year_at == 2 && year >= 0) year += 2000;
    bool is_month_first = mark == '/' ? is_month_day(a, b) : !is_month_day(b, a);
    int month = is_month_first ? a : b, day = is_month_first ? b : a;
    if (!is_year(year) || !is_month_day(month, day)) return false;
    push_date(x, i, year, month, day);
    x->t[x->n - 1].is_either_way = mark == '/' && day <= 12;
    return true;
}

/* 23:16 and 1:05:30. */
static bool lex_clock(struct lexer *x)
{
    size_t i = x->at, second_at;
    int hours = read_fixed(x, &i, 1, 2), seconds = 0;
    if (hours < 0 || byte_at(x, i++) != ':') return false;
    int minutes = read_fixed(x, &i, 2, 2);
    if (minutes < 0 || minutes > 59) return false;
    second_at = i + 1;
    if (byte_at(x, i) == ':' && (seconds = read_fixed(x, &second_at, 2, 2)) >= 0) i = second_at;
    struct token *t = push(x, TOKEN_CLOCK, i);
    t->value = hours * 60 + minutes;
    t->fraction = seconds > 0 ? seconds / 60.0 : 0;
    return true;
}

/* "e3", "E-4" behind a number. */
static void take_exponent(const struct lexer *x, size_t *i, double *value)
{
    size_t at = *i + 1;
    bool is_negative = byte_at(x, at) == '-';
    if ((byte_at(x, *i) | 0x20) != 'e') return;
    if (is_negative || byte_at(x, at) == '+') at++;
    int power = read_fixed(x, &at, 1, 3);
    if (power < 0 || is_letter_at(x, at)) return;
    *value *= pow(10, is_negative ? -power : power);
    *i = at;
}

static void take_decimals(const struct lexer *x, size_t *i, bool has_groups, struct token *t)
{
    char c = byte_at(x, *i);
    size_t at = *i + 1;
    if (c != '.' && !(c == ',' && !has_groups)) return;
    double behind = 0;
    size_t n = take_digits(x, &at, DIGITS_READ, &behind);
    if (n == 0) return;
    t->value += behind / pow(10, (double)n);
    t->decimals = (uint8_t)(n > 200 ? 200 : n);
    t->is_bare = false;
    *i = at;
}

static struct token *lex_digits(struct lexer *x)
{
    struct token t = {.is_bare = true};
    size_t i = x->at, n_first = take_digits(x, &i, SIZE_MAX, &t.value), len;
    bool has_groups = false;
    while (n_first >= 1 && n_first <= GROUP_DIGITS && (len = group_at(x, i)) > 0) {
        i += len;
        take_digits(x, &i, GROUP_DIGITS, &t.value);
        has_groups = true;
        t.is_bare = false;
    }
    take_decimals(x, &i, has_groups, &t);
    size_t before = i;
    take_exponent(x, &i, &t.value);
    struct token *out = push(x, TOKEN_NUMBER, i);
    out->value = t.value;
    out->decimals = before == i ? t.decimals : 0;
    out->is_bare = t.is_bare && before == i;
    return out;
}

/* ---- letters behind digits ---- */

static struct weir_slice letters_at(const struct lexer *x, size_t i)
{
    size_t start = i, len;
    while (is_letter_at(x, i)) {
        char_at(x, i, &len);
        i += len;
    }
    return (struct weir_slice){x->text.ptr + start, i - start};
}

static bool is_unit_word(struct weir_slice w)
{
    double days;
    return word_unit(w, &days) != UNIT_NONE || unit_find(w) ||
           word_in(w, "am|pm|a|p|pp|bn|year|old|point|points|degree|degrees|something|plus|ish|yo");
}

/* From the number's begin to the end of all that hangs on it. */
static void make_identifier(struct lexer *x, struct token *t, size_t end)
{
    size_t len;
    while (is_letter_at(x, end) || is_digit(x, end) ||
           (byte_at(x, end) == '.' && is_digit(x, end + 1)) ||
           (byte_at(x, end) == '-' && (is_letter_at(x, end + 1) || is_digit(x, end + 1)))) {
        char_at(x, end, &len);
        end += len;
    }
    t->kind = TOKEN_WORD;
    t->is_identifier = true;
    t->end = (uint32_t)end;
    x->at = end;
}

static void lex_suffix(struct lexer *x, struct token *t)
{
    struct weir_slice w = letters_at(x, x->at);
    size_t end = x->at + w.len;
    if (word_in(w, "st|nd|rd|th") && t->is_bare && !is_digit(x, end)) {
        t->kind = TOKEN_ORDINAL;
        t->end = (uint32_t)end;
        x->at = end;
    } else if ((word_is(w, "k") || weir_slice_is(w, "M")) && !is_digit(x, end)) {
        t->value *= word_is(w, "k") ? 1e3 : 1e6;
        t->is_bare = false;
        t->end = (uint32_t)end;
        x->at = end;
    } else if (is_digit(x, end) ? word_in(w, "d|h|hr|hrs|m|min") : is_unit_word(w)) {
        push(x, TOKEN_WORD, end);
    } else {
        make_identifier(x, t, end);
    }
}

/* "25-OH" and "25-hydroxyvitamin" are names; "7-day" and "7-Day" are not. */
static bool is_name_tail(const struct lexer *x, size_t i)
{
    struct weir_slice w = letters_at(x, i);
    if (w.len == 0 || is_unit_word(w)) return false;
    bool is_upper = w.ptr[0] >= 'A' && w.ptr[0] <= 'Z';
    return is_upper || (w.len >= 7 && word_in((struct weir_slice){w.ptr, 7}, "hydroxy"));
}

/* "4-7-8 breathing", "the 5-4-3-2-1 method": names, by what stands behind them. */
static bool lex_count(struct lexer *x)
{
    size_t i = x->at, n_parts = 0;
    while (read_fixed(x, &i, 1, 2) >= 0 && byte_at(x, i) == '-') i++, n_parts++;
    if (n_parts < 2 || byte_at(x, i) != ' ') return false;
    if (!word_in(letters_at(x, i + 1), "breathing|breath|breaths|method|technique|rule|exercise|"
                                       "exercises|grounding|protocol|pattern|routine"))
        return false;
    push(x, TOKEN_WORD, i)->is_identifier = true;
    return true;
}

static void lex_number(struct lexer *x)
{
    if (lex_year_first(x) || lex_year_last(x) || lex_clock(x) || lex_count(x)) return;
    struct token *t = lex_digits(x);
    bool is_release = t->decimals > 0 && byte_at(x, x->at) == '.' && is_digit(x, x->at + 1);
    if (is_release) make_identifier(x, t, x->at); /* 3.2.1 */
    else if (is_letter_at(x, x->at)) lex_suffix(x, t);
    else if (byte_at(x, x->at) == '-' && is_name_tail(x, x->at + 1))
        make_identifier(x, t, x->at + 1);
}

/* ---- words ---- */

/* A word goes on over a hyphen to digits: COVID-19, but not sub-60. */
static bool goes_on(const struct lexer *x, size_t start, size_t i, bool has_digits)
{
    char c = byte_at(x, i);
    if (c == '\'') return is_letter_at(x, i + 1);
    if (c == '_') return is_letter_at(x, i + 1) || is_digit(x, i + 1);
    if (c == '.') return has_digits && is_digit(x, i + 1);
    if (c != '-' || !(is_digit(x, i + 1) || (has_digits && is_letter_at(x, i + 1)))) return false;
    struct weir_slice w = {x->text.ptr + start, i - start};
    return !word_in(w, "sub|mid|low|high|upper|lower|pre|post|under|over|plus|minus|about|to|of|"
                       "by|is|was|were|near|averaged|averaging|at|roughly|around");
}

static void lex_word(struct lexer *x)
{
    size_t i = x->at, len;
    bool has_digits = false;
    for (;;) {
        uint32_t c = char_at(x, i, &len);
        bool is_number = is_digit(x, i);
        if (!is_number && !is_letter(c) && !goes_on(x, x->at, i, has_digits)) break;
        has_digits = has_digits || is_number;
        i += len;
    }
    push(x, TOKEN_WORD, i)->is_identifier = has_digits;
}

/* ---- what is left out ---- */

static bool starts(const struct lexer *x, const char *word)
{
    size_t len = strlen(word);
    return x->text.len - x->at >= len &&
           word_is((struct weir_slice){x->text.ptr + x->at, len}, word);
}

static bool skip_address(struct lexer *x)
{
    if (!starts(x, "http://") && !starts(x, "https://") && !starts(x, "www.") && !starts(x, "doi:"))
        return false;
    while (x->at < x->text.len && !strchr(" \t\r\n)>]|\"", x->text.ptr[x->at])) x->at++;
    return true;
}

/* The target of a link; a tag. */
static bool skip_markup(struct lexer *x)
{
    char end = '\0';
    size_t i = x->at + 1;
    if (byte_at(x, x->at) == '(' && x->at > 0 && x->text.ptr[x->at - 1] == ']') end = ')';
    else if (byte_at(x, x->at) == '<' && (is_letter_at(x, i) || byte_at(x, i) == '/')) end = '>';
    if (end == '\0') return false;
    while (i < x->text.len && i - x->at < TAG_BYTES && !strchr("\n )>", x->text.ptr[i])) i++;
    if (byte_at(x, i) != end) return false;
    x->at = i + 1;
    return true;
}

static bool lex_entity(struct lexer *x)
{
    static const struct {
        const char *name;
        uint32_t symbol;
    } entities[] = {
        {"&minus;", MINUS}, {"&ndash;", EN_DASH}, {"&plusmn;", PLUS_MINUS},
        {"&lt;", '<'},      {"&gt;", '>'},        {"&nbsp;", 0},
        {"&thinsp;", 0},    {"&amp;", '&'},       {"&frac12;", 0xBD},
    };
    for (size_t k = 0; k < sizeof entities / sizeof *entities; k++) {
        if (!starts(x, entities[k].name)) continue;
        size_t end = x->at + strlen(entities[k].name);
        if (entities[k].symbol) push(x, TOKEN_SIGN, end)->symbol = entities[k].symbol;
        x->at = end;
        return true;
    }
    size_t i = x->at + 2;
    if (byte_at(x, x->at + 1) != '#' || read_fixed(x, &i, 1, 6) < 0 || byte_at(x, i) != ';')
        return false;
    x->at = i + 1;
    return true;
}

static double fraction_of(uint32_t c)
{
    static const double eighths[] = {1.0 / 3, 2.0 / 3, 0.2,   0.4,   0.6,   0.8,
                                     1.0 / 6, 5.0 / 6, 0.125, 0.375, 0.625, 0.875};
    if (c >= 0xBC && c <= 0xBE) return (c - 0xBC + 1) * 0.25;
    if (c >= 0x2153 && c <= 0x215E) return eighths[c - 0x2153];
    if (c == 0x2151) return 1.0 / 9;
    return c == 0x2150 ? 1.0 / 7 : c == 0x2152 ? 0.1 : 0;
}

static void lex_sign(struct lexer *x)
{
    size_t len, i;
    uint32_t c = char_at(x, x->at, &len);
    if (c == '\n') {
        push(x, TOKEN_LINE, x->at + 1);
        return;
    }
    bool is_left_out = c <= ' ' || strchr("*`_~\\", (int)(c < 0x80 ? c : 'a')) ||
                       is_thin_space(c) || (c >= 0xFE00 && c <= 0xFE0F) || c == 0xFEFF ||
                       (c >= 0x200B && c <= 0x200F);
    if (is_left_out) {
        x->at += len;
        return;
    }
    i = x->at + 1;
    int rank = c == '#' ? read_fixed(x, &i, 1, 4) : -1;
    if (rank >= 0) {
        push(x, TOKEN_ORDINAL, i)->value = rank;
        return;
    }
    struct token *t = push(x, TOKEN_SIGN, x->at + len);
    t->symbol = c;
    t->fraction = fraction_of(c);
}

static void lex_one(struct lexer *x)
{
    size_t len;
    char c = byte_at(x, x->at);
    if (skip_address(x) || skip_markup(x) || (c == '&' && lex_entity(x))) return;
    const struct token *before = x->n > 0 && x->t[x->n - 1].end == x->at ? &x->t[x->n - 1] : NULL;
    bool is_point = c == '.' && is_digit(x, x->at + 1) &&
                    (!before || (before->kind == TOKEN_SIGN && before->symbol != '.'));
    if (is_point || is_digit(x, x->at)) lex_number(x);
    else if (is_letter(char_at(x, x->at, &len))) lex_word(x);
    else lex_sign(x);
}

enum weir_status tokens_cut(struct tokens *out, struct weir_slice text, struct arena *arena)
{
    if (text.len > VERIFY_TEXT_BYTES) return WEIR_LIMIT;
    /* Each step takes a byte at least and makes two tokens at most, of which each has a byte. */
    struct lexer x = {.text = text, .arena = arena, .cap = text.len + 1};
    x.t = arena_alloc(arena, x.cap * sizeof *x.t);
    if (!x.t) return arena->status;
    while (x.at < text.len) lex_one(&x);
    *out = (struct tokens){.text = text, .t = x.t, .n = x.n};
    return WEIR_OK;
}
