/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An arena: memory that is taken piece by piece and given back all at once.
 *
 * 1. arena_init() with the ceiling on the bytes of all its blocks.
 * 2. arena_alloc() as needed; nothing is freed alone.
 * 3. arena_reset() drops all pieces and keeps the newest block for reuse.
 * 4. arena_fini() frees everything.
 *
 * The arena owns its blocks; the struct is the caller's. One thread at a time.
 */
#pragma once

#include <string.h>

#include <weir/status.h>

struct arena_block;

struct arena {
    char *tip; /* next free byte */
    char *end; /* end of the current block */
    struct arena_block *blocks;
    size_t n_bytes; /* in all blocks */
    size_t max_bytes;
    enum weir_status status; /* why the last allocation failed */
};

void arena_init(struct arena *a, size_t max_bytes);
void arena_fini(struct arena *a);
void arena_reset(struct arena *a);

void *arena_alloc_slow(struct arena *a, size_t size, size_t align);

/* Memory for any type; NULL with a->status set when the ceiling or memory is reached. */
static inline void *arena_alloc(struct arena *a, size_t size)
{
    size_t pad = (size_t)(-(uintptr_t)a->tip & (sizeof(void *) - 1));
    size_t left = (size_t)(a->end - a->tip);
    if (!a->tip || left < pad || left - pad < size)
        return arena_alloc_slow(a, size, sizeof(void *));
    char *p = a->tip + pad;
    a->tip = p + size;
    return p;
}

/*
 * Text that grows at its end. While it is the newest thing in the arena it grows
 * where it stands; otherwise it moves to a place twice as large. Its old bytes
 * stay readable where they were.
 */
struct arena_text {
    char *ptr;
    uint32_t len;
    uint32_t cap;
};

WEIR_MUST_CHECK enum weir_status arena_text_grow(struct arena *a, struct arena_text *t,
                                                 size_t extra);

/* Makes room for `extra` more bytes behind t->len. */
static inline WEIR_MUST_CHECK enum weir_status arena_text_reserve(struct arena *a,
                                                                  struct arena_text *t,
                                                                  size_t extra)
{
    if (t->cap - t->len >= extra) return WEIR_OK;
    return arena_text_grow(a, t, extra);
}

WEIR_MUST_CHECK enum weir_status arena_text_append_slow(struct arena *a, struct arena_text *t,
                                                        const char *bytes, size_t len);

/* Appends bytes; the usual case, text that is new or the newest thing, without a call. */
static inline WEIR_MUST_CHECK enum weir_status arena_text_append(struct arena *a,
                                                                 struct arena_text *t,
                                                                 const char *bytes, size_t len)
{
    bool is_at_tip = t->cap == 0 || (t->len == t->cap && t->ptr + t->cap == a->tip);
    if (!is_at_tip || len > (size_t)(a->end - a->tip) || len > UINT32_MAX - t->cap)
        return arena_text_append_slow(a, t, bytes, len);
    if (t->cap == 0) t->ptr = a->tip;
    memcpy(a->tip, bytes, len);
    a->tip += len;
    t->len += (uint32_t)len;
    t->cap = t->len;
    return WEIR_OK;
}
