/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The small vocabulary that every libweir header shares.
 *
 * A slice is a borrowed run of bytes. It owns nothing, need not end in a NUL,
 * and may contain NULs. Whoever hands one out says how long it stays valid.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
#define WEIR_BEGIN extern "C" {
#define WEIR_END   }
#else
#define WEIR_BEGIN
#define WEIR_END
#endif

/* Marks the functions a program may call; all others stay inside the library. */
#define WEIR_API __attribute__((visibility("default")))

/* The compiler complains when such a result is dropped. */
#define WEIR_MUST_CHECK __attribute__((warn_unused_result))

struct weir_slice {
    const char *ptr; /* may be NULL when len is 0 */
    size_t len;
};

static inline struct weir_slice weir_slice_of(const char *nul_terminated)
{
    struct weir_slice s = {nul_terminated, strlen(nul_terminated)};
    return s;
}

static inline bool weir_slice_is(struct weir_slice s, const char *nul_terminated)
{
    size_t len = strlen(nul_terminated);
    return s.len == len && (len == 0 || memcmp(s.ptr, nul_terminated, len) == 0);
}
