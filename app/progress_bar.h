/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far a long piece of work is, on standard error: one line that is written over and over on a
 * terminal, a line every few seconds elsewhere.
 *
 * 1. bar_begin().
 * 2. bar_show() as often as one likes.
 * 3. bar_end() clears the line.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct bar {
    bool is_quiet;
    bool is_terminal;
    bool is_shown;       /* there is a line on the terminal to be cleared */
    uint64_t next_ms;    /* when the next line is due, where there is no terminal */
    uint64_t phase_ms;   /* when what is being done began */
    uint64_t phase_done; /* bytes that were done then: an import may go on in the middle */
    const char *doing;
};

struct bar_state {
    const char *doing;    /* "checking", "importing"; the same pointer while it is the same thing */
    const char *what;     /* the file */
    uint64_t done, total; /* bytes */
    uint64_t records;
    uint64_t elapsed_ms;
};

void bar_begin(struct bar *b, bool is_quiet);
void bar_show(struct bar *b, const struct bar_state *s);
void bar_end(struct bar *b);

enum { BAR_TEXT_BYTES = 32 };

/* "1.2 GB", "34 MB", "512 B"; thousands, as disks are sold. */
void bar_bytes(char out[BAR_TEXT_BYTES], uint64_t n);

/* "7 s", "2 min 05 s", "1 h 03 min". */
void bar_time(char out[BAR_TEXT_BYTES], uint64_t seconds);
