/* SPDX-License-Identifier: Apache-2.0 */
/*
 * UTF-8 as Unicode table 3-7 defines it: no overlong forms, no surrogates,
 * nothing above U+10FFFF. "Maximal bad part" is the Unicode and WHATWG practice
 * of replacing ill-formed bytes: the longest run that begins some well-formed
 * character, or else one byte.
 */
#pragma once

#include <weir/buf.h>

enum { UTF8_MAX_BYTES = 4 };

enum utf8_verdict {
    UTF8_WHOLE,   /* the first *n bytes are one character */
    UTF8_PARTIAL, /* all bytes given begin a character that needs more */
    UTF8_BAD,     /* the first *n bytes are a maximal bad part */
};

/* Looks at the first character of a non-empty slice. */
enum utf8_verdict utf8_first(struct weir_slice s, size_t *n);

/* How many leading bytes are whole, well-formed characters. */
size_t utf8_valid_prefix(struct weir_slice s);

/*
 * Whether a text for one line has something in it that is no sign: controls, and what ends a line
 * or turns the direction of writing, so that a list shows another text, or another row, than is
 * there.
 */
bool utf8_has_controls(struct weir_slice s);

/* Appends s with U+FFFD for each maximal bad part, a cut-off character at the end included. */
void utf8_append_repaired(struct weir_buf *out, struct weir_slice s);

/*
 * Writes a code point, surrogates included (their generalised three-byte form),
 * and returns its length. c <= 0x10FFFF.
 */
size_t utf8_encode(char out[UTF8_MAX_BYTES], uint32_t c);

/* Whether s begins with the three-byte form of a surrogate; *c is it. */
bool utf8_is_surrogate(struct weir_slice s, uint32_t *c);

static inline bool utf16_is_high(uint32_t c)
{
    return c >= 0xD800 && c <= 0xDBFF;
}

static inline bool utf16_is_low(uint32_t c)
{
    return c >= 0xDC00 && c <= 0xDFFF;
}

static inline uint32_t utf16_join(uint32_t high, uint32_t low)
{
    return 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
}
