/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes to words. First the bytes are made plain (lower case, typographic quotes and dashes as
 * ASCII, pictures as blanks, what is no letter of ours kept as it is), then they are cut. Any bytes
 * are allowed.
 */
#include "ask/words.h"

#include <math.h>

#include "base/slice.h"

enum {
    CENTURY_FROM = 1900,
    MONTHS = 12,
    NOON = 720,
    MAX_DIGITS = 15, /* of a number: more are no quantity of anybody's health */
};

struct cutter {
    struct words *words;
    const char *at, *end;
    bool is_full;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (unsigned char)c >= 0x80;
}

/* ---- plain text ---- */

struct plain_row {
    const char *from, *to;
};

/* Longest first where one begins another. */
static const struct plain_row plain_rows[] = {
    {"\xE2\x80\x98", "'"},   {"\xE2\x80\x99", "'"},    {"\xE2\x80\x9C", " "}, {"\xE2\x80\x9D", " "},
    {"\xE2\x80\x93", " - "}, {"\xE2\x80\x94", " , "},  {"\xE2\x80\xA6", " "}, {"\xE2\x82\x82", "2"},
    {"\xE2\x89\xA5", ">="},  {"\xE2\x89\xA4", "<="},   {"\xE2\x88\x92", "-"}, {"\xC2\xA0", " "},
    {"\xC2\xBD", ".5"},      {"\xC2\xBC", ".25"},      {"\xC2\xBE", ".75"},   {"\xC2\xB2", "2"},
    {"\xC2\xB0", " "},       {"\xCE\x94", "change "},  {"\xE2\x80\xAF", " "}, {"\xC3\x97", " x "},
    {"\xCF\x83", " sd "},    {"\xE2\x86\x92", " to "},
};

static const struct plain_row *plain_row_at(const char *at, size_t left)
{
    for (size_t i = 0; i < sizeof plain_rows / sizeof *plain_rows; i++) {
        size_t len = strlen(plain_rows[i].from);
        if (left >= len && memcmp(at, plain_rows[i].from, len) == 0) return &plain_rows[i];
    }
    return NULL;
}

/*
 * Pictures, and marks that are not seen: the direction of writing, joiners, variants of pictures.
 * They say nothing that a question could be about. First and last of three or four bytes.
 */
struct unsaid_row {
    const char *first, *last;
};

static const struct unsaid_row unsaid_rows[] = {
    {"\xE2\x80\x8B", "\xE2\x80\x8F"},         {"\xE2\x80\xAA", "\xE2\x80\xAE"},
    {"\xE2\x81\xA0", "\xE2\x81\xAF"},         {"\xE2\x83\xA0", "\xE2\x83\xBF"},
    {"\xE2\x98\x80", "\xE2\x9E\xBF"},         {"\xE2\xAC\x80", "\xE2\xAF\xBF"},
    {"\xEF\xB8\x80", "\xEF\xB8\x8F"},         {"\xEF\xBB\xBF", "\xEF\xBB\xBF"},
    {"\xF0\x9F\x80\x80", "\xF0\x9F\xBF\xBF"}, {"\xF3\xA0\x80\x80", "\xF3\xA0\x81\xBF"},
};

/* The bytes of what is not said at this place; 0 when there is nothing of the kind. */
static size_t count_unsaid(const char *at, size_t left)
{
    for (size_t i = 0; i < sizeof unsaid_rows / sizeof *unsaid_rows; i++) {
        size_t len = strlen(unsaid_rows[i].first);
        if (left >= len && memcmp(at, unsaid_rows[i].first, len) >= 0 &&
            memcmp(at, unsaid_rows[i].last, len) <= 0)
            return len;
    }
    return 0;
}

/* No replacement is longer than twice what it replaces, plus three for "change ". */
static char *make_plain(struct weir_slice question, struct arena *arena, size_t *len)
{
    char *out = arena_alloc(arena, question.len * 4 + 1);
    size_t n = 0;
    if (!out) return NULL;
    for (size_t i = 0; i < question.len;) {
        const struct plain_row *row = plain_row_at(question.ptr + i, question.len - i);
        if (row) {
            memcpy(out + n, row->to, strlen(row->to));
            n += strlen(row->to);
            i += strlen(row->from);
            continue;
        }
        size_t n_unsaid = count_unsaid(question.ptr + i, question.len - i);
        if (n_unsaid > 0) {
            out[n++] = ' ';
            i += n_unsaid;
            continue;
        }
        char c = question.ptr[i++];
        out[n++] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
    }
    *len = n;
    return out;
}

/* ---- cutting ---- */

static struct word *add(struct cutter *c, enum word_kind kind, const char *from, size_t len)
{
    if (c->words->n == ASK_WORDS) {
        c->is_full = true;
        return NULL;
    }
    struct word *w = &c->words->list[c->words->n++];
    *w = (struct word){.kind = kind, .text = {from, len}, .day = DAY_NONE};
    return w;
}

static void add_text(struct cutter *c, const char *literal)
{
    add(c, WORD_TEXT, literal, strlen(literal));
}

static size_t count_digits(const char *at, const char *end)
{
    size_t n = 0;
    while (at + n < end && is_digit(at[n])) n++;
    return n;
}

static int digits_value(const char *at, size_t n)
{
    int value = 0;
    for (size_t i = 0; i < n && i < 8; i++) value = value * 10 + (at[i] - '0');
    return value;
}

/* Two digits, or one; of a date. */
static bool take_part(const char **at, const char *end, size_t most, int *value)
{
    size_t n = count_digits(*at, end);
    if (n == 0 || n > most) return false;
    *value = digits_value(*at, n);
    *at += n;
    return true;
}

/* 03/04/2025: whoever has a day above 12 is understood; 5.4.2025 has the day first. */
static void settle_order(struct word *w, char separator, int a, int b, int year)
{
    bool is_us = separator == '/' && b > MONTHS;
    w->day = is_us ? day_from_civil(year, a, b) : day_from_civil(year, b, a);
    w->is_ambiguous = separator != '.' && a <= MONTHS && b <= MONTHS && a != b;
}

/* Three numbers with the same mark between them: its parts, and where it ends; NULL. */
static const char *date_parts(const char *at, const char *end, int parts[3], char *separator)
{
    for (size_t k = 0; k < 3; k++) {
        if (k > 0) {
            if (at == end || !strchr("-/.", *at) || (k == 2 && *at != *separator)) return NULL;
            *separator = *at++;
        }
        if (!take_part(&at, end, k == 1 ? 2 : 4, &parts[k])) return NULL;
    }
    return at;
}

static bool cut_date(struct cutter *c)
{
    int part[3];
    char separator = 0;
    const char *end = date_parts(c->at, c->end, part, &separator);
    if (!end) return false;
    bool has_year_first = part[0] >= CENTURY_FROM;
    bool is_short = !has_year_first && part[2] < CENTURY_FROM;
    if (is_short && (part[2] > 99 || separator == '-')) return false;
    if (is_short) part[2] += 2000;
    if (has_year_first && part[2] > 31) return false;
    struct word *w = add(c, WORD_DATE, c->at, (size_t)(end - c->at));
    if (w && has_year_first) w->day = day_from_civil(part[0], part[1], part[2]);
    else if (w) settle_order(w, separator, part[0], part[1], part[2]);
    c->at = end;
    return true;
}

/* "am", "a.m.", "p.m.", "pm" at this place, blanks before it allowed: 'a', 'p' or 0. */
static char half_of_day(const char **at, const char *end)
{
    static const char *const forms[] = {"a.m.", "p.m.", "a.m", "p.m", "am", "pm"};
    const char *p = *at;
    while (p < end && *p == ' ') p++;
    for (size_t k = 0; k < sizeof forms / sizeof *forms; k++) {
        size_t len = strlen(forms[k]);
        if ((size_t)(end - p) < len || memcmp(p, forms[k], len) != 0) continue;
        if (p + len < end && is_letter(p[len])) continue;
        *at = p + len;
        return forms[k][0];
    }
    return 0;
}

/* ":30", or ".30" before "pm": the minutes; -1 when there are none. */
static int take_clock_minutes(const char **at, const char *end)
{
    if (end - *at < 3 || (**at != ':' && **at != '.') || count_digits(*at + 1, end) != 2) return -1;
    int minutes = digits_value(*at + 1, 2);
    const char *after = *at + 3;
    if (minutes > 59 || (**at == '.' && !half_of_day(&after, end))) return -1;
    *at += 3;
    return minutes;
}

/* 23:30, 7:05am, 11pm, 11.30 pm. "7:30" may be a length, too: what follows tells. */
static bool cut_clock(struct cutter *c)
{
    const char *at = c->at;
    int hour;
    if (!take_part(&at, c->end, 2, &hour) || hour > 24) return false;
    int minutes = take_clock_minutes(&at, c->end);
    char half = half_of_day(&at, c->end);
    if (minutes < 0 && !half) return false;
    if (half && (hour == 0 || hour > 12)) return false;
    if (half) hour = hour % 12 + (half == 'p' ? 12 : 0);
    struct word *w = add(c, WORD_CLOCK, c->at, (size_t)(at - c->at));
    if (w) w->number = hour * 60 + (minutes > 0 ? minutes : 0);
    c->at = at;
    return true;
}

/* Digits from here on, at most 15 of them in all; commas between thousands are skipped. */
static double take_digits(const char **at, const char *end, double value, size_t *n)
{
    bool has_commas = *n == 0;
    const char *p = *at;
    for (; p < end; p++) {
        if (has_commas && *p == ',' && *n > 0 && count_digits(p + 1, end) == 3) continue;
        if (!is_digit(*p)) break;
        if (*n < MAX_DIGITS) value = value * 10 + (*p - '0');
        ++*n;
    }
    *at = p;
    return value;
}

/* A whole number divided once by a power of ten is the nearest double to what was written. */
static double take_decimal(const char **at, const char *end)
{
    size_t n = 0;
    double value = take_digits(at, end, 0, &n), scale = 1;
    if (*at + 1 >= end || **at != '.' || !is_digit((*at)[1])) return value;
    size_t n_whole = n;
    ++*at;
    if (n == 0) n_whole = n = 1; /* ".5" */
    value = take_digits(at, end, value, &n);
    for (size_t k = n_whole; k < n && k < MAX_DIGITS; k++) scale *= 10;
    return value / scale;
}

static bool has_suffix(const char *at, const char *end, const char *suffix)
{
    size_t len = strlen(suffix);
    if ((size_t)(end - at) < len || memcmp(at, suffix, len) != 0) return false;
    return at + len == end || (!is_letter(at[len]) && !is_digit(at[len]));
}

/* What may be glued to a number and changes it. */
static void take_number_suffix(struct word *w, const char **at, const char *end)
{
    static const char *const ordinals[] = {"st", "nd", "rd", "th"};
    if (has_suffix(*at, end, "k")) {
        w->number *= 1000;
        *at += 1;
        return;
    }
    for (size_t i = 0; i < 4; i++) {
        if (!has_suffix(*at, end, ordinals[i])) continue;
        w->is_ordinal = true;
        *at += 2;
        return;
    }
}

static void cut_number(struct cutter *c)
{
    if (cut_date(c) || cut_clock(c)) return;
    const char *from = c->at;
    double value = take_decimal(&c->at, c->end);
    struct word *w = add(c, WORD_NUMBER, from, (size_t)(c->at - from));
    if (!w) return;
    w->number = value;
    take_number_suffix(w, &c->at, c->end);
    w->text.len = (size_t)(c->at - from);
    /* "6h30" */
    bool is_hours = c->end - c->at >= 2 && *c->at == 'h' && is_digit(c->at[1]);
    if (is_hours) add(c, WORD_TEXT, c->at++, 1);
}

/* ---- contractions ---- */

static const struct plain_row whole_rows[] = {
    {"can't", "can not"},
    {"won't", "will not"},
    {"shan't", "shall not"},
    {"let's", "let us"},
    {"cannot", "can not"},
    {"whats", "what is"},
    {"hows", "how is"},
    {"whens", "when is"},
    {"dont", "do not"},
    {"didnt", "did not"},
    {"doesnt", "does not"},
    {"wasnt", "was not"},
    {"havent", "have not"},
    {"hasnt", "has not"},
    {"isnt", "is not"},
    {"ive", "i have"},
    {"im", "i am"},
    {"wheres", "where is"},
    {"werent", "were not"},
    {"arent", "are not"},
    {"thats", "that is"},
    {"wats", "what is"},
    {"wat", "what"},
    {"gimme", "give me"},
    {"lemme", "let me"},
    {"hadnt", "had not"},
    {"ytd", "year to date"},
    {"mtd", "month to date"},
    {"gonna", "going to"},
    {"ain't", "is not"},
    {"cant", "can not"},
    {"wont", "will not"},
    {"couldnt", "could not"},
    {"wouldnt", "would not"},
    {"shouldnt", "should not"},
};
static const struct plain_row end_rows[] = {
    {"n't", "not"}, {"'ve", "have"}, {"'re", "are"}, {"'ll", "will"}, {"'d", "did"}, {"'m", "am"},
};
static const char *const is_words[] = {"what", "that", "it",    "how",   "when", "where",
                                       "who",  "here", "there", "which", "she",  "he"};

static void add_words(struct cutter *c, const char *text)
{
    for (;;) {
        size_t len = strcspn(text, " ");
        add(c, WORD_TEXT, text, len);
        if (text[len] == '\0') return;
        text += len + 1;
    }
}

static bool ends_in(struct weir_slice s, const char *end)
{
    size_t len = strlen(end);
    return s.len > len && memcmp(s.ptr + s.len - len, end, len) == 0;
}

static void add_owner(struct cutter *c, struct weir_slice head)
{
    for (size_t i = 0; i < sizeof is_words / sizeof *is_words; i++) {
        if (!weir_slice_is(head, is_words[i])) continue;
        add(c, WORD_TEXT, head.ptr, head.len);
        add_text(c, "is");
        return;
    }
    struct word *w = add(c, WORD_TEXT, head.ptr, head.len);
    if (w) w->is_owner = true;
}

static void add_word(struct cutter *c, struct weir_slice s)
{
    while (s.len > 0 && s.ptr[s.len - 1] == '\'') s.len--;
    while (s.len > 0 && s.ptr[0] == '\'') s = slice_from(s, 1);
    if (s.len == 0) return;
    for (size_t i = 0; i < sizeof whole_rows / sizeof *whole_rows; i++) {
        if (!weir_slice_is(s, whole_rows[i].from)) continue;
        add_words(c, whole_rows[i].to);
        return;
    }
    for (size_t i = 0; i < sizeof end_rows / sizeof *end_rows; i++) {
        if (!ends_in(s, end_rows[i].from)) continue;
        add(c, WORD_TEXT, s.ptr, s.len - strlen(end_rows[i].from));
        add_text(c, end_rows[i].to);
        return;
    }
    if (ends_in(s, "'s")) add_owner(c, (struct weir_slice){s.ptr, s.len - 2});
    else add(c, WORD_TEXT, s.ptr, s.len);
}

static void cut_text(struct cutter *c)
{
    const char *from = c->at;
    while (c->at < c->end && (is_letter(*c->at) || is_digit(*c->at) || *c->at == '\'')) c->at++;
    add_word(c, (struct weir_slice){from, (size_t)(c->at - from)});
}

/* A full stop inside a number is gone by now; what is left ends a sentence or an abbreviation. */
static void cut_mark(struct cutter *c)
{
    static const char known[] = ",:;?!.()-/<>=+%&";
    if (*c->at != '\0' && strchr(known, *c->at)) {
        size_t len = c->end - c->at >= 2 && c->at[1] == '=' && strchr("<>", *c->at) ? 2 : 1;
        add(c, WORD_MARK, c->at, len);
        c->at += len;
        return;
    }
    c->at++;
}

enum weir_status words_read(struct words *out, struct weir_slice question, struct arena *arena)
{
    size_t len = 0;
    out->n = 0;
    if (question.len > ASK_BYTES) return WEIR_TOO_LARGE;
    char *text = make_plain(question, arena, &len);
    if (!text) return arena->status;
    struct cutter c = {.words = out, .at = text, .end = text + len};
    while (c.at < c.end && !c.is_full) {
        if (is_digit(*c.at) || (*c.at == '.' && c.at + 1 < c.end && is_digit(c.at[1])))
            cut_number(&c);
        else if (is_letter(*c.at) || *c.at == '\'') cut_text(&c);
        else cut_mark(&c);
    }
    return c.is_full ? WEIR_TOO_LARGE : WEIR_OK;
}
