/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A growing byte buffer with a mandatory ceiling.
 *
 * 1. weir_buf_init() with the most bytes it may ever hold.
 * 2. Append as often as needed. The first failure (ceiling or memory) sticks:
 *    later appends do nothing, so a run of appends is checked once.
 * 3. weir_buf_status() before the content is used.
 * 4. weir_buf_fini() frees it; the struct may be initialised again.
 *
 * The caller owns the struct; the buffer owns its bytes. Any thread, one at a time.
 */
#pragma once

#include <weir/status.h>

WEIR_BEGIN

struct weir_buf {
    char *ptr;
    size_t len; /* bytes used */
    size_t cap; /* bytes there is room for */
    size_t max; /* ceiling on cap */
    enum weir_status status;
};

WEIR_API void weir_buf_init(struct weir_buf *b, size_t max_bytes);
WEIR_API void weir_buf_fini(struct weir_buf *b);

/* Forgets content and failure, keeps the memory. */
WEIR_API void weir_buf_reset(struct weir_buf *b);

WEIR_API void weir_buf_append(struct weir_buf *b, const void *bytes, size_t len);
WEIR_API void weir_buf_append_slice(struct weir_buf *b, struct weir_slice s);
WEIR_API void weir_buf_append_char(struct weir_buf *b, char c);
WEIR_API void weir_buf_append_str(struct weir_buf *b, const char *nul_terminated);
WEIR_API void weir_buf_append_u64(struct weir_buf *b, uint64_t n);
WEIR_API void weir_buf_printf(struct weir_buf *b, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* WEIR_OK, WEIR_LIMIT when the ceiling was met, WEIR_NOMEM. */
WEIR_API WEIR_MUST_CHECK enum weir_status weir_buf_status(const struct weir_buf *b);

/* Borrowed; valid until the next append, reset or fini. */
WEIR_API struct weir_slice weir_buf_slice(const struct weir_buf *b);

WEIR_END
