/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON string escaping. Text is mostly plain, so the work is to find the end of
 * the longest run that can be copied as it is: plain ASCII eight bytes at a
 * time, well-formed multi-byte characters one at a time. Only what ends a run is
 * written piecemeal.
 */
#include "base/escape.h"

#include <string.h>

#include "base/utf8.h"

/* The same byte in all eight places of a word. */
#define EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

static bool has_zero_byte(uint64_t word)
{
    return ((word - EACH(0x01)) & ~word & EACH(0x80)) != 0;
}

/* Whether a byte of the word is a control, a quote, a backslash or not ASCII. */
static bool has_special(uint64_t word)
{
    uint64_t not_ascii = word & EACH(0x80);
    uint64_t below_space = (word - EACH(0x20)) & ~word & EACH(0x80);
    return (not_ascii | below_space) != 0 || has_zero_byte(word ^ EACH('"')) ||
           has_zero_byte(word ^ EACH('\\'));
}

static bool is_plain(unsigned char c)
{
    return c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
}

static size_t plain_prefix(const char *p, size_t len)
{
    size_t i = 0;
    for (; i + 8 <= len; i += 8) {
        uint64_t word;
        memcpy(&word, p + i, sizeof word);
        if (has_special(word)) break;
    }
    while (i < len && is_plain((unsigned char)p[i])) i++;
    return i;
}

/*
 * U+0085, U+2028 and U+2029: legal in JSON, but line ends to many a tool that
 * reads our lines. 0 when s begins with another character.
 */
static uint32_t line_end_at(struct weir_slice s)
{
    if (s.len >= 2 && memcmp(s.ptr, "\xC2\x85", 2) == 0) return 0x85;
    if (s.len < 3 || memcmp(s.ptr, "\xE2\x80", 2) != 0) return 0;
    if (s.ptr[2] == '\xA8') return 0x2028;
    return s.ptr[2] == '\xA9' ? 0x2029 : 0;
}

/* How many leading bytes can be copied as they are. */
static size_t raw_prefix(struct weir_slice s)
{
    size_t i = 0;
    for (;;) {
        i += plain_prefix(s.ptr + i, s.len - i);
        if (i == s.len || (unsigned char)s.ptr[i] < 0x80) return i;
        do {
            size_t n;
            struct weir_slice rest = {s.ptr + i, s.len - i};
            if (utf8_first(rest, &n) != UTF8_WHOLE || line_end_at(rest) != 0) return i;
            i += n;
        } while (i < s.len && (unsigned char)s.ptr[i] >= 0x80);
    }
}

static void append_hex_escape(struct weir_buf *out, uint32_t c)
{
    static const char digits[] = "0123456789abcdef";
    char escape[6] = {
        '\\', 'u', digits[c >> 12 & 15], digits[c >> 8 & 15], digits[c >> 4 & 15], digits[c & 15]};
    weir_buf_append(out, escape, sizeof escape);
}

static void append_ascii_escape(struct weir_buf *out, unsigned char c)
{
    switch (c) {
    case '"': weir_buf_append(out, "\\\"", 2); break;
    case '\\': weir_buf_append(out, "\\\\", 2); break;
    case '\b': weir_buf_append(out, "\\b", 2); break;
    case '\t': weir_buf_append(out, "\\t", 2); break;
    case '\n': weir_buf_append(out, "\\n", 2); break;
    case '\f': weir_buf_append(out, "\\f", 2); break;
    case '\r': weir_buf_append(out, "\\r", 2); break;
    default: append_hex_escape(out, c);
    }
}

/* Writes what begins a slice that is not raw, and returns how many bytes that was. */
static size_t append_special(struct weir_buf *out, struct weir_slice s)
{
    unsigned char c = (unsigned char)s.ptr[0];
    uint32_t special = line_end_at(s);
    size_t n;
    if (c < 0x80) {
        append_ascii_escape(out, c);
        return 1;
    }
    if (special != 0 || utf8_is_surrogate(s, &special)) {
        append_hex_escape(out, special);
        return special == 0x85 ? 2 : 3;
    }
    utf8_first(s, &n);
    weir_buf_append(out, "\xEF\xBF\xBD", 3);
    return n;
}

void escape_json(struct weir_buf *out, struct weir_slice s)
{
    while (s.len > 0) {
        size_t n = raw_prefix(s);
        weir_buf_append(out, s.ptr, n);
        if (n < s.len) n += append_special(out, (struct weir_slice){s.ptr + n, s.len - n});
        s.ptr += n;
        s.len -= n;
    }
}
