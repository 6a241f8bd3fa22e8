/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text that grows at its end while somebody looks at it, with a ceiling: the oldest bytes give
 * way. Places in it are offsets into all the text there ever was, so that a reader who was slow
 * notices what it missed. Each segment is what came at one time, and knows when that was.
 *
 * 1. ui_text_init() with the most bytes to keep.
 * 2. ui_text_add() as text comes; ui_text_clear() when it begins again.
 * 3. ui_text_from() for what a reader has not seen; `round` tells that it began again.
 * 4. ui_text_fini().
 *
 * The struct is the caller's, the bytes are the text's. One thread at a time.
 */
#pragma once

#include <weir/buf.h>

enum { UI_SEGMENTS = 64 };

struct ui_segment {
    uint64_t born_ns;
    uint64_t begin, end; /* offsets */
};

struct ui_text {
    struct weir_buf bytes; /* what is kept */
    size_t max_bytes;
    uint64_t begin; /* offset of the first byte kept */
    uint64_t end;   /* how much has come in this round */
    uint32_t sum;   /* CRC-32C of all that has come in this round */
    unsigned round; /* how often it was cleared */
    bool is_lossy;  /* bytes could not be kept for lack of memory */
    size_t n_segments;
    struct ui_segment segments[UI_SEGMENTS]; /* the newest; older ones are one with the first */
};

void ui_text_init(struct ui_text *t, size_t max_bytes);
void ui_text_fini(struct ui_text *t);
void ui_text_add(struct ui_text *t, struct weir_slice more, uint64_t now_ns);
void ui_text_clear(struct ui_text *t);

/* What is kept from this offset on; borrowed until the text changes. */
struct weir_slice ui_text_from(const struct ui_text *t, uint64_t offset);

/* Whether all that has come in this round is exactly this. */
bool ui_text_is(const struct ui_text *t, struct weir_slice all);
