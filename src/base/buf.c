/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bounded growing buffer. Capacity doubles, so appending is linear over all;
 * the ceiling cuts the last doubling short rather than refusing it.
 */
#include <weir/buf.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

enum { FIRST_CAP = 64 };

void weir_buf_init(struct weir_buf *b, size_t max_bytes)
{
    *b = (struct weir_buf){.max = max_bytes};
}

void weir_buf_fini(struct weir_buf *b)
{
    mem_free(b->ptr);
    *b = (struct weir_buf){.max = b->max};
}

void weir_buf_reset(struct weir_buf *b)
{
    b->len = 0;
    b->status = WEIR_OK;
}

static bool grow(struct weir_buf *b, size_t extra)
{
    if (b->status != WEIR_OK) return false;
    if (extra > b->max - b->len) {
        b->status = WEIR_LIMIT;
        return false;
    }
    size_t cap = b->cap < FIRST_CAP ? FIRST_CAP : b->cap;
    if (cap > b->max) cap = b->max;
    while (cap - b->len < extra) cap = cap > b->max / 2 ? b->max : cap * 2;
    char *ptr = mem_realloc(b->ptr, cap);
    if (!ptr) {
        b->status = WEIR_NOMEM;
        return false;
    }
    b->ptr = ptr;
    b->cap = cap;
    return true;
}

static bool has_room(struct weir_buf *b, size_t extra)
{
    return (b->status == WEIR_OK && extra <= b->cap - b->len) || grow(b, extra);
}

void weir_buf_append(struct weir_buf *b, const void *bytes, size_t len)
{
    if (len == 0 || !has_room(b, len)) return;
    memcpy(b->ptr + b->len, bytes, len);
    b->len += len;
}

void weir_buf_append_slice(struct weir_buf *b, struct weir_slice s)
{
    weir_buf_append(b, s.ptr, s.len);
}

void weir_buf_append_char(struct weir_buf *b, char c)
{
    if (!has_room(b, 1)) return;
    b->ptr[b->len++] = c;
}

void weir_buf_append_str(struct weir_buf *b, const char *nul_terminated)
{
    weir_buf_append(b, nul_terminated, strlen(nul_terminated));
}

void weir_buf_append_u64(struct weir_buf *b, uint64_t n)
{
    char digits[20];
    size_t i = sizeof digits;
    do {
        digits[--i] = (char)('0' + n % 10);
        n /= 10;
    } while (n > 0);
    weir_buf_append(b, digits + i, sizeof digits - i);
}

void weir_buf_printf(struct weir_buf *b, const char *format, ...)
{
    char small[256];
    char *text = small;
    va_list args;
    va_start(args, format);
    int len = vsnprintf(small, sizeof small, format, args);
    va_end(args);
    if (len < 0 || b->status != WEIR_OK) return;
    if ((size_t)len >= sizeof small) {
        text = mem_alloc((size_t)len + 1);
        if (!text) {
            b->status = WEIR_NOMEM;
            return;
        }
        va_start(args, format);
        vsnprintf(text, (size_t)len + 1, format, args);
        va_end(args);
    }
    weir_buf_append(b, text, (size_t)len);
    if (text != small) mem_free(text);
}

enum weir_status weir_buf_status(const struct weir_buf *b)
{
    return b->status;
}

struct weir_slice weir_buf_slice(const struct weir_buf *b)
{
    return (struct weir_slice){b->ptr, b->len};
}
