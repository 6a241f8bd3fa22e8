/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text with a look for each byte, and the escape sequences that show it. A line that is put begins
 * and ends in the terminal's own look, so that lines can be drawn in any order.
 */
#pragma once

#include <weir/buf.h>

enum term_look {
    TERM_BOLD = 1,
    TERM_ITALIC = 2,
    TERM_CODE = 4,
    TERM_LINK = 8,
    TERM_STRIKE = 16,
    TERM_DIM = 32,
    TERM_GOOD = 64,
    TERM_BAD = 128,
};

/* As many looks as bytes. Both have the same ceiling. */
struct term_styled {
    struct weir_buf text;
    struct weir_buf looks;
};

void term_styled_init(struct term_styled *s, size_t max_bytes);
void term_styled_fini(struct term_styled *s);
void term_styled_reset(struct term_styled *s);
void term_styled_add(struct term_styled *s, struct weir_slice text, unsigned look);

/* Appends a run of one look, and the whole of or a part of such a text, with escape sequences. */
void term_put(struct weir_buf *out, struct weir_slice text, unsigned look);
void term_put_styled(struct weir_buf *out, const struct term_styled *s, size_t begin, size_t len);

/* The columns of a row that was put so: those of its text. */
unsigned term_row_width(struct weir_slice row);

/* Braille dots that turn with the time, for what is under way; ten steps a second. */
struct weir_slice term_spinner(uint64_t now_ns);
