/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Documents of daily values, as bytes and back. Private to src/data.
 *
 * Every document begins with its version, a byte. Then the sources that it names: how many; of
 * each its class (a byte) and its name, rising. They are numbered from 0 in that order. All
 * numbers are those of pack.h.
 *
 * Rows of days: how many, then for each, rising by day:
 *   flags   a byte: scale of the value (bits 0 to 2), 8: the source is that of the row before,
 *           16: partial, 32: the day is the one behind that of the row before
 *   day     signed; the difference to the row before (to 0); absent with 32
 *   source  absent with 8
 *   value
 *
 * "series": one list of rows, resolved. "days": two lists, what was merged from samples and nights,
 * and what sources gave as a day's value.
 */
#pragma once

#include <weir/buf.h>

#include "data/merge.h"
#include "data/pack.h"

enum {
    DOC_VERSION = 1,
    DOC_MAX_SOURCES = 4096, /* of one person; more are an error of whoever names them */
    DOC_MAX_NAME = 128,     /* bytes of a source's or a metric's name */
};

/* A day's value from somebody. */
struct day_row {
    double value;
    int32_t day;
    uint16_t source;
    bool is_partial;
};

/* Which sources a document names, and their numbers in it. Zeroed at first. */
struct doc_sources {
    uint16_t local[DOC_MAX_SOURCES]; /* number in the document, and 1; 0: not named */
    size_t n;
};

void doc_sources_add(struct doc_sources *s, uint16_t source);

/* Version and sources; numbers them, so it comes before the rows. */
void doc_put_head(struct weir_buf *out, struct doc_sources *s, const struct source *all,
                  size_t n_all);

/* Version and number of sources; then each by doc_read_source(). */
size_t doc_read_head(struct unpack *u);
struct source doc_read_source(struct unpack *u);

void doc_put_rows(struct weir_buf *out, const struct doc_sources *s, const struct day_row *rows,
                  size_t n);

/* One row; *row is the one before, zeroed at first. Sources are the document's numbers. */
void doc_read_row(struct unpack *u, struct day_row *row, bool is_first);

/* The day's value that counts, of what was merged and what was given; in days that rise. */
struct resolve_input {
    const struct metric *metric;
    const struct day_row *merged, *given;
    size_t n_merged, n_given;
    const struct source *sources;
};

/* As many rows as there are days, n_merged + n_given at most. Returns how many. */
size_t series_resolve(const struct resolve_input *in, struct day_row *out);

/* Of all documents: by day, then source, partial ones last, the larger value first. */
int day_row_compare(const void *a, const void *b);
