/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reserve is taken in blocks below the size for which malloc() would map pages of their
 * own, which it would give back on free().
 */
#include "base/reserve.h"

#include <limits.h>
#include <malloc.h>
#include <string.h>

#include "base/mem.h"

enum { BLOCK_BYTES = 1 << 20, MMAP_FROM_BYTES = 32 << 20 };

struct block {
    struct block *next;
};

enum weir_status memory_reserve(size_t n_bytes)
{
    struct block *blocks = NULL;
    enum weir_status st = WEIR_OK;
    if (n_bytes == 0) return WEIR_OK;
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_MMAP_THRESHOLD, MMAP_FROM_BYTES);
    mallopt(M_TRIM_THRESHOLD, INT_MAX);
    for (size_t n = 0; n < n_bytes && st == WEIR_OK; n += BLOCK_BYTES) {
        struct block *b = mem_alloc(BLOCK_BYTES);
        if (b) {
            memset(b, 1, BLOCK_BYTES);
            b->next = blocks;
            blocks = b;
        } else {
            st = WEIR_NOMEM;
        }
    }
    while (blocks) {
        struct block *next = blocks->next;
        mem_free(blocks);
        blocks = next;
    }
    return st;
}
