/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ways to cut an input into pieces. An incremental parser has to give the same
 * result for all of them:
 *
 *     for (size_t n = 0; cut_nth(&cut, n, input.len); n++) {
 *         struct weir_slice rest = input, piece;
 *         while (cut_take(&cut, &rest, &piece)) feed(piece.ptr, piece.len);
 *         cut_fini(&cut);
 *     }
 *
 * Every piece lies in memory of its own, exactly as large as it, so that the
 * address sanitizer sees a read beyond it or after its time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weir/types.h>

struct cut {
    size_t first;  /* length of the first piece */
    size_t step;   /* length of all later ones */
    uint64_t seed; /* not 0: lengths are drawn instead, empty pieces among them */
    char *piece;
};

/* Whole, two pieces at each position, single bytes, and six random ways. */
bool cut_nth(struct cut *c, size_t n, size_t len);

/* For fuzzers: 0 whole, 1 to 127 pieces of that length, above at random. */
void cut_from_byte(struct cut *c, uint8_t byte);

/* The next piece, which lives until the next call; false when all is taken. */
bool cut_take(struct cut *c, struct weir_slice *rest, struct weir_slice *piece);

void cut_fini(struct cut *c);
