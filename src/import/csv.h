/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CSV (RFC 4180 and what people really write), fed in pieces of any size, row by row out.
 *
 * 1. csv_init() with a function for rows.
 * 2. csv_feed() as bytes arrive, csv_end() behind the last.
 * 3. csv_fini().
 *
 * The delimiter (comma, semicolon, tab) is found from the first line that has any of them, or while
 * `is_free` is set from each line anew: a title may have a comma and its table semicolons.
 * Lines end with LF, CRLF or CR; blank ones are skipped; a byte order mark is. Quoted fields may
 * hold delimiters, line ends and doubled quotes. The text is UTF-8 without NULs: anything else,
 * and whatever passes a ceiling, is an error of the whole file, with the line in csv_error().
 *
 * The caller owns the struct; rows are borrowed for the call. One thread at a time.
 */
#pragma once

#include <weir/buf.h>

#include "import/reader.h"

enum {
    CSV_COLUMNS = 4096,
    CSV_FIELD_BYTES = 256 << 10,
    CSV_ROW_BYTES = 1 << 20,
};

struct csv_row {
    uint64_t line; /* on which it begins, from 1 */
    const struct weir_slice *fields;
    size_t n;
};

/* Anything but WEIR_OK ends the reading and comes out of it. */
typedef enum weir_status (*csv_row_fn)(void *user, const struct csv_row *row);

struct csv {
    csv_row_fn row;
    void *user;
    char delimiter; /* 0 until it is known */
    bool is_free;   /* set by who looks for a header: until then each line may have its own */
    char state;
    bool is_after_cr;
    bool is_wide;   /* the row has bytes beyond ASCII */
    bool is_quoted; /* an odd number of quotes so far, in a line whose delimiter is not known */
    unsigned n_bom; /* bytes of the mark that were seen; 3: it is behind us */
    unsigned n_seen[3];
    uint64_t line, row_line, quote_line;
    struct weir_buf text; /* the row's fields one behind the other; at first the bare line */
    size_t field_start;
    size_t n_fields;
    uint32_t *ends; /* CSV_COLUMNS of them, as the fields */
    struct weir_slice *fields;
    enum weir_status status;
    char error[READER_ERROR_BYTES];
};

WEIR_MUST_CHECK enum weir_status csv_init(struct csv *c, csv_row_fn row, void *user);
void csv_fini(struct csv *c);

/* WEIR_LIMIT, WEIR_BAD_FIELD (encoding, NUL, an open quote), WEIR_NOMEM, or what a row gave. */
WEIR_MUST_CHECK enum weir_status csv_feed(struct csv *c, struct weir_slice bytes);
WEIR_MUST_CHECK enum weir_status csv_end(struct csv *c);

/* Why it failed; empty when a row's function did. */
const char *csv_error(const struct csv *c);
