/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was typed before, oldest first: the newest LINE_HISTORY_ENTRIES, and no more of them than
 * LINE_HISTORY_BYTES. A text that repeats the one before, is empty or begins with a blank is not
 * kept. As a file, each is a line, with \n for a line end in it and \\ for a backslash.
 *
 * One thread at a time.
 */
#pragma once

#include <weir/buf.h>

enum { LINE_HISTORY_ENTRIES = 500, LINE_HISTORY_BYTES = 256 << 10 };

struct line_history {
    struct weir_slice entries[LINE_HISTORY_ENTRIES];
    size_t n;
    size_t n_bytes;
};

/* Begins with a zeroed struct. */
void line_history_fini(struct line_history *h);

/* False: it is not kept, for one of the reasons above or for want of memory. */
bool line_history_add(struct line_history *h, struct weir_slice text);

/* Appends the line of a text; adds what the lines of a file say. */
void line_history_write(struct weir_buf *out, struct weir_slice text);
void line_history_read(struct line_history *h, struct weir_slice lines);
