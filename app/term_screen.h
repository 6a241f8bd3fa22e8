/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stands on a terminal: rows that are committed and scroll away, and below them a live region
 * that is drawn again. Composes frames; the caller writes them. Never the whole screen: a frame is
 * what was committed and those rows of the live region that differ, in one synchronized update
 * (DEC mode 2026).
 *
 * 1. screen_init() with the size.
 * 2. screen_commit() rows, then screen_live_begin() and screen_live_row() for all of the region.
 * 3. screen_frame() gives the bytes; empty when nothing has changed.
 * 4. screen_resize() when the terminal has another size; screen_leave() for a clean end, after
 *    which a frame draws everything again.
 * 5. screen_fini().
 *
 * Rows carry their own looks (term_style.h), are cleaned and fit. The region has at most one row
 * less than the screen; of more, the last are shown. One thread at a time.
 */
#pragma once

#include <weir/buf.h>

enum { SCREEN_LIVE_ROWS = 256 };

struct screen_row {
    size_t begin, len;
    unsigned width;
};

/* Where somebody types, by rows from the last one up. */
struct screen_cursor {
    bool is_shown;
    size_t up;
    unsigned column;
};

struct screen_rows {
    struct weir_buf bytes;
    struct screen_cursor cursor;
    size_t n;
    struct screen_row rows[SCREEN_LIVE_ROWS];
};

struct screen {
    unsigned columns, rows;
    struct weir_buf committed; /* rows with their line ends, not written yet */
    struct screen_rows shown;  /* the region as it stands on the terminal */
    struct screen_rows next;   /* as it shall be */
    size_t cursor;             /* rows of the terminal from the region's first to the cursor */
    bool is_dirty;             /* the region has to be drawn as a whole */
    struct weir_buf frame;
    uint64_t n_bytes; /* of all frames */
};

void screen_init(struct screen *s, unsigned columns, unsigned rows);
void screen_fini(struct screen *s);
void screen_resize(struct screen *s, unsigned columns, unsigned rows);

void screen_commit(struct screen *s, struct weir_slice row);
void screen_live_begin(struct screen *s);
void screen_live_row(struct screen *s, struct weir_slice row);

/* Shows the cursor in this region: so many rows above its last one. Without it there is none. */
void screen_live_cursor(struct screen *s, size_t up, unsigned column);

/* Borrowed until the next call. */
struct weir_slice screen_frame(struct screen *s);

/* The bytes that take the region away; what was committed stays. */
struct weir_slice screen_leave(struct screen *s);
