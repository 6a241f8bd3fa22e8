/* SPDX-License-Identifier: Apache-2.0 */
/* Small helpers on borrowed bytes; the type itself is public, in weir/types.h. */
#pragma once

#include <string.h>
#include <strings.h>

#include <weir/types.h>

/* A slice over a string literal, without its NUL. */
#define SLICE(literal) ((struct weir_slice){"" literal, sizeof(literal) - 1})

static inline struct weir_slice slice_of(const void *ptr, size_t len)
{
    return (struct weir_slice){(const char *)ptr, len};
}

static inline bool slice_eq(struct weir_slice a, struct weir_slice b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

/* What is left after the first n bytes; n may not pass the end. */
static inline struct weir_slice slice_from(struct weir_slice s, size_t n)
{
    return (struct weir_slice){n > 0 ? s.ptr + n : s.ptr, s.len - n};
}

/* Whether s ends with these lower-case ASCII letters and signs, in any case. */
static inline bool slice_ends_with_nocase(struct weir_slice s, const char *lower_end)
{
    size_t len = strlen(lower_end);
    return s.len >= len && strncasecmp(s.ptr + s.len - len, lower_end, len) == 0;
}
