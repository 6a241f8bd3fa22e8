/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks double in size up to a megabyte, so a small arena is small and a large
 * one has few blocks. What does not fit the next block's size gets a block of
 * its own measure.
 */
#include "base/arena.h"

#include <string.h>

#include "base/mem.h"

enum { FIRST_BLOCK = 4096, LARGEST_STEP = 1 << 20 };

struct arena_block {
    struct arena_block *next;
    size_t size; /* of bytes[] */
    char bytes[];
};

void arena_init(struct arena *a, size_t max_bytes)
{
    *a = (struct arena){.max_bytes = max_bytes};
}

static void free_blocks(struct arena_block *block)
{
    while (block) {
        struct arena_block *next = block->next;
        mem_free(block);
        block = next;
    }
}

void arena_fini(struct arena *a)
{
    free_blocks(a->blocks);
    arena_init(a, a->max_bytes);
}

void arena_reset(struct arena *a)
{
    struct arena_block *kept = a->blocks;
    a->status = WEIR_OK;
    if (!kept) return;
    free_blocks(kept->next);
    /* A block made for one huge piece is not worth holding on to. */
    if (kept->size > LARGEST_STEP) {
        mem_free(kept);
        arena_init(a, a->max_bytes);
        return;
    }
    kept->next = NULL;
    a->n_bytes = kept->size;
    a->tip = kept->bytes;
    a->end = kept->bytes + kept->size;
}

static size_t next_block_size(const struct arena *a)
{
    if (!a->blocks) return FIRST_BLOCK;
    size_t twice = a->blocks->size * 2;
    return twice > LARGEST_STEP ? LARGEST_STEP : twice;
}

static bool add_block(struct arena *a, size_t needed)
{
    size_t size = next_block_size(a);
    size_t left = a->max_bytes - a->n_bytes;
    if (size < needed) size = needed;
    if (size > left) size = left;
    if (size < needed) {
        a->status = WEIR_LIMIT;
        return false;
    }
    struct arena_block *block = mem_alloc(sizeof *block + size);
    if (!block) {
        a->status = WEIR_NOMEM;
        return false;
    }
    block->size = size;
    block->next = a->blocks;
    a->blocks = block;
    a->n_bytes += size;
    a->tip = block->bytes;
    a->end = block->bytes + size;
    return true;
}

void *arena_alloc_slow(struct arena *a, size_t size, size_t align)
{
    /* The second claim keeps the sums below from overflowing when there is no real ceiling. */
    if (size > a->max_bytes || size > SIZE_MAX / 2) {
        a->status = WEIR_LIMIT;
        return NULL;
    }
    if (!add_block(a, size + align)) return NULL;
    char *p = a->tip + ((size_t)(-(uintptr_t)a->tip) & (align - 1));
    a->tip = p + size;
    return p;
}

static char *place_text(struct arena *a, size_t size)
{
    if ((size_t)(a->end - a->tip) < size) return arena_alloc_slow(a, size, 1);
    char *p = a->tip;
    a->tip += size;
    return p;
}

static bool grow_in_place(struct arena *a, struct arena_text *t, size_t extra)
{
    bool is_newest = t->cap > 0 && t->ptr + t->cap == a->tip;
    size_t slack = is_newest ? t->cap - t->len : 0;
    if (!is_newest || (size_t)(a->end - a->tip) + slack < extra) return false;
    t->cap = t->len + (uint32_t)extra;
    a->tip = t->ptr + t->cap;
    return true;
}

enum weir_status arena_text_grow(struct arena *a, struct arena_text *t, size_t extra)
{
    enum weir_status before = a->status; /* an earlier failure may not have been asked for yet */
    if (extra > UINT32_MAX - t->len) return a->status = WEIR_LIMIT;
    if (grow_in_place(a, t, extra)) return WEIR_OK;
    size_t needed = t->len + extra;
    size_t cap = t->len == 0 ? needed : needed > UINT32_MAX / 2 ? UINT32_MAX : needed * 2;
    char *moved = place_text(a, cap);
    /* Near the ceiling, the doubled size may not fit where the plain one does. */
    if (!moved && cap > needed) moved = place_text(a, cap = needed);
    if (!moved) return a->status;
    if (t->len > 0) memcpy(moved, t->ptr, t->len);
    t->ptr = moved;
    t->cap = (uint32_t)cap;
    a->status = before;
    return WEIR_OK;
}

enum weir_status arena_text_append_slow(struct arena *a, struct arena_text *t, const char *bytes,
                                        size_t len)
{
    if (len == 0) return WEIR_OK;
    enum weir_status st = arena_text_reserve(a, t, len);
    if (st != WEIR_OK) return st;
    memcpy(t->ptr + t->len, bytes, len);
    t->len += (uint32_t)len;
    return WEIR_OK;
}
