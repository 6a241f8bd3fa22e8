/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes that nobody may find in memory that was given back. */
#pragma once

#include <string.h>

#include <weir/buf.h>

static inline void buf_wipe(struct weir_buf *b)
{
    if (b->ptr) explicit_bzero(b->ptr, b->cap);
    weir_buf_fini(b);
}
