/* SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"

#include <string.h>

/* What may follow a lead byte: how many bytes in all, and the range of the second. */
struct lead {
    uint8_t len;
    uint8_t low;
    uint8_t high;
};

static struct lead lead_of(unsigned char c)
{
    if (c < 0x80) return (struct lead){1, 0, 0};
    if (c < 0xC2) return (struct lead){0, 0, 0};
    if (c < 0xE0) return (struct lead){2, 0x80, 0xBF};
    if (c == 0xE0) return (struct lead){3, 0xA0, 0xBF};
    if (c == 0xED) return (struct lead){3, 0x80, 0x9F};
    if (c < 0xF0) return (struct lead){3, 0x80, 0xBF};
    if (c == 0xF0) return (struct lead){4, 0x90, 0xBF};
    if (c < 0xF4) return (struct lead){4, 0x80, 0xBF};
    if (c == 0xF4) return (struct lead){4, 0x80, 0x8F};
    return (struct lead){0, 0, 0};
}

enum utf8_verdict utf8_first(struct weir_slice s, size_t *n)
{
    const unsigned char *p = (const unsigned char *)s.ptr;
    struct lead lead = lead_of(p[0]);
    *n = 1;
    if (lead.len == 1) return UTF8_WHOLE;
    if (lead.len == 0) return UTF8_BAD;
    for (size_t i = 1; i < lead.len; i++) {
        if (i == s.len) {
            *n = i;
            return UTF8_PARTIAL;
        }
        unsigned char low = i == 1 ? lead.low : 0x80;
        unsigned char high = i == 1 ? lead.high : 0xBF;
        if (p[i] < low || p[i] > high) {
            *n = i;
            return UTF8_BAD;
        }
    }
    *n = lead.len;
    return UTF8_WHOLE;
}

/* Skips ASCII eight bytes at a time; text is mostly that. */
static size_t ascii_prefix(const char *p, size_t len)
{
    size_t i = 0;
    for (; i + 8 <= len; i += 8) {
        uint64_t word;
        memcpy(&word, p + i, 8);
        if (word & UINT64_C(0x8080808080808080)) break;
    }
    while (i < len && (unsigned char)p[i] < 0x80) i++;
    return i;
}

size_t utf8_valid_prefix(struct weir_slice s)
{
    size_t i = 0;
    if (s.len == 0) return 0; /* ptr may be NULL, and NULL plus 0 is undefined */
    for (;;) {
        i += ascii_prefix(s.ptr + i, s.len - i);
        while (i < s.len && (unsigned char)s.ptr[i] >= 0x80) {
            size_t n;
            if (utf8_first((struct weir_slice){s.ptr + i, s.len - i}, &n) != UTF8_WHOLE) return i;
            i += n;
        }
        if (i == s.len) return i;
    }
}

void utf8_append_repaired(struct weir_buf *out, struct weir_slice s)
{
    while (s.len > 0) {
        size_t good = utf8_valid_prefix(s);
        weir_buf_append(out, s.ptr, good);
        s.ptr += good;
        s.len -= good;
        if (s.len == 0) return;
        size_t bad;
        utf8_first(s, &bad);
        weir_buf_append_str(out, "\xEF\xBF\xBD");
        s.ptr += bad;
        s.len -= bad;
    }
}

/* At its beginning: controls, and signs that turn the direction of writing or end a line. */
static bool is_control(struct weir_slice text)
{
    const unsigned char *c = (const unsigned char *)text.ptr;
    if (c[0] < ' ' || c[0] == 0x7F) return true;
    if (text.len >= 2 && c[0] == 0xC2) return c[1] < 0xA0;  /* U+0080 to U+009F */
    if (text.len >= 2 && c[0] == 0xD8) return c[1] == 0x9C; /* U+061C */
    if (text.len < 3 || c[0] != 0xE2) return false;
    if (c[1] == 0x80) return c[2] == 0x8E || c[2] == 0x8F || (c[2] >= 0xA8 && c[2] <= 0xAE);
    return c[1] == 0x81 && c[2] >= 0xA6 && c[2] <= 0xA9; /* U+2066 to U+2069 */
}

bool utf8_has_controls(struct weir_slice s)
{
    /* A byte that goes on with a character is none of those that begin one of these. */
    for (size_t i = 0; i < s.len; i++)
        if (is_control((struct weir_slice){s.ptr + i, s.len - i})) return true;
    return false;
}

size_t utf8_encode(char out[UTF8_MAX_BYTES], uint32_t c)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xC0 | c >> 6);
        out[1] = (char)(0x80 | (c & 0x3F));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (char)(0xE0 | c >> 12);
        out[1] = (char)(0x80 | (c >> 6 & 0x3F));
        out[2] = (char)(0x80 | (c & 0x3F));
        return 3;
    }
    out[0] = (char)(0xF0 | c >> 18);
    out[1] = (char)(0x80 | (c >> 12 & 0x3F));
    out[2] = (char)(0x80 | (c >> 6 & 0x3F));
    out[3] = (char)(0x80 | (c & 0x3F));
    return 4;
}

bool utf8_is_surrogate(struct weir_slice s, uint32_t *c)
{
    const unsigned char *p = (const unsigned char *)s.ptr;
    if (s.len < 3 || p[0] != 0xED || p[1] < 0xA0 || p[1] > 0xBF || (p[2] & 0xC0) != 0x80)
        return false;
    *c = 0xD000u | (uint32_t)(p[1] & 0x3F) << 6 | (p[2] & 0x3Fu);
    return true;
}
