/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A text as whoever reads it would decode it, with the place that each byte comes from:
 *
 *   \u0040 \x40 \n \" \@      escapes of JSON, of programs, of Markdown
 *   \u{40} \U00000040 \100    of other languages
 *   %40 %u0040                of web addresses
 *   &#64; &#x40; &commat;     of HTML, the semicolon of a number may be missing
 *   full-width, circled, mathematical and other countries' digits and letters to ASCII
 *   characters that are not seen are left out
 *
 * One pass takes off one layer; the caller comes again while there is another.
 */
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/slice.h"
#include "base/utf8.h"
#include "shield/guard_impl.h"
#include "shield/scan_impl.h"

enum { DROPPED = 0x110000, ENTITY_MAX = 10 };

struct range {
    uint32_t first, last;
};

/* Without a shape of their own: controls, joiners, marks on others, of direction, selectors, tags.
 */
static const struct range unseen[] = {
    {0, 8},           {0xE, 0x1F},      {0x7F, 0x84},     {0x86, 0x9F},       {0xAD, 0xAD},
    {0x300, 0x36F},   {0x61C, 0x61C},   {0x115F, 0x1160}, {0x17B4, 0x17B5},   {0x180B, 0x180F},
    {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF}, {0x200B, 0x200F}, {0x202A, 0x202E},   {0x2060, 0x206F},
    {0x20D0, 0x20F0}, {0x2800, 0x2800}, {0x3164, 0x3164}, {0xFE00, 0xFE0F},   {0xFE20, 0xFE2F},
    {0xFEFF, 0xFEFF}, {0xFFA0, 0xFFA0}, {0xFFF9, 0xFFFB}, {0x1D173, 0x1D17A}, {0xE0000, 0xE0FFF},
};

/* The zeros of other digits, each followed by its one to nine. */
static const uint32_t zeros[] = {0x660,  0x6F0,  0x7C0,   0x966,   0x9E6,  0xA66,  0xAE6,  0xB66,
                                 0xBE6,  0xC66,  0xCE6,   0xD66,   0xE50,  0xED0,  0xF20,  0x1040,
                                 0x17E0, 0x1810, 0x1946,  0x19D0,  0x1A80, 0x1A90, 0x1B50, 0x1BB0,
                                 0x1C40, 0x1C50, 0xA620,  0xA8D0,  0xA900, 0xA9D0, 0xA9F0, 0xAA50,
                                 0xABF0, 0x2080, 0x104A0, 0x1E950, 0x1FBF0};

struct sign {
    uint32_t c;
    char ascii;
};

static const struct sign signs[] = {
    {0x24FF, '0'}, {0x3007, '0'}, {0x1F100, '0'}, {0x1F10B, '0'}, {0x1F10C, '0'}, {0xB2, '2'},
    {0xB3, '3'},   {0xB9, '1'},   {0x2014, '-'},  {0x2015, '-'},  {0x2024, '.'},  {0x2070, '0'},
    {0x2212, '-'}, {0x2236, ':'}, {0x24EA, '0'},  {0x3002, '.'},  {0xFE52, '.'},  {0xFE55, ':'},
    {0xFE58, '-'}, {0xFE63, '-'}, {0xFE6B, '@'},  {0xFF61, '.'},
};

static bool is_unseen(uint32_t c)
{
    for (size_t i = 0; i < sizeof unseen / sizeof unseen[0]; i++)
        if (c >= unseen[i].first && c <= unseen[i].last) return true;
    return false;
}

/* Characters one behind the other that are read as `to` and what follows it, again and again. */
struct row {
    uint32_t first, last;
    char to;
    unsigned n;
};

static const struct row rows[] = {
    {0x2074, 0x2079, '4', 6},  {0x2460, 0x2468, '1', 9},  {0x24B6, 0x24CF, 'A', 26},
    {0x2474, 0x247C, '1', 9},  {0x2488, 0x2490, '1', 9},  {0x24F5, 0x24FD, '1', 9},
    {0x2776, 0x277E, '1', 9},  {0x2780, 0x2788, '1', 9},  {0x278A, 0x2792, '1', 9},
    {0x24D0, 0x24E9, 'a', 26}, {0xFF01, 0xFF5E, '!', 94}, {0x1D7CE, 0x1D7FF, '0', 10},
};

/* The letters of mathematics are alphabets of 52, one behind the other. */
static uint32_t letter_of(uint32_t c)
{
    uint32_t i = (c - 0x1D400) % 52;
    return i < 26 ? 'A' + i : 'a' + i - 26;
}

static uint32_t digit_or_sign(uint32_t c)
{
    for (size_t i = 0; i < sizeof zeros / sizeof zeros[0]; i++)
        if (c >= zeros[i] && c <= zeros[i] + 9) return '0' + c - zeros[i];
    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++)
        if (c == signs[i].c) return (unsigned char)signs[i].ascii;
    return c;
}

/* What is read for a character: ASCII, itself, or DROPPED. */
static uint32_t fold(uint32_t c)
{
    if (is_unseen(c)) return DROPPED;
    if (c < 0x80) return c;
    if (c >= 0x1D400 && c <= 0x1D6A3) return letter_of(c);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (c >= rows[i].first && c <= rows[i].last)
            return (unsigned char)rows[i].to + (c - rows[i].first) % rows[i].n;
    return digit_or_sign(c);
}

static unsigned hex_of(unsigned char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10U : 16;
}

/* The number that n hex digits are; false: one of them is none. */
static bool read_hex(struct weir_slice s, size_t n, uint32_t *out)
{
    uint32_t v = 0;
    if (s.len < n) return false;
    for (size_t i = 0; i < n; i++) {
        unsigned h = hex_of((unsigned char)s.ptr[i]);
        if (h > 15) return false;
        v = v << 4 | h;
    }
    *out = v;
    return true;
}

/* What stands at a place: bytes it is read as, and how many it takes; 0: nothing to decode. */
struct decoded {
    char bytes[UTF8_MAX_BYTES];
    size_t n_bytes, n_taken;
};

static struct decoded decoded_char(uint32_t c, size_t n_taken)
{
    struct decoded d = {.n_taken = n_taken};
    c = fold(c <= 0x10FFFF ? c : 0xFFFD);
    if (c != DROPPED) d.n_bytes = utf8_encode(d.bytes, c);
    return d;
}

/* "{40}" after "\\u", which takes `before` bytes. */
static struct decoded decode_braces(struct weir_slice s, size_t before)
{
    uint32_t c;
    struct weir_slice inside = slice_from(s, before + 1);
    const char *end =
        inside.len > 0 ? memchr(inside.ptr, '}', inside.len < 9 ? inside.len : 9) : NULL;
    size_t n = end ? (size_t)(end - inside.ptr) : 0;
    if (n == 0 || !read_hex(inside, n, &c)) return (struct decoded){.n_taken = 0};
    return decoded_char(c, before + n + 2);
}

static struct decoded decode_unicode(struct weir_slice s)
{
    uint32_t c, low;
    if (s.len > 3 && s.ptr[2] == '{') return decode_braces(s, 2);
    if (!read_hex(slice_from(s, 2), 4, &c)) return (struct decoded){.n_taken = 0};
    bool has_low = utf16_is_high(c) && s.len >= 12 && s.ptr[6] == '\\' && s.ptr[7] == 'u' &&
                   read_hex(slice_from(s, 8), 4, &low) && utf16_is_low(low);
    return has_low ? decoded_char(utf16_join(c, low), 12) : decoded_char(c, 6);
}

/* Three octal digits, of a character of ASCII. */
static bool read_octal(struct weir_slice s, uint32_t *out)
{
    if (s.len < 3 || s.ptr[0] < '0' || s.ptr[0] > '1') return false;
    for (size_t i = 1; i < 3; i++)
        if (s.ptr[i] < '0' || s.ptr[i] > '7') return false;
    *out = (uint32_t)(s.ptr[0] - '0') << 6 | (uint32_t)(s.ptr[1] - '0') << 3 |
           (uint32_t)(s.ptr[2] - '0');
    return *out >= ' ';
}

/* A letter that stands for a control, or a sign for itself. */
static struct decoded decode_short(unsigned char next)
{
    static const char letters[] = "nrtbfv0", meaning[] = "\n\r\t    ";
    const char *letter = memchr(letters, next, sizeof letters - 1);
    if (letter) return decoded_char((unsigned char)meaning[letter - letters], 2);
    bool is_sign = next > ' ' && next < 0x7F && !(shield_bytes[next] & BYTE_ALNUM);
    return is_sign ? decoded_char(next, 2) : (struct decoded){.n_taken = 0};
}

static struct decoded decode_escape(struct weir_slice s)
{
    uint32_t c;
    if (s.len < 2) return (struct decoded){.n_taken = 0};
    unsigned char next = (unsigned char)s.ptr[1];
    if (next == 'u') return decode_unicode(s);
    if (next == 'x' && s.len > 3 && s.ptr[2] == '{') return decode_braces(s, 2);
    if (next == 'x' && read_hex(slice_from(s, 2), 2, &c)) return decoded_char(c, 4);
    if (next == 'U' && read_hex(slice_from(s, 2), 8, &c)) return decoded_char(c, 10);
    if (read_octal(slice_from(s, 1), &c)) return decoded_char(c, 4);
    return decode_short(next);
}

static struct decoded decode_percent(struct weir_slice s)
{
    uint32_t c;
    if (s.len > 5 && (s.ptr[1] | 0x20) == 'u' && read_hex(slice_from(s, 2), 4, &c))
        return decoded_char(c, 6);
    if (!read_hex(slice_from(s, 1), 2, &c)) return (struct decoded){.n_taken = 0};
    return (struct decoded){.bytes = {(char)c}, .n_bytes = 1, .n_taken = 3};
}

struct entity {
    const char *name;
    uint32_t c;
};

static const struct entity entities[] = {
    {"amp", '&'},     {"apos", '\''},  {"bsol", '\\'},    {"colon", ':'},  {"comma", ','},
    {"commat", '@'},  {"dash", '-'},   {"dollar", '$'},   {"equals", '='}, {"excl", '!'},
    {"gt", '>'},      {"hyphen", '-'}, {"lbrack", '['},   {"lowbar", '_'}, {"lpar", '('},
    {"lt", '<'},      {"nbsp", ' '},   {"newline", '\n'}, {"num", '#'},    {"percnt", '%'},
    {"period", '.'},  {"plus", '+'},   {"quot", '"'},     {"rbrack", ']'}, {"rpar", ')'},
    {"semi", ';'},    {"shy", 0xAD},   {"sol", '/'},      {"tab", '\t'},   {"zwj", 0x200D},
    {"zwnj", 0x200C},
};

static bool read_number(struct weir_slice s, uint32_t *out)
{
    uint32_t v = 0;
    bool is_hex = s.len > 1 && (s.ptr[0] | 0x20) == 'x';
    if (is_hex) return s.len <= 8 && read_hex(slice_from(s, 1), s.len - 1, out);
    if (s.len == 0 || s.len > 7) return false;
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] < '0' || s.ptr[i] > '9') return false;
        v = v * 10 + (uint32_t)(s.ptr[i] - '0');
    }
    *out = v;
    return true;
}

/* "&#64" without its semicolon, as browsers read it: up to what is no digit. */
static struct decoded decode_open(struct weir_slice s)
{
    uint32_t c;
    bool is_hex = s.len > 3 && (s.ptr[2] | 0x20) == 'x';
    size_t end = is_hex ? 3 : 2;
    while (end < s.len && hex_of((unsigned char)s.ptr[end]) < (is_hex ? 16U : 10U)) end++;
    if (!read_number(slice_of(s.ptr + 2, end - 2), &c)) return (struct decoded){.n_taken = 0};
    return decoded_char(c, end);
}

static struct decoded decode_entity(struct weir_slice s)
{
    uint32_t c;
    size_t most = s.len < ENTITY_MAX + 2 ? s.len : ENTITY_MAX + 2;
    const char *end = memchr(s.ptr, ';', most);
    bool is_number = most > 2 && s.ptr[1] == '#';
    if (is_number && !(end && read_number(slice_of(s.ptr + 2, (size_t)(end - s.ptr) - 2), &c)))
        return decode_open(slice_of(s.ptr, most));
    if (!end) return (struct decoded){.n_taken = 0};
    struct weir_slice name = slice_of(s.ptr + 1, (size_t)(end - s.ptr) - 1);
    if (name.len > 1 && name.ptr[0] == '#' && read_number(slice_from(name, 1), &c))
        return decoded_char(c, name.len + 2);
    for (size_t i = 0; i < sizeof entities / sizeof entities[0]; i++)
        if (name.len == strlen(entities[i].name) &&
            strncasecmp(name.ptr, entities[i].name, name.len) == 0)
            return decoded_char(entities[i].c, name.len + 2);
    return (struct decoded){.n_taken = 0};
}

static uint32_t code_point(struct weir_slice s, size_t len)
{
    const unsigned char *p = (const unsigned char *)s.ptr;
    switch (len) {
    case 2: return (p[0] & 0x1FU) << 6 | (p[1] & 0x3FU);
    case 3: return (p[0] & 0x0FU) << 12 | (p[1] & 0x3FU) << 6 | (p[2] & 0x3FU);
    default:
        return (p[0] & 0x07U) << 18 | (p[1] & 0x3FU) << 12 | (p[2] & 0x3FU) << 6 | (p[3] & 0x3FU);
    }
}

static bool is_control(unsigned char c)
{
    return (c < ' ' && (c < '\t' || c > '\r')) || c == 0x7F;
}

static struct decoded decode_char(struct weir_slice s)
{
    size_t len;
    if (is_control((unsigned char)s.ptr[0])) return (struct decoded){.n_taken = 1};
    if (utf8_first(s, &len) != UTF8_WHOLE || len < 2) return (struct decoded){.n_taken = 0};
    uint32_t c = code_point(s, len);
    return fold(c) == c ? (struct decoded){.n_taken = 0} : decoded_char(c, len);
}

/* Bytes at which something to decode may begin. */
static bool may_begin(unsigned char c)
{
    return c >= 0xC2 || is_control(c) || c == '\\' || c == '%' || c == '&';
}

static struct decoded decode_at(struct weir_slice s)
{
    switch (s.ptr[0]) {
    case '\\': return decode_escape(s);
    case '%': return decode_percent(s);
    case '&': return decode_entity(s);
    default: return decode_char(s);
    }
}

bool guard_view_is_needed(struct weir_slice text)
{
    for (size_t i = 0; i < text.len; i++)
        if (may_begin((unsigned char)text.ptr[i]) && decode_at(slice_from(text, i)).n_taken > 0)
            return true;
    return false;
}

/* Each byte of the view comes from a place of its own, or all of them from one. */
static void add(struct guard_view *v, struct weir_slice bytes, size_t at, bool is_decoded)
{
    /* What is read never has more bytes than what stands there. */
    for (size_t i = 0; i < bytes.len; i++)
        v->from[v->text.len + i] = (uint32_t)(is_decoded ? at : at + i);
    weir_buf_append_slice(&v->text, bytes);
}

enum weir_status guard_view_make(struct guard_view *v, struct weir_slice text)
{
    weir_buf_init(&v->text, GUARD_BYTES);
    v->from = text.len < GUARD_BYTES ? mem_alloc((text.len + 1) * sizeof *v->from) : NULL;
    if (!v->from) return text.len < GUARD_BYTES ? WEIR_NOMEM : WEIR_LIMIT;
    for (size_t at = 0; at < text.len && v->text.status == WEIR_OK;) {
        struct decoded d = decode_at(slice_from(text, at));
        if (d.n_taken > 0) {
            add(v, slice_of(d.bytes, d.n_bytes), at, true);
            at += d.n_taken;
            continue;
        }
        size_t end = at + 1;
        while (end < text.len && !may_begin((unsigned char)text.ptr[end])) end++;
        add(v, slice_of(text.ptr + at, end - at), at, false);
        at = end;
    }
    v->from[v->text.len] = (uint32_t)text.len;
    return weir_buf_status(&v->text);
}

void guard_view_fini(struct guard_view *v)
{
    weir_buf_fini(&v->text);
    mem_free(v->from);
    v->from = NULL;
}
