/* SPDX-License-Identifier: Apache-2.0 */
/* A growing text that owes nothing to the library under test; see text.h. */
#include "text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void make_room(struct text *t, size_t more)
{
    if (t->cap - t->len >= more) return;
    size_t cap = t->cap * 2 + more + 64;
    char *ptr = realloc(t->ptr, cap);
    if (!ptr) abort();
    t->ptr = ptr;
    t->cap = cap;
}

void text_add(struct text *t, const void *bytes, size_t len)
{
    if (len == 0) return;
    make_room(t, len);
    memcpy(t->ptr + t->len, bytes, len);
    t->len += len;
}

void text_add_char(struct text *t, char c)
{
    text_add(t, &c, 1);
}

void text_printf(struct text *t, const char *format, ...)
{
    char line[512];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (n < 0 || (size_t)n >= sizeof line) abort();
    text_add(t, line, (size_t)n);
}

void text_quote(struct text *t, struct weir_slice s)
{
    text_add_char(t, '\'');
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];
        if (c == '\n') text_add(t, "\\n", 2);
        else if (c == '\r') text_add(t, "\\r", 2);
        else if (c < 0x20 || c >= 0x7f) text_printf(t, "\\x%02x", c);
        else text_add_char(t, (char)c);
    }
    text_add_char(t, '\'');
}

void text_add_code_point(struct text *t, unsigned long cp)
{
    if (cp < 0x80) {
        text_add_char(t, (char)cp);
        return;
    }
    if (cp < 0x800) {
        text_add_char(t, (char)(0xc0 | cp >> 6));
    } else {
        if (cp < 0x10000) {
            text_add_char(t, (char)(0xe0 | cp >> 12));
        } else {
            text_add_char(t, (char)(0xf0 | cp >> 18));
            text_add_char(t, (char)(0x80 | (cp >> 12 & 0x3f)));
        }
        text_add_char(t, (char)(0x80 | (cp >> 6 & 0x3f)));
    }
    text_add_char(t, (char)(0x80 | (cp & 0x3f)));
}

bool text_eq(const struct text *a, const struct text *b)
{
    return a->len == b->len && (a->len == 0 || memcmp(a->ptr, b->ptr, a->len) == 0);
}

struct weir_slice text_slice(const struct text *t)
{
    return (struct weir_slice){t->ptr, t->len};
}

void text_fini(struct text *t)
{
    free(t->ptr);
    *t = (struct text){0};
}
