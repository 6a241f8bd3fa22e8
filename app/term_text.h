/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text for terminals: made harmless, measured, wrapped.
 *
 * What a model writes is shown, never obeyed. A cleaner turns any bytes into well-formed UTF-8
 * without control characters: those of C0 become their pictures (ESC is ␛), those of C1, marks
 * that turn the direction of writing and other invisible ones become <U+202E>; soft hyphens, zero
 * width spaces and byte order marks, which are hints for others, are left out. LF and tab stay,
 * CR LF is LF.
 *
 * Widths are those of grapheme clusters, as terminals with Unicode support count columns: wide
 * characters 2, a base with its marks that of the base, emoji sequences (joined, flags, with a
 * variation selector or a skin tone) 2.
 *
 * All of it is linear in the length of the text. Pure; one thread at a time for each cleaner.
 */
#pragma once

#include <weir/buf.h>

#include "base/utf8.h"

enum {
    TERM_MARKS_MAX = 16, /* on one base; more are left out */
    TERM_TAB_COLUMNS = 4,
};

struct term_cleaner {
    char held[UTF8_MAX_BYTES]; /* half a character */
    size_t n_held;
    bool has_cr;      /* a CR came last; an LF may follow */
    bool is_flag;     /* within a flag of tags: U+1F3F4 and what follows it */
    unsigned n_marks; /* on the character at hand */
};

/* Begin with a zeroed cleaner. What comes out does not depend on the cutting. */
void term_clean_feed(struct term_cleaner *c, struct weir_buf *out, struct weir_slice bytes);

/* What is still held: half a character is U+FFFD. */
void term_clean_end(struct term_cleaner *c, struct weir_buf *out);

/* A whole label for one line: cleaned, with a blank for each run of blanks and line ends. */
void term_clean_label(struct weir_buf *out, struct weir_slice text);

struct term_cluster {
    size_t len; /* bytes */
    unsigned width;
};

/* The first cluster of a text that is not empty and has been cleaned. */
struct term_cluster term_first(struct weir_slice text);

unsigned term_width(struct weir_slice text);

/* How many bytes fit into so many columns. */
size_t term_fit(struct weir_slice text, unsigned columns);

/* Appends the text, or what fits of it and "…". Returns its columns. */
unsigned term_put_cut(struct weir_buf *out, struct weir_slice text, unsigned columns);

/*
 * The first line of a text that is wrapped to so many columns: *len is its bytes, without blanks
 * at its end, and the next line begins *next bytes from here. Lines end at LF, else at the last
 * blank, hyphen or wide character that fits, else anywhere; a cluster that is wider than all the
 * columns has a line of its own. columns >= 1.
 */
void term_wrap(struct weir_slice text, unsigned columns, size_t *len, size_t *next);
